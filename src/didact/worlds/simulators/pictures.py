"""Pictures of states, where an environment draws itself as `rgb_array`.

A second environment is made for them, put into the state or led there by the episode's seed and
actions. What cannot be drawn has no picture; that is never an error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from didact.inputs import FAILURES
from didact.worlds.simulators.restoring import History

Image = NDArray[np.uint8]
"""(height, width, 3)."""


def pictures_of(simulator: Any, saved_states: Sequence[Any]) -> list[Image | None]:
    """A picture of each state, or None."""
    try:
        drawn = simulator.drawn()
    except FAILURES:
        drawn = None
    if drawn is None:
        return [None] * len(saved_states)
    try:
        return [_as_image(drawn.picture(saved)) for saved in saved_states]
    except FAILURES:
        return [None] * len(saved_states)
    finally:
        drawn.close()


class DrawnStates:
    """An environment whose `state` is set: the twin of a vector entry point."""

    def __init__(self, env: Any):
        self._env = env
        env.reset(seed=0)

    def picture(self, saved: Any) -> Any:
        """What this state looks like."""
        self._env.unwrapped.state = np.array(saved)
        return self._env.render()

    def close(self) -> None:
        """Close its window."""
        self._env.close()


class DrawnEpisodes:
    """An environment that is led to states by their histories."""

    def __init__(self, env: Any):
        self._env = env

    def picture(self, saved: Any) -> Any:
        """What is seen after the actions that led to the state."""
        history: History = saved[1]
        self._env.reset(seed=history.seed)
        for action in history.actions:
            self._env.step(action)
        return self._env.render()

    def close(self) -> None:
        """Close its window."""
        self._env.close()


def drawing_maker(env: Any, without_limit: Callable[[Any], Any]) -> Callable[[], Any] | None:
    """A function that makes the environment so that it draws itself; None where nobody knows how.

    env: an id, or an environment that was made from one.
    """
    spec = env if isinstance(env, str) else getattr(getattr(env, "spec", None), "id", None)
    if not isinstance(spec, str):
        return None

    def make() -> Any:
        import gymnasium

        return without_limit(gymnasium.make(spec, render_mode="rgb_array"))

    return make


def _as_image(given: Any) -> Image | None:
    image = np.asarray(given)
    fits = image.ndim == 3 and image.shape[2] == 3 and image.dtype == np.uint8 and image.size > 0
    return image if fits else None
