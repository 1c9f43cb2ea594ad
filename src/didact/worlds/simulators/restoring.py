"""Putting an environment back into a state: ways to do it, each tried to the bit before use.

A copy that looks right can be silently wrong: some environments lose their bodies when they are
copied, some share memory with the original. So a way counts only when two copies, stepped in turns,
show exactly what the original showed after the same state, on several episodes.

Pictures of states are made where an environment draws itself as `rgb_array`: a second environment
is put into the state, or led there by the episode's seed and actions. What cannot be drawn has no
picture; that is never an error."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from didact.errors import InvalidParameter, Unsupported
from didact.inputs import FAILURES, reason_of, shown
from didact.worlds.simulators.generators import (
    marks_of,
    put_states,
    shared_sources,
    states_of,
    unchanged,
)

TRIALS = ((11, 0), (12, 4), (13, 15))
"""Seeds of the episodes that a way is tried on, and the steps before the state is saved."""
LOOKAHEAD = 12
"""Steps that copies must make as the original does; in the last trial, those of a whole episode."""
MAX_HIDDEN = 2
"""Positions that MuJoCo's environments leave out of observations: where the body is."""
MAX_EPISODE = 1000
"""Steps of a whole episode, where the environment does not say its own limit."""


Floats = NDArray[np.floating[Any]]


class History(NamedTuple):
    """How an environment came where it is."""

    seed: int
    actions: tuple[Any, ...]


class Way(Protocol):
    """A way to save an environment's state and to stand in it again."""

    words: str

    def save(self, env: Any, history: History) -> Any:
        """What restoring will need; later steps of the environment must not change it."""

    def restore(self, env: Any, saved: Any) -> Any:
        """An environment that stands in the saved state: this one, or another one."""

    def nudged(self, env: Any, saved: Any, size: float, rng: np.random.Generator) -> Any:
        """A saved state whose numbers are off by so small a share; None where they cannot be
        written."""


class OwnProtocol:
    """The environment's own get_state() and set_state(state), or those of Atari."""

    words = "by the environment's own get_state and set_state"
    NAMES = (("get_state", "set_state"), ("clone_state", "restore_state"))

    def save(self, env: Any, history: History) -> Any:
        """A copy of the state that the environment gives."""
        return copy.deepcopy(_own(env, self.NAMES)[0]())

    def restore(self, env: Any, saved: Any) -> Any:
        """The environment, told its state."""
        env.reset(seed=0)
        _own(env, self.NAMES)[1](copy.deepcopy(saved))
        return env

    def nudged(self, env: Any, saved: Any, size: float, rng: np.random.Generator) -> Any:
        """The state, where it is numbers."""
        return moved_numbers(saved, size, rng)


class FullPhysics:
    """MuJoCo's whole integration state; positions and speeds alone are not all of it."""

    words = "by MuJoCo's full integration state"

    def save(self, env: Any, history: History) -> Any:
        """mjSTATE_INTEGRATION as an array, and the environment's own generator."""
        mujoco = import_module("mujoco")
        plain = env.unwrapped
        kind = mujoco.mjtState.mjSTATE_INTEGRATION
        state = np.empty(mujoco.mj_stateSize(plain.model, kind))
        mujoco.mj_getState(plain.model, plain.data, state, kind)
        return state, copy.deepcopy(plain.np_random)

    def restore(self, env: Any, saved: Any) -> Any:
        """The environment, its physics put back and brought forward."""
        mujoco = import_module("mujoco")
        env.reset(seed=0)
        plain = env.unwrapped
        mujoco.mj_setState(plain.model, plain.data, saved[0], mujoco.mjtState.mjSTATE_INTEGRATION)
        mujoco.mj_forward(plain.model, plain.data)
        plain.np_random = copy.deepcopy(saved[1])
        return env

    def nudged(self, env: Any, saved: Any, size: float, rng: np.random.Generator) -> Any:
        """Positions and speeds, which follow the time at the beginning of the state."""
        model = env.unwrapped.model
        state, end = saved[0].copy(), 1 + model.nq + model.nv
        state[1:end] = moved_numbers(state[1:end], size, rng)
        return state, saved[1]


class Copying:
    """A deep copy of the environment object."""

    words = "by copying the environment object"

    def save(self, env: Any, history: History) -> Any:
        """A copy, which nobody steps."""
        return copy.deepcopy(env)

    def restore(self, env: Any, saved: Any) -> Any:
        """A copy of the copy."""
        return copy.deepcopy(saved)

    def nudged(self, env: Any, saved: Any, size: float, rng: np.random.Generator) -> Any:
        """A copy whose `state`, where it has one of numbers, is moved."""
        twin = copy.deepcopy(saved)
        moved = moved_numbers(getattr(twin.unwrapped, "state", None), size, rng)
        if moved is None:
            return None
        twin.unwrapped.state = moved
        return twin


