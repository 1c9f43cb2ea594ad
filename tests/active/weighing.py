"""A learner for tests: many weights drawn once from the prior, resampled by their likelihood."""

from __future__ import annotations

import numpy as np

from didact.learners import Belief, Evidence
from didact.planning.batch import action_values_of

NAME = "weighing"


def weighing(
    evidence: Evidence,
    rng: np.random.Generator,
    *,
    confidence: float = 20.0,
    n_points: int = 300,
    n_draws: int = 60,
) -> Belief:
    """Four chains of independent draws from the posterior on a finite set of weights."""
    points = np.random.default_rng(0).normal(size=(n_points, evidence.mdp.n_features))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    values = action_values_of(evidence.mdp, points)
    shown = values[:, evidence.states]
    scaled = confidence * (shown - shown.max(axis=2, keepdims=True))
    logs = scaled - np.log(np.exp(scaled).sum(axis=2, keepdims=True))
    fit = (evidence.counts * logs).sum(axis=(1, 2))
    chances = np.exp(fit - fit.max())
    chosen = rng.choice(n_points, size=(4, n_draws), p=chances / chances.sum())
    best = int(fit.argmax())
    return Belief(
        evidence.mdp, NAME, evidence.demonstrations, points[chosen], fit[chosen], points[best],
        float(fit[best]), fit[chosen].max(axis=1), np.ones(4), confidence, None, {},
    )  # fmt: skip
