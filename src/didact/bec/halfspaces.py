"""Half-space normals of a policy (Theorem 1) and of demonstrations (Corollary 1).

A statement (s, a, b) says that a, optimal in s, is at least as good as b there: its normal is
mu(s, a) - mu(s, b). Statements with the same direction share one row number; above this file
half-spaces are row numbers. Zero normals say nothing and carry the number -1.

**Ng and Russell's matrix form** (the appendix's corollary to Theorem 1). A policy pi is optimal for
the state rewards R if and only if, for every action a,

    (T_pi - T_a) (I - discount T_pi)^-1 R >= 0,

with T_a the transition matrix of always taking a. With R = Phi w the rows of
(T_pi - T_a) (I - discount T_pi)^-1 Phi are half-space normals: (I - discount T_pi)^-1 Phi are the
successor features mu(s), so the row of (s, a), multiplied by the discount, is
E[mu(s, pi(s))] - mu(s, a), the normal of Theorem 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, reduce
from itertools import pairwise
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from didact.bec.directions import TOLERANCE, label_units, lengths_of, unit_rows
from didact.bec.linear import Row, integers, primitive, unit_floats
from didact.errors import InvalidModel, Unsupported
from didact.inputs import choice, counted
from didact.mdp import MDP, Demonstration, Task, as_mdp
from didact.mdp.model import deciding_states
from didact.mdp.naming import pair_words, step_words
from didact.numerics.exact import Floats
from didact.planning import (
    ExactSuccessorFeatures,
    Plan,
    SuccessorFeatures,
    float_successor_features,
    reachable_states,
    solve,
)
from didact.planning.kernels import feature_sizes
from didact.planning.policies import as_policy
from didact.planning.solve import policy_matrix
from didact.random import stream

ROUNDING = 2.0**-49
"""Beside the counts, what their last digits make of a difference that is zero."""
MANY_STEPS = 64
"""Roundings that may pile up in the counts of a pair."""
SHORTEST = 1e-9
"""Shorter rows, as a share of the longest, are lost."""
LARGEST_DOUBT = 1e-6
"""Where counts may be wrong by a larger share of a step, what looks like nothing may be some."""
FAINTEST = 1e-9
"""A difference of features that is discounted below it may drown in what comes before it."""

MUCH = 64.0
"""Features whose sizes differ by a larger factor are balanced."""

Scope = Literal["reachable", "all"]
Indices = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Rows:
    """The catalogue: distinct directions, and which statement says which.

    normals: (m, k) unit rows as floats. exact: the same as primitive integer vectors, or None in
    float arithmetic. statements: (n, 3) of (state, action, other action), in that order.
    number: (n,) the row of each statement, -1 where its normal is zero.
    error_bound: the angle by which rounding may have turned a normal; 0 in exact arithmetic.
    spread: the largest angle between normals that were taken for one row.
    n_lost: statements whose normals floats take for zero though they may not be.
    strict: (m,) rows that speak against a worse action, so that the true weights satisfy them with
    room to spare; None in exact arithmetic.
    scales: (k,) sizes of the features, powers of two; None where they are all alike. Angles are
    measured between `balanced` rows, so that no choice of units hides a feature.
    noise: the angle by which the last digits of the counts turn the shortest row; `error_bound`
    is proved and far larger.
    """

    normals: Floats
    exact: tuple[Row, ...] | None
    statements: Indices
    number: Indices
    error_bound: float = 0.0
    spread: float = 0.0
    n_lost: int = 0
    strict: NDArray[np.bool_] | None = None
    scales: Floats | None = None
    noise: float = 0.0

    @cached_property
    def balanced(self) -> Floats:
        """Unit rows (m, k) of features that are scaled to size one; weights then times `scales`."""
        if self.scales is None:
            return self.normals
        return unit_rows(self.normals / self.scales)

    def balanced_weights(self, weights: Floats) -> Floats:
        """The weights that say of balanced rows what these say of normals."""
        return weights if self.scales is None else np.asarray(weights * self.scales)

    def unbalanced_weights(self, weights: Floats) -> Floats:
        """The weights whose `balanced_weights` these are."""
        return weights if self.scales is None else np.asarray(weights / self.scales)

    def __repr__(self) -> str:
        of = counted(self.normals.shape[1], "weight")
        return f"Rows({counted(self.n_rows, 'half-space')} of {of}, {self.arithmetic})"

    @property
    def arithmetic(self) -> str:
        """'exact' or 'float'."""
        return "float" if self.exact is None else "exact"

    @property
    def n_rows(self) -> int:
        """How many distinct directions there are."""
        return int(self.normals.shape[0])

    def statement_of(self, row: int) -> tuple[int, int, int]:
        """The first (state, action, other action) that states a row."""
        state, action, other = self.statements[int(np.argmax(self.number == row))]
        return int(state), int(action), int(other)

    def stated_by(self, shown: NDArray[np.bool_]) -> Indices:
        """The rows that showing pairs (S, A) states, ascending."""
        hit = shown[self.statements[:, 0], self.statements[:, 1]]
        found = np.unique(self.number[hit])
        return np.asarray(found[found >= 0])

    def shown_part(self, shown: NDArray[np.bool_]) -> Rows:
        """The catalogue of the shown pairs (S, A) alone, rows numbered anew in the same order."""
        hit = shown[self.statements[:, 0], self.statements[:, 1]]
        kept = self.stated_by(shown)
        renamed = np.full(self.n_rows + 1, -1, dtype=np.int64)
        renamed[kept] = np.arange(kept.size)
        return replace(
            self,
            normals=self.normals[kept],
            exact=None if self.exact is None else tuple(self.exact[row] for row in kept),
            statements=self.statements[hit],
            number=renamed[self.number[hit]],
            strict=None if self.strict is None else self.strict[kept],
        )


def scope_states(mdp: MDP, scope: Scope) -> NDArray[np.bool_]:
    """Which states' rows count: reachable under any policy, or all; never terminal or idle ones."""
    if choice(scope, "scope", get_args(Scope)) == "reachable":
        return reachable_states(mdp) & ~mdp.terminal
    return deciding_states(mdp)


