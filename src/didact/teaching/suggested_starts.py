"""Suggested starts: where else demonstrations would have to begin to complete a lesson.

What stays open is stated by some pair of a state and an action, so a demonstration that begins in
that state shows it. A start is worth all that demonstrations from it can show. Starts are taken by
the greedy cover, those that turn out to be needless are dropped again, and the lesson from them is
made and checked before it is promised.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any

import numpy as np
from numpy.typing import NDArray

from didact.bec.classes import EquivalenceClass, equivalence_class
from didact.bec.halfspaces import demonstrated_pairs, scope_states
from didact.mdp import Demonstration, Task, as_task
from didact.planning import reachable_pairs
from didact.teaching.check import check
from didact.teaching.covers.candidates import as_horizon, as_starts
from didact.teaching.covers.elements import Elements, cover_elements
from didact.teaching.covers.greedy import greedy_cover
from didact.teaching.lesson import Lesson
from didact.teaching.teach import teach

MAX_TRIED = 400
"""GivenStarts that are weighed, those first that state the most."""

MAX_STARTS = 20
"""Nobody lists more; all states are advised instead."""

AIMING = ("scot", "scot-redundant", "exact")
"""Teachers that cover whatever can be covered."""


@dataclass(frozen=True, eq=False)
class SuggestedStarts:
    """GivenStarts from which a lesson is complete, and that lesson, which `check` has confirmed.

    starts: all of them; every state that counts where a list would be long.
    added: those that the task or the caller did not have; none where the starts were enough, and
        the budget, the teacher or the number of rollouts left something open.
    """

    starts: tuple[int, ...]
    added: tuple[int, ...]
    lesson: Lesson

    def to_dict(self) -> dict[str, Any]:
        """The same for machines."""
        n = len(self.lesson.demonstrations)
        return {"starts": list(self.starts), "added": list(self.added), "n_demonstrations": n}


def suggested_starts(
    task: Task, lesson: Lesson, *, known: EquivalenceClass | None = None
) -> SuggestedStarts | None:
    """How a lesson that leaves something open becomes complete; None where no starts do it.

    task: what the lesson is for.
    lesson: one of `teach` that is not complete.
    known: the task's class, when it is at hand.
    """
    settings = lesson.settings
    if known is None:
        how = {name: settings.get(name) for name in ("scope", "arithmetic") if settings.get(name)}
        known = lesson.known or equivalence_class(as_task(task), **how)  # type: ignore[arg-type]
    own = as_starts(task, settings.get("starts")).tolist()
    added = _added_starts(known, own, settings.get("horizon"))
    if added is None:
        return None
    starts = sorted({*own, *added})
    if added and len(starts) > MAX_STARTS:
        starts = np.flatnonzero(scope_states(task.mdp, known.scope)).tolist()
    again = teach(task, known=known, **_settings(settings, starts))
    if not (again.is_complete and check(task, again.demonstrations, known=known).teaches):
        return None
    return SuggestedStarts(tuple(starts), tuple(added), again)


def further_starts(
    known: EquivalenceClass, shown: Sequence[Demonstration]
) -> SuggestedStarts | None:
    """Where demonstrations would have to begin that complete what was shown; None where none do.

    known: the class of the task. shown: optimal actions only. The starts and the lesson are those
    of the demonstrations to add.
    """
    elements, task = cover_elements(known), known.task
    visited = demonstrated_pairs(task.mdp, shown).ravel()
    added = _completing(elements, _stated_by(elements, visited), as_horizon(task.mdp, None))
    if not added:
        return None
    more = teach(task, known=known, starts=added)
    both = (*shown, *more.demonstrations)
    if not check(task, both, known=known).teaches:
        return None
    return SuggestedStarts(tuple(added), tuple(added), more)


def _settings(settings: Any, starts: Sequence[int]) -> dict[str, Any]:
    """How the lesson was made, without what limits it: no budget, no chance."""
    teacher = settings.get("teacher")
    return {
        "teacher": teacher if teacher in AIMING else "scot",
        "horizon": settings.get("horizon"),
        "cost": "pairs" if settings.get("cost") == "pairs" else "demonstrations",
        "closed": bool(settings.get("closed")),
        "trim": bool(settings.get("trim", True)),
        "seed": settings.get("seed") or 0,
        "starts": list(starts),
    }


def _added_starts(
    known: EquivalenceClass, own: Sequence[int], horizon: int | None
) -> list[int] | None:
    """Few states to begin in besides; None where what stays open cannot be shown at all."""
    elements = cover_elements(known)
    steps = as_horizon(known.task.mdp, horizon)
    return _completing(elements, _shown_from(elements, own, steps), steps)


def _completing(elements: Elements, offered: int, steps: int) -> list[int] | None:
    """Few states to begin in that show what is not offered; None where nothing shows it."""
    missing = elements.everything & ~elements.closure(offered)
    if not missing:
        return []
    n_actions = elements.class_of_task.task.mdp.n_actions
    states = [pair // n_actions for pair in elements.pairs_for(missing)]
    ranked = sorted(set(states), key=lambda s: (-states.count(s), s))[:MAX_TRIED]
    worth = {state: _shown_from(elements, [state], steps) for state in ranked}
    covered, ones = elements.closure(offered), dict.fromkeys(worth, 1)
    added = greedy_cover(
        worth, ones, elements.n_elements, closure=elements.closure, covered=covered
    ).picks
    shown = reduce(or_, (worth[state] for state in added), offered)
    if elements.closure(shown) != elements.everything:
        return None
    return _needed(elements, offered, worth, added)


def _shown_from(elements: Elements, starts: Iterable[int], horizon: int) -> int:
    """What demonstrations from these states can state, as the bits of an integer."""
    known = elements.class_of_task
    mdp, plan = known.task.mdp, known.plan
    begin = np.zeros(mdp.n_states, dtype=np.bool_)
    begin[list(starts)] = True
    reached = reachable_pairs(mdp, plan.optimal, horizon=horizon, starts=begin)
    return _stated_by(elements, reached.ravel())


def _stated_by(elements: Elements, visited: NDArray[np.bool_]) -> int:
    """What pairs (S * A,) state, as the bits of an integer."""
    pairs, bits = elements.stating_pairs
    stated = 0
    for bit in set(bits[visited[pairs]].tolist()):
        stated |= 1 << bit
    return stated


def _needed(
    elements: Elements, offered: int, worth: dict[int, int], added: Sequence[int]
) -> list[int]:
    """The added states without those whose part the others show as well."""
    kept = list(added)
    for state in added:
        rest = offered
        for other in kept:
            rest |= 0 if other == state else worth[other]
        if elements.closure(rest) == elements.everything:
            kept.remove(state)
    return sorted(kept)
