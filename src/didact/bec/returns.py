"""What another policy, or other weights, would lose in a simulator: by rows and by returns.

Of the observed policy pi and another one, V(pi) - V(other) = E sum discount^t w.r(s_t, other(s_t))
along episodes of the other one, where r is the row of its action: exactly, with the true weights
w. Situations of it at geometric times make that one mean. Returns of both from the same starts say
the same a second time, without branching.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from didact.bec.observed import Observed, Setting
from didact.bec.situations import Choose, Situations, walk_to_times
from didact.errors import InvalidParameter
from didact.inputs import own_code, shown, whole_number
from didact.random import Seed, as_generator
from didact.worlds.simulators.agents import Policy, batch_policy
from didact.worlds.simulators.batches import Batch
from didact.worlds.simulators.weights import as_weights

Floats = NDArray[np.float64]


class Estimate(NamedTuple):
    """A mean and its standard error."""

    mean: float
    error: float

    @classmethod
    def of(cls, values: Floats) -> Estimate:
        """From independent draws."""
        spread = float(values.std(ddof=1)) if len(values) > 1 else float("inf")
        return cls(float(values.mean()), spread / float(np.sqrt(len(values))))

    def __repr__(self) -> str:
        return f"{self.mean:.4g} (+-{self.error:.2g})"


@dataclass(frozen=True)
class ObservedEvaluation:
    """How another policy fares beside the observed one, under the true weights; estimates.

    loss: return that it loses against the observed policy, by rows; below 0 where it is better.
    other_actions: the discounted share of situations where it acts differently.
    own_return: of the observed policy.
    other_return: of the other one; None where weights act by branching.
    return_loss: the difference of both from the same starts, the loss once more.
    """

    loss: Estimate
    other_actions: Estimate
    own_return: Estimate
    other_return: Estimate | None = None
    return_loss: Estimate | None = None

    def __repr__(self) -> str:
        twice = "" if self.return_loss is None else f", {self.return_loss} by returns"
        return (
            f"ObservedEvaluation(loss {self.loss} by rows{twice}, of {self.own_return}; "
            f"{100 * self.other_actions.mean:.3g}% other actions)"
        )


def evaluate_observed(
    seen: Observed,
    policy: Any,
    *,
    planner: Callable[[Floats], Any] | None = None,
    n_situations: int = 300,
    seed: Seed = 2,
) -> ObservedEvaluation:
    """How weights, or another policy, fare in the simulator of an observed policy.

    policy: weights (k,), what has `weights`, or a policy. planner: the policy of weights, planned
    or trained; without it weights act by branching, each action being worth what follows under
    the observed policy. n_situations: how many, and episodes for returns.
    """
    n, setting = whole_number(n_situations, "n_situations", 2), seen.setting
    rng = as_generator(seed, "evaluate")
    asked = getattr(policy, "weights", policy)
    if callable(asked) or hasattr(asked, "predict"):
        if planner is not None:
            raise InvalidParameter("planner is for weights; a policy needs none")
        other = batch_policy(asked, setting.simulator.action_space, seen.observations[:2])
    else:
        weights = as_weights(asked, len(setting.weights))
        if planner is None:
            return _compared(setting, _by_branching(setting, weights, rng), n, rng, rolled=False)
        other = _planned(seen, weights, planner)
    return _compared(setting, lambda batch: other(batch.observations), n, rng, rolled=True)


def _planned(seen: Observed, weights: Floats, planner: Any) -> Policy:
    if not callable(planner):
        raise InvalidParameter(
            f"planner must be a function of weights that gives a policy; it is {shown(planner)}"
        )
    with own_code("the planner"):
        given = planner(weights)
    return batch_policy(given, seen.setting.simulator.action_space, seen.observations[:2])


def _by_branching(setting: Setting, weights: Floats, rng: np.random.Generator) -> Choose:
    """The action that is best for weights when the observed policy goes on after it."""

    def choose(batch: Batch) -> Any:
        own = setting.policy(batch.observations)
        rows, others, _, _ = setting.rows_of(batch.situations(), batch.observations, rng)
        gains = -(rows @ weights)
        best = gains.argmax(axis=1)
        better = gains[np.arange(len(own)), best] > 0
        return np.where(
            better.reshape(-1, *[1] * (own.ndim - 1)), others[np.arange(len(own)), best], own
        )

    return choose


def _compared(
    setting: Setting, choose: Choose, n: int, rng: np.random.Generator, *, rolled: bool
) -> ObservedEvaluation:
    """By rows at geometric times along the other policy, and by returns where it is rolled out."""
    found = Situations([], [], [])
    walk_to_times(setting, choose, n, rng, found)
    gaps, differs = np.zeros(n), np.zeros(n)
    if len(found):
        changed, rows = _rows_of_changes(setting, choose, found, rng)
        gaps[changed], differs[changed] = rows @ setting.weights, 1.0
    seeds = rng.integers(2**31, size=n).tolist()
    own = returns_of(setting, setting.chosen_in, seeds)
    its = returns_of(setting, choose, seeds) if rolled else None
    return ObservedEvaluation(
        Estimate.of(gaps / (1 - setting.discount)),
        Estimate.of(differs),
        Estimate.of(own),
        None if its is None else Estimate.of(its),
        None if its is None else Estimate.of(own - its),
    )


def _rows_of_changes(
    setting: Setting, choose: Choose, found: Situations, rng: np.random.Generator
) -> tuple[NDArray[np.int64], Floats]:
    """The situations where it acts differently, and the row of its action in each, (m, k)."""
    batch = setting.simulator.resume(found.situations)
    own, its = setting.policy(batch.observations), choose(batch)
    batch.keep(np.zeros(len(found), dtype=np.bool_))
    changed = np.flatnonzero((own != its).reshape(len(own), -1).any(axis=1))
    if not len(changed):
        return changed, np.empty((0, len(setting.weights)))
    situations = [found.situations[i] for i in changed]
    firsts = np.stack([own[changed], its[changed]], axis=1)
    measured, _ = setting.rows_against(situations, firsts, rng)
    return changed, measured.rows[:, 0]


def returns_of(setting: Setting, choose: Choose, seeds: list[int]) -> Floats:
    """Discounted returns of a policy, under the true weights, in the episodes of these seeds."""
    totals, weight = np.zeros(len(seeds)), 1.0
    batch, alive = setting.simulator.begin(seeds), np.arange(len(seeds))
    for _ in range(setting.horizon):
        before, actions = batch.observations, choose(batch)
        stepped = batch.step(actions)
        phi = setting.features(before, actions, stepped.observations, stepped.ended)
        totals[alive] += weight * (phi @ setting.weights)
        weight *= setting.discount
        batch.keep(~stepped.ended)
        alive = alive[~stepped.ended]
        if not len(alive):
            break
    batch.keep(np.zeros(len(alive), dtype=np.bool_))
    return totals
