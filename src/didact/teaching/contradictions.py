"""Recorded episodes that show an action which is not optimal, and what speaks against them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from didact.bec.classes import EquivalenceClass
from didact.mdp import Demonstration
from didact.teaching.check import WrongPair, check


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
    known: EquivalenceClass, recorded: Sequence[Demonstration], numbers: Sequence[int]
) -> tuple[Contradiction, ...]:
    """One for each episode that shows an action which is not optimal."""
    optimal = known.plan.optimal
    if all(optimal[state, action] for d in recorded for state, action in d):
        return ()
    judged = _judged(known, recorded)
    first_with: dict[tuple[int, int], int] = {}
    for number, demonstration in zip(numbers, recorded, strict=True):
        for pair in demonstration:
            first_with.setdefault(pair, number)
    found = []
    for number, demonstration in zip(numbers, recorded, strict=True):
        wrong = [(step, pair) for step, pair in enumerate(demonstration) if pair in judged]
        if wrong:
            step, pair = wrong[0]
            pairs = [p for _, shown_pair in wrong for p in judged[shown_pair].contradicted_by]
            against = sorted({first_with[p] for p in pairs} - {number})
            about = judged[pair]
            found.append(
                Contradiction(
                    number, step, *pair, about.better, about.gap, len(wrong), tuple(against)
                )
            )
    return tuple(found)


def _judged(
    known: EquivalenceClass, recorded: Sequence[Demonstration]
) -> Mapping[tuple[int, int], WrongPair]:
    """What `check` says of each distinct pair that is not optimal."""
    distinct = sorted({pair for demonstration in recorded for pair in demonstration})
    verdict = check(known.task, [Demonstration([pair]) for pair in distinct], known=known)
    return {(w.state, w.action): w for w in verdict.wrong}
