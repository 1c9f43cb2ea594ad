"""Few items of a recording from which all follows: against `check` and brute force."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import didact
from didact.errors import Unsupported
from didact.mdp import Comparison, Preference
from didact.planning import solve
from tests.effort import examples

SIX = didact.make("six-cell")
WAY, OTHER = [(2, 1), (5, 2), (4, 2), (3, 0)], [(2, 2), (1, 2)]


def test_chosen_items_teach_and_the_others_are_redundant_or_wrong():
    said = [
        Comparison(2, 2, 1),
        Comparison(2, 1, 2),
        [(5, 2)],
        Comparison(1, 2, 3),
        Comparison(1, 2, 3),
    ]
    found = didact.select(SIX, said)
    assert found.teaches
    assert didact.check(SIX, list(found.items)).teaches
    assert [wrong.item for wrong in found.verdict.wrong_items] == [0]
    assert set(found.chosen) | set(found.redundant) == {1, 2, 3, 4}
    assert sum(found.gains) == found.n_elements == found.n_covered
    assert didact.select(SIX, said, budget=1).n_covered == 1


@given(st.lists(st.integers(0, 5), min_size=1, max_size=5, unique=True), st.integers(0, 3))
@examples(20, 60)
def test_nothing_chosen_can_be_left_out_and_all_that_follows_does(numbers, seed):
    task = didact.make("random-grid", size=3, n_features=3, seed=seed)
    values = solve(task).action_values
    offered = [
        Comparison(s, a, b)
        for s in range(9)
        for a, b in combinations(range(4), 2)
        if values[s, a] > values[s, b] + 1e-9
    ]
    said = [offered[(7 * number) % len(offered)] for number in numbers]
    found = didact.select(task, said)
    whole = didact.check(task, said)
    assert found.n_elements - found.n_covered == whole.n_open
    assert found.teaches == whole.teaches
    for left in range(len(found.items)):
        rest = [item for i, item in enumerate(found.items) if i != left]
        assert not rest or didact.check(task, rest).n_open > whole.n_open


def test_rows_outside_of_the_class_are_used_together():
    """A preference between two trajectories that are no best ways, beside a comparison."""
    around = Preference(WAY, OTHER)
    found = didact.select(SIX, [around, Comparison(1, 2, 3)])
    assert found.n_covered == found.n_elements - didact.check(SIX, list(found.items)).n_open


@pytest.mark.parametrize(
    "settings", [{"method": "exact"}, {"cost": "pairs"}, {"arithmetic": "float"}]
)
def test_what_is_not_done_with_items_is_refused(settings):
    with pytest.raises(Unsupported, match=r"feedback"):
        didact.select(SIX, [Comparison(2, 1, 2)], **settings)
