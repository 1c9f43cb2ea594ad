"""Where a study shows and asks: a state of a world, or of one of the worlds of a family.

A world alone is treated as a family of one.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from didact.mdp import Demonstration, Family, Task
from didact.planning import reachable_states

Place = tuple[int, int]
"""A member's number, 0 for a world alone, and a state of it."""

NOWHERE: Place = (-1, -1)
"""Of a step that is about no state."""


def members_of(subject: Task | Family) -> tuple[Task, ...]:
    """The worlds of a study, one or several."""
    return subject.members if isinstance(subject, Family) else (subject,)


def going_places(subject: Task | Family) -> list[Place]:
    """All places that a start leads to and where the episode goes on."""
    return [
        (member, state)
        for member, task in enumerate(members_of(subject))
        for state in np.flatnonzero(reachable_states(task.mdp) & ~task.mdp.terminal).tolist()
    ]


def places_in(shown: Iterable[Demonstration]) -> set[Place]:
    """The places that demonstrations show."""
    return {(each.member or 0, state) for each in shown for state, _ in each}
