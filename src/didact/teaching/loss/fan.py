"""The fan of a task: which weights lead to which policy, without the directions that no row sees.

Weights w and w + u lead to the same policies when u pays every policy the same from every state.
Such u are those that the uniformly random policy does not tell apart either: if some action were
better than another under u and the random policy's continuation, taking it more often would pay
more. So the span of that policy's rows, mu(s, a) - mu(s), is all that matters, and in it each cell
of the fan is a pointed cone.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from didact.bec.classes import EquivalenceClass
from didact.bec.rows import scope_states
from didact.numerics.exact import Floats
from didact.planning.linear import discounted_sums
from didact.planning.loss import action_gaps
from didact.planning.many_losses import Losses
from didact.planning.successor import float_successor_features, pair_counts

VANISHES = 1e-11
"""Shorter vectors, beside the longest there could be, are zero."""
SHOWS = 1e-9
"""Longer ones are not; between the two it is a close call."""

Policy = NDArray[np.uint32]


@dataclass(frozen=True, eq=False)
class Fan:
    """A task's policies as functions of the weights.

    basis: (d, k), orthonormal rows that span what weights can matter by. truth: (k,), the part of
    the true weights in it, of length one. spread: V* - V of the uniformly random policy. worst: the
    most that any policy loses. n_close: close calls that finding the basis took.
    """

    known: EquivalenceClass
    losses: Losses
    states: NDArray[np.bool_]
    basis: Floats
    truth: Floats
    spread: float
    worst: float
    n_close: int

    @property
    def dimension(self) -> int:
        """Of the space of weights that matter."""
        return len(self.basis)

    @cached_property
    def features(self) -> Floats:
        """phi(s), or phi(s, a), as floats."""
        return self.known.task.mdp.features.floats

    def rows_of(self, policy: Policy) -> Floats:
        """mu(s, pi(s)) - mu(s, b) of a policy that takes one action, (n, k): its cell's rows.

        States that count only, zero rows left out.
        """
        mdp = self.known.task.mdp
        states = np.arange(mdp.n_states)
        taken = np.zeros((mdp.n_states, mdp.n_actions))
        taken[states, policy] = 1.0
        taken[mdp.terminal] = 0.0
        paid = self.features if self.features.ndim == 2 else self.features[states, policy]
        pairs = pair_counts(mdp, discounted_sums(mdp, taken, paid))
        rows = (pairs[states, policy][:, None] - pairs)[self.states].reshape(-1, mdp.n_features)
        return np.asarray(rows)


def fan_of(known: EquivalenceClass) -> Fan:
    """The fan of a class of a task."""
    task, plan = known.task, known.plan
    mdp = task.mdp
    uniform = np.full((mdp.n_states, mdp.n_actions), 1.0 / mdp.n_actions)
    uniform[mdp.terminal] = 0.0
    counts = float_successor_features(mdp, uniform)
    states = scope_states(mdp, known.scope)
    rows = (counts.pairs - counts.states[:, None])[states].reshape(-1, mdp.n_features)
    _, sizes, across = np.linalg.svd(rows, full_matrices=False)
    shares = sizes / max(float(sizes.max(initial=0.0)), 1e-300)
    basis = across[shares > SHOWS]
    n_close = int(np.count_nonzero((shares > VANISHES) & (shares <= SHOWS)))
    truth = (task.weights @ basis.T) @ basis
    length = float(np.linalg.norm(truth))
    gaps = action_gaps(plan)
    expected = (uniform * gaps).sum(axis=1)
    spread = float(mdp.start.floats @ discounted_sums(mdp, uniform, expected[:, None])[:, 0])
    losses = Losses(task, plan)
    worst = float(losses.of(-truth[None])[0][0]) if length > 0.0 else 0.0
    return Fan(
        *(known, losses, states, basis, truth / (length or 1.0), spread, worst, n_close),
    )
