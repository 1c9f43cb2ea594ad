"""The fewest clips that leave no seen row further than the tolerance from what they say.

What several clips say together is the cone of all their rows, so which of them cover is known only
by asking: an implicit hitting set. Clips that leave a row open have a witness, a reward that fits
them all and prefers the other action; every lesson must have one of the clips that contradict it.
The cut that says so is made as small as it can be: clips join those that are silent about the row
for as long as it stays open. What all clips together leave open is asked of none.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from didact.bec.observed import Setting
from didact.bec.openness import distances_to_cone
from didact.teaching.clips.cutting import Clip
from didact.teaching.covers.minimum import cheapest_cover

Floats = NDArray[np.float64]

MOST_KERNEL = 300
"""Rows of a kernel; what more would be needed is found when the clips are judged."""
FINE = 0.02
"""Share of the tolerance up to which rows that are shown may be left out of a cone."""
SECONDS = 10.0
"""For the covering problem; after that the best cover is taken."""


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
    while len(left) and len(kept) < MOST_KERNEL:
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
        len(clips),
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
