"""The teaching difficulty of tasks as one SVG picture: bars of demonstrations and of pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from didact.report.page.templates import render
from didact.report.verdicts import between
from didact.teaching.rank import Difficulty

LONGEST_BAR = 420


@dataclass(frozen=True)
class Bar:
    """A bar in units of the picture: full up to what is proved, light up to what was found."""

    sure: float
    found: float
    words: str


def rank_svg(rows: Sequence[Difficulty]) -> str:
    """The bars of tasks that were ranked: demonstrations above, pairs below, for each."""
    ranked = [row for row in rows if row.error is None]
    most = max((max(r.n_pairs or 0, r.n_demonstrations or 0) for r in ranked), default=0) or 1
    return render(
        "rank.svg.jinja",
        rows=[
            (
                row,
                _bar(row.fewest_demonstrations, row.n_demonstrations, most),
                _bar(row.fewest_pairs, row.n_pairs, most),
            )
            for row in ranked
        ],
    )


def _bar(low: int | None, high: int | None, most: int) -> Bar:
    found = (high or 0) * LONGEST_BAR / most
    return Bar(found if low is None else low * LONGEST_BAR / most, found, between(low, high))
