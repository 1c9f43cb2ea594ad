"""Environments without a table -> tasks: a breadth-first walk through all that actions can reach.

The walk needs steps without chance, a way back to every state (a copy of the environment), and a
key that tells states apart. Two ways into one state are compared: where they go on differently, the
key leaves something out and the environment is refused. Time limits are no part of the model.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from didact.errors import InvalidParameter
from didact.inputs import shown
from didact.mdp import MDP, Task
from didact.worlds.gym.environments import has_table, walkable
from didact.worlds.gym.tables import from_gymnasium, paid_features
from didact.worlds.gym.walks import (
    LIMIT,
    CopyWalker,
    Exploration,
    as_seeds,
    explore,
    in_own_numbers,
)


def from_environment(
    env: Any,
    /,
    *,
    key: Callable[[Any], Hashable] | None = None,
    limit: int = LIMIT,
    seed: int | Sequence[int] = 0,
    features: Any = None,
    weights: Any = None,
    discount: Any = 0.95,
    start: str | None = None,
    name: str | None = None,
    state_names: Any = None,
    action_names: Sequence[str] | None = None,
    feature_names: Sequence[str] | None = None,
) -> Task:
    """The task of a small environment without chance, found by walking through all its states.

    Where it has a table P and no key is given, the table is read instead, chance and all.

    env: anything with `reset`, `step` and a discrete `action_space`, as Gymnasium has them, that
        `copy.deepcopy` can copy.
    key: a function of the environment that tells its states apart; by default what it observes.
    limit: how many states there may be.
    seed: of the reset; several seeds are several starts, each as likely.
    features: None for one indicator for each distinct reward, with the rewards as weights; else a
        function of a key, or of (key, action, next key, reward).
    weights: needed with features of your own.
    discount: in [0, 1), exactly as given.
    start: None for the state after the reset; 'uniform' for every state that goes on.
    name: of the task; by default the environment's.
    state_names: a name for each state, or a function of a key.
    action_names: a name for each action.
    feature_names: a name for each feature.
    """
    named: dict[str, Any] = {
        "features": features,
        "weights": weights,
        "discount": discount,
        "start": start,
        "state_names": state_names,
        "action_names": action_names,
        "feature_names": feature_names,
    }
    if key is None and has_table(env):
        return from_gymnasium(env, name=name, **named)
    opened = walkable(env)
    walker = CopyWalker(opened, key)
    seeds = as_seeds(seed)
    if key is None:
        walker.require_countable(seeds[0])
    walk = explore(walker, seeds=seeds, limit=limit)
    space = getattr(opened, "observation_space", None) if key is None else None
    return task_of(
        in_own_numbers(walk, space),
        n_actions=walker.n_actions,
        first_action=walker.first_action,
        name=name or walker.name,
        **named,
    )


def task_of(
    walk: Exploration,
    *,
    n_actions: int,
    first_action: int = 0,
    features: Any = None,
    weights: Any = None,
    discount: Any = 0.95,
    start: str | None = None,
    name: str = "environment",
    state_name: Callable[[Any], str] = str,
    state_names: Any = None,
    action_names: Sequence[str] | None = None,
    feature_names: Sequence[str] | None = None,
    layout: Mapping[str, Any] | None = None,
) -> Task:
    """The task that a walk has found."""
    numbering = walk.numbering
    by_key = None if features is None else _by_key(features, walk.keys)
    paid = paid_features(
        by_key, weights, feature_names, model=walk.model, nodes=numbering.nodes, n=len(walk.keys)
    )
    mdp = MDP(
        numbering.transitions(walk.model, n_actions),
        paid.features,
        discount,
        start=[(numbering.number[s, False], p) for s, p in _starts(walk, start).items()],
        terminal=numbering.terminal,
        state_names=numbering.names(state_names, _state_names(walk, state_name), walk.keys),
        action_names=action_names or [f"action {first_action + i}" for i in range(n_actions)],
        feature_names=paid.names,
    )
    return Task(
        mdp,
        paid.weights,
        name=name,
        layout=layout,
        observations=walk.observations(),
        first_action=first_action,
    )


def _starts(walk: Exploration, start: str | None) -> dict[int, Fraction]:
    if start is None:
        return walk.starts
    if start != "uniform":
        raise InvalidParameter(
            f"start must be None, the state after the reset, or 'uniform'; it is {shown(start)}"
        )
    return dict.fromkeys(walk.model, Fraction(1, len(walk.model)))


def _state_names(walk: Exploration, state_name: Callable[[Any], str]) -> list[str]:
    """A name for each node; the one that ends says so where the same key also goes on."""
    return [
        str(i)
        if node is None
        else state_name(walk.keys[node[0]])
        + (" (end)" if node[1] and node[0] in walk.model else "")
        for i, node in enumerate(walk.numbering.nodes)
    ]


def _by_key(features: Any, keys: Sequence[Hashable]) -> Callable[..., Any]:
    """The same function of state numbers; its signature still says how many arguments it takes."""
    if not callable(features):
        raise InvalidParameter(
            "features must be a function of a key, or of (key, action, next key, reward); "
            f"it is {shown(features)}"
        )

    @functools.wraps(features)
    def called(*given: Any) -> Any:
        if len(given) == 1:
            return features(keys[given[0]])
        state, action, successor, reward = given
        return features(keys[state], action, keys[successor], reward)

    return called
