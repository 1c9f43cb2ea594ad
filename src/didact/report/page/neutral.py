"""A world as people see it who are to find its reward out: in studies, games and exams.

Nothing here depends on the reward. All ends have one sign, the legend names each kind of ground
without its weight, and a sentence says how moves go astray.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from didact.mdp import MDP, Task
from didact.report.page.scene import Box, Picture, Scene, scene_frame, scene_of
from didact.report.page.templates import render
from didact.report.page.world import Legend, neutral_legend, picture_key

WHOLE = 30
"""Worlds are drawn whole up to so many cells a side, else the cells around the state."""


@dataclass(frozen=True, eq=False)
class NeutralWorld:
    """A world that can be shown to participants, players and examinees.

    scene: None where there is nothing to draw the world by. kinds: the kinds of ground, without
    weights. key: what the signs of the picture mean. rules: how moves go astray; empty where they
    are certain.
    """

    task: Task
    scene: Scene | None
    kinds: Legend
    key: str
    rules: str

    @property
    def legend(self) -> str:
        """The kinds of ground and the signs as HTML; empty where there is no picture."""
        if self.scene is None:
            return ""
        return render("neutral_legend.html.jinja", kinds=self.kinds, key=self.key)

    def picture(self, state: int | None = None) -> str | None:
        """The world as inline SVG, with what moves where it is in a state; None where none is."""
        scene = self.scene
        if scene is None:
            return None
        states = [0 if state is None else state]
        box: Box = scene.box_around(states, whole=WHOLE, most=WHOLE)
        where = "" if state is None else f" You are in {scene.in_words(state)}."
        told = f"{scene.rows} rows and {scene.columns} columns.{where}"
        frame = scene_frame("neutral", box, "The world", told)
        return scene_picture(scene, frame, box, state, is_marked=state is not None)


def scene_picture(
    scene: Scene,
    frame: Picture,
    box: Box,
    state: int | None,
    moves: str = "",
    *,
    is_marked: bool = False,
) -> str:
    """The cells of a box as inline SVG, with what moves where it is in a state; moves: a path."""
    placed = [] if state is None else [(each.drawing, each.place(state)) for each in scene.tokens]
    return render(
        "neutral.html.jinja",
        frame=frame,
        scene=scene,
        ground=scene.ground([box]),
        spot=scene.centre(state) if is_marked and state is not None else None,
        moves=moves,
        tokens=[(drawing, place) for drawing, place in placed if place is not None],
    )


def neutral_world(task: Task) -> NeutralWorld:
    """How a world is shown to people who do not know its reward."""
    scene = scene_of(task, neutral=True)
    key = "" if scene is None else picture_key(task, scene)
    return NeutralWorld(task, scene, neutral_legend(task, scene), key, slips(task, scene))


def slips(task: Task, scene: Scene | None) -> str:
    """How moves go astray, where all moves in the open do alike; empty where they are certain."""
    mdp = task.mdp
    if mdp.is_deterministic():
        return ""
    chances = None if scene is None or scene.kind != "grid" else _chances(mdp, scene)
    if chances is None:
        return "Chance plays a part: the same action can lead to different places."
    told = [f"{share_of(chances[way])} {words}" for way, words in WAYS.items() if chances.get(way)]
    return f"It slips: of its moves {joined(told)}."


WAYS = {
    "ahead": "go where it wants",
    "aside": "go to one side or the other instead",
    "back": "go back instead",
    "stay": "stay where it is",
}


def _chances(mdp: MDP, scene: Scene) -> dict[str, Fraction] | None:
    """How often a move in the open goes ahead, aside, back or stays; None where moves differ."""
    place = {scene.cell(state): state for state in range(mdp.n_states)}
    found: set[frozenset[tuple[str, Fraction]]] = set()
    for (row, column), state in place.items():
        around = [(row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)]
        if mdp.terminal[state] or not all(cell in place for cell in around):
            continue
        for action, direction in enumerate(scene.arrows):
            chances = _outcomes(mdp, (state, action), direction, scene.cell)
            found.add(frozenset(chances.items()))
    if len(found) != 1:
        return None
    common = dict(found.pop())
    return common if common.get("ahead") and set(common) <= set(WAYS) else None


def _outcomes(
    mdp: MDP,
    pair: tuple[int, int],
    direction: tuple[int, int] | None,
    cell: Callable[[int], tuple[int, int]],
) -> dict[str, Fraction]:
    """How often an action leads which way, seen from where it points."""
    moves, row = mdp.transitions, pair[0] * mdp.n_actions + pair[1]
    first, last = int(moves.offsets[row]), int(moves.offsets[row + 1])
    here, chances = cell(pair[0]), dict[str, Fraction]()
    for successor, chance in zip(
        moves.successors[first:last].tolist(),
        moves.probabilities.floats[first:last].tolist(),
        strict=True,
    ):
        there = cell(successor)
        went = there[1] - here[1], there[0] - here[0]
        way = _way(went, direction)
        chances[way] = chances.get(way, Fraction(0)) + Fraction(chance).limit_denominator(1000)
    return chances


def _way(went: tuple[int, int], direction: tuple[int, int] | None) -> str:
    if went == (0, 0):
        return "stay"
    if direction is None or abs(went[0]) + abs(went[1]) != 1:
        return "elsewhere"
    along = went[0] * direction[0] + went[1] * direction[1]
    return {1: "ahead", 0: "aside", -1: "back"}[int(np.sign(along))]


def share_of(chance: Fraction) -> str:
    """A probability as '1 in 3', or in percent where the denominator is large."""
    if chance.denominator <= 20:
        return f"{chance.numerator} in {chance.denominator}"
    return f"{100 * float(chance):.3g}%"


def joined(parts: Sequence[str]) -> str:
    """The parts of a sentence, the last two with 'and' between them."""
    return parts[0] if len(parts) == 1 else ", ".join(parts[:-1]) + " and " + parts[-1]
