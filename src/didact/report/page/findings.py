"""Pages of findings: attacks, who demonstrated, what stays invisible.

Each says its verdict, sentences, and tables whose rows have a bar or an interval beside them; an
attack is drawn on its world, the trust of a teacher as the density of its posterior.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np

from didact import __version__
from didact.inputs import shown_name
from didact.learners.chains.informativeness import Informativeness
from didact.report.page.scene import amount, arrows, number, points, scene_frame, scene_of
from didact.report.page.templates import render
from didact.report.words.lessons import steps_in_words
from didact.teaching import Attack, Identification
from didact.teaching.identify import change_lines

LEFT, RIGHT = 6.0, 214.0
"""Ends of the line that bars lie on."""
WHOLE, MAX_CELLS = 30, 30
MAX_ROWS = 60
"""Rows of a table; the others are counted."""


class Span(NamedTuple):
    """A bar from low to high on a line with zero; places in units of the picture."""

    words: str
    zero: float
    low: float
    high: float
    is_marked: bool


End = float | Fraction | None
Rows = list[tuple[list[str], Span | None]]


Table = tuple[str, Sequence[str], Rows]
"""A title, heads, and rows of cells, each with a bar or none."""


@singledispatch
def finding_page(found: Any) -> str:
    """The page of a finding, as HTML, chosen by its type."""
    raise TypeError(f"there is no page of {type(found).__name__}")


def _page(
    mark: str, world: str, lines: Sequence[str], tables: Sequence[Table], **drawn: Any
) -> str:
    """A page.

    lines: sentences, the first of them the verdict.
    drawn: a curve, or the parts of a picture, as the template names them.
    """
    verdict = lines[0].removeprefix(f"{shown_name(world)}: ")  # the heading names it
    given: dict[str, Any] = {"curve": None, "frame": None, "ground": None, "scene": None}
    return render(
        "finding.html.jinja",
        layout="document.html.jinja",
        title=f"{shown_name(world, 80)}: {mark}",
        mark=mark,
        world=world,
        verdict=verdict[:1].upper() + verdict[1:],
        lines=lines[1:],
        tables=tables,
        most=MAX_ROWS,
        version=__version__,
        **given | drawn,
    )


def spans(ends: Sequence[tuple[End, End]], marked: Sequence[bool]) -> list[Span]:
    """Bars of intervals on one line with zero; an end that is None goes to the line's end."""
    known = [0.0] + [float(end) for pair in ends for end in pair if end is not None]
    low, high = min(known), max(known)
    room = 0.06 * ((high - low) or 1.0) if any(None in pair for pair in ends) else 0.0
    low, high = low - room, high + room

    def place(value: float) -> float:
        return LEFT + (RIGHT - LEFT) * (value - low) / ((high - low) or 1.0)

    found = []
    for (first, last), is_marked in zip(ends, marked, strict=True):
        a = LEFT if first is None else place(float(first))
        b = RIGHT if last is None else place(float(last))
        words = f"from {_end(first)} to {_end(last)}"
        found.append(Span(words, place(0.0), a, max(b, a + 1.5), is_marked))
    return found


def _yes(is_so: bool) -> str:
    return "yes" if is_so else ""


def _end(value: End) -> str:
    return "any" if value is None else amount(float(value))


@finding_page.register
def _(found: Identification) -> str:
    """What stays invisible, what each weight can be, and which changes reveal something."""
    mdp = found.mdp
    ends = [(low.value, high.value) for low, high in found.bounds]
    bars = spans(ends, [i == found.unit for i in range(len(ends))])
    weights: Rows = [
        ([mdp.feature_name(i), *map(_end, pair)], span)
        for i, (pair, span) in enumerate(zip(ends, bars, strict=True))
    ]
    unseen: Rows = [([m.words, m.reason], None) for m in found.unseen]
    taken = {change.name for change in found.changes or ()}
    tried = sorted(found.tried, key=lambda c: (c.name not in taken, -c.n_revealed, c.price))
    changes: Rows = [
        (
            [c.name, str(c.price), str(c.n_revealed), *map(_yes, (c.is_enough, c.name in taken))],
            None,
        )
        for c in tried
        if c.n_revealed or c.is_enough or c.name in taken
    ]
    of_weights = (
        f"What each weight can be within the BEC, in units of {mdp.feature_name(found.unit)}"
    )
    return _page(
        "what can be learned here",
        found.task.name,
        [found.lines()[0], *found.told, *change_lines(found)],
        [
            (of_weights, ("feature", "from", "to", "drawn"), weights),
            ("Not shown from these starts", ("constraint", "reason"), unseen),
            (
                "Changes that reveal something",
                ("change", "price", "reveals", "enough alone", "taken"),
                changes,
            ),
        ],
    )


