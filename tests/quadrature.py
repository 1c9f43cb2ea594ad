"""Posteriors by quadrature: the prior as equally heavy nodes, the likelihood by a fresh planner."""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from didact.learners.diagnostics import indicator_ess
from didact.planning.many_rewards import action_values_of


def midpoints(n: int) -> np.ndarray:
    return (np.arange(n) + 0.5) / n


def _grid(*sides) -> np.ndarray:
    return np.stack([part.ravel() for part in np.meshgrid(*sides, indexing="ij")], axis=1)


def nodes(prior: str, k: int, n: int) -> np.ndarray:
    """About n**(k - 1) nodes on a sphere, n**k in space, each of the same prior weight."""
    u = midpoints(n)
    if prior == "box":
        return _grid(*[2.0 * u - 1.0] * k)
    if prior == "gaussian":
        return _grid(*[ndtri(u)] * k)
    if prior == "l2-sphere" and k == 2:
        return np.stack([np.cos(2 * np.pi * u), np.sin(2 * np.pi * u)], axis=1)
    if prior == "l2-sphere":
        height, angle = _grid(2.0 * u - 1.0, 2 * np.pi * midpoints(2 * n)).T
        across = np.sqrt(1.0 - height**2)
        return np.stack([across * np.cos(angle), across * np.sin(angle), height], axis=1)
    if k == 2:
        sides = np.stack([u, 1.0 - u], axis=1)
    else:
        first, second = _grid(u, u).T  # the square onto a triangle, areas kept
        sides = np.stack([1 - np.sqrt(first), np.sqrt(first) * (1 - second)], axis=1)
        sides = np.concatenate([sides, 1.0 - sides.sum(axis=1, keepdims=True)], axis=1)
    signs = _grid(*[np.array([-1.0, 1.0])] * k)
    return (signs[:, None, :] * sides[None]).reshape(-1, k)


def log_likelihoods(evidence, weights: np.ndarray, confidence: float) -> np.ndarray:
    """log P(D | w) of each of the weights (n, k), from its action values."""
    found = []
    for block in np.array_split(weights, 1 + len(weights) // 20_000):
        values = action_values_of(evidence.mdp, block)[:, evidence.states]
        scaled = confidence * (values - values.max(axis=2, keepdims=True))
        logs = scaled - np.log(np.exp(scaled).sum(axis=2, keepdims=True))
        found.append((evidence.counts * logs).sum(axis=(1, 2)))
    return np.concatenate(found)


@dataclass(frozen=True)
class Quadrature:
    """Nodes (n, k), what each weighs, and its log likelihood."""

    points: np.ndarray
    shares: np.ndarray
    logs: np.ndarray

    @classmethod
    def of(cls, evidence, prior: str, confidence: float, n: int) -> "Quadrature":
        points = nodes(prior, evidence.mdp.n_features, n)
        logs = log_likelihoods(evidence, points, confidence)
        shares = np.exp(logs - logs.max())
        return cls(points, shares / shares.sum(), logs)


def moments(weights: np.ndarray) -> np.ndarray:
    """Means, products, signs and sizes: (..., k) gives (..., m)."""
    k = weights.shape[-1]
    parts = [weights[..., j] for j in range(k)]
    parts += [weights[..., i] * weights[..., j] for i in range(k) for j in range(i + 1)]
    parts += [(weights[..., j] > 0.0).astype(float) for j in range(k)]
    parts += [np.abs(weights[..., j]) for j in range(k)]
    return np.stack(parts, axis=-1)


def z_scores(samples: np.ndarray, exact: Quadrature) -> np.ndarray:
    """How many standard errors the moments of draws (chains, draws, k) are from the exact ones."""
    drawn, true = moments(samples), moments(exact.points)
    mean = exact.shares @ true
    spread = np.sqrt(np.maximum(exact.shares @ (true - mean) ** 2, 0.0))
    ess = np.array([indicator_ess(drawn[:, :, j]) for j in range(drawn.shape[2])])
    ess = np.minimum(ess, samples.shape[0] * samples.shape[1])
    error = spread / np.sqrt(ess)
    gap = drawn.mean(axis=(0, 1)) - mean
    return np.where(error > 1e-6, gap / np.maximum(error, 1e-300), 0.0)
