"""Rewards that explain a policy: weights for which it is optimal, or a proof that there are none.

Weights w make a policy optimal exactly when r.w >= 0 for every row r = mu(s, a) - mu(s, b), where a
is taken in s, b is any other action and mu are the policy's own successor features (Ng and Russell
2000). w = 0 always does, and so do weights that make all actions equal. What counts is whether some
w makes a row positive. By Farkas' lemma either there is one, or a combination of the rows with
positive multipliers for all of them is zero, and then r.w = 0 everywhere for every such w.

A policy that takes several actions in a state is optimal exactly when all of them are, whatever
their probabilities; so only which actions it takes counts.

**The nearest reward to a policy that no reward explains.** For weights w let gain(w) be what the
policy earns more than acting at random, and loss(w) what it earns less than the best, both summed
over the states in scope. The nearest weights have the least loss for gain 1: the policy then keeps
1 / (1 + loss) of what there is to gain. That is one linear program over weights and values:
minimise sum V(s) - w.mu(s) with V(s) >= w.phi(s, a) + discount * E[V(next)] for every action. A
policy that a reward explains keeps everything. Such weights lie where behaviours meet, so the
policy's own actions are taken where they are among the best there, and what is returned are weights
well inside the class of that nearest behaviour."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from didact.bec.classes import EXACT_ENTRIES
from didact.bec.halfspaces import Rows, Scope, rows_from_counts, scope_states
from didact.bec.linear import Inside, Multipliers, Row, decide, dot, point_on, primitive
from didact.bec.nnls import max_margin_point
from didact.bec.words import describe_half_space
from didact.errors import Unsupported
from didact.inputs import choice
from didact.mdp import MDP
from didact.numerics.exact import Floats
from didact.numerics.geometry import null_space
from didact.numerics.texts import number_text, short_repr
from didact.planning import (
    ExactSuccessorFeatures,
    as_policy,
    exact_successor_features,
    float_successor_features,
    solve,
)
from didact.planning.solve import Arithmetic, is_exact_affordable

FLOAT_MARGIN = 1e-9
"""In floats a margin below this is none."""
SPANNED = 1e-9
"""Singular values of unit rows below this are rounding."""
SHORT_DECIMALS = (1, 2, 3, 6, 12)
"""Weights are given with as few decimals as keep half of the margin."""
RATIONALISATION_FORMAT = "didact.rationalisation/1"
TIE = 1e-7
"""Actions whose values differ by less than this share of the largest value are both best: the
linear program returns weights where behaviours meet, up to its own rounding."""

Kind = Literal["unique", "tied", "any", "none"]


@dataclass(frozen=True)
class ActionComparison:
    """A taken action against another one, what it says of the reward, and its multiplier."""

    state: int
    action: int
    other: int
    multiplier: Fraction
    words: str

    __repr__ = short_repr


@dataclass(frozen=True, eq=False)
class Rationalisation:
    """Weights for which a policy is optimal, or why there are none.

    kind: 'unique' (the actions taken, and those with the same counts, are the only optimal ones),
    'tied' (others, in `tied_states`, are as good for every such reward), 'any' (the features tell
    no actions apart),
    or 'none' (only rewards that make all actions equal: no reward explains the policy).
    weights: as far inside as they can be; None for 'none'. margin: the smallest n.w over the unit
    rows n that can be positive, for w of length one.
    certificate: comparisons whose multiples add up to zero in every feature, so that none of them
    can be strict; all of them for 'none', those of forced ties, also of several actions that the
    policy takes in one state, for 'tied' and 'unique'. Empty in floats.
    contradiction: for 'none' a few comparisons that contradict each other.
    tied_states: where, for every reward that explains the policy, actions that it does not take
    are as good as those that it takes.
    """

    kind: Kind
    weights: tuple[Fraction, ...] | None
    margin: float
    certificate: tuple[ActionComparison, ...]
    contradiction: tuple[ActionComparison, ...]
    actions: tuple[tuple[int, ...], ...]
    tied_states: tuple[int, ...]
    n_statements: int
    n_rows: int
    scope: Scope
    arithmetic: str

    __repr__ = short_repr

    @property
    def explains(self) -> bool:
        """Whether some reward in the features explains the policy."""
        return self.weights is not None

    @property
    def is_proved(self) -> bool:
        """Whether the answer was decided in exact arithmetic."""
        return self.arithmetic == "exact"

    def document(self) -> dict[str, Any]:
        """The `didact.rationalisation/1` object; multipliers are of mu(s, a) - mu(s, b)."""
        weights = None if self.weights is None else [number_text(w) for w in self.weights]
        return {
            "format": RATIONALISATION_FORMAT,
            "kind": self.kind,
            "weights": weights,
            "margin": self.margin,
            "scope": self.scope,
            "arithmetic": self.arithmetic,
            "actions": [list(actions) for actions in self.actions],
            "tied_states": list(self.tied_states),
            "certificate": [
                [c.state, c.action, c.other, number_text(c.multiplier)] for c in self.certificate
            ],
            "contradiction": [
                {
                    "statement": [c.state, c.action, c.other],
                    "multiplier": number_text(c.multiplier),
                    "words": c.words,
                }
                for c in self.contradiction
            ],
        }


def rationalise(
    mdp: MDP, policy: Any, *, scope: Scope = "reachable", arithmetic: Arithmetic = "auto"
) -> Rationalisation:
    """Weights for which a policy is optimal in every state in scope, or the proof that none are.

    policy: any form that `as_policy` takes. `auto` works exactly while that is affordable.
    """
    choice(arithmetic, "arithmetic", get_args(Arithmetic))
    taken = as_policy(mdp, policy) > 0
    small = mdp.n_states * mdp.n_features <= EXACT_ENTRIES
    exact = arithmetic == "exact" or (
        arithmetic == "auto" and small and is_exact_affordable(mdp, taken)
    )
    equal = taken / np.maximum(taken.sum(axis=1, keepdims=True), 1)
    counts = exact_successor_features(mdp, equal) if exact else None
    rows = rows_from_counts(
        counts or float_successor_features(mdp, equal),
        taken & scope_states(mdp, scope)[:, None],
    )
    answer = _Answer(mdp, taken, rows, counts, scope)
    if not rows.n_rows:
        return answer.result("any", (Fraction(0),) * mdp.n_features, ())
    return _exactly(answer, rows.exact) if rows.exact is not None else _in_floats(answer)


@dataclass(frozen=True, eq=False)
class _Answer:
    """What all answers share; `result` makes one of them."""

    mdp: MDP
    taken: NDArray[np.bool_]
    rows: Rows
    counts: ExactSuccessorFeatures | None
    scope: Scope

    def result(
        self,
        kind: Kind,
        weights: tuple[Fraction, ...] | None,
        forced: Sequence[tuple[int, Fraction]],
        *,
        contradiction: Sequence[tuple[int, Fraction]] = (),
        margin: float = 0.0,
        zero: Sequence[int] = (),
    ) -> Rationalisation:
        states, _, others = self.rows.statements.T
        untaken, number = ~self.taken[states, others], self.rows.number
        if kind == "tied" and not (np.isin(number, zero) & untaken).any():
            kind = "unique"  # rows between actions that it takes alone are zero
        tied = np.unique(states[np.isin(number, [-1, *zero]) & untaken])
        return Rationalisation(
            kind=kind,
            weights=weights,
            margin=margin,
            certificate=tuple(self._comparison(*entry) for entry in forced),
            contradiction=tuple(self._comparison(*entry) for entry in contradiction),
            actions=tuple(tuple(np.flatnonzero(row).tolist()) for row in self.taken),
            tied_states=() if kind == "none" else tuple(tied.tolist()),
            n_statements=len(self.rows.statements),
            n_rows=self.rows.n_rows,
            scope=self.scope,
            arithmetic=self.rows.arithmetic,
        )

    def _comparison(self, row: int, share: Fraction) -> ActionComparison:
        assert self.rows.exact is not None
        assert self.counts is not None
        state, action, other = self.rows.statement_of(row)
        normal = self.counts.pairs[state, action] - self.counts.pairs[state, other]
        at = next(i for i, entry in enumerate(normal) if entry)
        length = Fraction(int(normal[at].p), int(normal[at].q)) / self.rows.exact[row][at]
        names = [self.mdp.feature_name(i) for i in range(self.mdp.n_features)]
        words = describe_half_space(
            self.rows.exact[row],
            names,
            kind="feature" if self.mdp.has_action_features else "state",
        )
        return ActionComparison(state, action, other, share / length, words)


def _exactly(answer: _Answer, exact: tuple[Row, ...]) -> Rationalisation:
    """Add witnesses until the rows that are still zero are proved to be zero for all weights."""
    weights = proposed_weights(exact, answer.rows.normals)
    while True:
        zero = [i for i, row in enumerate(exact) if dot(row, weights) == 0]
        if not zero:
            return _explained(answer, exact, weights, [], ())
        total = tuple(-sum(column) for column in zip(*(exact[i] for i in zero), strict=True))
        verdict = decide(exact, total)
        if isinstance(verdict, Inside):
            break
        weights = primitive([w + v for w, v in zip(weights, verdict.witness, strict=True)])
    forced = _forced(zero, verdict.multipliers)
    if len(zero) == len(exact):
        first = decide(exact, tuple(-entry for entry in exact[0]))
        assert isinstance(first, Inside)
        return answer.result("none", None, forced, contradiction=_forced([0], first.multipliers))
    return _explained(answer, exact, weights, zero, forced)


def _forced(zero: Sequence[int], found: Multipliers) -> tuple[tuple[int, Fraction], ...]:
    """The rows and positive multipliers that add up to zero: each zero row once, and the found."""
    shares = dict.fromkeys(zero, Fraction(1))
    for row, share in zip(found.indices, found.fractions, strict=True):
        shares[row] = shares.get(row, Fraction(0)) + share
    return tuple(sorted(shares.items()))


def _explained(
    answer: _Answer,
    exact: tuple[Row, ...],
    weights: Row,
    zero: Sequence[int],
    forced: Sequence[tuple[int, Fraction]],
) -> Rationalisation:
    """The answer with weights of few decimals and a large margin, checked row by row."""
    strict = sorted(set(range(len(exact))) - set(zero))
    normals = answer.rows.normals[strict]
    point = inner_point(normals, answer.rows.normals[list(zero)])
    best = tuple(Fraction(w, max(map(abs, weights))) for w in weights)
    for decimals in SHORT_DECIMALS if point is not None else ():
        assert point is not None
        found = rounded_weights([exact[i] for i in zero], point, decimals)
        whole = primitive(found)
        if any(whole) and all(dot(exact[i], whole) > 0 for i in strict):
            best = found
            if margin_of(normals, found) >= margin_of(normals, point) / 2:
                break
    return answer.result(
        "tied" if zero else "unique", best, forced, margin=margin_of(normals, best), zero=zero
    )


def _in_floats(answer: _Answer) -> Rationalisation:
    point, zero = point_inside(answer.rows.normals)
    if point is None:
        return answer.result("none", None, ())
    strict = np.delete(answer.rows.normals, zero, axis=0)
    weights = tuple(Fraction(repr(round(w, 9))) for w in (point / np.abs(point).max()).tolist())
    kind: Kind = "tied" if zero else "unique"
    return answer.result(kind, weights, (), margin=margin_of(strict, weights), zero=zero)


@dataclass(frozen=True, eq=False)
class NearestReward:
    """Weights under which a policy loses least.

    kept: the share of what there is to gain over acting at random that the policy keeps under
    these weights. differs: states in scope where it takes an action that is not optimal for them.
    n_states: how many states are in scope.
    """

    weights: tuple[Fraction, ...]
    kept: float
    differs: tuple[int, ...]
    n_states: int

    __repr__ = short_repr

    def document(self) -> dict[str, Any]:
        """The same for machines."""
        return {
            "weights": [number_text(w) for w in self.weights],
            "kept": self.kept,
            "differs": list(self.differs),
            "n_states": self.n_states,
        }


def nearest_reward(
    mdp: MDP, policy: Any, *, scope: Scope = "reachable", arithmetic: Arithmetic = "auto"
) -> NearestReward:
    """The weights under which the policy keeps the largest share of what there is to gain."""
    probabilities = as_policy(mdp, policy)
    inside = scope_states(mdp, scope)
    meeting = _least_loss(mdp, probabilities, inside)
    near = rationalise(
        mdp, _closest_behaviour(mdp, probabilities, meeting), scope=scope, arithmetic=arithmetic
    )
    largest = np.abs(meeting).max()
    weights = near.weights or tuple(Fraction(repr(float(w))) for w in meeting / largest)
    optimal = solve(mdp, list(weights)).optimal
    wrong = ((probabilities > 0) & ~optimal).any(axis=1) & inside
    return NearestReward(
        weights=weights,
        kept=_kept(mdp, probabilities, inside, [float(w) for w in weights]),
        differs=tuple(np.flatnonzero(wrong).tolist()),
        n_states=int(inside.sum()),
    )


def _least_loss(mdp: MDP, policy: Floats, inside: NDArray[np.bool_]) -> Floats:
    """Weights of least loss for a gain of 1 over acting at random."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_matrix, hstack, vstack

    n, m, k = mdp.n_states, mdp.n_actions, mdp.n_features
    own = float_successor_features(mdp, policy).states[inside].sum(axis=0)
    chance = float_successor_features(mdp, _at_random(mdp)).states[inside].sum(axis=0)
    gain = own - chance
    if np.abs(gain).max() <= 1e-9 * max(float(np.abs(own).max()), 1.0):
        raise Unsupported(
            "the policy collects the same features as acting at random, so no reward is nearest "
            "to it; teach another policy, or give features that tell them apart"
        )
    features = mdp.features.floats
    paid = features if features.ndim == 3 else np.repeat(features[:, None, :], m, axis=1)
    stays = csr_matrix((np.ones(n * m), (np.arange(n * m), np.repeat(np.arange(n), m))))
    ahead = mdp.discount * mdp.transitions.matrix() - stays
    going = np.repeat(~mdp.terminal, m)
    backups = hstack([csr_matrix(paid.reshape(n * m, k)[going]), ahead[going]])
    ends = np.flatnonzero(mdp.terminal)
    at_end = hstack([csr_matrix(-paid[ends, 0]), stays[ends * m]])
    found = linprog(
        np.concatenate([-own, inside.astype(float)]),
        A_ub=backups.tocsr(),
        b_ub=np.zeros(int(going.sum())),
        A_eq=vstack([csr_matrix(np.append(gain, np.zeros(n))), at_end]).tocsr(),
        b_eq=np.append(1.0, np.zeros(ends.size)),
        bounds=[(None, None)] * (k + n),
    )
    if found.status != 0:
        raise Unsupported(f"no nearest reward was found: {found.message}")
    return np.asarray(found.x[:k])


