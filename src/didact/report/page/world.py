"""The world's own picture with its optimal actions, the legend of its features, and wrong turns.

A grid world alone, as a piece of a page or a file, needs little else: first pictures wait for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from didact.mdp import Task
from didact.mdp.model import deciding_states, idle_states
from didact.mdp.naming import event_words
from didact.mdp.task import active_feature, feature_letters, states_by_cell
from didact.planning import Plan
from didact.report.page.grid import N_COLOURS, falls, grid_scene
from didact.report.page.scene import Arrow, Box, Scene, across, moves_path, scene_frame, stub
from didact.report.page.templates import render

if TYPE_CHECKING:
    from didact.report.page.facts import BeliefFacts, Facts

WHOLE, MAX_CELLS = 30, 30
PAYS = re.compile(r"reward (-?[0-9][0-9./e+-]*)")
"""The name of a feature that is a reward itself."""
MAX_FEATURES = 40
MAX_LOOKED_AT = 500
"""States among which a legend looks for a cell that carries a feature."""


@dataclass(frozen=True)
class Legend:
    """Features with their weights: letter, colour, name, weight; n_more: features left out.

    The letter is empty where cells do not carry it.
    """

    entries: tuple[tuple[str, int, str, float], ...]
    n_more: int


def world_box(facts: Facts, scene: Scene) -> Box:
    """The cells of the world's picture: all of a small world, else those around the first start."""
    shown = facts.lesson.demonstrations
    states = [state for state, _ in shown[0]] if shown else [0]
    return scene.box_around(states, whole=WHOLE, most=MAX_CELLS)


def world_picture(task: Task, plan: Plan | None, scene: Scene, box: Box) -> dict[str, Any]:
    """The frame of a world, all optimal actions as a path, and what the signs mean.

    moves: None where actions are no moves.
    """
    size = f"{scene.rows} rows and {scene.columns} columns"
    whole = (box[2], box[3]) == (scene.rows, scene.columns)
    part = "" if whole else f" Shown: {box[2]} rows and {box[3]} columns of it."
    moves = None
    if plan is not None and scene.kind == "grid":
        used = np.flatnonzero(~idle_states(task.mdp)).tolist()
        moves = _moves(scene, used, plan.optimal, box, partial(stub, length=6.4))
    told = f"A map of {size}.{part} The features and their weights are listed below."
    return {
        "frame": scene_frame("world-picture", box, f"The world: {size}", told),
        "moves": moves,
        "key": picture_key(task, scene, whole=whole, has_moves=moves is not None, has_agent=False),
    }


def astray_box(belief: BeliefFacts, scene: Scene) -> Box:
    """The cells of the picture of a wrong reward: where it would choose wrongly."""
    return scene.box_around(belief.astray[:200], whole=12, most=24)


def astray_picture(facts: Facts, belief: BeliefFacts, scene: Scene) -> dict[str, Any]:
    """Where a wrong reward would go astray: its choices dashed, the teacher's plain."""
    box = astray_box(belief, scene)
    told = "Dashed arrows: the wrong choices; plain arrows: the teacher's. The table lists them."
    optimal, short = facts.bec.plan.optimal, partial(stub, length=6.4)
    return {
        "frame": scene_frame("astray", box, "What the wrong reward would do differently", told),
        "right": _moves(scene, belief.astray, optimal, box, short),
        "wrong": _moves(scene, belief.astray, belief.wrong, box, across),
    }


def _moves(scene: Scene, states: Iterable[int], taken: Any, box: Box, arrow: Arrow) -> str:
    """Arrows of the actions taken (S, A) in those states whose cells are in the box."""
    top, left, rows, columns = box
    inside = (
        state
        for state in states
        for row, column in (scene.cell(state),)
        if top <= row < top + rows and left <= column < left + columns
    )
    pairs = ((state, int(action)) for state in inside for action in np.flatnonzero(taken[state]))
    return moves_path(scene, pairs, arrow)


