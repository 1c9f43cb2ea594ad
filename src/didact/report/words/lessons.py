"""Lessons and verdicts in words: whether a lesson teaches, what it costs, what stays open.

Of a task, of a family (whose step it is), and of a mix of feedback; frontiers and transfers too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from didact.bec.halfspaces import scope_states
from didact.inputs import counted, shown_name
from didact.mdp import Demonstration, Family, Task
from didact.mdp.model import deciding_states
from didact.mdp.naming import action_words, pair_words, state_words, step_words
from didact.teaching import Frontier, Lesson, Transfer, Verdict
from didact.teaching.check import AIMING, SuggestedStarts
from didact.teaching.feedback.halfspaces import WrongPair
from didact.teaching.lesson import FEWEST, Within
from didact.teaching.loss.search import Worst

_LEARNERS = {"half-spaces": "learners of half-spaces", "planner": "learners that plan"}

MOST_NAMED = 3
"""States that a line names."""
MOST_WRONG = 12
"""Wrong steps that are told one by one."""


def lesson_line(task: Task, lesson: Lesson, verified: str | None) -> str:
    """The verdict in one line."""
    n_going = int(deciding_states(task.mdp).sum())
    starts = counted(n_starts(task, lesson), "start")
    where = f"{shown_name(task.name)}: {counted(n_going, 'situation')}, {starts}"
    end = " Proof verified." if verified else " Numerical, not proved."
    n = len(lesson.demonstrations)
    if lesson.within is not None:
        return f"{where}: {within_words(lesson, lesson.within)}"
    if lesson.is_complete and n == 0:
        return f"{where}: nothing needs to be shown.{end}"
    if lesson.is_complete:
        number = "ONE" if n == 1 else str(n)
        return f"{where}: {number} {_kind(lesson)} {_are(n)} enough.{end}"
    if lesson.status == "undecided" and not lesson.uncovered:
        shown = "nothing needs to be shown" if n == 0 else f"{n} {_kind(lesson)} {_are(n)} enough"
        return f"{where}: {shown} {close_calls(lesson.n_close_calls)}.{end}"
    total = lesson.n_facets + lesson.n_equalities
    what = "no demonstration helps:" if n == 0 else f"{n} {_kind(lesson)} {_left(n)}"
    left = f"{len(lesson.uncovered)} of {counted(total, 'constraint')}"
    up_to = f", {close_calls(lesson.n_close_calls)}" if lesson.n_close_calls else ""
    return f"{where}: NOT taught: {what} {left} open{up_to}.{end}"


def within_words(lesson: Lesson, within: Within) -> str:
    """Whether a lesson keeps to its bound on the loss, and how that is known."""
    n = len(lesson.demonstrations)
    shown = f"{n} {_kind(lesson)} {_are(n)} enough" if n else "nothing needs to be shown"
    at_most = f"to lose at most {_lost(lesson, within, within.bound)}"
    if within.status == "exceeded":
        after = f"after {n} {_kind(lesson)} learners lose more"
        told = f"{100 * within.share:.3g}%"
        bound = _lost(lesson, within, within.bound) if lesson.is_of_family else told
        return f"NOT within {bound}: {after}."
    if within.status == "enumerated":
        return f"{shown} {at_most}. Every class of policies that fits was visited."
    tested = [learner for learner, status in within.statuses.items() if status == "tested"]
    whose = " and ".join(_LEARNERS[learner] for learner in tested)
    return f"{shown} {at_most}. ONLY TESTED for {whose}."


def _lost(lesson: Lesson, within: Within, amount: float) -> str:
    """A loss as a share and as an amount; in a family as the one that was asked for."""
    share = 100 * amount / within.spread if within.spread else 0.0
    if not lesson.is_of_family:
        return f"{share:.3g}% ({amount:.4g})"
    is_share = str(lesson.settings.get("loss", "")).strip().endswith("%")
    return f"{share:.3g}% in any member" if is_share else f"{amount:.4g} in any member"


def within_lines(lesson: Lesson, within: Within) -> Iterator[str]:
    """What a bound on the loss rests on."""
    for learner, status in within.statuses.items():
        yield f"{_LEARNERS[learner]}: {status}"
    if within.worst is not None and within.status != "exceeded":
        yield f"the most that half-space learners lose: {_lost(lesson, within, within.worst)}"
    whose = "the member's own " if lesson.is_of_family else ""
    yield f"percentages are of {whose}V* less V of the uniformly random policy"
    yield (
        f"cost {lesson.cost}; at least {within.lower_bound} is needed to rule out "
        + counted(len(within.witnesses), "reward")
    )


def cost_words(lesson: Lesson, *, fewest: bool) -> str:
    """What a complete lesson costs, and what every lesson costs at least.

    fewest: whether the checker said so of this lesson in this run.
    """
    cost, bound = number_words(lesson.cost), lesson.lower_bound
    if fewest:
        return f"cost {cost}, proved fewest: no lesson of allowed demonstrations costs less"
    if bound is not None and lesson.proof is not None and "fewest" in lesson.proof:
        return f"cost {cost}; every allowed lesson costs at least {number_words(bound)}"
    among = "" if lesson.candidates == "all" else f", found among candidates ({lesson.candidates})"
    least = "" if bound is None else f"; at least {number_words(bound)}, not checked"
    return f"cost {cost}{among}{least}"


def number_words(value: Any) -> str:
    """A cost or bound: whole numbers in full, others to four digits."""
    return str(value) if isinstance(value, int) else f"{float(value):.4g}"


def probability_words(lesson: Lesson) -> str | None:
    """How likely the demonstrations are to be seen; None where all of them are certain."""
    chances = lesson.probabilities
    if not chances or min(chances) == 1:
        return None
    listed = ", ".join(f"{float(chance):.2g}" for chance in chances[:8])
    more = "" if len(chances) <= 8 else ", ..."
    least = lesson.settings.get("min_probability", 0)
    allowed = f"at least {least} allowed" if least else "any is allowed"
    return f"probability of each demonstration, given its start: {listed}{more} ({allowed})"


def cost_lines(costs: Sequence[Worst], names: Sequence[str] | None = None) -> Iterator[str]:
    """What demonstrations may still cost each kind of learner, and whether that is certain.

    names: of the members, for a family.
    """
    for worst in costs:
        certain = worst.status == "enumerated"
        how = "lose at most" if certain else "may lose"
        end = "every class of policies that fits was visited" if certain else "found by search"
        where = f" ({worst.loss:.4g})"
        if names is not None:
            where = "" if worst.member is None else f" in {shown_name(names[worst.member])}"
        yield f"{_LEARNERS[worst.learner]} {how} {100 * worst.share:.3g}%{where}: {end}"


def frontier_lines(task: Task | Family, found: Frontier) -> Iterator[str]:
    """A frontier, a bar for each bound on the loss."""
    yield f"{shown_name(task.name)}: what more demonstrations are worth"
    most = max(len(point.lesson.demonstrations) for point in found.points)
    for point in found.points:
        n = len(point.lesson.demonstrations)
        bar = "#" * max(1, round(40 * n / max(most, 1))) if n else ""
        bound = point.lesson.lower_bound
        known = point.status
        if bound is not None:
            known += f", at least {float(bound):.3g}"
        label = "exact" if point.loss is None else f"within {point.loss}"
        mean = 100 * point.mean / point.spread if point.spread else 0.0
        yield f"  {label:>13} {n:4} {bar:<40} {known}; mean {mean:.2g}%"
    yield "  percentages are of V* less V of the uniformly random policy; tested is not proved"
    yield "  mean: over rewards drawn evenly among the directions that fit, an estimate"


def suggested_starts_lines(
    task: Task, lesson: Lesson, found: SuggestedStarts | None
) -> Iterator[str]:
    """How a lesson that is not complete becomes so: where else to begin, as checked."""
    if found is None:
        yield "way out: none; no further starts complete it"
        return
    n = len(found.lesson.demonstrations)
    size = f"{counted(n, 'demonstration')} {'teaches' if n == 1 else 'teach'} it, checked"
    if not found.added:
        limits = [name for name in ("budget", "rollouts") if lesson.settings.get(name) is not None]
        own = lesson.settings.get("teacher")
        limits += [] if own in AIMING else [f"teacher {own}"]
        yield f"way out: without --{' and --'.join(limits) or 'sampling'}, {size}"
        return
    scope = scope_states(task.mdp, lesson.settings.get("scope", "reachable"))
    every = len(found.starts) == int(scope.sum())
    yield f"way out: begin also in {_listed(task, found.added)}"
    yield f"  --starts {'all' if every else ','.join(map(str, found.starts))}: {size}"


def further_line(task: Task, found: SuggestedStarts) -> str:
    """Which further demonstrations complete what was shown, as checked."""
    n = len(found.lesson.demonstrations)
    where = _listed(task, found.starts)
    begin = f"{counted(n, 'more demonstration')} that {'begins' if n == 1 else 'begin'} in {where}"
    return f"way out: with {begin}, they teach it, checked"


def _listed(task: Task, states: Sequence[int]) -> str:
    """The first states in words, and how many more there are."""
    where = "; ".join(state_words(task, state) for state in states[:MOST_NAMED])
    more = len(states) - MOST_NAMED
    return where if more <= 0 else f"{where} and {counted(more, 'other state')}"


def n_starts(task: Task, lesson: Lesson) -> int:
    """In how many states demonstrations may begin."""
    given = lesson.settings.get("starts")
    own = (task.mdp.start.floats > 0) & ~task.mdp.terminal
    return int(own.sum()) if given is None else len(given)


def _kind(lesson: Lesson) -> str:
    n = len(lesson.demonstrations)
    longest = max((len(d) for d in lesson.demonstrations), default=1)
    if longest == 1:
        return "single step" if n == 1 else "single steps"
    if n == 1:
        return f"demonstration of {counted(longest, 'step')}"
    return f"demonstrations of {counted(lesson.n_pairs, 'step')} in all"


def _are(n: int) -> str:
    return "is" if n == 1 else "are"


def _left(n: int) -> str:
    return "leaves" if n == 1 else "leave"


def close_calls(n: int) -> str:
    """What stands between a lesson in floats and a verdict."""
    return f"up to {counted(n, 'close call')} that floats cannot decide"


def closed_words(closed: bool) -> str:
    """Whom a lesson speaks to."""
    if closed:
        return "closed: learners that plan for themselves learn it too"
    return "not closed: it speaks to learners that go on as the teacher"


def hardest_words(hardest: Any) -> str:
    """The smallest difference in return that one must see to answer."""
    return f"the hardest question is a difference of {float(hardest):.4g} in return"


def mixed_lesson_lines(lesson: Lesson, verified: str | None = None) -> Iterator[str]:
    """The cheapest mix of feedback: what to show and say, what it costs, what stays open."""
    items = counted(len(lesson.items), "item")
    are = "is" if len(lesson.items) == 1 else "are"
    told = f"{items} {are} enough" if lesson.is_complete else f"NOT taught by {items}"
    end = " Proof verified." if verified else ""
    yield f"{shown_name(lesson.task_name)}: {told}, decided exactly.{end}"
    for number, words in enumerate(lesson.words, start=1):
        yield f"  {number}. {words}"
        yield f"     {lesson.why(number - 1)}"
    cost, bound = number_words(lesson.cost), number_words(lesson.lower_bound or 0)
    if FEWEST in (verified or ""):
        yield f"  cost {cost}, proved fewest: no lesson of allowed items costs less"
    elif lesson.is_complete:
        told = "every lesson of allowed items costs" if verified else "not checked:"
        yield f"  cost {cost}; {told} at least {bound}"
    else:
        yield f"  cost {cost}"
    if lesson.hardest is not None:
        yield f"  {hardest_words(lesson.hardest)}"
    for missing in lesson.uncovered:
        yield f"  open: {missing.words}"


def item_verdict_lines(task: Task, verdict: Verdict, n: int, verified: str | None) -> Iterator[str]:
    """What `check` says of a mix of demonstrations and other feedback."""
    name = f"{shown_name(task.name)}: {counted(n, 'item')}"
    n_wrong = len(verdict.wrong) + len(verdict.wrong_items)
    name += f", {n_wrong} of them wrong: the right ones alone" if n_wrong else ""
    one = n == 1 and not n_wrong
    told = ("teaches" if one else "teach") if verdict.right_teaches else "does NOT teach"
    told = "do NOT teach" if not (one or verdict.right_teaches) else told
    end = " Proof verified." if verified else ""
    yield f"{name} {told} it, decided exactly.{end}"
    for wrong in verdict.wrong_items[:MOST_WRONG]:
        yield f"item {wrong.item + 1} is not true: {wrong.words}, which is worse by {wrong.gap:.4g}"
    for pair in verdict.wrong[:MOST_WRONG]:
        yield from _wrong_lines(task, pair)
    if verdict.hardest is not None:
        yield hardest_words(verdict.hardest)
    if verdict.missing is not None and verdict.witness is not None:
        yield f"open: {verdict.missing_words}"
        yield witness_line(task, verdict.witness, verdict.loss, bool(n_wrong))


def verdict_lines(task: Task, verdict: Verdict, n: int, verified: str | None) -> list[str]:
    """What `check` says to people."""
    if verdict.hardest is not None or verdict.wrong_items:
        return list(item_verdict_lines(task, verdict, n, verified))
    end = " Proof verified." if verified else ""
    name = f"{shown_name(task.name)}: {counted(n, 'demonstration')}"
    if verdict.teaches:
        lines = [f"{name} {'teaches' if n == 1 else 'teach'} it.{end}"]
        return [*lines, closed_words(verdict.closed)]
    if verdict.wrong:
        name += f", {counted(len(verdict.wrong), 'wrong step')} of {verdict.n_steps}: the right"
        name, n = f"{name} steps alone", 2
    up_to = f" {close_calls(verdict.n_close_calls)}" if verdict.n_close_calls else ""
    if verdict.missing is None:
        lines = [f"{name} {'teaches' if n == 1 else 'teach'} it{up_to}.{end}"]
    else:
        lines = [f"{name} {'does' if n == 1 else 'do'} NOT teach it.{end}"]
    for pair in verdict.wrong[:MOST_WRONG]:
        lines += _wrong_lines(task, pair)
    if len(verdict.wrong) > MOST_WRONG:
        lines.append(f"({counted(len(verdict.wrong) - MOST_WRONG, 'more wrong step')})")
    if verdict.right_teaches:
        lines.append(closed_words(verdict.closed))
    if verdict.missing is not None and verdict.witness is not None:
        lines.append(
            f"open: {statement_words(task, *verdict.missing)}: {verdict.missing_words} "
            f"({verdict.n_open} of {verdict.n_facets + verdict.n_equalities} constraints)"
        )
        lines.append(witness_line(task, verdict.witness, verdict.loss, bool(verdict.wrong)))
    return lines


def _wrong_lines(task: Task, pair: WrongPair) -> Iterator[str]:
    yield (
        f"{step_words(pair.demonstration, pair.step)}: "
        f"{pair_words(task, pair.state, pair.action)} is not optimal, "
        f"{action_words(task, pair.better)} is better by {pair.gap:.3g}"
    )
    if pair.contradicted_by:
        others = ", ".join(pair_words(task, s, a) for s, a in pair.contradicted_by)
        yield f"    it contradicts what is shown elsewhere: {others}"


def between(low: int | None, high: int | None) -> str:
    """'3' when proved, '2..3' between bounds, '3+' when more would be needed than can be shown."""
    if high is None:
        return "-"
    if low is None:
        return f"{high}+"
    return f"{high}" if low == high else f"{low}..{high}"


def statement_words(task: Task, state: int, action: int, other: int) -> str:
    """An action against another in a state, by their names."""
    against = action_words(task, other)
    return f"{action_words(task, action)} against {against} in {state_words(task, state)}"


def witness_line(
    task: Task,
    witness: Sequence[Any],
    loss: float | None,
    only_right: bool = False,
    error: float = 0.0,
) -> str:
    """Weights that fit what was shown, or the right steps of it, and are wrong; with the loss.

    error: how far the loss can be from the true one, where that is worth telling.
    """
    named = ", ".join(
        f"{shown_name(task.mdp.feature_name(i))} {float(w):.3g}" for i, w in enumerate(witness)
    )
    cost = "" if loss is None else f"; a learner that believes them loses up to {loss:.3g}"
    cost += f" (error at most {error:.1g})" if cost and error else ""
    fit = "the right steps" if only_right else "all of it"
    return f"weights that fit {fit} and are wrong: {named}{cost}"


MOST_LISTED, MOST_STEPS = 30, 8
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
    for number, demonstration in enumerate(lesson.demonstrations[:MOST_LISTED]):
        member = demonstration.member or 0
        steps = steps_in_words(family[member], demonstration)
        yield f"  {number + 1:3}. {shown_name(family.names[member])}: {steps}"
    if n > MOST_LISTED:
        yield f"       (and {n - MOST_LISTED} more)"
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
    for gap in lesson.uncovered[:MOST_LISTED]:
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
    for item in verdict.wrong_items[:MOST_LISTED]:
        yield f"item {item.item + 1} is not true: {item.words}, which is worse by {item.gap:.4g}"
    for wrong in verdict.wrong[:MOST_LISTED]:
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


MOST_WORLDS = 20
"""Open worlds that are written out."""


def transfer_lines(found: Transfer) -> Iterator[str]:
    """What `transfer` says to people: the share, the open worlds, the curve."""
    n = len(found.worlds)
    of = f"{found.n_determined} of {counted(n, 'unseen world')}"
    how = "proved" if found.arithmetic == "exact" else "numerical, not proved"
    verb = "is" if found.n_determined == 1 else "are"
    yield f"{shown_name(found.lesson_name)}: {of} {verb} determined completely ({how})."
    if found.interval is not None:
        low, high = (f"{100 * end:.1f}%" for end in found.interval)
        yield f"  of all such worlds between {low} and {high}, with 95% confidence"
    still_open = [world for world in found.worlds if not world.determined]
    for world in still_open[:MOST_WORLDS]:
        loss = f"{world.loss:.3g}" if world.loss is not None else "?"
        yield f"  open: {shown_name(world.name)}: a learner may lose {loss}: {world.words}"
    if len(still_open) > MOST_WORLDS:
        yield f"  (and {counted(len(still_open) - MOST_WORLDS, 'more open world')})"
    yield from transfer_curve_lines(found)


def transfer_curve_lines(found: Transfer) -> Iterator[str]:
    """The curve, a line for each number of members."""
    for point in found.curve:
        reach = (
            ""
            if point.low is None
            else f" ({100 * point.low:.0f} to {100 * (point.high or 0):.0f}%)"
        )
        yield f"  {counted(point.n_members, 'member')} taught: {100 * point.share:.0f}%{reach}"
