"""Behavioural equivalence classes (BECs): of a task, of a family, and of demonstrations.

The BEC of a task is the set of rewards under which the same actions are optimal (Theorem 1). The
BEC of a family is the intersection of its members' BECs, so its half-spaces are those of all
members together: its dual cone is the sum of theirs and its equalities span the sum of their
lineality spaces. A task is a family of one member. All distinct half-spaces are told apart and
certified at once, so that a half-space which is redundant in its own member covers a facet of the
family when it agrees with it modulo the family's equalities.

States of all members have one numbering: a state's number is its number in its own member plus that
of the member's first state. Statements of half-spaces and pairs of candidates use it.

Exact work that will take more than a minute is announced by `auto` before it begins.
"""

from __future__ import annotations

import logging
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from didact.bec.cone import Cone, cone_of
from didact.bec.halfspaces import (
    Rows,
    Scope,
    demonstrated_pairs,
    feature_scales,
    joined_rows,
    rows_from_counts,
    scope_states,
    showable_states,
)
from didact.bec.words import row_words
from didact.errors import InvalidParameter
from didact.inputs import choice, explains_names, instance, shown, shown_name
from didact.mdp import (
    Demonstration,
    Family,
    Task,
    as_task,
    given_demonstrations,
)
from didact.mdp.naming import state_words
from didact.mdp.recordings.formats import given_of_family
from didact.mdp.showing import draw, in_notebook
from didact.numerics.texts import MAX_WRITTEN_DIGITS
from didact.planning import (
    ExactSuccessorFeatures,
    Plan,
    float_successor_features,
    solve,
)
from didact.planning.exact import (
    PolicyGraph,
    as_rationals,
    digits_with,
    dot,
    exact_model,
    expected_digits,
    followed_digits,
    multiplier_digits,
    require_writable,
)
from didact.planning.kernels import actions_by_state
from didact.planning.solve import Arithmetic, is_exact_affordable
from didact.stages import stage
from didact.worlds.opening import named_world

log = logging.getLogger("didact")

Mask = NDArray[np.bool_]

EXACT_ENTRIES = 100_000
"""`auto` works exactly up to so many states times features of a task."""

FAMILY_EXACT_ENTRIES = 2_000_000
"""`auto` works exactly up to so many states times features of all members together."""

LONG = 60.0
"""Seconds from which exact work is announced before it begins."""

_ROW_SECONDS, _AT_FEATURES, _GROWTH = 3e-3, 35, 5.5
"""What one half-space takes with so many features, and the power with which that grows: measured on
random grids from 20 to 50 features. Below, half-spaces take no time worth an announcement."""


@dataclass(frozen=True, eq=False)
class Member:
    """A task in a class: what is optimal in it, and where its states begin.

    counts: exact successor features of the policy; None in floats.
    first: the number of its first state among those of all members.
    number: its number in a family; None for a task alone.
    """

    task: Task
    plan: Plan
    counts: ExactSuccessorFeatures | None
    first: int = 0
    number: int | None = None

    def own(self, demonstrations: Iterable[Demonstration]) -> list[Demonstration]:
        """The demonstrations of this member, in order."""
        return [d for d in demonstrations if self.number is None or d.member == self.number]


