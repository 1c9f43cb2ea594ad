"""Paths of a policy: which pairs can come up at all, sampled trajectories, and kinds of ends.

**Ends** are goals, worse ends, or ends that pay alike. An end is worth what arriving there pays.
Where ends pay differently, those that pay most are goals, and so are those that pay more than a
usual step; the others are worse ends, unless an optimal action leads to them for certain. Where all
pay the same, goals are those that optimal actions lead to. Nothing is known of a world but its
moves and rewards.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from didact.errors import InvalidParameter
from didact.inputs import explains_names, instance, plain_array, shown, whole_number
from didact.mdp import MDP, Demonstration, Task, as_mdp
from didact.mdp.model import kept_with_model
from didact.mdp.naming import numbered_state
from didact.mdp.transitions import require_index
from didact.numerics.compiled import kernel
from didact.numerics.exact import Floats, Numbers
from didact.planning.kernels import Model, model_of, reward_table
from didact.planning.policies import as_policy
from didact.planning.solve import Plan
from didact.random import Seed, as_generator

Mask = NDArray[np.bool_]


def reachable_states(mdp: MDP, allowed: Mask | None = None) -> Mask:
    """States (S,) reachable from the start distribution.

    mdp: the model.
    allowed: (S, A), the actions that may be taken, e.g. `plan.optimal`; None for any action.
    """
    mdp = as_mdp(mdp)
    starts = mdp.start.floats > 0
    return _closure(mdp, starts, None if allowed is None else _as_mask(mdp, allowed), None)


def reachable_pairs(
    mdp: MDP, allowed: Mask, *, horizon: int | None = None, starts: Mask | None = None
) -> Mask:
    """Pairs (S, A) that come up within `horizon` steps when only allowed actions are taken.

    mdp: the model.
    allowed: (S, A), the actions that may be taken.
    horizon: the pair shown at step t counts for t < horizon; None means any number of steps.
    starts: (S,), where walks begin; by default where the start distribution is positive.
    """
    mdp = as_mdp(mdp)
    allowed = _as_mask(mdp, allowed)
    if horizon is not None:
        whole_number(horizon, "horizon", 1)
    begin = mdp.start.floats > 0 if starts is None else _as_mask(mdp, starts, "starts")
    states = _closure(mdp, begin, allowed, None if horizon is None else horizon - 1)
    return np.asarray(allowed & states[:, None] & ~mdp.terminal[:, None])


def feature_sizes_met(mdp: MDP) -> tuple[float, float]:
    """The largest |phi| in states that the start can lead to, and in those that it cannot."""
    met = reachable_states(mdp)
    sizes = np.abs(mdp.features.floats.reshape(mdp.n_states, -1)).max(axis=1)
    return float(sizes[met].max(initial=0.0)), float(sizes[~met].max(initial=0.0))


@kept_with_model
def as_reached(mdp: MDP) -> MDP | None:
    """The model without the features of states that the start cannot lead to; None where all are.

    What is lost from the start is the same. Float planners round in proportion to the largest
    value of all states, so that one unreachable payment of 1e13 would hide every other.
    """
    within, beyond = feature_sizes_met(mdp)
    if beyond <= within:
        return None
    exact = mdp.features.fractions()
    kept = np.repeat(reachable_states(mdp), len(exact) // mdp.n_states).tolist()
    features = Numbers.of_fractions(
        [x if is_met else Fraction(0) for x, is_met in zip(exact, kept, strict=True)],
        mdp.features.floats.shape,
    )
    return MDP(
        mdp.transitions,
        features,
        mdp.exact_discount,
        start=mdp.start,
        terminal=mdp.terminal,
        state_names=mdp.state_names,
        action_names=mdp.action_names,
        feature_names=mdp.feature_names,
    )


def _as_mask(mdp: MDP, given: Any, place: str = "allowed") -> Mask:
    shape: tuple[int, ...] = (mdp.n_states, mdp.n_actions)
    example = "plan.optimal"
    if place == "starts":
        shape, example = (mdp.n_states,), "~mdp.terminal"
    mask = plain_array(given, place)
    if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_ or mask.shape != shape:
        raise InvalidParameter(
            f"{place} must be truth values {shape}, such as {example}; it is {shown(given)}"
        )
    return mask


def _closure(mdp: MDP, starts: Mask, allowed: Mask | None, n_steps: int | None) -> Mask:
    """States reached from `starts` in at most n_steps steps."""
    reached = starts.copy()
    if not reached.all():
        model = model_of(mdp, None if allowed is None else allowed.ravel().view(np.uint8))
        most = mdp.n_states if n_steps is None else min(n_steps, mdp.n_states)
        queue = np.zeros(mdp.n_states, dtype=np.uint32)
        spread.run(mdp.transitions.n_entries, model, most, queue, reached.view(np.uint8))
    return reached


@kernel
def spread(model: Model, n_steps: int, queue: Any, reached: Any) -> None:
    """Mark what can be reached from the marked states in so many steps, breadth first.

    queue: workspace, an entry for every state.
    """
    offsets, successors, _ = model.moves
    n_known = 0
    for state in range(model.n_states):
        if reached[state] != 0:
            queue[n_known] = state
            n_known += 1
    first = 0
    for _step in range(n_steps):
        last = n_known
        for place in range(first, last):
            state = queue[place]
            for row in range(state * model.n_actions, (state + 1) * model.n_actions):
                if model.ends[state] == 0 and model.allowed[row] != 0:
                    for entry in range(offsets[row], offsets[row + 1]):
                        target = successors[entry]
                        if reached[target] == 0:
                            reached[target] = 1
                            queue[n_known] = target
                            n_known += 1
        first = last


@explains_names
def rollout(
    mdp: MDP,
    policy: Any,
    *,
    horizon: int,
    seed: Seed = 0,
    start: int | None = None,
) -> Demonstration:
    """The (state, action) pairs of at most `horizon` steps, from `start` or a sampled start.

    mdp: the model to walk in.
    policy: in any form that `evaluate` takes.
    horizon: the most steps; a terminal state ends the walk before.
    seed: of actions and next states: None, a whole number, or a generator.
    start: the first state; None draws it from the start distribution.
    """
    rng = as_generator(seed, "rollout")
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


SAME = 1e-9
"""Ends whose worth differs by less pay the same."""

GOAL, WORSE, END = "goal", "worse", "end"


def kinds_of_ends(task: Task, plan: Plan | None = None) -> dict[int, str]:
    """For each terminal state 'goal', 'worse' (it pays less than a goal) or 'end'."""
    mdp = task.mdp
    ends = np.flatnonzero(mdp.terminal).tolist()
    worth = {end: value for end in ends if (value := _worth(task, end)) is not None}
    if len(worth) == len(ends) > 1 and max(worth.values()) - min(worth.values()) > SAME:
        best, usual = max(worth.values()), _usual(task)
        aimed = set() if plan is None else _aimed_at(mdp, plan)

        def kind(end: int) -> str:
            if worth[end] >= best - SAME or worth[end] > usual + SAME:
                return GOAL
            return END if end in aimed else WORSE

        return {end: kind(end) for end in ends}
    if plan is None:
        return dict.fromkeys(ends, END)
    sought = reachable_states(mdp, plan.optimal)  # by optimal actions from the start
    return {end: GOAL if sought[end] else END for end in ends}


def ends_alike(task: Task) -> dict[int, str]:
    """Every terminal state as 'end': what a picture shows that tells nothing of the reward."""
    return dict.fromkeys(np.flatnonzero(task.mdp.terminal).tolist(), END)


def _usual(task: Task) -> float:
    """What a step usually pays that cannot end the episode; 0 where every step can."""
    mdp = task.mdp
    rewards = reward_table(mdp, task.weights)[0]
    plain = ~np.repeat(mdp.terminal, mdp.n_actions)
    if mdp.has_action_features:
        for end in np.flatnonzero(mdp.terminal).tolist():
            plain &= _chances(mdp, end)[0] == 0
    return float(np.median(rewards[plain])) if plain.any() else 0.0


def _aimed_at(mdp: MDP, plan: Plan) -> set[int]:
    """The ends that an optimal action leads to for certain."""
    pairs = np.argwhere(plan.optimal & ~mdp.terminal[:, None]).tolist()
    after = {only_successor(mdp, state, action) for state, action in pairs}
    return {end for end in after if end is not None and mdp.terminal[end]}


def _worth(task: Task, end: int) -> float | None:
    """What arriving in an end pays; None where the model does not tell.

    With rewards of states that is the end's own. With rewards of actions it is found from the
    actions whose only end it is: their reward, less the usual one of actions that end nowhere.
    """
    mdp = task.mdp
    rewards = reward_table(mdp, task.weights)[0]
    if not mdp.has_action_features:
        return float(rewards[end * mdp.n_actions])
    into, others = _chances(mdp, end)
    telling = (into > 0) & (others == 0)
    if not telling.any():
        return None
    plain = (into == 0) & (others == 0) & ~np.repeat(mdp.terminal, mdp.n_actions)
    usual = float(np.median(rewards[plain])) if plain.any() else 0.0
    chance = into[telling]
    return float(np.median((rewards[telling] - (1.0 - chance) * usual) / chance))


def _chances(mdp: MDP, end: int) -> tuple[Floats, Floats]:
    """The probability (S * A,) that an action leads to an end, and to any other."""
    moves = mdp.transitions
    rows = np.repeat(np.arange(moves.offsets.size - 1), np.diff(moves.offsets))
    chances = moves.probabilities.floats
    here = moves.successors == end
    elsewhere = mdp.terminal[moves.successors] & ~here
    size = moves.offsets.size - 1
    into, others = (
        np.asarray(np.bincount(rows[part], chances[part], size), dtype=np.float64)
        for part in (here, elsewhere)
    )
    return into, others


def only_successor(mdp: MDP, state: int, action: int) -> int | None:
    """Where an action leads when there is only one outcome."""
    moves = mdp.transitions
    row = state * mdp.n_actions + action
    low, high = int(moves.offsets[row]), int(moves.offsets[row + 1])
    return int(moves.successors[low]) if high == low + 1 else None
