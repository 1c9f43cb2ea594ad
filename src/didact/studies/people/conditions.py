"""What a group of participants is shown: a lesson, another choice of as many walks, or nothing.

`exact` is the minimum lesson; all other groups are shown as many demonstrations, of the same
lengths where they can be. `scot` is the greedy lesson in its own order. `loss` shows the minimum
lesson in the order of loss: last those without which least is lost.
`highlights` walks from the states where most is at stake, the largest gap between the best and the
worst action (Amir and Amir, HIGHLIGHTS, AAMAS 2018). `random` walks from random states. In a family
walks are of any member, as lessons are; `loss` is for one world.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from didact.bec.classes import Known, equivalence_class
from didact.mdp import Demonstration, Family, Task
from didact.numerics.exact import Floats
from didact.planning import reachable_states, rollout, solve
from didact.random import stream
from didact.studies.people.places import Place, going_places, members_of
from didact.teaching import teach

Shown = tuple[Demonstration, ...]


def shown_to(condition: str, subject: Task | Family, seed: int) -> Shown:
    """The demonstrations of a condition, in the order to show them."""
    known = equivalence_class(subject)
    return CONDITIONS[condition](subject, known, seed)


def _exact(subject: Task | Family, known: Known, seed: int) -> Shown:
    return teach(subject, teacher="exact", known=known).demonstrations


def _scot(subject: Task | Family, known: Known, seed: int) -> Shown:
    return teach(subject, teacher="scot", known=known).demonstrations


def _by_loss(subject: Task | Family, known: Known, seed: int) -> Shown:
    return teach(subject, teacher="exact", known=known, order="loss", seed=seed).demonstrations


def _random(subject: Task | Family, known: Known, seed: int) -> Shown:
    rng = stream(seed, "random walks")
    places = going_places(subject)
    starts = [places[int(rng.integers(len(places)))] for _ in _exact(subject, known, seed)]
    return _walks(subject, known, starts, seed)


def _highlights(subject: Task | Family, known: Known, seed: int) -> Shown:
    """From the states with the largest gaps, none that an earlier walk has shown."""
    gaps = [_gaps(task) for task in members_of(subject)]
    walks: list[Demonstration] = []
    for length in map(len, _exact(subject, known, seed)):
        member = int(np.argmax([each.max() for each in gaps]))
        if not np.isfinite(gaps[member].max()):
            break
        walk = _walk(subject, (member, int(np.argmax(gaps[member]))), length, seed)
        gaps[member][[state for state, _ in walk]] = -np.inf
        walks.append(walk)
    return tuple(walks)


def _gaps(task: Task) -> Floats:
    """What is at stake in each state (S,); nothing where nobody comes or nothing is done."""
    values = solve(task.mdp, task.true_weights).action_values
    counts = reachable_states(task.mdp) & ~task.mdp.terminal
    return np.where(counts, values.max(axis=1) - values.min(axis=1), -np.inf)


def _walks(subject: Task | Family, known: Known, starts: Sequence[Place], seed: int) -> Shown:
    lengths = map(len, _exact(subject, known, seed))
    pairs = zip(starts, lengths, strict=True)
    return tuple(_walk(subject, start, length, seed) for start, length in pairs)


def _walk(subject: Task | Family, start: Place, length: int, seed: int) -> Demonstration:
    member, state = start
    task = members_of(subject)[member]
    best = solve(task.mdp, task.true_weights).optimal.argmax(axis=1)
    rng = stream(seed, "walk", *start)
    walk = rollout(task.mdp, best, horizon=length, rng=rng, start=state)
    return Demonstration(walk, member if isinstance(subject, Family) else None)


def _nothing(subject: Task | Family, known: Known, seed: int) -> Shown:
    return ()


CONDITIONS: dict[str, Callable[[Task | Family, Known, int], Shown]] = {
    "exact": _exact,
    "scot": _scot,
    "loss": _by_loss,
    "random": _random,
    "highlights": _highlights,
    "none": _nothing,
}
"""What may be shown, by name."""
