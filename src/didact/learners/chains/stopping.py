"""When draws are enough: R-hat and effective draws of all that people look at.

That is every weight, the log density, and what people decide by: how much the most likely weights'
policy loses under each draw, and in how many states it acts wrongly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from didact.learners.belief_checks import named_feature
from didact.learners.chains.metropolis import Target
from didact.learners.diagnostics import bulk_ess, rank_r_hat
from didact.mdp import MDP
from didact.numerics.exact import Floats
from didact.planning import float_successor_features, solve
from didact.planning.batch import value_reach
from didact.planning.kernels import UNIT

WORST_R_HAT = 1.01
"""Chains may stop when no R-hat is larger."""

FEWEST_EFFECTIVE = 400
"""They may stop when everything has at least so many effective draws."""

MOST_ENTRIES = 2_000_000
"""Values of states and actions that are held at once."""


@dataclass(frozen=True)
class Mixing:
    """The worst R-hat and the fewest effective draws, and what they are of."""

    r_hat: float
    r_hat_of: str
    ess: float
    ess_of: str

    @property
    def is_enough(self) -> bool:
        """Whether the draws can pass for the posterior."""
        return self.r_hat <= WORST_R_HAT and self.ess >= FEWEST_EFFECTIVE

    def __str__(self) -> str:
        return f"R-hat {self.r_hat:.3f} ({self.r_hat_of}), ESS {self.ess:.0f} ({self.ess_of})"


def mixing_of(target: Target, samples: Floats, densities: Floats, best: Floats) -> Mixing:
    """How well chains have mixed; best (k,): the weights whose policy is judged by the draws."""
    mdp = target.evidence.mdp
    columns = {named_feature(mdp, j): samples[:, :, j] for j in range(samples.shape[2])}
    columns["the log density"] = densities
    columns["the loss"], columns["wrong actions"] = decisions(target, samples, best)
    names = list(columns)
    table = np.stack(list(columns.values()), axis=2)
    r_hat, ess = rank_r_hat(table), bulk_ess(table)
    constant = np.isnan(r_hat)
    worst = np.where(constant, 1.0, r_hat)
    high, low = int(worst.argmax()), int(ess.argmin())
    return Mixing(float(worst[high]), names[high], float(ess[low]), names[low])


def decisions(target: Target, samples: Floats, best: Floats) -> tuple[Floats, Floats]:
    """What the best weights' policy loses under each draw, and the share of states it is wrong in.

    Both (chains, draws). Losses and gaps below rounding are 0.
    """
    mdp = target.evidence.mdp
    n_chains, n_draws, k = samples.shape
    draws = samples.reshape(-1, k)
    policy = solve(mdp, best).policy
    start = mdp.start.floats @ float_successor_features(mdp, policy).states
    losses, wrong = np.empty((2, len(draws)))
    plan = Planned(target)
    size = max(1, MOST_ENTRIES // (mdp.n_states * mdp.n_actions))
    for first in range(0, len(draws), size):
        rows = slice(first, first + size)
        values = plan.values(draws[rows])
        noise = 64 * UNIT / (1.0 - mdp.discount) * value_reach(mdp, draws[rows])
        gaps = values @ mdp.start.floats - draws[rows] @ start
        losses[rows] = np.where(gaps <= noise, 0.0, gaps)
        wrong[rows] = _wrong_actions(mdp, policy, draws[rows], values, noise)
    return losses.reshape(n_chains, n_draws), wrong.reshape(n_chains, n_draws)


class Planned:
    """Optimal values of draws by the kernels that score them, each from the policy before it."""

    def __init__(self, target: Target):
        self.target, self.problem = target, target.problem()
        self.weights = np.zeros(target.k)
        self.score = target.score

    def values(self, draws: Floats) -> Floats:
        """V* (n, S) under each of the draws (n, k); one that repeats the last is not planned."""
        found = np.empty((len(draws), self.target.evidence.mdp.n_states))
        left = self.target.scorer.values(self.problem.work)
        repeats = np.zeros(len(draws), dtype=bool)
        repeats[1:] = (draws[1:] == draws[:-1]).all(axis=1)
        for i, is_repeated in enumerate(repeats.tolist()):
            if not is_repeated:
                self.weights[:] = draws[i]
                self.score(*self.problem, self.weights)
            found[i] = left[: found.shape[1]]
        return found


def _wrong_actions(
    mdp: MDP, policy: Floats, draws: Floats, values: Floats, noise: Floats
) -> Floats:
    """The share of the policy's actions, over states that go on, that a draw holds not optimal.

    Only what the policy does is looked at: an action is optimal if it is worth the optimal value.
    """
    alive = np.flatnonzero(~mdp.terminal)
    states, actions = np.nonzero(policy[alive])
    states = alive[states]
    rows = states * mdp.n_actions + actions
    following = mdp.transitions.matrix()[rows] @ values.T
    paid = mdp.features.floats.reshape(-1, mdp.n_features)
    paid = paid[rows if paid.shape[0] > mdp.n_states else states] @ draws.T
    is_wrong = paid + mdp.discount * following < values.T[states] - noise
    return np.asarray(policy[states, actions] @ is_wrong / max(1, alive.size))


def warning_of(mixing: Mixing, budget: int) -> str:
    """What a reader must know when the budget ended first, and what to do."""
    worst = "infinite" if mixing.r_hat == math.inf else f"{mixing.r_hat:.2f}"
    return (
        f"the budget of {budget} likelihoods ended before the chains had mixed: R-hat {worst} for "
        f"{mixing.r_hat_of}, at most {WORST_R_HAT} is wanted, and the draws are worth "
        f"{mixing.ess:.0f} independent ones for {mixing.ess_of}, at least {FEWEST_EFFECTIVE} are "
        "wanted; give a larger budget, or a smaller confidence"
    )
