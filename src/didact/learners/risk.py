"""How much a policy may lose when the reward is known only as well as a belief knows it.

The loss of a policy under one draw w is V*_w - V^pi_w, from the start distribution or from each
state. Over the draws of a posterior that is a distribution; its quantile is the value at risk.

How well a recording fits a belief: a learner with a confidence c holds pi_w(a|s) proportional to
exp(c Q_w(s, a)) for each of its draws w. The probability of a step is the mean of pi_w(a|s) over
the draws; the number of wrong steps that such a teacher takes in the same states is the mean of its
chance of an action that w makes worse. How surprising so many wrong steps are is a posterior
predictive p-value (Gelman, Meng and Stern, 1996) of that number: for each draw w, the chance that a
teacher with w and this confidence takes at least as many steps that w makes worse as were shown, in
the states that were shown, and the mean of it over the draws. Steps are independent given w, so the
number has a Poisson-binomial distribution, which is summed exactly.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from didact.errors import InvalidParameter
from didact.inputs import is_number, is_whole, shown
from didact.learners.belief import Belief
from didact.learners.diagnostics import bulk_ess, indicator_ess
from didact.learners.evidence import as_evidence, log_likelihood_of, softmax
from didact.mdp.showing import in_notebook
from didact.numerics.exact import Floats
from didact.planning import as_policy, float_successor_features
from didact.planning.batch import (
    action_values_of,
    as_weight_rows,
    require_memory,
    value_blocks,
    value_reach,
)
from didact.planning.kernels import UNIT

MAX_DRAWS = 4000
"""Risk is read from at most so many draws, evenly spaced along the chains."""


BLOCK_ENTRIES = 2_000_000
"""Values of states and actions that are held at once."""

ROUNDING = 1e-12
"""A probability that misses its mark by less has reached it: level 1/2 meets delta 1/2 exactly."""


FITTED_DRAWS = 400
"""Fit is read from at most so many draws, evenly spaced along the chains."""

DOUBTED = 0.05
"""A step that is less probable is not believed."""
MAX_SUMMED = 200_000_000
"""Products that the distribution of wrong steps is summed from; draws are thinned to stay below."""
TIED = 1e-9
"""Actions within this share of the largest value are tied."""


@dataclass(frozen=True)
class Risk:
    """What a policy may lose under a belief, in return from the start distribution.

    var: the `level` quantile of the loss. cvar: the mean loss in the worst 1 - level of the draws.
    bound: above the true quantile with probability 1 - delta, or None where `n_effective`
    independent draws are too few to say so. mean, worst: over the draws. is_mixed: whether the
    chains that drew them have mixed; if not, these are not yet the posterior's numbers.
    """

    var: float
    cvar: float
    bound: float | None
    n_effective: int
    level: float
    delta: float
    mean: float
    worst: float
    is_mixed: bool = True

    _repr_html_ = in_notebook

    def __str__(self) -> str:
        if self.bound is None:
            needed = draws_needed(self.level, self.delta)
            bound = f"no bound: {self.n_effective} effective draws, {needed} are needed"
        else:
            bound = f"{100 * (1 - self.delta):.4g}% sure: at most {self.bound:.3g}"
        return (
            f"in {100 * self.level:.4g}% of draws the policy loses at most {self.var:.3g} "
            f"({bound}); mean {self.mean:.3g}, worst {self.worst:.3g}"
            f"{'' if self.is_mixed else ', of chains that have not mixed'}"
        )


def losses(
    belief: Belief, policy: Any = None, *, by_state: bool = False, most: int | None = None
) -> Floats:
    """The loss of a policy under each draw (n,), or from each state (n, S); never negative.

    policy: in any form that `as_policy` takes; by default that of the MAP weights. most: take at
    most so many draws, evenly spaced along each chain, in the order of `samples_flat`.
    """
    draws = thinned(belief, most)
    return _losses(belief, draws.reshape(-1, draws.shape[2]), policy, by_state=by_state)


def thinned(belief: Belief, most: int | None) -> Floats:
    """At most so many draws, evenly spaced along each chain: (chains, fewer draws, k)."""
    if most is None:
        return belief.samples
    if not is_whole(most) or most < belief.n_chains:
        raise InvalidParameter(
            f"most must be a whole number from {belief.n_chains}, one draw for each chain; "
            f"it is {shown(most)}"
        )
    step = -(-belief.n_draws // (int(most) // belief.n_chains))
    return belief.samples[:, ::step]


def _losses(belief: Belief, draws: Floats, policy: Any, *, by_state: bool) -> Floats:
    mdp = belief.mdp
    chosen = belief.policy() if policy is None else as_policy(mdp, policy)
    weights = as_weight_rows(mdp, draws)
    if by_state:
        require_memory(weights.shape[0] * mdp.n_states, "losses by state", weights.shape[0])
    counts = float_successor_features(mdp, chosen).states
    start = mdp.start.floats
    found = np.empty((weights.shape[0], mdp.n_states) if by_state else weights.shape[0])
    for first, best in value_blocks(mdp, weights):
        rows = slice(first, first + len(best))
        gaps = best - weights[rows] @ counts.T
        noise = 64 * UNIT / (1.0 - mdp.discount) * value_reach(mdp, weights[rows])
        gaps[gaps <= noise[:, None]] = 0.0
        found[rows] = gaps if by_state else gaps @ start
    return found


def action_shares(belief: Belief, most: int = MAX_DRAWS) -> Floats:
    """The share of the draws for each action (S, A); ties up to rounding count in equal parts."""
    mdp = belief.mdp
    draws = thinned(belief, max(most, belief.n_chains)).reshape(-1, mdp.n_features)
    total = np.zeros((mdp.n_states, mdp.n_actions))
    size = max(1, BLOCK_ENTRIES // total.size)
    for first in range(0, len(draws), size):
        values = action_values_of(mdp, draws[first : first + size])
        noise = 64 * UNIT / (1.0 - mdp.discount) * value_reach(mdp, draws[first : first + size])
        optimal = values >= values.max(axis=2, keepdims=True) - noise[:, None, None]
        total += (optimal / optimal.sum(axis=2, keepdims=True)).sum(axis=0)
    return total / len(draws)


def value_at_risk(losses: Any, level: float = 0.95) -> Any:
    """The smallest loss that at least a share `level` of the draws does not exceed.

    losses: (n,) gives a number, (n, S) one for each column.
    """
    ordered = np.sort(_as_losses(losses), axis=0)
    number = _order(len(ordered) * _as_share(level, "level"), len(ordered))
    return _plain(ordered[number - 1])


def conditional_value_at_risk(losses: Any, level: float = 0.95) -> Any:
    """The mean loss in the worst 1 - level of the draws; a draw on the border counts in part."""
    given = _as_losses(losses)
    quantile = value_at_risk(given, level)
    beyond = np.maximum(given - quantile, 0.0).mean(axis=0)
    return _plain(quantile + beyond / (1.0 - level))


def upper_bound(
    losses: Any, level: float = 0.95, delta: float = 0.05, n_effective: float | None = None
) -> Any:
    """A loss that is at least the `level` quantile with probability 1 - delta, or None.

    Of N independent draws the k-th smallest is, with probability BinomCDF(k - 1; N, level); k is
    the smallest that suffices, exactly, whatever the distribution. n_effective: how many
    independent draws these are worth, by default all; the bound is then the same quantile k / N of
    the draws. None: too few (59 are needed for .95 and .05).
    """
    ordered = np.sort(_as_losses(losses), axis=0)
    n = len(ordered)
    worth = n if n_effective is None else _as_effective(n_effective, n)
    order = bound_order(worth, level, delta)
    if order is None:
        return None
    return _plain(ordered[_order(order * n / worth, n) - 1])


def bound_order(n: int, level: float, delta: float) -> int | None:
    """The smallest k with BinomCDF(k - 1; n, level) >= 1 - delta; None where n is too small."""
    from scipy.special import bdtr

    share, wanted = _as_share(level, "level"), 1.0 - _as_share(delta, "delta") - ROUNDING
    reached = np.flatnonzero(bdtr(np.arange(n, dtype=np.float64), n, share) >= wanted)
    return int(reached[0]) + 1 if reached.size else None


def draws_needed(level: float, delta: float) -> int:
    """How many independent draws a bound needs: the smallest n with level**n <= delta."""
    return max(1, math.ceil(math.log(delta) / math.log(level) - 1e-12))


def risk_of(
    belief: Belief,
    policy: Any = None,
    *,
    level: float = 0.95,
    delta: float = 0.05,
    most: int = MAX_DRAWS,
) -> Risk:
    """The risk of a policy under a belief.

    The draws count as the fewest effective ones of: the loss, its quantile, and every feature.
    """
    _as_share(level, "level")
    _as_share(delta, "delta")
    draws = thinned(belief, max(most, belief.n_chains))
    found = _losses(belief, draws.reshape(-1, draws.shape[2]), policy, by_state=False)
    worth = effective_draws(found.reshape(draws.shape[:2]), draws, level)
    return Risk(
        var=value_at_risk(found, level),
        cvar=conditional_value_at_risk(found, level),
        bound=upper_bound(found, level, delta, worth) if worth else None,
        n_effective=worth,
        level=float(level),
        delta=float(delta),
        mean=float(found.mean()),
        worst=float(found.max()),
        is_mixed=belief.is_mixed,
    )


def effective_draws(losses: Floats, draws: Floats, level: float) -> int:
    """How many independent draws losses (chains, draws) of weights (chains, draws, k) are worth."""
    if losses.size == 1:
        return 1
    below = losses <= value_at_risk(losses.ravel(), level)
    all_of_them = np.append(bulk_ess(draws), [bulk_ess(losses), indicator_ess(below)])
    if np.isnan(all_of_them).any():
        return 0
    return int(min(all_of_them.min(), losses.size))


def _as_losses(given: Any) -> Floats:
    found = np.asarray(given, dtype=np.float64)
    if found.ndim not in (1, 2) or found.shape[0] == 0 or not np.isfinite(found).all():
        raise InvalidParameter(
            f"losses must be finite numbers (n,) or (n, S) of at least one draw; the shape is "
            f"{found.shape}"
        )
    return found


def _as_share(given: Any, place: str) -> float:
    if not is_number(given) or not 0.0 < given < 1.0:
        raise InvalidParameter(f"{place} must be between 0 and 1; it is {shown(given)}")
    return float(given)


def _as_effective(given: Any, n: int) -> int:
    if not is_number(given) or not given >= 1:
        raise InvalidParameter(f"n_effective must be a number from 1; it is {shown(given)}")
    return int(min(given, n))


def _order(place: float, n: int) -> int:
    """A place among n sorted draws as a whole number, rounded up apart from rounding noise."""
    return min(max(math.ceil(place - 1e-9), 1), n)


def _plain(value: Any) -> Any:
    return float(value) if np.ndim(value) == 0 else value


@dataclass(frozen=True)
class DoubtedStep:
    """A step that a learner does not believe: its probability, and the likeliest action there."""

    demonstration: int
    step: int
    state: int
    action: int
    likelier: int
    probability: float


@dataclass(frozen=True)
class Fit:
    """How well a recording fits what a learner made of it.

    n_steps: of the recording. log_likelihood: of the recording, answers included, under the
    most likely weights.
    wrong: the mean number of steps that a draw makes worse than another action; expected_wrong: how
    many of them a teacher of this confidence takes in the same states. p_value: the posterior
    predictive probability of at least so many wrong steps. doubted: the steps whose probability
    over the draws is below 5%.
    """

    n_steps: int
    log_likelihood: float
    wrong: float
    expected_wrong: float
    p_value: float
    doubted: tuple[DoubtedStep, ...]

    def to_dict(self) -> dict[str, Any]:
        """The same for machines."""
        return {**vars(self), "doubted": [asdict(step) for step in self.doubted]}


def fit_of(belief: Belief, *, most: int = FITTED_DRAWS) -> Fit:
    """How well the demonstrations fit the belief about them; it must have a confidence."""
    if belief.confidence is None:
        raise InvalidParameter(f"learner {belief.learner!r} has no confidence to judge steps by")
    mdp, confidence = belief.mdp, float(belief.confidence)
    evidence = as_evidence(mdp, [*belief.demonstrations, *belief.feedback])
    draws = thinned(belief, max(most, belief.n_chains)).reshape(-1, mdp.n_features)
    size = max(1, BLOCK_ENTRIES // (mdp.n_states * mdp.n_actions))
    shape = (mdp.n_states, mdp.n_actions)
    taken, worse, slips = np.zeros(shape), np.zeros(shape), np.zeros(mdp.n_states)
    tails: list[float] = []
    counts, states = evidence.counts, evidence.states
    for first in range(0, len(draws), size):
        values = action_values_of(mdp, draws[first : first + size])
        best = values.max(axis=2, keepdims=True)
        shares, _ = softmax(values, confidence)
        bad = values < best - TIED * np.abs(values).max(axis=(1, 2), keepdims=True)
        taken += shares.sum(axis=0)
        worse += bad.sum(axis=0)
        astray = (shares * bad).sum(axis=2)
        slips += astray.sum(axis=0)
        shown_wrong = (counts * bad[:, states]).sum(axis=(1, 2)).astype(np.int64)
        tails += _tails(astray[:, states], counts.sum(axis=1).astype(np.int64), shown_wrong)
    taken, worse, slips = taken / len(draws), worse / len(draws), slips / len(draws)
    at_best = action_values_of(mdp, belief.map_weights[None])[0]
    return Fit(
        n_steps=evidence.n_pairs,
        log_likelihood=log_likelihood_of(evidence, at_best, belief.map_weights, confidence),
        wrong=float((counts * worse[states]).sum()),
        expected_wrong=float((counts.sum(axis=1) * slips[states]).sum()),
        p_value=float(np.mean(tails)),
        doubted=tuple(
            DoubtedStep(i, step, s, a, int(taken[s].argmax()), float(taken[s, a]))
            for i, demonstration in enumerate(belief.demonstrations)
            for step, (s, a) in enumerate(demonstration)
            if taken[s, a] < DOUBTED
        ),
    )


def _tails(chances: Floats, repeats: NDArray[np.int64], least: NDArray[np.int64]) -> list[float]:
    """The probability of at least `least` (n,) wrong steps, for each of n draws.

    chances: of a wrong step in each shown state (n, states); repeats: steps shown there. Draws are
    thinned where the sum would take long.
    """
    size = int(repeats.sum()) * (int(least.max(initial=0)) + 1)
    every = 1 + len(chances) * size // MAX_SUMMED
    chances, least = chances[::every], least[::every]
    below = np.zeros((len(chances), int(least.max(initial=0)) + 1))
    below[:, 0] = 1.0
    for state, n in enumerate(repeats.tolist()):
        chance = chances[:, state, None]
        for _ in range(n):
            below[:, 1:] = below[:, 1:] * (1 - chance) + below[:, :-1] * chance
            below[:, :1] *= 1 - chance
    reached = np.arange(below.shape[1]) < least[:, None]
    return [float(tail) for tail in np.clip(1.0 - (below * reached).sum(axis=1), 0.0, 1.0)]
