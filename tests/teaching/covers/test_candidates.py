"""Candidates without repetition: numbers that stand for rows, against the rows themselves."""

from __future__ import annotations

import numpy as np
import pytest

import didact
from didact.errors import InvalidParameter
from didact.teaching.covers import candidates


@pytest.mark.parametrize("factor", [candidates._FACTOR, 1, 0])
def test_rows_are_kept_once_in_the_order_of_their_first_appearance(factor, monkeypatch):
    """With the factors 1 and 0 different rows have the same number."""
    monkeypatch.setattr(candidates, "_FACTOR", factor)
    rng = np.random.default_rng(0)
    for _ in range(60):
        pairs = rng.integers(-1, 3, size=(rng.integers(1, 40), rng.integers(1, 5)))
        expected = list(dict.fromkeys(map(tuple, pairs.tolist())))
        columns = np.ascontiguousarray(pairs.T)
        assert list(map(tuple, candidates._distinct(columns).tolist())) == expected


@pytest.mark.parametrize("bits", [np.random.PCG64, np.random.MT19937])
@pytest.mark.parametrize("seed", range(4))
def test_sure_steps_take_the_draws_that_uncertain_ones_would(seed, bits):
    """Walked one by one, with two draws for each step of each walk."""
    task = didact.make("random-grid", size=4, n_features=3, seed=seed)
    plan, starts, each = didact.solve(task), np.arange(16), 5
    rng = np.random.Generator(bits(seed))
    states, lines = np.repeat(starts, each).tolist(), [[] for _ in range(16 * each)]
    for _ in range(7):
        draws = rng.random(2 * len(states)).tolist()
        for i, state in enumerate(states):
            actions = plan.optimal_actions(state)
            action = actions[int(draws[i] * len(actions))]
            lines[i].append(state * 4 + action)
            states[i] = int(task.mdp.transitions.successors[state * 4 + action])
    again = np.random.Generator(bits(seed))
    found = candidates._sample(task.mdp, plan, starts, each, 7, again)
    assert found.tolist() == [list(line) for line in dict.fromkeys(map(tuple, lines))]
    assert again.random() == rng.random()


def test_too_many_steps_are_refused_before_they_are_walked():
    task = didact.make("random-grid", size=4, n_features=3, seed=0)
    with pytest.raises(InvalidParameter, match="give a shorter horizon or fewer starts"):
        didact.teach(task, horizon=10**7)
