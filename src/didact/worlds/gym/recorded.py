"""Tasks of recordings that others made: by the environment's own state numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from didact.errors import Unsupported
from didact.mdp import Task
from didact.worlds.gym.environments import describe, open_environment
from didact.worlds.gym.minigrid import is_minigrid
from didact.worlds.gym.tables import from_gymnasium


def recorded_task(id: str, options: Mapping[str, Any]) -> tuple[Task, dict[int, int]]:
    """The task of a Gymnasium environment, and its state for each of the environment's numbers.

    Only states that go on have a number: no action is taken in the others. `options` go to
    `from_gymnasium`.
    """
    if is_minigrid(id):
        raise Unsupported(
            f"{id} observes a picture, not the number of a state, so its recordings cannot be "
            "read; record them with didact, or name a task by its file"
        )
    task = from_gymnasium(id, **options)
    own = {"features", "weights", "discount", "start", "name"}
    opened = open_environment(id, {k: v for k, v in options.items() if k not in own})
    mdp = task.mdp
    assert mdp.state_names is not None
    going = {name: i for i, name in enumerate(mdp.state_names) if not mdp.terminal[i]}
    names = describe(opened).state_names
    return task, {number: going[name] for number, name in enumerate(names) if name in going}
