"""Max infogain queries: ask where the answer is expected to change the belief most.

The expected information gain of an answer is the mean over answers of KL(belief after it || belief
before it), which is the mutual information of weights and answer. For a single action it is
H(E pi_w) - E H(pi_w), the entropy of the mean policy less the mean entropy (BALD). The likelihood
of an answer is the learner's own, the softmax policy at its confidence.

A trajectory tells one action after another, and where the world moves tells nothing new. So by the
chain rule its gain is the sum over its steps of the gain of that action under the belief after the
steps before, in expectation over trajectories. They are drawn from the belief itself; each step's
gain is exact, which leaves less noise than drawing log-likelihood ratios.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from didact.active.max_entropy import entropy_terms
from didact.active.situation import Situation
from didact.inputs import whole_number
from didact.mdp import MDP
from didact.numerics.compiled import kernel
from didact.numerics.exact import Floats

ROLLOUTS = 10
"""Trajectories drawn from each state."""

WORTH_THREADS = 20_000_000
"""Steps of paths times draws from which several threads pay."""


def max_infogain(
    situation: Situation, rng: np.random.Generator, *, n_rollouts: int = ROLLOUTS
) -> Floats:
    """The score of every state (S,): the expected gain of the answer there, in nats.

    Single actions exactly, trajectories by `n_rollouts` from each state; states that are not open
    score 0.
    """
    count = whole_number(n_rollouts, "n_rollouts", 1)
    if situation.horizon == 1:
        return action_information(situation.policies)
    scores: Floats = np.zeros(situation.mdp.n_states)
    scores[situation.open_states] = trajectory_information(
        situation.mdp,
        situation.policies,
        situation.open_states,
        horizon=situation.horizon,
        n_rollouts=count,
        rng=rng,
    )
    return scores


def action_information(policies: Floats) -> Floats:
    """H(E pi_w) - E H(pi_w) of every state, in nats: (draws, S, A) -> (S,); never negative."""
    mean = entropy_terms(policies.mean(axis=0)).sum(axis=1)
    return np.asarray(np.maximum(mean - policy_entropies(policies).mean(axis=0), 0.0))


def policy_entropies(policies: Floats) -> Floats:
    """The entropy of each draw's policy in each state: (draws, S, A) -> (draws, S)."""
    total = np.zeros(policies.shape[:2])
    for action in range(policies.shape[2]):
        total += entropy_terms(policies[:, :, action])
    return total


def trajectory_information(
    mdp: MDP,
    policies: Floats,
    states: NDArray[np.int64],
    *,
    horizon: int,
    n_rollouts: int,
    rng: np.random.Generator,
) -> Floats:
    """The expected gain, in nats, of a trajectory of `horizon` steps from each state (m,).

    All states are given the same random numbers, so that a score depends on its state alone.
    """
    n_draws, _, n_actions = policies.shape
    tables = (
        np.ascontiguousarray(policies.reshape(n_draws, -1).T).ravel(),
        np.ascontiguousarray(policy_entropies(policies).T).ravel(),
    )
    uniforms = rng.random(n_rollouts * horizon * 2)

    def gains(part: NDArray[np.int64]) -> Floats:
        return _gains(mdp, tables, part, (n_draws, n_actions, n_rollouts, horizon), uniforms)

    n_threads = os.cpu_count() or 1
    work = n_draws * len(states) * n_rollouts * horizon
    if n_threads == 1 or work < WORTH_THREADS:
        return gains(states)
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(n_threads) as pool:
        return np.concatenate(list(pool.map(gains, np.array_split(states, n_threads))))


def _gains(
    mdp: MDP,
    tables: tuple[Floats, Floats],
    states: NDArray[np.int64],
    sizes: tuple[int, int, int, int],
    uniforms: Floats,
) -> Floats:
    """The mean over paths of the sum over steps of the gain, for each state."""
    n_draws, n_actions, n_rollouts, horizon = sizes
    n_steps = len(states) * n_rollouts * horizon
    mixtures, expected = np.zeros(n_steps * n_actions), np.zeros(n_steps)
    moves = mdp.transitions
    roll_out_beliefs.run(
        n_steps * n_draws,
        *sizes,
        *tables,
        states,
        mdp.terminal.view(np.uint8),
        moves.offsets,
        moves.successors,
        moves.probabilities.floats,
        uniforms,
        np.zeros(n_draws),
        mixtures,
        expected,
    )
    gains = entropy_terms(mixtures).reshape(-1, n_actions).sum(axis=1) - expected
    by_path = np.maximum(gains, 0.0).reshape(len(states), n_rollouts, horizon).sum(axis=2)
    return np.asarray(by_path.mean(axis=1))


@kernel
def mean_over(n: int, shares: Any, values: Any, first: int) -> float:
    """The sum of shares[i] * values[first + i]; four sums side by side are quicker than one."""
    one = 0.0
    two = 0.0
    three = 0.0
    four = 0.0
    for i in range(0, n - 3, 4):
        one += shares[i] * values[first + i]
        two += shares[i + 1] * values[first + i + 1]
        three += shares[i + 2] * values[first + i + 2]
        four += shares[i + 3] * values[first + i + 3]
    for i in range(n - n % 4, n):
        one += shares[i] * values[first + i]
    return one + two + three + four


@kernel
def roll_out_beliefs(
    n_draws: int,
    n_actions: int,
    n_rollouts: int,
    horizon: int,
    policies: Any,
    entropies: Any,
    states: Any,
    ends: Any,
    offsets: Any,
    successors: Any,
    probabilities: Any,
    uniforms: Any,
    shares: Any,
    mixtures: Any,
    expected: Any,
) -> None:
    """Trajectories drawn from a belief that learns from each of their actions.

    policies[(s*A + a)*n + i] is draw i's probability of a in s, entropies[s*n + i] the entropy of
    its policy there. For step t of path p: mixtures[(p*H + t)*A + a] is the belief's probability of
    each action, expected[p*H + t] the mean entropy; zeros after the end of the episode.
    """
    for path in range(len(states) * n_rollouts):
        state = states[path // n_rollouts]
        random = path % n_rollouts * horizon * 2
        for i in range(n_draws):
            shares[i] = 1.0 / n_draws
        for step in range(horizon):
            place = path * horizon + step
            expected[place] = mean_over(n_draws, shares, entropies, state * n_draws)
            chosen = 0
            height = 0.0
            found = False
            for action in range(n_actions):
                row = (state * n_actions + action) * n_draws
                total = mean_over(n_draws, shares, policies, row)
                mixtures[place * n_actions + action] = total
                height += total
                if not found and total > 0.0:
                    chosen = action
                    found = uniforms[random + 2 * step] < height
            row = (state * n_actions + chosen) * n_draws
            scale = 1.0 / mixtures[place * n_actions + chosen]
            for i in range(n_draws):
                shares[i] *= policies[row + i] * scale
            entry = offsets[state * n_actions + chosen]
            last = offsets[state * n_actions + chosen + 1] - 1
            height = probabilities[entry]
            while entry < last and uniforms[random + 2 * step + 1] >= height:
                entry += 1
                height += probabilities[entry]
            state = successors[entry]
            if ends[state] != 0:
                break
