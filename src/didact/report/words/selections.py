"""Which recorded episodes teach a task, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from didact.inputs import counted, shown_name
from didact.mdp import Demonstration, Task
from didact.mdp.items import Item
from didact.mdp.naming import action_words, episode_numbers, pair_words
from didact.teaching.feedback.halfspaces import Segment, item_words
from didact.teaching.select import Selection

MOST_LISTED, MOST_NUMBERS = 12, 20


COUNTING = (
    "  (episodes and steps are counted from 1; --json and --episodes count as the file, from 0)"
)

Called = Mapping[int, str]
"""What people call an episode, by its number in the file."""


def selection_lines(
    task: Task, selection: Selection, episodes: Sequence[int] | None = None
) -> list[str]:
    """The verdict in one line, then the chosen, the others, and what is missing.

    episodes: the numbers of all in their file; 0, 1, 2, ... by default.
    """
    if selection.is_mixed:
        return _mixed_lines(task, selection)
    called = episode_numbers(range(selection.n_items) if episodes is None else episodes)
    named = [
        *_chosen(selection, called),
        *_others("left out by the budget", selection.left_out, called),
        *_others("redundant", selection.redundant, called),
        *_wrong(task, selection, called),
    ]
    counting = [COUNTING] if named and called.get(0) == "1" else []
    return [_verdict(selection), *named, *_missing(task, selection), *counting]


def _mixed_lines(task: Task, selection: Selection) -> list[str]:
    """The same of items of several kinds."""
    n = len(selection.chosen)
    where = f"{shown_name(selection.task_name)}: {counted(selection.n_items, 'item')}"
    of = counted(selection.n_elements, "constraint")
    least = "; the solver found no cheaper ones" if selection.is_minimal else ""
    verdict = f"{n} of them {'is' if n == 1 else 'are'} enough, decided exactly{least}."
    if not selection.teaches:
        shows = "shows" if n == 1 else "show"
        verdict = f"NOT taught: the best {n} {shows} {selection.n_covered} of {of}{least}."
    told = zip(selection.chosen, selection.items, selection.gains, strict=True)
    lines = [f"{where}: {verdict}"]
    for number, item, gain in told:
        what = counted(gain, "new constraint") if gain else "narrows what stays open"
        lines.append(f"  item {number + 1}: {_item_words(task, item)}: {what}")
    called = {number: str(number + 1) for number in range(selection.n_items)}
    lines += _others("left out by the budget", selection.left_out, called)
    lines += _others("redundant", selection.redundant, called)
    lines += [
        f"  item {wrong.demonstration + 1}, step {wrong.step + 1} is wrong: "
        f"{pair_words(task, wrong.state, wrong.action)}"
        for wrong in selection.wrong[:MOST_LISTED]
    ]
    lines += [
        f"  item {wrong.item + 1} is not true: {wrong.words}"
        for wrong in selection.wrong_items[:MOST_LISTED]
    ]
    return lines + [f"  still missing: {each.words}" for each in selection.missing[:MOST_LISTED]]


def _item_words(task: Task, item: Item) -> str:
    if isinstance(item, Demonstration):
        return f"{pair_words(task, *item[0])}, {counted(len(item), 'step')}"
    return item_words(task, item)


def _verdict(selection: Selection) -> str:
    where = f"{shown_name(selection.task_name)}: {counted(selection.n_items, 'episode')}"
    if selection.wrong:
        where += f", {len(selection.contradicting)} with wrong steps"
    n, of = len(selection.chosen), counted(selection.n_elements, "constraint")
    proof = "" if selection.verdict.arithmetic == "exact" else " Numerical, not proved."
    if selection.teaches and n == 0:
        return f"{where}: nothing needs to be shown.{proof}"
    is_whole = not set(selection.chosen) & {c.episode for c in selection.contradicting}
    them = "of them" if is_whole else f"of their right {'segment' if n == 1 else 'segments'}"
    if selection.teaches:
        enough = f"ONE {them} is enough" if n == 1 else f"{n} {them} are enough"
        return f"{where}: {enough}.{proof}"
    if n == 0:
        return f"{where}: NOT taught: none of them helps; {of} open.{proof}"
    verb, best = "shows" if n == 1 else "show", "" if is_whole else f" {them}"
    return f"{where}: NOT taught: the best {n}{best} {verb} {selection.n_covered} of {of}.{proof}"


def _chosen(selection: Selection, called: Called) -> Iterator[str]:
    cut = {c.episode for c in selection.contradicting}
    for segment, gain in zip(selection.segments, selection.gains, strict=True):
        what = counted(gain, "new constraint") if gain else "narrows what stays open"
        where = f"episode {called[segment.demonstration]}"
        if segment.demonstration in cut:
            where += f", {_steps(segment)}"
        yield f"  {where}: {what}, {counted(len(segment.shown), 'step')}"


def _steps(segment: Segment) -> str:
    """'step 3', 'steps 3 to 5'; people count from 1."""
    first, n = segment.step + 1, len(segment.shown)
    return f"step {first}" if n == 1 else f"steps {first} to {first + n - 1}"


def _others(what: str, numbers: Sequence[int], called: Called) -> Iterator[str]:
    if numbers:
        cut = ", ..." if len(numbers) > MOST_NUMBERS else ""
        listed = ", ".join(called[number] for number in numbers[:MOST_NUMBERS])
        yield f"  {what} ({len(numbers)}): {listed}{cut}"


def _wrong(task: Task, selection: Selection, called: Called) -> Iterator[str]:
    wrong = selection.wrong
    against = {c.episode: c for c in selection.contradicting}
    if wrong:
        yield f"  wrong steps ({len(wrong)}), left out:"
    for step in wrong[:MOST_LISTED]:
        line = (
            f"    episode {called[step.demonstration]}, step {step.step + 1}: "
            f"{pair_words(task, step.state, step.action)} is not optimal, "
            f"{action_words(task, step.better)} is better by {step.gap:.4g}"
        )
        about = against[step.demonstration]
        if about.step == step.step and about.against:
            line += f"; {_who([called[number] for number in about.against])} so too"
        yield line
    if len(wrong) > MOST_LISTED:
        yield f"    ({counted(len(wrong) - MOST_LISTED, 'more wrong step')})"


def _who(numbers: Sequence[str]) -> str:
    """'episode 3 says', 'episodes 3, 4 say'."""
    listed = ", ".join(numbers)
    return f"episode {listed} says" if len(numbers) == 1 else f"episodes {listed} say"


def _missing(task: Task, selection: Selection) -> Iterator[str]:
    if selection.missing:
        yield f"  still missing ({len(selection.missing)}):"
    for missing in selection.missing[:MOST_LISTED]:
        how = "" if missing.reason == "not recorded" else " (in an episode left out)"
        yield f"    {pair_words(task, missing.state, missing.action)}{how}: {missing.words}"
    if len(selection.missing) > MOST_LISTED:
        yield f"    ({len(selection.missing) - MOST_LISTED} more)"
    if selection.verdict.loss is not None:
        yield f"  a learner may still lose {selection.verdict.loss:.4g}"
