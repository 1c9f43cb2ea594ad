"""Members that cost a visit: the exact minimum equals brute force over all sets of pairs."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

import didact
from didact import MDP, Family, Task
from didact.teaching.covers.charges import Charges, charged_greedy, solve_charged_cover
from didact.teaching.covers.minimum import cheapest_cover
from tests.decisions import decisions, unit
from tests.effort import chunks, number

ZERO = [0, 0, 0]


def brute_force(cuts, costs, group_of, prices):
    """The least cost of candidates that hit all cuts, each group of theirs paid once."""
    best = None
    for size in range(len(costs) + 1):
        for chosen in combinations(range(len(costs)), size):
            if all(set(cut) & set(chosen) for cut in cuts):
                total = sum(costs[c] for c in chosen)
                total += sum(prices.get(g, 0) for g in {group_of[c] for c in chosen})
                best = total if best is None else min(best, total)
    return best


@pytest.mark.parametrize("seed", chunks(30, 150))
def test_the_cheapest_cover_with_visits_is_brute_force(seed):
    rng = np.random.default_rng(seed)
    n, m, groups = int(rng.integers(2, 9)), int(rng.integers(1, 6)), int(rng.integers(1, 4))
    cuts = [set(np.flatnonzero(rng.random(n) < 0.4).tolist()) or {0} for _ in range(m)]
    costs = [int(c) for c in rng.integers(1, 4, size=n)]
    group_of = [int(g) for g in rng.integers(groups, size=n)]
    prices = {g: Fraction(int(rng.integers(0, 9)), 2) for g in range(groups)}
    found = cheapest_cover(
        n,
        [()] * n,
        costs,
        lambda chosen: next((cut for cut in cuts if not cut & set(chosen)), None),
        elements=cuts if seed % 2 else (),
        charges=Charges(group_of, prices),
    )
    assert found.proved
    assert found.cost == found.lower_bound == brute_force(cuts, costs, group_of, prices)
    assert all(cut & set(found.chosen) for cut in cuts)
    own = sum(costs[c] for c in found.chosen)
    assert found.cost == own + sum(prices[g] for g in {group_of[c] for c in found.chosen})


def small_families():
    """Two to four members of 2x2 cells with whole weights, every third with ties."""
    for seed in range(number(12, 30)):
        family = didact.make(
            "random-grid", size=2, n_features=3, seed=1000 + 10 * seed, members=2 + seed % 3
        )
        weights = [1, 1, 2] if seed % 3 == 0 else [-3, 1, 4]
        yield seed, Family([Task(task.mdp, weights, name=task.name) for task in family])


def test_lessons_with_visits_are_brute_force():
    """All sets of pairs that teach, by the exact check, and what they cost with their visits."""
    n_elsewhere = 0
    for seed, family in small_families():
        rng = np.random.default_rng(seed)
        prices = {m: int(rng.integers(0, 4)) for m in range(len(family))}
        known = didact.equivalence_class(family)
        lesson = didact.teach(
            family, teacher="exact", horizon=1, starts="all", member_cost=prices, known=known
        )
        assert lesson.is_complete
        assert lesson.cost == lesson.lower_bound == _cheapest(known, family, prices)
        visited = {d.member for d in lesson.demonstrations}
        assert lesson.cost == len(lesson.demonstrations) + sum(prices[m] for m in visited)
        assert didact.check(family, lesson, known=known).teaches
        plain = didact.teach(family, teacher="exact", horizon=1, starts="all", known=known)
        n_elsewhere += visited != {d.member for d in plain.demonstrations}
    assert n_elsewhere > number(2, 5), "visits often decide who shows"


def test_ties_alone_are_covered_with_visits():
    """Two features worth the same: no facet, so that nothing is known before the first tie."""
    task = Task(MDP([[[1, 0], [1, 0]], [[0, 1], [0, 1]]], [[[1, 0], [0, 1]]] * 2, 0), [1, 1])
    family = Family([task, Task(task.mdp, [1, 1])])
    lesson = didact.teach(family, teacher="exact", horizon=1, member_cost={0: 5, 1: 1})
    assert (lesson.n_facets, lesson.cost, lesson.lower_bound) == (0, 3, 3)
    assert {d.member for d in lesson.demonstrations} == {1}


def _cheapest(known, family, prices):
    """The least cost of pairs that state every facet class and span the equalities."""
    elements = [set(members) for members in known.cone.facets]
    rows = known.rows
    pairs = {}
    for (state, action, _), row in zip(rows.statements.tolist(), rows.number, strict=True):
        if row >= 0:
            pairs.setdefault((state, action), set()).add(int(row))
    wanted = set().union(*elements) | set(known.cone.equalities)
    useful = {pair: stated & wanted for pair, stated in pairs.items() if stated & wanted}
    firsts = [part.first for part in known.parts]
    by_stated = {}
    for (state, action), stated in useful.items():
        member = max(m for m, first in enumerate(firsts) if first <= state)
        by_stated.setdefault((member, frozenset(stated)), (state - firsts[member], action))
    listed = [(member, pair) for (member, _), pair in by_stated.items()]
    best = None
    for size in range(len(listed) + 1):
        if best is not None and size >= best:
            break
        for chosen in combinations(listed, size):
            total = size + sum(prices[m] for m in {member for member, _ in chosen})
            if best is not None and total >= best:
                continue
            shown = [[member, [pair]] for member, pair in chosen]
            if didact.check(family, shown, known=known).teaches:
                best = total
    return best


def test_a_visit_less_is_worth_a_demonstration_more():
    """X shows three facets one by one; Y two at once, Z the third: 2 pairs, or one visit to X."""
    weights = [1, 2, 3]
    x = decisions([[unit(3, i), ZERO] for i in range(3)], weights)
    y = decisions([[ZERO, unit(3, 0, -1), unit(3, 1, -1)]], weights)
    z = decisions([[ZERO, unit(3, 2, -1)]], weights)
    family = Family([x, y, z], names=["x", "y", "z"])
    free = didact.teach(family, teacher="exact", horizon=1)
    assert (len(free.demonstrations), free.cost) == (2, 2)
    for teacher in ("exact", "scot"):
        dear = didact.teach(family, teacher=teacher, horizon=1, member_cost=2)
        assert {d.member for d in dear.demonstrations} == {0} or teacher == "scot"
    dear = didact.teach(family, teacher="exact", horizon=1, member_cost=2)
    assert (len(dear.demonstrations), dear.cost, dear.lower_bound) == (3, 5, 5)
    assert dear.settings["member_cost"] == [[0, 2], [1, 2], [2, 2]]


def test_greedy_pays_a_visit_once():
    charges = Charges([0, 0, 1], {0: 2, 1: 1})
    picks = charged_greedy({0: 0b01, 1: 0b10, 2: 0b10}, [1, 1, 1], charges, closure=lambda c: c)
    assert picks == (2, 0), "one element for 2, then the other for 3"
    near = Charges([0, 0, 1], {0: 1, 1: 2})
    assert charged_greedy({0: 1, 1: 2, 2: 2}, [1, 1, 1], near, closure=lambda c: c) == (0, 1)
    assert charged_greedy({0: 1, 1: 2}, [1, 1], near, closure=lambda c: c, most=1) == (0,)


def test_bounds_hold_without_time():
    found, bound = solve_charged_cover([{0, 1}], lambda c: (1, 0, c), Charges([0, 1], {0: 3}), 9.0)
    assert (found, bound) == ((1,), 1)


def test_the_command_line_says_what_members_cost(didact, tmp_path):
    from didact import save_family

    states = [[unit(3, i), ZERO] for i in range(3)]
    path = tmp_path / "family.json"
    save_family(Family([decisions(states, [1, 2, 3])] * 2, names=["near", "far"]), path)
    exact = ("--teacher", "exact", "--horizon", 1)
    told = didact("teach", path, *exact, "--member-cost", "near=1/2", "--member-cost", "1=2")
    assert told.code == 0
    assert "cost 3.5, proved fewest" in told.out
    told = didact("teach", path, *exact, "--member-cost", 4)
    assert "cost 7, proved fewest" in told.out
    told = didact("teach", path, *exact, "--member-cost", 4, "--member-cost", 5)
    assert (told.code, "must be one cost for all" in told.err) == (2, True)
