"""Behavioural equivalence classes: half-spaces, cones, facets, proofs, similarity, words."""

from didact.bec.classes import EquivalenceClass, demonstration_class
from didact.bec.cone import Cone
from didact.bec.describe import describe
from didact.bec.evaluating import evaluate
from didact.bec.families import FamilyClass, equivalence_class
from didact.bec.observe import observe
from didact.bec.observed import Observed
from didact.bec.observed_files import load_observed
from didact.bec.proofs import Proof, prove
from didact.bec.similarity import angular_similarity

__all__ = [
    "Cone",
    "EquivalenceClass",
    "FamilyClass",
    "Observed",
    "Proof",
    "angular_similarity",
    "demonstration_class",
    "describe",
    "equivalence_class",
    "evaluate",
    "load_observed",
    "observe",
    "prove",
]
