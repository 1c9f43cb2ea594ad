"""Behavioural equivalence classes: half-spaces, cones, facets, proofs, similarity, words."""

from didact.bec.classes import EquivalenceClass, demonstration_class, equivalence_class
from didact.bec.cone import Cone
from didact.bec.directions import angular_similarity
from didact.bec.halfspaces import ng_russell
from didact.bec.observed.evaluate import evaluate
from didact.bec.observed.observe import ObserveSettings, observe, reward_terms
from didact.bec.observed.result import Observed, load_observed
from didact.bec.observed.setting import ObserveWorkers
from didact.bec.proofs import Proof, prove
from didact.bec.words import describe

__all__ = [
    "Cone",
    "EquivalenceClass",
    "ObserveSettings",
    "ObserveWorkers",
    "Observed",
    "Proof",
    "angular_similarity",
    "demonstration_class",
    "describe",
    "equivalence_class",
    "evaluate",
    "load_observed",
    "ng_russell",
    "observe",
    "prove",
    "reward_terms",
]
