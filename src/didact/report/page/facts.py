"""What a lesson page shows, gathered once: who says what, what is left after each demonstration.

For every demonstration there is a reward that fits all those before it and that it rules out: the
page's examples, and the losses of the coverage curve. A reward that fits the first n demonstrations
fits fewer of them too, so the largest loss found falls from left to right. It is a lower bound of
the worst case, exact at both ends of a complete lesson: nothing shown, everything shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from didact.bec.classes import EquivalenceClass, equivalence_class
from didact.bec.halfspaces import Scope, demonstrated_pairs, scope_states
from didact.bec.linear import Outside, decide
from didact.bec.nnls import nearest_in_cone
from didact.errors import InvalidParameter
from didact.mdp import Task, as_demonstrations
from didact.planning import Plan
from didact.planning.loss import action_gaps, worst_gaps
from didact.teaching import Lesson
from didact.teaching.covers.problem import Coverage, Elements, cover_elements
from didact.teaching.covers.set_cover import bits_of
from didact.teaching.witness import witness_plan

TRIED = 3
"""Rewards tried for each demonstration; the one with the largest loss is shown."""
MAX_WEAKER = 6
"""Half-spaces told of a demonstration that states no constraint of the class."""
MAX_TRIED = 60
"""At most so many for a lesson."""


@dataclass(frozen=True)
class Said:
    """A constraint that defines the behaviour, and the demonstration and step that show it first.

    row: its number in the class. demonstration: None where it stays open; step: None where it
    follows from several steps.
    """

    words: str
    row: int
    statement: tuple[int, int, int]
    equality: bool
    demonstration: int | None
    step: int | None


@dataclass(frozen=True, eq=False)
class BeliefFacts:
    """A wrong reward that fits what was shown: weights, worst loss, wrong choices (S, A)."""

    weights: tuple[Fraction, ...]
    loss: float
    wrong: NDArray[np.bool_]

    @property
    def astray(self) -> list[int]:
        """The states where it would choose wrongly."""
        return [int(state) for state in np.flatnonzero(self.wrong.any(axis=1))]


@dataclass(frozen=True)
class LessonPoint:
    """After n demonstrations: constraints covered, and the largest loss found among what fits."""

    n: int
    covered: int
    loss: float


@dataclass(frozen=True, eq=False)
class Facts:
    """All that a page says about a lesson."""

    task: Task
    lesson: Lesson
    bec: EquivalenceClass
    said: tuple[Said, ...]
    ruled_out: tuple[BeliefFacts | None, ...]
    witness: BeliefFacts | None
    curve: tuple[LessonPoint, ...]

    @property
    def n_choices(self) -> int:
        """In how many states behaviour counts."""
        return int(scope_states(self.task.mdp, self.bec.scope).sum())

    @property
    def n_covered(self) -> int:
        """How many constraints the lesson covers."""
        return self.curve[-1].covered

    def stated_first_by(self, demonstration: int) -> list[Said]:
        """What a demonstration shows that those before it did not.

        Where that is no constraint of the class, the weaker half-spaces that it states.
        """
        own = [said for said in self.said if said.demonstration == demonstration]
        return own if own or self.lesson.is_complete else self._weaker(demonstration)

    def _weaker(self, demonstration: int) -> list[Said]:
        """Half-spaces that a demonstration of an incomplete lesson states first."""
        shown, mdp = as_demonstrations(self.lesson.demonstrations, self.task.mdp), self.task.mdp
        rows = self.bec.rows
        before, after = (
            set(rows.stated_by(demonstrated_pairs(mdp, shown[:n])).tolist()) if n else set()
            for n in (demonstration, demonstration + 1)
        )
        return [
            Said(self.bec.words_of(row), row, rows.statement_of(row), False, demonstration, None)
            for row in sorted(after - before)[:MAX_WEAKER]
        ]


def gather(task: Task, lesson: Lesson, bec: EquivalenceClass | None = None) -> Facts:
    """The facts of a lesson for its task; bec: the task's class, when it is at hand."""
    shown = as_demonstrations(lesson.demonstrations, task.mdp)
    if bec is None:
        settings = lesson.settings
        scope: Scope = "all" if settings.get("scope") == "all" else "reachable"
        floats = settings.get("arithmetic") == "float"
        bec = equivalence_class(task, scope=scope, arithmetic="float" if floats else "exact")
    if bec.task.mdp is not task.mdp:
        raise InvalidParameter("bec must be the class of this very task; it is of another one")
    demonstrated_pairs(task, shown, bec.plan)
    elements = cover_elements(bec)
    stated = (elements.stated_elements([demonstration]) for demonstration in shown)
    covered = Coverage.of(elements, stated).after
    ruled_out = _ruled_out(elements, shown, covered)
    witness = None if lesson.witness is None else _belief(bec, lesson.witness)
    if witness is not None and lesson.loss is not None:
        witness = replace(witness, loss=lesson.loss)
    return Facts(
        task=task,
        lesson=lesson,
        bec=bec,
        said=_said(elements, shown, covered),
        ruled_out=ruled_out,
        witness=witness,
        curve=_curve(bec, covered, ruled_out, witness, complete=lesson.is_complete),
    )


