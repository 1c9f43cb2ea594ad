"""Max infogain queries: ask where the answer is expected to change the belief most.

The expected information gain of an answer is the mean over answers of KL(belief after it || belief
before it), which is the mutual information of weights and answer. For a single action it is
H(E pi_w) - E H(pi_w), the entropy of the mean policy less the mean entropy (BALD). The likelihood
of an answer is the learner's own, the softmax policy at its confidence.

A trajectory tells one action after another, and where the world moves tells nothing new. So by the
chain rule its gain is the sum over its steps of the gain of that action under the belief after the
steps before, in expectation over trajectories. They are drawn from the belief itself; each step's
gain is exact, which leaves less noise than drawing log-likelihood ratios.

Which of two actions is better has two answers, a with the probability p_w(a) / (p_w(a) + p_w(b)).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from didact.active.situation import Situation
from didact.inputs import flag, whole_number
from didact.mdp import MDP
from didact.numerics.exact import Floats

ROLLOUTS = 10
"""Trajectories drawn from each state."""

MAX_SHARES = 1_000_000
"""Paths times draws that are held at once, 8 MB; more start states are taken in blocks."""


def max_infogain(
    situation: Situation,
    rng: np.random.Generator,
    *,
    n_rollouts: int = ROLLOUTS,
    comparisons: bool = False,
) -> Floats:
    """The score of every state (S,): the expected gain of the answer there, in nats.

    Single actions exactly, trajectories by `n_rollouts` from each state; states that are not open
    score 0. comparisons: that of every two actions (S, A, A) instead.
    """
    count = whole_number(n_rollouts, "n_rollouts", 1)
    if flag(comparisons, "comparisons"):
        return pair_information(situation)
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


def pair_information(situation: Situation) -> Floats:
    """The expected gain, in nats, of being told which of two actions is better: (S, A, A)."""
    n_states, n_actions = situation.mdp.n_states, situation.mdp.n_actions
    scores = np.zeros((n_states, n_actions, n_actions))
    for a in range(n_actions):
        for b in range(a + 1, n_actions):
            chance = situation.rather(a, b)
            mean = chance.mean(axis=0)
            told = entropy_terms(mean) + entropy_terms(1.0 - mean)
            noise = (entropy_terms(chance) + entropy_terms(1.0 - chance)).mean(axis=0)
            scores[:, a, b] = scores[:, b, a] = np.maximum(told - noise, 0.0)
    return scores


def entropy_terms(probabilities: Floats) -> Floats:
    """-p log p of each entry; 0 where p is 0."""
    return np.asarray(-probabilities * np.log(np.where(probabilities > 0.0, probabilities, 1.0)))


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
    uniforms = rng.random((n_rollouts, horizon, 2))
    tables = belief_tables(policies)
    size = max(1, MAX_SHARES // (n_rollouts * len(policies)))
    blocks = [states[first : first + size] for first in range(0, len(states), size)]
    return np.concatenate([rollout_gains(mdp, tables, block, uniforms) for block in blocks])


def belief_tables(policies: Floats) -> Floats:
    """pi_w(a|s) and, in the last row, the entropy of pi_w in s: (draws, S, A) -> (S, A + 1, draws).

    The draws stand last: the sums over a belief then run along memory.
    """
    entropies = policy_entropies(policies).T[:, None]
    return np.concatenate([policies.transpose(1, 2, 0), entropies], axis=1)


def rollout_gains(mdp: MDP, tables: Floats, states: NDArray[np.int64], uniforms: Floats) -> Floats:
    """The mean gain of trajectories from each state, drawn from a belief that learns on the way.

    tables: see `belief_tables`. uniforms: (rollouts, horizon, 2), for the action and the move of
    each step; every state has the same.
    """
    n_rollouts, horizon, _ = uniforms.shape
    paths, at = np.arange(len(states) * n_rollouts), np.repeat(states, n_rollouts)
    shares = np.full((len(paths), tables.shape[2]), 1.0 / tables.shape[2])
    gains = np.zeros(len(paths))
    for step in range(horizon):
        chance, luck = uniforms[paths % n_rollouts, step].T
        told = np.empty((len(paths), tables.shape[1]))
        for state in np.unique(at).tolist():
            here = at == state
            # One product for each path: one of all paths would round by how many there are.
            told[here] = np.matmul(tables[state], shares[here][:, :, None])[:, :, 0]
        mixture, noise = told[:, :-1], told[:, -1]
        gains[paths] += np.maximum(entropy_terms(mixture).sum(axis=1) - noise, 0.0)
        chosen = _drawn_actions(mixture, chance)
        shares *= tables[at, chosen]
        shares /= mixture[np.arange(len(paths)), chosen, None]
        at = _drawn_successors(mdp, at * mdp.n_actions + chosen, luck)
        going = ~mdp.terminal[at]
        if not going.all():
            paths, at, shares = paths[going], at[going], shares[going]
    return np.asarray(gains.reshape(len(states), n_rollouts).mean(axis=1))


def _drawn_actions(mixture: Floats, uniforms: Floats) -> NDArray[np.intp]:
    """The action on which each number falls; where sums round below 1, the last possible one."""
    possible = mixture > 0.0
    hit = possible & (uniforms[:, None] < np.cumsum(mixture, axis=1))
    last = mixture.shape[1] - 1 - possible[:, ::-1].argmax(axis=1)
    return np.asarray(np.where(hit.any(axis=1), hit.argmax(axis=1), last))


def _drawn_successors(mdp: MDP, pairs: NDArray[np.intp], uniforms: Floats) -> NDArray[Any]:
    """The successor of each pair s*A + a on which its number falls."""
    moves, probabilities = mdp.transitions, mdp.transitions.probabilities.floats
    entry, last = moves.offsets[pairs], moves.offsets[pairs + 1] - 1
    height = probabilities[entry]
    while (further := (entry < last) & (uniforms >= height)).any():
        entry[further] += 1
        height[further] += probabilities[entry[further]]
    return moves.successors[entry]