def showable_states(mdp: MDP, scope: Scope) -> NDArray[np.bool_]:
    """Which states demonstrations may visit: those in scope, and with 'all' idle ones too.

    Steps in idle states say nothing and do no harm.
    """
    return ~mdp.terminal if scope == "all" else scope_states(mdp, scope)


def rows_from_counts(
    counts: ExactSuccessorFeatures | SuccessorFeatures,
    shown: NDArray[np.bool_],
    scales: Floats | None = None,
) -> Rows:
    """Rows of the shown pairs (S, A) from successor features of pairs (S, A, k).

    shown: all optimal actions of every state that counts. scales: those of `feature_scales`; only
    floats need them.
    """
    others = ~np.eye(shown.shape[1], dtype=np.bool_)
    statements = np.argwhere(shown[:, :, None] & others)  # every shown pair, every other action
    if isinstance(counts, SuccessorFeatures):
        return _float_rows(counts, statements, shown, scales)
    number_of: dict[Row, int] = {}
    number = np.empty(len(statements), dtype=np.int64)
    for i, row in enumerate(_exact_normals(counts, statements)):
        number[i] = number_of.setdefault(row, len(number_of)) if any(row) else -1
    exact = tuple(number_of)
    normals = unit_floats(exact) if exact else np.zeros((0, counts.states.shape[1]))
    return Rows(normals, exact, statements, number)


def _exact_normals(counts: ExactSuccessorFeatures, statements: Indices) -> Iterator[Row]:
    """The direction of mu(s, a) - mu(s, b) for each statement, as a primitive vector."""
    from flint import fmpq_mat

    _, n_actions, k = counts.pairs.shape
    at: list[Row] = []
    before = -1
    for state, action, other in statements.tolist():
        if state != before:  # one denominator for each state: differences are of whole numbers
            rationals = fmpq_mat(n_actions, k, counts.pairs[state].ravel().tolist())
            at, before = integers(rationals.numer_denom()[0]), state
        yield primitive([a - b for a, b in zip(at[action], at[other], strict=True)])