def _said(elements: Elements, shown: Sequence[Any], covered: Sequence[int]) -> tuple[Said, ...]:
    bec, n_actions = elements.bec, elements.bec.task.mdp.n_actions
    stating: dict[int, set[int]] = {}
    for pair, element in zip(*(part.tolist() for part in elements.stating_pairs), strict=True):
        stating.setdefault(element, set()).add(pair)
    found = []
    for element in range(elements.n_elements):
        row = elements.row_of(element)
        number = next((n for n, bits in enumerate(covered) if bits >> element & 1), None)
        steps = [] if number is None else list(shown[number - 1])
        found.append(
            Said(
                words=bec.words_of(row),
                row=row,
                statement=bec.rows.statement_of(row),
                equality=row in bec.cone.equalities,
                demonstration=None if number is None else number - 1,
                step=next(
                    (i for i, (s, a) in enumerate(steps) if s * n_actions + a in stating[element]),
                    None,
                ),
            )
        )
    return tuple(found)


def _ruled_out(
    elements: Elements, shown: Sequence[Any], covered: Sequence[int]
) -> tuple[BeliefFacts | None, ...]:
    """For each demonstration a reward that fits those before it and breaks what it shows."""
    bec, left = elements.bec, MAX_TRIED
    beliefs: list[BeliefFacts | None] = []
    for number in range(len(shown)):
        fresh = covered[number + 1] & ~covered[number]
        first = list(bits_of(fresh))[: min(TRIED, left)]
        left -= len(first)
        rows = [elements.row_of(element) for element in first]
        found = [_against(bec, shown[:number], row) for row in rows]
        tried = [_belief(bec, weights) for weights in found if weights is not None]
        beliefs.append(max(tried, key=lambda belief: belief.loss, default=None))
    return tuple(beliefs)


def _against(bec: EquivalenceClass, shown: Sequence[Any], row: int) -> tuple[Fraction, ...] | None:
    """Weights that fit what is shown and break a row, the largest of them 1 or -1."""
    rows = bec.rows
    stated = rows.stated_by(demonstrated_pairs(bec.task.mdp, shown))
    if rows.exact is not None:
        verdict = decide([rows.exact[i] for i in stated.tolist()], rows.exact[row])
        if not isinstance(verdict, Outside):
            return None
        largest = max(map(abs, verdict.witness))
        return tuple(Fraction(w, largest) for w in verdict.witness)
    residual = nearest_in_cone(rows.balanced[stated], rows.balanced[row]).residual
    largest_float = float(np.abs(residual).max())
    if largest_float <= 1e-9:
        return None
    away = -rows.unbalanced_weights(residual)
    return tuple(Fraction(repr(float(x))) for x in away / np.abs(away).max())


def _belief(bec: EquivalenceClass, weights: Sequence[Fraction]) -> BeliefFacts:
    task = bec.task
    exact = bec.rows.exact is not None
    plan = witness_plan(task.mdp, weights, "auto" if exact else "float")
    wrong = plan.optimal & ~bec.plan.optimal & scope_states(task.mdp, bec.scope)[:, None]
    return BeliefFacts(tuple(weights), _worst_loss(bec, plan), wrong)


def _worst_loss(bec: EquivalenceClass, plan: Plan) -> float:
    """The largest loss from the start of a learner that takes any actions a plan calls optimal.

    As `evaluate` finds it, without solving for the average over ties.
    """
    mdp, gaps = bec.task.mdp, action_gaps(bec.plan)
    if not gaps[plan.optimal].any():
        return 0.0
    return float(mdp.start.floats @ worst_gaps(mdp, plan.optimal, gaps).values)


def _curve(
    bec: EquivalenceClass,
    covered: Sequence[int],
    ruled_out: Sequence[BeliefFacts | None],
    witness: BeliefFacts | None,
    *,
    complete: bool,
) -> tuple[LessonPoint, ...]:
    losses = [0.0] * len(covered)
    losses[-1] = 0.0 if complete or witness is None else witness.loss
    for number in range(len(covered) - 2, -1, -1):
        belief = ruled_out[number]
        losses[number] = max(losses[number + 1], 0.0 if belief is None else belief.loss)
    if covered[0] != covered[-1] or not complete:
        opposite = [-w for w in bec.task.true_weights.fractions()]
        losses[0] = max(losses[0], _belief(bec, opposite).loss)
    return tuple(LessonPoint(n, bits.bit_count(), losses[n]) for n, bits in enumerate(covered))
