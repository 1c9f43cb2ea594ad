"""A way out of partial lessons: against all sets of further starts, and against `check`."""

from itertools import combinations

import numpy as np
import pytest

import didact
from didact.errors import InvalidInput
from didact.teaching.check import MAX_STARTS, further_starts, suggested_starts
from tests.effort import chunks


def small(seed):
    """A random 3x3 grid with one start, which seldom teaches everything."""
    task = didact.make("random-grid", size=3, n_features=3, seed=seed)
    mdp = task.mdp
    one = didact.MDP(mdp.transitions, mdp.features, mdp.exact_discount, start=int(seed % 9))
    return didact.Task(one, task.true_weights)


@pytest.mark.parametrize("seed", chunks(3, 12))
def test_the_starts_complete_it_and_each_is_needed(seed):
    task = small(seed)
    lesson = didact.teach(task, horizon=2)
    if lesson.is_complete:
        assert suggested_starts(task, lesson).added == ()
        return
    found = suggested_starts(task, lesson)
    own = np.flatnonzero(task.mdp.start.floats).tolist()

    def completes(added):
        return didact.teach(task, horizon=2, starts=[*own, *added]).is_complete

    assert didact.check(task, found.lesson).teaches
    assert set(found.starts) == {*own, *found.added}
    assert completes(found.added)
    for state in found.added:
        assert not completes([other for other in found.added if other != state])
    fewest = next(
        n for n in range(1, 10) if any(completes(added) for added in combinations(range(9), n))
    )
    harmonic = sum(1 / i for i in range(1, lesson.n_facets + lesson.n_equalities + 1))
    assert fewest <= len(found.added) <= harmonic * fewest


def test_the_slippery_lake_needs_one_more_start():
    lake = didact.make("FrozenLake-v1")
    found = suggested_starts(lake, didact.teach(lake))
    assert (found.starts, found.added) == ((0, 3), (3,))
    assert didact.teach(lake, starts=found.starts).is_complete


def test_what_a_budget_or_chance_left_out_needs_no_further_start():
    task = didact.make("random-grid", size=4, n_features=3, seed=1)
    for limited in ({"budget": 1}, {"teacher": "random", "n": 1}):
        lesson = didact.teach(task, **limited)
        assert lesson.status == "partial"
        assert suggested_starts(task, lesson).added == ()


def test_many_starts_become_all():
    task = didact.make("random-grid", size=9, seed=0)
    mdp = task.mdp
    starts = [(s, "1/25") for s in range(25)]
    narrow = didact.Task(
        didact.MDP(mdp.transitions, mdp.features, mdp.exact_discount, start=starts),
        task.true_weights,
    )
    lesson = didact.teach(narrow, horizon=1)
    found = suggested_starts(narrow, lesson)
    assert not lesson.is_complete
    assert len(found.starts) == 81 > MAX_STARTS
    assert didact.check(narrow, found.lesson).teaches


def test_all_starts_are_all_states_that_count():
    lake = didact.make("FrozenLake-v1", desc=["SFHF", "FGHF"], is_slippery=False)
    assert didact.teach(lake, starts="all").settings["starts"] == [0, 1, 4]
    with pytest.raises(InvalidInput):
        didact.teach(lake, starts="every")


@pytest.mark.parametrize("seed", chunks(6, 12))
def test_demonstrations_from_further_starts_complete_what_was_shown(seed):
    task = small(seed)
    bec = didact.equivalence_class(task, scope="all")
    begin = int(np.flatnonzero(task.mdp.start.floats)[0])
    shown = [didact.Demonstration([(begin, bec.plan.optimal_actions(begin)[0])])]
    found = further_starts(bec, shown)
    if didact.check(task, shown, bec=bec).teaches:
        assert found is None
        return
    assert {d[0][0] for d in found.lesson.demonstrations} <= set(found.starts)
    assert didact.check(task, [*shown, *found.lesson.demonstrations], bec=bec).teaches


def test_the_slippery_lake_needs_a_demonstration_from_its_corner():
    lake = didact.make("FrozenLake-v1")
    bec = didact.equivalence_class(lake)
    assert further_starts(bec, didact.teach(lake).demonstrations).starts == (3,)
