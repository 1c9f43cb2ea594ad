"""Solvers, successor features, reachability, rollouts and loss."""

from didact.planning.exact import ExactSuccessorFeatures
from didact.planning.loss import Evaluation, evaluate
from didact.planning.paths import reachable_pairs, reachable_states, rollout, rollouts
from didact.planning.policies import as_policy
from didact.planning.solve import Plan, solve
from didact.planning.successor import (
    SuccessorFeatures,
    exact_successor_features,
    float_successor_features,
    successor_features,
)

__all__ = [
    "Evaluation",
    "ExactSuccessorFeatures",
    "Plan",
    "SuccessorFeatures",
    "as_policy",
    "evaluate",
    "exact_successor_features",
    "float_successor_features",
    "reachable_pairs",
    "reachable_states",
    "rollout",
    "rollouts",
    "solve",
    "successor_features",
]
