"""A lesson in a terminal: the verdict in one line, the demonstrations drawn, the rest in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from didact.bec.rows import demonstrated_pairs
from didact.inputs import counted, shown_name
from didact.mdp import Demonstration, Task
from didact.report.terminal.worlds import action_arrows, draw_grid, indented
from didact.teaching import Lesson, Verdict

MOST_DRAWN, MOST_STEPS, MOST_WORDS = 6, 30, 40


def lesson_line(task: Task, lesson: Lesson, verified: str | None) -> str:
    """The verdict in one line."""
    mdp = task.mdp
    n_going = int((~mdp.terminal).sum())
    given = lesson.settings.get("starts")
    n_starts = int(((mdp.start.floats > 0) & ~mdp.terminal).sum()) if given is None else len(given)
    where = (
        f"{shown_name(task.name)}: {counted(n_going, 'situation')}, {counted(n_starts, 'start')}"
    )
    end = " Proof verified." if verified else " Numerical, not proved."
    n = len(lesson.demonstrations)
    if lesson.is_complete and n == 0:
        return f"{where}: nothing needs to be shown.{end}"
    if lesson.is_complete:
        number = "ONE" if n == 1 else str(n)
        return f"{where}: {number} {_kind(lesson)} {_are(n)} enough.{end}"
    if lesson.status == "undecided":
        shown = "nothing needs to be shown" if n == 0 else f"{n} {_kind(lesson)} {_are(n)} enough"
        return f"{where}: {shown} {close_calls(lesson.n_close_calls)}.{end}"
    total = lesson.n_facets + lesson.n_equalities
    what = "no demonstration helps:" if n == 0 else f"{n} {_kind(lesson)} {_left(n)}"
    left = f"{len(lesson.uncovered)} of {counted(total, 'constraint')}"
    return f"{where}: NOT taught: {what} {left} open.{end}"


def close_calls(n: int) -> str:
    """What stands between a lesson in floats and a complete one."""
    return f"up to {counted(n, 'close call')} that floats cannot decide"


def _are(n: int) -> str:
    return "is" if n == 1 else "are"


def _left(n: int) -> str:
    return "leaves" if n == 1 else "leave"


def _kind(lesson: Lesson) -> str:
    n = len(lesson.demonstrations)
    longest = max((len(d) for d in lesson.demonstrations), default=1)
    if longest == 1:
        return "single step" if n == 1 else "single steps"
    if n == 1:
        return f"demonstration of {counted(longest, 'step')}"
    return f"demonstrations of {counted(lesson.n_pairs, 'step')} in all"


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
        [indented(line) for line in _size(lesson)],
        _words(lesson),
        _open(task, lesson),
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
    mdp = task.mdp
    pairs = [pair for demonstration in shown for pair in demonstration]
    lines: list[RenderableType] = [
        indented(f"{i + 1:3}. {shown_name(mdp.state_name(s))}: {shown_name(mdp.action_name(a))}")
        for i, (s, a) in enumerate(pairs[:MOST_STEPS])
    ]
    if len(pairs) > MOST_STEPS:
        lines.append(indented(f"     (and {len(pairs) - MOST_STEPS} more)"))
    return lines


def frames(task: Task, demonstration: Demonstration, width: int) -> Iterator[RenderableType]:
    """A demonstration step by step, for an animation."""
    for step in range(1, len(demonstration) + 1):
        yield Group(*_picture(task, [Demonstration(demonstration.pairs[:step])], width))


def _size(lesson: Lesson) -> Iterator[str]:
    if lesson.is_complete and lesson.demonstrations:
        bound = lesson.lower_bound
        least = "" if bound is None else f"; at least {_shown_bound(bound)} are needed"
        if bound is not None and bound >= lesson.cost:
            least = "; no lesson of such demonstrations costs less"
        yield f"cost {_shown_bound(lesson.cost)}{least}"
    if lesson.n_close_calls:
        yield "exact arithmetic decides what floats cannot: arithmetic='exact'"
    if lesson.is_complete:
        yield _closed(lesson.closed)
    if lesson.volumes is not None:
        yield "volume left by step: " + " ".join(f"{volume:.2g}" for volume in lesson.volumes)


def _closed(closed: bool) -> str:
    if closed:
        return "closed: learners that plan for themselves learn it too"
    return "not closed: it speaks to learners that go on as the teacher"


def _shown_bound(value: Any) -> str:
    return str(value) if isinstance(value, int) else f"{float(value):.4g}"


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
        where = _statement(task, missing.state, missing.action, missing.other)
        parts.append(indented(f"{where}: {missing.words} ({missing.reason})"))
    parts.append(indented(witness_line(task, lesson.witness, lesson.loss)))
    return parts


def _pair(task: Task, state: int, action: int) -> str:
    mdp = task.mdp
    return f"{shown_name(mdp.action_name(action))} in {shown_name(mdp.state_name(state))}"


def _statement(task: Task, state: int, action: int, other: int) -> str:
    against = shown_name(task.mdp.action_name(other))
    where = shown_name(task.mdp.state_name(state))
    return f"{shown_name(task.mdp.action_name(action))} against {against} in {where}"


def witness_line(task: Task, witness: Sequence[Any], loss: float | None) -> str:
    """Weights that fit what was shown and are wrong, with the loss."""
    named = ", ".join(
        f"{shown_name(task.mdp.feature_name(i))} {float(w):.3g}" for i, w in enumerate(witness)
    )
    cost = "" if loss is None else f"; a learner that believes them loses up to {loss:.3g}"
    return f"weights that fit all of it and are wrong: {named}{cost}"


def verdict_lines(task: Task, verdict: Verdict, n: int, verified: str | None) -> list[str]:
    """What `check` says to people."""
    end = " Proof verified." if verified else ""
    name = f"{shown_name(task.name)}: {counted(n, 'demonstration')}"
    if verdict.teaches:
        lines = [f"{name} {'teaches' if n == 1 else 'teach'} it.{end}"]
        return [*lines, _closed(verdict.closed)]
    if verdict.n_close_calls and not verdict.wrong and verdict.missing is None:
        up_to = close_calls(verdict.n_close_calls)
        return [f"{name} {'teaches' if n == 1 else 'teach'} it {up_to}.{end}"]
    lines = [f"{name} {'does' if n == 1 else 'do'} NOT teach it.{end}"]
    for pair in verdict.wrong:
        lines.append(
            f"demonstration {pair.demonstration + 1}, step {pair.step + 1}: "
            f"{_pair(task, pair.state, pair.action)} is not optimal, "
            f"{shown_name(task.mdp.action_name(pair.better))} is better by {pair.gap:.3g}"
        )
        if pair.contradicted_by:
            others = ", ".join(_pair(task, s, a) for s, a in pair.contradicted_by)
            lines.append(f"    it contradicts what is shown elsewhere: {others}")
    if verdict.missing is not None and verdict.witness is not None:
        lines.append(
            f"open: {_statement(task, *verdict.missing)}: {verdict.missing_words} "
            f"({verdict.n_open} of {verdict.n_facets + verdict.n_equalities} constraints)"
        )
        lines.append(witness_line(task, verdict.witness, verdict.loss))
    return lines
