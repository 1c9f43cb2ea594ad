"""What is found over several tasks, bounds or episodes, in words.

Frontiers, transfers, the difficulty of tasks, and which recorded episodes teach a task.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from didact.inputs import counted, shown_name
from didact.mdp import Demonstration, Family, Task
from didact.mdp.items import Item
from didact.mdp.naming import action_words, episode_numbers, pair_words
from didact.report.words import Description, Listing
from didact.teaching import Difficulty, Frontier, Transfer
from didact.teaching.feedback.halfspaces import Segment, WrongPair, item_words
from didact.teaching.lesson import Missing
from didact.teaching.select import Selection

MAX_WORLDS = 6
"""Open worlds that are told, unless all are asked for."""


def describe_frontier(task: Task | Family, found: Frontier) -> Description:
    """How many demonstrations keep within each bound on the loss, as a table."""
    rows = []
    for point in found.points:
        lesson, bound = point.lesson, point.lesson.lower_bound
        if lesson.within is not None:
            bound = lesson.within.lower_bound
        label = "none" if point.loss is None else str(point.loss)
        mean = 100 * point.mean / point.spread if point.spread else 0.0
        least = "-" if bound is None else f"{float(bound):.3g}"
        n = len(lesson.demonstrations)
        rows.append(f"{label:>9} {n:14} {least:>11} {f'{mean:.2g}%':>9}  {point.status}")
    heads = f"{'loss':>9} {'demonstrations':>14} {'lower bound':>11} {'mean loss':>9}  status"
    facts: list[str | Listing] = [Listing("", (heads, *rows), len(rows) + 1)]
    if any(point.status == "tested" for point in found.points):
        facts.append("tested: a search found no larger loss; that is not proved")
    if any(point.status == "enumerated" for point in found.points):
        facts.append("enumerated: every class of policies that fits was visited")
    facts.append("percentages are of V* less V of the uniformly random policy")
    facts.append("mean loss: over rewards drawn uniformly among the directions that fit, estimated")
    return Description(f"{shown_name(task.name)}: demonstrations by allowed loss", tuple(facts))


def describe_transfer(found: Transfer) -> Description:
    """The share of unseen worlds that a lesson determines, the open ones, and the curve."""
    n = len(found.worlds)
    of = f"{found.n_determined} of {counted(n, 'unseen world')}"
    how = "proved" if found.arithmetic == "exact" else "decided in floats, not proved"
    verb = "is" if found.n_determined == 1 else "are"
    facts: list[str | Listing] = []
    if found.interval is not None:
        low, high = (f"{100 * end:.1f}%" for end in found.interval)
        facts.append(f"of all such worlds between {low} and {high} (95% interval)")
    still_open = (
        f"open: {shown_name(world.name)}: a learner may lose "
        f"{'?' if world.loss is None else f'{world.loss:.3g}'}: {world.words}"
        for world in found.worlds
        if not world.determined
    )
    facts.append(Listing("", tuple(still_open), MAX_WORLDS, "open world"))
    facts.append(Listing("", tuple(transfer_curve_lines(found)), MAX_WORLDS))
    verdict = f"{shown_name(found.lesson_name)}: {of} {verb} determined completely ({how})."
    return Description(verdict, tuple(facts))


def transfer_curve_lines(found: Transfer) -> Iterator[str]:
    """The curve, a line for each number of members."""
    for point in found.curve:
        reach = (
            ""
            if point.low is None
            else f" ({100 * point.low:.0f} to {100 * (point.high or 0):.0f}%)"
        )
        yield f"{counted(point.n_members, 'member')} taught: {100 * point.share:.0f}%{reach}"


def between(low: int | None, high: int | None) -> str:
    """'3' when proved, '2..3' between bounds, '3+' when more would be needed than can be shown."""
    if high is None:
        return "-"
    if low is None:
        return f"{high}+"
    return f"{high}" if low == high else f"{low}..{high}"


LONGEST_NAME, MAX_FAILED = 26, 2
"""Signs of a task's name, and tasks that could not be ranked that are told, unless all are."""


def describe_ranking(rows: Sequence[Difficulty]) -> Description:
    """What the columns of a ranking mean, only those that need it, and what was not ranked."""
    ranked = [row for row in rows if row.error is None]
    facts: list[str | Listing] = []
    if ranked:
        facts = [
            "k: features; facets, equal: half-spaces and equalities of the BEC",
            "demos: whole episodes from the task's own starts; pairs: steps from anywhere",
        ]
    if any(".." in cells[name] for cells in ranking_table(rows) for name in ("demos", "pairs")):
        facts.append("2..3: at least 2, and 3 are enough")
    if any(row.status == "partial" for row in ranked):
        facts.append("3+: 3 show only a part; `shows` is the share that whole episodes can show")
    if any(row.arithmetic == "float" for row in ranked):
        named = ", ".join(shown_name(row.name) for row in ranked if row.arithmetic == "float")
        facts.append(f"in floats, not proved: {named}")
    failed = (row for row in rows if row.error is not None)
    told = tuple(f"not ranked: {shown_name(row.name)}: {row.error}" for row in failed)
    facts.append(Listing("", told, MAX_FAILED, "task that was not ranked"))
    return Description(f"{counted(len(rows), 'task')}, hardest first", tuple(facts))


