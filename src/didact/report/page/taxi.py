"""Gymnasium's Taxi as a picture, read from the names of its states and from its own moves.

Nothing of the map is assumed: its size comes from the taxi's places, its walls from moves that stay
where they are, and its four stands from where passengers are picked up.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from didact.mdp import MDP, Task
from didact.mdp.model import idle_states
from didact.mdp.naming import cell_words
from didact.mdp.task import action_directions
from didact.report.page.grid import grid_lines
from didact.report.page.scene import CELL, Box, Place, Scene, Token, only_successor
from didact.report.page.svg import View, number

NAME = re.compile(
    r"row (\d{1,3}), column (\d{1,3}); passenger (in taxi|[^;]{1,8}); to ([^;]{1,8}?)(?: \(end\))?"
)
OLD_NAME = re.compile(NAME.pattern.replace("row", "taxi").replace(", column ", ","))
"""As older files name the states: cells from 0."""

Ride = tuple[int, int, str, str]
"""Row and column of the taxi, where the passenger is, where the ride goes."""


@dataclass(frozen=True)
class Streets:
    """The map: squares (x, y, width, height), lines, stands (letter, x, y), walls as a path."""

    squares: tuple[View, ...]
    lines: str
    stands: tuple[tuple[str, float, float], ...]
    bars: str


@dataclass(frozen=True, eq=False)
class Town:
    """Where taxi, passenger and destination are in each state; stands by letter."""

    mdp: MDP
    rides: tuple[Ride, ...]
    stands: dict[str, tuple[int, int]]

    def cell(self, state: int) -> tuple[int, int]:
        """The row and column of the taxi."""
        return self.rides[state][:2]

    def taxi(self, state: int) -> Place:
        """The middle of the taxi's cell."""
        return _centre(*self.cell(state))

    def rider(self, state: int) -> Place | None:
        """The passenger: beside a stand, or in the taxi."""
        _, _, where, to = self.rides[state]
        if self.mdp.terminal[state]:
            x, y = _centre(*self.stands.get(to, self.cell(state)))
            return x + 5, y + 5
        if where == "in taxi":
            return self.taxi(state)
        if where not in self.stands:
            return None
        x, y = _centre(*self.stands[where])
        return x + 5, y + 5

    def flag(self, state: int) -> Place | None:
        """Where the ride goes."""
        to = self.rides[state][3]
        if to not in self.stands:
            return None
        x, y = _centre(*self.stands[to])
        return x - 7, y - 3

    def in_words(self, state: int) -> str:
        """Where taxi and passenger are, for people who do not see the picture."""
        row, column, where, to = self.rides[state]
        place = cell_words(row, column)
        if self.mdp.terminal[state]:
            return f"{place}, passenger brought to {to}"
        if where == "in taxi":
            return f"{place}, passenger in the taxi, to {to}"
        return f"{place}, passenger waiting at {where}, to {to}"


def taxi_scene(task: Task) -> Scene | None:
    """The scene, or None where the states are not named as Taxi's are."""
    mdp = task.mdp
    rides = _rides(mdp)
    if rides is None:
        return None
    town = Town(mdp, rides, _stands(mdp, rides))
    walls = _walls(mdp, rides)
    return Scene(
        kind="taxi",
        rows=1 + max(ride[0] for ride in rides),
        columns=1 + max(ride[1] for ride in rides),
        ground=lambda boxes: _ground(boxes, town.stands, walls),
        cell=town.cell,
        in_words=town.in_words,
        tokens=(
            Token("goal", "flag", town.flag),
            Token("agent", "car", town.taxi),
            Token("rider", "rider", town.rider),
        ),
        arrows=action_directions(mdp),
    )


def _rides(mdp: MDP) -> tuple[Ride, ...] | None:
    """What the name of every state says, or None where one is not Taxi's."""
    if mdp.state_names is None or mdp.action_names is None or "pickup" not in mdp.action_names:
        return None
    for pattern, first in ((NAME, 1), (OLD_NAME, 0)):
        matches = [pattern.fullmatch(name) for name in mdp.state_names]
        found = [(int(m[1]) - first, int(m[2]) - first, m[3], m[4]) for m in matches if m]
        if len(found) == len(matches):
            return tuple(found)
    return None


def _centre(row: int, column: int) -> Place:
    return (column + 0.5) * CELL, (row + 0.5) * CELL


def _stands(mdp: MDP, rides: Sequence[Ride]) -> dict[str, tuple[int, int]]:
    """Where passengers are picked up, by the letter of the place."""
    assert mdp.action_names is not None
    pickup = mdp.action_names.index("pickup")
    found: dict[str, tuple[int, int]] = {}
    for state, (row, column, where, _) in enumerate(rides):
        after = only_successor(mdp, state, pickup)
        if after is not None and where != "in taxi" and rides[after][2] == "in taxi":
            found[where] = (row, column)
    return found


def _walls(mdp: MDP, rides: Sequence[Ride]) -> list[tuple[int, int]]:
    """Cells (row, column) with a wall on their right side, inside the map."""
    assert mdp.action_names is not None
    if "east" not in mdp.action_names:
        return []
    east = mdp.action_names.index("east")
    last, idle = max(ride[1] for ride in rides), idle_states(mdp)
    found = {
        (row, column)
        for state, (row, column, _, _) in enumerate(rides)
        if column < last and not idle[state] and only_successor(mdp, state, east) == state
    }
    return sorted(found)


def _ground(
    boxes: Sequence[Box], stands: dict[str, tuple[int, int]], walls: list[tuple[int, int]]
) -> Streets:
    bars = "".join(
        f"M{number((column + 1) * CELL)} {number(row * CELL)}v{number(CELL)}"
        for row, column in walls
    )
    return Streets(
        squares=tuple(
            (column * CELL, row * CELL, width * CELL, height * CELL)
            for row, column, height, width in sorted(set(boxes))
        ),
        lines=grid_lines(boxes),
        stands=tuple(
            (letter, column * CELL, row * CELL) for letter, (row, column) in sorted(stands.items())
        ),
        bars=bars,
    )
