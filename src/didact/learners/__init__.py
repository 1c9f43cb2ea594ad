"""Learners: what a reward must be like, given demonstrations; and how far to trust the answer."""

from didact.learners.belief import Belief, point_belief
from didact.learners.evidence import Certificate, Evidence, as_evidence
from didact.learners.files import load_belief
from didact.learners.learn import ClipBelief, learn, learners, register_learner
from didact.learners.risk import Risk

__all__ = [
    "Belief",
    "Certificate",
    "ClipBelief",
    "Evidence",
    "Risk",
    "as_evidence",
    "learn",
    "learners",
    "load_belief",
    "point_belief",
    "register_learner",
]
