"""Distinct walks, plain and compiled, against walking one by one."""

from __future__ import annotations

import numpy as np
import pytest

from didact.numerics.pcg64 import stream_of
from didact.teaching.covers import walks
from didact.teaching.covers.walks import Begin, Choices, distinct_walks, walk_choices


def drawn(seed, n=60, horizon=5, is_sure=0.0, each=1):
    """Five states of one to three choices, and the draws of some walks, with where they come from.

    is_sure: the chance that a state has one choice alone. each: walks from a start.
    """
    rng = np.random.default_rng(seed)
    counts = np.where(rng.random(5) < is_sure, 1, rng.integers(1, 4, size=5))
    firsts, after = np.cumsum(counts) - counts, rng.integers(0, 5, size=counts.sum())
    pair = np.sort(rng.choice(30, counts.sum(), replace=False))
    starts = rng.integers(0, 5, size=n // each)
    choices = Choices(pair, firsts[after], counts[after].astype(float))
    walks = choices, Begin(firsts[starts], counts[starts].astype(float), each), horizon
    rng = np.random.default_rng([seed, 1])
    stream = stream_of(rng, 2 * n)
    return walks, stream, rng.random((horizon, 2 * n))[:, :n]


def expected(walks, _, draws):
    choices, begin, _ = walks
    lines = {}
    for walk in range(draws.shape[1]):
        start = walk // begin.each
        first, count, line = begin.first[start], begin.count[start], []
        for draw in draws[:, walk]:
            place = first + int(draw * count)
            line.append(int(choices.pair[place]))
            first, count = choices.first[place], choices.count[place]
        lines[tuple(line)] = None
    return [list(line) for line in lines]


def found(walks, stream, _):
    return distinct_walks(*walks, stream).tolist()


@pytest.mark.parametrize("is_compiled", [False, True], ids=["plain", "compiled"])
@pytest.mark.parametrize("seed", range(6))
def test_walks_are_kept_once_in_the_order_of_their_first_appearance(seed, is_compiled, monkeypatch):
    monkeypatch.setattr(walk_choices, "pays", lambda work=0: is_compiled)
    lines = expected(*drawn(seed))
    assert found(*drawn(seed)) == lines


@pytest.mark.parametrize("is_compiled", [False, True], ids=["plain", "compiled"])
def test_walks_without_a_choice_are_walked_once(is_compiled, monkeypatch):
    monkeypatch.setattr(walk_choices, "pays", lambda work=0: is_compiled)
    n_sure = 0
    for seed in range(60):
        lines = expected(*drawn(seed, is_sure=0.8, each=6))
        assert found(*drawn(seed, is_sure=0.8, each=6)) == lines
        n_sure += len(lines) == 5
    assert 10 < n_sure < 50


@pytest.mark.parametrize("factor", [0, 1, 2**16])
def test_lines_that_are_looked_up_at_one_place_are_told_apart(factor, monkeypatch):
    monkeypatch.setattr(walks, "_FACTOR", factor)
    monkeypatch.setattr(walk_choices, "pays", lambda work=0: False)
    for seed in range(6):
        lines = expected(*drawn(seed))
        assert found(*drawn(seed)) == lines


def test_one_walk_of_one_step():
    choices = Choices(np.array([7]), np.array([0]), np.array([1.0]))
    begin, stream = Begin(np.array([0]), np.array([1.0]), 1), stream_of(np.random.default_rng(0), 2)
    assert distinct_walks(choices, begin, 1, stream).tolist() == [[7]]
