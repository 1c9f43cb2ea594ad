"""What a learner reaches who plans for the weights that a lesson teaches.

A certificate speaks of single actions after which the observed policy goes on. A learner who plans
anew may do something else for long, which no such action shows: weights that leave the price of a
step open may be served best by never arriving. So the taught weights, and the extremes of all that
fit, are planned for, and the return of the policies that are best for them is reported.

Planned by: the best for these weights among the observed policy, constant actions, chance, mixtures
of both, the policy that takes in every state the action that the nearest observed state's rows say
is best (one step of policy improvement), and, where observations have few numbers, a policy from
kernel-based reinforcement learning (Ormoneit and Sen 2002): values of sampled next states, each
backed up from its nearest samples of every action, which is value iteration on a finite model and
converges. Which of them is best is decided by their feature counts in the simulator, so a bad plan
only hides what a better planner would reach: this is a test, and no bound."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.spatial import KDTree

from didact.bec.observed.result import Observed
from didact.bec.observed.setting import Floats, Setting
from didact.inputs import shown_name
from didact.stages import deadline
from didact.teaching.clips.lesson import ClipLesson, Replanned
from didact.worlds.simulators.arrays import ArraySimulator
from didact.worlds.simulators.batches import as_rows

MAX_EPISODES, MIN_EPISODES = 20, 3
"""Of each policy that is tried."""
MAX_STEPS = {True: 400_000, False: 30_000}
"""Simulator steps of all trials, about: of simulators that step arrays, and of objects."""
SPEED_STEPS = 20
"""By which the time of a step is foretold."""
ABOUT = 10
"""Policies that are tried for one reward, by which the steps are divided."""
FAR, NEAR = 10, 2
"""Steps of an episode, in units of 1 / (1 - discount); later ones count less than e^-10. NEAR: at
least so many where time is short."""
MAX_SAMPLES = 6_000
"""Transitions that a plan is made of: trees of so many answer in a fraction of a second."""
MAX_NUMBERS = 6
"""Of an observation, up to which nearest samples are near."""
NEIGHBOURS = 4
LEVELS = 5
"""Actions of a continuous axis that a plan chooses among."""
MAX_EXTREMES = 8
"""Extreme weights that are planned for."""

Act = Callable[[Any], Any]


class TriedSteps(NamedTuple):
    """Transitions of episodes."""

    before: Floats
    actions: Any
    features: Floats
    after: Floats
    ended: Any


class Tried(NamedTuple):
    """A policy with its mean feature counts, discounted and not."""

    act: Act
    discounted: Floats
    plain: Floats


def replanned(lesson: ClipLesson, rng: np.random.Generator) -> Replanned:
    """The returns that planning reaches for the taught weights, and for the extremes that fit."""
    seen = lesson.seen
    pool = _TriedPolicies(seen, rng)
    taught = pool.best_for(lesson.weights)
    own, weights = pool.tried[0], seen.setting.weights
    worst, at = taught, lesson.weights
    for extreme in lesson.extremes[:MAX_EXTREMES]:
        found = pool.best_for(extreme)
        if found.discounted @ weights < worst.discounted @ weights:
            worst, at = found, extreme
    return Replanned(
        n_policies=len(pool.tried),
        n_episodes=pool.n_episodes,
        own=float(own.plain @ weights),
        taught=float(taught.plain @ weights),
        worst=float(worst.plain @ weights),
        worst_weights=tuple(at.tolist()),
        own_discounted=float(own.discounted @ weights),
        taught_discounted=float(taught.discounted @ weights),
        is_planned=pool.is_planned,
    )


class _TriedPolicies:
    """Policies that were tried, the observed one first."""

    def __init__(self, seen: Observed, rng: np.random.Generator):
        self.seen, self.setting, self.rng = seen, seen.setting, rng
        far = math.ceil(FAR / (1 - self.setting.discount))
        limit = self.setting.simulator.time_limit
        self.limit = far if limit is None else min(far, limit)
        most = MAX_STEPS[isinstance(self.setting.simulator, ArraySimulator)]
        self._steps: list[TriedSteps] = []
        least, end = MIN_EPISODES, deadline()
        if end.is_set:  # the lesson is checked by at least one episode of each policy
            least, most = 1, min(most, self._steps_in_time())
            near = math.ceil(NEAR / (1 - self.setting.discount))
            self.limit = min(self.limit, max(near, most // ABOUT))
        self.n_episodes = int(np.clip(most // (ABOUT * self.limit), least, MAX_EPISODES))
        self._most = self.setting.simulator.n_steps + 2 * most
        self._seeds = rng.integers(2**31, size=self.n_episodes).tolist()
        self.tried = [self._try(self.setting.policy)]
        self._add(self._ready())
        self._model = self._planned_model()

    def _add(self, policies: Iterable[Act]) -> None:
        """Try policies, for as long as steps are left."""
        for act in policies:
            if self.setting.simulator.n_steps < self._most and not deadline().is_over:
                self.tried.append(self._try(act))

    def _steps_in_time(self) -> int:
        """The steps that half of the time is enough for, by how long a few take."""
        end, before, n = deadline(), deadline().left, self.setting.simulator.n_steps
        batch = self.setting.simulator.begin(list(range(MIN_EPISODES)))
        going = np.ones(MIN_EPISODES, dtype=np.bool_)
        for _ in range(min(self.limit, SPEED_STEPS)):
            going = ~batch.step(self.setting.policy(batch.observations)).ended
            batch.keep(going)
            going = going[going]
            if not len(going):
                break
        batch.keep(~going)
        each = (before - end.left) / (self.setting.simulator.n_steps - n)
        return int(max(end.left, 0.0) / 2 / max(each, 1e-12))

    @property
    def is_planned(self) -> bool:
        """Whether policies were planned, and not only chosen among ready ones."""
        return self._model is not None

    def best_for(self, weights: Floats) -> Tried:
        """The best policy for these weights, after adding those that are made for them."""
        made: list[Act] = [_improved(self.seen, weights)]
        if self._model is not None:
            made.append(self._model.policy(weights))
        self._add(made)
        return max(self.tried, key=lambda one: float(one.discounted @ weights))

    def _try(self, act: Act) -> Tried:
        """Estimated successor features of a policy; its transitions are kept."""
        setting, n = self.setting, self.n_episodes
        totals = np.zeros((2, n, len(setting.weights)))
        batch, alive, weight = setting.simulator.begin(self._seeds), np.arange(n), 1.0
        for _ in range(self.limit):
            before, actions = batch.observations, act(batch.observations)
            stepped = batch.step(actions)
            phi = setting.features(before, actions, stepped)
            totals[0, alive] += weight * phi
            totals[1, alive] += phi
            weight *= setting.discount
            rows = as_rows(before)
            if 0 < rows.shape[1] <= MAX_NUMBERS:  # more are too far from each other for a plan
                whole = (rows, actions, phi, as_rows(stepped.observations), stepped.ended)
                self._steps.append(TriedSteps(*map(np.array, whole)))
            batch.keep(~stepped.ended)
            alive = alive[~stepped.ended]
            if not len(alive):
                break
        batch.keep(np.zeros(len(alive), dtype=np.bool_))
        return Tried(act, *totals.mean(axis=1))

    def _ready(self) -> Iterator[Act]:
        """Policies that need no plan: constant actions, chance, and mixtures with the own one."""
        space = copy.deepcopy(self.setting.simulator.action_space)
        space.seed(int(self.rng.integers(2**31)))

        def chance(observations: Any) -> Any:
            return np.stack([np.asarray(space.sample()) for _ in range(len(observations))])

        yield _mixed(self.setting.policy, chance, 0.3, self.rng)
        yield chance
        for action in _constant_actions(space):
            yield partial(_repeated, action)
        yield _mixed(self.setting.policy, chance, 0.7, self.rng)

    def _planned_model(self) -> _Model | None:
        """A model of the transitions so far; None where observations have many numbers."""
        space = self.setting.simulator.action_space
        few_actions = _is_discrete(space) or tuple(getattr(space, "shape", ())) == (1,)
        if not self._steps or not few_actions:
            return None
        joined = TriedSteps(*(np.concatenate(part) for part in zip(*self._steps, strict=True)))
        if len(joined.before) < 100:
            return None
        some = self.rng.permutation(len(joined.before))[:MAX_SAMPLES]
        kept = TriedSteps(*(part[np.sort(some)] for part in joined))
        return _Model(kept, self.setting, space)


def _mixed(first: Act, second: Act, share: float, rng: np.random.Generator) -> Act:
    """One policy, and another one for some of the steps."""

    def act(observations: Any) -> Any:
        chosen = np.array(first(observations))
        others = rng.random(len(chosen)) < share
        chosen[others] = np.asarray(second(observations))[others]
        return chosen

    return act


def _repeated(action: Any, observations: Any) -> Any:
    return np.repeat(np.asarray(action)[None], len(observations), axis=0)


def _is_discrete(space: Any) -> bool:
    """Whether actions are numbers from the first on; MultiBinary has an n, too."""
    return hasattr(space, "n") and not space.shape


def _constant_actions(space: Any) -> list[Any]:
    if _is_discrete(space):
        first = int(getattr(space, "start", 0))
        return list(range(first, first + min(int(space.n), 6)))
    low, high = getattr(space, "low", None), getattr(space, "high", None)
    return [] if low is None else [np.asarray(low), (np.asarray(low) + high) / 2, np.asarray(high)]


def _improved(seen: Observed, weights: Floats) -> Act:
    """The action that is best for weights by the rows of the nearest state that was observed."""
    flat = as_rows(seen.observations)
    scale = np.where(flat.std(axis=0) > 0, flat.std(axis=0), 1.0)
    tree = KDTree(flat / scale)
    gains = -(seen.rows @ weights)
    best = gains.argmax(axis=1)
    better = gains[np.arange(len(best)), best] > seen.setting.tolerance
    others = np.asarray(seen.others)[np.arange(len(best)), best]

    def act(observations: Any) -> Any:
        chosen = np.array(seen.setting.policy(observations))
        nearest = tree.query(as_rows(observations) / scale)[1]
        changed = better[nearest]
        chosen[changed] = others[nearest][changed]
        return chosen

    return act


class _Model:
    """Values of sampled next states by their nearest samples of each action."""

    def __init__(self, steps: TriedSteps, setting: Setting, space: Any):
        self._steps, self._discount = steps, setting.discount
        n = len(steps.before)
        flat = steps.before.reshape(n, -1).astype(np.float64)
        self._scale = np.where(flat.std(axis=0) > 0, flat.std(axis=0), 1.0)
        if _is_discrete(space):
            self._actions = np.unique(steps.actions)
            kind = np.searchsorted(self._actions, steps.actions)
        else:
            levels = np.linspace(space.low, space.high, LEVELS, dtype=space.dtype)
            kind = np.abs(steps.actions[:, None] - levels[None])[:, :, 0].argmin(axis=1)
            present = np.unique(kind)
            self._actions, kind = levels[present], np.searchsorted(present, kind)
        self._places = [np.flatnonzero(kind == a) for a in range(len(self._actions))]
        self._trees = [KDTree(flat[places] / self._scale) for places in self._places]
        self._moves = [self._nearest(steps.after, a) for a in range(len(self._actions))]

    def _nearest(self, observations: Any, action: int) -> csr_array:
        """Weights (n, samples) of the nearest samples of an action."""
        n, places = len(observations), self._places[action]
        flat = as_rows(observations) / self._scale
        m = min(NEIGHBOURS, len(places))
        lengths, found = self._trees[action].query(flat, k=list(range(1, m + 1)))
        near = 1.0 / (lengths + 1e-6)
        shares = near / near.sum(axis=1, keepdims=True)
        columns, size = places[found], len(self._steps.before)
        return csr_array((shares.ravel(), columns.ravel(), np.arange(n + 1) * m), shape=(n, size))

    def policy(self, weights: Floats) -> Act:
        """The policy that is best for weights in this model."""
        paid = self._steps.features @ weights
        going = self._discount * ~np.asarray(self._steps.ended, dtype=bool)
        values = np.zeros(len(paid))
        enough = 1e-4 * max(float(np.abs(paid).max()), 1e-300) / (1 - self._discount)
        for _ in range(math.ceil(FAR / (1 - self._discount))):
            backed = paid + going * values
            new = np.max([moves @ backed for moves in self._moves], axis=0)
            done = float(np.abs(new - values).max()) < enough * (1 - self._discount)
            values = new
            if done:
                break
        backed = paid + going * values

        def act(observations: Any) -> Any:
            worth = [self._nearest(observations, a) @ backed for a in range(len(self._actions))]
            return self._actions[np.argmax(worth, axis=0)]

        return act


def replanned_words(found: Replanned, names: tuple[str, ...]) -> str:
    """What was tried and reached, in one sentence."""
    if found.n_policies == 1:
        return (
            "replanned: no time for a policy beside the agent's, so that the lesson does not hold"
        )
    how = "planned and given policies" if found.is_planned else "given policies"
    told = (
        f"replanned: of {found.n_policies} {how} the best for the taught weights returns "
        f"{found.taught:.4g} an episode, the agent {found.own:.4g}"
    )
    if found.worst < found.taught:
        weights = ", ".join(
            f"{shown_name(name)} {weight:.2g}"
            for name, weight in zip(names, found.worst_weights, strict=True)
        )
        told += f"; for other weights that fit ({weights}) down to {found.worst:.4g}"
    return told
