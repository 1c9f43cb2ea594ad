"""What a group of participants is shown: a lesson, another choice of as many walks, or nothing.

`exact` is the minimum lesson; all other groups are shown as many demonstrations, of the same
lengths where they can be. `scot` is the greedy lesson in its own order. `loss` shows the minimum
lesson in the order of loss: last those without which least is lost.
`highlights` walks from the states where most is at stake, the largest gap between the best and the
worst action (Amir and Amir, HIGHLIGHTS, AAMAS 2018). `random` walks from random states.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from didact.bec.classes import EquivalenceClass, equivalence_class
from didact.mdp import Demonstration, Task
from didact.planning import reachable_states, rollout, solve
from didact.random import stream
from didact.teaching import teach

Shown = tuple[Demonstration, ...]


def shown_to(condition: str, task: Task, seed: int) -> Shown:
    """The demonstrations of a condition, in the order to show them."""
    known = equivalence_class(task)
    return CONDITIONS[condition](task, known, seed)


def _exact(task: Task, known: EquivalenceClass, seed: int) -> Shown:
    return teach(task, teacher="exact", known=known).demonstrations


def _scot(task: Task, known: EquivalenceClass, seed: int) -> Shown:
    return teach(task, teacher="scot", known=known).demonstrations


def _by_loss(task: Task, known: EquivalenceClass, seed: int) -> Shown:
    return teach(task, teacher="exact", known=known, order="loss", seed=seed).demonstrations


def _random(task: Task, known: EquivalenceClass, seed: int) -> Shown:
    rng = stream(seed, "random walks")
    states = np.flatnonzero(reachable_states(task.mdp) & ~task.mdp.terminal)
    return _walks(task, known, [int(rng.choice(states)) for _ in _exact(task, known, seed)], seed)


def _highlights(task: Task, known: EquivalenceClass, seed: int) -> Shown:
    """From the states with the largest gaps, none that an earlier walk has shown."""
    values = solve(task.mdp, task.true_weights).action_values
    gaps = np.where(
        reachable_states(task.mdp) & ~task.mdp.terminal,
        values.max(axis=1) - values.min(axis=1),
        -np.inf,
    )
    walks: list[Demonstration] = []
    for length in map(len, _exact(task, known, seed)):
        start = int(np.argmax(gaps))
        walk = _walk(task, start, length, seed)
        gaps[[state for state, _ in walk]] = -np.inf
        walks.append(walk)
        if not np.isfinite(gaps).any():
            break
    return tuple(walks)


def _walks(task: Task, known: EquivalenceClass, starts: Sequence[int], seed: int) -> Shown:
    lengths = map(len, _exact(task, known, seed))
    pairs = zip(starts, lengths, strict=True)
    return tuple(_walk(task, start, length, seed) for start, length in pairs)


def _walk(task: Task, start: int, length: int, seed: int) -> Demonstration:
    best = solve(task.mdp, task.true_weights).optimal.argmax(axis=1)
    rng = stream(seed, "walk", start)
    return rollout(task.mdp, best, horizon=length, rng=rng, start=start)


def _nothing(task: Task, known: EquivalenceClass, seed: int) -> Shown:
    return ()


CONDITIONS: dict[str, Callable[[Task, EquivalenceClass, int], Shown]] = {
    "exact": _exact,
    "scot": _scot,
    "loss": _by_loss,
    "random": _random,
    "highlights": _highlights,
    "none": _nothing,
}
"""What may be shown, by name."""
