"""Who says soonest what is wanted: few looked at one by one, many at once, and by brute force."""

from __future__ import annotations

import pytest

import didact
from didact.teaching import soonest
from didact.teaching.covers.elements import cover_elements
from didact.teaching.covers.offers import offered_candidates, offers_of, starts_of
from didact.teaching.covers.problem import Problem
from didact.teaching.soonest import Soonest
from didact.teaching.trimming import needs_of


def by_hand(problem, says, number, wanted, before, taken):
    def end(line):
        said = 0
        for step, pair in enumerate(line):
            said |= says.get(pair, 0) & wanted
            if said == wanted:
                return step + 1
        return len(line) + 1

    lines = problem.candidates.pairs.tolist()
    best = (end(lines[number]), -1)
    for other, line in enumerate(lines):
        said = problem.masks.get(other, 0) & ~before
        if other not in taken and said == wanted and end(line) < end(lines[number]):
            best = min(best, (end(line), other)) if best[1] >= 0 else (end(line), other)
    return number if best[1] < 0 else best[1]


@pytest.mark.parametrize("few", [0, 3, 50])
def test_the_soonest_is_that_of_brute_force(few, monkeypatch):
    monkeypatch.setattr(soonest, "FEW", few)
    n_changed = 0
    for seed in range(6):
        task = didact.make("random-grid", size=5, n_features=4, seed=seed)
        known = didact.equivalence_class(task, arithmetic="float")
        elements = cover_elements(known)
        offers = offers_of(known, starts_of(task, None), None)
        candidates, _ = offered_candidates(elements, offers, rollouts=None, seed=0)
        problem = Problem(elements, candidates, [1] * len(candidates))
        says = needs_of(elements).says
        before, taken = 0, set()
        for number in list(problem.masks)[:40]:
            wanted = problem.masks[number] & ~before
            if wanted:
                line = candidates.pairs[number].tolist()
                found = Soonest(problem, says).of((number, line), wanted, before, taken)
                assert found == by_hand(problem, says, number, wanted, before, taken)
                n_changed += found != number
                taken.add(found)
            before |= wanted if number % 3 == 0 else 0
    assert n_changed > 2