def feature_scales(*models: MDP) -> Floats | None:
    """The size of each feature as a power of two, (k,); None where all sizes are alike.

    Of several models it is the largest size that a feature has in any of them.
    """
    sizes = reduce(np.maximum, [feature_sizes(mdp) for mdp in models])
    largest = float(sizes.max(initial=0.0))
    sizes = np.where(sizes > 0.0, sizes, largest)
    if not sizes.min(initial=largest) * MUCH < largest:
        return None
    return np.asarray(np.ldexp(1.0, np.frexp(sizes)[1]))


def _float_rows(
    counts: SuccessorFeatures,
    statements: Indices,
    shown: NDArray[np.bool_],
    scales: Floats | None,
) -> Rows:
    """Differences that the error bound cannot tell from zero are zero rows.

    An action that is not shown is worse, so its row is not zero: if it looks so, it is lost. So is
    a difference within the bound on its own errors that does not look like nothing, and every row
    that the last digits of the counts may have made, hidden or turned.
    """
    states, actions, others = statements.T
    compared, error_bounds = counts.comparable()
    pairs = compared.reshape(-1, compared.shape[2])
    first_pairs = states * shown.shape[1]
    own_pairs, other_pairs = first_pairs + actions, first_pairs + others
    raw = pairs.take(own_pairs, axis=0)
    raw -= pairs.take(other_pairs, axis=0)
    doubts = 2 * error_bounds
    sizes = np.abs(pairs).max(axis=0, initial=0.0)
    paid = _paid_in_scope(counts.mdp, shown)
    if scales is not None:
        raw, doubts, sizes, paid = (x / scales for x in (raw, doubts, sizes, paid))
    length, doubt = lengths_of(raw), math.sqrt(doubts @ doubts)
    longest = float(length.max(initial=0.0))
    firm = ((length > 4 * doubt) & (length > SHORTEST * longest)).nonzero()[0]
    units, lengths = raw[firm], length[firm]
    units /= lengths[:, None]
    labels, first = label_units(units)
    number = np.full(len(statements), -1, dtype=np.int64)
    number[firm] = labels
    distinct = units[first]
    worse = ~shown.ravel()[other_pairs]
    strict = np.zeros(len(first), dtype=np.bool_)
    strict[number[worse & (number >= 0)]] = True
    none = (number < 0).nonzero()[0]
    is_long = length[none] > SHORTEST * longest
    lost = worse[none] | _differs(raw[none], sizes, doubts, is_long=is_long)
    # Real errors are near the last digits of the counts, far below the bound on them. Where either
    # is no small part of what one step pays, only equal steps are known to count the same.
    noise = ROUNDING * math.sqrt(sizes @ sizes)
    step = math.sqrt(paid @ paid) * (1.0 if counts.mdp.has_action_features else counts.mdp.discount)
    if noise > SHORTEST * step or doubt > LARGEST_DOUBT * step:
        kinds = _step_kinds(counts.mdp)
        lost |= kinds[own_pairs[none]] != kinds[other_pairs[none]]
    # Rows of one direction differ by rounding alone; else they are two that were taken for one.
    # Each feature is held against its own digits: a small entry beside large ones is as exact.
    angles = noise / lengths
    between = np.abs(units - distinct[labels])
    rounded = MANY_STEPS * ROUNDING * (sizes / lengths[:, None] + np.abs(units))
    turned = (angles > TOLERANCE) | (between > rounded).any(axis=1)
    if raw.shape[1] > 1:  # one feature has two directions only
        is_shared = np.bincount(labels, minlength=len(first))[labels] > 1
        turned |= is_shared & (doubt / lengths > LARGEST_DOUBT)
    n_lost = int(np.count_nonzero(lost)) + int(np.count_nonzero(turned))
    return Rows(
        distinct if scales is None else unit_rows(distinct * scales),
        None,
        statements,
        number,
        error_bound=float(doubt / lengths.min(initial=np.inf)),
        spread=float(lengths_of(between).max(initial=0.0)),
        n_lost=n_lost + int(not _sees_all(counts.mdp, counts.policy)),
        strict=strict,
        scales=scales,
        noise=float(angles.max(initial=0.0)),
    )


