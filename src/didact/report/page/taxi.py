"""Gymnasium's Taxi as a picture, read from the names of its states and from its own moves.

Nothing of the map is assumed: its size comes from the taxi's places, its walls from moves that stay
where they are, and its four stands from where passengers are picked up.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from didact.mdp import MDP, Task
from didact.mdp.layout import action_directions
from didact.report.page.grid import grid_lines
from didact.report.page.scene import CELL, Box, Place, Scene, Token
from didact.report.page.svg import number, text

NAME = re.compile(
    r"taxi (\d{1,3}),(\d{1,3}); passenger (in taxi|[^;]{1,8}); to ([^;]{1,8}?)(?: \(end\))?"
)

CAR = (
    '<rect x="-7" y="-4.5" width="14" height="9" rx="3.2" class="agent"/>'
    '<rect x="-3.2" y="-3" width="6.4" height="6" rx="1.4" class="agent-eye"/>'
)
RIDER = '<circle r="2.6" class="rider"/>'
FLAG = '<path d="M0 5V-5l6 2.4L0 0" class="goal"/>'

Ride = tuple[int, int, str, str]
"""Row and column of the taxi, where the passenger is, where the ride goes."""


def taxi_scene(task: Task) -> Scene | None:
    """The scene, or None where the states are not named as Taxi's are."""
    mdp = task.mdp
    if mdp.state_names is None or mdp.action_names is None or "pickup" not in mdp.action_names:
        return None
    matches = [NAME.fullmatch(name) for name in mdp.state_names]
    if any(match is None for match in matches):
        return None
    rides: list[Ride] = [(int(m[1]), int(m[2]), m[3], m[4]) for m in matches if m is not None]
    stands = _stands(mdp, rides)
    rows, columns = 1 + max(r[0] for r in rides), 1 + max(r[1] for r in rides)
    walls = _walls(mdp, rides)

    def centre(row: int, column: int) -> Place:
        return (column + 0.5) * CELL, (row + 0.5) * CELL

    def rider(state: int) -> Place | None:
        row, column, where, to = rides[state]
        if mdp.terminal[state]:
            x, y = centre(*stands[to]) if to in stands else centre(row, column)
            return x + 5, y + 5
        if where == "in taxi":
            return centre(row, column)
        if where not in stands:
            return None
        x, y = centre(*stands[where])
        return x + 5, y + 5

    def flag(state: int) -> Place | None:
        to = rides[state][3]
        if to not in stands:
            return None
        x, y = centre(*stands[to])
        return x - 7, y - 3

    return Scene(
        kind="taxi",
        rows=rows,
        columns=columns,
        ground=lambda boxes: _ground(boxes, stands, walls),
        cell=lambda state: rides[state][:2],
        in_words=lambda state: _in_words(rides[state], ends=bool(mdp.terminal[state])),
        tokens=(
            Token("goal", FLAG, flag),
            Token("agent", CAR, lambda state: centre(*rides[state][:2])),
            Token("rider", RIDER, rider),
        ),
        arrows=action_directions(mdp),
    )


def _stands(mdp: MDP, rides: list[Ride]) -> dict[str, tuple[int, int]]:
    """Where passengers are picked up, by the letter of the place."""
    assert mdp.action_names is not None
    pickup = mdp.action_names.index("pickup")
    found: dict[str, tuple[int, int]] = {}
    for state, (row, column, where, _) in enumerate(rides):
        after = _only_successor(mdp, state, pickup)
        if after is not None and where != "in taxi" and rides[after][2] == "in taxi":
            found[where] = (row, column)
    return found


def _only_successor(mdp: MDP, state: int, action: int) -> int | None:
    moves = mdp.transitions
    row = state * mdp.n_actions + action
    low, high = int(moves.offsets[row]), int(moves.offsets[row + 1])
    return int(moves.successors[low]) if high == low + 1 else None


def _walls(mdp: MDP, rides: list[Ride]) -> list[tuple[int, int]]:
    """Cells (row, column) with a wall on their right side, inside the map."""
    assert mdp.action_names is not None
    if "east" not in mdp.action_names:
        return []
    east = mdp.action_names.index("east")
    last = max(ride[1] for ride in rides)
    found = {
        (row, column)
        for state, (row, column, _, _) in enumerate(rides)
        if column < last and _only_successor(mdp, state, east) == state
    }
    return sorted(found)


def _in_words(ride: Ride, *, ends: bool) -> str:
    row, column, where, to = ride
    place = f"row {row + 1}, column {column + 1}"
    if ends:
        return f"{place}, passenger brought to {to}"
    if where == "in taxi":
        return f"{place}, passenger in the taxi, to {to}"
    return f"{place}, passenger waiting at {where}, to {to}"


def _ground(
    boxes: Sequence[Box], stands: dict[str, tuple[int, int]], walls: list[tuple[int, int]]
) -> str:
    """The map of the streets, its stands and its walls."""
    parts = []
    for row, column, height, width in sorted(set(boxes)):
        x, y = number(column * CELL), number(row * CELL)
        size = f'width="{number(width * CELL)}" height="{number(height * CELL)}"'
        parts.append(f'<rect x="{x}" y="{y}" {size} class="plain"/>')
    parts.append(grid_lines(boxes))
    for i, (letter, (row, column)) in enumerate(sorted(stands.items())):
        x, y, side = number(column * CELL + 1), number(row * CELL + 1), number(CELL - 2)
        square = f'x="{x}" y="{y}" width="{side}" height="{side}"'
        parts.append(f'<rect {square} rx="3" class="f{i + 2}"/>')
        parts.append(text(column * CELL + 13, row * CELL + 7.6, letter, "stand"))
    bars = "".join(
        f"M{number((column + 1) * CELL)} {number(row * CELL)}v{number(CELL)}"
        for row, column in walls
    )
    return "".join([*parts, f'<path class="bar" d="{bars}"/>'])
