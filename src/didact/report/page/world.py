"""The world's own picture with its optimal actions, the legend of its features, and wrong turns."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from didact.inputs import counted
from didact.mdp import Task
from didact.mdp.layout import active_feature, feature_letters
from didact.planning import Plan
from didact.report.page.facts import Belief, Facts
from didact.report.page.grid import N_COLOURS
from didact.report.page.scene import WIDEST_CELL, Box, Scene, view_of
from didact.report.page.strips import stub
from didact.report.page.svg import amount, picture, safe

WHOLE, MOST_CELLS = 30, 30
POLICY_UP_TO = 30
MOST_FEATURES = 40


def world_box(facts: Facts, scene: Scene) -> Box:
    """The cells of the world's picture: all of a small world, else those around the first start."""
    shown = facts.lesson.demonstrations
    states = [state for state, _ in shown[0]] if shown else [0]
    return scene.box_around(states, whole=WHOLE, most=MOST_CELLS)


def world_picture(task: Task, plan: Plan | None, scene: Scene, box: Box) -> str:
    """The ground and, on grids, an arrow for each optimal action."""
    size = f"{scene.rows} rows and {scene.columns} columns"
    whole = (box[2], box[3]) == (scene.rows, scene.columns)
    part = "" if whole else f" Shown: {box[2]} rows and {box[3]} columns of it."
    moves = ""
    if plan is not None and scene.kind == "grid":
        inside = [s for s in range(task.mdp.n_states) if _within(scene.cell(s), box)]
        moves = f'<path class="policy" d="{_moves(scene, inside, plan.optimal)}"/>'
    drawn = picture(
        view_of(box),
        f"The world: {size}",
        f'<use href="#world"/>{moves}',
        name="world-picture",
        classes="scene",
        widest=box[3] * WIDEST_CELL,
        description=f"A map of {size}.{part} The features and their weights are listed below.",
    )
    return drawn + f'<p class="key">{safe(_key(task, scene, whole, moves != ""))}</p>'


def _within(cell: tuple[int, int], box: Box) -> bool:
    row, column, rows, columns = box
    return row <= cell[0] < row + rows and column <= cell[1] < column + columns


def _moves(scene: Scene, states: Iterable[int], taken: Any) -> str:
    parts = []
    for state in states:
        for action in taken[state].nonzero()[0].tolist():
            direction = scene.arrows[action]
            if direction is not None:
                parts.append(stub(scene.centre(state), direction, 6.4))
    return "".join(parts)


def _key(task: Task, scene: Scene, whole: bool, has_moves: bool) -> str:
    """What the signs mean, only those that are there."""
    mdp, parts = task.mdp, []
    if has_moves:
        parts.append("arrows: all optimal actions")
    if scene.kind == "taxi":
        parts.append("the flag marks where the passenger wants to go, the disc is the passenger")
    if scene.kind == "grid":
        if mdp.terminal.any():
            parts.append("double ring: the episode ends")
        starts = (mdp.start.floats > 0) & ~mdp.terminal
        if not starts[~mdp.terminal].all():
            parts.append("dotted ring: " + ("the start" if starts.sum() == 1 else "a start"))
        if task.layout is not None and "cells" in task.layout:
            parts.append("solid blocks: no state")
    if not whole:
        parts.append("a part of the world")
    text = "; ".join(parts)
    return text[:1].upper() + text[1:] + ("." if text else "")


def legend(task: Task, scene: Scene | None) -> str:
    """Every feature with its letter and colour where cells carry them, and its true weight."""
    mdp = task.mdp
    letters = feature_letters(mdp)
    coloured = scene is not None and scene.kind == "grid" and not mdp.has_action_features
    coloured = coloured and any(
        active_feature(mdp, s) is not None for s in range(min(mdp.n_states, 500))
    )
    items = []
    for i, weight in enumerate(task.weights[:MOST_FEATURES].tolist()):
        swatch = ""
        if coloured:
            swatch = (
                '<svg viewBox="0 0 20 20" aria-hidden="true"><rect width="20" height="20" rx="4" '
                f'class="f{i % N_COLOURS}"/><text x="10" y="14" text-anchor="middle" '
                f'style="font-size:11px;fill:var(--ink)">{safe(letters[i])}</text></svg>'
            )
        items.append(
            f"<li>{swatch}<span>{safe(mdp.feature_name(i), 60)}</span>"
            f'<span class="w">{amount(weight)}</span></li>'
        )
    rest = mdp.n_features - MOST_FEATURES
    more = f"<li>and {counted(rest, 'more feature')}</li>" if rest > 0 else ""
    return f'<ul class="legend">{"".join(items)}{more}</ul>'


def astray_picture(facts: Facts, belief: Belief, scene: Scene, box: Box) -> str:
    """Where a wrong reward would go astray: its choices dashed, the teacher's plain."""
    inside = [state for state in belief.astray if _within(scene.cell(state), box)]
    right = _moves(scene, inside, facts.known.plan.optimal)
    wrong = _moves(scene, inside, belief.wrong)
    drawn = picture(
        view_of(box),
        "What the wrong reward would do differently",
        f'<use href="#world"/><path class="policy" d="{right}"/><path class="astray" d="{wrong}"/>',
        name="astray",
        classes="scene",
        widest=box[3] * WIDEST_CELL,
        description="Dashed arrows: the wrong choices; plain arrows: the teacher's. The table "
        "lists them.",
    )
    return f'<div>{drawn}<p class="key">Dashed: the believer. Plain: the teacher.</p></div>'
