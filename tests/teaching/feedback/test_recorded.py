"""Few items of a recording from which all follows: against `check` and brute force."""

from fractions import Fraction
from itertools import combinations, permutations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

import didact
from didact.errors import DidactError
from didact.mdp import Comparison, Demonstration, Preference
from didact.mdp.files import task_document
from didact.planning import solve
from tests.decisions import decisions, unit
from tests.test_proofcheck import Solved, cone_multipliers

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
    assert [wrong.item for wrong in found.wrong_items] == [0]
    assert set(found.chosen) | set(found.redundant) == {1, 2, 3, 4}
    assert sum(found.gains) == found.n_elements == found.n_covered
    assert didact.select(SIX, said, budget=1).n_covered == 1


@given(st.lists(st.integers(0, 5), min_size=1, max_size=5, unique=True), st.integers(0, 3))
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
        if whole.teaches:
            assert not didact.check(task, rest).teaches
        else:
            assert left_open(task, rest, found.items[left])
    assert whole.teaches or not any(left_open(task, found.items, said[n]) for n in found.redundant)


def left_open(task, items, item):
    """Whether some reward fits the items and not that one."""
    solved = Solved(task_document(task))
    said = [row for each in items for row in rows_said(solved, each)]
    return not follow_from(rows_said(solved, item), said)


def test_an_item_that_excludes_wrong_rewards_is_not_redundant():
    """e1 and e1 + e2 against nothing: (1, -5) fits the first and breaks the second.

    Said by comparisons or shown, both are kept; once e2 is said too, its sum with e1 says nothing.
    """
    pays = [[[1, 0], [0, 0]], [[0, 1], [0, 0]], [[1, 1], [0, 0]]]
    task = decisions(pays, [1, 1])
    for kind in (lambda s: Comparison(s, 0, 1), lambda s: Demonstration([(s, 0)])):
        for method in ("exact", "greedy"):
            found = didact.select(task, [kind(0), kind(2)], method=method)
            assert (sorted(found.chosen), found.redundant, found.teaches) == ([0, 1], (), False)
            found = didact.select(task, [kind(0), kind(2), kind(1)], method=method)
            assert (sorted(found.chosen), found.redundant, found.teaches) == ([0, 2], (1,), True)
    one = didact.select(task, [Comparison(0, 0, 1), Comparison(2, 0, 1)], method="exact", budget=1)
    assert (one.chosen, one.left_out, one.redundant, one.lower_bound) == ((0,), (1,), (), None)
    twice = didact.select(task, [Comparison(2, 0, 1), Comparison(2, 0, 1)], method="exact")
    assert (twice.chosen, twice.redundant, twice.lower_bound) == ((0,), (1,), 1)


def test_rows_outside_of_the_class_are_used_together():
    """A preference between two trajectories that are no best ways, beside a comparison."""
    around = Preference(WAY, OTHER)
    found = didact.select(SIX, [around, Comparison(1, 2, 3)])
    assert found.n_covered == found.n_elements - didact.check(SIX, list(found.items)).n_open


def rows_said(solved, item):
    """What an item states, in fractions: an action against another, or against all others."""
    if isinstance(item, Comparison):
        return [solved.row(item.state, item.better, item.other)]
    return [solved.row(s, a, b) for s, a in item for b in range(solved.m) if a != b]


def follow_from(rows, said):
    rays = [row for row in said if any(row)]
    return all(not any(row) or cone_multipliers(row, rays) is not None for row in rows)


def least_cost(task, said, costs):
    """The least cost of items that say as much as all of them, by trying all sets.

    All that matters where they teach the task, else every row.
    """
    solved = Solved(task_document(task))
    rows = [rows_said(solved, item) for item in said]
    everything = [row for own in rows for row in own]
    wanted = list(solved.policy_rows("reachable"))
    if not follow_from(wanted, everything):
        wanted = everything
    sets = (c for n in range(len(said) + 1) for c in combinations(range(len(said)), n))
    fits = (c for c in sets if follow_from(wanted, [row for i in c for row in rows[i]]))
    return min(sum(costs[i] for i in chosen) for chosen in fits)


@given(st.data(), st.integers(0, 5))
def test_the_exact_method_is_brute_force(data, seed):
    """Right steps, and comparisons of any two actions, of which there is one at least."""
    task = didact.make("random-grid", size=2, n_features=2 + seed % 2, seed=seed)
    bec = didact.equivalence_class(task, arithmetic="exact")
    values = bec.plan.action_values
    offered = [Demonstration([(s, a)]) for s in range(4) for a in bec.plan.optimal_actions(s)]
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
    assert found.cost == least_cost(task, said, costs)
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
