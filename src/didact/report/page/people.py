"""What a lesson page says to people who are to watch it, in plain words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from didact.inputs import counted, shown_name
from didact.mdp.naming import action_words
from didact.report.page.facts import Facts, Said
from didact.report.page.plain import shown_words, slips, wishes
from didact.report.page.scene import Scene, state_in_words

WHO = "A program acts in this world, and always does what is best by its own likes and dislikes."
MOST_SAID = 6
"""Sentences for each demonstration; the others are in the mathematics."""


@dataclass(frozen=True)
class Plain:
    """All plain words of a page.

    title: what to do. intro: what this is, two sentences. slips: how moves go astray, or empty.
    wishes: what the program likes. shows: for each demonstration what it shows, at most six. open:
    where a watcher may still guess wrongly, or empty.
    """

    title: str
    intro: str
    slips: str
    wishes: tuple[str, ...]
    shows: tuple[tuple[str, ...], ...]
    open: str


def plain_words(facts: Facts, scene: Scene | None) -> Plain:
    """The plain words of a lesson."""
    n = len(facts.lesson.demonstrations)
    return Plain(
        title=_title(facts),
        intro=f"{WHO} {_what_they_do(facts)}",
        slips=slips(facts.task, scene),
        wishes=tuple(wishes(facts.task)),
        shows=tuple(tuple(_shows(facts, facts.said_by(i))) for i in range(n)),
        open=_open(facts, scene),
    )


def _title(facts: Facts) -> str:
    shown = facts.lesson.demonstrations
    if not shown:
        return "There is nothing to watch."
    if len(shown) == 1:
        return f"Watch one demonstration of {counted(len(shown[0]), 'step')}."
    return f"Watch {len(shown)} demonstrations, {counted(facts.lesson.n_pairs, 'step')} in all."


def _what_they_do(facts: Facts) -> str:
    n = len(facts.lesson.demonstrations)
    if n == 0:
        told = "its likes make no difference" if facts.lesson.is_complete else "nothing helps here"
        return f"No demonstration is needed: {told}."
    they = "The demonstration below was" if n == 1 else "The demonstrations below were"
    if facts.lesson.is_complete:
        return f"{they} chosen to show, with nothing else, what it does wherever it may come."
    return f"{they} chosen to show as much of it as possible; what stays open is told below."


def _shows(facts: Facts, said: Sequence[Said]) -> list[str]:
    rows, seen = facts.known.rows, []
    for entry in said:
        normal = rows.normals[entry.row].tolist() if rows.exact is None else rows.exact[entry.row]
        seen.append(shown_words(facts.task, normal, equality=entry.equality))
    return list(dict.fromkeys(seen))[:MOST_SAID]


def _open(facts: Facts, scene: Scene | None) -> str:
    if facts.lesson.is_complete or facts.witness is None:
        return ""
    astray = facts.witness.astray
    if not astray:
        return "Someone who watched all this may still be wrong about what it likes."
    task, state = facts.task, astray[0]
    right = " or ".join(action_words(task, a) for a in facts.known.plan.optimal_actions(state))
    wrong = " or ".join(action_words(task, int(a)) for a in facts.witness.wrong[state].nonzero()[0])
    where = shown_name(state_in_words(task.mdp, state, scene), 90)
    return (
        "Someone who watched all this may still guess wrongly in "
        f"{counted(len(astray), 'situation')}. One of them: in {where} it does {right}, and not "
        f"{wrong}."
    )
