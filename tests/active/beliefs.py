"""Finite posteriors by hand: a belief that holds just these weights, equally likely."""

from __future__ import annotations

import numpy as np

from didact.active import Situation, askable_states
from didact.learners import Belief
from didact.mdp import Task


def belief_in(task: Task, weights, *, best: int = 0, confidence: float | None = 5.0) -> Belief:
    """Each row of weights (n, k) is one draw; row `best` counts as the most likely."""
    samples = np.array(weights, dtype=float)[None]
    n = samples.shape[1]
    return Belief(
        task.mdp, "by hand", (), samples, np.zeros((1, n)), samples[0, best], 0.0, np.zeros(1),
        np.full(1, np.nan), confidence, None, {},
    )  # fmt: skip


def situation_of(task: Task, weights, *, horizon: int = 1, **options) -> Situation:
    """The situation of somebody who holds that belief and has asked nothing yet."""
    belief = belief_in(task, weights, **options)
    return Situation(task, belief, belief.samples, askable_states(task), horizon=horizon)
