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

import os
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from didact.active.situation import Situation
from didact.inputs import flag, whole_number
from didact.mdp import MDP
from didact.numerics.compiled import kernel
from didact.numerics.exact import Floats

ROLLOUTS = 10
"""Trajectories drawn from each state."""

WORTH_THREADS = 20_000_000
"""Steps of paths times draws from which several threads pay."""


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
    n_draws = len(policies)
    draws, moves = belief_of(policies), moves_of(mdp)
    uniforms = rng.random(n_rollouts * horizon * 2)

    def gains(part: NDArray[np.int64]) -> Floats:
        return _gains(draws, moves, Paths(part, uniforms, n_rollouts, horizon))

    n_threads = os.cpu_count() or 1
    work = n_draws * len(states) * n_rollouts * horizon
    if n_threads == 1 or work < WORTH_THREADS:
        return gains(states)
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(n_threads) as pool:
        return np.concatenate(list(pool.map(gains, np.array_split(states, n_threads))))


class Draws(NamedTuple):
    """What n draws of a belief would do.

    policies[(s*A + a)*n + i] is draw i's probability of a in s, entropies[s*n + i] the entropy of
    its policy there.
    """

    n_draws: int
    n_actions: int
    policies: Any
    entropies: Any


class Moves(NamedTuple):
    """Where actions lead, by rows s*A + a, and which states are terminal."""

    offsets: Any
    successors: Any
    probabilities: Any
    ends: Any


class Paths(NamedTuple):
    """So many paths of so many steps from each state; two random numbers for each step."""

    states: Any
    uniforms: Any
    n_rollouts: int
    horizon: int


class Told(NamedTuple):
    """What paths tell, step by step, zeros after the end of an episode.

    For step t of path p, mixtures[(p*H + t)*A + a] is the belief's probability of each action,
    expected[p*H + t] the mean entropy. shares: of the draws, working memory.
    """

    shares: Any
    mixtures: Any
    expected: Any


def belief_of(policies: Floats) -> Draws:
    """The draws whose policies these are, (draws, S, A)."""
    n_draws, _, n_actions = policies.shape
    by_pair = np.ascontiguousarray(policies.reshape(n_draws, -1).T).ravel()
    by_state = np.ascontiguousarray(policy_entropies(policies).T).ravel()
    return Draws(n_draws, n_actions, by_pair, by_state)


def moves_of(mdp: MDP) -> Moves:
    """The model as the kernel reads it."""
    moves, ends = mdp.transitions, mdp.terminal.view(np.uint8)
    return Moves(moves.offsets, moves.successors, moves.probabilities.floats, ends)


def room_to_tell(draws: Draws, paths: Paths) -> Told:
    """Zeros to be filled in."""
    n_steps = len(paths.states) * paths.n_rollouts * paths.horizon
    return Told(np.zeros(draws.n_draws), np.zeros(n_steps * draws.n_actions), np.zeros(n_steps))


def _gains(draws: Draws, moves: Moves, paths: Paths) -> Floats:
    """The mean over paths of the sum over steps of the gain, for each state."""
    told = room_to_tell(draws, paths)
    roll_out_beliefs.run(told.expected.size * draws.n_draws, draws, moves, paths, told)
    mixed = entropy_terms(told.mixtures).reshape(-1, draws.n_actions).sum(axis=1)
    shape = (len(paths.states), paths.n_rollouts, paths.horizon)
    by_path = np.maximum(mixed - told.expected, 0.0).reshape(shape).sum(axis=2)
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
def roll_out_beliefs(draws: Draws, moves: Moves, paths: Paths, told: Told) -> None:
    """Trajectories drawn from a belief that learns from each of their actions."""
    n_draws, shares = draws.n_draws, told.shares
    for path in range(len(paths.states) * paths.n_rollouts):
        state = paths.states[path // paths.n_rollouts]
        random = path % paths.n_rollouts * paths.horizon * 2
        for i in range(n_draws):
            shares[i] = 1.0 / n_draws
        for step in range(paths.horizon):
            place = path * paths.horizon + step
            told.expected[place] = mean_over(n_draws, shares, draws.entropies, state * n_draws)
            chosen = mix_and_choose(draws, state, told, place, paths.uniforms[random + 2 * step])
            row = (state * draws.n_actions + chosen) * n_draws
            scale = 1.0 / told.mixtures[place * draws.n_actions + chosen]
            for i in range(n_draws):
                shares[i] *= draws.policies[row + i] * scale
            pair = state * draws.n_actions + chosen
            state = move_from(moves, pair, paths.uniforms[random + 2 * step + 1])
            if moves.ends[state] != 0:
                break


@kernel
def mix_and_choose(draws: Draws, state: int, told: Told, place: int, uniform: float) -> int:
    """Write down the belief's probability of each action; the one that the number falls on."""
    chosen = 0
    height = 0.0
    found = False
    for action in range(draws.n_actions):
        row = (state * draws.n_actions + action) * draws.n_draws
        total = mean_over(draws.n_draws, told.shares, draws.policies, row)
        told.mixtures[place * draws.n_actions + action] = total
        height += total
        if not found and total > 0.0:
            chosen = action
            found = uniform < height
    return chosen


@kernel
def move_from(moves: Moves, pair: int, uniform: float) -> int:
    """The successor of a pair that the number falls on."""
    entry = moves.offsets[pair]
    last = moves.offsets[pair + 1] - 1
    height = moves.probabilities[entry]
    while entry < last and uniform >= height:
        entry += 1
        height += moves.probabilities[entry]
    target: int = moves.successors[entry]
    return target
