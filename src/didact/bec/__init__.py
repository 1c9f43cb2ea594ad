"""Behavioural equivalence classes: rows, cones, facets, proofs, volumes, similarity, words."""
