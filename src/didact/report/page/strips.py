"""A demonstration that can be played: the world with its path, controls, and the steps in a strip.

Without scripts the whole path and every step are still there to read; the script only moves the
tokens, marks the current step and says it aloud.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from didact.inputs import counted
from didact.mdp import MDP, Demonstration, Task
from didact.mdp.layout import ARROW_OF
from didact.report.page.scene import CELL, WIDEST_CELL, Box, Place, Scene, view_of
from didact.report.page.svg import number, picture, safe

MOST_STEPS = 300
WHOLE, MOST_CELLS = 12, 44
"""Worlds are drawn whole up to 12 cells a side, else the cells around the path, 44 at most."""

SHIFT = 2.4
"""Paths keep to the right, so that there and back do not cover each other."""


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
    pairs = whole[:MOST_STEPS]
    found = []
    for (state, action), run in groupby(range(len(pairs)), key=lambda i: pairs[i]):
        steps = list(run)
        at_end = steps[-1] + 1 == len(whole)
        after = only_successor(mdp, state, action) if at_end else whole[steps[-1] + 1][0]
        place = state_in_words(mdp, state, scene)
        does = mdp.action_name(action)
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


def only_successor(mdp: MDP, state: int, action: int) -> int | None:
    """Where an action leads when there is only one outcome."""
    moves = mdp.transitions
    row = state * mdp.n_actions + action
    low, high = int(moves.offsets[row]), int(moves.offsets[row + 1])
    return int(moves.successors[low]) if high == low + 1 else None


def state_in_words(mdp: MDP, state: int, scene: Scene | None) -> str:
    """Where one is: by the picture, unless the state has a name that says more than a number."""
    name = mdp.state_name(state)
    if name.removesuffix(" (end)").isdigit():
        return f"state {name}" if scene is None else scene.in_words(state)
    return scene.in_words(state) if scene is not None and scene.kind == "taxi" else name


def player(
    task: Task,
    demonstration: Demonstration,
    scene: Scene | None,
    *,
    number_of: int,
    telling: Sequence[int],
) -> str:
    """The figure of a demonstration; telling: steps that show something new."""
    shown = frames(task, demonstration, scene)
    name = f"demo{number_of + 1}"
    n_steps = len(demonstration)
    label = f"Demonstration {number_of + 1}, {counted(n_steps, 'step')}"
    drawn = "" if scene is None else _picture(shown, scene, name, label)
    more = "" if n_steps <= MOST_STEPS else f"<p>(and {n_steps - MOST_STEPS} more steps)</p>"
    kind = "boxes" if scene is None else "with-picture"
    if scene is not None and box_of(shown, scene)[3] >= 2 * box_of(shown, scene)[2]:
        kind += " wide"
    return (
        f'<div class="demo {kind}" id="{name}" role="group" tabindex="0" '
        f'aria-label="{label}: arrow keys step, space plays">'
        f'{drawn}<div class="side">{_controls(len(shown), label)}'
        f'<p class="now" aria-live="polite">{safe(_spoken(shown[0], n_steps))}</p>'
        f"{_strip(shown, scene, n_steps, set(telling))}{more}</div></div>"
    )


def _controls(n_frames: int, label: str) -> str:
    """Buttons and a slider; hidden until the script takes them over."""
    signs = {
        "back": ("M11 3 5 8l6 5z", "One step back"),
        "play": ("M4 2.5 13 8l-9 5.5z", "Play"),
        "next": ("M5 3l6 5-6 5z", "One step on"),
    }
    buttons = "".join(
        f'<button type="button" data-do="{do}" aria-label="{told}" title="{told}">'
        f'<svg viewBox="0 0 16 16" aria-hidden="true"><path d="{path}"/></svg></button>'
        for do, (path, told) in signs.items()
    )
    slider = (
        f'<input type="range" min="0" max="{n_frames - 1}" value="0" step="1" '
        f'aria-label="{label}: step">'
    )
    return f'<div class="controls" hidden>{buttons}{slider}</div>'


def _spoken(frame: Frame, n_steps: int) -> str:
    if frame.action is None:
        return f"{frame.does.capitalize()}: {frame.where}."
    leads = f" It leads to {frame.leads}." if frame.leads else ""
    return f"Step {_numbers(frame)} of {n_steps}: {frame.where}. Action: {frame.does}.{leads}"


def _numbers(frame: Frame) -> str:
    first, last = frame.first + 1, frame.last + 1
    return str(first) if first == last else f"{first}–{last}"


def _strip(shown: Sequence[Frame], scene: Scene | None, n_steps: int, telling: set[int]) -> str:
    items = []
    starred = {frame_of(shown, step) for step in telling}
    for i, frame in enumerate(shown):
        places = "" if scene is None else _places(frame, scene)
        star = '<span class="star" title="shows something new">★</span>' if i in starred else ""
        classes = "chip end-chip" if frame.action is None else "chip"
        spoken = _spoken(frame, n_steps) + (" Shows something new." if star else "")
        items.append(
            f'<li class="{classes}"{places} data-say="{safe(spoken)}">'
            f"{_chip(frame, scene)}{star}</li>"
        )
    return f'<ol class="strip">{"".join(items)}</ol>'


def _chip(frame: Frame, scene: Scene | None) -> str:
    """A step in a small box: its number, the state where there is no picture, the action."""
    seen = "where" if scene is None else "where unseen"
    where = f'<span class="{seen}">{safe(frame.where, 80)}</span>'
    if frame.action is None:
        return f'<span class="n">◎</span>{where}<span class="does">{safe(frame.does)}</span>'
    arrow = ARROW_OF.get(frame.does.lower(), "")
    sign = f'<span class="sign" aria-hidden="true">{arrow}</span>' if arrow else ""
    return (
        f'<span class="n">{_numbers(frame)}</span>{where}<span class="does">{sign}'
        f"{safe(frame.does, 40)}</span>"
    )


def _places(frame: Frame, scene: Scene) -> str:
    """Where each token is, for the script."""
    parts = []
    for token in scene.tokens:
        place = token.place(frame.state)
        if place is not None:
            parts.append(f' data-{token.name}="{number(place[0])},{number(place[1])}"')
    return "".join(parts)


def box_of(shown: Sequence[Frame], scene: Scene) -> Box:
    """The cells that a demonstration's picture shows."""
    states = [frame.state for frame in shown]
    return scene.box_around(states, whole=WHOLE, most=MOST_CELLS)


