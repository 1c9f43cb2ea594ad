"""Which recorded episodes teach a task, in words for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from didact.inputs import counted, shown_name
from didact.mdp import Task
from didact.teaching.contradictions import Contradiction
from didact.teaching.select import Selection

MOST_LISTED, MOST_NUMBERS = 12, 20


def selection_lines(task: Task, selection: Selection) -> list[str]:
    """The verdict in one line, then the chosen, the others, and what is missing."""
    return [
        _verdict(selection),
        *_chosen(selection),
        *_others("left out by the budget", selection.left_out),
        *_others("redundant", selection.redundant),
        *_contradicting(task, selection.contradicting),
        *_missing(task, selection),
    ]


def _verdict(selection: Selection) -> str:
    where = f"{shown_name(selection.task_name)}: {counted(selection.n_episodes, 'episode')}"
    n, of = len(selection.chosen), counted(selection.n_elements, "constraint")
    proof = "" if selection.verdict.arithmetic == "exact" else " Numerical, not proved."
    if selection.teaches and n == 0:
        return f"{where}: nothing needs to be shown.{proof}"
    if selection.teaches:
        enough = "ONE of them is enough" if n == 1 else f"{n} of them are enough"
        return f"{where}: {enough}.{proof}"
    if n == 0:
        return f"{where}: NOT taught: none of them helps; {of} open.{proof}"
    verb = "shows" if n == 1 else "show"
    return f"{where}: NOT taught: the best {n} {verb} {selection.n_covered} of {of}.{proof}"


def _chosen(selection: Selection) -> Iterator[str]:
    for number, gain, shown in zip(
        selection.chosen, selection.gains, selection.demonstrations, strict=True
    ):
        what = counted(gain, "new constraint") if gain else "narrows what stays open"
        yield f"  episode {number}: {what}, {counted(len(shown), 'step')}"


def _others(what: str, numbers: Sequence[int]) -> Iterator[str]:
    if numbers:
        cut = ", ..." if len(numbers) > MOST_NUMBERS else ""
        listed = ", ".join(map(str, numbers[:MOST_NUMBERS]))
        yield f"  {what} ({len(numbers)}): {listed}{cut}"


def _contradicting(task: Task, found: Sequence[Contradiction]) -> Iterator[str]:
    mdp = task.mdp
    if found:
        yield f"  contradicting ({len(found)}):"
    for wrong in found[:MOST_LISTED]:
        taken, better = (shown_name(mdp.action_name(a)) for a in (wrong.action, wrong.better))
        line = (
            f"    episode {wrong.episode}, step {wrong.step}: {taken} in "
            f"{shown_name(mdp.state_name(wrong.state))} is not optimal, {better} is worth "
            f"{wrong.gap:.4g} more"
        )
        if wrong.n_wrong > 1:
            line += f" ({wrong.n_wrong} such steps)"
        if wrong.against:
            line += f"; {_who(wrong.against)} so too"
        yield line
    if len(found) > MOST_LISTED:
        yield f"    ({counted(len(found) - MOST_LISTED, 'more episode')})"


def _who(numbers: Sequence[int]) -> str:
    """'episode 3 says', 'episodes 3, 4 say'."""
    listed = ", ".join(map(str, numbers))
    return f"episode {listed} says" if len(numbers) == 1 else f"episodes {listed} say"


def _missing(task: Task, selection: Selection) -> Iterator[str]:
    mdp = task.mdp
    if selection.missing:
        yield f"  still missing ({len(selection.missing)}):"
    for missing in selection.missing[:MOST_LISTED]:
        where = shown_name(mdp.state_name(missing.state))
        how = "" if missing.reason == "not recorded" else " (in an episode left out)"
        yield f"    {shown_name(mdp.action_name(missing.action))} in {where}{how}: {missing.words}"
    if len(selection.missing) > MOST_LISTED:
        yield f"    ({len(selection.missing) - MOST_LISTED} more)"
    if selection.verdict.loss is not None:
        yield f"  a learner may still lose {selection.verdict.loss:.4g}"
