"""Simulators whose states are arrays: one call steps thousands of copies.

An environment is one when it has

    start(n, rng) -> states (n, d)
    step(states, actions) -> (states, rewards (n,), terminated (n,))
    action_space

and, where observations are not the states themselves, observe(states). `step` must be a function of
its arguments alone: then a state is its row of numbers, and restoring it costs nothing. Where steps
depend on chance, `step` takes a third argument `rng`, a generator, and nothing else is random.
"""

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

    def __init__(self, env: Any, name: str):
        self.env = env
        self.name = name
        self.action_space = env.action_space
        self.n_steps = 0
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
        """What draws states, where the environment has it; see `pictures`."""
        make = getattr(self.env, "drawn", None)
        return None if make is None else make()

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