def picture_key(
    task: Task,
    scene: Scene,
    *,
    whole: bool = True,
    has_moves: bool = False,
    has_agent: bool = True,
) -> str:
    """What the signs mean, only those that are there; has_agent: whether a state is drawn."""
    parts = ["arrows: all optimal actions"] if has_moves else []
    if scene.kind == "taxi":
        rider = "the flag marks where the passenger wants to go, the disc is the passenger"
        parts.append(rider if has_agent else "letters: where passengers wait and want to go")
    else:
        parts += _ground_signs(task, scene)
    if scene.kind == "room" and has_agent:
        parts.append("the arrow is the agent: it points where it looks")
    if not whole:
        parts.append("a part of the world")
    text = "; ".join(parts)
    return text[:1].upper() + text[1:] + ("." if text else "")


SIGNS = {
    "goal": "flag: a goal, where the episode ends",
    "worse": "dark hole: the episode ends and pays less",
    "end": "double ring: the episode ends",
    "fall": "hatched: a fall, from which one is thrown back",
    "wall": "solid: never entered",
}


def _ground_signs(task: Task, scene: Scene) -> Iterable[str]:
    mdp = task.mdp
    for kind, words in SIGNS.items():
        if kind in scene.signs:
            yield words
    if scene.kind != "grid":
        return
    starts = (mdp.start.floats > 0) & ~mdp.terminal
    if not starts[deciding_states(mdp)].all():
        yield "dotted ring: " + ("the start" if starts.sum() == 1 else "a start")
    if (states_by_cell(task) < 0).sum() > len(falls(task)):
        yield "solid blocks: no state"


def legend(task: Task, scene: Scene | None) -> Legend:
    """Every feature with its letter and colour where cells carry them, and its true weight."""
    mdp = task.mdp
    letters = feature_letters(mdp) if _is_coloured(task, scene) else [""] * mdp.n_features
    weights = task.weights[:MAX_FEATURES].tolist()
    return Legend(
        entries=tuple(
            (letters[i], i % N_COLOURS, feature_label(task, i), weight)
            for i, weight in enumerate(weights)
        ),
        n_more=mdp.n_features - len(weights),
    )


def feature_label(task: Task, feature: int) -> str:
    """The name of a feature, and what happens there in an environment that is known."""
    name = task.mdp.feature_name(feature)
    event = event_words(task.name, name)
    return name if event is None else f"{event[0]} ({name})"


def neutral_legend(task: Task, scene: Scene | None) -> Legend:
    """The kinds of ground by letter, colour and name, without weights.

    A name that is itself a reward, as environments have them, gives way to the letter.
    """
    whole = legend(task, scene)
    return Legend(
        entries=tuple(
            (letter, colour, f"ground {letter}" if PAYS.fullmatch(name) else name, 0.0)
            for letter, colour, name, _ in whole.entries
            if letter
        ),
        n_more=0,
    )


def _is_coloured(task: Task, scene: Scene | None) -> bool:
    """Whether cells of the picture carry features."""
    if scene is None or scene.kind != "grid":
        return False
    states = range(min(task.mdp.n_states, MAX_LOOKED_AT))
    return any(active_feature(task.mdp, state) is not None for state in states)


def task_drawn(task: Task, plan: Plan | None = None) -> tuple[str, str]:
    """A grid world alone, with its optimal actions where there is a plan; what its signs mean."""
    facts = _drawn_facts(task, plan)
    return render("drawn.html.jinja", **facts), facts["world"]["key"]


def task_picture(task: Task, plan: Plan | None = None, *, colours: Sequence[int] = ()) -> str:
    """A grid world as a file of its own (SVG), with its optimal actions where there is a plan.

    colours: of the features, each one of the twelve; by default in their order.
    """
    return render("picture.svg.jinja", colours=colours, **_drawn_facts(task, plan))


def _drawn_facts(task: Task, plan: Plan | None) -> dict[str, Any]:
    scene = grid_scene(task, plan)
    box = scene.box_around([0], whole=30, most=30)
    return {"world": world_picture(task, plan, scene, box), "ground": scene.ground([box])}
