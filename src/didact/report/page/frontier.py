"""A frontier as one HTML file: a slider over its lessons, the world with what they leave open.

For each lesson the world is drawn with what is shown and with the mistakes of the worst learner
that was found to fit it: the policy of the reward that loses most.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from didact import __version__
from didact.bec.classes import EquivalenceClass
from didact.errors import InvalidParameter, Unsupported
from didact.inputs import counted, shown_name
from didact.mdp.naming import action_words
from didact.report.page.arrows import stub
from didact.report.page.scene import WIDEST_CELL, Box, Scene, scene_of, state_in_words, view_of
from didact.report.page.svg import Picture
from didact.report.page.templates import render
from didact.report.page.world import legend
from didact.teaching import Frontier
from didact.teaching.frontier import Point
from didact.teaching.loss.fan import fan_of

NO_PAGE = "the page of a frontier is of one world; make that of a member, or leave the page out"
WHOLE, MOST_CELLS = 30, 30
MOST_MISTAKES = 12
"""Mistakes that are told in words."""


@dataclass(frozen=True)
class FrontierCard:
    """A lesson of the frontier: words, and paths on the world where it can be drawn.

    right, wrong: the teacher's and the worst learner's actions where they differ.
    """

    label: str
    size: str
    known: str
    lost: str
    steps: tuple[str, ...]
    mistakes: tuple[str, ...]
    n_more: int
    frame: Picture | None
    shown: str
    right: str
    wrong: str


def frontier_page(found: Frontier, *, layout: str = "document.html.jinja") -> str:
    """The page of a frontier, as HTML.

    layout: the template around it, 'piece.html.jinja' for its parts inside another page.
    """
    known = found.points[0].lesson.known
    if known is None:
        raise InvalidParameter("lessons from files do not hold their task; make the frontier anew")
    if known.is_family:
        raise Unsupported(NO_PAGE)
    scene = scene_of(known.task, known.plan)
    shown = [d for point in found.points for d in point.lesson.demonstrations]
    states = [state for demonstration in shown for state, _ in demonstration]
    box = None if scene is None else scene.box_around(states or [0], whole=WHOLE, most=MOST_CELLS)
    points = [_shown(point, known, scene) for point in found.points]
    if box is not None:
        points = [_framed(number, point, box) for number, point in enumerate(points)]
    return render(
        "frontier.html.jinja",
        layout=layout,
        title=f"{shown_name(found.task_name, 80)}: what more demonstrations are worth",
        world=found.task_name,
        learner=found.learner,
        scene=scene,
        ground=None if scene is None or box is None else scene.ground([box]),
        legend=legend(known.task, scene),
        points=points,
        version=__version__,
    )


def _shown(point: Point, known: EquivalenceClass, scene: Scene | None) -> FrontierCard:
    """A lesson in words, and what of it is drawn."""
    lesson, mdp = point.lesson, known.task.mdp
    astray = _astray(point, known)
    pairs = [pair for demonstration in lesson.demonstrations for pair in demonstration]
    spread = point.spread or 1.0
    worst = "nothing can be lost" if not astray else f"{100 * point.worst / spread:.3g}%"
    least = lesson.lower_bound
    bound = "" if least is None else f"; at least {float(least):.3g}"
    return FrontierCard(
        label="exact" if point.loss is None else f"within {point.loss}",
        size=counted(len(lesson.demonstrations), "demonstration")
        + f", {counted(lesson.n_pairs, 'step')}{bound}",
        known=point.status,
        lost=f"worst found: {worst}; mean: {100 * point.mean / spread:.2g}%",
        steps=tuple(_step(known, scene, s, a) for s, a in pairs[:MOST_MISTAKES]),
        mistakes=tuple(_step(known, scene, s, a) for s, a in astray[:MOST_MISTAKES]),
        n_more=max(0, len(astray) - MOST_MISTAKES),
        frame=None,
        shown=_arrows(scene, pairs, 7.4),
        right=_arrows(
            scene,
            ((s, a) for s, _ in astray for a in range(mdp.n_actions) if known.plan.optimal[s, a]),
            6.4,
        ),
        wrong=_arrows(scene, astray, 6.4),
    )


def _framed(number: int, point: FrontierCard, box: Box) -> FrontierCard:
    """The same with a picture of these cells."""
    told = "Heavy arrows: what is shown. Dashed: the worst learner's mistakes. Thin: what is best."
    title, widest = f"{point.label}: {point.size}", box[3] * WIDEST_CELL
    frame = Picture(f"point-{number}", view_of(box), title, told, "scene", widest)
    return replace(point, frame=frame)


def _astray(point: Point, known: EquivalenceClass) -> list[tuple[int, int]]:
    """What the worst learner does that is wrong, as pairs, where the start can lead."""
    if point.weights is None:
        return []
    fan = fan_of(known)
    policy = fan.losses.of(np.array([point.weights])).policies[0]
    states = np.flatnonzero(fan.states & ~known.task.mdp.terminal)
    wrong = states[~known.plan.optimal[states, policy[states]]]
    return [(int(state), int(policy[state])) for state in wrong]


def _step(known: EquivalenceClass, scene: Scene | None, state: int, action: int) -> str:
    mdp = known.task.mdp
    return f"{action_words(mdp, action)} in {state_in_words(mdp, state, scene)}"


def _arrows(scene: Scene | None, pairs: Iterable[tuple[int, int]], length: float) -> str:
    if scene is None or scene.kind != "grid":
        return ""
    drawn = ((scene.centre(state), scene.arrows[action]) for state, action in pairs)
    return "".join(stub(here, to, length) for here, to in drawn if to is not None)
