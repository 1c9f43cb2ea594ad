"""Panels that several studies draw: a world with its moves, lines with their intervals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from didact.mdp import Task
from didact.studies.figure import Series, World
from didact.studies.summary import Estimate


def world_panel(
    task: Task,
    title: str,
    *,
    policy: Iterable[tuple[int, int]] = (),
    shown: Iterable[tuple[int, int]] = (),
    marks: Mapping[int, str] | None = None,
) -> World:
    """A grid world: cells by feature, thin arrows for a policy, heavy ones for what is shown.

    policy, shown: (state, action) pairs. marks: a short text on a state.
    """
    layout, mdp = task.layout, task.mdp
    assert layout is not None
    columns = int(layout["columns"])
    colour = np.asarray(mdp.features.floats).argmax(axis=1)
    cells = colour.reshape(int(layout["rows"]), columns).tolist()
    actions = mdp.action_names or ("up", "down", "left", "right")

    def arrows(pairs: Iterable[tuple[int, int]]) -> tuple[tuple[int, int, str], ...]:
        return tuple((*divmod(state, columns), actions[action]) for state, action in pairs)

    return World(
        title,
        tuple(tuple(row) for row in cells),
        tuple(mdp.feature_names or [f"feature {i}" for i in range(mdp.n_features)]),
        arrows(policy),
        arrows(shown),
        tuple(divmod(int(state), columns) for state in np.flatnonzero(mdp.terminal)),
        tuple((*divmod(state, columns), text) for state, text in (marks or {}).items()),
    )


def line(name: str, xs: Sequence[float], estimates: Sequence[Estimate]) -> Series:
    """A line through means, with their intervals where there are any."""
    known = all(np.isfinite([found.low, found.high]).all() for found in estimates)
    return Series(
        name,
        tuple(float(x) for x in xs),
        tuple(found.mean for found in estimates),
        tuple(found.low for found in estimates) if known else None,
        tuple(found.high for found in estimates) if known else None,
    )
