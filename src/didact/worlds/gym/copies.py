"""Environments that can be copied, as walkers: a snapshot is a copy, a key is what is observed."""

from __future__ import annotations

import copy
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from didact.errors import InvalidModel, InvalidParameter, Unsupported
from didact.inputs import FAILURES, own_code, reason_of, shown
from didact.mdp.observations import observation_text
from didact.numerics.exact import read_number
from didact.worlds.gym.continuous import require_countable
from didact.worlds.gym.environments import name_of
from didact.worlds.gym.walks import Step


def require_discrete(env: Any) -> tuple[int, int]:
    """The first action and how many there are."""
    space = getattr(env, "action_space", None)
    n, first = getattr(space, "n", None), getattr(space, "start", 0)
    if not isinstance(n, int | np.integer) or not callable(getattr(env, "step", None)):
        raise Unsupported(
            f"{type(env).__name__} must have reset, step and a Discrete action_space to be walked "
            f"through; its actions are {shown(space)}"
        )
    return int(first), int(n)


def random_state(env: Any) -> Any:
    """The state of the environment's own generator, to see whether a step drew from it."""
    generator = getattr(getattr(env, "unwrapped", env), "_np_random", None)
    return None if generator is None else generator.bit_generator.state


def require_no_chance(name: str, before: Any, after: Any) -> None:
    """Refuse steps that drew random numbers."""
    if before != after:
        raise Unsupported(
            f"{name} draws random numbers in its steps, so a walk cannot know their probabilities; "
            "give the environment a table P, or build an MDP by hand"
        )


class CopyWalker:
    """Any environment that can be copied; a snapshot is a copy."""

    def __init__(self, env: Any, key: Callable[[Any], Hashable] | None):
        if key is not None and not callable(key):
            raise InvalidParameter(f"key must be a function of the environment; it is {shown(key)}")
        self._env = env
        self._key = key
        self.first_action, self.n_actions = require_discrete(env)
        self._seen: dict[Hashable, str | None] = {}
        self.name = name_of(env)

    def begin(self, seed: int) -> tuple[Any, Hashable]:
        """A copy after a reset, and its key."""
        env = self._copied(self._env)
        with own_code(f"reset of {self.name}"):
            observation, _ = env.reset(seed=seed)
        return env, self._key_of(env, observation)

    def step(self, snapshot: Any, action: int) -> Step:
        """What an action does in another copy; one that draws random numbers is refused."""
        env = self._copied(snapshot)
        before = random_state(env)
        with own_code(f"step of {self.name}"):
            observation, reward, ends, _, _ = env.step(self.first_action + action)
        require_no_chance(self.name, before, random_state(env))
        text = str(reward) if isinstance(reward, np.floating) else reward
        exact = read_number(text, f"{self.name}: reward of action {action}")
        return Step(env, self._key_of(env, observation), exact, bool(ends))

    def _copied(self, env: Any) -> Any:
        kept = (getattr(env, n, None) for n in ("spec", "action_space", "observation_space"))
        try:
            return copy.deepcopy(env, {id(part): part for part in kept if part is not None})
        except FAILURES as error:
            raise Unsupported(
                f"{self.name} cannot be copied, and the walk must come back to every state: "
                f"{reason_of(error)}"
            ) from None

    def _key_of(self, env: Any, observation: Any) -> Hashable:
        with own_code(f"the key of {self.name}"):
            found = frozen(observation) if self._key is None else self._key(env)
        try:
            if found not in self._seen:
                self._seen[found] = _text_of(observation if self._key is None else frozen(found))
        except TypeError:
            raise InvalidParameter(
                f"{self.name}: a key must be hashable, as a number or a tuple; it is {shown(found)}"
            ) from None
        return found

    def seen(self, key: Hashable) -> str | None:
        """The observation of a state, or its key where one was given, as a text."""
        return self._seen[key]

    def require_countable(self, seed: int) -> None:
        """Refuse observations of which a walk finds no end."""
        require_countable(self._env, self.name, seed, self.first_action, self.n_actions)


def _text_of(value: Any) -> str | None:
    """The text of what was observed; None where a file cannot hold it."""
    try:
        return observation_text(value)
    except InvalidModel:
        return None


def frozen(value: Any) -> Any:
    """Numbers, texts, arrays, and containers of them as hashable plain values."""
    if isinstance(value, np.ndarray):
        return frozen(value.tolist())
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, list | tuple):
        return tuple(frozen(entry) for entry in value)
    if isinstance(value, dict):
        return tuple((name, frozen(value[name])) for name in sorted(value))
    return value
