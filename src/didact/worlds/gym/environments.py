"""Gymnasium environments: what they are made of, their tables, and the numbers of their states.

**Numbers of states.** Where observations are 0 to n - 1, state numbers are observations: what a
recording of the environment says is what didact reads. Observations that never come up stay as idle
states, and one that ends an episode and also goes on gets a second state, after n, in which the
episode has ended. Other observations are numbered in the order in which they were found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from didact.errors import InvalidModel, InvalidParameter, Unsupported
from didact.inputs import FAILURES, nearest_spelling, reason_of, shown
from didact.mdp import Transitions
from didact.mdp.naming import cell_words

if TYPE_CHECKING:
    from didact.worlds.gym.tables import Model


_SAME_TABLE = {
    "Taxi-v3": "Taxi-v4",
    "Taxi-v4": "Taxi-v3",
    "CliffWalking-v0": "CliffWalking-v1",
    "CliffWalking-v1": "CliffWalking-v0",
}
"""Versions with one default table; each Gymnasium has one of the two."""

HARMLESS = frozenset(
    {
        "HumanRendering",
        "OrderEnforcing",
        "PassiveEnvChecker",
        "RecordEpisodeStatistics",
        "RecordVideo",
        "RenderCollection",
        "TimeLimit",
    }
)
"""Wrappers of Gymnasium that change nothing but when an episode is cut off."""

_ACTION_NAMES = {
    "FrozenLakeEnv": ("left", "down", "right", "up"),
    "CliffWalkingEnv": ("up", "right", "down", "left"),
    "TaxiEnv": ("south", "north", "east", "west", "pickup", "dropoff"),
}


@dataclass(frozen=True)
class Notes:
    """What is known of an environment besides its table; `layout` is that of its own states."""

    name: str
    n_states: int
    action_names: tuple[str, ...]
    state_names: tuple[str, ...]
    layout: Mapping[str, Any] | None
    first_action: int = 0

    @property
    def n_actions(self) -> int:
        """A."""
        return len(self.action_names)

    def names_of(self, nodes: Sequence[Node | None]) -> list[str]:
        """A name for each state; the terminal copies after them say so."""
        copies = (node for node in nodes[self.n_states :] if node is not None)
        return [*self.state_names, *(f"{self.state_names[state]} (end)" for state, _ in copies)]

    def layout_of(self, nodes: Sequence[Node | None]) -> dict[str, Any] | None:
        """Where the states lie; None where that is not known or two share the cell of a grid."""
        if self.layout is None or (self.layout["kind"] == "grid" and len(nodes) > self.n_states):
            return None
        copies = [node[0] for node in nodes[self.n_states :] if node is not None]
        lists = {key: self.layout[key] for key in ("cells", "things") if key in self.layout}
        ended = {key: [*each, *(each[state] for state in copies)] for key, each in lists.items()}
        return {**self.layout, **ended}


def open_environment(env: Any, make_kwargs: Mapping[str, Any]) -> Any:
    """The plain environment behind an id or behind harmless wrappers."""
    if isinstance(env, str):
        return make_environment(env, make_kwargs).unwrapped
    if make_kwargs:
        raise InvalidParameter(
            f"{next(iter(make_kwargs))!r} can only be given with an environment's id; "
            "here the environment itself is given"
        )
    for wrapper in filter(is_changing, wrappers_of(env)):
        raise Unsupported(
            f"the wrapper {type(wrapper).__name__} changes what the environment's own model says; "
            "walk through it with from_environment, or pass env.unwrapped to mean the environment "
            "without wrappers"
        )
    return getattr(env, "unwrapped", env)


def installed_id(id: str) -> str | None:
    """The id, or that of a version with the same table, whichever this Gymnasium has."""
    import gymnasium

    return next((own for own in (id, _SAME_TABLE.get(id)) if own in gymnasium.registry), None)


def make_environment(id: str, make_kwargs: Mapping[str, Any]) -> Any:
    """The environment with this id, in the wrappers that Gymnasium puts around it."""
    import gymnasium

    id = installed_id(id) or id
    if id not in gymnasium.registry and ":" not in id:
        raise InvalidParameter(
            f"Gymnasium {gymnasium.__version__} has no environment {shown(id)}"
            + nearest_spelling(id, gymnasium.registry)
        )
    try:
        return gymnasium.make(id, **make_kwargs)
    except FAILURES as error:
        raise InvalidParameter(f"gymnasium.make({id!r}) failed: {reason_of(error, 300)}") from None


def wrappers_of(env: Any) -> list[Any]:
    """The wrappers around an environment, from the outside in."""
    import gymnasium

    found = []
    while isinstance(env, gymnasium.Wrapper):
        found.append(env)
        env = env.env
    return found


def is_changing(wrapper: Any) -> bool:
    """Whether a wrapper may change steps or rewards; one of observations only shows them anew."""
    import gymnasium

    return not (
        isinstance(wrapper, gymnasium.ObservationWrapper) or type(wrapper).__name__ in HARMLESS
    )


def look_of(env: Any) -> Callable[[Any], Any]:
    """What the wrappers of an environment show, as a function of its own observation."""
    import gymnasium

    outside_in = [w for w in wrappers_of(env) if isinstance(w, gymnasium.ObservationWrapper)]

    def look(observation: Any) -> Any:
        for wrapper in reversed(outside_in):
            observation = wrapper.observation(observation)
        return observation

    return look


def walkable(env: Any) -> Any:
    """The environment from its outermost wrapper on that changes something; else without any."""
    import gymnasium

    for wrapper in wrappers_of(env):
        if is_changing(wrapper) or isinstance(wrapper, gymnasium.ObservationWrapper):
            return wrapper
    return getattr(env, "unwrapped", env)


def require_table(env: Any) -> Any:
    """The P table; refuses an environment that has none, or whose steps are not its table."""
    if getattr(env, "fickle_passenger", False):
        raise Unsupported(
            "Taxi with fickle_passenger=True changes the destination outside its P table, so the "
            "table is not its dynamics; make it with fickle_passenger=False"
        )
    table = getattr(env, "P", None)
    if table is None:
        raise Unsupported(
            f"{name_of(env)} has no table P of transition probabilities; didact.make and "
            "from_environment walk through environments without one, if no step is left to chance"
        )
    if not isinstance(table, Mapping | list | tuple) or len(table) == 0:
        raise InvalidModel(
            "P must be a table P[state][action] = [(probability, next state, reward, terminated), "
            f"...]; it is {type(table).__name__}"
        )
    return table


def has_table(env: Any) -> bool:
    """Whether a table P says what the environment does, through its wrappers."""
    is_changed = any(map(is_changing, wrappers_of(env)))
    return not is_changed and getattr(getattr(env, "unwrapped", env), "P", None) is not None


def describe(env: Any) -> Notes:
    """Names, sizes and drawing of an environment with a P table."""
    kind = next((c.__name__ for c in type(env).__mro__ if c.__name__ in _ACTION_NAMES), "")
    n_states = _size(env, "observation_space", len(env.P)) + _first(env, "observation_space")
    first = _first(env, "action_space")
    rows = env.P.values() if isinstance(env.P, Mapping) else env.P
    n_actions = _size(env, "action_space", max(len(r) if isinstance(r, Sized) else 1 for r in rows))
    names = _ACTION_NAMES.get(kind, ())
    if len(names) != n_actions:
        names = tuple(f"action {first + i}" for i in range(n_actions))
    in_words = kind == "TaxiEnv" and hasattr(env, "decode")
    return Notes(
        name=name_of(env),
        n_states=n_states,
        action_names=names,
        state_names=tuple(_taxi_name(env, s) if in_words else str(s) for s in range(n_states)),
        layout=_taxi_layout(env, n_states) if in_words else _grid_layout(env, kind, n_states),
        first_action=first,
    )


def _size(env: Any, space: str, otherwise: int) -> int:
    size = getattr(getattr(env, space, None), "n", None)
    return otherwise if size is None else int(size)


def _first(env: Any, space: str) -> int:
    """The first number of a space: `Discrete(4, start=1)` begins with 1."""
    return max(0, int(getattr(getattr(env, space, None), "start", 0)))


def name_of(env: Any) -> str:
    """The id of an environment, or its class's name."""
    return str(getattr(getattr(env, "spec", None), "id", None) or type(env).__name__)


