"""The lesson of a family as one HTML file: its members side by side, those that are shown marked.

Facts are put together here; `templates/family.html.jinja` lays them out as small multiples.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from didact import __version__
from didact.bec.classes import EquivalenceClass, Part, equivalence_class
from didact.inputs import counted, shown_name
from didact.mdp import Family
from didact.mdp.model import deciding_states
from didact.report.families import status_words, steps_in_words
from didact.report.page.arrows import stub
from didact.report.page.scene import Scene, scene_of, view_of
from didact.report.page.svg import Picture, amount
from didact.report.page.templates import render
from didact.report.page.world import legend
from didact.report.verdicts import closed_words, probability_words, statement_words
from didact.teaching import Lesson

MOST_MEMBERS, MOST_STEPS, MOST_GAPS = 60, 12, 20
"""Members that are drawn, demonstrations listed below one, and open constraints written out."""
WIDEST = 15.0
"""Of a member's picture, in rem."""
MOST_CELLS = 24


@dataclass(frozen=True)
class MemberPicture:
    """A member: its ground, all optimal actions and the shown ones as paths, and words.

    scene: None where there is nothing to draw it by. shown: paths and the places of numbers.
    """

    name: str
    is_shown: bool
    said: tuple[str, ...]
    n_more: int
    scene: Scene | None
    frame: Picture | None
    ground: Any
    policy: str
    shown: str


def family_page(
    family: Family,
    lesson: Lesson,
    *,
    known: EquivalenceClass | None = None,
    verified: str | None = None,
    command: str | None = None,
    layout: str = "document.html.jinja",
) -> str:
    """The page of a lesson for its family, as HTML.

    known: the family's class, when it is at hand. verified: what the independent checker said of
    the proof. command: the command line that makes the page. layout: the template around it,
    'piece.html.jinja' for its parts inside another page.
    """
    scope = lesson.settings.get("scope", "reachable")
    known = equivalence_class(family, scope=scope) if known is None else known
    used = {demonstration.member for demonstration in lesson.demonstrations}
    drawn = _drawn_members(len(family), used)
    scene = scene_of(family[0])
    told = (closed_words(lesson.closed), probability_words(lesson))
    return render(
        "family.html.jinja",
        layout=layout,
        title=f"{shown_name(family.name, 80)}: {status_words(lesson)}",
        family=family,
        lesson=lesson,
        verdict=_verdict(family, lesson, len(used)),
        is_verified=verified is not None,
        numbers=_numbers(family, lesson, len(used)),
        members=tuple(_member(family, known.parts[m], lesson) for m in drawn),
        n_left_out=len(family) - len(drawn),
        legend=legend(family[0], scene),
        closed=" ".join(map(_sentence, filter(None, told))),
        gaps=tuple(_gaps(family, lesson)),
        command=command,
        version=__version__,
    )


def _drawn_members(n: int, used: set[int | None]) -> list[int]:
    """Members in order: all that are shown, and the first others, as many as a page holds."""
    others = [member for member in range(n) if member not in used]
    room = max(0, MOST_MEMBERS - len(used))
    return sorted([*(member for member in used if member is not None), *others[:room]])


def _verdict(family: Family, lesson: Lesson, n_used: int) -> str:
    shown = counted(len(lesson.demonstrations), "demonstration")
    of = f"in {n_used} of {counted(len(family), 'world')}"
    return f"{shown} {of}: {status_words(lesson)}."


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


def _member(family: Family, part: Part, lesson: Lesson) -> MemberPicture:
    """A member with what the lesson shows of it."""
    member, own = part.member or 0, part.own(lesson.demonstrations)
    scene = scene_of(part.task, part.plan)
    number = {id(d): i for i, d in enumerate(lesson.demonstrations)}
    said = [f"{number[id(d)] + 1}. {steps_in_words(part.task, d)}" for d in own[:MOST_STEPS]]
    states = [state for d in own for state, _ in d] or [0]
    box = None if scene is None else scene.box_around(states, whole=MOST_CELLS, most=MOST_CELLS)
    name = shown_name(family.names[member], 60)
    words = counted(len(own), "demonstration") + " shown" if own else "nothing is shown"
    frame = None
    if scene is not None and box is not None:
        title = f"{name}: {words}"
        told = "; ".join(said) or "Arrows: all optimal actions."
        frame = Picture(f"member-{member}", view_of(box), title, told, "scene", WIDEST)
    is_grid = scene is not None and scene.kind == "grid"
    useful = part.plan.optimal & deciding_states(part.task.mdp)[:, None]
    optimal = list(zip(*useful.nonzero(), strict=True))
    return MemberPicture(
        name=name,
        is_shown=bool(own),
        said=tuple(said),
        n_more=max(0, len(own) - MOST_STEPS),
        scene=scene,
        frame=frame,
        ground=None if scene is None or box is None else scene.ground([box]),
        policy=_arrows(scene, optimal, 5.2) if is_grid else "",
        shown=_arrows(scene, [pair for d in own for pair in d], 7.4) if is_grid else "",
    )


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}."


def _arrows(scene: Scene | None, pairs: Iterable[Sequence[Any]], length: float) -> str:
    """Arrows of moves, as one path."""
    assert scene is not None
    parts = []
    for state, action in pairs:
        direction = scene.arrows[int(action)]
        if direction is not None:
            parts.append(stub(scene.centre(int(state)), direction, length))
    return "".join(parts)


def _gaps(family: Family, lesson: Lesson) -> Iterator[str]:
    """What stays open, whose it is and why."""
    for gap in lesson.uncovered[:MOST_GAPS]:
        member = gap.member or 0
        words = statement_words(family[member], gap.state, gap.action, gap.other)
        yield f"{shown_name(family.names[member], 60)}: {words} ({gap.reason})"
