"""The posterior that chains sample, and the chains: points that move in blocks of compiled steps.

The density of weights is a function of the weights alone: log likelihood and log prior, and what
Python functions add (log_prior, and for BIO-IRL -trust * infoGap). Where they have a say, the same
kernels are called step by step.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from didact.errors import DidactError, InvalidParameter, NotConverged
from didact.inputs import FAILURES, as_float, reason_of, shown
from didact.learners.chains import kernels
from didact.learners.chains.kernels import (
    BOX,
    DIRECT,
    L1,
    L2,
    LATTICE,
    PAIRS,
    PLAIN,
    Mixture,
    Points,
    Proposal,
    Randomness,
)
from didact.learners.chains.options import Density, Prior
from didact.learners.chains.scores import ScoreInputs, Scorer, score_each, shown_in
from didact.learners.evidence import Evidence
from didact.numerics.exact import Floats
from didact.planning.kernels import expected_next

Extra = Callable[[Floats, Floats], float]

BLOCK_NUMBERS = 2**17
"""Random numbers drawn at a time."""

BLOCK_WORK = 2**25
"""Inner-loop steps between two looks at the clock, the keyboard and the other chains."""

KINDS = {"l2-sphere": L2, "l1-sphere": L1, "box": BOX}
"""What a point of the mixture sampler stands for; under other priors for itself."""

WALKED_KINDS = {"gaussian": PLAIN, "box": BOX}
"""The same of a walk: on spheres, and with a given density, weights stand for themselves."""

NOTHING = np.zeros(0, dtype=np.int64)
NO_MIXTURE = Mixture(1.0, np.zeros(0), np.zeros(0), np.zeros(0))


@dataclass(frozen=True, eq=False)
class Target:
    """The posterior that chains sample, and the proposals of walks.

    proposal: its number in the kernels. log_prior(weights) and extra(weights, action values) are
    added to the log density by calls from Python.
    """

    evidence: Evidence
    confidence: float
    scorer: Scorer
    prior: Prior
    proposal: int
    log_prior: Density | None = None
    extra: Extra | None = None

    @property
    def k(self) -> int:
        """How many weights there are."""
        return self.evidence.mdp.n_features

    @property
    def kind(self) -> int:
        """What a point of the mixture sampler stands for."""
        return KINDS.get(self.prior.name, PLAIN)

    @property
    def is_stepwise(self) -> bool:
        """Whether Python functions must be asked at each step."""
        return self.log_prior is not None or self.extra is not None

    def problem(self) -> ScoreInputs:
        """What scores are computed from, with a workspace of its own."""
        given = shown_in(self.evidence, self.confidence)
        return ScoreInputs(self.scorer.model, self.scorer.workspace(), given)

    def added_terms(self, problem: ScoreInputs, weights: Floats) -> float:
        """What log_prior and extra say of weights (k,) that were just scored.

        Where log_prior is -inf, extra is not asked.
        """
        tilt = extra = 0.0
        if self.log_prior is not None:
            tilt = _answer(self.log_prior, "log_prior", weights)
        if self.extra is not None and tilt > -math.inf:
            # Q (S, A), from the values that scoring the weights left.
            mdp, work = self.evidence.mdp, problem.work
            values = work.rewards + mdp.discount * expected_next(mdp, work.plan.values)
            values = values.reshape(mdp.n_states, mdp.n_actions)
            extra = _answer(self.extra, "extra", weights, values)
        return tilt + extra


class Particles:
    """n points (n, k) and their densities under a target; a chain is one of them.

    n_kept: draws to keep. rough: on stochastic models densities may be wrong by a tenth of a nat.
    walking: points are those of a walk, which are scored when they are placed.
    """

    def __init__(
        self,
        target: Target,
        places: Floats,
        *,
        n_kept: int = 0,
        rough: bool = False,
        walking: bool = False,
    ):
        self.target = target
        self.kind = WALKED_KINDS.get(target.prior.name, DIRECT) if walking else target.kind
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
        self.problem.work.rough[0] = int(rough and target.scorer.is_costly)
        self.n_scored = 0
        if not walking:
            may_end = target.scorer.is_costly and not target.is_stepwise
            numbers[kernels.EARLY] = float(may_end)
            self.place(places)

    @property
    def places(self) -> Floats:
        """Where the points are, (n, k)."""
        return np.asarray(self.points.places.reshape(-1, self.target.k))

    @property
    def log_densities(self) -> Floats:
        """Of each point on R^k, at temperature 1, up to one constant, (n,)."""
        return np.asarray(self.points.scores + self.points.references)

    @property
    def samples(self) -> Floats:
        """The draws kept, (n_kept, k)."""
        return np.asarray(self.points.samples.reshape(-1, self.target.k))

    @property
    def best(self) -> float:
        """The best log density of weights seen."""
        return float(self.points.numbers[kernels.BEST])

    @property
    def n_accepted(self) -> int:
        """How many moves were accepted so far."""
        return int(self.points.counters[kernels.ACCEPTED])

    @property
    def densities(self) -> Floats:
        """Log densities of the weights that the points stand for, (n,)."""
        return self._densities(self.points.scores, self.points.references)

    def place(self, places: Floats) -> None:
        """Put the points there and score them."""
        points = self.points
        self.places[:] = places
        weights, points.references[:] = standing(self.kind, places)
        points.scores[:] = self.scores_of(places)
        densities = self.densities
        highest = int(densities.argmax())
        if densities[highest] > self.best:
            points.numbers[kernels.BEST] = densities[highest]
            points.best[:] = weights[highest]
        self.n_scored += len(places)

    def scores_of(self, places: Floats) -> Floats:
        """The scores (n,) of places (n, k), -inf where they stand for no weights."""
        self.problem.shown.needed[0] = -math.inf
        weights, references = standing(self.kind, places)
        found = np.full(len(places), -np.inf)
        inside = np.flatnonzero(references > -np.inf)
        if not self.target.is_stepwise:
            scores = np.empty(inside.size)
            score_each.compiled(*self.problem, weights[inside], scores)
            found[inside] = scores
            return found
        for p in inside.tolist():  # the terms read what the last score left in the workspace
            self.points.weights[:], self.points.proposed[:] = weights[p], places[p]
            score_each.compiled(*self.problem, weights[[p]], found[p : p + 1])
            found[p] = self._with_terms(float(found[p]))
        return found

    def densities_of(self, places: Floats) -> Floats:
        """Log densities (n,) of the weights that places (n, k) stand for."""
        return self._densities(self.scores_of(places), standing(self.kind, places)[1])

    def _densities(self, scores: Floats, references: Floats) -> Floats:
        return np.asarray(scores + references if self.kind == PLAIN else scores)

    def take(self, chosen: Any) -> None:
        """Let the points become those of these numbers (n,), as a resampling picks them."""
        self.places[:] = self.places[chosen]
        self.points.scores[:] = self.points.scores[chosen]
        self.points.references[:] = self.points.references[chosen]

    def advance(
        self, proposal: Proposal, randomness: Randomness, *, temperature: float = 1.0
    ) -> float:
        """Let every point take its share of the steps; the accepted share of them."""
        before = self.n_accepted
        self.points.numbers[kernels.TEMPERATURE] = temperature
        self.points.moved[:] = 0
        moved, numbers = (proposal, randomness, self.points), self.points.numbers
        n_steps = len(randomness.levels) // len(self.points.scores)
        if not self.target.is_stepwise:
            kernels.run_steps.compiled(self.problem, *moved)
        for i in range(len(randomness.levels) if self.target.is_stepwise else 0):
            inside = kernels.try_step.compiled(i // n_steps, i, self.problem, *moved)
            if inside:
                numbers[kernels.NEW_SCORE] = self._with_terms(float(numbers[kernels.NEW_SCORE]))
                inside = int(numbers[kernels.NEW_SCORE] > -math.inf)
            kernels.end_step.compiled(i // n_steps, i, inside, *moved)
        self.n_scored += len(randomness.levels)
        if self.problem.work.failures[0]:
            raise NotConverged(
                "policy iteration did not settle at a proposal; use a smaller discount"
            )
        return (self.n_accepted - before) / len(randomness.levels)

    def _with_terms(self, score: float) -> float:
        """The score with what Python functions say of the weights in `points`."""
        if not self.target.is_stepwise or score == -math.inf:
            return score
        terms = self.target.added_terms(self.problem, self.points.weights)
        if self.target.prior.name == "flat" and self.kind == PLAIN:
            # The reference of a flat prior is normal all the same; its density is taken out here.
            terms += 0.5 * float(self.points.proposed @ self.points.proposed)
        return score + terms


class Chain:
    """One walking chain: its place, what it has recorded, its random numbers, and its step size.

    n_draws places are kept: every thin-th step after burn_in. Each kind of random number has its
    own child of the generator: the draws do not depend on the block size.
    """

    def __init__(
        self,
        target: Target,
        generator: np.random.Generator,
        *,
        n_draws: int = 0,
        burn_in: int = 0,
        thin: int = 1,
    ):
        self.target, self.burn_in = target, burn_in
        self.particles = Particles(target, np.zeros((1, target.k)), n_kept=n_draws, walking=True)
        counters = self.particles.points.counters
        counters[kernels.BURN_IN], counters[kernels.EVERY] = burn_in, thin
        pairs, n_noise = (NOTHING, NOTHING, NOTHING), target.k
        if target.proposal in (PAIRS, LATTICE):
            first, second = (side.astype(np.int64) for side in np.triu_indices(target.k, 1))
            pairs, n_noise = (np.arange(first.size), first, second), first.size
        self.proposal = Proposal(target.proposal, n_noise, *pairs, NO_MIXTURE)
        self._noise, self._shuffles, self._levels = generator.spawn(3)
        self._n_accepted_in_warmup = 0

    @property
    def best_weights(self) -> Floats:
        """The weights of the best log density seen so far, (k,)."""
        return np.asarray(self.particles.points.best)

    @property
    def samples(self) -> Floats:
        """The draws kept, (n_draws, k)."""
        return self.particles.samples

    @property
    def densities(self) -> Floats:
        """The log densities of the draws kept, (n_draws,)."""
        return np.asarray(self.particles.points.densities)

    @property
    def best(self) -> float:
        """The best log density seen so far."""
        return self.particles.best

    @property
    def step_size(self) -> float:
        """The scale of the moves."""
        return math.exp(float(self.particles.points.numbers[kernels.LOG_STEP]))

    @step_size.setter
    def step_size(self, step: float) -> None:
        self.particles.points.numbers[kernels.LOG_STEP] = math.log(step)
        self.particles.points.counters[kernels.ADAPTED] = 0

    @property
    def n_steps(self) -> int:
        """How many steps were taken."""
        return int(self.particles.points.counters[kernels.STEP])

    @property
    def acceptance(self) -> float:
        """The accepted share of proposals after burn-in."""
        past = self.n_steps - self.burn_in
        accepted = self.particles.n_accepted - self._n_accepted_in_warmup
        return accepted / past if past > 0 else math.nan

    @property
    def block_size(self) -> int:
        """How many steps take a moment; nothing but waiting times depends on it."""
        by_numbers = BLOCK_NUMBERS // max(1, self.proposal.n_noise)
        return int(max(1, min(by_numbers, BLOCK_WORK // self.target.scorer.cost)))

    def place(self, weights: Floats) -> float:
        """Put the chain on weights (k,); their log density, -inf if they are outside."""
        self.particles.place(weights[None])
        return float(self.particles.densities[0])

    def densities_of(self, weights: Floats) -> Floats:
        """Log densities (n,) of weights (n, k), -inf where they are outside."""
        return self.particles.densities_of(weights)

    def advance(self, n_steps: int, *, adapting: bool) -> None:
        """Take so many steps.

        adapting: whether each step also moves the step size towards an acceptance of TARGET.
        """
        counters = self.particles.points.counters
        counters[kernels.ADAPTING] = int(adapting)
        in_warmup, before = self.n_steps < self.burn_in, self.particles.n_accepted
        n_noise = self.proposal.n_noise
        randomness = Randomness(
            self._noise.standard_normal(n_steps * n_noise),
            self._shuffles.random(n_steps * n_noise if self.proposal.order.size else 0),
            -self._levels.standard_exponential(n_steps),
            *(NOTHING, np.zeros(0), np.zeros(0)),
        )
        self.particles.advance(self.proposal, randomness)
        if in_warmup:
            self._n_accepted_in_warmup += self.particles.n_accepted - before


def standing(kind: int, places: Floats) -> tuple[Floats, Floats]:
    """The weights (n, k) that points stand for, and their log reference densities (n,)."""
    if kind == DIRECT:
        return places, np.zeros(len(places))
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


def _answer(function: Any, name: str, weights: Floats, *more: Any) -> float:
    """What a log density says of the weights: a number below infinity."""
    try:
        given = function(weights.copy(), *more)
    except DidactError:
        raise
    except FAILURES as error:
        raise InvalidParameter(
            f"{name} failed at weights {weights.round(4).tolist()}: {reason_of(error)}"
        ) from error
    value = as_float(given.item() if isinstance(given, np.ndarray) and given.size == 1 else given)
    if math.isnan(value) or value == math.inf:
        raise InvalidParameter(
            f"{name} must return a number or -inf; at weights {weights.round(4).tolist()} "
            f"it returned {shown(given)}"
        )
    return value
