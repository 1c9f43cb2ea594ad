"""What is found over several tasks or bounds, in words: frontiers, transfers, difficulty."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from didact.inputs import counted, shown_name
from didact.mdp import Family, Task
from didact.report.words import Description, Listing
from didact.teaching import Difficulty, Frontier, Transfer

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
