"""The weight space of a task: which weights lead to which policy, in the directions that rows see.

Weights w and w + u lead to the same policies when u pays every policy the same from every state.
Such u are those that the uniformly random policy does not tell apart either: if some action were
better than another under u and the random policy's continuation, taking it more often would pay
more. So the span of that policy's rows, mu(s, a) - mu(s), is all that matters, and in it each cell
of a policy is a pointed cone.

Losses are from the start, so where states that it cannot lead to do not count (scope 'reachable')
their features are taken as 0: a payment that nobody can reach would only make tolerances large.

Floats see a row where it is long beside the longest (`SHOWS`). A shorter one may still be longer
than its own rounding, which is as large as the counts that it is a difference of: then it is a
close call. So is everything where the discount is so near 1, or values are so uncertain, that
rounding is as large as differences between actions.

The weight space of a family has one for each member, and what is lost is the most that is lost
in any of them: as a share of the member's own spread, or as an amount of return.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from didact.bec.classes import EquivalenceClass, Member, most_actions, stacked
from didact.bec.halfspaces import Scope, scope_states
from didact.mdp import MDP, Task
from didact.numerics.exact import Floats, Numbers
from didact.numerics.geometry import singular_directions
from didact.planning.batch import Losses, Lost
from didact.planning.exact import as_rationals
from didact.planning.kernels import UNIT, feature_sizes
from didact.planning.loss import action_gaps
from didact.planning.paths import as_reached, feature_sizes_met, reachable_states
from didact.planning.solve import discounted_sums, solve
from didact.planning.successor import features_after, float_successor_features
from didact.random import stream

VANISHES = 1e-11
"""Shorter vectors, beside the longest there could be, are zero."""
SHOWS = 1e-9
"""Longer ones are not; between the two it is a close call."""
NOTHING = 1e-12
"""Smaller spreads, as a share of the largest value, are rounding: there is nothing to lose."""
UNCERTAIN = 1e-7
"""Losses that are known to no more than this share of the spread are close calls ..."""
LEAST_GAP = 1e-5
"""... and so is everything with a smaller 1 - discount: ties are shares of values, not of gaps."""
BEYOND = 1e3
"""How many times larger features that are never met may be than those that are."""

Policy = NDArray[np.uint32]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class WeightSpace:
    """The policies of a task or of a family as functions of the weights.

    member: the task; of a family None. losses: `Losses`, or `FamilyLosses`. basis: (d, k),
    orthonormal rows that span what weights can matter by. truth: (k,), the part of the true weights
    in it, of length one. spread: V* - V of the uniformly random policy, in the unit of losses.
    worst: the most that any policy loses. n_close: close calls that finding the basis took.
    members: of a family, their weight spaces.
    """

    bec: EquivalenceClass
    member: Member | None
    losses: Any
    states: Mask
    basis: Floats
    truth: Floats
    spread: float
    worst: float
    n_close: int
    members: tuple[WeightSpace, ...] = ()

    @property
    def single(self) -> tuple[WeightSpace, ...]:
        """The weight space itself, or those of the members: each of one task."""
        return self.members or (self,)

    @property
    def n_pairs(self) -> int:
        """How many pairs there are in the common numbering of all members."""
        return len(self.states) * most_actions(self.bec.members)

    def planned(self, weights: tuple[Fraction, ...]) -> tuple[Mask, float] | None:
        """In exact numbers the optimal pairs of weights, (n_pairs,), and the least that is lost.

        None where some of them are not proved.
        """
        numbers = Numbers.of_results(weights)
        plans = [solve(member.task.mdp, numbers) for member in self.bec.members]
        if not all(plan.is_proved for plan in plans):
            return None
        pairs = zip(self.single, plans, strict=True)
        lost = max(space.losses.among(plan.optimal) for space, plan in pairs)
        return stacked(self.bec.members, (plan.optimal for plan in plans)).ravel(), lost

    @property
    def dimension(self) -> int:
        """Of the space of weights that matter."""
        return len(self.basis)

    @property
    def task(self) -> Task:
        """The task, where it is of one."""
        assert self.member is not None
        return self.member.task

    def rows_of(self, policy: Policy) -> tuple[Floats, Floats]:
        """mu(s, pi(s)) - mu(s, b) of a policy that takes one action, (n, k): its cell's rows.

        States that count only. Beside them how long the counts are that each is a difference of.
        """
        mdp = self.task.mdp
        states, pairs = np.arange(mdp.n_states), features_after(mdp, policy)
        rows = (pairs[states, policy][:, None] - pairs)[self.states].reshape(-1, mdp.n_features)
        lengths = np.linalg.norm(pairs, axis=2)
        sizes = np.maximum(lengths, lengths[states, policy][:, None])[self.states].ravel()
        return np.asarray(rows), np.asarray(sizes)


def weight_space(bec: EquivalenceClass, *, shares: bool = True) -> WeightSpace:
    """The weight space of a class of a task, where losses are amounts, or of a family.

    shares: whether losses in a family are shares of the members' own spreads, else amounts.
    """
    if bec.is_family:
        return _of_family(bec, shares=shares)
    return _of_member(bec, bec.members[0], bec.scope, shares=False)


def doubtful(lengths: Floats, sizes: Floats, longest: float) -> int:
    """How many rows are too short beside the longest to be seen, and longer than rounding.

    sizes: how long the counts are that the rows are differences of.
    """
    least = VANISHES * np.minimum(sizes, longest)
    return int(np.count_nonzero((lengths > least) & (lengths <= SHOWS * longest)))


def _of_member(bec: EquivalenceClass, member: Member, scope: Scope, *, shares: bool) -> WeightSpace:
    states = scope_states(member.task.mdp, scope)
    member, n_close = _as_reached(member, scope)
    task, plan = member.task, member.plan
    mdp = task.mdp
    uniform = np.full((mdp.n_states, mdp.n_actions), 1.0 / mdp.n_actions)
    uniform[mdp.terminal] = 0.0
    counts = float_successor_features(mdp, uniform)
    rows = (counts.pairs - counts.states[:, None])[states].reshape(-1, mdp.n_features)
    lengths = np.linalg.norm(rows, axis=1)
    sizes = np.maximum(
        np.linalg.norm(counts.pairs, axis=2), np.linalg.norm(counts.states, axis=1)[:, None]
    )[states].ravel()
    n_close += doubtful(lengths, sizes, float(lengths.max(initial=0.0)))
    basis, n_unclear = _spanning(rows)
    n_close += n_unclear + int(_balanced_rank(rows, lengths, mdp) != len(basis))
    truth = (task.weights @ basis.T) @ basis
    length = float(np.linalg.norm(truth))
    gaps, error = _gaps(member, states)
    expected = (uniform * gaps).sum(axis=1)
    spread = float(mdp.start.floats @ discounted_sums(mdp, uniform, expected[:, None])[:, 0])
    spread = max(spread, 0.0)
    matters = spread > NOTHING * float(np.abs(plan.values).max(initial=0.0))
    losses = Losses(task, gaps, spread if shares and matters else 1.0)
    worst = losses.most() if length > 0.0 else 0.0
    truth = truth / (length or 1.0)
    if not plan.optimal[states].all():
        is_unsure = not error <= UNCERTAIN * (1.0 - mdp.discount) * spread
        n_close += int(1.0 - mdp.discount < LEAST_GAP) + int(is_unsure)
        sizes = np.abs(task.weights[task.weights != 0.0])
        n_close += int(float(sizes.min(initial=1.0)) <= SHOWS * float(sizes.max(initial=0.0)))
        n_close += int(_least_share(mdp, states) <= UNCERTAIN)
    spread /= losses.unit
    return WeightSpace(bec, member, losses, states, basis, truth, spread, worst, n_close)


def _gaps(member: Member, states: Mask) -> tuple[Floats, float]:
    """V*(s) - Q*(s, a), shape (S, A), and a bound on their errors.

    From exact counts where floats do not tell a gap from rounding: a gap of 1e-18 beside values
    of 1 is 0 in floats.
    """
    plan = member.plan
    gaps, error = action_gaps(plan), 4.0 * plan.error_bound
    worse = states[:, None] & ~plan.optimal
    if member.counts is None or not (worse & (gaps * UNCERTAIN <= error)).any():
        return gaps, error
    weights = np.array(as_rationals(member.task.true_weights), dtype=object)
    for state in np.flatnonzero(worse.any(axis=1)).tolist():
        values = member.counts.pairs[state] @ weights
        gaps[state] = [float(Fraction(int(g.p), int(g.q))) for g in max(values) - values]
    return gaps, 4.0 * UNIT * float(gaps[states].max(initial=0.0))


def _least_share(mdp: MDP, states: Mask) -> float:
    """How small a share of values a difference between two actions may be, roughly.

    What follows from actions may differ first after some steps, with some probability, and in small
    features only. The steps are those after which states that are alike so far (features, and where
    actions lead) are alike for ever.
    """
    met = states | mdp.terminal
    phi = np.abs(mdp.features.floats.reshape(mdp.n_states, -1, mdp.n_features))[met]
    largest = (*phi.max(axis=2).ravel().tolist(), *phi.max(axis=(0, 1)).tolist())
    sizes = [float(size) for size in largest if size > 0.0]
    if not sizes or not mdp.discount:
        return min(sizes, default=1.0) / max(sizes, default=1.0)
    _, alike = np.unique(mdp.features.floats.reshape(mdp.n_states, -1), axis=0, return_inverse=True)
    alike, n_steps = alike.ravel(), 2  # one to be somewhere else, one to tell rows apart
    moves, rng = mdp.transitions.matrix(), stream(0, "fan", "alike")
    while mdp.discount**n_steps > SHOWS:
        marks = rng.random(int(alike.max()) + 1)
        ahead = np.round((moves @ marks[alike]).reshape(mdp.n_states, -1), 9)
        _, finer = np.unique(np.column_stack([alike, ahead]), axis=0, return_inverse=True)
        if len(np.unique(finer[met])) == len(np.unique(alike[met])):
            break
        alike, n_steps = finer.ravel(), n_steps + 1
    least = float(mdp.transitions.probabilities.floats.min(initial=1.0))
    share: float = mdp.discount**n_steps
    return share * least * min(sizes) / max(sizes)


def _balanced_rank(rows: Floats, lengths: Floats, mdp: MDP) -> int:
    """The rank of rows of length one, features counted in units of their largest entry.

    Another rank than that of the rows themselves is a matter of units: then floats do not decide.
    """
    units = np.where(feature_sizes(mdp) > 0.0, feature_sizes(mdp), 1.0)
    scaled = rows[lengths > SHOWS * float(lengths.max(initial=1e-300))] / units
    sizes = np.linalg.norm(scaled, axis=1)
    scaled = scaled[sizes > 0.0] / sizes[sizes > 0.0, None]
    found, _ = singular_directions(scaled)
    return int(np.count_nonzero(found > VANISHES * float(found.max(initial=1e-300))))


def _as_reached(member: Member, scope: Scope) -> tuple[Member, int]:
    """The part with no features in states that the start cannot lead to, where these are larger.

    Where all states count they stay, and what is far larger than all that is met is a close call.
    """
    mdp = member.task.mdp
    if scope == "all":
        within, beyond = feature_sizes_met(mdp)
        return member, int(beyond > BEYOND * within > 0.0)
    reached = as_reached(mdp)
    if reached is None:
        return member, 0
    task = Task(reached, member.task.true_weights, name=member.task.name)
    plan = solve(task)
    optimal = np.where(reachable_states(mdp)[:, None], member.plan.optimal, plan.optimal)
    return replace(member, task=task, plan=replace(plan, optimal=optimal)), 0


def _of_family(bec: EquivalenceClass, *, shares: bool) -> WeightSpace:
    members = tuple(_of_member(bec, member, bec.scope, shares=shares) for member in bec.members)
    basis, n_close = _spanning(np.concatenate([space.basis for space in members]))
    first = members[0].basis
    basis = first if len(first) == len(basis) else basis
    truth = (bec.members[0].task.weights @ basis.T) @ basis
    return WeightSpace(
        bec,
        None,
        FamilyLosses(bec, members),
        np.concatenate([space.states for space in members]),
        basis,
        truth / (float(np.linalg.norm(truth)) or 1.0),
        1.0 if shares else max(space.spread for space in members),
        max(space.worst for space in members),
        n_close + sum(space.n_close for space in members),
        members,
    )


def _spanning(rows: Floats) -> tuple[Floats, int]:
    """An orthonormal basis of what rows span, and how many directions were close calls."""
    sizes, across = singular_directions(rows)
    shares = sizes / max(float(sizes.max(initial=0.0)), 1e-300)
    n_close = int(np.count_nonzero((shares > VANISHES) & (shares <= SHOWS)))
    return across[shares > SHOWS], n_close


@dataclass(frozen=True, eq=False)
class FamilyLosses:
    """The losses of many weights in a family: for each the most that is lost in any member."""

    bec: EquivalenceClass
    members: tuple[WeightSpace, ...]

    def of(self, weights: Floats) -> Lost:
        """What each of the weights (n, k) leads to, in the common numbering of states."""
        found = [space.losses.of(weights) for space in self.members]
        width = most_actions(self.bec.members)
        missing = [width - lost.optimal.shape[2] for lost in found]
        return Lost(
            np.max([lost.losses for lost in found], axis=0),
            np.concatenate(
                [
                    np.pad(lost.optimal, ((0, 0), (0, 0), (0, more)))
                    for lost, more in zip(found, missing, strict=True)
                ],
                axis=1,
            ),
            np.concatenate([lost.policies for lost in found], axis=1),
            np.sum([lost.close for lost in found], axis=0),
        )