def _at_random(mdp: MDP) -> Floats:
    return np.where(mdp.terminal[:, None], 0.0, np.full((1, mdp.n_actions), 1 / mdp.n_actions))


def _closest_behaviour(mdp: MDP, policy: Floats, weights: Floats) -> Floats:
    """The policy's own actions where some are best for the weights, else the first best action."""
    values = solve(mdp, weights, arithmetic="float").action_values
    best = values >= values.max(axis=1, keepdims=True) - TIE * max(np.abs(values).max(), 1e-300)
    kept = np.where(best, policy, 0.0)
    kept[np.arange(mdp.n_states), values.argmax(axis=1)] += kept.sum(axis=1) == 0
    kept[mdp.terminal] = 0.0
    return np.asarray(kept / np.where(mdp.terminal, 1.0, kept.sum(axis=1))[:, None])


def _kept(mdp: MDP, policy: Floats, inside: NDArray[np.bool_], weights: list[float]) -> float:
    """(policy - random) / (best - random), summed over the states in scope."""
    earned = [
        float((float_successor_features(mdp, p).states[inside] @ np.array(weights)).sum())
        for p in (policy, _at_random(mdp), solve(mdp, weights).policy)
    ]
    own, chance, best = earned
    return (own - chance) / (best - chance) if best > chance else 1.0


