"""The return that another policy, or other weights, lose against an observed policy.

Of the observed policy pi and another one (performance difference),

    V(pi) - V(other) = E sum discount^t w.r(s_t, other(s_t))

along episodes of the other one, where r is the row of its action: exactly, with the true weights w.
States of it at geometric times (`episodes`) make that one mean. Returns of both from the same
starts estimate the same a second time, without branching."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from didact.bec.observed.branches import measure, measure_actions
from didact.bec.observed.episodes import Choose, Sampled, own_actions, walk_to_times
from didact.bec.observed.result import Observed
from didact.bec.observed.setting import Floats, Setting
from didact.errors import InvalidParameter
from didact.inputs import explains_names, own_code, shown, whole_number
from didact.mdp import Task
from didact.planning import Evaluation, Plan
from didact.planning import evaluate as evaluate_on_task
from didact.random import Seed, as_generator
from didact.worlds.simulators.batches import SimulatorBatch, as_weights, batch_policy

DEFAULT_STATES, DEFAULT_SEED = 300, 2


class MeanEstimate(NamedTuple):
    """A mean and its standard error."""

    mean: float
    error: float

    @classmethod
    def of(cls, values: Floats) -> MeanEstimate:
        """From independent draws."""
        spread = float(values.std(ddof=1)) if len(values) > 1 else float("inf")
        return cls(float(values.mean()), spread / float(np.sqrt(len(values))))

    def __repr__(self) -> str:
        return f"{self.mean:.4g} (+-{self.error:.2g})"


@dataclass(frozen=True)
class ObservedEvaluation:
    """How another policy fares beside the observed one, under the true weights; estimates.

    loss: return that it loses against the observed policy, by rows; below 0 where it is better.
    other_actions: the discounted share of states where it acts differently.
    own_return: of the observed policy.
    other_return: of the other one; None where weights act by branching.
    return_loss: the difference of both from the same starts, the loss once more.
    """

    loss: MeanEstimate
    other_actions: MeanEstimate
    own_return: MeanEstimate
    other_return: MeanEstimate | None = None
    return_loss: MeanEstimate | None = None

    def __repr__(self) -> str:
        twice = "" if self.return_loss is None else f", {self.return_loss} by returns"
        return (
            f"ObservedEvaluation(loss {self.loss} by rows{twice}, of {self.own_return}; "
            f"{100 * self.other_actions.mean:.3g}% other actions)"
        )


@overload
def evaluate(task: Task, policy: Any, *, plan: Plan | None = None) -> Evaluation: ...


@overload
def evaluate(
    task: Observed,
    policy: Any,
    *,
    planner: Callable[..., Any] | None = None,
    n_states: int | None = None,
    seed: Seed = None,
) -> ObservedEvaluation: ...


@explains_names
def evaluate(
    task: Task | Observed,
    policy: Any,
    *,
    plan: Plan | None = None,
    planner: Callable[..., Any] | None = None,
    n_states: int | None = None,
    seed: Seed = None,
) -> Evaluation | ObservedEvaluation:
    """How a policy fares on a task, or beside the policy that was seen in a simulator.

    task: whose true weights judge it: a task, or what `observe` saw.
    policy: weights (k,), a Plan, actions (S,) as ints, probabilities (S, A), a function of a
        state, or an object with `predict`. In a simulator weights, what a lesson or `learn` gives,
        a function of observations, or an object with `predict`.
    plan: the task's own solution, when it is at hand already.
    planner: in a simulator, the policy of weights: a function that plans or trains for them.
        Without it weights act by branching: each action is worth what follows under the observed
        policy.
    n_states: in a simulator, how many are sampled along the policy, and episodes for returns;
        300 by default.
    seed: in a simulator, of those draws; 2 by default.
    """
    if not isinstance(task, Observed):
        for value, name in ((planner, "planner"), (n_states, "n_states"), (seed, "seed")):
            if value is not None:
                raise InvalidParameter(f"{name} is for policies in simulators; leave it out")
        return evaluate_on_task(task, policy, plan=plan)
    if plan is not None:
        raise InvalidParameter("plan is for tasks; in a simulator give a planner, or leave it out")
    n = whole_number(DEFAULT_STATES if n_states is None else n_states, "n_states", 2)
    rng = as_generator(DEFAULT_SEED if seed is None else seed, "evaluate")
    setting = task.setting
    asked = getattr(policy, "weights", policy)
    if callable(asked) or hasattr(asked, "predict"):
        if planner is not None:
            raise InvalidParameter("planner is for weights; a policy needs none")
    else:
        weights = as_weights(asked, len(setting.weights))
        if planner is None:
            return _compared(setting, _by_branching(setting, weights, rng), n, rng, rolled=False)
        if not callable(planner):
            raise InvalidParameter(
                f"planner must be a function of weights that gives a policy; it is {shown(planner)}"
            )
        with own_code("the planner"):
            asked = planner(weights)
    other = batch_policy(asked, setting.simulator, task.observations[:2])
    return _compared(setting, lambda batch: other(batch.observations), n, rng, rolled=True)


def _by_branching(setting: Setting, weights: Floats, rng: np.random.Generator) -> Choose:
    """The action that is best for weights when the observed policy goes on after it."""

    def choose(batch: SimulatorBatch) -> Any:
        own = setting.policy(batch.observations)
        rows, others, *_ = measure(setting, batch.saved_states(), batch.observations, rng)
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
    found: Sampled = []
    walk_to_times(setting, choose, n, rng, found)
    gaps, differs = np.zeros(n), np.zeros(n)
    if len(found):
        changed, rows = _rows_of_changes(setting, choose, found, rng)
        gaps[changed], differs[changed] = rows @ setting.weights, 1.0
    seeds = rng.integers(2**31, size=n).tolist()
    own = returns_of(setting, own_actions(setting), seeds)
    its = returns_of(setting, choose, seeds) if rolled else None
    return ObservedEvaluation(
        MeanEstimate.of(gaps / (1 - setting.discount)),
        MeanEstimate.of(differs),
        MeanEstimate.of(own),
        None if its is None else MeanEstimate.of(its),
        None if its is None else MeanEstimate.of(own - its),
    )


def _rows_of_changes(
    setting: Setting, choose: Choose, found: Sampled, rng: np.random.Generator
) -> tuple[NDArray[np.int64], Floats]:
    """The states where it acts differently, and the row of its action in each, (m, k)."""
    batch = setting.simulator.resume([state for state, _, _ in found])
    own, its = setting.policy(batch.observations), choose(batch)
    batch.keep(np.zeros(len(found), dtype=np.bool_))
    changed = np.flatnonzero((own != its).reshape(len(own), -1).any(axis=1))
    if not len(changed):
        return changed, np.empty((0, len(setting.weights)))
    states = [found[i][0] for i in changed]
    firsts = np.stack([own[changed], its[changed]], axis=1)
    measured, _ = measure_actions(setting, states, firsts, rng)
    return changed, measured.rows[:, 0]


def returns_of(setting: Setting, choose: Choose, seeds: list[int]) -> Floats:
    """Discounted returns of a policy, under the true weights, in the episodes of these seeds."""
    totals, weight = np.zeros(len(seeds)), 1.0
    batch, alive = setting.simulator.begin(seeds), np.arange(len(seeds))
    for _ in range(setting.horizon):
        before, actions = batch.observations, choose(batch)
        stepped = batch.step(actions)
        phi = setting.features(before, actions, stepped)
        totals[alive] += weight * (phi @ setting.weights)
        weight *= setting.discount
        batch.keep(~stepped.ended)
        alive = alive[~stepped.ended]
        if not len(alive):
            break
    batch.keep(np.zeros(len(alive), dtype=np.bool_))
    return totals
