"""Pages of several lessons: of a family, of a frontier, and the difficulty of tasks as one picture.

A family's members stand side by side, those that are shown marked. A frontier has a slider over its
lessons; for each the world is drawn with what is shown and with the mistakes of the worst learner
that was found to fit it: the policy of the reward that loses most.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from didact import __version__
from didact.bec.classes import EquivalenceClass, Member, equivalence_class
from didact.errors import InvalidParameter, Unsupported
from didact.inputs import counted, shown_name
from didact.mdp import Family
from didact.mdp.model import deciding_states
from didact.mdp.naming import action_words
from didact.report.page.scene import (
    Box,
    Picture,
    Scene,
    amount,
    arrows,
    scene_frame,
    scene_of,
    state_in_words,
    stub,
    view_of,
)
from didact.report.page.templates import render
from didact.report.page.world import legend
from didact.report.words.lessons import (
    closed_words,
    invisible_sentences,
    probability_words,
    statement_words,
    status_words,
    steps_in_words,
)
from didact.report.words.tasks import between
from didact.teaching import Frontier, Lesson
from didact.teaching.frontier import Point
from didact.teaching.loss.space import weight_space
from didact.teaching.rank import Difficulty

MAX_MEMBERS, MAX_STEPS, MAX_GAPS = 60, 12, 20
"""Members that are drawn, demonstrations listed below one, and open constraints written out."""
WIDEST, MEMBER_CELLS = 15.0, 24
"""Of a member's picture: its width in rem, and its cells a side."""


def family_page(
    family: Family,
    lesson: Lesson,
    *,
    bec: EquivalenceClass | None = None,
    verified: str | None = None,
    command: str | None = None,
    layout: str = "document.html.jinja",
) -> str:
    """The page of a lesson for its family, as HTML.

    bec: the family's class, when it is at hand. verified: what the independent checker said of
    the proof. command: the command line that makes the page. layout: the template around it,
    'piece.html.jinja' for its parts inside another page.
    """
    scope = lesson.settings.get("scope", "reachable")
    bec = equivalence_class(family, scope=scope) if bec is None else bec
    used = {demonstration.member for demonstration in lesson.demonstrations}
    drawn = _drawn_members(len(family), used)
    scene = scene_of(family[0])
    shown, worlds = (
        counted(len(lesson.demonstrations), "demonstration"),
        counted(len(family), "world"),
    )
    told = (closed_words(lesson.closed), probability_words(lesson))
    return render(
        "family.html.jinja",
        layout=layout,
        title=f"{shown_name(family.name, 80)}: {status_words(lesson)}",
        family=family,
        lesson=lesson,
        verdict=f"{shown} in {len(used)} of {worlds}: {status_words(lesson)}.",
        is_verified=verified is not None,
        numbers=_numbers(family, lesson, len(used)),
        members=tuple(_member(family, bec.members[m], lesson) for m in drawn),
        n_left_out=len(family) - len(drawn),
        legend=legend(family[0], scene),
        closed=" ".join(f"{words[:1].upper()}{words[1:]}." for words in told if words),
        gaps=tuple(_gaps(family, lesson)),
        invisible=tuple(invisible_sentences(bec)),
        command=command,
        version=__version__,
    )


def _drawn_members(n: int, used: set[int | None]) -> list[int]:
    """Members in order: all that are shown, and the first others, as many as a page holds."""
    others = [member for member in range(n) if member not in used]
    room = max(0, MAX_MEMBERS - len(used))
    return sorted([*(member for member in used if member is not None), *others[:room]])


def _numbers(family: Family, lesson: Lesson, n_used: int) -> tuple[tuple[str, str], ...]:
    bound = "?" if lesson.lower_bound is None else str(lesson.lower_bound)
    margin = lesson.hardest
    hardest = () if margin is None else ((amount(float(margin)), "hardest difference"),)
    return (
        (str(len(lesson.demonstrations)), "demonstrations"),
        (str(lesson.n_pairs), "steps"),
        (f"{n_used} of {len(family)}", "worlds shown"),
        (str(lesson.n_facets), "facets"),
        (str(lesson.cost), f"cost; at least {bound}"),
        *hardest,
    )


def _member(family: Family, member: Member, lesson: Lesson) -> dict[str, Any]:
    """A member: its ground, all optimal actions and the shown ones as paths, and words.

    scene: None where there is nothing to draw it by.
    """
    own = member.own(lesson.demonstrations)
    scene = scene_of(member.task, member.plan)
    number = {id(d): i for i, d in enumerate(lesson.demonstrations)}
    said = [f"{number[id(d)] + 1}. {steps_in_words(member.task, d)}" for d in own[:MAX_STEPS]]
    states = [state for d in own for state, _ in d] or [0]
    box = None if scene is None else scene.box_around(states, whole=MEMBER_CELLS, most=MEMBER_CELLS)
    name = shown_name(family.names[member.number or 0], 60)
    words = counted(len(own), "demonstration") + " shown" if own else "nothing is shown"
    frame = None
    if scene is not None and box is not None:
        title = f"{name}: {words}"
        told = "; ".join(said) or "Arrows: all optimal actions."
        frame = Picture(f"member-{member.number or 0}", view_of(box), title, told, "scene", WIDEST)
    useful = member.plan.optimal & deciding_states(member.task.mdp)[:, None]
    optimal = list(zip(*useful.nonzero(), strict=True))
    return {
        "name": name,
        "is_shown": bool(own),
        "said": said,
        "n_more": max(0, len(own) - MAX_STEPS),
        "scene": scene,
        "frame": frame,
        "ground": None if scene is None or box is None else scene.ground([box]),
        "policy": arrows(scene, optimal, partial(stub, length=5.2)),
        "shown": arrows(scene, [p for d in own for p in d], partial(stub, length=7.4)),
    }