# Weights inside half-spaces, as floats propose them


def inner_point(strict: Floats, zero: Floats) -> Floats | None:
    """The maximum-margin weights of strict rows among those where the other rows are zero.

    None where their margin is not positive.
    """
    basis = null_space(zero, SPANNED)
    if not len(basis):
        return None
    point = np.asarray(max_margin_point(strict @ basis.T) @ basis)
    return point if (strict @ point).min(initial=1.0) > FLOAT_MARGIN else None


def zero_rows(normals: Floats) -> list[int]:
    """Rows that are zero for all weights that satisfy every row, as floats see it.

    The largest sum of min(1, n.w) makes every row 1 that can be positive at all.
    """
    from scipy.optimize import linprog
    from scipy.sparse import csr_matrix, hstack, identity

    m, k = normals.shape
    found = linprog(
        np.concatenate([np.zeros(k), -np.ones(m)]),
        A_ub=hstack([csr_matrix(-normals), identity(m)]).tocsr(),
        b_ub=np.zeros(m),
        bounds=[(None, None)] * k + [(0.0, 1.0)] * m,
    )
    if found.status != 0:
        return list(range(m))
    return [int(i) for i in np.flatnonzero(found.x[k:] < 0.5)]


def rounded_weights(zero: Sequence[Row], point: Floats, decimals: int) -> tuple[Fraction, ...]:
    """Weights near a point with few decimals that satisfy the equalities exactly."""
    scaled = point / np.abs(point).max()
    entries = [Fraction(round(x * 10**decimals), 10**decimals) for x in scaled.tolist()]
    return tuple(point_on(zero, entries))


def margin_of(normals: Floats, weights: Any) -> float:
    """The smallest n.w over unit normals, for the weights scaled to length one."""
    floats = np.array([float(w) for w in weights])
    return float((normals @ floats).min() / np.linalg.norm(floats))


def point_inside(normals: Floats) -> tuple[Floats | None, list[int]]:
    """The maximum-margin point of the rows that can be positive, and the rows that cannot be.

    No point where none can, or where floats find none.
    """
    point = inner_point(normals, normals[:0])
    if point is not None:
        return point, []
    zero = zero_rows(normals)
    if len(zero) == len(normals):
        return None, zero
    return inner_point(np.delete(normals, zero, axis=0), normals[zero]), zero


def proposed_weights(exact: tuple[Row, ...], normals: Floats) -> Row:
    """Weights that floats take for a point inside, if they satisfy every row exactly, else 0."""
    nothing = (0,) * len(exact[0])
    point, zero = point_inside(normals)
    if point is None:
        return nothing
    found = primitive(rounded_weights([exact[i] for i in zero], point, SHORT_DECIMALS[-1]))
    return found if all(dot(row, found) >= 0 for row in exact) else nothing
