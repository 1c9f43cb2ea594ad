"""The class of a family: the rewards under which every member's optimal actions stay optimal.

It is the intersection of the members' classes, so its rows are the rows of all members together:
its dual cone is the sum of theirs and its equalities span the sum of their lineality spaces. All
distinct rows are told apart and certified at once, so that a row which is redundant in its own
member covers a facet of the family when it agrees with it modulo the family's equalities.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, get_args, overload

import numpy as np

from didact.bec.classes import EquivalenceClass, exact_counts, is_affordable, proved_plan
from didact.bec.classes import equivalence_class as class_of_task
from didact.bec.cone import Cone
from didact.bec.describe import row_words
from didact.bec.directions import label_units
from didact.bec.linear import Row
from didact.bec.parts import Mask, Part, home_statement, of_home, part_with, stacked
from didact.bec.patience import patient_cone
from didact.bec.rows import (
    ROUNDING,
    Rows,
    Scope,
    feature_scales,
    rows_from_counts,
    scope_states,
)
from didact.errors import InvalidParameter
from didact.inputs import choice, instance, shown_name
from didact.mdp import Demonstration, Family, Task, as_task, family_demonstrations
from didact.mdp.showing import in_notebook
from didact.numerics.exact import Floats
from didact.planning import Plan, float_successor_features
from didact.planning.solve import Arithmetic
from didact.stages import stage

EXACT_ENTRIES = 2_000_000
"""`auto` works exactly up to so many states times features of all members together."""


@dataclass(frozen=True, eq=False)
class FamilyClass:
    """The class of a family: all rewards under which the same actions are optimal in all members.

    family: whose class it is.
    parts: the members, each with what is optimal in it.
    rows: every half-space of every member; states are numbered one member after the other.
    cone: the class itself: equalities and facets, as row numbers.
    scope: 'reachable' or 'all': whose states' rows these are.
    """

    family: Family
    parts: tuple[Part, ...]
    rows: Rows
    cone: Cone
    scope: Scope

    _repr_html_ = in_notebook("class of a family")

    def __repr__(self) -> str:
        return f"FamilyClass({shown_name(self.family.name)!r}, {self.scope}, {self.cone!r})"

    @property
    def name(self) -> str:
        """The family's name."""
        return self.family.name

    @property
    def arithmetic(self) -> str:
        """'exact' or 'float'."""
        return self.rows.arithmetic

    @cached_property
    def optimal(self) -> Mask:
        """Which pairs are optimal, states of all members one after the other."""
        return stacked(self.parts, (part.plan.optimal for part in self.parts))

    @property
    def n_close_calls(self) -> int:
        """How many decisions floats could not make; 0 in exact arithmetic."""
        if self.rows.exact is not None:
            return 0
        return self.rows.n_lost + self.cone.n_close + self._n_tied()

    def _n_tied(self) -> int:
        """Pairs of actions with different counts that were taken for ties without proof."""
        state, _, other = self.rows.statements.T
        proved = np.repeat(
            [part.plan.is_proved for part in self.parts],
            [part.task.mdp.n_states for part in self.parts],
        )
        tied = self.optimal[state, other] & (self.rows.number >= 0) & ~proved[state]
        return -(-int(np.count_nonzero(tied)) // 2)

    def as_demonstrations(self, given: Any) -> tuple[Demonstration, ...]:
        """Demonstrations of the family, each of a member, checked.

        given: demonstrations that know their member, or [member, pairs].
        """
        return family_demonstrations(given, self.family)

    def statement_of(self, row: int) -> tuple[int, ...]:
        """The first (member, state, action, other action) that states a row.

        row: its number in `rows`.
        """
        return home_statement(self.parts, self.rows.statement_of(row))

    def words_of(self, row: int) -> str:
        """What a row says about the features, in plain English.

        row: its number in `rows`.
        """
        state, _, _ = self.rows.statement_of(row)
        return row_words(self.cone, part_with(self.parts, state).task.mdp, row)

    def to_records(self) -> list[dict[str, Any]]:
        """A row for each equality and facet: kind, words, who states it, and its normal.

        member, state, action, other: the first comparison of two actions that states it. normal:
        numbers by feature, fractions where the class is exact.
        """
        exact, records = self.rows.exact, []
        kinds = {"equality": self.cone.equalities, "facet": self.cone.facet_rows()}
        for kind, row in ((kind, row) for kind, rows in kinds.items() for row in rows):
            statement = self.rows.statement_of(row)
            records.append(
                {
                    "kind": kind,
                    "words": self.words_of(row),
                    **of_home(part_with(self.parts, statement[0]), statement),
                    "normal": list(self.rows.normals[row] if exact is None else exact[row]),
                }
            )
        return records


Known = EquivalenceClass | FamilyClass
"""The class of a task or of a family."""


def whole_of(known: Known) -> Task | Family:
    """The task or the family that a class is of."""
    return known.family if isinstance(known, FamilyClass) else known.task


def require_class(task: Task | Family, known: Any) -> None:
    """A task or a family, and a class of its kind where one is given."""
    if not isinstance(task, Family):
        as_task(task)
    if known is not None:
        kind = FamilyClass if isinstance(task, Family) else EquivalenceClass
        instance(known, kind, "known", "the result of equivalence_class")


@overload
def equivalence_class(
    task: Task, *, scope: Scope = ..., arithmetic: Arithmetic = ..., plan: Plan | None = ...
) -> EquivalenceClass: ...


@overload
def equivalence_class(
    task: Family, *, scope: Scope = ..., arithmetic: Arithmetic = ..., plan: None = ...
) -> FamilyClass: ...


def equivalence_class(
    task: Task | Family,
    *,
    scope: Scope = "reachable",
    arithmetic: Arithmetic = "auto",
    plan: Plan | None = None,
) -> EquivalenceClass | FamilyClass:
    """BEC(pi*) of a task (Theorem 1), or of a family: what all its members' classes share.

    task: whose optimal behaviour makes the class: a task, or a family of tasks.
    scope: 'reachable', the states that the start can lead to, or 'all'.
    arithmetic: 'exact', 'float', or 'auto': exact while that is affordable, else floats.
    plan: the task's own solution, when it is at hand already; none for a family.
    """
    if not isinstance(task, Family):
        return class_of_task(task, scope=scope, arithmetic=arithmetic, plan=plan)
    if plan is not None:
        raise InvalidParameter("plan is of one task; leave it out for a family")
    return class_of_family(task, scope, arithmetic)


def class_of_family(family: Family, scope: Scope, arithmetic: Arithmetic) -> FamilyClass:
    """The intersection of the members' classes, over the states in scope."""
    choice(arithmetic, "arithmetic", get_args(Arithmetic))
    stage("solving all members")
    plans = [proved_plan(task, arithmetic) for task in family.members]
    stage("comparing actions: a row for each two")
    exact = arithmetic == "exact" or (arithmetic == "auto" and _is_affordable(family, plans))
    parts = _parts(family, plans, arithmetic if exact else "float")
    rows = _joined(parts, scope)

    def numerical() -> Rows:
        return _joined(_parts(family, plans, "float"), scope)

    rows, cone = patient_cone(rows, family.true_weights, arithmetic, numerical)
    parts = parts if rows.exact is not None else _parts(family, plans, "float")
    position = cone.contains(family.true_weights)
    if cone.is_proved and position != "inside":
        raise AssertionError(f"the true weights must lie inside the class; they lie {position}")
    return FamilyClass(family, parts, rows, cone, scope)


def _joined(parts: Sequence[Part], scope: Scope) -> Rows:
    """The rows of all parts in one catalogue."""
    return joined_rows(_rows_of_parts(parts, scope), [part.first for part in parts])


def _is_affordable(family: Family, plans: Sequence[Plan]) -> bool:
    n_entries = sum(task.mdp.n_states for task in family) * family.n_features
    each = all(is_affordable(task, plan) for task, plan in zip(family, plans, strict=True))
    return n_entries <= EXACT_ENTRIES and each


def _parts(family: Family, plans: Sequence[Plan], arithmetic: Arithmetic) -> tuple[Part, ...]:
    parts, first = [], 0
    for member, (task, plan) in enumerate(zip(family, plans, strict=True)):
        counts = None if arithmetic == "float" else exact_counts(task, plan, arithmetic)
        parts.append(Part(task, plan, counts, first, member))
        first += task.mdp.n_states
    return tuple(parts)


def _rows_of_parts(parts: Sequence[Part], scope: Scope) -> list[Rows]:
    """The rows of each part; features have one size for all of them."""
    scales = feature_scales(*(part.task.mdp for part in parts))
    return [
        rows_from_counts(
            part.counts or float_successor_features(part.task.mdp, part.plan.policy),
            part.plan.optimal & scope_states(part.task.mdp, scope)[:, None],
            scales,
        )
        for part in parts
    ]


def joined_rows(parts: Sequence[Rows], firsts: Sequence[int]) -> Rows:
    """One catalogue of the rows of several, which share their scales; same directions once.

    firsts: what is added to the states of each. Rows are numbered by first appearance.
    """
    statements = np.concatenate(
        [
            part.statements + np.array([first, 0, 0])
            for part, first in zip(parts, firsts, strict=True)
        ]
    )
    if all(part.exact is not None for part in parts):
        labels, exact, first_rows = _exact_labels(parts)
        joined = Rows(np.vstack([part.normals for part in parts])[first_rows], exact, *_NO_ROWS)
    else:
        labels, joined = _float_labels(parts)
    starts = np.cumsum([0, *(part.n_rows for part in parts)])
    number = np.concatenate(
        [
            np.where(
                part.number >= 0,
                np.append(labels[start : start + part.n_rows], -1)[part.number],
                -1,
            )
            for part, start in zip(parts, starts, strict=False)
        ]
    )
    return replace(joined, statements=statements, number=number)


_NO_ROWS = (np.zeros((0, 3), dtype=np.int64), np.zeros(0, dtype=np.int64))


def _exact_labels(parts: Sequence[Rows]) -> tuple[Any, tuple[Row, ...], list[int]]:
    """The number of every row of every part, the distinct rows, and where each stands first."""
    number_of: dict[Row, int] = {}
    first_rows: list[int] = []
    labels: list[int] = []
    for row in (row for part in parts for row in part.exact or ()):
        number = number_of.setdefault(row, len(number_of))
        if number == len(first_rows):
            first_rows.append(len(labels))
        labels.append(number)
    return np.array(labels, dtype=np.int64), tuple(number_of), first_rows


def _float_labels(parts: Sequence[Rows]) -> tuple[Any, Rows]:
    """The number of every row of every part, and the distinct rows without their statements."""
    normals = np.vstack([part.normals for part in parts])
    balanced = np.vstack([part.balanced for part in parts])
    labels, first = label_units(balanced)
    strict = np.zeros(len(first), dtype=np.bool_)
    np.logical_or.at(strict, labels, np.concatenate([_strict(part) for part in parts]))
    between: Floats = balanced - balanced[first][labels]
    apart = np.sqrt(np.einsum("ij,ij->i", between, between))
    noise = max(part.noise for part in parts)
    return labels, Rows(
        normals[first],
        None,
        *_NO_ROWS,
        error_bound=max(part.error_bound for part in parts),
        spread=float(max(part.spread for part in parts) + apart.max(initial=0.0)),
        n_lost=sum(part.n_lost for part in parts)
        + int(np.count_nonzero(apart > 4 * noise + 8 * ROUNDING)),
        strict=strict,
        scales=parts[0].scales,
        noise=noise,
    )


def _strict(rows: Rows) -> Mask:
    return np.zeros(rows.n_rows, dtype=np.bool_) if rows.strict is None else rows.strict
