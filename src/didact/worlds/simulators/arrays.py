"""Simulators whose states are arrays: one call steps thousands of copies.

An environment is one when it has

    start(n, rng) -> states (n, d)
    step(states, actions) -> (states, rewards (n,), terminated (n,))
    action_space

and, where observations are not the states themselves, observe(states). `step` must be a function of
its arguments alone: then a state is its row of numbers, and restoring it costs nothing. Where steps
depend on chance, `step` takes a third argument `rng`, a generator, and nothing else is random.

Gymnasium's environments with a vector entry point whose state is one array (CartPole) are stepped
as such: a thousand copies as quickly as two objects. Their state is (d, copies); a vector
environment resets ended copies by itself, which is switched off here before each step."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from didact.errors import InvalidModel, InvalidParameter, Unsupported
from didact.inputs import FAILURES, own_code, plain_array, shown
from didact.random import stream
from didact.worlds.simulators.batches import Mask, Stepped
from didact.worlds.simulators.generators import marks_of, own_sources, shared_sources

Indices = NDArray[np.int64]


def is_array_simulator(env: Any) -> bool:
    """Whether an environment steps arrays of states."""
    return all(callable(getattr(env, name, None)) for name in ("start", "step"))


class ArraySimulator:
    """An environment that steps arrays of states."""

    restoring = "as the arrays that they are"
    view: Any = None
    masks: Any = None

    def __init__(self, env: Any, name: str):
        self.env = env
        self.name = name
        self.action_space = env.action_space
        self.n_steps = 0
        self.time_limit: int | None = getattr(env, "time_limit", None)
        self._starts: NDArray[np.float64] | None = None
        self.is_random = "rng" in inspect.signature(env.step).parameters

    @property
    def chance_assumption(self) -> str:
        """What is taken for granted of chance."""
        if self.is_random:
            return "step draws from its argument rng alone"
        return (
            "step depends on its arguments alone, as steps made twice gave the same and no "
            "generator of NumPy or Python was drawn from"
        )

    def start_from(self, starts: Any) -> None:
        """Let episodes begin in one of these states (n, d), each as likely."""
        with own_code(f"start of {self.name}"):
            d = np.shape(self.env.start(1, stream(0, "episode")))[1]
        try:
            states = np.array(plain_array(starts, "starts"), dtype=np.float64)
        except FAILURES:
            states = np.empty(0)
        if states.ndim != 2 or states.shape[1] != d or not len(states):
            raise InvalidParameter(f"starts must be states (n, {d}); they are {shown(starts)}")
        if not np.isfinite(states).all():
            raise InvalidParameter("starts must be finite numbers; some are not")
        self._starts = states

    def begin(self, seeds: Sequence[int]) -> ArrayBatch:
        """A fresh episode for each seed."""
        if self._starts is not None:
            drawn = [stream(seed, "start").integers(len(self._starts)) for seed in seeds]
            return ArrayBatch(self, self._starts[drawn], seeds, watch_shared=True)
        with own_code(f"start of {self.name}"):
            rows = [self.env.start(1, stream(seed, "episode")) for seed in seeds]
        states = np.concatenate([np.asarray(row, dtype=np.float64) for row in rows])
        return ArrayBatch(self, states, seeds, watch_shared=True)

    def resume(
        self, saved_states: Sequence[Any], seeds: Any = None, *, watched: bool = False
    ) -> ArrayBatch:
        """Copies in these states; seeds of the chance that follows."""
        states = np.array(saved_states, dtype=np.float64)
        return ArrayBatch(self, states, seeds, watch_shared=watched)

    def nudged(
        self, saved_states: Sequence[Any], size: float, rng: np.random.Generator
    ) -> list[Any] | None:
        """The same states, with the numbers moved by so small a share."""
        return [state * (1 + size * rng.standard_normal(state.shape)) for state in saved_states]

    def drawn(self) -> Any:
        """What draws states, where the environment has it; see `pictures_of`."""
        make = getattr(self.env, "drawn", None)
        return None if make is None else make()

    def standing(self, observation: Any) -> ArrayBatch | None:
        """A copy in this state, where states are observed as they are."""
        if getattr(self.env, "observe", None) is not None or self.is_random:
            return None
        return self.resume([np.asarray(observation, dtype=np.float64)])

    def observe(self, states: NDArray[np.float64]) -> Any:
        """What states show."""
        look = getattr(self.env, "observe", None)
        if look is None:
            return states
        with own_code(f"observe of {self.name}"):
            return look(states)


TWICE = 16
"""Of episodes one step in so many is made twice, and must give the same."""


class ArrayBatch:
    """Copies as the rows of an array.

    With `watch_shared`, which is for episodes, some steps are made twice, and global generators
    are looked at too: branches may be stepped beside other threads, which draw from these.
    """

    def __init__(
        self,
        simulator: ArraySimulator,
        states: NDArray[np.float64],
        seeds: Any = None,
        *,
        watch_shared: bool = False,
    ):
        self._simulator = simulator
        self.states = states
        self._n_done, self._is_tried = 0, watch_shared and not simulator.is_random
        shared = shared_sources(simulator.env) if watch_shared else []
        self._sources = [*own_sources(simulator.env), *shared]
        self._marks = marks_of(self._sources)
        given = [0] if seeds is None or not len(seeds) else [int(seed) for seed in seeds]
        self._chance = (np.random.default_rng(given),) if simulator.is_random else ()

    @property
    def observations(self) -> Any:
        """What each copy shows, along the first axis."""
        return self._simulator.observe(self.states)

    def step(self, actions: Any) -> Stepped:
        """One step of every copy."""
        n = len(self.states)
        before = self.states
        if self._is_tried and self._n_done % TWICE == 0:
            self._require_function(before, actions)
        self._n_done += 1
        with own_code(f"step of {self._simulator.name}"):
            states, rewards, ended = self._simulator.env.step(before, actions, *self._chance)
        self.states = _of_shape(states, self.states.shape, "states", np.float64)
        self._simulator.n_steps += n
        return Stepped(
            self.observations,
            _of_shape(rewards, (n,), "rewards", np.float64),
            _of_shape(ended, (n,), "terminated", np.bool_),
        )

    def _require_function(self, states: NDArray[np.float64], actions: Any) -> None:
        """Refuse a step that gives something else when it is made again."""
        with own_code(f"step of {self._simulator.name}"):
            one, other = (
                [np.array(part) for part in self._simulator.env.step(states.copy(), actions)]
                for _ in range(2)
            )
        self._simulator.n_steps += 2 * len(states)
        if not all(a.tobytes() == b.tobytes() for a, b in zip(one, other, strict=True)):
            raise self._refusal("gave two results for the same states and actions")

    def keep(self, which: Mask) -> None:
        """Drop the other copies."""
        self.states = self.states[which]
        if not len(self.states) and marks_of(self._sources) != self._marks:
            raise self._refusal("drew random numbers from elsewhere")

    def _refusal(self, what: str) -> Unsupported:
        return Unsupported(
            f"step of {self._simulator.name} must depend on its arguments alone; it {what}. Where "
            "steps depend on chance, give step(states, actions, rng) and draw from rng"
        )

    def saved_states(self) -> list[Any]:
        """The state of each copy."""
        return [row.copy() for row in self.states]

    def same_state(self, one: Indices, other: Indices) -> Mask:
        """Whether these copies stand in the very state of those."""
        return np.asarray((self.states[one] == self.states[other]).all(axis=1))


def _of_shape(given: Any, shape: tuple[int, ...], what: str, kind: type) -> Any:
    array = np.asarray(given)
    if array.shape != shape:
        raise InvalidModel(
            f"step must give {what} of shape {shape}, one for each copy; it gave {shown(given)}"
        )
    return array.astype(kind, copy=False)


NEEDED = ("state", "steps", "prev_done", "num_envs", "single_action_space")


def vector_entry(id: str) -> VectorEntry | None:
    """The vector environment behind an id, as an array simulator's environment; None without."""
    import gymnasium

    spec = gymnasium.registry.get(id)
    has_modes = hasattr(gymnasium, "VectorizeMode")  # older ones make other vectors than was asked
    if spec is None or not has_modes or getattr(spec, "vector_entry_point", None) is None:
        return None
    env: Any = gymnasium.make_vec(id, num_envs=1, vectorization_mode="vector_entry_point").unwrapped
    env.reset(seed=0)
    fits = all(hasattr(env, name) for name in NEEDED) and np.ndim(env.state) == 2
    return VectorEntry(env, id) if fits and env.state.shape[1] == 1 else None


