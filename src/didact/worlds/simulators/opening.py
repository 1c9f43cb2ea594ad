"""The simulator behind what a person names: an object that steps arrays, an id, an environment."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from didact.errors import InvalidParameter
from didact.inputs import nearest_spelling, own_code, shown
from didact.worlds.gym.environments import make_environment, name_of, wrappers_of
from didact.worlds.simulators.arrays import ArraySimulator, is_array_simulator
from didact.worlds.simulators.batches import Simulator
from didact.worlds.simulators.classics import MountainCar, Pendulum
from didact.worlds.simulators.lqr import LQR
from didact.worlds.simulators.objects import ObjectSimulator
from didact.worlds.simulators.pictures import drawing_maker
from didact.worlds.simulators.point_robot import PointRobot
from didact.worlds.simulators.restoring import LOOKAHEAD, History, Way, find_way
from didact.worlds.simulators.vector_entries import vector_entry

BUILT_IN = {
    "lqr": LQR,
    "mountain-car": MountainCar,
    "pendulum": Pendulum,
    "point-robot": PointRobot,
}
"""Simulators by name; they bring features, weights and a policy of their own."""


def named_environment(env: Any, parameters: Mapping[str, Any] | None = None) -> Any:
    """The built-in simulator of this name, made with these parameters; others as they are."""
    given = dict(parameters or {})
    if not isinstance(env, str) or env not in BUILT_IN:
        if given:
            raise InvalidParameter(
                f"parameters are for {' and '.join(BUILT_IN)}; leave {min(given)!r} out"
            )
        return env
    known = inspect.signature(BUILT_IN[env]).parameters
    for name in given:
        if name not in known:
            raise InvalidParameter(
                f"{env} has no parameter {name!r}{nearest_spelling(name, known)}; it has "
                f"{', '.join(known)}"
            )
    return BUILT_IN[env](**given)


def open_simulator(env: Any, *, restore: str = "auto") -> Simulator:
    """A simulator of an environment.

    env: 'point-robot', 'lqr', an object that steps arrays of states (see `simulators.arrays`), the
        id of a Gymnasium environment, an environment, its class, or a function that makes one.
    restore: how states are put back: 'auto', the first way that holds to the bit, or 'own',
        'mujoco', 'copy' or 'replay'.
    """
    title = env if isinstance(env, str) else None
    env = named_environment(env)
    if inspect.isclass(env) and is_array_simulator(env) and not hasattr(env, "reset"):
        env = env()
    if is_array_simulator(env) and not hasattr(env, "reset"):
        return ArraySimulator(env, title or _title(env))
    if isinstance(env, str):
        vector = vector_entry(env) if restore == "auto" else None
        if vector is not None:
            return ArraySimulator(vector, env)
    make = _maker(env)
    first = make()
    if not all(callable(getattr(first, name, None)) for name in ("reset", "step")):
        raise InvalidParameter(
            "env must be a Gymnasium environment, its id, a function that makes one, or an object "
            f"with start and step for arrays; it is {shown(env)}"
        )
    name = name_of(getattr(first, "unwrapped", first))
    way = find_way(make, name, restore)
    drawing = drawing_maker(env, _without_limit)
    with own_code(f"trying {name}"):
        is_random = _depends_on_chance(way, make)
    return ObjectSimulator(make, name, way, drawing, is_random=is_random)


def _title(env: Any) -> str:
    built_in = {kind: name for name, kind in BUILT_IN.items()}
    return built_in.get(type(env), type(env).__name__)


def _maker(env: Any) -> Callable[[], Any]:
    """A function that makes fresh environments, without their time limit."""
    if isinstance(env, str):
        return partial(_fresh, make_environment, env, {})
    if inspect.isclass(env) or (callable(env) and not hasattr(env, "step")):
        return partial(_fresh, env)
    spec = getattr(env, "spec", None)
    if spec is not None and getattr(spec, "entry_point", None) is not None:
        return partial(_fresh, _made_from, spec)
    return partial(_fresh, copy.deepcopy, env)


def _fresh(make: Callable[..., Any], *given: Any) -> Any:
    with own_code("making the environment"):
        return _without_limit(make(*given))


def _made_from(spec: Any) -> Any:
    import gymnasium

    return gymnasium.make(spec)


def _without_limit(env: Any) -> Any:
    """The environment without the wrappers that cut episodes off or only look on."""
    idle = {"TimeLimit", "PassiveEnvChecker", "OrderEnforcing", "RecordEpisodeStatistics"}
    while wrappers_of(env) and type(env).__name__ in idle:
        env = env.env
    return env


def _depends_on_chance(way: Way, make: Callable[[], Any]) -> bool:
    """Whether an environment's steps depend on more than state and action."""
    original = make()
    original.reset(seed=5)
    saved = way.save(original, History(5, ()))
    space = copy.deepcopy(original.action_space)
    space.seed(5)
    actions = [space.sample() for _ in range(LOOKAHEAD)]
    lines: list[list[Any]] = []
    for seed in (1, 2):
        env = way.restore(make(), saved)
        env.unwrapped.np_random = np.random.default_rng(seed)
        lines.append([])
        for action in actions:
            observation, reward, ended, _, _ = env.step(action)
            lines[-1].append((np.asarray(observation).tobytes(), float(reward), bool(ended)))
            if ended:
                break
    return lines[0] != lines[1]