def _paid_in_scope(mdp: MDP, shown: NDArray[np.bool_]) -> Floats:
    """The largest |phi_j| of states where pairs (S, A) are shown, and of those that follow them."""
    met = np.asarray(shown.any(axis=1))
    moves = mdp.transitions
    leads = np.repeat(np.repeat(met, mdp.n_actions), np.diff(moves.offsets))
    met[moves.successors[leads]] = True
    features = np.abs(mdp.features.floats[met]).reshape(-1, mdp.n_features)
    return np.asarray(features.max(axis=0, initial=0.0))


def _step_kinds(mdp: MDP) -> Indices:
    """A number for each pair (S * A,): pairs of one number pay and lead on the same, exactly."""
    offsets, successors = mdp.transitions.offsets.tolist(), mdp.transitions.successors.tolist()
    codes = mdp.transitions.exact()[1].tolist()
    features = mdp.features.floats.reshape(-1, mdp.n_features)
    places = np.arange(mdp.n_states * mdp.n_actions)
    paid = features[places if mdp.has_action_features else places // mdp.n_actions].tolist()
    kinds: dict[Any, int] = {}
    return np.array(
        [
            kinds.setdefault(
                (*paid[row], *sorted(zip(successors[low:high], codes[low:high], strict=True))),
                len(kinds),
            )
            for row, (low, high) in enumerate(pairwise(offsets))
        ],
        dtype=np.int64,
    )


def _sees_all(mdp: MDP, policy: Floats) -> bool:
    """Whether the features that tell two states apart are discounted so little that floats see it.

    Moore's refinement: states are told apart by what they pay, then by where they lead, until
    nothing changes. What is first seen after n steps is discounted n times.
    """
    discount = mdp.discount
    if discount == 0.0 or discount**mdp.n_states >= FAINTEST:
        return True
    moves = policy_matrix(mdp, policy)
    paid = mdp.features.floats
    if paid.ndim == 3:
        paid = np.einsum("sa,sak->sk", policy, paid) + mdp.terminal[:, None] * paid[:, 0]
    classes = np.unique(paid, axis=0, return_inverse=True)[1].ravel()
    rng = stream(0, "classes of states")
    seen = discount  # sums of rows may agree in what is first seen and differ one step later
    while seen >= FAINTEST:
        n_classes = int(classes.max()) + 1
        # A random number for each class: equal sums are equal chances of the classes, but for luck.
        after = np.round(moves @ rng.random(n_classes)[classes], 9)
        joined = np.column_stack([classes, after])
        classes = np.unique(joined, axis=0, return_inverse=True)[1].ravel()
        if int(classes.max()) + 1 == n_classes:
            return True
        seen *= discount
    return False


def _differs(
    raw: Floats, sizes: Floats, doubts: Floats, *, is_long: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Which differences do not look like nothing.

    They are no rounding beside the longest row and beside the counts; or no rounding of many steps
    beside the counts alone; or within the bounds of all features together, but not of each.
    """
    is_rounding = (np.abs(raw) <= ROUNDING * sizes).all(axis=1)
    is_long = is_long | (np.abs(raw) > MANY_STEPS * ROUNDING * sizes).any(axis=1)
    beyond = (np.abs(raw) > 1.001 * doubts).any(axis=1)
    return np.asarray((is_long & ~is_rounding) | beyond)


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
    if parts[0].exact is None:
        labels, joined = _float_labels(parts)
    else:
        number_of: dict[Row, int] = {}
        rows = [row for part in parts for row in part.exact or ()]
        labels = np.array([number_of.setdefault(r, len(number_of)) for r in rows], dtype=np.int64)
        joined = replace(parts[0], exact=tuple(number_of))
    ends = np.cumsum([part.n_rows for part in parts])
    number = [
        np.append(own, -1)[part.number]  # -1, of zero normals, stays
        for part, own in zip(parts, np.split(labels, ends[:-1]), strict=True)
    ]
    normals = np.vstack([part.normals for part in parts])[np.unique(labels, return_index=True)[1]]
    return replace(joined, normals=normals, statements=statements, number=np.concatenate(number))


def _float_labels(parts: Sequence[Rows]) -> tuple[Indices, Rows]:
    """The number of every row of every part, and the first part with the evidence of all."""
    balanced = np.vstack([part.balanced for part in parts])
    labels, first = label_units(balanced)
    strict = np.zeros(len(first), dtype=np.bool_)
    strict[labels[np.concatenate([p.strict for p in parts if p.strict is not None])]] = True
    apart = lengths_of(balanced - balanced[first][labels])
    noise = max(part.noise for part in parts)
    n_apart = int(np.count_nonzero(apart > 4 * noise + 8 * ROUNDING))
    return labels, replace(
        parts[0],
        error_bound=max(part.error_bound for part in parts),
        spread=max(part.spread for part in parts) + float(apart.max(initial=0.0)),
        n_lost=sum(part.n_lost for part in parts) + n_apart,
        strict=strict,
        noise=noise,
    )


def demonstrated_pairs(
    where: MDP | Task, demonstrations: Sequence[Demonstration], plan: Plan | None = None
) -> NDArray[np.bool_]:
    """Which pairs (S, A) are shown; with a plan, every shown action must be optimal."""
    mdp = as_mdp(where)
    shown = np.zeros((mdp.n_states, mdp.n_actions), dtype=np.bool_)
    for i, demonstration in enumerate(demonstrations):
        for step, (state, action) in enumerate(demonstration):
            if plan is not None and not plan.optimal[state, action]:
                raise InvalidModel(
                    f"{step_words(i, step)} must show an optimal action; "
                    f"{pair_words(where, state, action)} is not optimal"
                )
            shown[state, action] = True
    return shown


def as_row(values: Iterable[Any]) -> Row:
    """Weights or a normal as the primitive integer vector of the same direction."""
    return primitive([v if isinstance(v, int) else Fraction(v) for v in values])


def ng_russell(task: MDP | Task, policy: Any = None) -> Floats:
    """Half-space normals (T_pi - T_a) (I - discount T_pi)^-1 Phi, shape (A, S, k), in floats.

    Weights w make the policy optimal if and only if all entries of `ng_russell(task, policy) @ w`
    are at least 0, up to rounding. Rows of terminal states, and of the policy's own action where
    it is deterministic, are 0. Source: the appendix, Example.

    task: an MDP or a task, whose features are of states, as in the paper.
    policy: in any form that `evaluate` takes; by default the task's optimal policy.
    """
    mdp = as_mdp(task)
    if mdp.has_action_features:
        raise Unsupported(
            "ng_russell is for rewards of states, as in the paper; these features are of "
            "state-action pairs. Use equivalence_class"
        )
    if policy is None:
        if not isinstance(task, Task):
            raise Unsupported("an MDP has no weights, so no optimal policy; give a policy")
        policy = solve(mdp, task.true_weights)
    chances = as_policy(mdp, policy)
    after = mdp.transitions.matrix() @ float_successor_features(mdp, chances).states
    by_action = after.reshape(mdp.n_states, mdp.n_actions, mdp.n_features)
    followed = np.einsum("sa,sak->sk", chances, by_action)
    return np.ascontiguousarray((followed[:, None, :] - by_action).transpose(1, 0, 2))