def _gaps(family: Family, lesson: Lesson) -> Iterator[str]:
    """What stays open, whose it is and why."""
    for gap in lesson.uncovered[:MAX_GAPS]:
        member = gap.member or 0
        words = statement_words(family[member], gap.state, gap.action, gap.other)
        yield f"{shown_name(family.names[member], 60)}: {words} ({gap.reason})"


NO_PAGE = "the page of a frontier is of one world; make that of a member, or leave the page out"
WHOLE, MAX_CELLS = 30, 30
MAX_MISTAKES = 12
"""Mistakes that are told in words."""


def frontier_page(found: Frontier, *, layout: str = "document.html.jinja") -> str:
    """The page of a frontier, as HTML.

    layout: the template around it, 'piece.html.jinja' for its parts inside another page.
    """
    bec = found.points[0].lesson.bec
    if bec is None:
        raise InvalidParameter("lessons from files do not hold their task; make the frontier anew")
    if bec.is_family:
        raise Unsupported(NO_PAGE)
    scene = scene_of(bec.task, bec.plan)
    shown = [d for point in found.points for d in point.lesson.demonstrations]
    states = [state for demonstration in shown for state, _ in demonstration]
    box = None if scene is None else scene.box_around(states or [0], whole=WHOLE, most=MAX_CELLS)
    points = [_shown(number, point, bec, scene, box) for number, point in enumerate(found.points)]
    return render(
        "frontier.html.jinja",
        layout=layout,
        title=f"{shown_name(found.task_name, 80)}: what more demonstrations are worth",
        world=found.task_name,
        learner=found.learner_model,
        scene=scene,
        ground=None if scene is None or box is None else scene.ground([box]),
        legend=legend(bec.task, scene),
        points=points,
        invisible=list(invisible_sentences(bec)),
        version=__version__,
    )


def _shown(
    number: int, point: Point, bec: EquivalenceClass, scene: Scene | None, box: Box | None
) -> dict[str, Any]:
    """A lesson in words, and paths on the world where it can be drawn.

    right, wrong: the teacher's and the worst learner's actions where they differ.
    """
    lesson, mdp = point.lesson, bec.task.mdp
    astray = _astray(point, bec)
    pairs = [pair for demonstration in lesson.demonstrations for pair in demonstration]
    spread = point.spread or 1.0
    worst = "nothing can be lost" if not astray else f"{100 * point.worst / spread:.3g}%"
    least = lesson.lower_bound
    bound = "" if least is None else f"; at least {float(least):.3g}"
    label = "exact" if point.loss is None else f"within {point.loss}"
    size = counted(len(lesson.demonstrations), "demonstration")
    size += f", {counted(lesson.n_pairs, 'step')}{bound}"
    told = "Heavy arrows: what is shown. Dashed: the worst learner's mistakes. Thin: what is best."
    right = ((s, a) for s, _ in astray for a in range(mdp.n_actions) if bec.plan.optimal[s, a])
    return {
        "label": label,
        "size": size,
        "known": point.status,
        "lost": f"worst found: {worst}; mean: {100 * point.mean / spread:.2g}%",
        "steps": [_step(bec, scene, s, a) for s, a in pairs[:MAX_MISTAKES]],
        "mistakes": [_step(bec, scene, s, a) for s, a in astray[:MAX_MISTAKES]],
        "n_more": max(0, len(astray) - MAX_MISTAKES),
        "frame": None
        if box is None
        else scene_frame(f"point-{number}", box, f"{label}: {size}", told),
        "shown": arrows(scene, pairs),
        "right": arrows(scene, right),
        "wrong": arrows(scene, astray),
    }


def _astray(point: Point, bec: EquivalenceClass) -> list[tuple[int, int]]:
    """What the worst learner does that is wrong, as pairs, where the start can lead."""
    if point.weights is None:
        return []
    space = weight_space(bec)
    policy = space.losses.of(np.array([point.weights])).policies[0]
    states = np.flatnonzero(space.states & ~bec.task.mdp.terminal)
    wrong = states[~bec.plan.optimal[states, policy[states]]]
    return [(int(state), int(policy[state])) for state in wrong]


def _step(bec: EquivalenceClass, scene: Scene | None, state: int, action: int) -> str:
    mdp = bec.task.mdp
    return f"{action_words(mdp, action)} in {state_in_words(mdp, state, scene)}"


LONGEST_BAR = 420


def rank_svg(rows: Sequence[Difficulty]) -> str:
    """The bars of tasks that were ranked: demonstrations above, pairs below, for each."""
    ranked = [row for row in rows if row.error is None]
    most = max((max(r.n_pairs or 0, r.n_demonstrations or 0) for r in ranked), default=0) or 1
    return render(
        "rank.svg.jinja",
        rows=[
            (
                row,
                _bar(row.fewest_demonstrations, row.n_demonstrations, most),
                _bar(row.fewest_pairs, row.n_pairs, most),
            )
            for row in ranked
        ],
    )


def _bar(low: int | None, high: int | None, most: int) -> dict[str, Any]:
    """A bar in units of the picture: full up to what is proved, light up to what was found."""
    found = (high or 0) * LONGEST_BAR / most
    sure = found if low is None else low * LONGEST_BAR / most
    return {"sure": sure, "found": found, "words": between(low, high)}
