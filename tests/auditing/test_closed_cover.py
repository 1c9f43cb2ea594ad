"""The smallest closed choice against all choices."""

import itertools
import random

import pytest

from didact.auditing.closed_cover import smallest_closed_cover
from didact.teaching.covers.set_cover import Uncoverable


def smallest(follows, cuts):
    states = sorted(follows)
    for size in range(len(states) + 1):
        for chosen in itertools.combinations(states, size):
            closed = all(t in chosen for s in chosen for t in follows[s])
            if closed and all(set(cut) & set(chosen) for cut in cuts):
                return size
    raise AssertionError("all states together are a choice")


@pytest.mark.parametrize("seed", range(40))
def test_it_is_the_smallest_of_all(seed):
    rng = random.Random(seed)
    n = rng.randint(1, 8)
    names = rng.sample(range(50), n)
    follows = {s: rng.sample(names, rng.choice([0, 0, 1, 1, min(2, n)])) for s in names}
    cuts = [rng.sample(names, rng.randint(1, n)) for _ in range(rng.randint(0, 4))]
    known, later = cuts[: len(cuts) // 2], cuts[len(cuts) // 2 :]

    def gap(chosen):
        return next((cut for cut in later if not set(cut) & chosen), None)

    found = smallest_closed_cover(follows, known, gap)
    assert len(found.states) == found.lower_bound == smallest(follows, cuts)
    assert all(t in found.states for s in found.states for t in follows[s])


def test_a_cut_that_nothing_hits_is_refused():
    with pytest.raises(Uncoverable):
        smallest_closed_cover({0: []}, [[]], lambda chosen: None)
