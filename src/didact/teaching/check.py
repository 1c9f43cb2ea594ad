"""Do given demonstrations teach a task? Any demonstrations, also ones that people recorded.

They teach it where every half-space of the BEC follows from those that they state (Corollary 1);
else there is a witness, a reward that fits all of them and is wrong. Both answers come with a proof
in exact arithmetic (see `witness` and `bec.proofs`).

People err. What is wrong is named with its cost, and the segments of right steps that stay are
judged as demonstrations of their own. Other items are judged by the half-spaces that they state:
see `feedback.halfspaces`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from didact.bec.classes import (
    EquivalenceClass,
    equivalence_class,
    require_class,
    require_shown_in_scope,
)
from didact.bec.halfspaces import Scope
from didact.inputs import counted
from didact.mdp import (
    Demonstration,
    Family,
    Task,
    family_demonstrations,
    given_demonstrations,
)
from didact.mdp.items import Item
from didact.mdp.recordings.formats import given_feedback
from didact.mdp.showing import in_notebook
from didact.numerics.texts import number_text, number_texts
from didact.planning.solve import Arithmetic
from didact.teaching.covers.elements import cover_elements
from didact.teaching.feedback.halfspaces import (
    Segment,
    WrongItem,
    WrongPair,
    judge_items,
    mixed_proof,
    right_segments,
    wrong_steps,
)
from didact.teaching.trim import all_closed
from didact.teaching.witness import judge


@dataclass(frozen=True, eq=False)
class Verdict:
    """Whether demonstrations teach a task. Where steps are wrong, all else is about the right ones.

    teaches: they show optimal actions only and pin the class down.
    right_teaches: the right steps alone pin the class down; the same where no step is wrong.
    wrong: the steps shown that are not optimal, with what each costs (`gap`, `exact_gap`).
    segments: the right steps, as demonstrations between the wrong ones (`demonstration`, `step` of
        the first, `shown`).
    witness: weights that fit what was shown rightly and are wrong; None where that teaches.
    loss: the worst loss of a learner that takes the witness.
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

    _repr_html_ = in_notebook("verdict")

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


def check(
    task: Task | Family,
    demonstrations: Any,
    *,
    scope: Scope = "reachable",
    arithmetic: Arithmetic = "auto",
    known: EquivalenceClass | None = None,
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
    known: the task's class, when it is at hand; it then decides scope and arithmetic.
    """
    require_class(task, known)
    items = given_feedback(demonstrations, task)
    if items is not None:
        return _check_items(task, items, scope, known)
    shown = _shown(task, demonstrations)
    if known is None:
        known = equivalence_class(task, scope=scope, arithmetic=arithmetic)
    wrong, segments = wrong_steps(known, shown), right_segments(known, shown)
    right = tuple(segment.shown for segment in segments)
    elements = cover_elements(known)
    covered = elements.closure(elements.stated_elements(right))
    found = judge(elements, right, covered)
    missing = None if found.pins_down else elements.open_row(covered)
    right_teaches = found.pins_down and not known.n_close_calls
    return Verdict(
        teaches=right_teaches and not wrong,
        right_teaches=right_teaches,
        wrong=wrong,
        segments=segments,
        witness=found.witness,
        loss=found.loss,
        closed=all_closed(known.parts, right),
        n_open=(elements.everything & ~covered).bit_count(),
        **_told_of(known, missing),
        proof=None if found.proof is None else found.proof.document,
        n_close_calls=known.n_close_calls + found.n_close,
    )


def _check_items(
    task: Task | Family, items: Sequence[Item], scope: Scope, known: EquivalenceClass | None
) -> Verdict:
    """The verdict on a mix of demonstrations and other feedback; its proof is of the right ones."""
    if known is None:
        known = equivalence_class(task, scope=scope, arithmetic="exact")
    numbers = [i for i, item in enumerate(items) if isinstance(item, Demonstration)]
    shown = [item for item in items if isinstance(item, Demonstration)]
    wrong = wrong_steps(known, shown, numbers)
    segments = right_segments(known, shown, numbers)
    right = [segment.shown for segment in segments]
    require_shown_in_scope(known, right)
    found = judge_items(known, items, right)
    wrong_ones = {wrong.item for wrong in found.wrong}
    said = [x for i, x in enumerate(items) if i not in {*numbers, *wrong_ones}]
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
        **_told_of(known, missing),
        proof=mixed_proof(known, [*right, *said], found.witness),
        wrong_items=found.wrong,
        hardest=found.hardest,
    )


def _told_of(known: EquivalenceClass, missing: int | None) -> dict[str, Any]:
    """What a verdict says of the class, and of a row of it that is missing."""
    return {
        "missing": None if missing is None else known.statement_of(missing),
        "missing_words": None if missing is None else known.words_of(missing),
        "n_facets": known.cone.n_facets,
        "n_equalities": len(known.cone.equalities),
        "arithmetic": known.arithmetic,
    }


def _shown(task: Task | Family, demonstrations: Any) -> tuple[Demonstration, ...]:
    """What is given, as demonstrations of the task, or of the members of the family."""
    if isinstance(task, Family):
        return family_demonstrations(demonstrations, task)
    return given_demonstrations(demonstrations, task)