@dataclass(frozen=True, eq=False)
class EquivalenceClass:
    """The BEC: all rewards under which the same actions are optimal, in all members of a family.

    source: the task or the family whose class it is.
    members: each with what is optimal in it; a task is its own only member.
    rows: every half-space, mu(s, a) - mu(s, b), with who states it.
    cone: the class itself: equalities and facets, as row numbers.
    scope: 'reachable' or 'all': whose states' rows these are.
    """

    source: Task | Family
    members: tuple[Member, ...]
    rows: Rows
    cone: Cone
    scope: Scope

    _repr_html_ = in_notebook

    def __repr__(self) -> str:
        return f"EquivalenceClass({shown_name(self.name)!r}, {self.scope}, {self.cone!r})"

    @property
    def name(self) -> str:
        """The name of the task or of the family."""
        return self.source.name

    @property
    def is_family(self) -> bool:
        """Whether the class is of a family; statements then begin with the member."""
        return isinstance(self.source, Family)

    @property
    def task(self) -> Task:
        """The task that the class is of; refused for a family."""
        return self._only.task

    @property
    def family(self) -> Family:
        """The family that the class is of; refused for a task."""
        if not isinstance(self.source, Family):
            raise InvalidParameter("this needs the class of a family; this is the class of a task")
        return self.source

    @property
    def plan(self) -> Plan:
        """What is optimal in the task; refused for a family."""
        return self._only.plan

    @property
    def counts(self) -> ExactSuccessorFeatures | None:
        """Exact successor features of the task's policy, None in floats; refused for a family."""
        return self._only.counts

    @property
    def _only(self) -> Member:
        if self.is_family:
            raise InvalidParameter("this needs the class of a task; this is the class of a family")
        return self.members[0]

    @cached_property
    def optimal(self) -> Mask:
        """Which pairs (S, A) are optimal, states of all members one after the other."""
        return stacked(self.members, (member.plan.optimal for member in self.members))

    @property
    def arithmetic(self) -> str:
        """'exact' or 'float'."""
        return self.rows.arithmetic

    def as_demonstrations(self, given: Any) -> tuple[Demonstration, ...]:
        """Demonstrations of the task or of the family, checked.

        given: lists of (state, action) or (observation, action) pairs, a lesson, a recording, or
            the path of a file; for a family each with its member, as [member, pairs].
        """
        if isinstance(self.source, Family):
            return given_of_family(given, self.source)
        return given_demonstrations(given, self.source)

    def statement_of(self, row: int) -> tuple[int, ...]:
        """The first (state, action, other action) that states a row; in a family the member first.

        row: its number in `rows`.
        """
        return home_statement(self.members, self.rows.statement_of(row))

    def words_of(self, row: int) -> str:
        """What a row says about the features, in plain English.

        row: its number in `rows`.
        """
        state, _, _ = self.rows.statement_of(row)
        return row_words(self.cone, member_with(self.members, state).task, row)

    def to_records(self) -> list[dict[str, Any]]:
        """A row for each equality and facet: kind, words, who states it, and its normal.

        state, action, other, in a family after member: the first comparison of two actions that
        states it. normal: numbers by feature, fractions where the class is exact; it says that
        normal times weights is >= 0.
        """
        exact, records = self.rows.exact, []
        names = ("member", "state", "action", "other")
        kinds = {"equality": self.cone.equalities, "facet": self.cone.facet_rows()}
        for kind, row in ((kind, row) for kind, rows in kinds.items() for row in rows):
            statement = self.statement_of(row)
            records.append(
                {
                    "kind": kind,
                    "words": self.words_of(row),
                    **dict(zip(names[-len(statement) :], statement, strict=True)),
                    "normal": list(self.rows.normals[row] if exact is None else exact[row]),
                }
            )
        return records

    @property
    def n_close_calls(self) -> int:
        """How many decisions floats could not make; 0 in exact arithmetic.

        Actions too close to be told from ties, unless they count the same; rows too short to be
        told from none; facets and equalities within the tolerance of not being any.
        """
        if self.rows.exact is not None:
            return 0
        return self.rows.n_lost + self.cone.n_close + self._n_tied()

    def _n_tied(self) -> int:
        """Pairs of actions with different counts that were taken for ties without proof.

        Each of them states a row and its opposite, which are equalities or close calls themselves.
        """
        if not self.cone.equalities and not self.cone.n_close:
            return 0
        state, _, other = self.rows.statements.T
        proved = np.repeat(
            [member.plan.is_proved for member in self.members],
            [member.task.mdp.n_states for member in self.members],
        )
        tied = self.optimal[state, other] & (self.rows.number >= 0) & ~proved[state]
        return -(-int(np.count_nonzero(tied)) // 2)

    def plot(self, ax: Any = None, **style: Any) -> Any:
        """Draw the class in the plane of two weights, `weights=(0, 1)`.

        ax: Matplotlib axes, new ones by default; they are returned.
        style: options of `didact.plots.cone`.
        """
        return draw(self, ax, **style)


def require_class(task: Task | Family, bec: Any) -> None:
    """A task or a family, and a class of its kind where one is given."""
    is_family = isinstance(task, Family)
    if not is_family:
        as_task(task)
    if bec is None:
        return
    instance(bec, EquivalenceClass, "bec", "the result of equivalence_class")
    if bec.is_family != is_family:
        wanted = "a family" if is_family else "a task"
        raise InvalidParameter(f"bec must be the class of {wanted}; it is that of {bec.name!r}")


def class_of(task: Task | Family, bec: EquivalenceClass | None, **how: Any) -> EquivalenceClass:
    """The class that is given, which must be of that kind, or that of `equivalence_class`."""
    require_class(task, bec)
    return equivalence_class(task, **how) if bec is None else bec


@explains_names
def equivalence_class(
    task: Task | Family,
    *,
    scope: Scope = "reachable",
    arithmetic: Arithmetic = "auto",
    plan: Plan | None = None,
) -> EquivalenceClass:
    """BEC(pi*) of a task (Theorem 1), or of a family: what all its members' classes share.

    task: whose optimal behaviour makes the class: a task, or a family of tasks.
    scope: 'reachable', the states that the start can lead to, or 'all'.
    arithmetic: 'exact', 'float', or 'auto': exact while that is affordable, else floats.
    plan: the task's own solution, when it is at hand already; none for a family.
    """
    task = named_world(task) if isinstance(task, str) else task
    is_family = isinstance(task, Family)
    tasks = task.members if isinstance(task, Family) else (as_task(task),)
    choice(arithmetic, "arithmetic", get_args(Arithmetic))
    plans = _plans(tasks, arithmetic, plan, is_family=is_family)
    exact = arithmetic == "exact" or (arithmetic == "auto" and are_affordable(tasks, plans))
    stage("comparing actions: a row for each two")
    members = _members(tasks, plans, arithmetic if exact else "float", is_family=is_family)
    rows, weights = _rows_of(members, scope), task.true_weights
    seconds = expected_seconds(rows)
    if rows.exact is not None and arithmetic == "auto" and seconds > LONG:
        log.warning(
            "certificates for %s rows of %s features will take about %.0f minutes; with "
            "arithmetic='float' the class is numerical, not proved",
            rows.n_rows,
            rows.normals.shape[1],
            seconds / 60,
        )
    cone = cone_of(rows, weights)
    if cone.is_proved and cone.contains(weights) != "inside":
        raise AssertionError("the true weights must lie inside their own class")
    return EquivalenceClass(task, members, rows, cone, scope)


def _plans(
    tasks: Sequence[Task], arithmetic: Arithmetic, plan: Plan | None, *, is_family: bool
) -> list[Plan]:
    """The solutions of all members; of a task the given one, which must be proved for 'exact'."""
    if plan is None:
        stage("solving all members" if is_family else "solving")
        return [proved_plan(each, arithmetic) for each in tasks]
    if is_family:
        raise InvalidParameter("plan is of one task; leave it out for a family")
    instance(plan, Plan, "plan", "the result of solve")
    if arithmetic == "exact" and not plan.is_proved:
        raise InvalidParameter(
            "arithmetic 'exact' needs a plan whose optimal actions are proved; this one leaves "
            f"{plan.n_close - plan.n_settled} comparisons open. Leave plan out, or solve exactly"
        )
    return [plan]


def _members(
    tasks: Sequence[Task], plans: Sequence[Plan], arithmetic: Arithmetic, *, is_family: bool
) -> tuple[Member, ...]:
    """The members with exact successor features, or without any where `arithmetic` is 'float'."""
    members, first = [], 0
    for member, (task, plan) in enumerate(zip(tasks, plans, strict=True)):
        counts = None if arithmetic == "float" else exact_counts(task, plan, arithmetic)
        members.append(Member(task, plan, counts, first, member if is_family else None))
        first += task.mdp.n_states
    return tuple(members)


def _rows_of(members: Sequence[Member], scope: Scope) -> Rows:
    """The half-spaces of all members in one catalogue; features have one size for all of them."""
    scales = feature_scales(*(member.task.mdp for member in members))
    rows = [
        rows_from_counts(
            member.counts or float_successor_features(member.task.mdp, member.plan.policy),
            member.plan.optimal & scope_states(member.task.mdp, scope)[:, None],
            scales,
        )
        for member in members
    ]
    return rows[0] if len(rows) == 1 else joined_rows(rows, [member.first for member in members])


def expected_seconds(rows: Rows) -> float:
    """About how long certificates for all rows will take."""
    return float(rows.n_rows * _ROW_SECONDS * (rows.normals.shape[1] / _AT_FEATURES) ** _GROWTH)


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
    model, more = exact_model(task.mdp), multiplier_digits(task.mdp)
    followed = PolicyGraph.of(model, actions_by_state(plan.optimal))
    if arithmetic == "exact":
        require_writable(followed_digits(followed) + more)
    counts = ExactSuccessorFeatures.of(model, followed)
    require_writable(digits_with(counts) + more)
    return counts


def are_affordable(tasks: Sequence[Task], plans: Sequence[Plan]) -> bool:
    """Whether exact rows are at hand soon: proved, with no large systems or long numbers."""
    n_entries = [task.mdp.n_states * task.mdp.n_features for task in tasks]
    return sum(n_entries) <= FAMILY_EXACT_ENTRIES and all(
        n <= EXACT_ENTRIES
        and plan.is_proved
        and is_exact_affordable(task.mdp, plan.optimal)
        and expected_digits(task.mdp, plan) + multiplier_digits(task.mdp) <= MAX_WRITTEN_DIGITS
        for n, task, plan in zip(n_entries, tasks, plans, strict=True)
    )


def demonstration_class(
    task: Task | Family | EquivalenceClass, demonstrations: Any, *, scope: Scope | None = None
) -> Cone:
    """BEC(D | pi*): the cone of the rewards that fit demonstrations (Corollary 1).

    These are the half-spaces of the demonstrated state-action pairs alone. The cone contains the
    BEC of the task; a lesson is complete where both are equal (`cone.equals`).

    task: a task or a family; or its `equivalence_class`, which is then not computed again.
    demonstrations: lists of (state, action) pairs, a lesson, a recording, or the path of a file;
        every action must be optimal, and every state in scope.
    scope: 'reachable' (the default) or 'all' states; a class given as `task` has its own.
    """
    if isinstance(task, EquivalenceClass):
        bec = task
        if scope not in (None, bec.scope):
            raise InvalidParameter(
                f"scope is that of the class, {bec.scope!r}; it is {shown(scope)}. Leave it out"
            )
    else:
        bec = equivalence_class(task, scope="reachable" if scope is None else scope)
    checked = bec.as_demonstrations(demonstrations)
    return cone_of(demonstration_rows(bec, checked), bec.cone.true_weights)


def demonstration_rows(bec: EquivalenceClass, shown: tuple[Demonstration, ...]) -> Rows:
    """The part of the catalogue that demonstrations state, with its own row numbers."""
    require_shown_in_scope(bec, shown)
    return bec.rows.shown_part(shown_pairs(bec.members, shown, optimal=True))


def require_shown_in_scope(bec: EquivalenceClass, shown: Sequence[Demonstration]) -> None:
    """Refuse demonstrations of states that the class says nothing about."""
    for member in bec.members:
        mdp = member.task.mdp
        visited = demonstrated_pairs(mdp, member.own(shown)).any(axis=1)
        outside = np.flatnonzero(visited & ~showable_states(mdp, bec.scope))
        if outside.size:
            raise InvalidParameter(
                f"demonstrations must stay in scope {bec.scope!r}; "
                f"{state_words(member.task, int(outside[0]))} cannot be reached from the start. "
                "Use scope='all'"
            )


def member_with(members: Sequence[Member], state: int) -> Member:
    """The member that a state of the common numbering belongs to."""
    return members[bisect_right(members, state, key=lambda member: member.first) - 1]


def home_statement(members: Sequence[Member], statement: Sequence[int]) -> tuple[int, ...]:
    """(state, action, other) with the state's number at home; in a family the member before it."""
    state, action, other = statement
    member = member_with(members, state)
    at_home = (state - member.first, action, other)
    return at_home if member.number is None else (member.number, *at_home)


def most_actions(members: Sequence[Member]) -> int:
    """How many actions a pair's number allows for: the most of any member."""
    return max(member.task.mdp.n_actions for member in members)


def stacked(members: Sequence[Member], tables: Iterable[NDArray[Any]]) -> NDArray[Any]:
    """Tables of pairs (S, A) of the members as one of the common numbering; 0 of other actions."""
    width = most_actions(members)
    return np.vstack([np.pad(table, ((0, 0), (0, width - table.shape[1]))) for table in tables])


def shown_pairs(
    members: Sequence[Member], demonstrations: Sequence[Demonstration], *, optimal: bool = False
) -> Mask:
    """Which pairs of the common numbering are shown; with `optimal` all of them must be."""
    return stacked(
        members,
        (
            demonstrated_pairs(
                member.task, member.own(demonstrations), member.plan if optimal else None
            )
            for member in members
        ),
    )


def exact_gap(of: Member, state: int, action: int, better: int) -> Fraction | None:
    """w.(mu(s, better) - mu(s, a)): the value lost by one step, then acting optimally.

    None in float arithmetic.
    """
    if of.counts is None:
        return None
    counts = of.counts.pairs
    gap = dot(counts[state, better] - counts[state, action], as_rationals(of.task.true_weights))
    return Fraction(int(gap.p), int(gap.q))
