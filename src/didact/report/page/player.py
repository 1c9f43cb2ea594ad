"""A demonstration that can be played: the world with its path, controls, and the steps in a strip.

Without scripts the whole path and every step are still there to read; the script only moves the
tokens, marks the current step and says it aloud.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from didact.inputs import counted
from didact.mdp import Demonstration, Task
from didact.mdp.naming import action_words
from didact.mdp.task import ARROW_OF
from didact.planning.paths import only_successor
from didact.report.page.scene import (
    CELL,
    Box,
    Place,
    Scene,
    points,
    scene_frame,
    state_in_words,
    stub,
    way,
)

MAX_STEPS = 300
WHOLE, MAX_CELLS = 12, 44
"""Worlds are drawn whole up to 12 cells a side, else the cells around the path, 44 at most."""


@dataclass(frozen=True)
class Frame:
    """One moment: the state, the action taken in it, where that led, all in words too.

    leads: where the action led, where that was left to chance. first, last: its steps; a pair that
    is repeated at once is one moment.
    """

    state: int
    action: int | None
    after: int | None
    where: str
    does: str
    leads: str = ""
    first: int = 0
    last: int = 0


def frames(task: Task, demonstration: Demonstration, scene: Scene | None) -> list[Frame]:
    """The moments of a demonstration, and where it ends when that is certain."""
    mdp, whole = task.mdp, demonstration.pairs
    pairs = whole[:MAX_STEPS]
    found = []
    for (state, action), run in groupby(range(len(pairs)), key=lambda i: pairs[i]):
        steps = list(run)
        at_end = steps[-1] + 1 == len(whole)
        after = only_successor(mdp, state, action) if at_end else whole[steps[-1] + 1][0]
        place = state_in_words(mdp, state, scene)
        does = action_words(task, action)
        chance = after is not None and only_successor(mdp, state, action) is None
        leads = state_in_words(mdp, after, scene) if chance and after is not None else ""
        found.append(Frame(state, action, after, place, does, leads, steps[0], steps[-1]))
    end = found[-1].after
    if end is not None and len(pairs) == len(whole):
        verb = "the end" if mdp.terminal[end] else "where it stops"
        found.append(Frame(end, None, None, state_in_words(mdp, end, scene), verb))
    return found


def frame_of(shown: Sequence[Frame], step: int) -> int:
    """The moment that a step belongs to."""
    return next((i for i, f in enumerate(shown) if f.first <= step <= f.last), len(shown) - 1)


def box_of(shown: Sequence[Frame], scene: Scene) -> Box:
    """The cells that a demonstration's picture shows."""
    states = [frame.state for frame in shown]
    return scene.box_around(states, whole=WHOLE, most=MAX_CELLS)


def player(
    shown: Sequence[Frame],
    scene: Scene | None,
    *,
    number: int,
    n_steps: int,
    telling: Mapping[int, str],
) -> dict[str, Any]:
    """The figure of a demonstration; number: its place; telling: steps that show something new."""
    name, label = f"demo{number}", f"Demonstration {number}, {counted(n_steps, 'step')}"
    kind, drawing = "boxes", None
    if scene is not None:
        box = box_of(shown, scene)
        kind = "with-picture wide" if box[3] >= 2 * box[2] else "with-picture"
        drawing = _drawing(shown, scene, box, name, label)
    return {
        "name": name,
        "label": label,
        "kind": kind,
        "drawing": drawing,
        "chips": list(_chips(shown, scene, n_steps, telling)),
        "now": _spoken(shown[0], n_steps),
        "n_more": max(n_steps - MAX_STEPS, 0),
    }


def _chips(
    shown: Sequence[Frame], scene: Scene | None, n_steps: int, telling: Mapping[int, str]
) -> Iterator[dict[str, Any]]:
    """The moments in the strip: steps, the sign of the action, what is said, where tokens are.

    why: what a moment shows that was not shown before.
    """
    starred: dict[int, list[str]] = {}
    for step, words in telling.items():
        starred.setdefault(frame_of(shown, step), []).append(words)
    kind = None if scene is None else scene.kind
    for i, frame in enumerate(shown):
        tells = i in starred
        yield {
            "frame": frame,
            "numbers": _numbers(frame),
            # In rooms left and right are turns of the agent, and no arrow says where it goes.
            "sign": "" if kind == "room" else ARROW_OF.get(frame.does.lower(), ""),
            "say": _spoken(frame, n_steps) + (" Shows something new." if tells else ""),
            "places": () if scene is None else list(_places(frame, scene)),
            "tells": tells,
            "why": "; ".join(starred.get(i, ())),
        }


def _spoken(frame: Frame, n_steps: int) -> str:
    if frame.action is None:
        return f"{frame.does.capitalize()}: {frame.where}."
    leads = f" It leads to {frame.leads}." if frame.leads else ""
    return f"Step {_numbers(frame)} of {n_steps}: {frame.where}. Action: {frame.does}.{leads}"


def _numbers(frame: Frame) -> str:
    first, last = frame.first + 1, frame.last + 1
    return str(first) if first == last else f"{first}–{last}"


def _places(frame: Frame, scene: Scene) -> Iterator[tuple[str, str]]:
    """Where each token is, for the script."""
    for token in scene.tokens:
        place = token.place(frame.state)
        if place is not None:
            yield token.name, points([place])


def _drawing(
    shown: Sequence[Frame], scene: Scene, box: Box, name: str, label: str
) -> dict[str, Any]:
    """The picture of a demonstration: an arrow for each step, as a path or a dot, and the tokens.

    wanted: the chosen directions where a step slid elsewhere, as one path. tokens: name, drawing
    and first place of each that is ever seen; None where that is later.
    """
    part = "" if (box[2], box[3]) == (scene.rows, scene.columns) else " Part of the world."
    told = f"From {shown[0].where} to {shown[-1].where}. The steps are listed below.{part}"
    return {
        "frame": scene_frame(name, box, label, told),
        "arrows": list(_arrows(shown, scene)),
        "wanted": "".join(_wanted(shown, scene)),
        "tokens": [
            (token.name, token.drawing, token.place(shown[0].state))
            for token in scene.tokens
            if any(token.place(frame.state) is not None for frame in shown)
        ],
    }


def _wanted(shown: Sequence[Frame], scene: Scene) -> Iterator[str]:
    """The chosen directions of the steps that slid elsewhere, as short arrows."""
    for frame in shown:
        direction = None if frame.action is None else scene.arrows[frame.action]
        if direction is None or frame.after is None:
            continue
        here, there = scene.centre(frame.state), scene.centre(frame.after)
        ahead = (here[0] + direction[0] * CELL, here[1] + direction[1] * CELL)
        if there != ahead and frame.leads:
            yield stub(here, direction, 7.0)


def _arrows(shown: Sequence[Frame], scene: Scene) -> Iterator[str | Place]:
    """For each step the way it went, a hook where it stayed, a stub or a dot where unknown."""
    for frame in shown:
        if frame.action is None:
            continue
        here = scene.centre(frame.state)
        there = None if frame.after is None else scene.centre(frame.after)
        direction = scene.arrows[frame.action]
        if there is not None and there != here:
            yield way(here, there)
        elif direction is not None:
            yield stub(here, direction, 7.0, hooked=there == here)
        else:
            yield here
