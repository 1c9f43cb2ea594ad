"""A lesson in a terminal: the verdict in one line, the demonstrations drawn, the rest in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from didact.bec.halfspaces import demonstrated_pairs
from didact.inputs import counted
from didact.mdp import Demonstration, Task
from didact.mdp.naming import pair_words
from didact.report.terminal.worlds import action_arrows, draw_grid, indented, letter_legend
from didact.report.verdicts import (
    closed_words,
    cost_words,
    hardest_words,
    lesson_line,
    probability_words,
    statement_words,
    within_lines,
    witness_line,
)
from didact.teaching import Lesson
from didact.teaching.lesson import FEWEST

MOST_DRAWN, MOST_STEPS, MOST_WORDS = 6, 30, 40


def draw_lesson(
    task: Task, lesson: Lesson, verified: str | None, *, width: int = 80
) -> RenderableType:
    """Verdict, demonstrations, what each shows, bounds, and what stays open.

    The verdict is one line, however long: print it without cropping, a terminal wraps it itself.
    """
    line = lesson_line(task, lesson, verified)
    sections: list[list[RenderableType]] = [
        [Text(line, style="bold", no_wrap=True, overflow="ignore")],
        *_demonstrations(task, lesson, width),
        letter_legend(task, width) if lesson.demonstrations else [],
        [indented(line) for line in _size(lesson, verified)],
        _words(lesson) if lesson.within is None else [],
        _open(task, lesson) if lesson.within is None else [],
    ]
    parts = [part for section in sections if section for part in (*section, "")]
    return Group(*parts[:-1])


def _demonstrations(task: Task, lesson: Lesson, width: int) -> Iterator[list[RenderableType]]:
    shown = lesson.demonstrations
    if not shown:
        return
    if all(len(d) == 1 for d in shown):
        yield _picture(task, shown, width)
        return
    for number, demonstration in enumerate(shown[:MOST_DRAWN]):
        title = f"demonstration {number + 1}, {counted(len(demonstration), 'step')}"
        yield [indented(title), *_picture(task, [demonstration], width)]
    if len(shown) > MOST_DRAWN:
        yield [indented(f"(and {len(shown) - MOST_DRAWN} more)")]


def _picture(task: Task, shown: Sequence[Demonstration], width: int) -> list[RenderableType]:
    arrows = None if task.layout is None else action_arrows(task.mdp)
    if arrows is None:
        return _steps(task, shown)
    return list(draw_grid(task, demonstrated_pairs(task.mdp, shown), arrows, width))


def _steps(task: Task, shown: Sequence[Demonstration]) -> list[RenderableType]:
    pairs = [pair for demonstration in shown for pair in demonstration]
    lines: list[RenderableType] = [
        indented(f"{i + 1:3}. {pair_words(task, s, a)}")
        for i, (s, a) in enumerate(pairs[:MOST_STEPS])
    ]
    if len(pairs) > MOST_STEPS:
        lines.append(indented(f"     (and {len(pairs) - MOST_STEPS} more)"))
    return lines


def frames(task: Task, demonstration: Demonstration, width: int) -> Iterator[RenderableType]:
    """A demonstration step by step, for an animation."""
    for step in range(1, len(demonstration) + 1):
        yield Group(*_picture(task, [Demonstration(demonstration.pairs[:step])], width))


def _size(lesson: Lesson, verified: str | None) -> Iterator[str]:
    if lesson.within is None:
        yield from _known(lesson, verified)
    else:
        yield from within_lines(lesson, lesson.within)
    likely = probability_words(lesson)
    if likely is not None:
        yield likely
    if lesson.hardest is not None:
        yield hardest_words(lesson.hardest)


def _known(lesson: Lesson, verified: str | None) -> Iterator[str]:
    if lesson.is_complete and lesson.demonstrations:
        fewest = lesson.is_fewest if verified is None else FEWEST in verified
        yield cost_words(lesson, fewest=fewest)
    if lesson.n_close_calls:
        yield "exact arithmetic decides what floats cannot: arithmetic='exact'"
    if lesson.is_complete:
        yield closed_words(lesson.closed)
    if lesson.volumes is not None:
        yield "volume left by step: " + " ".join(f"{volume:.2g}" for volume in lesson.volumes)


def _words(lesson: Lesson) -> list[RenderableType]:
    facets = lesson.facets
    if not facets:
        return []
    parts: list[RenderableType] = [indented("what it says:")]
    for facet in facets[:MOST_WORDS]:
        covered = facet["covered_by"]
        by = "open" if covered is None else f"{covered + 1}"
        parts.append(indented(f"[{by:>4}] {facet['words']}"))
    if len(facets) > MOST_WORDS:
        parts.append(indented(f"(and {len(facets) - MOST_WORDS} more)"))
    return parts


def _open(task: Task, lesson: Lesson) -> list[RenderableType]:
    if lesson.is_complete or lesson.witness is None:
        return []
    parts: list[RenderableType] = [indented("what stays open:")]
    for missing in lesson.uncovered[:MOST_WORDS]:
        where = statement_words(task, missing.state, missing.action, missing.other)
        parts.append(indented(f"{where}: {missing.words} ({missing.reason})"))
    error = lesson.loss_error if lesson.is_loss_vague else 0.0
    parts.append(indented(witness_line(task, lesson.witness, lesson.loss, error=error)))
    return parts
