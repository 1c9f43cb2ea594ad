"""The simulator behind what a person names: an object that steps arrays, an id, an environment."""

from __future__ import annotations

import copy
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

from didact.errors import InvalidParameter, Unsupported
from didact.inputs import nearest_spelling, own_code, shown
from didact.worlds.gym.environments import make_environment, name_of, wrappers_of
from didact.worlds.simulators.arrays import (
    ArraySimulator,
    VectorEntry,
    is_array_simulator,
    vector_entry,
)
from didact.worlds.simulators.batches import Simulator, takes_masks
from didact.worlds.simulators.classics import LQR, MountainCar, Pendulum, PointRobot
from didact.worlds.simulators.generators import marks_of, own_sources, shared_sources, unchanged
from didact.worlds.simulators.objects import Chance, ObjectSimulator
from didact.worlds.simulators.restoring import (
    LOOKAHEAD,
    TRIALS,
    History,
    Way,
    find_way,
    random_episode,
    why_other,
)

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


def open_simulator(env: Any, *, restore: str = "auto", plain: bool = False) -> Simulator:
    """A simulator of an environment.

    env: 'point-robot', 'lqr', an object that steps arrays of states (see `simulators.arrays`), the
        id of a Gymnasium environment, an environment, its class, a function that makes one, or a
        vector environment, of which one is taken.
    restore: how states are put back: 'auto', the first way that holds to the bit, or 'own',
        'mujoco', 'copy' or 'replay'.
    plain: objects, whose steps give `info`, also where a vector entry point steps arrays.
    """
    title = env if isinstance(env, str) else None
    env = named_environment(env)
    if inspect.isclass(env) and is_array_simulator(env) and not hasattr(env, "reset"):
        env = env()
    if is_array_simulator(env) and not hasattr(env, "reset"):
        return ArraySimulator(env, title or _title(env))
    if isinstance(env, str):
        vector = vector_entry(env) if restore == "auto" and not plain else None
        if vector is not None:
            return ArraySimulator(vector, env)
    if _is_object(env) and not _is_vector(env):
        return _of_object(env, restore)
    make = _maker(env)
    first = make()
    if _is_vector(first):
        from didact.worlds.simulators.wrappers import taken_apart

        one, view = taken_apart(first)
        is_whole = first is env or isinstance(one, str | VectorEntry)
        apart = one if is_whole else partial(_first_of, env)
        simulator = open_simulator(apart, restore=restore, plain=plain)
        simulator.view = view
        return simulator
    if not all(callable(getattr(first, name, None)) for name in ("reset", "step")):
        raise InvalidParameter(
            "env must be a Gymnasium environment, its id, a function that makes one, or an object "
            f"with start and step for arrays; it is {shown(env)}"
        )
    name = name_of(getattr(first, "unwrapped", first))
    return _restored(make, name, restore, _drawing_maker(env))


def seen_by(policy: Any, env: Any) -> Any:
    """The environment as an agent saw it: of an id, so many frames as its run says; refused where
    the agent takes masks of actions (MaskablePPO) that cannot be shown: without them it acts
    otherwise."""
    if takes_masks(policy):
        made = env
        if isinstance(env, str) or (not _is_object(env) and callable(env)):
            made = _maker(env)()
        if _masking_of(made) is not None and not hasattr(_with_masks(made), "masks"):
            raise Unsupported(
                f"{name_of(made.unwrapped)} masks actions (action_masks), and this agent acts by "
                "its masks, which are taken into account where observations are one row of numbers "
                "and actions are Discrete. Give an environment of this kind"
            )
    n_frames = getattr(policy, "frame_stack", 1)
    return partial(_framed, env, n_frames) if n_frames > 1 and isinstance(env, str) else env


def _framed(id: str, n_frames: int) -> Any:
    from didact.worlds.simulators.wrappers import framed

    return framed(_without_limit(make_environment(id, {})), n_frames)


def _is_vector(env: Any) -> bool:
    """Whether this steps several environments; arrays of states are stepped otherwise."""
    is_made = not isinstance(env, str) and not inspect.isclass(env)
    return is_made and hasattr(env, "num_envs") and not callable(getattr(env, "start", None))


def _restored(
    make: Callable[[], Any], name: str, restore: str, drawing: Any, origin: str = ""
) -> ObjectSimulator:
    """A simulator of the objects that `make` makes; origin: whence they come, in words."""
    with unchanged(shared_sources(make())):
        way = find_way(make, name, restore)
        with own_code(f"trying {name}"):
            chance = _chance_of(way, make)
    return ObjectSimulator(make, name, way, drawing, chance=chance, origin=origin)


def _is_object(env: Any) -> bool:
    """Whether this is an environment, and not its name, its class or what makes it."""
    methods = ("reset", "step")
    return not inspect.isclass(env) and all(callable(getattr(env, name, None)) for name in methods)


