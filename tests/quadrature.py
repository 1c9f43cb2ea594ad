"""Posteriors by quadrature: the prior as equally heavy nodes, the likelihood by a fresh planner."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import null_space
from scipy.special import ndtri

from didact.learners.diagnostics import indicator_ess
from didact.planning.batch import action_values_of
from tests.effort import number

FINE = 2_000
"""So many equal nodes at least are what the posterior rests on."""
MAX_SPLIT = 20_000
"""Cells that are split at once, the likeliest."""
STRATA = (8, number(60_000, 200_000))
"""Equal parts of the prior along equal weights, one node in each: so many, and nodes in all."""
RADII = np.exp(np.linspace(-14.0, 2.2, 163))
"""Lengths of Gaussian weights, a tenth of a nat apart: likelihoods are smooth in the length."""


def midpoints(n: int) -> np.ndarray:
    return (np.arange(n) + 0.5) / n


def _grid(*sides) -> np.ndarray:
    return np.stack([part.ravel() for part in np.meshgrid(*sides, indexing="ij")], axis=1)


def cells(prior: str, k: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Middles of equal cells of a unit cube (m, d) that stands for the prior, and their sides (d,).

    About n**(k - 1) cells for a sphere, n**k for a box; a sphere of l1 has a last column without
    a side, the number of the signs.
    """
    u = midpoints(n)
    if prior == "box":
        return _grid(*[u] * k), np.full(k, 1 / n)
    if prior == "l2-sphere":
        sides = [u] if k == 2 else [u, midpoints(2 * n)]
        return _grid(*sides), np.array([1 / len(side) for side in sides])
    return _grid(*[u] * (k - 1), np.arange(2.0**k)), np.array([*[1 / n] * (k - 1), 0.0])


def placed(prior: str, k: int, cube: np.ndarray) -> np.ndarray:
    """Weights (m, k) of points of the unit cube; equal volumes have equal prior weight."""
    if prior == "box":
        return 2.0 * cube - 1.0
    if prior == "l2-sphere" and k == 2:
        angle = 2 * np.pi * cube[:, 0]
        return np.stack([np.cos(angle), np.sin(angle)], axis=1)
    if prior == "l2-sphere":
        height, angle = 2.0 * cube[:, 0] - 1.0, 2 * np.pi * cube[:, 1]
        across = np.sqrt(1.0 - height**2)
        return np.stack([across * np.cos(angle), across * np.sin(angle), height], axis=1)
    if k == 2:
        sides = np.stack([cube[:, 0], 1.0 - cube[:, 0]], axis=1)
    else:  # the square onto a triangle, areas kept
        root = np.sqrt(cube[:, 0])
        sides = np.stack([1.0 - root, root * (1.0 - cube[:, 1]), root * cube[:, 1]], axis=1)
    signs = _grid(*[np.array([-1.0, 1.0])] * k)
    return signs[cube[:, -1].astype(int)] * sides


def nodes(prior: str, k: int, n: int) -> np.ndarray:
    """About n**(k - 1) nodes on a sphere, n**k in a box, each of the same prior weight."""
    return placed(prior, k, cells(prior, k, n)[0])


def log_likelihoods(
    evidence, weights: np.ndarray, confidence: float, scales: np.ndarray | None = None
) -> np.ndarray:
    """log P(D | w) of each of the weights (n, k), from its action values.

    With scales (m,) those of every multiple, (n, m): one plan serves all of them.
    """
    several = np.ones(1) if scales is None else scales
    found = []
    for block in np.array_split(weights, 1 + len(weights) * len(several) // 50_000):
        values = action_values_of(evidence.mdp, block)[:, evidence.states]
        gaps = values - values.max(axis=2, keepdims=True)
        scaled = confidence * several[:, None, None] * gaps[:, None]
        logs = scaled - np.log(np.exp(scaled).sum(axis=3, keepdims=True))
        found.append((evidence.counts * logs).sum(axis=(2, 3)))
    logs = np.concatenate(found)
    return logs[:, 0] if scales is None else logs


@dataclass(frozen=True)
class Quadrature:
    """Nodes (n, k) and what each weighs."""

    points: np.ndarray
    shares: np.ndarray

    @classmethod
    def of(cls, evidence, prior: str, confidence: float, n: int) -> "Quadrature":
        """Cells of a grid; where few of them hold everything, the likeliest are split in three.

        A posterior may be much narrower than the grid, and two humps of it lie differently to it.
        """
        k = evidence.mdp.n_features
        if prior == "gaussian":
            return cls.of_gaussian(evidence, confidence, n)
        cube, sides = cells(prior, k, n)
        volume, sides = np.ones(len(cube)), np.tile(sides, (len(cube), 1))
        logs = log_likelihoods(evidence, placed(prior, k, cube), confidence)
        while True:
            shares = volume * np.exp(logs - logs.max())
            shares /= shares.sum()
            if 1.0 / (shares**2).sum() > FINE:
                return cls(placed(prior, k, cube), shares)
            split = np.zeros(len(cube), dtype=bool)
            split[np.argsort(-logs, kind="stable")[:MAX_SPLIT]] = True
            shifts = _grid(
                *[np.array([-1.0, 0.0, 1.0]) / 3 if side else np.zeros(1) for side in sides[0]]
            )
            fresh = (cube[split, None] + shifts * sides[split, None]).reshape(-1, cube.shape[1])
            smaller = np.repeat(sides[split] / 3, len(shifts), axis=0)
            found = log_likelihoods(evidence, placed(prior, k, fresh), confidence)
            parts = np.repeat(volume[split] / len(shifts), len(shifts))
            cube = np.concatenate([cube[~split], fresh])
            sides = np.concatenate([sides[~split], smaller])
            volume = np.concatenate([volume[~split], parts])
            logs = np.concatenate([logs[~split], found])

    @classmethod
    def of_gaussian(cls, evidence, confidence: float, n: int) -> "Quadrature":
        """Two or three weights: across equal weights by direction and length, along them the prior.

        In a grid without ends, whose cells have one feature each, adding a number to every weight
        changes no likelihood: needles around equal weights, which no grid resolves, are lines here.
        """
        k = evidence.mdp.n_features
        across = null_space(np.ones((1, k)))
        angles = 2 * np.pi * midpoints(n)
        directions = [[1.0], [-1.0]] if k == 2 else np.stack([np.cos(angles), np.sin(angles)], 1)
        directions = np.asarray(directions) @ across.T
        chi = RADII ** (k - 1) * np.exp(-(RADII**2) / 2)
        logs = log_likelihoods(evidence, directions, confidence, RADII) + np.log(chi)
        shares = np.exp(logs - logs.max())
        kept = np.nonzero(shares > 1e-12 * shares.sum())
        strata = max(STRATA[0], STRATA[1] // len(kept[0]))
        at, length = (np.repeat(part, strata) for part in kept)
        within = (0.5 + np.arange(len(kept[0])) * (np.sqrt(5) - 1) / 2) % 1.0
        along = ndtri(((np.arange(strata) + within[:, None]) / strata).ravel())
        points = directions[at] * RADII[length, None] + along[:, None] / np.sqrt(k)
        return cls(points, shares[at, length] / shares[at, length].sum())


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