class Replaying:
    """The episode's seed and its actions once more; the general way, which costs the prefix."""

    words = "by replaying the episode's seed and actions"

    def save(self, env: Any, history: History) -> Any:
        """The history itself."""
        return history

    def restore(self, env: Any, saved: Any) -> Any:
        """The environment, started and stepped as before."""
        env.reset(seed=saved.seed)
        for action in saved.actions:
            env.step(action)
        return env

    def nudged(self, env: Any, saved: Any, size: float, rng: np.random.Generator) -> Any:
        """Nothing: a seed and actions are no numbers of a state."""
        return None


def _numbers_of(state: Any) -> Floats | None:
    """A state of real numbers as an array: an array, a list or a tuple, some of whose entries are
    not whole by their type; None of others."""
    if isinstance(state, np.ndarray):
        return state if state.dtype.kind == "f" else None
    if type(state) not in (tuple, list):
        return None
    # some entries are whole at times: MountainCar stops at its wall with the speed 0
    reals = [isinstance(x, float | np.floating) for x in state]
    whole = [isinstance(x, int | np.integer) and not isinstance(x, bool) for x in state]
    are_numbers = any(reals) and all(map(max, reals, whole))
    return np.array(state, dtype=np.float64) if are_numbers else None


def _as_state(numbers: NDArray[Any], state: Any) -> Any:
    """Numbers in the form of a state."""
    if isinstance(state, np.ndarray):
        return numbers.astype(state.dtype)
    return type(state)(numbers.tolist())


def moved_numbers(state: Any, size: float, rng: np.random.Generator) -> Any:
    """An array, a list or a tuple of real numbers, each off by so small a share; else None."""
    given = _numbers_of(state)
    if given is None:
        return None
    return _as_state(given * (1 + size * rng.standard_normal(given.shape)), state)


def put_state(plain: Any, observed: NDArray[Any]) -> bool:
    """Write what was observed as the state of an environment, and say whether its state has this
    form: numbers of the same shape in `state`, or MuJoCo's positions, but for the first ones, which
    many observations leave out, and speeds."""
    data: Any = getattr(plain, "data", None)
    if type(data).__name__ == "MjData" and hasattr(plain, "set_state") and observed.ndim == 1:
        n_hidden = data.qpos.size + data.qvel.size - observed.size
        if not 0 <= n_hidden <= MAX_HIDDEN:
            return False
        whole = np.concatenate([np.zeros(n_hidden), observed])
        plain.set_state(whole[: data.qpos.size], whole[data.qpos.size :])
        return True
    state: Any = getattr(plain, "state", None)
    given = _numbers_of(state)
    if given is None or given.shape != observed.shape:
        return False
    plain.state = _as_state(observed, state)
    return True


WAYS: dict[str, Callable[[], Way]] = {
    "own": OwnProtocol,
    "mujoco": FullPhysics,
    "copy": Copying,
    "replay": Replaying,
}


def find_way(make: Callable[[], Any], name: str, restore: str = "auto") -> Way:
    """The first way that restores this environment to the bit, or the one that is asked for."""
    if restore != "auto" and restore not in WAYS:
        raise InvalidParameter(
            f"restore must be 'auto' or one of {', '.join(WAYS)}; it is {shown(restore)}"
        )
    refused = []
    for title, way_of in WAYS.items():
        if restore in ("auto", title) and _may_work(title, make()):
            way = way_of()
            reason = why_not(way, make)
            if not reason:
                return way
            refused.append(f"{title}: {reason}")
    raise Unsupported(
        f"no way restores a state of {name} to the bit ({'; '.join(refused) or 'none applies'}); "
        "give the environment get_state and set_state, or make reset(seed=...) decide everything"
    )


def why_not(way: Way, make: Callable[[], Any]) -> str:
    """Why a way does not restore this environment to the bit; nothing where it does."""
    return _first_reason(lambda seed, n_before: _tried(way, make, seed, n_before))


def why_other(env: Any, make: Callable[[], Any]) -> str:
    """Why what `make` makes does not do what an environment does; nothing where it does.

    Both are stepped from the same seeds and by the same actions, one after the other.
    """
    return _first_reason(lambda seed, _: _compared(env, make(), seed))


def _first_reason(reason_of_trial: Callable[[int, int], str]) -> str:
    """What is first found wrong in an episode; nothing where all is well."""
    for seed, n_before in TRIALS:
        try:
            reason = reason_of_trial(seed, n_before)
        except FAILURES as error:
            reason = f"it fails, {reason_of(error)}"
        if reason:
            return reason
    return ""


