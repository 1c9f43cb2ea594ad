"""Rewards of every step that is made, held against weights . features.

A reward is known only where somebody stepped, so steps of rollouts, of branches and of fresh
episodes are all compared, and their least and largest reward bounds what follows after a horizon:
the returns of two branches differ by at most discount^H (high - low) / (1 - discount) there, 0
being one of the rewards because a branch may have ended. Features that miss the reward by m on a
step miss a difference of returns by at most 2 m / (1 - discount).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from didact.errors import InvalidModel, InvalidParameter
from didact.inputs import FAILURES, as_float, entries, shown
from didact.worlds.simulators.weights import as_weights

Floats = NDArray[np.float64]

MOST_RESIDUAL = 1e-3
"""A reward is linear in the features when they miss it by no more than this share of its size."""
UNSEEN = 1e-9
"""Against the largest one, the size up to which a singular value of scaled features is rounding."""
FEW = 0.01
"""A feature that varied on a smaller share of the steps is named where weights are fitted."""


@dataclass(frozen=True, eq=False)
class StepRewards:
    """What steps paid, beside what weights . features say of them.

    weights: None where they are still to be fitted. n: steps. low, high: of the rewards and of 0.
    missed: the largest difference to weights . features; reward, said, place: where that was.
    factor: the triangular factor of (features, rewards), for the fit. first: features of the first
    step; n_varied: steps on which each of them was another one. declared: bounds of the reward
    that were given; rewards beyond them are refused.
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
        if self.missed > MOST_RESIDUAL * max(-self.low, self.high, 1e-12):
            raise InvalidModel(
                f"the reward must be weights . features; {self.place} it is {self.reward:.6g} and "
                f"the features say {self.said:.6g}; add the feature that is missing, or leave "
                "weights out to have them fitted"
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

    def tail(self, discount: float, horizon: int) -> float:
        """What may follow after the horizon, in return."""
        return self.largest_return(discount) * discount**horizon

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
    """Steps of branches on their way into a record, many at a time: a batch is small, and looking
    at each of its steps alone would cost a tenth of stepping it."""

    MOST = 20_000

    def __init__(self, record: StepRewards):
        self._record, self._n = record, 0
        self._parts: list[tuple[Floats, Floats, int]] = []

    def add(self, features: Floats, rewards: Floats, step: int) -> None:
        """One step of some copies; step: its number in their branches, from 1."""
        # copies: functions of users may give the same array again, with other numbers
        self._parts.append((features.copy(), rewards.copy(), step))
        self._n += len(rewards)
        if self._n > self.MOST:
            self.record()

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


def as_reward_range(given: Any) -> tuple[float, float] | None:
    """The least and the largest reward, as somebody gives them; None without."""
    if given is None:
        return None
    try:
        low, high = (
            float(bound) if isinstance(bound, str) else as_float(bound)
            for bound in entries(given, "reward_range", "two numbers")
        )
    except FAILURES:
        low = high = np.nan
    if not (np.isfinite(low) and np.isfinite(high) and low <= high):
        raise InvalidParameter(
            f"reward_range must be the least and the largest reward of a step; it is {shown(given)}"
        )
    return float(low), float(high)


def fitted_weights(record: StepRewards, names: Sequence[str]) -> Floats:
    """Least-squares weights of all steps of a record; refused where the steps do not tell them."""
    if record.factor is None or record.first is None or record.n_varied is None:
        raise InvalidModel("weights cannot be fitted without a step; give weights")
    features, rewards = record.factor[:, :-1], record.factor[:, -1]
    sizes = np.linalg.norm(features, axis=0)
    steps = f"{record.n:,} steps"
    if not sizes.all():
        never = [name for name, size in zip(names, sizes, strict=True) if not size]
        raise InvalidModel(
            f"weights cannot be fitted: {_listed(never)} never varied from 0 on {steps}; give "
            "weights, or starts, rollouts or a horizon that let it vary"
        )
    _, values, directions = np.linalg.svd(features / sizes)
    values = np.append(values, np.zeros(len(directions) - len(values)))
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
    if record.first is None or record.n_varied is None:
        return ()
    few = [
        f"{name} varied on {n:,}"
        for name, n, first in zip(names, record.n_varied.tolist(), record.first, strict=True)
        if n < FEW * record.n and (n or not first)
    ]
    return (f"weights fitted to {record.n:,} steps, of which {', '.join(few)}",) if few else ()


def _listed(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
