"""Clips: runs of a rollout without a mistake, what a policy that errs can honestly show."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from didact.bec.observed import Observed
from didact.bec.walking import followed

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Clip:
    """Steps of one episode, one after the other, and what they say.

    episode: its name, for people. first, last: its steps, from 0, `last` included. observations,
    actions: what is seen and done. rows: scaled, in return, (steps, B, k). situations: what the
    simulator needs to stand in each step again.
    """

    episode: str
    first: int
    last: int
    observations: Any
    actions: Any
    rows: Floats
    situations: tuple[Any, ...]

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        steps = f"step {self.first + 1}"
        if self.last > self.first:
            steps = f"steps {self.first + 1} to {self.last + 1}"
        return f"Clip({self.episode}, {steps})"


def clips_of(seen: Observed, *, whole: bool = False) -> list[Clip]:
    """The longest runs of situations without a mistake; with `whole`, only whole rollouts."""
    clips = []
    for rollout in np.unique(seen.rollout).tolist():
        places = np.flatnonzero(seen.rollout == rollout)
        right = ~seen.mistaken[places]
        if whole:
            runs = [places] if right.all() else []
        else:
            borders = np.flatnonzero(np.diff(right)) + 1
            runs = [run for run in np.split(places, borders) if not seen.mistaken[run[0]]]
        clips += [_cut(seen, f"rollout {rollout + 1}", run) for run in runs]
    return clips


def clip_from(seen: Observed, situation: Any, time: int, rng: np.random.Generator) -> Clip | None:
    """What the policy does from a fresh situation, up to its first mistake; None if at once.

    time: of the situation in its episode. It goes on for as long as rollouts are.
    """
    setting, length = seen.setting, int(seen.step.max()) + 1
    batch = setting.simulator.resume([situation], rng.integers(2**31, size=1))
    walked = followed(batch, setting.policy, setting.features, length)
    walked.paid(setting.rewards).checked()
    measured = setting.rows_of(walked.situations, walked.observations, rng)
    shown = replace(
        seen,
        setting=measured.setting,
        situations=tuple(walked.situations),
        observations=walked.observations,
        own=walked.actions,
        others=measured.others,
        rows=measured.rows,
        rollout=walked.rollout,
        step=walked.step + time,
        covariances=measured.covariances,
    )
    n_right = int(np.append(shown.mistaken, True).argmax())
    return _cut(shown, "a fresh episode", np.arange(n_right)) if n_right else None


def _cut(seen: Observed, episode: str, run: NDArray[np.int64]) -> Clip:
    return Clip(
        episode,
        int(seen.step[run[0]]),
        int(seen.step[run[-1]]),
        seen.observations[run],
        seen.own[run],
        seen.certain_rows[run],
        tuple(seen.situations[i] for i in run),
    )
