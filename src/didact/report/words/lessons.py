"""Lessons in words: whether a lesson teaches, what it costs, what it assumes, what stays open.

One description of all of them: of a task, of a family (whose step it is), and of a mix of feedback.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from didact.bec.classes import EquivalenceClass
from didact.bec.halfspaces import scope_states
from didact.inputs import counted, shown_name
from didact.mdp import Demonstration, Family, Task
from didact.mdp.model import deciding_states
from didact.mdp.naming import action_words, pair_words, state_words
from didact.report.words import Description, Listing
from didact.teaching import Lesson
from didact.teaching.check import SuggestedStarts
from didact.teaching.identify import direction_words
from didact.teaching.lesson import FEWEST, Missing, Within
from didact.teaching.teachers import COVERING

LEARNERS = {"half-spaces": "learners of half-spaces", "planner": "learners that plan"}

MAX_NAMED = 3
"""States that a line names, and steps of a demonstration."""
MAX_SHOWN, MAX_OPEN = 4, 2
"""Demonstrations that are written out, and open constraints, unless all are asked for."""
MAX_ITEMS = 7
"""Short lines of a list unless all are asked for."""
MAX_STARTS = 60
"""Signs of a list of start states that fits a line."""


def lesson_line(task: Task | Family, lesson: Lesson, verified: str | None) -> str:
    """The verdict in one line, and whether it is proved."""
    verdict = verdict_sentence(task, lesson)
    return verdict if lesson.within is not None else f"{verdict} {evidence_words(verified)}."


def invisible_sentences(bec: EquivalenceClass) -> Iterator[str]:
    """What no behaviour shows of the weights, and where to read on; nothing where all shows."""
    mdp, unknown = bec.members[0].task.mdp, bec.cone.unidentifiable
    if not len(unknown):
        return
    first = ""
    if bec.rows.exact is not None:
        first = f" {direction_words(mdp, tuple(int(x) for x in unknown[0]))}"
    yield (
        f"{counted(len(unknown), 'direction')} of the {mdp.n_features} weights cannot be "
        f"learned from any behaviour, and need not be.{first} "
        f"didact identify finds the cheapest change of {'a' if bec.is_family else 'the'} world "
        f"that reveals {'it' if len(unknown) == 1 else 'them'}."
    )


def verdict_sentence(task: Task | Family, lesson: Lesson) -> str:
    """Whether the lesson is enough."""
    name = shown_name(task.name)
    if isinstance(task, Task):
        return f"{name}: {_verdict_words(lesson)}."
    used = len({demonstration.member for demonstration in lesson.demonstrations})
    shown = f"{amount_words(lesson)} in {used} of {counted(len(task), 'member')}"
    told = status_words(lesson) if lesson.within is None else within_words(lesson, lesson.within)
    return f"{name}: {shown}: {told}."


def evidence_words(verified: str | None) -> str:
    """Whether the independent checker accepted a proof."""
    return "Proof verified" if verified else "Decided in floats, not proved"


def _verdict_words(lesson: Lesson) -> str:
    n = len(lesson.demonstrations)
    if lesson.within is not None:
        return within_words(lesson, lesson.within)
    if lesson.is_complete:
        return _enough(lesson)
    if lesson.status == "undecided" and not lesson.uncovered:
        return f"{_enough(lesson)} {close_calls(lesson.n_close_calls)}"
    total = lesson.n_facets + lesson.n_equalities
    leaves = "leaves" if n == 1 else "leave"
    what = f"{amount_words(lesson)} {leaves}" if n else "no demonstration helps:"
    left = f"{len(lesson.uncovered)} of {counted(total, 'constraint')} open"
    up_to = f", {close_calls(lesson.n_close_calls)}" if lesson.n_close_calls else ""
    return f"NOT taught: {what} {left}{up_to}"


def _enough(lesson: Lesson) -> str:
    n = len(lesson.demonstrations)
    if n == 0:
        return "nothing needs to be shown"
    return f"{amount_words(lesson)} {'is' if n == 1 else 'are'} enough"


def amount_words(lesson: Lesson) -> str:
    """'3 demonstrations (14 state-action pairs)', or pairs alone where each is a demonstration."""
    n = len(lesson.demonstrations)
    if n and lesson.n_pairs == n:
        return counted(n, "state-action pair")
    shown = counted(n, "demonstration")
    return f"{shown} ({counted(lesson.n_pairs, 'state-action pair')})" if n else shown


def within_words(lesson: Lesson, within: Within) -> str:
    """Whether a lesson keeps to its bound on the loss, and how that is known."""
    bound = _lost(lesson, within, within.bound)
    if within.status == "exceeded":
        return f"NOT within {bound}: after {amount_words(lesson)} learners lose more"
    enough = f"{_enough(lesson)} to lose at most {bound}"
    if within.status == "enumerated":
        return enough
    return f"{enough}; ONLY TESTED"


def _lost(lesson: Lesson, within: Within, amount: float) -> str:
    """A loss as a share and as an amount; in a family as the one that was asked for."""
    share = 100 * amount / within.spread if within.spread else 0.0
    if not lesson.is_of_family:
        return f"{share:.3g}% ({amount:.4g})"
    is_share = str(lesson.settings.get("loss", "")).strip().endswith("%")
    return f"{share:.3g}% in any member" if is_share else f"{amount:.4g} in any member"


def _within_facts(lesson: Lesson, within: Within) -> Iterator[str]:
    """What a bound on the loss rests on."""
    told = {
        "enumerated": "every class of policies that fits was visited",
        "tested": "a search found no larger loss",
        "exceeded": "a reward that fits loses more",
    }
    for status in dict.fromkeys(within.statuses.values()):
        learners = [LEARNERS[learner] for learner, s in within.statuses.items() if s == status]
        yield f"{' and '.join(learners)}: {told[status]}"
    if within.worst is not None and within.status != "exceeded":
        yield f"the most that half-space learners lose: {_lost(lesson, within, within.worst)}"
    whose = "the member's own " if lesson.is_of_family else ""
    yield f"percentages are of {whose}V* less V of the uniformly random policy"
    ruled_out = counted(len(within.witnesses), "reward")
    yield (
        f"cost: {_price(lesson, lesson.cost)}; lower bound: {number_words(within.lower_bound)}, "
        f"which it takes to rule out {ruled_out}"
    )


def cost_words(lesson: Lesson, *, fewest: bool) -> str:
    """What a complete lesson costs; fewest: whether the checker said so of it in this run."""
    among = "" if lesson.candidates == "all" else f", found among candidates ({lesson.candidates})"
    end = ", proved fewest" if fewest else among
    return f"cost: {_price(lesson, lesson.cost)}{end}"


def bound_words(lesson: Lesson, *, fewest: bool) -> str | None:
    """What every allowed lesson costs at least, and whether that is proved."""
    bound = lesson.lower_bound
    if bound is None:
        return None
    if fewest:
        return f"lower bound: {number_words(bound)}: no lesson of allowed demonstrations costs less"
    if lesson.proof is not None and "fewest" in lesson.proof:
        return f"lower bound: {number_words(bound)}, proved for every allowed lesson"
    return f"lower bound: {number_words(bound)}, not checked"


_UNITS = {"demonstrations": "demonstration", "pairs": "state-action pair", "attempts": "attempt"}


def _price(lesson: Lesson, value: Any) -> str:
    """A cost with what it counts."""
    unit = _UNITS.get(str(lesson.settings.get("cost", "demonstrations")))
    if unit is None or lesson.is_mixed or not isinstance(value, int):
        return number_words(value)
    return counted(value, unit)


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


def closed_words(closed: bool) -> str:
    """What a lesson assumes of the learner."""
    if closed:
        return "closed: it also holds for learners that plan for themselves"
    return "assumes the learner follows the teacher's policy afterwards (see --closed)"


def hardest_words(hardest: Any) -> str:
    """The smallest difference in return that the lesson relies on."""
    return f"smallest Q-value gap it relies on: {float(hardest):.4g}"


def close_calls(n: int) -> str:
    """What stands between a lesson in floats and a verdict."""
    return f"up to {counted(n, 'close call')} that floats cannot decide"


def status_words(lesson: Lesson) -> str:
    """Whether a lesson for a family is enough."""
    if lesson.is_complete:
        return "enough for all of them"
    if lesson.status == "undecided" and not lesson.uncovered:
        return f"enough {close_calls(lesson.n_close_calls)}"
    total = lesson.n_facets + lesson.n_equalities
    up_to = f", {close_calls(lesson.n_close_calls)}" if lesson.n_close_calls else ""
    return f"NOT taught, {len(lesson.uncovered)} of {counted(total, 'constraint')} open{up_to}"


def statement_words(task: Task, state: int, action: int, other: int) -> str:
    """An action against another in a state, by their names."""
    against = action_words(task, other)
    return f"{action_words(task, action)} against {against} in {state_words(task, state)}"


def steps_in_words(task: Task, demonstration: Demonstration, most: int = MAX_NAMED) -> str:
    """'right in row 2, column 3, then up in row 2, column 4'."""
    steps = [pair_words(task, s, a) for s, a in demonstration.pairs[:most]]
    more = len(demonstration) - len(steps)
    return ", then ".join(steps) + (f" (and {counted(more, 'more step')})" if more else "")


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


# The description of a lesson


def describe_lesson(
    task: Task | Family, lesson: Lesson, verified: str | None, *, drawn: bool = False
) -> Description:
    """A lesson of demonstrations for a task or a family.

    verified: what the checker said of its proof. drawn: the demonstrations are on a picture, so
    that only the details write them out.
    """
    steps = Listing("", tuple(_numbered(task, lesson, MAX_NAMED)), MAX_SHOWN, "demonstration")
    evidence = [] if lesson.within is not None else [evidence_words(verified)]
    told = evidence
    if isinstance(task, Task):
        n_deciding = counted(int(deciding_states(task.mdp).sum()), "non-terminal reachable state")
        told += [f"{n_deciding}, {counted(n_starts(task, lesson), 'start state')}"]
    facts: list[str | Listing] = [f"{'; '.join(told)}."] if told else []
    facts += [] if drawn else [steps]
    if lesson.within is None:
        facts += _known_facts(lesson, verified)
    else:
        facts += _within_facts(lesson, lesson.within)
    if lesson.hardest is not None:
        facts.append(hardest_words(lesson.hardest))
    likely = probability_words(lesson)
    facts += [] if likely is None else [likely]
    facts += _open_facts(task, lesson) if lesson.within is None else []
    details = tuple(_details(task, lesson, verified))
    more = "all steps, half-spaces, the checker's words"
    return Description(verdict_sentence(task, lesson), tuple(facts), details, more)


def n_starts(task: Task, lesson: Lesson) -> int:
    """In how many states demonstrations may begin."""
    given = lesson.settings.get("starts")
    own = (task.mdp.start.floats > 0) & ~task.mdp.terminal
    return int(own.sum()) if given is None else len(given)


def _known_facts(lesson: Lesson, verified: str | None) -> Iterator[str]:
    if lesson.is_complete and lesson.demonstrations:
        fewest = lesson.is_fewest if verified is None else FEWEST in verified
        yield cost_words(lesson, fewest=fewest)
        bound = bound_words(lesson, fewest=fewest)
        if bound is not None:
            yield bound
    if lesson.n_close_calls:
        yield "exact arithmetic decides what floats cannot: arithmetic='exact'"
    if lesson.is_complete:
        yield closed_words(lesson.closed)
    if lesson.volumes is not None:
        yield "volume left by step: " + " ".join(f"{volume:.2g}" for volume in lesson.volumes)


def _open_facts(task: Task | Family, lesson: Lesson) -> Iterator[str | Listing]:
    if lesson.is_complete:
        return
    told = (f"open: {_place(task, missing)} ({missing.reason})" for missing in lesson.uncovered)
    yield Listing("", tuple(told), MAX_OPEN, "open constraint")
    if lesson.witness is not None:
        error = f" (error at most {lesson.loss_error:.1g})" if lesson.is_loss_vague else ""
        yield f"a learner that fits all of it may lose {lesson.loss:.3g}{error}"


def _place(task: Task | Family, missing: Missing) -> str:
    """An open constraint: one action against another, and in a family whose."""
    where = (missing.state, missing.action, missing.other)
    if isinstance(task, Task):
        return statement_words(task, *where)
    member = missing.member or 0
    return f"{shown_name(task.names[member])}: {statement_words(task[member], *where)}"


def _numbered(task: Task | Family, lesson: Lesson, most: int) -> Iterator[str]:
    """The demonstrations, each with its number and in a family its member."""
    for number, demonstration in enumerate(lesson.demonstrations, start=1):
        where, named = task, ""
        if isinstance(task, Family):
            member = demonstration.member or 0
            where, named = task[member], f"{shown_name(task.names[member])}: "
        assert isinstance(where, Task)
        yield f"{number}. {named}{steps_in_words(where, demonstration, most)}"


def _details(task: Task | Family, lesson: Lesson, verified: str | None) -> Iterator[str | Listing]:
    longest = max((len(each) for each in lesson.demonstrations), default=0)
    steps = tuple(_numbered(task, lesson, longest))
    yield Listing("demonstrations:", steps, len(steps))
    if lesson.within is None and lesson.facets:
        told = tuple(
            f"{'open' if f['covered_by'] is None else f['covered_by'] + 1}: {f['words']}"
            for f in lesson.facets
        )
        yield Listing("half-spaces, by the demonstration that states each first:", told, len(told))
    if isinstance(task, Task) and lesson.within is None and lesson.witness is not None:
        error = lesson.loss_error if lesson.is_loss_vague else 0.0
        yield witness_line(task, lesson.witness, lesson.loss, error=error)
    if verified and lesson.within is None:
        yield f"checker: {verified}"


def suggested_starts_lines(
    task: Task, lesson: Lesson, found: SuggestedStarts | None
) -> Iterator[str]:
    """How a lesson that is not complete becomes so: where else to begin, as checked."""
    if found is None:
        yield "no further start states complete it"
        return
    n = len(found.lesson.demonstrations)
    size = f"{counted(n, 'demonstration')} {'teaches' if n == 1 else 'teach'} it, checked"
    if not found.added:
        limits = [name for name in ("budget", "rollouts") if lesson.settings.get(name) is not None]
        own = lesson.settings.get("teacher")
        limits += [] if own in COVERING else [f"teacher {own}"]
        yield f"without --{' and --'.join(limits) or 'sampling'}, {size}"
        return
    every = len(found.starts) == int(
        scope_states(task.mdp, lesson.settings.get("scope", "reachable")).sum()
    )
    starts = "all" if every else ",".join(map(str, found.starts))
    yield f"to complete it, begin also in {listed_states(task, found.added)}"
    if len(starts) <= MAX_STARTS:
        yield f"  --starts {starts}: {size}"
    else:
        yield f"  from these {len(found.starts)} start states (--json lists them) {size}"


def listed_states(task: Task, states: Sequence[int]) -> str:
    """The first states in words, and how many more there are."""
    where = "; ".join(state_words(task, state) for state in states[:MAX_NAMED])
    more = len(states) - MAX_NAMED
    return where if more <= 0 else f"{where} and {counted(more, 'other state')}"


# A mix of feedback


def mixed_line(lesson: Lesson) -> str:
    """Whether a mix of feedback is enough."""
    items = counted(len(lesson.items), "item")
    are = "is" if len(lesson.items) == 1 else "are"
    told = f"{items} {are} enough" if lesson.is_complete else f"NOT taught by {items}"
    return f"{shown_name(lesson.task_name)}: {told}, decided exactly."


def describe_mix(task: Task | Family, lesson: Lesson, verified: str | None) -> Description:
    """The cheapest mix of feedback: what to show and say, what it costs, what stays open."""
    items = tuple(f"{i + 1}. {_item_in_words(task, lesson, i)}" for i in range(len(lesson.items)))
    facts: list[str | Listing] = [f"{evidence_words(verified)}."] if verified else []
    facts += [Listing("", items, MAX_ITEMS, "item")]
    fewest = FEWEST in (verified or "")
    facts.append(f"cost: {number_words(lesson.cost)}{', proved fewest' if fewest else ''}")
    if lesson.is_complete:
        bound = number_words(lesson.lower_bound or 0)
        how = ": no lesson of allowed items costs less" if fewest else ", proved"
        facts.append(f"lower bound: {bound}{how if verified else ', not checked'}")
    if lesson.hardest is not None:
        facts.append(hardest_words(lesson.hardest))
    left = tuple(f"open: {missing.words}" for missing in lesson.uncovered)
    facts.append(Listing("", left, MAX_OPEN, "open constraint"))
    told = (f"{i + 1}. {words}. {lesson.why(i)}" for i, words in enumerate(lesson.words))
    whole = (Listing("items, and what each says:", tuple(told), len(lesson.words)),)
    return Description(mixed_line(lesson), tuple(facts), whole, "what each item says")


def _item_in_words(task: Task | Family, lesson: Lesson, number: int) -> str:
    """An item of a mix; the first steps of a demonstration."""
    item = lesson.items[number]
    if not isinstance(item, Demonstration):
        return lesson.words[number]
    if isinstance(task, Task):
        return steps_in_words(task, item)
    member = item.member or 0
    return f"{shown_name(task.names[member])}: {steps_in_words(task[member], item)}"