def _picture(shown: Sequence[Frame], scene: Scene, name: str, label: str) -> str:
    box = box_of(shown, scene)
    trail = "".join(arrows(shown, scene))
    tokens = "".join(
        f'<g class="token" data-token="{token.name}" transform="translate'
        f'({number(place[0])} {number(place[1])})">{token.drawing}</g>'
        for token in scene.tokens
        if (place := token.place(shown[0].state)) is not None
    )
    inside = f'<use href="#world"/><g class="trail">{trail}</g>{tokens}'
    begins, ends = shown[0].where, shown[-1].where
    part = "" if (box[2], box[3]) == (scene.rows, scene.columns) else " Part of the world."
    told = f"From {begins} to {ends}. The steps are listed below.{part}"
    return picture(
        view_of(box),
        label,
        inside,
        name=name,
        classes="scene",
        description=told,
        widest=box[3] * WIDEST_CELL,
    )


def arrows(shown: Sequence[Frame], scene: Scene) -> Iterator[str]:
    """An arrow for each step: the way it went, a hook where it stayed, a stub where unknown."""
    for frame in shown:
        if frame.action is None:
            continue
        here = scene.centre(frame.state)
        there = None if frame.after is None else scene.centre(frame.after)
        direction = scene.arrows[frame.action]
        if there is not None and there != here:
            yield f'<path class="arrow" d="{_way(here, there)}"/>'
        elif direction is not None:
            drawn = stub(here, direction, 7.0, hooked=there == here)
            yield f'<path class="arrow" d="{drawn}"/>'
        else:
            yield f'<circle class="arrow dot" cx="{number(here[0])}" cy="{number(here[1])}" r="3"/>'


def _way(here: Place, there: Place) -> str:
    """A line from cell to cell, shifted to its right side, with a head before its end."""
    dx, dy = there[0] - here[0], there[1] - here[1]
    length = (dx * dx + dy * dy) ** 0.5
    ux, uy = dx / length, dy / length
    x0, y0 = here[0] - uy * SHIFT + ux * 2, here[1] + ux * SHIFT + uy * 2
    x1, y1 = there[0] - uy * SHIFT - ux * 2, there[1] + ux * SHIFT - uy * 2
    return f"M{number(x0)} {number(y0)}L{number(x1)} {number(y1)}{_head(x1, y1, ux, uy)}"


def stub(here: Place, direction: tuple[int, int], length: float, *, hooked: bool = False) -> str:
    """A short line against the side of the cell; a bar across its end where it stays."""
    ux, uy = direction
    x1, y1 = here[0] + ux * length, here[1] + uy * length
    line = f"M{number(here[0])} {number(here[1])}L{number(x1)} {number(y1)}"
    if not hooked:
        return line + _head(x1, y1, ux, uy)
    ax, ay = x1 - uy * 3.4, y1 + ux * 3.4
    bx, by = x1 + uy * 3.4, y1 - ux * 3.4
    return f"{line}M{number(ax)} {number(ay)}L{number(bx)} {number(by)}"


def _head(x: float, y: float, ux: float, uy: float) -> str:
    ax, ay = x - 3 * ux - 2.4 * uy, y - 3 * uy + 2.4 * ux
    bx, by = x - 3 * ux + 2.4 * uy, y - 3 * uy - 2.4 * ux
    return f"M{number(ax)} {number(ay)}L{number(x)} {number(y)}L{number(bx)} {number(by)}"


def ground_symbol(scene: Scene, boxes: Sequence[Box]) -> str:
    """The ground of all pictures of a page, once: the others use it by name."""
    width, height = number(scene.columns * CELL), number(scene.rows * CELL)
    return (
        f'<svg class="stock" width="0" height="0" aria-hidden="true" focusable="false"><defs>'
        f'<g id="world" data-size="{width},{height}">{scene.ground(boxes)}</g></defs></svg>'
    )
