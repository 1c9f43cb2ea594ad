"""What branching asks of a simulator: batches of copies that step together and can be resumed.

A saved state is whatever a simulator needs to stand in a state again: a row of numbers, a saved
environment, or a seed and the actions that lead there. Nobody but the simulator looks into it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from didact.errors import Unsupported

Mask = NDArray[np.bool_]


class DrawsChance(Unsupported):
    """Steps drew from a random generator where none had been seen to."""


class Stepped(NamedTuple):
    """What one step of a batch gave: observations after it, rewards, and which copies ended.

    An episode ends where the environment says `terminated`; a time limit ends nothing.
    """

    observations: Any
    rewards: NDArray[np.float64]
    ended: Mask


class SimulatorBatch(Protocol):
    """Copies of one environment."""

    @property
    def observations(self) -> Any:
        """What each copy shows, along the first axis."""

    def step(self, actions: Any) -> Stepped:
        """One step of every copy, each with its action; copies that ended must be dropped."""

    def keep(self, which: Mask) -> None:
        """Drop the other copies."""

    def saved_states(self) -> list[Any]:
        """Where each copy stands, to be resumed from as often as one likes."""

    def same_state(self, one: NDArray[np.int64], other: NDArray[np.int64]) -> Mask:
        """Whether these copies stand in the very state of those; False where nobody can tell."""


class Simulator(Protocol):
    """An environment that can be started and resumed in batches.

    restoring: in words, how a state is restored. n_steps: steps that it has made so far. is_random:
    whether steps depend on chance.
    """

    name: str
    action_space: Any
    restoring: str
    n_steps: int
    is_random: bool

    @property
    def chance_assumption(self) -> str:
        """What is taken for granted of chance, in words."""

    def start_from(self, starts: Any) -> None:
        """Let episodes begin in one of these states, or by one of these seeds."""

    def begin(self, seeds: Sequence[int]) -> SimulatorBatch:
        """A fresh episode for each seed."""

    def resume(
        self, saved_states: Sequence[Any], seeds: Any = None, *, watched: bool = False
    ) -> SimulatorBatch:
        """Copies in these states; seeds of the chance that follows.

        watched: look at shared generators too, as is done for episodes that begin."""

    def nudged(
        self, saved_states: Sequence[Any], size: float, rng: np.random.Generator
    ) -> list[Any] | None:
        """The same states, with the numbers moved by so small a share; None where
        states cannot be written."""
