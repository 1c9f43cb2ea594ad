"""Wrappers around single environments: what a vector environment shows, and terms of rewards.

Branching resets and copies environments one by one, so a vector environment is taken apart: its
first environment is used, with the frames that VecFrameStack puts together. What VecNormalize
does outside of all others is done to what policies see; features see observations as they are, and
rewards are never normalised. Vector environments are told by their attributes and the names of
their classes: Stable-Baselines3 need not be installed.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from didact.errors import InvalidModel, Unsupported
from didact.inputs import shown
from didact.worlds.simulators.arrays import VectorEntry, vector_entry
from didact.worlds.simulators.batches import Masks, normaliser

View = Callable[[Any], Any]
"""What a policy sees of observations, one or many."""
LOOKING_ON = (
    *("VecMonitor", "VecCheckNan", "VecVideoRecorder", "VecTransposeImage"),
    *("RecordEpisodeStatistics", "RecordVideo", "HumanRendering"),
)
"""Wrappers of vector environments that change nothing here; models transpose pictures by themselves
where they need it."""


def taken_apart(env: Any) -> tuple[Any, View | None]:
    """One environment of a vector environment, and what VecNormalize makes of its observations."""
    kind = type(env).__name__
    inner = getattr(env, "venv", None) or getattr(env, "env", None)
    if inner is None:
        return _first(env, kind), None
    one, view = taken_apart(inner)
    if kind in LOOKING_ON:
        return one, view
    if kind == "VecNormalize":
        return (one if view is None else Viewed(one, view)), normaliser(env)
    if kind == "VecFrameStack":
        stacked = env.stacked_obs
        axis = getattr(stacked, "repeat_axis", None)
        if axis is None:
            raise Unsupported(
                "VecFrameStack of Dict observations is not taken apart; give one environment with "
                "a gymnasium.Wrapper that stacks its frames"
            )
        return Frames(one if view is None else Viewed(one, view), stacked.n_stack, axis), None
    single = "gymnasium.Wrapper" if hasattr(env, "venv") else f"gymnasium.wrappers.{kind}"
    raise Unsupported(
        f"{kind} changes what a vector environment shows or does; put a {single} that does the "
        "same around one environment, and give that environment"
    )


APART = {
    "SubprocVecEnv": "make it with vec_env_cls=DummyVecEnv, or give a function that makes one "
    "environment",
    "AsyncVectorEnv": "give its function env.env_fns[0], or make it with vectorization_mode='sync'",
}


def _first(env: Any, kind: str) -> Any:
    """An environment as a vector environment without wrappers has it."""
    inside = getattr(env, "envs", None)
    if isinstance(inside, list | tuple) and inside and hasattr(inside[0], "reset"):
        return inside[0]
    if kind in APART:
        raise Unsupported(
            f"{kind} steps environments in other processes, where they cannot be copied; "
            f"{APART[kind]}"
        )
    plain, id = env.unwrapped, getattr(getattr(env, "spec", None), "id", "")
    registered = vector_entry(id) if id else None
    is_same = None if registered is None else registered.settings_as(plain)
    if is_same is None:
        raise Unsupported(
            f"{kind} steps several environments at once and cannot be taken apart; give one of "
            "them, or start(n, rng) and step(states, actions) on arrays (docs/simulators.md)"
        )
    return id if is_same else VectorEntry(copy.deepcopy(plain), id, is_changed=True)


def framed(env: Any, n: int) -> Frames:
    """An environment that shows its last n observations at once, as VecFrameStack does."""
    shape = env.observation_space.shape
    is_picture = len(shape) == 3 and env.observation_space.dtype == np.uint8
    # pictures are stacked by their colours, which come first where that side is the shortest
    return Frames(env, n, 0 if is_picture and shape[0] == min(shape) else -1)


class Viewed(gymnasium.ObservationWrapper):
    """An environment that shows what VecNormalize makes of its observations."""

    def __init__(self, env: Any, view: View):
        super().__init__(env)
        self._view = view
        shape = env.observation_space.shape
        self.observation_space = spaces.Box(-np.inf, np.inf, shape, np.float32)

    def observation(self, observation: Any) -> Any:
        """What is shown instead."""
        return self._view(observation)


class Frames(gymnasium.Wrapper):
    """An environment that shows its last observations as one, and zeros before the first."""

    def __init__(self, env: Any, n: int, axis: int):
        super().__init__(env)
        self._n, self._axis = n, axis
        self._frames: list[Any] = []
        seen = env.observation_space
        low, high = (np.repeat(bound, n, axis=axis) for bound in (seen.low, seen.high))
        self.observation_space = spaces.Box(low, high, dtype=seen.dtype)

    def reset(self, **options: Any) -> Any:
        """A fresh episode."""
        shown, info = self.env.reset(**options)
        self._frames = [np.zeros_like(shown)] * (self._n - 1) + [shown]
        return np.concatenate(self._frames, axis=self._axis), info

    def step(self, action: Any) -> Any:
        """A step; the oldest frame goes."""
        shown, *rest = self.env.step(action)
        self._frames = [*self._frames[1:], shown]
        return np.concatenate(self._frames, axis=self._axis), *rest


class Masked(gymnasium.Wrapper):
    """An environment that shows its mask of actions at the end of observations, and takes the
    first allowed action where it is given a masked one."""

    def __init__(self, env: Any, masking: Any):
        super().__init__(env)
        self._masking, self._has_ended = masking, False
        seen, taken = env.observation_space, env.action_space
        self.masks = Masks(int(taken.n), int(taken.start), seen.shape)
        low = np.zeros(1) if seen.shape == () else seen.low
        high = np.full(1, seen.n) if seen.shape == () else seen.high
        low = np.append(low, np.zeros(taken.n)).astype(seen.dtype)
        high = np.append(high, np.ones(taken.n)).astype(seen.dtype)
        self.observation_space = spaces.Box(low, high, dtype=seen.dtype)

    def _shown(self, observation: Any) -> Any:
        given = np.asarray(observation)
        return np.append(given, self._allowed()).astype(given.dtype)

    def _allowed(self) -> Any:
        mask = np.asarray(self._masking.action_masks(), dtype=np.bool_).reshape(-1)
        # where an episode has ended no action may be left
        if len(mask) != self.masks.n or not (mask.any() or self._has_ended):
            raise InvalidModel(
                f"action_masks() must be {self.masks.n} booleans, one for each action, at least "
                f"one of them True; it is {shown(mask.tolist())}"
            )
        return mask

    def reset(self, **options: Any) -> Any:
        """A fresh episode."""
        observation, info = self.env.reset(**options)
        self._has_ended = False
        return self._shown(observation), info

    def step(self, action: Any) -> Any:
        """A step by an allowed action."""
        mask = self._allowed()
        if not mask[int(action) - self.masks.first]:
            action = self.masks.first + int(mask.argmax())
        observation, *rest = self.env.step(action)
        self._has_ended = bool(rest[1])
        return self._shown(observation), *rest


def masked(env: Any, masking: Any) -> Any:
    """The environment with its masks in observations, where these are one row of numbers."""
    if isinstance(env, Masked) or not isinstance(env, gymnasium.Env):
        return env
    is_row = isinstance(env.observation_space, spaces.Box | spaces.Discrete)
    if not is_row or len(env.observation_space.shape or ()) > 1:
        return env
    return Masked(env, masking) if isinstance(env.action_space, spaces.Discrete) else env


class WalkerTerms(gymnasium.Wrapper):
    """BipedalWalker, with the terms of its reward in `info`: no observation has the place of the
    hull, by which the reward of going forward is counted."""

    def step(self, action: Any) -> Any:
        """A step; where the walker falls, its reward is that of the fall alone."""
        walker: Any = self.unwrapped
        before = walker.hull.position.x, abs(walker.hull.angle)
        shown, reward, ended, is_cut, info = self.env.step(action)
        place, angle = walker.hull.position.x, abs(walker.hull.angle)
        has_fallen = walker.game_over or place < 0
        effort = float(np.abs(np.clip(action, -1, 1)).sum())
        terms = {
            "reward_forward": 130 / 30 * (place - before[0]),
            "reward_angle": -5 * (angle - before[1]),
            "reward_ctrl": -0.00035 * 80 * effort,
        }
        told = dict.fromkeys(terms, 0.0) if has_fallen else terms
        return shown, reward, ended, is_cut, {**info, **told, "reward_fall": -100.0 * has_fallen}
