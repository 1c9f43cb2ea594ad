"""Gymnasium environments with a vector entry point whose state is one array: CartPole.

They step a thousand copies as quickly as two objects. Their state is (d, copies); a vector
environment starts ended copies anew by itself, which is switched off here before each step.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from didact.worlds.simulators.pictures import DrawnStates

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

    def __init__(self, env: Any, id: str):
        self._env, self._id = env, id
        self._spaces: dict[int, Any] = {}
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

    def drawn(self) -> DrawnStates:
        """The environment as one object that draws itself."""
        import gymnasium

        return DrawnStates(gymnasium.make(self._id, render_mode="rgb_array"))

    def _sized(self, n: int) -> None:
        self._env.num_envs = n
        if n not in self._spaces:
            from gymnasium.vector.utils import batch_space

            self._spaces = {n: batch_space(self._env.single_action_space, n)}
        self._env.action_space = self._spaces[n]
        self._env.steps = np.zeros(n, dtype=np.int32)
        self._env.prev_done = np.zeros(n, dtype=np.bool_)