def _tried(way: Way, make: Callable[[], Any], seed: int, n_before: int) -> str:
    original, copies = make(), [make(), make()]
    n_after = episode_length(original) if seed == TRIALS[-1][0] else LOOKAHEAD
    before, after = _actions(original, seed, n_before), _actions(original, seed + 1, n_after)
    for env in copies:  # pooled environments are used again, and must not remember what they did
        env.reset(seed=seed + 2)
        _shown(env, after[:LOOKAHEAD])
    original.reset(seed=seed)
    for done, action in enumerate(before):
        if original.step(action)[2]:
            return _tried(way, make, seed, done) if done else ""
    saved = way.save(original, History(seed, tuple(before)))
    # generators that all copies share go on for each as if it were alone
    shared = shared_sources(original)
    with unchanged(shared):
        states, marks = [states_of(shared)] * 2, marks_of(shared)
        expected = _shown(original, after)
        if marks_of(shared) == marks:
            shared, states = [], [[], []]  # none is drawn from
        copies = [way.restore(env, saved) for env in copies]
        for t in range(len(expected)):
            for i, env in enumerate(copies):
                put_states(shared, states[i])
                (line,) = _shown(env, after[t : t + 1])
                states[i] = states_of(shared)
                if not same(line, expected[t]):
                    return f"{t + 1} steps later a copy differs from the original"
    return ""


def _compared(env: Any, other: Any, seed: int) -> str:
    shared = shared_sources(env)
    actions = random_episode(env, seed)[: None if seed == TRIALS[-1][0] else LOOKAHEAD]
    states = states_of(shared)
    lines = []
    for each in (env, other):
        put_states(shared, states)
        lines.append([copy.deepcopy(each.reset(seed=seed)[0]), *_shown(each, actions)])
    one, another = lines
    for t in range(max(map(len, lines))):
        if not same(one[t : t + 1], another[t : t + 1]):
            return f"it differs after {t} steps"
    return ""


def episode_length(env: Any) -> int:
    """The steps after which an environment's own time limit ends an episode."""
    limit = getattr(getattr(env, "spec", None), "max_episode_steps", None)
    return MAX_EPISODE if limit is None else min(int(limit), MAX_EPISODE)


def random_episode(env: Any, seed: int) -> list[Any]:
    """Actions by chance for a whole episode."""
    return _actions(env, seed, episode_length(env))


def _actions(env: Any, seed: int, n: int) -> list[Any]:
    space = copy.deepcopy(env.action_space)
    space.seed(seed)
    return [space.sample() for _ in range(n)]


def _shown(env: Any, actions: Sequence[Any]) -> list[Any]:
    """Observation, reward and end of each step, up to the end of the episode."""
    lines = []
    for action in actions:
        observation, reward, ended, _, _ = env.step(action)
        lines.append((copy.deepcopy(observation), float(reward), bool(ended)))
        if ended:
            break
    return lines


def same(one: Any, other: Any) -> bool:
    """Whether two observations, or what steps gave, are the same to the bit, entry by entry."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)
    if isinstance(one, tuple | list):
        return len(one) == len(other) and all(map(same, one, other))
    first, second = np.asarray(one), np.asarray(other)
    return first.shape == second.shape and first.tobytes() == second.tobytes()


def _may_work(title: str, env: Any) -> bool:
    """Whether a way is worth trying on this environment."""
    plain = getattr(env, "unwrapped", env)
    if title == "own":
        return _own(env, OwnProtocol.NAMES) is not None
    if title == "mujoco":
        return type(getattr(plain, "data", None)).__name__ == "MjData"
    return True


def _own(env: Any, names: Sequence[tuple[str, str]]) -> Any:
    """The environment's own pair of methods; set_state must take one thing, the state."""
    plain = getattr(env, "unwrapped", env)
    for names_of_pair in names:
        get, put = (getattr(plain, name, None) for name in names_of_pair)
        if callable(get) and callable(put) and len(inspect.signature(put).parameters) == 1:
            return get, put
    return None


Image = NDArray[np.uint8]
"""(height, width, 3)."""


def pictures_of(simulator: Any, saved_states: Sequence[Any]) -> list[Image | None]:
    """A picture of each state, or None."""
    with suppress(*FAILURES):
        drawn = simulator.drawn()
        if drawn is not None:
            env, put = drawn
            try:
                return [_as_image(put(saved).render()) for saved in saved_states]
            finally:
                env.close()
    return [None] * len(saved_states)


def _as_image(given: Any) -> Image | None:
    image = np.asarray(given)
    fits = image.ndim == 3 and image.shape[2] == 3 and image.dtype == np.uint8 and image.size > 0
    return image if fits else None
