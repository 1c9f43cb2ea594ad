"""Who is observed, where and by which measure, and what is known of the rewards of steps.

**Rewards.** A reward is known only where somebody stepped, so the steps of rollouts, of branches
and of sampled episodes are all compared with weights . features. The least and the largest reward
low, high (0 included, because a branch may end) bound what a branch of H steps misses (truncation):

    |tail| <= discount^H (high - low) / (1 - discount).

Features that miss the reward by m on a step miss a difference of returns by at most
2 m / (1 - discount).

**Chance.** Where steps depend on chance a half-space normal is the mean of n repeats. The test of
its sign is the empirical Bernstein bound (Maurer and Pontil 2009, Theorem 4): the mean of n draws
within a range W, with sample variance V, exceeds the true mean by more than

    sqrt(2 V L / n) + 7 W L / (3 (n - 1))

with probability at most 2 exp(-L), whatever the distribution. Student's t gives no such guarantee:
a jackpot of 1 in 500 is missing from most samples of 100, and these look as if nothing varied."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from didact.errors import InvalidModel, InvalidParameter
from didact.files.json import require_writable
from didact.files.reading import shown_path
from didact.inputs import as_text, whole_number
from didact.numerics.geometry import singular_directions
from didact.random import stream
from didact.worlds.simulators.batches import Features, Masks, Policy, Simulator, as_weights

Floats = NDArray[np.float64]
Progress = Callable[[int, int, float], Any]
"""Of states done, of how many, and simulator steps a second."""

MAX_RESIDUAL = 1e-3
"""A reward is linear in the features when they miss it by no more than this share of its size."""
UNSEEN = 1e-9
"""Against the largest one, the size up to which a singular value of scaled features is rounding."""
RARE = 0.01
"""A feature that varied on a smaller share of the steps is named where weights are fitted."""
BLIND = 1e-6
"""Against the largest one, the size up to which a singular value of the rows is rounding: rows are
sums of hundreds of steps, so they carry more rounding than features of one step."""
WRONG = 0.01
"""Probability with which a test may call the sign of one row certain when it is not."""
MAX_BUFFER = 20_000
"""Steps of branches that are compared with weights . features at once."""


@dataclass(frozen=True, eq=False)
class StepRewards:
    """What steps paid, beside what weights . features say of them.

    weights: None where they are still to be fitted. n: steps. low, high: of the rewards and of 0.
    missed: the largest difference to weights . features; reward, said, place: where that was.
    factor: the triangular factor of (features, rewards), for the fit. first: features of the first
    step; n_varied: steps on which each of them was another one. declared: bounds of the reward
    that were given; rewards beyond them are refused. fitted: whether weights were fitted.
    """

    weights: Floats | None
    n: int = 0
    low: float = 0.0
    high: float = 0.0
    missed: float = 0.0
    reward: float = 0.0
    said: float = 0.0
    place: str = ""
    factor: Floats | None = None
    first: Floats | None = None
    n_varied: NDArray[np.int64] | None = None
    declared: tuple[float, float] | None = None
    fitted: bool = False

    def with_steps(
        self, features: Floats, rewards: Floats, place: Callable[[int], str]
    ) -> StepRewards:
        """With some more steps; place: where each of them was, in words."""
        if not len(rewards):
            return self
        if not np.isfinite(rewards).all():
            wrong = int(np.flatnonzero(~np.isfinite(rewards))[0])
            raise InvalidModel(f"rewards must be finite; {place(wrong)} it is {rewards[wrong]}")
        known = replace(
            self,
            n=self.n + len(rewards),
            low=min(self.low, float(rewards.min())),
            high=max(self.high, float(rewards.max())),
        )
        if self.weights is None:
            return known._for_fit(features, rewards)
        said = features @ self.weights
        missed = np.abs(said - rewards)
        worst = int(missed.argmax())
        if missed[worst] <= self.missed:
            return known
        told = {"reward": float(rewards[worst]), "said": float(said[worst]), "place": place(worst)}
        return replace(known, missed=float(missed[worst]), **told)  # type: ignore[arg-type]

    def _for_fit(self, features: Floats, rewards: Floats) -> StepRewards:
        # R of a running QR keeps the normal equations of all steps in (k + 1)^2 numbers
        both = np.concatenate([features, rewards[:, None]], axis=1)
        before = np.empty((0, both.shape[1])) if self.factor is None else self.factor
        first = features[0] if self.first is None else self.first
        varied = (features != first).sum(axis=0)
        return replace(
            self,
            factor=np.asarray(np.linalg.qr(np.concatenate([before, both]), mode="r")),
            first=first,
            n_varied=varied if self.n_varied is None else self.n_varied + varied,
        )

    def joined(self, other: StepRewards | None) -> StepRewards:
        """With the steps of another record of the same weights."""
        if other is None or not other.n:
            return self
        worse = other if other.missed > self.missed else self
        return replace(
            self,
            n=self.n + other.n,
            low=min(self.low, other.low),
            high=max(self.high, other.high),
            **{name: getattr(worse, name) for name in ("missed", "reward", "said", "place")},
        )

    def checked(self) -> StepRewards:
        """The same; refuses a reward that is not weights . features, or beyond its bounds."""
        if self.declared is not None and not (
            self.declared[0] <= self.low and self.high <= self.declared[1]
        ):
            raise InvalidModel(
                f"rewards must stay within reward_range, {self.declared[0]:.6g} to "
                f"{self.declared[1]:.6g}, or 0 after an end; they were {self.low:.6g} to "
                f"{self.high:.6g}"
            )
        if self.missed > MAX_RESIDUAL * max(-self.low, self.high, 1e-12):
            fit = "" if self.fitted else ", or leave weights out to have them fitted"
            raise InvalidModel(
                f"the reward must be weights . features; {self.place} it is {self.reward:.6g} and "
                f"the features say {self.said:.6g}; add the feature that is missing{fit}"
                " (didact.reward_terms looks for it)"
            )
        return self

    @property
    def bounds(self) -> tuple[float, float]:
        """Of the reward, 0 included: as they were given, else as they were seen."""
        low, high = (self.low, self.high) if self.declared is None else self.declared
        return min(low, 0.0), max(high, 0.0)

    def largest_return(self, discount: float) -> float:
        """The most by which the returns of two branches can differ; one of them may end."""
        low, high = self.bounds
        return max(high - low, 1e-300) / (1 - discount)

    def horizon(self, discount: float, left: float) -> int:
        """The steps after which no more than so much return may follow."""
        share = min(1.0, left / self.largest_return(discount))
        return max(1, math.ceil(math.log(share) / math.log(discount)))

    def unexplained(self, discount: float) -> float:
        """What the features may miss of a difference of returns."""
        return 2 * self.missed / (1 - discount)

    def assumption(self) -> str:
        """What is taken for granted of the reward, in words; nothing where bounds were given."""
        if self.declared is not None:
            return ""
        return (
            f"rewards stay between {self.low:.3g} and {self.high:.3g}, as on all {self.n:,} steps "
            "that were made (reward_range gives bounds)"
        )


def in_step(number: int, of: str) -> Callable[[int], str]:
    """Where steps are that were made at one time, counted from 0."""
    return lambda _: f"in step {number + 1} of {of}"


class BranchRewards:
    """A buffer of branch steps before they enter a record.

    A batch is small, and comparing each of its steps alone would cost a tenth of stepping it.
    """

    def __init__(self, record: StepRewards):
        self._record, self._n = record, 0
        self._parts: list[tuple[Floats, Floats, int]] = []

    def add(self, features: Floats, rewards: Floats, step: int) -> None:
        """One step of some copies; step: its number in their branches, from 1."""
        # copies: functions of users may give the same array again, with other numbers
        self._parts.append((features.copy(), rewards.copy(), step))
        self._n += len(rewards)
        if self._n > MAX_BUFFER:
            self.record()

    def add_all(self, steps: Sequence[tuple[Floats, Floats, int]]) -> BranchRewards:
        """Steps of some copies, one after the other."""
        for step in steps:
            self.add(*step)
        return self

    def record(self) -> StepRewards:
        """The record with all steps so far."""
        if self._parts:
            features, rewards, steps = zip(*self._parts, strict=True)
            ends = np.cumsum([len(part) for part in rewards])

            def place(at: int) -> str:
                return f"in step {steps[int(np.searchsorted(ends, at, side='right'))]} of a branch"

            self._record = self._record.with_steps(
                np.concatenate(features), np.concatenate(rewards), place
            )
            self._parts, self._n = [], 0
        return self._record


def fitted_weights(record: StepRewards, names: Sequence[str]) -> Floats:
    """Least-squares weights of all steps of a record; refused where the steps do not tell them."""
    assert record.factor is not None
    features, rewards = record.factor[:, :-1], record.factor[:, -1]
    sizes = np.linalg.norm(features, axis=0)
    steps = f"{record.n:,} steps"
    if not sizes.all():
        never = [name for name, size in zip(names, sizes, strict=True) if not size]
        raise InvalidModel(
            f"weights cannot be fitted: {_listed(never)} never varied from 0 on {steps}; give "
            "weights, or starts, rollouts or a horizon that let it vary"
        )
    # unit columns: the rank must not depend on the features' units
    values, directions = singular_directions(features / sizes)
    blind = np.abs(directions[values <= UNSEEN * values[0]]).max(axis=0, initial=0.0)
    if blind.any():
        together = [name for name, part in zip(names, blind, strict=True) if part > 1e-6]
        raise InvalidModel(
            f"weights cannot be fitted: {_listed(together)} varied only together, or never, on "
            f"{steps}; give weights, or leave one of them out"
        )
    fitted = np.linalg.lstsq(features / sizes, rewards, rcond=None)[0] / sizes
    return as_weights(fitted, len(sizes))


def fit_notes(record: StepRewards, names: Sequence[str]) -> tuple[str, ...]:
    """Features whose weights were fitted by few steps, with their number."""
    assert record.first is not None
    assert record.n_varied is not None
    few = [
        f"{name} varied on {n:,}"
        for name, n, first in zip(names, record.n_varied.tolist(), record.first, strict=True)
        if n < RARE * record.n and (n or not first)
    ]
    return (f"weights fitted to {record.n:,} steps, of which {', '.join(few)}",) if few else ()


def _listed(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def bernstein_slack(variances: Floats, repeats: int, span: float, wrong: float = WRONG) -> Floats:
    """The empirical Bernstein bound of means of so many repeats, which have these variances.

    span: the range of single draws. wrong: the probability of missing it.
    """
    size = math.log(2 / wrong)
    return np.asarray(np.sqrt(2 * variances * size) + 7 * span * size / (3 * (repeats - 1)))


def enough_repeats(variance: float, repeats: int, span: float, tolerance: float) -> int:
    """Repeats for which the slack would be within the tolerance: so many, doubled often enough."""
    n = repeats
    while bernstein_slack(np.array(variance * repeats / n), n, span) > tolerance and n < 2**60:
        n *= 2
    return n


def joined_extremes(parts: Sequence[Floats | None]) -> Floats | None:
    """The least and the largest entries (2, k) of several measurements; None without any."""
    given = [part for part in parts if part is not None]
    if not given:
        return None
    return np.stack([np.min([low for low, _ in given], axis=0),
                     np.max([high for _, high in given], axis=0)])  # fmt: skip


@dataclass(frozen=True)
class ObserveWorkers:
    """Who steps branches; results do not depend on it. Checked when it is made.

    jobs: processes on this machine.
    cluster: the address of a Dask scheduler that branches instead.
    checkpoint: a file that keeps what is done; when an observation was interrupted, the same one
        with the same file goes on from there. It is removed at the end.
    progress: a function (states done, of how many, simulator steps a second).
    """

    jobs: int = 1
    cluster: str | None = None
    checkpoint: str | None = None
    progress: Progress | None = None

    def __post_init__(self) -> None:
        whole_number(self.jobs, "jobs", 1)
        if self.progress is not None and not callable(self.progress):
            raise InvalidParameter("progress must be a function (done, total, steps a second)")
        if self.cluster is not None:
            as_text(self.cluster, "cluster")
        if self.checkpoint is not None:
            shown_path(self.checkpoint)
            if not os.path.exists(self.checkpoint):
                require_writable(self.checkpoint, None)

    @property
    def quiet(self) -> ObserveWorkers:
        """The same workers for small measurements, which report and keep nothing."""
        return replace(self, checkpoint=None, progress=None)


HERE = ObserveWorkers()
"""This process alone."""


@dataclass(frozen=True)
class Alternatives:
    """The actions that are compared with the policy's own.

    Of a discrete space with `n_actions` from `first` on: all others. Of a continuous one: the
    policy's action moved by `width` along every axis, both ways, and `n_random` uniform actions,
    within the bounds; the generator's stream is fixed, so measuring again tries the same ones. Of
    several discrete numbers at once (MultiDiscrete), up to `high` and without a width: every other
    value of each of them alone.
    held: for how many steps they are taken before the policy goes on; each number of steps is an
    alternative of its own.
    masks: at the end of observations; the policy's own action stands for masked ones.
    """

    n_actions: int = 0
    first: int = 0
    low: Any = None
    high: Any = None
    width: Any = None
    n_random: int = 0
    seed: int = 0
    held: tuple[int, ...] = (1,)
    masks: Masks | None = None

    def steps_held(self, n_others: int) -> tuple[int, ...]:
        """For how many steps the policy's action and each of the alternatives are taken."""
        each = n_others // len(self.held)
        return (1, *(steps for steps in self.held for _ in range(each)))

    @property
    def is_multi_discrete(self) -> bool:
        """Whether actions are several whole numbers, up to `high`; they have no step around."""
        return not self.n_actions and not np.any(self.width)

    def n_others(self, space: Any) -> int:
        """How many alternatives a state has."""
        if self.n_actions:
            return (self.n_actions - 1) * len(self.held)
        if self.is_multi_discrete:
            return int(np.sum(self.high)) * len(self.held)
        return (2 * int(math.prod(space.shape)) + self.n_random) * len(self.held)

    def beside(self, own: Any, observations: Any) -> Any:
        """The alternatives (n, B, ...) in each state, in the order of `held`."""
        tried = self._tried(own, observations)
        if self.masks is not None:
            tried = self.masks.beside(own, tried, observations)
        return np.concatenate([tried] * len(self.held), axis=1)

    def _tried(self, own: Any, observations: Any) -> Any:
        if self.n_actions:
            shift = np.arange(1, self.n_actions)
            return (own[:, None] - self.first + shift) % self.n_actions + self.first
        if self.is_multi_discrete:
            tried = []
            for j, most in enumerate(map(int, self.high)):
                for further in range(1, most + 1):
                    other = np.array(own)
                    other[:, j] = (other[:, j] + further) % (most + 1)
                    tried.append(other)
            return np.stack(tried, axis=1)
        m = own.shape[-1]
        steps = np.concatenate([np.eye(m), -np.eye(m)]) * self.width
        near = np.clip(own[:, None] + steps, self.low, self.high)
        rng = stream(self.seed, "alternatives", len(observations))
        anywhere = rng.uniform(self.low, self.high, (len(own), self.n_random, m))
        return np.concatenate([near, anywhere], axis=1)


