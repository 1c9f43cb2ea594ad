"""Few items of a recording from which all follows: against `check` and brute force."""

from fractions import Fraction
from itertools import combinations, permutations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

import didact
from didact.errors import DidactError
from didact.mdp import Comparison, Demonstration, Preference
from didact.planning import solve
from didact.teaching.feedback.judging import judge_items
from tests.decisions import decisions, unit
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
@examples(12, 60)
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


def least_cost(task, known, said, costs):
    """The least cost of items that leave no more open than all of them, by trying all sets."""
    wanted = didact.check(task, said, known=known).n_open
    best = None
    for size in range(len(said) + 1):
        for chosen in combinations(range(len(said)), size):
            total = sum(costs[i] for i in chosen)
            if best is not None and total >= best:
                continue
            kept = [said[i] for i in chosen]
            shown = [item for item in kept if isinstance(item, Demonstration)]
            if len(judge_items(known, kept, shown).open_rows) == wanted:
                best = total
    return best


@given(st.data(), st.integers(0, 5))
@examples(12, 60)
def test_the_exact_method_is_brute_force(data, seed):
    """Right steps, and comparisons of any two actions, of which there is one at least."""
    task = didact.make("random-grid", size=2, n_features=2 + seed % 2, seed=seed)
    known = didact.equivalence_class(task, arithmetic="exact")
    values = known.plan.action_values
    offered = [Demonstration([(s, a)]) for s in range(4) for a in known.plan.optimal_actions(s)]
    offered += [
        Comparison(s, a, b)
        for s, (a, b) in product(range(4), permutations(range(4), 2))
        if values[s, a] >= values[s, b]
    ]
    numbers = st.integers(0, len(offered) - 1)
    chosen = data.draw(st.lists(numbers, min_size=1, max_size=6, unique=True))
    said = [offered[-1], *(offered[number] for number in chosen if number < len(offered) - 1)]
    prices = {"comparisons": data.draw(st.sampled_from([1, "1/2", 2])), "demonstrations": "3/2"}
    costs = [Fraction(prices[f"{type(item).__name__.lower()}s"]) for item in said]
    found = didact.select(task, said, method="exact", cost=prices)
    assert found.is_minimal
    assert found.cost == least_cost(task, known, said, costs)
    greedy = didact.select(task, said, cost=prices)
    assert greedy.lower_bound is None
    assert (greedy.n_covered, sum(greedy.gains)) == (found.n_covered, sum(found.gains))
    assert greedy.cost >= found.cost
    assert found.document()["lower_bound"] is not None


def test_greedy_takes_three_where_two_are_enough():
    """The demonstration that says most is in no cover by two."""
    said_by = ([0, 1, 2, 3], [0, 1, 4], [2, 3, 5])
    states = [[[0] * 6, *(unit(6, i, -1) for i in features)] for features in said_by]
    task = decisions(states, [1] * 6)
    said = [Demonstration([(s, 0)]) for s in range(3)]
    said.append(Comparison(0, 0, 1))
    best = didact.select(task, said, method="exact")
    assert (len(best.chosen), best.lower_bound) == (2, 2)
    assert set(best.chosen) == {1, 2}
    assert len(didact.select(task, said, method="exact", budget=1).chosen) == 1


@pytest.mark.parametrize("settings", [{"cost": "pairs"}, {"arithmetic": "float"}])
def test_what_is_not_done_with_items_is_refused(settings):
    with pytest.raises(DidactError, match=r"feedback"):
        didact.select(SIX, [Comparison(2, 1, 2)], **settings)
