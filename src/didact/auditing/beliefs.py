"""Beliefs: in how many draws a learner would act rightly, with an interval.

A draw acts rightly where all that it holds best is best under the true weights too. Floats decide
it where the difference is beyond their noise, exact planning elsewhere. Draws of a chain hang
together: the interval (Clopper and Pearson) counts them as the fewest that they are worth.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from didact.auditing.losing import Allowed, loses_little
from didact.auditing.planned import RIGHT, audit_weights
from didact.auditing.result import Audit
from didact.bec.classes import EquivalenceClass
from didact.bec.rows import scope_states
from didact.errors import InvalidParameter
from didact.learners.belief import Belief
from didact.learners.diagnostics import bulk_ess, indicator_ess
from didact.learners.risk import BLOCK_ENTRIES, MOST_DRAWS, thinned
from didact.numerics.exact import Floats
from didact.numerics.intervals import binomial_interval
from didact.planning import solve
from didact.planning.derived import UNIT
from didact.planning.many_rewards import action_values_of, value_reach

LEVEL = 0.95


def audit_belief(known: EquivalenceClass, belief: Belief, allowed: Allowed | None = None) -> Audit:
    """The share of draws that never act wrongly; a point belief is judged by its weights.

    allowed: the share of draws that lose at most so much instead.
    """
    mdp = known.task.mdp
    shape = (mdp.n_states, mdp.n_actions, mdp.n_features)
    if (belief.mdp.n_states, belief.mdp.n_actions, belief.mdp.n_features) != shape:
        raise InvalidParameter(
            f"the belief must be about the task; it is about {belief.mdp.n_states} states, "
            f"{belief.mdp.n_actions} actions and {belief.mdp.n_features} features"
        )
    if belief.is_point:
        return audit_weights(known, belief.map_weights)
    draws = thinned(belief, max(MOST_DRAWS, belief.n_chains))
    flat = draws.reshape(-1, mdp.n_features)
    right = acts_rightly(known, flat) if allowed is None else loses_little(allowed, flat)
    right = right.reshape(draws.shape[:2])
    worth = _effective(right, draws)
    share = float(right.mean())
    low, high = binomial_interval(share * worth, worth, LEVEL)
    does = "act rightly" if allowed is None else "lose no more"
    told = (
        f"{int(right.sum())} of {right.size} draws {does}: {100 * share:.3g}%, 95% interval "
        f"{100 * low:.3g}% to {100 * high:.3g}%"
        f"{'' if belief.is_mixed else ', of chains that have not mixed'}"
    )
    found = {"share": share, "low": low, "high": high, "n_effective": worth}
    statement = RIGHT[known.scope] if allowed is None else allowed.statement
    return Audit("undecided", statement, told, "belief", share=found)


def acts_rightly(known: EquivalenceClass, draws: Floats) -> NDArray[np.bool_]:
    """Whether each of the weights (n, k) holds best only what is best, wherever it counts."""
    mdp, optimal = known.task.mdp, known.plan.optimal
    counted = np.flatnonzero(scope_states(mdp, known.scope))
    right = np.zeros(len(draws), dtype=np.bool_)
    size = max(1, BLOCK_ENTRIES // (mdp.n_states * mdp.n_actions))
    for first in range(0, len(draws), size):
        block = draws[first : first + size]
        values = action_values_of(mdp, block)[:, counted]
        best = np.where(optimal[counted], values, -np.inf).max(axis=2)
        others = np.where(optimal[counted], -np.inf, values).max(axis=2)
        noise = 64 * UNIT / (1.0 - mdp.discount) * value_reach(mdp, block)[:, None]
        wrong = (others > best + noise).any(axis=1)
        close = ~wrong & (others >= best - noise).any(axis=1)
        right[first : first + len(block)] = ~wrong
        for i in np.flatnonzero(close).tolist():
            plan = solve(mdp, block[i], arithmetic="exact")
            right[first + i] = not (plan.optimal & ~optimal)[counted].any()
    return right


def _effective(right: NDArray[np.bool_], draws: Floats) -> float:
    """How many independent draws these are worth, at least 1."""
    worths = [float(right.size), *np.atleast_1d(bulk_ess(draws)).tolist()]
    if right.any() and not right.all():
        worths.append(float(indicator_ess(right)))
    known = [worth for worth in worths if np.isfinite(worth)]
    return max(1.0, min(known)) if len(known) == len(worths) else 1.0
