"""The fewest clips that leave no seen row further than the tolerance from what they say.

First a kernel: rows are taken, the furthest first, until all others lie within half the tolerance
of their cone; that is a few dozen of thousands. Which clips say a kernel row alone is a covering
problem, solved to its minimum. Errors add up in a cone, so the choice is then judged on all rows:
what is still open gets the clip that brings the furthest row nearest, and clips that are not needed
are dropped, the shortest first.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

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


def as_said(rows: Floats, truth: Floats) -> Floats:
    """Scaled rows (m, k) that are shown, as the truth fits them.

    A clip may hold steps that are wrong by less than the tolerance. Taken at their word they would
    exclude the true reward, and a cone that excludes it leaves nothing open and teaches nothing: so
    such a row is moved, by less than the tolerance, to where the truth is indifferent.
    """
    return np.asarray(rows - np.minimum(rows @ truth, 0.0)[:, None] * truth)


def rows_said(clips: Sequence[Clip], truth: Floats, tolerance: float) -> Floats:
    """What clips say, (m, k), in rows that the truth fits; next to nothing is left out."""
    k = len(truth)
    rows = np.concatenate([np.empty((0, k)), *(clip.rows.reshape(-1, k) for clip in clips)])
    rows = as_said(rows, truth)
    return np.asarray(rows[np.linalg.norm(rows, axis=1) > FINE * tolerance])


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


def chosen_clips(clips: Sequence[Clip], truth: Floats, tolerance: float) -> list[int]:
    """The numbers of clips that together say what all of them say, up to the tolerance."""
    said = [kernel_rows(rows_said([clip], truth, tolerance), FINE * tolerance) for clip in clips]
    everything = rows_said(clips, truth, tolerance)
    if not len(everything):
        return []
    kernel = kernel_rows(everything, tolerance / 2)
    says = np.array([distances_to_cone(rows, kernel).lengths <= tolerance for rows in said])
    chosen = _fewest(says[:, says.any(axis=0)])
    measured = np.concatenate([clip.rows.reshape(-1, len(truth)) for clip in clips])
    chosen = _completed(chosen, said, measured, tolerance)
    return _without_idle(chosen, clips, said, measured, tolerance)


def _fewest(says: NDArray[np.bool_]) -> list[int]:
    """The fewest clips that say every row that some clip says alone."""
    n_clips, n_rows = says.shape
    if not n_rows:
        return []
    found = cheapest_cover(
        n_clips,
        [np.flatnonzero(line).tolist() for line in says],
        [1] * n_clips,
        lambda chosen: None,
        elements=[np.flatnonzero(column).tolist() for column in says.T],
        time_limit=SECONDS,
    )
    return list(found.chosen)


def _completed(chosen: list[int], said: list[Floats], rows: Floats, tolerance: float) -> list[int]:
    """The choice, and clips for what it leaves open."""
    chosen = list(chosen)
    while len(chosen) < len(said):
        shown = np.concatenate([rows[:0], *(said[i] for i in chosen)])
        lengths = distances_to_cone(shown, rows).lengths
        worst = int(lengths.argmax())
        if lengths[worst] <= tolerance:
            break
        others = [i for i in range(len(said)) if i not in chosen]
        near = [
            float(distances_to_cone(np.concatenate([shown, said[i]]), rows[[worst]]).lengths[0])
            for i in others
        ]
        chosen.append(others[int(np.argmin(near))])
    return chosen


def _without_idle(
    chosen: list[int], clips: Sequence[Clip], said: list[Floats], rows: Floats, tolerance: float
) -> list[int]:
    """The choice without clips that it can do without, the shortest tried first."""
    kept = list(chosen)
    for number in sorted(chosen, key=lambda i: (len(clips[i]), i)):
        rest = [i for i in kept if i != number]
        shown = np.concatenate([rows[:0], *(said[i] for i in rest)])
        if distances_to_cone(shown, rows).lengths.max() <= tolerance:
            kept = rest
    return sorted(kept)
