"""The bound on demonstrations: against every demonstration there is, and every set of them."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from didact.bec.classes import equivalence_class
from didact.bec.classes import equivalence_class as equivalence_of
from didact.bec.halfspaces import demonstrated_pairs
from didact.mdp import Demonstration
from didact.teaching import check, teach
from didact.teaching.bounds import Begins, fewest_demonstrations, states_within
from didact.teaching.covers.candidates import as_starts
from didact.worlds import make
from tests.effort import examples
from tests.models import tasks


def all_demonstrations(mdp, plan, starts, horizon):
    """Every way to follow the optimal policy for at most `horizon` steps, to the end of each."""
    moves = mdp.transitions
    found, open_ones = [], [((), int(s)) for s in starts]
    while open_ones:
        path, state = open_ones.pop()
        if mdp.terminal[state] or len(path) == horizon:
            found.append(path)
            continue
        for action in plan.optimal_actions(state):
            row = state * mdp.n_actions + action
            for after in moves.successors[moves.offsets[row] : moves.offsets[row + 1]].tolist():
                open_ones.append(((*path, (state, action)), after))
    return sorted(set(found))


@examples(12, 120)
@given(tasks(max_states=4, max_actions=2), st.integers(1, 3))
def test_no_complete_lesson_has_fewer(task, horizon):
    known = equivalence_class(task)
    starts = as_starts(task.mdp, None)
    bound = fewest_demonstrations(known, [Begins(starts, horizon)], time_limit=3600)
    everything = all_demonstrations(task.mdp, known.plan, starts, horizon)
    if check(task, [], known=known).teaches:
        assert bound == 0
        return
    assert bound >= 1
    by_start = [all_demonstrations(task.mdp, known.plan, [s], horizon) for s in starts]
    if check(task, everything, known=known).teaches:
        assert bound == next(
            size
            for size in range(1, len(by_start) + 1)
            for part in itertools.combinations(by_start, size)
            if check(task, [d for shown in part for d in shown], known=known).teaches
        )
    if len(everything) > 14 or not check(task, everything, known=known).teaches:
        return
    fewest = next(
        size
        for size in range(1, len(everything) + 1)
        for part in itertools.combinations(everything, size)
        if check(task, part, known=known).teaches
    )
    assert bound <= fewest


@pytest.mark.parametrize("seed", range(4))
def test_it_is_the_smallest_cover_by_starts_at_every_horizon(seed):
    """Each start shows all that can follow it; the bound falls as the horizon grows."""
    known = equivalence_class(make("random-grid", size=4, n_features=4, seed=seed))
    starts = as_starts(known.task.mdp, None)
    bounds = []
    for horizon in (1, 2, 3, 4):
        shown = [
            {
                pair
                for d in all_demonstrations(known.task.mdp, known.plan, [s], horizon)
                for pair in d
            }
            for s in starts
        ]
        states = [facets_shown(known, [Demonstration([pair]) for pair in pairs]) for pairs in shown]
        fewest = next(
            size
            for size in range(1, len(states) + 1)
            for part in itertools.combinations(states, size)
            if len(set().union(*part)) == known.cone.n_facets
        )
        bounds.append(fewest_demonstrations(known, [Begins(starts, horizon)], time_limit=3600))
        assert bounds[-1] == fewest
    assert bounds == sorted(bounds, reverse=True)


def facets_shown(known, demonstrations):
    """The facets that demonstrations state, by their rows."""
    assert not known.cone.equalities
    rows = set(known.rows.stated_by(demonstrated_pairs(known.task.mdp, demonstrations)).tolist())
    return {i for i, members in enumerate(known.cone.facets) if rows & set(members)}


@examples(12, 60)
@given(tasks(), st.integers(0, 5))
def test_states_within_are_those_of_following_the_policy(task, n_steps):
    known = equivalence_class(task)
    starts = as_starts(task.mdp, None)
    found = states_within(known.parts[0], starts, n_steps)
    moves = (
        task.mdp.transitions.matrix().toarray().reshape(task.mdp.n_states, task.mdp.n_actions, -1)
    )
    for line, start in zip(found, starts.tolist(), strict=True):
        reached = {start}
        for _ in range(n_steps):
            reached |= {
                int(after)
                for state in reached
                for action in np.flatnonzero(known.plan.optimal[state])
                for after in np.flatnonzero(moves[state, action])
                if not task.mdp.terminal[state]
            }
        assert set(np.flatnonzero(line).tolist()) == reached


def test_it_proves_the_minimum_of_a_paper_world():
    known = equivalence_class(make("random-grid"))
    starts = as_starts(known.task.mdp, None)
    assert fewest_demonstrations(known, [Begins(starts, 20)], time_limit=3600) == 10


def test_too_many_starts_give_the_trivial_bound(monkeypatch):
    monkeypatch.setattr("didact.teaching.bounds.MOST_ENTRIES", 10)
    known = equivalence_class(make("random-grid"))
    starts = as_starts(known.task.mdp, None)
    assert fewest_demonstrations(known, [Begins(starts, 20)], time_limit=3600) == 1


def test_a_familys_bound_is_that_of_its_members_together():
    """Members of single steps: the bound is the smallest lesson of pairs from their starts."""
    for seed in range(6):
        family = make("random-grid", size=2, n_features=3, seed=10 * seed, members=3)
        known = equivalence_of(family)
        begins = [Begins(as_starts(task.mdp, None), 1) for task in family]
        lesson = teach(family, teacher="exact", horizon=1, known=known)
        assert fewest_demonstrations(known, begins, time_limit=3600) == lesson.lower_bound
        assert len(lesson.demonstrations) == lesson.lower_bound
