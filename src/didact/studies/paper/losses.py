"""Losses after each answer or demonstration: what two studies of learners measure and draw."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from didact.studies.estimates import Estimate, estimate
from didact.studies.figure import Lines
from didact.studies.paper.pictures import line
from didact.studies.study import Record

MEASURES = {"wrong": "wrong actions, % of states", "loss": "policy loss"}
Curves = dict[str, list[Estimate]]
"""A measure at each place, by who was measured."""


def curves_of(
    records: Sequence[Record], names: Iterable[str], measure: str, places: Sequence[int]
) -> Curves:
    """The means over trials of a measure at places of each one's list."""
    return {
        name: [estimate(record[name][measure][place] for record in records) for place in places]
        for name in names
    }


def curves_panel(
    measure: str, x_title: str, xs: Sequence[int], curves: Mapping[str, Sequence[Estimate]]
) -> Lines:
    """The curves of a measure as lines."""
    title, places = MEASURES[measure], [float(x) for x in xs]
    series = tuple(line(name, places, found) for name, found in curves.items())
    return Lines(title, x_title, title, series)
