"""Clips, and the fewest of them that leave no observed row open.

A clip is a run of a rollout without a mistake: what a policy that errs can honestly show. Competent
policies are rarely optimal, so whole rollouts without a mistake are rare.

**Fewest clips.** What several clips say together is the cone of all their rows, so whether they
cover is known only by asking: an implicit hitting set. Clips that leave a row further than the
tolerance from their cone have a witness, a reward that fits them all and prefers the other action;
every lesson must have one of the clips that contradict it. That cut is made as small as it can be:
clips join those that leave the row open for as long as it stays open. What all clips together leave
open is asked of none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from didact.bec.observed.branches import measure
from didact.bec.observed.episodes import followed
from didact.bec.observed.openness import distances_to_cone
from didact.bec.observed.result import Observed
from didact.bec.observed.setting import Floats, Setting
from didact.teaching.covers.minimum import cheapest_cover

MAX_KERNEL = 300
"""Rows of a kernel; what more would be needed is found when the clips are judged."""
FINE = 0.02
"""Share of the tolerance up to which rows that are shown may be left out of a cone: a few dozen
rows stand for thousands, and the error stays far below the tolerance."""
SECONDS = 10.0
"""For the covering problem; after that the best cover is taken."""


@dataclass(frozen=True, eq=False)
class Clip:
    """Steps of one episode, one after the other, and what they say.

    episode: its name, for people. first, last: its steps, from 0, `last` included. observations,
    actions: what is seen and done. rows: scaled half-space normals, in return, (steps, B, k).
    states: as the simulator saves them, to stand in each step again.
    """

    episode: str
    first: int
    last: int
    observations: Any
    actions: Any
    rows: Floats
    states: tuple[Any, ...]

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        steps = f"step {self.first + 1}"
        if self.last > self.first:
            steps = f"steps {self.first + 1} to {self.last + 1}"
        return f"Clip({self.episode}, {steps})"


def clips_of(seen: Observed, *, whole: bool = False) -> list[Clip]:
    """The longest runs of states without a mistake; with `whole`, only whole rollouts."""
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


def clip_from(seen: Observed, state: Any, time: int, rng: np.random.Generator) -> Clip | None:
    """What the policy does from a sampled state, up to its first mistake; None if at once.

    time: of the state in its episode. The clip goes on for as long as rollouts are.
    """
    setting, length = seen.setting, int(seen.step.max()) + 1
    batch = setting.simulator.resume([state], rng.integers(2**31, size=1))
    walked = followed(batch, setting.policy, setting.features, length)
    walked.paid(setting.rewards).checked()
    measured = measure(setting, walked.states, walked.observations, rng)
    shown = replace(
        seen,
        setting=measured.setting,
        states=tuple(walked.states),
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
        tuple(seen.states[i] for i in run),
    )


def as_said(rows: Floats, setting: Setting) -> Floats:
    """Scaled rows (m, k) that are shown, as the truth fits them.

    A clip may hold steps that are wrong by less than the tolerance. Taken at their word they would
    exclude the true reward, and a cone that excludes it leaves nothing open and teaches nothing; as
    ties of the true reward, a few of them would name it, which nobody has shown. So such a row is
    moved to the middle between a tie and what the tolerance allows, along what rows see.
    """
    wrong = np.maximum(-(rows @ setting.truth), 0.0)
    allowed = np.where(wrong > 0.0, (wrong + setting.tolerance) / 2, 0.0)
    return np.asarray(rows + allowed[:, None] * setting.visible)


def rows_said(clips: Sequence[Clip], setting: Setting) -> Floats:
    """What clips say, (m, k), in rows that the truth fits; next to nothing is left out."""
    rows = as_said(_rows_of(clips, len(setting.weights)), setting)
    return np.asarray(rows[np.linalg.norm(rows, axis=1) > FINE * setting.tolerance])


def _rows_of(clips: Sequence[Clip], k: int) -> Floats:
    """All rows of clips, (m, k)."""
    return np.concatenate([np.empty((0, k)), *(clip.rows.reshape(-1, k) for clip in clips)])


def kernel_rows(rows: Floats, tolerance: float) -> Floats:
    """A few of the rows, whose cone has all others within the tolerance."""
    kept, left = rows[:0], rows
    while len(left) and len(kept) < MAX_KERNEL:
        lengths = distances_to_cone(kept, left).lengths
        if lengths.max() <= tolerance:
            break
        kept = np.concatenate([kept, left[[lengths.argmax()]]])
        left = left[lengths > tolerance]
    return kept


def chosen_clips(clips: Sequence[Clip], setting: Setting) -> list[int]:
    """The numbers of the fewest clips that say what all of them say, up to the tolerance."""
    cover = ClipCover(clips, setting)
    found = cheapest_cover(
        [range(len(clip)) for clip in clips],
        [1] * len(clips),
        cover.gap,
        time_limit=SECONDS,
    )
    return list(found.chosen)


class ClipCover:
    """Which clips leave a row open, and which of the others would help."""

    def __init__(self, clips: Sequence[Clip], setting: Setting):
        self._tolerance = setting.tolerance
        fine = FINE * setting.tolerance
        self._said = [kernel_rows(rows_said([clip], setting), fine) for clip in clips]
        rows = _rows_of(clips, len(setting.weights))
        everything = self._shown(range(len(clips)))
        rows = rows[distances_to_cone(everything, rows).lengths <= setting.tolerance]
        self._asked = (kernel_rows(everything, setting.tolerance / 2), rows)

    def gap(self, chosen: Sequence[int]) -> list[int] | None:
        """Clips of which one must be added to the chosen ones; None where nothing is open.

        A kernel of the rows is asked first: it is a few dozen of thousands.
        """
        shown = self._shown(chosen)
        for rows in self._asked:
            if not len(rows):
                continue
            lengths = distances_to_cone(shown, rows).lengths
            worst = int(lengths.argmax())
            if lengths[worst] > self._tolerance:
                return self._helpful(rows[worst], list(chosen))
        return None

    def _helpful(self, row: Floats, silent: list[int]) -> list[int]:
        """What is left when as many clips as may be have joined those that leave the row open."""
        others = [number for number in range(len(self._said)) if number not in silent]
        for number in sorted(others, key=lambda i: len(self._said[i])):
            if self._away(row, [*silent, number]) > self._tolerance:
                silent.append(number)
        return [number for number in others if number not in silent]

    def _away(self, row: Floats, numbers: Sequence[int]) -> float:
        return float(distances_to_cone(self._shown(numbers), row[None]).lengths[0])

    def _shown(self, numbers: Sequence[int]) -> Floats:
        k = self._said[0].shape[1] if self._said else 0
        return np.concatenate([np.empty((0, k)), *(self._said[i] for i in numbers)])
