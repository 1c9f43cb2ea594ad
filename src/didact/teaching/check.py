"""Do given demonstrations teach a task? Any demonstrations, also ones that people recorded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from didact.bec.classes import EquivalenceClass, equivalence_class
from didact.bec.farkas import Inside, decide
from didact.bec.linear import primitive
from didact.bec.rows import Scope, demonstrated_pairs
from didact.inputs import counted, instance
from didact.mdp import Demonstration, Task, as_task, given_demonstrations
from didact.mdp.showing import in_notebook
from didact.numerics.texts import number_texts
from didact.planning.solve import Arithmetic
from didact.teaching.closure import is_closed
from didact.teaching.covers.elements import cover_elements
from didact.teaching.witness import judge, row_in_words


@dataclass(frozen=True)
class WrongPair:
    """A shown action that is not optimal: by how much, and which shown pairs contradict it.

    contradicted_by: shown optimal pairs whose half-spaces together say that `better` is at least
    as good; empty where nothing else shown says so.
    """

    demonstration: int
    step: int
    state: int
    action: int
    better: int
    gap: float
    contradicted_by: tuple[tuple[int, int], ...]


@dataclass(frozen=True, eq=False)
class Verdict:
    """Whether demonstrations teach a task.

    teaches: they show optimal actions only and pin the class down.
    wrong: the actions shown that are not optimal.
    witness: weights that fit what was shown rightly and are wrong; None where it teaches.
    loss: the worst loss of a learner that takes the witness.
    missing: a statement (state, action, other action) that is open.
    missing_words: the same in words.
    closed: whether claims about learners that plan for themselves hold too.
    n_open: how many facets and equalities are open.
    n_facets: of the task's class.
    n_equalities: of the task's class.
    arithmetic: 'exact' or 'float'.
    proof: the `didact.proof/1` object; None in floats.
    n_close_calls: decisions that floats could not make; `teaches` is False while there are any.
    """

    teaches: bool
    wrong: tuple[WrongPair, ...]
    witness: tuple[Fraction, ...] | None
    loss: float | None
    missing: tuple[int, int, int] | None
    missing_words: str | None
    closed: bool
    n_open: int
    n_facets: int
    n_equalities: int
    arithmetic: str
    proof: Mapping[str, Any] | None
    n_close_calls: int = 0

    _repr_html_ = in_notebook("verdict")

    def to_dict(self) -> dict[str, Any]:
        """The same for machines, without the proof; fractions as texts."""
        return {
            **{name: value for name, value in vars(self).items() if name != "proof"},
            "wrong": self.to_records(),
            "witness": number_texts(self.witness),
            "missing": None if self.missing is None else list(self.missing),
        }

    def to_records(self) -> list[dict[str, Any]]:
        """A row for each wrong step: where it is, what was shown, what is better, by how much."""
        return [vars(w) | {"contradicted_by": list(w.contradicted_by)} for w in self.wrong]

    def __repr__(self) -> str:
        proof = ", with a proof" if self.proof is not None else ""
        if self.teaches:
            return f"Verdict(teaches, {self.arithmetic}{proof})"
        total = counted(self.n_facets + self.n_equalities, "constraint")
        parts = [f"{self.n_open} of {total} open"] if self.n_open else []
        parts += [counted(len(self.wrong), "wrong step")] if self.wrong else []
        parts += [counted(self.n_close_calls, "close call")] if self.n_close_calls else []
        return f"Verdict(does not teach: {', '.join(parts)}, {self.arithmetic}{proof})"


def check(
    task: Task,
    demonstrations: Any,
    *,
    scope: Scope = "reachable",
    arithmetic: Arithmetic = "auto",
    known: EquivalenceClass | None = None,
) -> Verdict:
    """Decide whether demonstrations teach the task, with a proof or a witness.

    task: what they should teach.
    demonstrations: lists of (state, action) or (observation, action) pairs, a lesson, a selection,
        a recording, or the path of a file. Those that show an action that is not optimal cannot
        teach it; the verdict names the pairs, and judges the rest.
    scope: 'reachable', what is best where the start can lead, or 'all' states.
    arithmetic: 'exact', with a proof; 'float'; or 'auto', exact while that is affordable.
    known: the task's class, when it is at hand; it then decides scope and arithmetic.
    """
    shown = given_demonstrations(demonstrations, as_task(task))
    if known is not None:
        instance(known, EquivalenceClass, "known", "the result of equivalence_class")
    else:
        known = equivalence_class(task, scope=scope, arithmetic=arithmetic)
    wrong = _wrong_pairs(known, shown)
    right = _without(shown, {(w.demonstration, w.step) for w in wrong})
    elements = cover_elements(known)
    covered = elements.closure(elements.stated_elements(right))
    found = judge(elements, right, covered)
    missing = None if found.pins_down else elements.open_row(covered)
    return Verdict(
        teaches=found.pins_down and not wrong and not known.n_close_calls,
        wrong=wrong,
        witness=found.witness,
        loss=found.loss,
        missing=None if missing is None else known.rows.statement_of(missing),
        missing_words=None if missing is None else row_in_words(known, missing),
        closed=not wrong and is_closed(task.mdp, known.plan, right),
        n_open=(elements.everything & ~covered).bit_count(),
        n_facets=known.cone.n_facets,
        n_equalities=len(known.cone.equalities),
        arithmetic=known.arithmetic,
        proof=None if found.proof is None or wrong else found.proof.document,
        n_close_calls=known.n_close_calls,
    )


def _wrong_pairs(known: EquivalenceClass, shown: Sequence[Demonstration]) -> tuple[WrongPair, ...]:
    plan = known.plan
    wrong = []
    for i, demonstration in enumerate(shown):
        for step, (state, action) in enumerate(demonstration):
            if plan.optimal[state, action]:
                continue
            better = plan.optimal_actions(state)[0]
            gap = float(plan.action_values[state].max() - plan.action_values[state, action])
            against = _contradictions(known, shown, state, action, better)
            wrong.append(WrongPair(i, step, state, action, better, gap, against))
    return tuple(wrong)


def _contradictions(
    known: EquivalenceClass,
    shown: Sequence[Demonstration],
    state: int,
    action: int,
    better: int,
) -> tuple[tuple[int, int], ...]:
    """Shown optimal pairs that together say the opposite of `action` against `better`."""
    if known.counts is None or known.rows.exact is None:
        return ()
    pairs = demonstrated_pairs(known.task.mdp, shown) & known.plan.optimal
    opposite = primitive(known.counts.pairs[state, better] - known.counts.pairs[state, action])
    part = known.rows.shown_part(pairs)
    if not any(opposite) or not part.exact:
        return ()
    verdict = decide(part.exact, opposite)
    if not isinstance(verdict, Inside):
        return ()
    found = [part.statement_of(row)[:2] for row in verdict.multipliers.indices]
    return tuple(dict.fromkeys(found))


def _without(
    shown: Sequence[Demonstration], wrong: set[tuple[int, int]]
) -> tuple[Demonstration, ...]:
    """The demonstrations cut into the parts between wrong pairs."""
    parts = []
    for i, demonstration in enumerate(shown):
        run: list[tuple[int, int]] = []
        for step, pair in enumerate(demonstration):
            if (i, step) in wrong:
                if run:
                    parts.append(Demonstration(run))
                run = []
            else:
                run.append(pair)
        if run:
            parts.append(Demonstration(run))
    return tuple(parts)