def _grid_layout(env: Any, kind: str, n_states: int) -> dict[str, Any] | None:
    if kind == "FrozenLakeEnv":
        sides = int(env.nrow), int(env.ncol)
    elif kind == "CliffWalkingEnv":
        sides = int(env.shape[0]), int(env.shape[1])
    else:
        return None
    fits = sides[0] * sides[1] == n_states
    return {"kind": "grid", "rows": sides[0], "columns": sides[1]} if fits else None


def _taxi_layout(env: Any, n_states: int) -> dict[str, Any]:
    """Taxi's map with its stands and its walls; where taxi, passenger and destination are."""
    rows, columns = env.desc.shape[0] - 2, env.desc.shape[1] // 2
    stands = [row * columns + column for row, column in env.locs]
    cells, things = [], []
    for state in range(n_states):
        row, column, passenger, destination = (int(part) for part in env.decode(state))
        cells.append(row * columns + column)
        waits = passenger < len(stands)
        rider = ["waiting", stands[passenger]] if waits else ["riding", cells[-1]]
        things.append([rider, ["destination", stands[destination]]])
    walls = [
        ["wall", row * columns + column]
        for row, column in np.ndindex(rows, columns - 1)
        if env.desc[1 + row, 2 * column + 2] == b"|"
    ]
    return {
        **{"kind": "taxi", "rows": rows, "columns": columns, "cells": cells, "things": things},
        "signs": [*zip(_stand_letters(env), stands, strict=True), *walls],
    }