def ranking_table(rows: Sequence[Difficulty]) -> list[dict[str, str]]:
    """A row for each task that was ranked, by column."""
    return [
        {
            "task": shown_name(row.name, LONGEST_NAME),
            "states": f"{row.n_states}",
            "k": f"{row.n_features}",
            "facets": f"{row.n_facets}",
            "equal": f"{row.n_equalities}",
            "demos": between(row.fewest_demonstrations, row.n_demonstrations),
            "pairs": between(row.fewest_pairs, row.n_pairs),
            "shows": f"{100 * (row.share or 0):.0f}%",
            "time": f"{row.seconds:.1f} s",
        }
        for row in rows
        if row.error is None
    ]


MAX_NUMBERS = 20
"""Episodes that a line lists."""
MAX_CHOSEN, MAX_WRONG, MAX_MISSING = 4, 2, 2
"""Chosen episodes with a line each, wrong steps, and missing constraints, unless all are asked."""

MAX_SUSPECTS = 10
"""Episodes with wrong steps that a line lists, the largest share first."""

COUNTING = "(counted from 1 here, and as in the file, from 0, in --json and --episodes)"

Called = Mapping[int, str]
"""What people call an episode, by its number in the file."""


def describe_selection(
    task: Task | Family, selection: Selection, episodes: Sequence[int] | None = None
) -> Description:
    """What is enough, the chosen, the others, and what is missing.

    episodes: the numbers of all in their file; 0, 1, 2, ... by default.
    """
    if selection.is_mixed:
        return _described_mix(task, selection)
    called = episode_numbers(range(selection.n_items) if episodes is None else episodes)
    facts: list[str | Listing] = [
        *_chosen(selection, called),
        *_others("left out by the budget", selection.left_out, called),
        *_others("redundant", selection.redundant, called),
    ]
    if selection.survives is not None:
        any_of = f"any {selection.survives}" if selection.survives else "none"
        facts.append(f"forged episodes among them that it survives: {any_of}")
    facts += _suspects(selection, called)
    wrong = tuple(_wrong(task, selection, called))
    if wrong:
        facts.append(Listing(f"wrong steps ({len(wrong)}), left out:", wrong, MAX_WRONG, "step"))
    is_named = bool(facts)
    facts += _missing(task, selection)
    facts += [COUNTING] if is_named and called.get(0) == "1" else []
    each = tuple(_chosen_lines(selection, called))
    details = (Listing("chosen, in the order to show them:", each, len(each)),) if each else ()
    is_long = len(each) > MAX_CHOSEN
    told = details if is_long else ()
    return Description(_verdict(selection), tuple(facts), told, "what each episode adds")


def _described_mix(task: Task | Family, selection: Selection) -> Description:
    """The same of items of several kinds."""
    n = len(selection.chosen)
    where = f"{shown_name(selection.task_name)}: {counted(selection.n_items, 'item')}"
    of = counted(selection.n_elements, "constraint")
    least = "; the solver found no cheaper ones" if selection.is_minimal else ""
    verdict = f"{n} of them {'is' if n == 1 else 'are'} enough, decided exactly{least}."
    if not selection.teaches:
        shows = "shows" if n == 1 else "show"
        verdict = f"NOT taught: the best {n} {shows} {selection.n_covered} of {of}{least}."
    chosen = []
    for number, item, gain in zip(selection.chosen, selection.items, selection.gains, strict=True):
        what = counted(gain, "new constraint") if gain else "narrows what stays open"
        chosen.append(f"item {number + 1}: {_item_words(task, item)}: {what}")
    called = {number: str(number + 1) for number in range(selection.n_items)}
    wrong = [
        f"item {pair.demonstration + 1}, step {pair.step + 1} is wrong: "
        f"{_pair_words(task, pair, pair.action)}"
        for pair in selection.wrong
    ]
    wrong += [f"item {each.item + 1} is not true: {each.words}" for each in selection.wrong_items]
    missing = tuple(f"still missing: {each.words}" for each in selection.missing)
    facts: tuple[str | Listing, ...] = (
        Listing("", tuple(chosen), 2 * MAX_CHOSEN, "chosen item"),
        *_others("left out by the budget", selection.left_out, called),
        *_others("redundant", selection.redundant, called),
        Listing("", tuple(wrong), MAX_WRONG, "wrong item"),
        Listing("", missing, MAX_MISSING, "missing constraint"),
    )
    return Description(f"{where}: {verdict}", facts)


def _item_words(task: Task | Family, item: Item) -> str:
    if isinstance(item, Demonstration):
        where = _home(task, item.member)
        return f"{pair_words(where, *item[0])}, {counted(len(item), 'step')}"
    return item_words(task, item)