def _of_object(env: Any, restore: str) -> ObjectSimulator:
    """A simulator of copies of an environment as it was given, which is reset and stepped to see
    whether they do what it does; where they do not, of those that its spec makes, if these do."""
    plain = _with_masks(_without_limit(env))
    spec = getattr(plain, "spec", None)
    name = name_of(getattr(plain, "unwrapped", plain))
    is_made = spec is not None and getattr(spec, "entry_point", None) is not None

    copied, remade = partial(_fresh, copy.deepcopy, plain), partial(_fresh, _made_from, spec)
    with unchanged(shared_sources(plain)), _without_inner_idle(plain):
        not_copied = why_other(plain, copied)
        not_remade = why_other(plain, remade) if is_made else "it has no spec"
    if not_copied and not_remade:
        raise Unsupported(
            f"the {name} that was given can neither be copied ({not_copied}) nor made anew "
            f"({not_remade}); give a function that makes it"
        )
    drawing = None if not_remade else _drawing_maker(env)
    if drawing is None and getattr(plain, "render_mode", None) == "rgb_array" and not not_copied:
        drawing = copied
    if not_copied:
        return _restored(remade, name, restore, drawing, f"made anew as {name}")
    origin = "as the object that was given"
    if is_made and not_remade:
        origin += f", which is not {name} as Gymnasium makes it"
    return _restored(copied, name, restore, drawing, origin)


def _title(env: Any) -> str:
    if isinstance(env, VectorEntry):
        return env.id
    built_in = {kind: name for name, kind in BUILT_IN.items()}
    return built_in.get(type(env), type(env).__name__)


def _maker(env: Any) -> Callable[[], Any]:
    """A function that makes fresh environments, without their time limit."""
    if isinstance(env, str):
        return partial(_fresh, make_environment, env, {})
    if inspect.isclass(env) or (callable(env) and not hasattr(env, "step")):
        return partial(_fresh, env)
    return lambda: env  # whatever else it is, `open_simulator` says what it should have been


def _fresh(make: Callable[..., Any], *given: Any) -> Any:
    with own_code("making the environment"), _warning_once():
        return _with_masks(_with_terms(_without_idle(make(*given))))


@contextmanager
def _warning_once() -> Iterator[None]:
    """MuJoCo's compiler prints its warnings whenever it makes a copy; for the first one is enough.

    Those that the first environment of a process causes come before anybody can look at them.
    """
    mujoco: Any = sys.modules.get("mujoco")
    known = getattr(mujoco, "get_mju_user_warning", None)
    if known is None or known() is not None:
        yield
        return
    mujoco.set_mju_user_warning(lambda message: None)
    try:
        yield
    finally:
        mujoco.set_mju_user_warning(None)


def _first_of(make: Callable[[], Any]) -> Any:
    """The environment of a fresh vector environment."""
    from didact.worlds.simulators.wrappers import taken_apart

    return taken_apart(make())[0]


def _made_from(spec: Any, **how: Any) -> Any:
    import gymnasium

    return gymnasium.make(spec, **how)


IDLE = ("TimeLimit", "PassiveEnvChecker", "OrderEnforcing", "RecordEpisodeStatistics", "Monitor")
"""Wrappers that cut episodes off or only look on; Monitor is Stable-Baselines3's."""


def _without_limit(env: Any) -> Any:
    """The environment without idle wrappers around it."""
    while wrappers_of(env) and type(env).__name__ in IDLE:
        env = env.env
    return env


def _drawing_maker(env: Any) -> Callable[[], Any] | None:
    """A function that makes the environment, an id or made from one, so that it draws itself; None
    where nobody knows how."""
    id = env if isinstance(env, str) else getattr(getattr(env, "spec", None), "id", None)
    return partial(_drawing, id) if isinstance(id, str) else None


def _drawing(id: str) -> Any:
    return _without_limit(_made_from(id, render_mode="rgb_array"))


def _without_idle(env: Any) -> Any:
    """A fresh environment without idle wrappers, also those that others are put around: a Monitor
    refuses to be stepped once its time limit has passed."""
    env = _without_limit(env)
    for wrapper in wrappers_of(env):
        wrapper.env = _without_limit(wrapper.env)
    return env


@contextmanager
def _without_inner_idle(env: Any) -> Iterator[None]:
    """An environment that was given, while it has no idle wrappers inside others: as its copies."""
    inside = [(wrapper, wrapper.env) for wrapper in wrappers_of(env)]
    try:
        _without_idle(env)
        yield
    finally:
        for wrapper, one in inside:
            wrapper.env = one


def _masking_of(env: Any) -> Any:
    """What has `action_masks`, the environment or a wrapper; None without."""
    layers = (*wrappers_of(env), getattr(env, "unwrapped", env))
    return next((one for one in layers if callable(getattr(one, "action_masks", None))), None)


def _with_masks(env: Any) -> Any:
    """The environment, with its masks of actions in observations where they fit there."""
    masking = _masking_of(env)
    if masking is None:
        return env
    from didact.worlds.simulators.wrappers import masked

    return masked(env, masking)


def _with_terms(env: Any) -> Any:
    """The environment, with terms of its reward in `info` where Gymnasium reports none of them."""
    if type(getattr(env, "unwrapped", None)).__name__ != "BipedalWalker":
        return env
    from didact.worlds.simulators.wrappers import WalkerTerms

    return WalkerTerms(env)


def _chance_of(way: Way, make: Callable[[], Any]) -> Chance:
    """From which generators an environment's steps draw, along whole episodes of random actions."""
    found = Chance.NONE
    for seed, n_before in TRIALS:
        env = make()
        actions = random_episode(env, seed)
        env.reset(seed=seed)
        env = way.restore(make(), way.save(env, History(seed, ())))
        before = marks_of(own_sources(env)), marks_of(shared_sources(env))
        for action in actions[: None if n_before else LOOKAHEAD]:
            if env.step(action)[2]:
                break
        # looked up anew: a space makes its generator when it is first drawn from
        if marks_of(shared_sources(env)) != before[1]:
            return Chance.SHARED
        if marks_of(own_sources(env)) != before[0]:
            found = Chance.OWN
    return found
