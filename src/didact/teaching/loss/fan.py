"""The fan of a task: which weights lead to which policy, without the directions that no row sees.

Weights w and w + u lead to the same policies when u pays every policy the same from every state.
Such u are those that the uniformly random policy does not tell apart either: if some action were
better than another under u and the random policy's continuation, taking it more often would pay
more. So the span of that policy's rows, mu(s, a) - mu(s), is all that matters, and in it each cell
of the fan is a pointed cone.

The fan of a family has one fan for each member, and what is lost is the most that is lost in any of
them: as a share of the member's own spread, or as an amount of return.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from didact.bec.classes import EquivalenceClass
from didact.bec.families import FamilyClass, Known
from didact.bec.parts import Part, most_actions, stacked
from didact.bec.rows import Scope, scope_states
from didact.mdp import Task
from didact.numerics.exact import Floats, Numbers
from didact.planning.linear import discounted_sums
from didact.planning.loss import action_gaps
from didact.planning.many_losses import Losses, Lost
from didact.planning.solve import solve
from didact.planning.successor import float_successor_features, pair_counts

VANISHES = 1e-11
"""Shorter vectors, beside the longest there could be, are zero."""
SHOWS = 1e-9
"""Longer ones are not; between the two it is a close call."""
NOTHING = 1e-12
"""Smaller spreads, as a share of the largest value, are rounding: there is nothing to lose."""

Policy = NDArray[np.uint32]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Fan:
    """The policies of a task or of a family as functions of the weights.

    part: the task; of a family None. basis: (d, k), orthonormal rows that span what weights can
    matter by. truth: (k,), the part of the true weights in it, of length one. spread: V* - V of the
    uniformly random policy, in the unit of losses. worst: the most that any policy loses. n_close:
    close calls that finding the basis took. members: of a family, their fans.
    """

    known: Known
    part: Part | None
    losses: Losses | FamilyLosses
    states: Mask
    basis: Floats
    truth: Floats
    spread: float
    worst: float
    n_close: int
    members: tuple[Fan, ...] = ()

    @property
    def class_of_task(self) -> EquivalenceClass:
        """The class, where it is of a task."""
        if not isinstance(self.known, EquivalenceClass):
            raise AssertionError("this is of one task, not of a family")
        return self.known

    @property
    def single(self) -> tuple[Fan, ...]:
        """The fan itself, or those of the members: each of one task."""
        return self.members or (self,)

    @property
    def n_pairs(self) -> int:
        """How many pairs there are in the common numbering of all parts."""
        return len(self.states) * most_actions(self.known.parts)

    def among(self, optimal: Mask) -> float:
        """Of a task the least loss of policies that take marked actions (S, A) only."""
        if not isinstance(self.losses, Losses):
            raise AssertionError("this is of one task, not of a family")
        return self.losses.among(optimal)

    def most_among(self, optimal: Mask) -> float:
        """Of a task the largest loss of policies that take marked actions (S, A) only."""
        if not isinstance(self.losses, Losses):
            raise AssertionError("this is of one task, not of a family")
        return self.losses.most_among(optimal)

    def planned(self, weights: tuple[Fraction, ...]) -> tuple[Mask, float] | None:
        """In exact numbers the optimal pairs of weights, (n_pairs,), and the least that is lost.

        None where some of them are not proved.
        """
        numbers = Numbers.of_results(weights)
        plans = [solve(part.task.mdp, numbers) for part in self.known.parts]
        if not all(plan.is_proved for plan in plans):
            return None
        lost = max(map(Fan.among, self.single, (plan.optimal for plan in plans)))
        return stacked(self.known.parts, (plan.optimal for plan in plans)).ravel(), lost

    @property
    def dimension(self) -> int:
        """Of the space of weights that matter."""
        return len(self.basis)

    @cached_property
    def features(self) -> Floats:
        """phi(s), or phi(s, a), as floats."""
        return self.task.mdp.features.floats

    @property
    def task(self) -> Task:
        """The task, where it is of one."""
        if self.part is None:
            raise AssertionError("this is of one task, not of a family")
        return self.part.task

    def rows_of(self, policy: Policy) -> Floats:
        """mu(s, pi(s)) - mu(s, b) of a policy that takes one action, (n, k): its cell's rows.

        States that count only, zero rows left out.
        """
        mdp = self.task.mdp
        states = np.arange(mdp.n_states)
        taken = np.zeros((mdp.n_states, mdp.n_actions))
        taken[states, policy] = 1.0
        taken[mdp.terminal] = 0.0
        paid = self.features if self.features.ndim == 2 else self.features[states, policy]
        pairs = pair_counts(mdp, discounted_sums(mdp, taken, paid))
        rows = (pairs[states, policy][:, None] - pairs)[self.states].reshape(-1, mdp.n_features)
        return np.asarray(rows)


def fan_of(known: Known, *, shares: bool = True) -> Fan:
    """The fan of a class of a task, where losses are amounts, or of a family.

    shares: whether losses in a family are shares of the members' own spreads, else amounts.
    """
    if isinstance(known, FamilyClass):
        return _of_family(known, shares=shares)
    return _of_part(known, known.parts[0], known.scope, shares=False)


def _of_part(known: Known, part: Part, scope: Scope, *, shares: bool) -> Fan:
    task, plan = part.task, part.plan
    mdp = task.mdp
    uniform = np.full((mdp.n_states, mdp.n_actions), 1.0 / mdp.n_actions)
    uniform[mdp.terminal] = 0.0
    counts = float_successor_features(mdp, uniform)
    states = scope_states(mdp, scope)
    rows = (counts.pairs - counts.states[:, None])[states].reshape(-1, mdp.n_features)
    basis, n_close = _spanning(rows)
    truth = (task.weights @ basis.T) @ basis
    length = float(np.linalg.norm(truth))
    gaps = action_gaps(plan)
    expected = (uniform * gaps).sum(axis=1)
    spread = float(mdp.start.floats @ discounted_sums(mdp, uniform, expected[:, None])[:, 0])
    matters = spread > NOTHING * float(np.abs(plan.values).max(initial=0.0))
    losses = Losses(task, plan, spread if shares and matters else 1.0)
    worst = losses.most() if length > 0.0 else 0.0
    truth = truth / (length or 1.0)
    return Fan(known, part, losses, states, basis, truth, spread / losses.unit, worst, n_close)


def _of_family(known: FamilyClass, *, shares: bool) -> Fan:
    members = tuple(_of_part(known, part, known.scope, shares=shares) for part in known.parts)
    basis, n_close = _spanning(np.concatenate([fan.basis for fan in members]))
    first = members[0].basis
    basis = first if len(first) == len(basis) else basis
    truth = (known.parts[0].task.weights @ basis.T) @ basis
    return Fan(
        known,
        None,
        FamilyLosses(known, members),
        np.concatenate([fan.states for fan in members]),
        basis,
        truth / (float(np.linalg.norm(truth)) or 1.0),
        1.0 if shares else max(fan.spread for fan in members),
        max(fan.worst for fan in members),
        n_close + sum(fan.n_close for fan in members),
        members,
    )


def _spanning(rows: Floats) -> tuple[Floats, int]:
    """An orthonormal basis of what rows span, and how many directions were close calls."""
    _, sizes, across = np.linalg.svd(rows, full_matrices=False)
    shares = sizes / max(float(sizes.max(initial=0.0)), 1e-300)
    n_close = int(np.count_nonzero((shares > VANISHES) & (shares <= SHOWS)))
    return across[shares > SHOWS], n_close


@dataclass(frozen=True, eq=False)
class FamilyLosses:
    """The losses of many weights in a family: for each the most that is lost in any member."""

    known: FamilyClass
    members: tuple[Fan, ...]

    def of(self, weights: Floats) -> Lost:
        """What each of the weights (n, k) leads to, in the common numbering of states."""
        found = [fan.losses.of(weights) for fan in self.members]
        width = most_actions(self.known.parts)
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
