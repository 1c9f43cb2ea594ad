"""Behavioural equivalence classes of a task: of its optimal policy, and of demonstrations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from didact.bec.cone import Cone, cone_of
from didact.bec.describe import row_words
from didact.bec.parts import Mask, Part, shown_pairs
from didact.bec.patience import patient_cone
from didact.bec.rows import (
    Rows,
    Scope,
    demonstrated_pairs,
    feature_scales,
    rows_from_counts,
    scope_states,
    showable_states,
)
from didact.errors import InvalidParameter
from didact.inputs import choice, instance, shown_name
from didact.mdp import Demonstration, Task, as_task, given_demonstrations
from didact.mdp.naming import state_words
from didact.mdp.showing import in_notebook, show
from didact.numerics.texts import MOST_DIGITS
from didact.planning import (
    ExactSuccessorFeatures,
    Plan,
    exact_successor_features,
    float_successor_features,
    solve,
)
from didact.planning.derived import actions_by_state
from didact.planning.exact import (
    digits_with,
    expected_digits,
    followed_digits,
    multiplier_digits,
    require_writable,
)
from didact.planning.solve import Arithmetic, is_exact_affordable
from didact.stages import stage

if TYPE_CHECKING:
    from didact.bec.families import Known

EXACT_ENTRIES = 100_000
"""`auto` works exactly up to so many states times features."""

STATED = ("state", "action", "other")


@dataclass(frozen=True, eq=False)
class EquivalenceClass:
    """The class of the optimal policy: all rewards under which the same actions are optimal.

    task: whose class it is.
    plan: what is optimal.
    rows: every half-space, mu(s, a) - mu(s, b), with who states it.
    cone: the class itself: equalities and facets, as row numbers.
    scope: 'reachable' or 'all': whose states' rows these are.
    counts: exact successor features of the policy; None in floats.
    """

    task: Task
    plan: Plan
    rows: Rows
    cone: Cone
    scope: Scope
    counts: ExactSuccessorFeatures | None

    _repr_html_ = in_notebook("class")

    def to_records(self) -> list[dict[str, Any]]:
        """A row for each equality and facet: kind, words, who states it, and its normal.

        state, action, other: the first comparison of two actions that states it. normal: numbers
        by feature, fractions where the class is exact; it says that normal times weights is >= 0.
        """
        return [
            {
                "kind": kind,
                "words": row_words(self.cone, self.task.mdp, row),
                **dict(zip(STATED, self.rows.statement_of(row), strict=True)),
                "normal": list(self.rows.normals[row] if exact is None else exact[row]),
            }
            for exact in (self.rows.exact,)
            for kind, rows in (
                ("equality", self.cone.equalities),
                ("facet", self.cone.facet_rows()),
            )
            for row in rows
        ]

    def __repr__(self) -> str:
        return f"EquivalenceClass({shown_name(self.task.name)!r}, {self.scope}, {self.cone!r})"

    @property
    def name(self) -> str:
        """The task's name."""
        return self.task.name

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """The one task that the class is of, as a family's class has its members."""
        return (Part(self.task, self.plan, self.counts),)

    @property
    def optimal(self) -> Mask:
        """Which pairs (S, A) are optimal."""
        return self.plan.optimal

    @property
    def arithmetic(self) -> str:
        """'exact' or 'float'."""
        return self.rows.arithmetic

    def as_demonstrations(self, given: Any) -> tuple[Demonstration, ...]:
        """Demonstrations of the task, checked.

        given: lists of (state, action) or (observation, action) pairs, a lesson, a recording, or
            the path of a file.
        """
        return given_demonstrations(given, self.task)

    def statement_of(self, row: int) -> tuple[int, ...]:
        """The first (state, action, other action) that states a row.

        row: its number in `rows`.
        """
        return self.rows.statement_of(row)

    def words_of(self, row: int) -> str:
        """What a row says about the features, in plain English.

        row: its number in `rows`.
        """
        return row_words(self.cone, self.task.mdp, row)

    @property
    def n_close_calls(self) -> int:
        """How many decisions floats could not make; 0 in exact arithmetic.

        Actions too close to be told from ties, unless they count the same; rows too short to be
        told from none; facets and equalities within the tolerance of not being any.
        """
        if self.rows.exact is not None:
            return 0
        return self.rows.n_lost + self.cone.n_close + (0 if self.plan.is_proved else self._n_tied())

    def _n_tied(self) -> int:
        """Pairs of actions with different counts that were taken for ties.

        Each of them states a row and its opposite, which are equalities or close calls themselves.
        """
        if not self.cone.equalities and not self.cone.n_close:
            return 0
        state, _, other = self.rows.statements.T
        tied = self.plan.optimal[state, other] & (self.rows.number >= 0)
        return -(-int(np.count_nonzero(tied)) // 2)

    def plot(self, ax: Any = None, **style: Any) -> Any:
        """Draw the class in the plane of two weights, `weights=(0, 1)`.

        ax: Matplotlib axes, new ones by default; they are returned.
        style: options of `didact.plots.cone`.
        """
        return show("plot of a class", self, ax, **style)


def equivalence_class(
    task: Task,
    *,
    scope: Scope = "reachable",
    arithmetic: Arithmetic = "auto",
    plan: Plan | None = None,
) -> EquivalenceClass:
    """BEC(pi*) of a task (Theorem 1), over the states in scope.

    task: whose optimal behaviour makes the class.
    scope: 'reachable', the states that the start can lead to, or 'all'.
    arithmetic: 'exact', 'float', or 'auto': exact while that is affordable, else floats.
    plan: the task's own solution, when it is at hand already.
    """
    as_task(task)
    choice(arithmetic, "arithmetic", get_args(Arithmetic))
    if plan is not None:
        instance(plan, Plan, "plan", "the result of solve")
    stage("solving")
    found = proved_plan(task, arithmetic) if plan is None else plan
    exact = arithmetic == "exact" or (arithmetic == "auto" and is_affordable(task, found))
    if exact and not found.is_proved:
        raise InvalidParameter(
            "arithmetic 'exact' needs a plan whose optimal actions are proved; this one leaves "
            f"{found.n_close - found.n_settled} comparisons open. Leave plan out, or solve exactly"
        )
    stage("comparing actions: a row for each two")
    shown = found.optimal & scope_states(task.mdp, scope)[:, None]
    counts = exact_counts(task, found, arithmetic) if exact else None
    scales = feature_scales(task.mdp)

    def numerical() -> Rows:
        return rows_from_counts(float_successor_features(task.mdp, found.policy), shown, scales)

    rows = numerical() if counts is None else rows_from_counts(counts, shown, scales)
    rows, cone = patient_cone(rows, task.true_weights, arithmetic, numerical)
    counts = None if rows.exact is None else counts
    if cone.is_proved and cone.contains(task.true_weights) != "inside":
        raise AssertionError("the true weights must lie inside their own class")
    return EquivalenceClass(task, found, rows, cone, scope, counts)


def proved_plan(task: Task, arithmetic: Arithmetic) -> Plan:
    """The task's solution, for 'exact' with every optimal set proved.

    The bound of floats proves most of them at once; only what it leaves open is settled exactly.
    """
    first: Arithmetic = "auto" if arithmetic == "exact" else arithmetic
    found = solve(task.mdp, task.true_weights, arithmetic=first)
    if arithmetic != "exact" or found.is_proved:
        return found
    return solve(task.mdp, task.true_weights, arithmetic="exact")


def exact_counts(task: Task, plan: Plan, arithmetic: Arithmetic) -> ExactSuccessorFeatures:
    """Exact successor features that a proof can hold; refused before the work where it is seen."""
    from didact.planning.exact import Followed, exact_model

    more = multiplier_digits(task.mdp)
    followed = Followed.of(exact_model(task.mdp), actions_by_state(plan.optimal))
    if arithmetic == "exact":
        require_writable(followed_digits(followed) + more)
    counts = exact_successor_features(task.mdp, plan, followed)
    require_writable(digits_with(counts) + more)
    return counts


def is_affordable(task: Task, plan: Plan) -> bool:
    """Whether exact rows are at hand soon: proved, with no large systems or long numbers."""
    small = task.mdp.n_states * task.mdp.n_features <= EXACT_ENTRIES
    quick = small and plan.is_proved and is_exact_affordable(task.mdp, plan.optimal)
    if not quick:
        return False
    return expected_digits(task.mdp, plan) + multiplier_digits(task.mdp) <= MOST_DIGITS


def demonstration_class(known: Known, demonstrations: Iterable[Any]) -> Cone:
    """BEC(D | pi*): the cone of what optimal demonstrations show (Corollary 1).

    Demonstrations must show optimal actions of states in scope.
    """
    shown = known.as_demonstrations(demonstrations)
    return cone_of(demonstration_rows(known, shown), known.cone.true_weights)


def demonstration_rows(known: Known, shown: tuple[Demonstration, ...]) -> Rows:
    """The part of the catalogue that demonstrations state, with its own row numbers."""
    require_shown_in_scope(known, shown)
    return known.rows.shown_part(shown_pairs(known.parts, shown, optimal=True))


def require_shown_in_scope(known: Known, shown: Sequence[Demonstration]) -> None:
    """Refuse demonstrations of states that the class says nothing about."""
    for part in known.parts:
        mdp = part.task.mdp
        visited = demonstrated_pairs(mdp, part.own(shown)).any(axis=1)
        outside = np.flatnonzero(visited & ~showable_states(mdp, known.scope))
        if outside.size:
            raise InvalidParameter(
                f"demonstrations must stay in scope {known.scope!r}; "
                f"{state_words(part.task, int(outside[0]))} cannot be reached from the start. "
                "Use scope='all'"
            )
