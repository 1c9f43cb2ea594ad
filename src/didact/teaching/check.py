"""Do given demonstrations teach a task? Any demonstrations, also ones that people recorded.

They teach it where every half-space of the BEC follows from those that they state (Corollary 1);
else there is a witness, a reward that fits all of them and is wrong. Both answers come with a proof
in exact arithmetic (see `witness` and `bec.proofs`).

People err. What is wrong is named with its cost, and the segments of right steps that stay are
judged as demonstrations of their own. Other items are judged by the half-spaces that they state:
see `feedback.halfspaces`.

`suggested_starts` says where else demonstrations would have to begin to complete a lesson. What
stays open is stated by some pair of a state and an action, so a demonstration that begins in that
state shows it. A start is worth all that demonstrations from it can show. Starts are taken by the
greedy cover, those that turn out to be needless are dropped again, and the lesson from them is made
and checked before it is promised.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from operator import or_
from typing import Any

import numpy as np

from didact.bec.classes import (
    EquivalenceClass,
    class_of,
    equivalence_class,
    require_class,
    require_shown_in_scope,
)
from didact.bec.halfspaces import Scope, scope_states
from didact.inputs import counted, explains_names
from didact.mdp import (
    Demonstration,
    Family,
    Task,
    as_task,
)
from didact.mdp.items import Item
from didact.mdp.recordings.formats import given_feedback
from didact.mdp.showing import in_notebook
from didact.numerics.texts import number_text, number_texts
from didact.planning.solve import Arithmetic
from didact.teaching.covers.candidates import Starts, as_horizon, as_starts
from didact.teaching.covers.problem import Elements, cover_elements, coverage_from
from didact.teaching.covers.set_cover import greedy_cover
from didact.teaching.feedback.halfspaces import (
    Segment,
    WrongItem,
    WrongPair,
    judge_items,
    mixed_proof,
    right_segments,
    wrong_steps,
)
from didact.teaching.lesson import Lesson
from didact.teaching.teach import teach
from didact.teaching.teachers import COVERING
from didact.teaching.trim import all_closed
from didact.teaching.witness import judge
from didact.worlds.opening import named_world


@dataclass(frozen=True, eq=False)
class Verdict:
    """Whether demonstrations teach a task. Where steps are wrong, all else is about the right ones.

    teaches: they show optimal actions only and pin the class down.
    right_teaches: the right steps alone pin the class down; the same where no step is wrong.
    wrong: the steps shown that are not optimal, with what each costs (`gap`, `exact_gap`).
    segments: the right steps, as demonstrations between the wrong ones (`demonstration`, `step` of
        the first, `shown`).
    witness: weights that fit what was shown rightly and are wrong; None where that teaches.
    loss: the worst loss of a learner that takes the witness; 0 where nothing is open, None where
        floats cannot decide that.
    missing: a statement (state, action, other action), in a family the member first, that is open.
    missing_words: the same in words.
    closed: whether claims about learners that plan for themselves hold too.
    n_open: how many facets and equalities are open.
    n_facets: of the task's class.
    n_equalities: of the task's class.
    arithmetic: 'exact' or 'float'.
    proof: the `didact.proof/1` object; None in floats.
    n_close_calls: decisions that floats could not make; `teaches` is False while there are any.
    wrong_items: comparisons and other feedback that are not true of the task, with what they miss.
    hardest: with such feedback, the smallest difference in return that must be seen to give it.
    """

    teaches: bool
    right_teaches: bool
    wrong: tuple[WrongPair, ...]
    segments: tuple[Segment, ...]
    witness: tuple[Fraction, ...] | None
    loss: float | None
    missing: tuple[int, ...] | None
    missing_words: str | None
    closed: bool
    n_open: int
    n_facets: int
    n_equalities: int
    arithmetic: str
    proof: Mapping[str, Any] | None
    n_close_calls: int = 0
    wrong_items: tuple[WrongItem, ...] = ()
    hardest: Fraction | None = None

    _repr_html_ = in_notebook

    @property
    def n_steps(self) -> int:
        """How many steps were shown, right and wrong."""
        return len(self.wrong) + sum(len(segment.shown) for segment in self.segments)

    def to_dict(self) -> dict[str, Any]:
        """The same for machines, without the proof; fractions as texts."""
        return {
            **{name: value for name, value in vars(self).items() if name != "proof"},
            "wrong": self.to_records(),
            "segments": [segment.to_dict() for segment in self.segments],
            "witness": number_texts(self.witness),
            "missing": None if self.missing is None else list(self.missing),
            "wrong_items": [wrong.to_dict() for wrong in self.wrong_items],
            "hardest": None if self.hardest is None else number_text(self.hardest),
        }

    def to_records(self) -> list[dict[str, Any]]:
        """A row for each wrong step: where it is, what was shown, what is better, by how much."""
        return [wrong.to_dict() for wrong in self.wrong]

    def __repr__(self) -> str:
        proof = ", with a proof" if self.proof is not None else ""
        if self.teaches:
            return f"Verdict(teaches, {self.arithmetic}{proof})"
        total = counted(self.n_facets + self.n_equalities, "constraint")
        parts = [f"{self.n_open} of {total} open"] if self.n_open else []
        parts += [counted(len(self.wrong), "wrong step")] if self.wrong else []
        parts += [counted(len(self.wrong_items), "wrong item")] if self.wrong_items else []
        is_wrong = self.wrong or self.wrong_items
        parts += ["the right ones alone do"] if is_wrong and self.right_teaches else []
        parts += [counted(self.n_close_calls, "close call")] if self.n_close_calls else []
        return f"Verdict(does not teach: {', '.join(parts)}, {self.arithmetic}{proof})"


@explains_names
def check(
    task: Task | Family,
    demonstrations: Any,
    *,
    scope: Scope = "reachable",
    arithmetic: Arithmetic = "auto",
    bec: EquivalenceClass | None = None,
) -> Verdict:
    """Decide whether demonstrations teach the task, with a proof or a witness.

    task: what they should teach: a task or a family.
    demonstrations: lists of (state, action) or (observation, action) pairs, a lesson, a selection,
        a recording, or the path of a file. Steps that are not optimal are named with what they
        cost, and the right steps between them are judged alone. Those of a family know their
        member, or are [member, pairs]. Also a list with comparisons, preferences, rankings and
        stops among them, or a file of them, judged in exact arithmetic.
    scope: 'reachable', what is best where the start can lead, or 'all' states.
    arithmetic: 'exact', with a proof; 'float'; or 'auto', exact while that is affordable.
    bec: the task's class, when it is at hand; it then decides scope and arithmetic.
    """
    task = named_world(task)
    require_class(task, bec)
    items = given_feedback(demonstrations, task)
    if items is not None:
        return _check_items(class_of(task, bec, scope=scope, arithmetic="exact"), items)
    bec = class_of(task, bec, scope=scope, arithmetic=arithmetic)
    shown = bec.as_demonstrations(demonstrations)
    wrong, segments = wrong_steps(bec, shown), right_segments(bec, shown)
    right = tuple(segment.shown for segment in segments)
    elements = cover_elements(bec)
    covered = elements.closure(elements.stated_elements(right))
    found = judge(elements, right, covered)
    missing = None if found.pins_down else elements.open_row(covered)
    right_teaches = found.pins_down and not bec.n_close_calls
    return Verdict(
        teaches=right_teaches and not wrong,
        right_teaches=right_teaches,
        wrong=wrong,
        segments=segments,
        witness=found.witness,
        loss=found.loss,
        closed=all_closed(bec.members, right),
        n_open=(elements.everything & ~covered).bit_count(),
        **_told_of(bec, missing),
        proof=None if found.proof is None else found.proof.document,
        n_close_calls=bec.n_close_calls + found.n_close,
    )


def _check_items(bec: EquivalenceClass, items: Sequence[Item]) -> Verdict:
    """The verdict on a mix of demonstrations and other feedback; its proof is of the right ones."""
    numbers = [i for i, item in enumerate(items) if isinstance(item, Demonstration)]
    shown = [item for item in items if isinstance(item, Demonstration)]
    wrong = wrong_steps(bec, shown, numbers)
    segments = right_segments(bec, shown, numbers)
    right = [segment.shown for segment in segments]
    require_shown_in_scope(bec, right)
    found = judge_items(bec, items, right)
    wrong_ones = {wrong.item for wrong in found.wrong}
    feedback = [x for i, x in enumerate(items) if i not in {*numbers, *wrong_ones}]
    missing = found.open_rows[0] if found.open_rows else None
    return Verdict(
        teaches=missing is None and not wrong and not found.wrong,
        right_teaches=missing is None,
        wrong=wrong,
        segments=segments,
        witness=found.witness,
        loss=found.loss,
        closed=False,
        n_open=len(found.open_rows),
        **_told_of(bec, missing),
        proof=mixed_proof(bec, [*right, *feedback], found.witness),
        wrong_items=found.wrong,
        hardest=found.hardest,
    )


def _told_of(bec: EquivalenceClass, missing: int | None) -> dict[str, Any]:
    """What a verdict says of the class, and of a row of it that is missing."""
    return {
        "missing": None if missing is None else bec.statement_of(missing),
        "missing_words": None if missing is None else bec.words_of(missing),
        "n_facets": bec.cone.n_facets,
        "n_equalities": len(bec.cone.equalities),
        "arithmetic": bec.arithmetic,
    }


MAX_TRIED = 400
"""Starts that are weighed, those first that state the most."""

MAX_STARTS = 20
"""Nobody lists more; all states are advised instead."""


@dataclass(frozen=True, eq=False)
class SuggestedStarts:
    """Starts from which a lesson is complete, and that lesson, which `check` has confirmed.

    starts: all of them; every state that counts where a list would be long.
    added: those that the task or the caller did not have; none where the starts were enough, and
        the budget, the teacher or the number of rollouts left something open.
    """

    starts: tuple[int, ...]
    added: tuple[int, ...]
    lesson: Lesson

    def to_dict(self) -> dict[str, Any]:
        """The same for machines."""
        n = len(self.lesson.demonstrations)
        return {"starts": list(self.starts), "added": list(self.added), "n_demonstrations": n}


def suggested_starts(task: Task, lesson: Lesson) -> SuggestedStarts | None:
    """How a lesson that leaves something open becomes complete; None where no starts do it.

    task: what the lesson is for.
    lesson: one of `teach` that is not complete.
    """
    settings = lesson.settings
    how = {name: settings.get(name) for name in ("scope", "arithmetic") if settings.get(name)}
    bec = lesson.bec or equivalence_class(as_task(task), **how)  # type: ignore[arg-type]
    elements, own = cover_elements(bec), as_starts(task, settings.get("starts"))
    offer = Starts(bec.members[0], own, as_horizon(task.mdp, settings.get("horizon")))
    added = _completing(elements, offer, coverage_from(elements, offer, own.tolist()))
    if added is None:
        return None
    starts = sorted({*own.tolist(), *added})
    if added and len(starts) > MAX_STARTS:
        starts = np.flatnonzero(scope_states(task.mdp, bec.scope)).tolist()
    teacher = settings.get("teacher")
    # How the lesson was made, without what limits it: no budget, no chance.
    again = teach(
        task,
        bec=bec,
        teacher=teacher if teacher in COVERING else "scot",
        horizon=settings.get("horizon"),
        cost="pairs" if settings.get("cost") == "pairs" else "demonstrations",
        closed=bool(settings.get("closed")),
        trim=bool(settings.get("trim", True)),
        seed=settings.get("seed") or 0,
        starts=starts,
    )
    if not (again.is_complete and check(task, again.demonstrations, bec=bec).teaches):
        return None
    return SuggestedStarts(tuple(starts), tuple(added), again)


def further_starts(bec: EquivalenceClass, shown: Sequence[Demonstration]) -> SuggestedStarts | None:
    """Where demonstrations would have to begin that complete what was shown; None where none do.

    bec: the class of the task. shown: optimal actions only. The starts and the lesson are those
    of the demonstrations to add.
    """
    elements, task = cover_elements(bec), bec.task
    offer = Starts(bec.members[0], as_starts(task, None), as_horizon(task.mdp, None))
    added = _completing(elements, offer, elements.stated_elements(shown))
    if not added:
        return None
    more = teach(task, bec=bec, starts=added)
    both = (*shown, *more.demonstrations)
    if not check(task, both, bec=bec).teaches:
        return None
    return SuggestedStarts(tuple(added), tuple(added), more)


def _completing(elements: Elements, offer: Starts, offered: int) -> list[int] | None:
    """Few states to begin in that show what is not offered; None where nothing shows it."""
    missing = elements.everything & ~elements.closure(offered)
    if not missing:
        return []
    n_actions = offer.member.task.mdp.n_actions
    states = [pair // n_actions for pair in elements.pairs_for(missing)]
    ranked = sorted(set(states), key=lambda s: (-states.count(s), s))[:MAX_TRIED]
    worth = {state: coverage_from(elements, offer, [state]) for state in ranked}
    added = greedy_cover(
        worth,
        dict.fromkeys(worth, 1),
        elements.n_elements,
        closure=elements.closure,
        covered=elements.closure(offered),
    ).picks
    kept = set(added)

    def completes(states: Iterable[int]) -> bool:
        shown = reduce(or_, (worth[state] for state in states), offered)
        return elements.closure(shown) == elements.everything

    if not completes(kept):
        return None
    for state in added:  # later starts may show all that an earlier one was taken for
        if completes(kept - {state}):
            kept.remove(state)
    return sorted(kept)