@dataclass(frozen=True)
class Setting:
    """Who is observed, where, and by which measure; the same for every state.

    A row is a half-space normal mu(s, pi(s)) - mu(s, b) of a state and an alternative b.

    tolerance: return below which a difference counts as none.
    scale: root mean square of each feature over rows, fixed before any state is judged.
    alternatives: the actions that are compared with the policy's.
    rewards: what the steps so far paid.
    repeats: branches of each action, more than one where steps depend on chance.
    workers: who steps branches; results do not depend on it.
    blind: orthonormal directions (m, k) of scaled rewards that no row sees, such as a constant for
        every step; None before rows are measured.
    extremes: where steps depend on chance, the least and the largest entries (2, k) of rows of
        single repeats so far.
    seconds_a_step: that a step of one of many copies takes; 0 where nobody has looked.
    """

    simulator: Simulator
    policy: Policy
    features: Features
    weights: Floats
    feature_names: tuple[str, ...]
    discount: float
    horizon: int
    tolerance: float
    scale: Floats
    alternatives: Alternatives
    rewards: StepRewards
    repeats: int = 1
    workers: ObserveWorkers = HERE
    blind: Floats | None = None
    extremes: Floats | None = None
    seconds_a_step: float = 0.0

    def states_in(self, seconds: float, n_branches: int) -> float:
        """How many states can be branched in this time; 0 where the time of a step is not known."""
        each = self.seconds_a_step * n_branches * self.repeats * self.horizon
        return max(seconds, 0.0) / each if each > 0 else 0.0

    @property
    def unit(self) -> float:
        """Return of a unit row, in scaled features, under a reward of the true one's size."""
        return float(np.linalg.norm(self._visible))

    @property
    def truth(self) -> Floats:
        """The true reward in scaled features: scaled rows times it are margins."""
        return np.asarray(self.weights * self.scale / self.unit)

    @property
    def visible(self) -> Floats:
        """The part of the truth that rows see, of length 1; it gives them the same margins."""
        return self._visible / self.unit

    @property
    def _visible(self) -> Floats:
        own = np.asarray(self.weights * self.scale)
        if self.blind is None:
            return own
        seen = own - self.blind.T @ (self.blind @ own)
        # a true reward that no row sees would leave a direction of rounding: keep it whole
        return np.asarray(seen) if np.linalg.norm(seen) > BLIND * np.linalg.norm(own) else own

    def scaled(self, rows: Floats) -> Floats:
        """Rows in units in which their columns are alike and distances are in return."""
        return np.asarray(rows / self.scale * self.unit)

    def slack(
        self, covariances: Floats | None, weights: Floats, wrong: float = WRONG
    ) -> Floats | float:
        """How far rows . weights may be above the truth by chance, (n, B), each but for this
        probability; 0 without chance."""
        if covariances is None:
            return 0.0
        variances = np.einsum("nbij,i,j->nb", covariances, weights, weights)
        # rounding may leave a variance of 0 slightly negative
        span = self.span(weights)
        return bernstein_slack(np.maximum(variances, 0.0), self.repeats, span, wrong)

    def span(self, weights: Floats) -> float:
        """The range of rows . weights of single repeats: what bounds of the reward say, else what
        was seen of each feature."""
        if self.extremes is None:
            return 0.0
        if self.rewards.declared is not None and weights is self.weights:
            return 2 * self.rewards.largest_return(self.discount)
        return float((self.extremes[1] - self.extremes[0]) @ np.abs(weights))

    def shortfall(self, rows: Floats, covariances: Floats | None, weights: Floats) -> Floats:
        """For rows (n, B, k) the least that rows . weights may be by chance, (n, B)."""
        return np.asarray(rows @ weights - self.slack(covariances, weights))

    @property
    def tail(self) -> float:
        """What may follow after the horizon, in return."""
        return self.rewards.largest_return(self.discount) * self.discount**self.horizon

    @property
    def error(self) -> float:
        """How far the margin of a row may be from the truth, chance apart: what follows after the
        horizon, and what the features miss of the reward."""
        return self.tail + self.rewards.unexplained(self.discount)


def blind_directions(rows: Floats, scale: Floats) -> Floats:
    """An orthonormal basis (m, k) of scaled rewards that are orthogonal to all rows (..., k)."""
    sizes, directions = singular_directions(rows.reshape(-1, rows.shape[-1]) / scale)
    return np.asarray(directions[sizes <= BLIND * max(float(sizes[0]), 1e-300)])