def _verdict(selection: Selection) -> str:
    where = f"{shown_name(selection.task_name)}: {counted(selection.n_items, 'episode')}"
    if selection.wrong:
        where += f", {len(selection.contradicting)} with wrong steps"
    n, of = len(selection.chosen), counted(selection.n_elements, "constraint")
    proof = "" if selection.verdict.arithmetic == "exact" else " Decided in floats, not proved."
    if selection.teaches and n == 0:
        return f"{where}: nothing needs to be shown.{proof}"
    is_whole = not set(selection.chosen) & {c.episode for c in selection.contradicting}
    them = "of them" if is_whole else f"of their right {'segment' if n == 1 else 'segments'}"
    if selection.teaches:
        enough = f"1 {them} is enough" if n == 1 else f"{n} {them} are enough"
        return f"{where}: {enough}.{proof}"
    if n == 0:
        return f"{where}: NOT taught: none of them helps; {of} open.{proof}"
    verb, best = "shows" if n == 1 else "show", "" if is_whole else f" {them}"
    return f"{where}: NOT taught: the best {n}{best} {verb} {selection.n_covered} of {of}.{proof}"


def _chosen(selection: Selection, called: Called) -> Iterator[str]:
    """The chosen episodes, a line each where they are few."""
    lines = list(_chosen_lines(selection, called))
    if len(lines) <= MAX_CHOSEN:
        yield from lines
        return
    cut = ", ..." if len(lines) > MAX_NUMBERS else ""
    first = selection.segments[:MAX_NUMBERS]
    named = ", ".join(called[segment.demonstration] for segment in first)
    gains = ", ".join(str(gain) for gain in selection.gains[:MAX_NUMBERS])
    yield f"chosen ({len(lines)}), in the order to show them: {named}{cut}"
    yield f"new constraints of each: {gains}{cut}"


def _chosen_lines(selection: Selection, called: Called) -> Iterator[str]:
    cut = {c.episode for c in selection.contradicting}
    for segment, gain in zip(selection.segments, selection.gains, strict=True):
        what = counted(gain, "new constraint") if gain else "narrows what stays open"
        where = f"episode {called[segment.demonstration]}"
        if segment.demonstration in cut:
            where += f", {_steps(segment)}"
        yield f"{where}: {what}, {counted(len(segment.shown), 'step')}"


def _steps(segment: Segment) -> str:
    """'step 3', 'steps 3 to 5'; people count from 1."""
    first, n = segment.step + 1, len(segment.shown)
    return f"step {first}" if n == 1 else f"steps {first} to {first + n - 1}"


def _others(what: str, numbers: Sequence[int], called: Called) -> Iterator[str]:
    if numbers:
        cut = ", ..." if len(numbers) > MAX_NUMBERS else ""
        listed = ", ".join(called[number] for number in numbers[:MAX_NUMBERS])
        yield f"{what} ({len(numbers)}): {listed}{cut}"


def _suspects(selection: Selection, called: Called) -> Iterator[str]:
    """The episodes with the largest share of wrong steps, where there are several to compare."""
    share = {c.episode: c.share for c in selection.contradicting}
    if len(share) > 1:
        named = [f"{called[n]} ({share[n]:.0%})" for n in selection.suspects[:MAX_SUSPECTS]]
        cut = ", ..." if len(share) > MAX_SUSPECTS else ""
        yield f"largest share of wrong steps: episodes {', '.join(named)}{cut}"


def _wrong(task: Task | Family, selection: Selection, called: Called) -> Iterator[str]:
    against = {c.episode: c for c in selection.contradicting}
    for step in selection.wrong:
        line = (
            f"episode {called[step.demonstration]}, step {step.step + 1}: "
            f"{_pair_words(task, step, step.action)} is not optimal, "
            f"{action_words(_home(task, step.member), step.better)} is better by {step.gap:.4g}"
        )
        about = against[step.demonstration]
        if about.step == step.step and about.against:
            line += f"; {_who([called[number] for number in about.against])} so too"
        yield line


def _who(numbers: Sequence[str]) -> str:
    """'episode 3 says', 'episodes 3, 4 say'."""
    listed = ", ".join(numbers)
    return f"episode {listed} says" if len(numbers) == 1 else f"episodes {listed} say"


def _home(task: Task | Family, member: int | None) -> Task:
    """The task, or the member of a family that a step is of."""
    return task[member or 0] if isinstance(task, Family) else task


def _pair_words(task: Task | Family, step: WrongPair | Missing, action: int) -> str:
    """A step as people find it, of a family with the name of its member."""
    named = pair_words(_home(task, step.member), step.state, action)
    return f"{named} of {task.names[step.member or 0]}" if isinstance(task, Family) else named


def _missing(task: Task | Family, selection: Selection) -> Iterator[str | Listing]:
    lines = []
    for missing in selection.missing:
        how = "" if missing.reason == "not recorded" else " (in an episode left out)"
        lines.append(f"{_pair_words(task, missing, missing.action)}{how}: {missing.words}")
    if lines:
        title = f"still missing ({len(lines)}):"
        yield Listing(title, tuple(lines), MAX_MISSING, "constraint")
    if selection.verdict.witness is not None:
        yield f"a learner may still lose {selection.verdict.loss:.4g}"
