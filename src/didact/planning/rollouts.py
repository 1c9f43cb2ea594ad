"""Rollouts: sampled trajectories of a policy; they stop at terminal states."""

from __future__ import annotations

from typing import Any

import numpy as np

from didact.errors import InvalidParameter
from didact.inputs import instance, whole_number
from didact.mdp import MDP, Demonstration, Task, as_mdp
from didact.mdp.naming import numbered_state
from didact.mdp.transitions import require_index
from didact.numerics.exact import Floats
from didact.planning.policies import as_policy


def rollout(
    mdp: MDP,
    policy: Any,
    *,
    horizon: int,
    rng: np.random.Generator,
    start: int | None = None,
) -> Demonstration:
    """The (state, action) pairs of at most `horizon` steps, from `start` or a sampled start.

    mdp: the model to walk in.
    policy: in any form that `evaluate` takes.
    horizon: the most steps; a terminal state ends the walk before.
    rng: the generator that draws actions and next states.
    start: the first state; None draws it from the start distribution.
    """
    return rollouts(mdp, policy, horizon=horizon, rng=rng, starts=[start])[0]


def rollouts(
    mdp: MDP,
    policy: Any,
    *,
    horizon: int,
    rng: np.random.Generator,
    starts: list[int | None],
) -> list[Demonstration]:
    """One trajectory from each start; None samples a start that is not terminal."""
    where, mdp = mdp, as_mdp(mdp)
    whole_number(horizon, "horizon", 1)
    instance(rng, np.random.Generator, "rng", "such as numpy.random.default_rng(0)")
    choices = np.cumsum(as_policy(mdp, policy), axis=1)
    begin = np.where(mdp.terminal, 0.0, mdp.start.floats)
    cumulative = np.cumsum(begin / begin.sum())
    paths = []
    for given in starts:
        state = draw(cumulative, rng) if given is None else _require_start(where, given)
        paths.append(_follow(mdp, choices, state, horizon, rng))
    return paths


def _require_start(where: MDP | Task, start: int) -> int:
    mdp = as_mdp(where)
    state = require_index(start, mdp.n_states, "start")
    if mdp.terminal[state]:
        raise InvalidParameter(f"start must not be terminal; {numbered_state(where, state)} is")
    return state


def _follow(
    mdp: MDP,
    choices: Floats,
    state: int,
    horizon: int,
    rng: np.random.Generator,
) -> Demonstration:
    moves, chances = mdp.transitions, mdp.transitions.probabilities.floats
    pairs = []
    for _ in range(horizon):
        action = draw(choices[state], rng)
        pairs.append((state, action))
        row = state * mdp.n_actions + action
        low, high = int(moves.offsets[row]), int(moves.offsets[row + 1])
        outcome = draw(chances[low:high].cumsum(), rng)
        state = int(moves.successors[low + outcome])
        if mdp.terminal[state]:
            break
    return Demonstration(pairs)


def draw(cumulative: Floats, rng: np.random.Generator) -> int:
    """An index with the probabilities whose running sums are given; never one of probability 0."""
    point = rng.random() * cumulative[-1]
    return int(cumulative.searchsorted(point, side="right"))
