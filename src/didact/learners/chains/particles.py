"""Points that move together under one posterior, and what their moves are made of."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from didact.errors import NotConverged
from didact.learners.chains import moves as kernels
from didact.learners.chains.metropolis import Target, added_terms
from didact.learners.chains.moves import BOX, L1, L2, PLAIN, Mixture, Moves, Points
from didact.learners.chains.priors import Prior
from didact.numerics.exact import Floats

KINDS = {"l2-sphere": L2, "l1-sphere": L1, "box": BOX}
"""What a point stands for; under other priors for itself."""

NO_MIXTURE = Mixture(1.0, np.zeros(0), np.zeros(0), np.zeros(0))


class Particles:
    """n points (n, k) and their densities under a target; a chain of a round is one of them.

    rough: on large stochastic models densities may be wrong by a tenth of a nat.
    """

    def __init__(self, target: Target, places: Floats, *, n_kept: int = 0, rough: bool = False):
        self.target = target
        self.kind = kind_of(target.prior)
        n, k = places.shape
        proposed, weights, best = np.zeros((3, k))
        numbers, counters = np.zeros(kernels.N_NUMBERS), np.zeros(kernels.N_COUNTERS, np.int64)
        numbers[kernels.BEST], counters[kernels.EVERY] = -math.inf, 1
        self.points = Points(
            *(self.kind, np.zeros(n * k), np.zeros(n), np.zeros(n), np.zeros(n, np.int64)),
            *(proposed, weights, best, numbers, counters),
            *(np.zeros(n_kept * k), np.zeros(n_kept)),
        )
        self.problem = target.problem()
        if rough and target.scorer.is_costly:
            self.problem.work.rough[0] = 1
        may_end = target.scorer.is_costly and not target.is_stepwise
        numbers[kernels.EARLY] = float(may_end)
        self.n_scored = 0
        self.place(places)

    @property
    def places(self) -> Floats:
        """Where the points are, (n, k)."""
        return np.asarray(self.points.places.reshape(-1, self.target.k))

    @property
    def scores(self) -> Floats:
        """Of each point, log likelihood and what else is tempered, (n,)."""
        return np.asarray(self.points.scores)

    @property
    def log_densities(self) -> Floats:
        """Of each point on R^k, at temperature 1, up to one constant, (n,)."""
        return np.asarray(self.points.scores + self.points.references)

    @property
    def best(self) -> float:
        """The best log density of weights seen."""
        return float(self.points.numbers[kernels.BEST])

    @property
    def n_accepted(self) -> int:
        """How many moves were accepted so far."""
        return int(self.points.counters[kernels.ACCEPTED])

    def place(self, places: Floats) -> None:
        """Put the points there and score them."""
        points, target = self.points, self.target
        score, best = target.score, self.best
        self.places[:] = places
        self.problem.shown.needed[0] = -math.inf
        stood_for, points.references[:] = standing(self.kind, places)
        for p, reference in enumerate(points.references.tolist()):
            points.weights[:], points.proposed[:] = stood_for[p], places[p]
            value = -math.inf
            if reference > -math.inf:
                value = self._with_terms(score(*self.problem, points.weights))
            points.scores[p] = value
            density = kernels.density_of(self.kind, value, reference)
            if density > best:
                points.numbers[kernels.BEST] = best = density
                points.best[:] = stood_for[p]
        self.n_scored += len(places)

    def take(self, chosen: Any) -> None:
        """Let the points become those of these numbers (n,), as a resampling picks them."""
        self.places[:] = self.places[chosen]
        self.points.scores[:] = self.points.scores[chosen]
        self.points.references[:] = self.points.references[chosen]

    def advance(self, temperature: float, mixture: Mixture, moves: Moves) -> float:
        """Let every point take its share of the steps; the accepted share of them."""
        before = self.n_accepted
        self.points.numbers[kernels.TEMPERATURE] = temperature
        self.points.moved[:] = 0
        given = (self.problem, mixture, moves, self.points)
        scorer = self.target.scorer
        if self.target.is_stepwise:
            self._advance_stepwise(*given)
        else:
            self.target.function(scorer.mover.run)(*given)
        self.n_scored += len(moves.levels)
        if scorer.n_failed(self.problem.work):
            raise NotConverged(
                "policy iteration did not settle at a proposal; use a smaller discount"
            )
        return (self.n_accepted - before) / len(moves.levels)

    def _advance_stepwise(self, problem: Any, mixture: Any, moves: Moves, points: Points) -> None:
        n_steps = len(moves.levels) // len(points.scores)
        function = self.target.function_for
        trial = function(self.target.scorer.mover.trial, 0, 0, problem, mixture, moves, points)
        finish = function(kernels.end_move, 0, 0, 0, mixture, moves, points)
        numbers = points.numbers
        for i in range(len(moves.levels)):
            inside = trial(i // n_steps, i, problem, mixture, moves, points)
            if inside:
                numbers[kernels.NEW_SCORE] = self._with_terms(float(numbers[kernels.NEW_SCORE]))
                inside = int(numbers[kernels.NEW_SCORE] > -math.inf)
            finish(i // n_steps, i, inside, mixture, moves, points)

    def _with_terms(self, score: float) -> float:
        """The score with what Python functions say of the weights in `points`."""
        if not self.target.is_stepwise or score == -math.inf:
            return score
        tilt, extra = added_terms(self.target, self.problem, self.points.weights)
        if self.target.prior.name == "flat":
            tilt += 0.5 * float(self.points.proposed @ self.points.proposed)
        return score + tilt + extra


def kind_of(prior: Prior) -> int:
    """What points stand for under a prior."""
    return KINDS.get(prior.name, PLAIN)


def standing(kind: int, places: Floats) -> tuple[Floats, Floats]:
    """The weights (n, k) that points stand for, and their log reference densities (n,)."""
    if kind == BOX:
        outside = (np.abs(places) > 1.0).any(axis=1)
        return places, np.where(outside, -np.inf, 0.0)
    lengths = np.abs(places).sum(axis=1) if kind == L1 else np.sqrt((places**2).sum(axis=1))
    references = -lengths if kind == L1 else -0.5 * lengths**2
    return (places if kind == PLAIN else places / lengths[:, None]), references


def radii(kind: int, k: int, n: int, rng: np.random.Generator) -> Floats:
    """Lengths of n points drawn from the reference of a sphere; none for other kinds."""
    if kind == L2:
        return np.sqrt(2.0 * rng.standard_gamma(0.5 * k, n))
    return rng.standard_gamma(float(k), n) if kind == L1 else np.zeros(0)


def spread_out(kind: int, weights: Floats, rng: np.random.Generator) -> Floats:
    """Points (n, k) that stand for weights (n, k), with radii drawn anew on spheres."""
    lengths = radii(kind, weights.shape[1], len(weights), rng)
    return weights * lengths[:, None] if lengths.size else weights


def middle(kind: int, weights: Floats) -> Floats:
    """Points (n, k) of a middling radius that stand for weights (n, k)."""
    k = weights.shape[1]
    return weights * {L2: math.sqrt(k), L1: float(k)}.get(kind, 1.0)


def walks(kind: int, shifts: Floats, rng: np.random.Generator) -> Moves:
    """Steps by these shifts (n, k)."""
    n, k = shifts.shape
    nothing = np.zeros(n, np.int64)
    levels = -rng.standard_exponential(n)
    return Moves(nothing, shifts.ravel(), np.zeros(n), radii(kind, k, n, rng), levels)


def covariance(places: Floats, shares: Floats | None = None) -> Floats:
    """Of rows (n, k), by shares (n,) where they are not equal."""
    weights = np.full(len(places), 1.0 / len(places)) if shares is None else shares
    centred = places - weights @ places
    return np.asarray((weights[:, None] * centred).T @ centred)


def factor_of(matrix: Floats) -> Floats:
    """A lower triangular L with L L' = matrix, which may lack a little to be positive."""
    k = len(matrix)
    ridge = 1e-10 * float(np.trace(matrix)) / k + 1e-300
    while True:
        try:
            return np.asarray(np.linalg.cholesky(matrix + ridge * np.eye(k)))
        except np.linalg.LinAlgError:
            ridge *= 100.0