class VectorEntry:
    """A vector environment whose copies are the columns of `state`."""

    def __init__(self, env: Any, id: str, *, is_changed: bool = False):
        self._env, self.id, self._is_changed = env, id, is_changed
        self._spaces: dict[int, Any] = {}
        self.time_limit = getattr(env.spec, "max_episode_steps", None)
        self._dtype = env.single_observation_space.dtype
        self.action_space = env.single_action_space
        self.observation_space = env.single_observation_space

    def start(self, n: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """States where episodes begin."""
        rows = []
        for _ in range(n):
            self._sized(1)
            self._env.reset(seed=int(rng.integers(2**31)))
            rows.append(self._env.state[:, 0])
        return np.array(rows, dtype=np.float64)

    def step(self, states: NDArray[np.float64], actions: Any) -> tuple[Any, Any, Any]:
        """One step of every copy; nothing is started anew, and no time limit counts."""
        self._sized(len(states))
        self._env.state = np.ascontiguousarray(states.T)
        kind = self._env.single_action_space.dtype
        _, rewards, ended, _, _ = self._env.step(np.asarray(actions, dtype=kind))
        return self._env.state.T, rewards, ended

    def observe(self, states: NDArray[np.float64]) -> Any:
        """States in the environment's own precision."""
        return states.astype(self._dtype)

    def settings_as(self, env: Any) -> bool | None:
        """Whether another vector environment has the same numbers and texts; None where it is of
        another class."""
        return _settings(env) == _settings(self._env) if type(env) is type(self._env) else None

    def drawn(self) -> Any:
        """One object that draws itself, and what sets its state; None where it was changed."""
        import gymnasium

        if self._is_changed:
            return None
        env: Any = gymnasium.make(self.id, render_mode="rgb_array")
        env.reset(seed=0)

        def put(saved: Any) -> Any:
            env.unwrapped.state = np.array(saved)
            return env

        return env, put

    def _sized(self, n: int) -> None:
        self._env.num_envs = n
        if n not in self._spaces:
            from gymnasium.vector.utils import batch_space

            self._spaces = {n: batch_space(self._env.single_action_space, n)}
        self._env.action_space = self._spaces[n]
        self._env.steps = np.zeros(n, dtype=np.int32)
        self._env.prev_done = np.zeros(n, dtype=np.bool_)


def _settings(env: Any) -> dict[str, Any]:
    """What was set of a vector environment, but for how many copies it steps and draws."""
    return {
        name: value
        for name, value in vars(env).items()
        if isinstance(value, (bool, int, float, str)) and not name.startswith(("num_", "screen"))
    }
