"""Recorded episodes that show an action which is not optimal, and what speaks against them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from didact.mdp import Demonstration
from didact.teaching.segments import WrongPair


@dataclass(frozen=True)
class Contradiction:
    """An episode that shows an action which is not optimal.

    step, state, action: the first such action; better, gap: an optimal one and how much more it is
    worth. n_wrong: how many steps of the episode are not optimal. against: episodes whose right
    steps together say that `better` is at least as good, so that no reward fits them and makes
    this action the better one; empty where nothing else that was recorded says so.
    """

    episode: int
    step: int
    state: int
    action: int
    better: int
    gap: float
    n_wrong: int
    against: tuple[int, ...]


def contradictions(
    wrong: Sequence[WrongPair], recorded: Sequence[Demonstration], numbers: Sequence[int]
) -> tuple[Contradiction, ...]:
    """One for each episode that shows an action which is not optimal.

    wrong: all such steps, by the numbers of their episodes.
    """
    by_episode: dict[int, list[WrongPair]] = {}
    for step in wrong:
        by_episode.setdefault(step.demonstration, []).append(step)
    first_with: dict[tuple[int, ...], int] = {}
    if wrong:
        for number, demonstration in zip(numbers, recorded, strict=True):
            for pair in demonstration:
                first_with.setdefault(pair, number)
    return tuple(_contradiction(steps, first_with) for steps in by_episode.values())


def _contradiction(
    steps: Sequence[WrongPair], first_with: Mapping[tuple[int, ...], int]
) -> Contradiction:
    """What is wrong with an episode, from its wrong steps and who first shows other pairs."""
    first = steps[0]
    speaking = {first_with[pair] for step in steps for pair in step.contradicted_by}
    against = tuple(sorted(speaking - {first.demonstration}))
    about = (first.state, first.action, first.better, first.gap)
    return Contradiction(first.demonstration, first.step, *about, len(steps), against)
