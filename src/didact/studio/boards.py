"""A board for worlds that cannot be painted: their cells, what else their states say, a picture.

The states of Taxi or MiniGrid share cells: beside the cell, a name says where the passenger is or
what is carried. What it says besides the cell is its situation. Where all names say as many things,
each can be chosen by itself, as Taxi's passenger and destination; else the whole situation is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from didact.errors import InvalidParameter
from didact.inputs import whole_number
from didact.mdp import Family, Task
from didact.mdp.model import deciding_states, idle_states
from didact.mdp.naming import ENDED, action_words
from didact.mdp.task import is_grid
from didact.planning import Plan, solve
from didact.report.page.neutral import neutral_world, scene_picture
from didact.report.page.scene import Scene, moves_path, scene_frame, scene_of, stub
from didact.report.page.templates import render
from didact.report.page.world import feature_label, neutral_legend, picture_key
from didact.studio.worlds import opened

CELL = re.compile(r"row \d{1,3}, column \d{1,3}(?:[;,] )?")
MAX_PARTS = 3
"""Things that can be chosen by themselves."""
MAX_CELLS = 40
"""Rows and columns of a board."""
Situation = tuple[str, ...]


def viewed(subject: Task | Family, question: Mapping[str, Any]) -> dict[str, Any]:
    """The board of a world: cells and situations of its states, and its picture.

    members: the names of a family's worlds, of which one is shown. at: the state in which what
    moves is drawn. secret: nothing that is shown depends on the reward.
    """
    names, task = [], subject
    if isinstance(subject, Family):
        names = list(subject.names)
        member = whole_number(question.get("member", 0), "member", 0, len(names) - 1)
        task = subject[member]
    assert isinstance(task, Task)
    secret = question.get("secret", False) is True
    at = question.get("at")
    state = None if at is None else whole_number(at, "at", 0, task.mdp.n_states - 1)
    hidden = neutral_world(task)
    told: dict[str, Any] = {"members": names, "legend": hidden.legend, "rules": hidden.rules}
    if hidden.scene is None or max(hidden.scene.rows, hidden.scene.columns) > MAX_CELLS:
        return {**told, "rows": 0, "columns": 0, "parts": [], "states": [], "picture": None}
    situations = _situations(task)
    state = _first(task) if state is None else state
    plan = None if secret else solve(task.mdp, task.true_weights, arithmetic="float")
    scene = hidden.scene if plan is None else scene_of(task, plan)
    assert scene is not None
    alike = [s for s, each in enumerate(situations) if each == situations[state]]
    return {
        **told,
        "rows": scene.rows,
        "columns": scene.columns,
        # For each thing that can be chosen the choices, in the order of the states.
        "parts": [list(dict.fromkeys(column)) for column in zip(*situations, strict=True)],
        "states": _places(task, scene, situations),
        "at": state,
        "picture": board_picture(task, scene, plan, state, alike),
        "key": _key(task, scene, plan),
        "grounds": render("neutral_legend.html.jinja", kinds=neutral_legend(task, scene), key=""),
        "best": {} if plan is None else _best(task, plan, alike),
    }


def _key(task: Task, scene: Scene, plan: Plan | None) -> str:
    """What the signs mean; beside a plan also what pays each reward of a known environment."""
    signs = picture_key(task, scene, has_moves=plan is not None and any(scene.arrows))
    names = [task.mdp.feature_name(i) for i in range(task.mdp.n_features)]
    paid = [label for i, name in enumerate(names) if (label := feature_label(task, i)) != name]
    return signs if plan is None or not paid else f"{signs} Rewards: {'; '.join(paid)}."


def member_of(subject: Task | Family, question: Mapping[str, Any]) -> dict[str, Any]:
    """A member of a family as a world of its own."""
    if not isinstance(subject, Family):
        raise InvalidParameter("only a family has members; this is one world")
    member = whole_number(question.get("member"), "member", 0, len(subject) - 1)
    return opened(subject[member], {})


def _first(task: Task) -> int:
    """A state to begin with: a start where one can act."""
    going = deciding_states(task.mdp)
    starts = np.flatnonzero((task.mdp.start.floats > 0) & going)
    found = starts if starts.size else np.flatnonzero(going)
    return int(found[0]) if found.size else 0


def _situations(task: Task) -> list[Situation]:
    """What the name of each state says besides its cell."""
    if is_grid(task) or task.mdp.state_names is None:
        return [()] * task.mdp.n_states
    rest = [CELL.sub("", name.removesuffix(ENDED), count=1) for name in task.mdp.state_names]
    parts = [tuple(filter(None, text.split("; "))) for text in rest]
    n = len(parts[0])
    if n <= MAX_PARTS and all(len(each) == n for each in parts):
        return parts
    return [(text,) for text in rest]


def _places(task: Task, scene: Scene, situations: Sequence[Situation]) -> list[list[Any]]:
    """For each state its cell and its situation; an empty list where it never comes up or ends."""
    idle = idle_states(task.mdp)
    ended = task.mdp.terminal
    apart = is_grid(task)
    found: list[list[Any]] = []
    for state, situation in enumerate(situations):
        if idle[state] or (ended[state] and not apart):
            found.append([])
            continue
        row, column = scene.cell(state)
        found.append([row * scene.columns + column, *situation])
    return found


def _best(task: Task, plan: Plan, states: Sequence[int]) -> dict[str, list[str]]:
    """The optimal actions of states, in words."""
    return {
        str(state): [action_words(task, action) for action in plan.optimal_actions(state)]
        for state in states
    }


def situation_picture(task: Task, plan: Plan, state: int) -> str | None:
    """What a plan does in the situation of a state; None where there is nothing to draw it by."""
    scene = scene_of(task, plan)
    if scene is None or max(scene.rows, scene.columns) > MAX_CELLS:
        return None
    situations = _situations(task)
    alike = [s for s, each in enumerate(situations) if each == situations[state]]
    return board_picture(task, scene, plan, state, alike)


def board_picture(
    task: Task, scene: Scene, plan: Plan | None, state: int, alike: Sequence[int]
) -> str:
    """The world as inline SVG: what moves as it is in a state, and a plan's moves in its situation.

    alike: the states of that situation.
    """
    box = (0, 0, scene.rows, scene.columns)
    told = f"{scene.rows} rows and {scene.columns} columns. Shown: {scene.in_words(state)}."
    idle, moves = idle_states(task.mdp), ""
    if plan is not None:
        used = (each for each in alike if not idle[each])
        best = ((each, action) for each in used for action in plan.optimal_actions(each))
        moves = moves_path(scene, best, partial(stub, length=6.4))
    return scene_picture(
        scene, scene_frame("board-picture", box, "The world", told), box, state, moves
    )