@finding_page.register
def _(found: Attack) -> str:
    """Which demonstrations an attack takes away, and how many state each constraint."""
    bars = spans(
        [(0.0, float(n)) for _, n in found.stated],
        [n == found.notices + 1 for _, n in found.stated],
    )
    stated: Rows = [
        ([words, str(n)], span) for (words, n), span in zip(found.stated, bars, strict=True)
    ]
    gone, listed = {*found.demonstrations}, Rows()
    for i, shown in enumerate(found.shown):
        steps = steps_in_words(found.bec.members[shown.member or 0].task, shown)
        done = "flipped" if i in found.flipped else "dropped" if i in gone else ""
        listed.append(([str(i + 1), steps, done], None))
    heads = ("constraint", "demonstrations", "drawn")
    return _page(
        "attack on demonstrations",
        found.task_name,
        found.lines(),
        [
            ("How many demonstrations state each constraint", heads, stated),
            ("Demonstrations", ("number", "steps", "attacked"), listed),
        ],
        **_attack_picture(found, gone),
    )


def _attack_picture(found: Attack, gone: set[int]) -> dict[str, Any]:
    """What is kept and what is attacked on the world, where that is one grid."""
    bec = found.bec
    scene = None if bec.is_family else scene_of(bec.task, bec.plan)
    if scene is None or not found.shown:
        return {}
    box = scene.box_around([s for d in found.shown for s, _ in d], whole=WHOLE, most=MAX_CELLS)
    kept, taken = (
        arrows(scene, [p for i, d in enumerate(found.shown) if (i in gone) == out for p in d])
        for out in (False, True)
    )
    verbs = [("flipped", found.flipped), ("dropped", gone - {*found.flipped})]
    done = " or ".join(verb for verb, numbers in verbs if numbers) or "dropped"
    told = f"Heavy: what is kept. Dashed: what is {done}."
    return {
        "scene": scene,
        "ground": scene.ground([box]),
        "frame": scene_frame("attacked", box, found.task_name, told),
        "kept": kept,
        "gone": taken,
    }


@finding_page.register
def _(found: Informativeness) -> str:
    """Whether the demonstrator taught, the posterior of the trust, what each demonstration adds."""
    bars = spans([(min(0.0, a), max(0.0, a)) for a in found.adds], [False] * len(found.adds))
    rows: Rows = [
        ([str(i + 1), amount(a)], span)
        for i, (a, span) in enumerate(zip(found.adds, bars, strict=True))
    ]
    words = f"What each demonstration adds ({found.measure.replace('-', ' ')})"
    return _page(
        "teaching or doing",
        found.task_name,
        found.lines()[:4],
        [(words, ("demonstration", "adds", "drawn"), rows)],
        curve=_density(found),
    )


def _density(found: Informativeness) -> dict[str, Any]:
    """The posterior density of log trust, given teaching: its path, what is shaded, the ticks."""
    logs = np.log10(found.trusts[1:-1])
    heights = found.density[1:-1] / np.diff(np.log(np.sqrt(found.trusts[1:] * found.trusts[:-1])))
    xs = 10 + 420 * (logs - logs[0]) / (logs[-1] - logs[0])
    ys = 140 - 125 * heights / heights.max()
    inside = (found.trusts[1:-1] >= found.trust.low) & (found.trusts[1:-1] <= found.trust.high)
    decades = range(int(np.ceil(logs[0])), int(np.floor(logs[-1])) + 1)
    ticks = [(10 + 420 * (d - logs[0]) / (logs[-1] - logs[0]), f"{10.0**d:g}") for d in decades]
    shaded = ""
    if inside.any():
        shaded = (
            f"M{number(xs[inside][0])} 140L{points(zip(xs[inside], ys[inside], strict=True))}"
            f"L{number(xs[inside][-1])} 140z"
        )
    key = f"Posterior density of log trust (lambda) if teaching; shaded: {100 * found.level:g}%."
    return {
        "title": "The trust of a teacher",
        "words": key,
        "line": f"M{points(zip(xs, ys, strict=True))}",
        "inside": shaded,
        "ticks": ticks,
    }