def _stand_letters(env: Any) -> list[str]:
    return [bytes(env.desc[1 + row, 2 * column + 1]).decode() for row, column in env.locs]


def _taxi_name(env: Any, state: int) -> str:
    row, column, passenger, destination = (int(part) for part in env.decode(state))
    places = _stand_letters(env)
    where = places[passenger] if passenger < len(places) else "in taxi"
    return f"{cell_words(row, column)}; passenger {where}; to {places[destination]}"


Node = tuple[int, bool]
"""A state by its number in the environment, and whether it is the one that ends the episode."""

MAX_NUMBERS = 100_000
"""Observations keep their numbers up to so many; above, only those that were found are states."""


@dataclass(frozen=True)
class Numbering:
    """What each state of the task is, None where it never comes up; and the state of each node.

    n_copies: how many states at the end are those in which an episode has ended.
    """

    nodes: tuple[Node | None, ...]
    number: Mapping[Node, int]
    n_copies: int = 0

    @property
    def n_states(self) -> int:
        """S."""
        return len(self.nodes)

    @property
    def terminal(self) -> list[int]:
        """States in which the episode has ended."""
        return [state for state, node in enumerate(self.nodes) if node is not None and node[1]]

    def names(self, given: Any, own: Sequence[str], keys: Sequence[Any]) -> Sequence[str]:
        """The names of the states: what a caller gives, else their own.

        given: None, a function of the key, a name for each state, or for each but the ended copies.
        """
        if callable(given):
            return [
                own[i] if node is None else f"{given(keys[node[0]])}{self._ending(node)}"
                for i, node in enumerate(self.nodes)
            ]
        n = self.n_states - self.n_copies
        if self.n_copies and isinstance(given, list | tuple) and len(given) == n:
            copies = [node for node in self.nodes[n:] if node is not None]
            return [*given, *(f"{given[state]} (end)" for state, _ in copies)]
        return own if given is None else given

    def _ending(self, node: Node) -> str:
        """What tells the name of an ended state from the same one that goes on."""
        return " (end)" if node[1] and (node[0], False) in self.number else ""

    def transitions(self, model: Model, n_actions: int) -> Transitions:
        """Where actions lead in the numbers of the task; idle states stay where they are."""
        return Transitions.from_rows(self._rows(model, n_actions), self.n_states, n_actions)

    def _rows(self, model: Model, n_actions: int) -> Iterator[tuple[int, int, int, Fraction]]:
        for state, actions in model.items():
            for action, outcomes in enumerate(actions):
                for o in outcomes:
                    after = self.number[o.successor, o.ends]
                    yield self.number[state, False], action, after, o.probability
        for state, node in enumerate(self.nodes):
            if node is None:
                yield from ((state, action, state, Fraction(1)) for action in range(n_actions))


def by_observation(found: Iterable[Node], n_observations: int) -> Numbering:
    """Numbers as the environment has them; after them the ends of observations that also go on."""
    listed = sorted(found)
    going = {state for state, ends in listed if not ends}
    nodes: list[Node | None] = [None] * n_observations
    for node in listed:
        if node[1] and node[0] in going:
            nodes.append(node)
        else:
            nodes[node[0]] = node
    return _numbered(nodes, len(nodes) - n_observations)


def as_found(found: Iterable[Node]) -> Numbering:
    """Numbers in the order of the nodes."""
    return _numbered(sorted(found))


def _numbered(nodes: Iterable[Node | None], n_copies: int = 0) -> Numbering:
    kept = tuple(nodes)
    number = {node: i for i, node in enumerate(kept) if node is not None}
    return Numbering(kept, number, n_copies)
