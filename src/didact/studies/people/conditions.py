"""What participants are shown: the demonstrations of each condition, and those of the closed loop.

Conditions: `exact` is the minimum lesson; all other groups are shown as many demonstrations, of the
same lengths where they can be. `scot` is the greedy lesson in its own order. `loss` shows the
minimum lesson in the order of loss: last those without which least is lost. `highlights` walks from
the states where most is at stake, the largest gap between the best and the worst action (Amir and
Amir, HIGHLIGHTS, AAMAS 2018). `random` walks from random states. In a family walks are of any
member, as lessons are; `loss` is for one world.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from didact.bec.classes import EquivalenceClass, equivalence_class
from didact.errors import Unsupported
from didact.mdp import Demonstration, Family, Task
from didact.numerics.exact import Floats
from didact.planning import reachable_states, rollout, solve
from didact.random import stream
from didact.teaching import teach

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


Shown = tuple[Demonstration, ...]


def shown_to(condition: str, subject: Task | Family, seed: int) -> Shown:
    """The demonstrations of a condition, in the order to show them."""
    bec = equivalence_class(subject)
    return CONDITIONS[condition](subject, bec, seed)


def _exact(subject: Task | Family, bec: EquivalenceClass, seed: int) -> Shown:
    return teach(subject, teacher="exact", bec=bec).demonstrations


def _random(subject: Task | Family, bec: EquivalenceClass, seed: int) -> Shown:
    rng, places = stream(seed, "random walks"), going_places(subject)
    lengths = [len(shown) for shown in _exact(subject, bec, seed)]
    starts = [places[int(rng.integers(len(places)))] for _ in lengths]
    walks = zip(starts, lengths, strict=True)
    return tuple(_walk(subject, start, length, seed) for start, length in walks)


def _highlights(subject: Task | Family, bec: EquivalenceClass, seed: int) -> Shown:
    """From the states with the largest gaps, none that an earlier walk has shown."""
    gaps = [_gaps(task) for task in members_of(subject)]
    walks: list[Demonstration] = []
    for length in map(len, _exact(subject, bec, seed)):
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


def _walk(subject: Task | Family, start: Place, length: int, seed: int) -> Demonstration:
    member, state = start
    task = members_of(subject)[member]
    best = solve(task.mdp, task.true_weights).optimal.argmax(axis=1)
    rng = stream(seed, "walk", *start)
    walk = rollout(task.mdp, best, horizon=length, seed=rng, start=state)
    return Demonstration(walk, member if isinstance(subject, Family) else None)


CONDITIONS: dict[str, Callable[[Task | Family, EquivalenceClass, int], Shown]] = {
    "exact": _exact,
    "scot": lambda subject, bec, seed: teach(subject, teacher="scot", bec=bec).demonstrations,
    "loss": lambda subject, bec, seed: (
        teach(subject, teacher="exact", bec=bec, order="loss", seed=seed).demonstrations
    ),
    "random": _random,
    "highlights": _highlights,
    "none": lambda subject, bec, seed: (),
}
"""What may be shown, by name."""


def drawn_places(places: Sequence[Place], n: int, seed: int, name: str) -> tuple[Place, ...]:
    """So many of the places, in a random order."""
    order = stream(seed, name).permutation(len(places))[:n].tolist()
    return tuple(places[i] for i in order)


MAX_WALKS = 200
"""Demonstrations that the closed loop chooses from."""
LONGEST_AGAIN = 8
"""Steps of a demonstration of the closed loop."""


def walks_apart(
    subject: Task | Family, apart: Sequence[int], asked: Sequence[Place], seed: int
) -> Shown:
    """Optimal walks for the closed loop, of members that may be shown; none shows what is asked."""
    places = [place for place in going_places(subject) if place[0] not in apart]
    order = drawn_places(places, len(places), seed, "pool")
    pool: list[Demonstration] = []
    for start in order:
        walk = _walk(subject, start, LONGEST_AGAIN, seed)
        pairs = []
        for state, action in walk:
            if (start[0], state) in asked:
                break
            pairs.append((state, action))
        if pairs:
            pool.append(Demonstration(pairs, walk.member))
        if len(pool) == MAX_WALKS:
            break
    if not pool:
        raise Unsupported(
            "the closed loop needs states that no question is about; take a larger world"
        )
    return tuple(pool)
