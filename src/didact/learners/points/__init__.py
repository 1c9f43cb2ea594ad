"""Learners of one best reward: maximum likelihood, policy matching, maximum entropy."""
