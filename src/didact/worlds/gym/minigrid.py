"""MiniGrid environments -> tasks, by walking through every state of one layout.

A state is where the agent stands and looks, what it carries, what lies where, and which doors are
open. The environment pays 1 - 0.9 * steps / max_steps for success; that depends on the time, so
here success pays 1, and the discount makes a short way worth more.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from didact.errors import InvalidParameter, Unsupported
from didact.inputs import own_code
from didact.mdp import Task
from didact.mdp.naming import cell_words
from didact.mdp.observations import observation_text
from didact.mdp.task import CARRIED, THINGS
from didact.numerics.exact import read_number
from didact.worlds.gym.environments import look_of, name_of, open_environment
from didact.worlds.gym.walks import (
    LIMIT,
    Exploration,
    WalkStep,
    as_seeds,
    explore,
    frozen,
    random_state,
    require_discrete,
    require_no_chance,
    task_of,
)

FAMILIES = ("MiniGrid-", "BabyAI-")
DIRECTIONS = ("east", "south", "west", "north")
STILL = ("wall", "floor", "goal", "lava")
"""Objects that neither move nor change."""
_PLAIN = int | float | str | bool | None
_NOT_REMEMBERED = {"step_count", "agent_pos", "agent_dir", "carrying", "_np_random_seed"}
"""Attributes that the key holds in another way, or that are no part of the state."""


def is_minigrid(name: str) -> bool:
    """Whether an environment's id is one of MiniGrid's."""
    return name.startswith(FAMILIES)


def from_minigrid(
    env_or_id: Any,
    /,
    *,
    seed: int | Sequence[int] = 0,
    limit: int = LIMIT,
    features: Callable[..., Any] | None = None,
    weights: Any = None,
    discount: Any = 0.95,
    start: str | None = None,
    name: str | None = None,
    state_names: Any = None,
    action_names: Sequence[str] | None = None,
    feature_names: Sequence[str] | None = None,
    **make_kwargs: Any,
) -> Task:
    """The task of a MiniGrid environment, given as an id or as the environment itself.

    env_or_id: a MiniGrid environment or its id.
    seed: fixes the layout and where the agent starts; several seeds are several starts.
    limit: how many states there may be.
    features: None for one indicator for each distinct reward; else a function of a `GridKey`, or
        of (key, action, next key, reward).
    weights: needed with features of your own.
    discount: in [0, 1), exactly as given.
    start: None for the environment's own; 'uniform' for every state that goes on.
    name: of the task; by default the environment's.
    state_names: a name for each state, or a function of a `GridKey`.
    action_names: a name for each action; by default MiniGrid's.
    feature_names: a name for each feature.
    make_kwargs: handed to `gymnasium.make` with an id.
    """
    require_minigrid()
    opened = open_environment(env_or_id, make_kwargs)
    walker = GridWalker(opened, look_of(env_or_id))
    try:
        walk = explore(walker, seeds=as_seeds(seed), limit=limit)
    finally:
        walker.release()
    own_actions = [action.name for action in opened.actions][: walker.n_actions]
    return task_of(
        walk,
        n_actions=walker.n_actions,
        features=features,
        weights=weights,
        discount=discount,
        start=start,
        name=name or walker.name,
        state_name=_state_names(walk.keys),
        state_names=state_names,
        action_names=own_actions if action_names is None else action_names,
        feature_names=feature_names,
        layout=_layout(walk, opened.grid.width, opened.grid.height),
    )


def require_minigrid() -> None:
    """Import the package, which registers its environments, or say how to install it."""
    try:
        import minigrid  # noqa: F401
    except ImportError:
        raise Unsupported(
            "MiniGrid environments need the package minigrid; pip install 'didact[minigrid]'"
        ) from None


@dataclass(frozen=True)
class GridKey:
    """A state of a MiniGrid environment: hashable, by value.

    position is (column, row), direction 0 east, 1 south, 2 west, 3 north. carried is a text such
    as "yellow key", or None. things: what can move or change and lies in the grid, as
    (column, row, text). layout: number of the reset, where several differ. rest: numbers that
    tell equal things apart, and what else the environment remembers.
    """

    position: tuple[int, int]
    direction: int
    carried: str | None
    things: tuple[tuple[int, int, str], ...]
    layout: int
    rest: Hashable


@dataclass(frozen=True)
class _Layout:
    """What a reset made: its number, its objects, the cells that may change, plain attributes."""

    number: int
    objects: Mapping[int, int]
    moving: Sequence[Any]
    cells: Sequence[int]
    attributes: Mapping[str, Any]


class GridWalker:
    """A MiniGrid environment; a snapshot holds what its attributes and its objects were."""

    def __init__(self, env: Any, look: Callable[[Any], Any] = lambda observation: observation):
        if not (hasattr(env, "grid") and hasattr(env, "carrying") and hasattr(env, "agent_dir")):
            raise InvalidParameter(
                f"{type(env).__name__} is no MiniGrid environment; use from_environment"
            )
        self.name = name_of(env)
        _, self.n_actions = require_discrete(env)
        self._env, self._look = env, look
        self._layouts: dict[Hashable, int] = {}
        self._observed: dict[Hashable, str] = {}

    def begin(self, seed: int) -> tuple[Any, Hashable]:
        """The state after a reset; success pays 1 from here on, and nothing is looked at."""
        from minigrid.minigrid_env import MiniGridEnv

        env = self._env
        self.release()
        with own_code(f"reset of {self.name}"):
            env.reset(seed=seed)
        if hasattr(env, "instrs"):
            raise Unsupported(
                f"{self.name} remembers how far its instruction is followed, outside the grid; "
                "BabyAI environments cannot be tabularised"
            )
        if type(env)._reward is MiniGridEnv._reward:  # and not that of a class of yours
            env._reward = lambda: 1
        env.gen_obs = lambda: None
        layout = self._laid_out()
        return self._taken(layout), self._key(layout)

    def release(self) -> None:
        """Take back what `begin` changed in the environment."""
        for changed in ("_reward", "gen_obs"):
            vars(self._env).pop(changed, None)

    def _laid_out(self) -> _Layout:
        env = self._env
        plain = {n: frozen(v) for n, v in vars(env).items() if n not in _NOT_REMEMBERED}
        token = tuple((name, value) for name, value in plain.items() if _is_plain(value))
        place = env.grid.encode().tobytes(), token
        number = self._layouts.setdefault(place, len(self._layouts))
        objects: list[Any] = []
        for thing in env.grid.grid:
            while thing is not None and all(thing is not known for known in objects):
                objects.append(thing)
                thing = getattr(thing, "contains", None)
        return _Layout(
            number,
            {id(thing): i for i, thing in enumerate(objects)},
            [thing for thing in objects if thing.type not in STILL],
            [
                i
                for i, thing in enumerate(env.grid.grid)
                if thing is None or thing.type not in STILL
            ],
            dict(vars(env)),
        )

    def step(self, snapshot: Any, action: int) -> WalkStep:
        """What an action does in a snapshot."""
        env = self._put_back(snapshot)
        before = random_state(env)
        with own_code(f"step of {self.name}"):
            _, reward, ends, _, _ = env.step(action)
        require_no_chance(self.name, before, random_state(env))
        text = str(reward) if isinstance(reward, np.floating) else reward
        exact: Fraction = read_number(text, f"{self.name}: reward of action {action}")
        layout = snapshot[0]
        return WalkStep(self._taken(layout), self._key(layout), exact, bool(ends))

    def _taken(self, layout: _Layout) -> Any:
        """Attributes of the environment and of each thing that can change, and the cells."""
        things = [dict(vars(thing)) for thing in layout.moving]
        return layout, dict(vars(self._env)), list(self._env.grid.grid), things

    def _put_back(self, snapshot: Any) -> Any:
        layout, attributes, cells, things = snapshot
        env = self._env
        vars(env).clear()
        vars(env).update(attributes)
        env.grid.grid[:] = cells
        for thing, were in zip(layout.moving, things, strict=True):
            vars(thing).clear()
            vars(thing).update(were)
        return env

    def _key(self, layout: _Layout) -> GridKey:
        env, width, cells = self._env, self._env.grid.width, self._env.grid.grid
        things = [(i, cells[i]) for i in layout.cells if cells[i] is not None]
        held = env.carrying
        found = GridKey(
            position=(int(env.agent_pos[0]), int(env.agent_pos[1])),
            direction=int(env.agent_dir),
            carried=None if held is None else described(held),
            things=tuple((i % width, i // width, described(thing)) for i, thing in things),
            layout=layout.number,
            rest=(
                tuple(layout.objects[id(thing)] for _, thing in things),
                None if held is None else layout.objects[id(held)],
                self._remembered(layout),
            ),
        )
        if found not in self._observed:
            self._observed[found] = observation_text(self._look(type(env).gen_obs(env)))
        return found

    def seen(self, key: Hashable) -> str:
        """What the agent sees, through its wrappers; places may look alike."""
        return self._observed[key]

    def _remembered(self, layout: _Layout) -> Hashable:
        """Plain attributes of the environment that are no longer what they were at the reset."""
        were = layout.attributes
        changed = [(n, v) for n, v in vars(self._env).items() if v is not were.get(n, were)]
        plain = [(n, frozen(v)) for n, v in changed if n not in _NOT_REMEMBERED]
        return tuple((n, v) for n, v in plain if _is_plain(v) and v != frozen(were.get(n, were)))


def _is_plain(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(map(_is_plain, value))
    return isinstance(value, _PLAIN)


def described(thing: Any) -> str:
    """An object in words: 'yellow key', 'red door, locked'."""
    text = f"{thing.color} {thing.type}"
    if thing.type != "door":
        return text
    how = "open" if thing.is_open else "locked" if thing.is_locked else "closed"
    return f"{text}, {how}"


def _state_names(keys: Sequence[Any]) -> Callable[[GridKey], str]:
    """Names say what differs: position and direction, what is carried, what lies where."""
    differ = len({key.things for key in keys}) > 1
    layouts = len({key.layout for key in keys}) > 1

    def named(key: GridKey) -> str:
        parts = [f"{_cell(*key.position)}, looking {DIRECTIONS[key.direction]}"]
        if layouts:
            parts.insert(0, f"layout {key.layout}")
        if key.carried is not None:
            parts.append(f"carrying {key.carried}")
        if differ:
            parts += [f"{text} at {_cell(column, row)}" for column, row, text in key.things]
        return "; ".join(parts)

    return named


def _layout(walk: Exploration, width: int, height: int) -> dict[str, Any] | None:
    """Where agent and things are in each state; None with several layouts or unknown things."""
    keys: list[Any] = [walk.keys[node[0]] for node in walk.numbering.nodes if node is not None]
    if len({key.layout for key in keys}) > 1:
        return None
    cells, things = [], []
    for key in keys:
        cells.append(key.position[1] * width + key.position[0])
        lying = [[_drawing(text), row * width + column] for column, row, text in key.things]
        held = [] if key.carried is None else [[CARRIED + _drawing(key.carried), cells[-1]]]
        things.append([[f"facing {90 * key.direction}", cells[-1]], *held, *lying])
    if any(name not in THINGS["room"] for each in things for name, _ in each):
        return None
    return {"kind": "room", "rows": height, "columns": width, "cells": cells, "things": things}


def _drawing(text: str) -> str:
    """'yellow key' -> 'key yellow', 'red door, locked' -> 'locked red'."""
    thing, _, look = text.partition(", ")
    colour, _, kind = thing.partition(" ")
    return f"{look or kind} {colour}"


def _cell(column: int, row: int) -> str:
    """A cell from 1, as everywhere: MiniGrid's own 0 is the wall around the room."""
    return cell_words(row - 1, column - 1)
