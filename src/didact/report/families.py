"""Lessons and verdicts of families in lines of words: whose step it is, and what stays open."""

from __future__ import annotations

from collections.abc import Iterator

from didact.inputs import counted, shown_name
from didact.mdp import Demonstration, Family, Task
from didact.mdp.naming import action_words, pair_words, step_words
from didact.report.verdicts import (
    close_calls,
    closed_words,
    cost_words,
    hardest_words,
    probability_words,
    statement_words,
    within_lines,
    within_words,
)
from didact.teaching import Lesson, Verdict
from didact.teaching.lesson import FEWEST

MOST_SHOWN, MOST_STEPS = 30, 8
"""Demonstrations, and steps of one, that are written out."""


def family_lesson_lines(family: Family, lesson: Lesson, verified: str | None) -> Iterator[str]:
    """What `teach` says of a family to people."""
    n, end = len(lesson.demonstrations), "Proof verified." if verified else "Numerical, not proved."
    used = len({demonstration.member for demonstration in lesson.demonstrations})
    shown = f"{counted(n, 'demonstration')} in {used} of {counted(len(family), 'member')}"
    told = f"{status_words(lesson)}. {end}"
    if lesson.within is not None:
        told = within_words(lesson, lesson.within)
    yield f"{shown_name(family.name)}: {shown}: {told}"
    for number, demonstration in enumerate(lesson.demonstrations[:MOST_SHOWN]):
        member = demonstration.member or 0
        steps = steps_in_words(family[member], demonstration)
        yield f"  {number + 1:3}. {shown_name(family.names[member])}: {steps}"
    if n > MOST_SHOWN:
        yield f"       (and {n - MOST_SHOWN} more)"
    if lesson.within is not None:
        yield from (f"  {line}" for line in within_lines(lesson, lesson.within))
        return
    if lesson.lower_bound is not None and lesson.is_complete:
        yield f"  {cost_words(lesson, fewest=verified is not None and FEWEST in verified)}"
    if lesson.is_complete:
        yield f"  {closed_words(lesson.closed)}"
    if (likely := probability_words(lesson)) is not None:
        yield f"  {likely}"
    if lesson.hardest is not None:
        yield f"  {hardest_words(lesson.hardest)}"
    for gap in lesson.uncovered[:MOST_SHOWN]:
        where = shown_name(family.names[gap.member or 0])
        words = statement_words(family[gap.member or 0], gap.state, gap.action, gap.other)
        yield f"  open ({gap.reason}): {where}: {words}"


def status_words(lesson: Lesson) -> str:
    """Whether the lesson is enough, in words."""
    if lesson.is_complete:
        return "enough for all of them"
    if lesson.status == "undecided" and not lesson.uncovered:
        return f"enough {close_calls(lesson.n_close_calls)}"
    total = lesson.n_facets + lesson.n_equalities
    up_to = f", {close_calls(lesson.n_close_calls)}" if lesson.n_close_calls else ""
    return f"NOT taught, {len(lesson.uncovered)} of {counted(total, 'constraint')} open{up_to}"


def steps_in_words(task: Task, demonstration: Demonstration) -> str:
    """'right in row 2, column 3; up in row 2, column 4'."""
    steps = [pair_words(task, s, a) for s, a in demonstration.pairs[:MOST_STEPS]]
    more = len(demonstration) - len(steps)
    return "; ".join(steps) + (f" (and {more} more)" if more else "")


def family_verdict_lines(
    family: Family, verdict: Verdict, n: int, verified: str | None
) -> Iterator[str]:
    """What `check` says of a family to people."""
    is_mixed = verdict.hardest is not None or verdict.wrong_items
    name = f"{shown_name(family.name)}: {counted(n, 'item' if is_mixed else 'demonstration')}"
    word = "teach" if verdict.teaches else "do NOT teach"
    end = " Proof verified." if verified else ""
    yield f"{name} {word} {counted(len(family), 'member')}.{end}"
    for item in verdict.wrong_items[:MOST_SHOWN]:
        yield f"item {item.item + 1} is not true: {item.words}, which is worse by {item.gap:.4g}"
    for wrong in verdict.wrong[:MOST_SHOWN]:
        where = family[wrong.member or 0]
        what = pair_words(where, wrong.state, wrong.action)
        yield (
            f"{step_words(wrong.demonstration, wrong.step)}: {shown_name(where.name)}: {what} is "
            f"not optimal, {action_words(where, wrong.better)} is better by {wrong.gap:.3g}"
        )
    if verdict.missing is not None:
        member, state, action, other = verdict.missing
        words = statement_words(family[member], state, action, other)
        total = verdict.n_facets + verdict.n_equalities
        yield (
            f"open: {shown_name(family.names[member])}: {words}: {verdict.missing_words} "
            f"({verdict.n_open} of {counted(total, 'constraint')})"
        )
    if is_mixed and verdict.hardest is not None:
        yield hardest_words(verdict.hardest)
    elif verdict.right_teaches:
        yield closed_words(verdict.closed)
