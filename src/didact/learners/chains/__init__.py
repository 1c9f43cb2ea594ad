"""Bayesian learners: posteriors by Metropolis chains in compiled kernels."""
