"""The greedy cover against a search of every step, and its guarantee against brute force.

Cheapest covers against brute force over subsets, with plain and with geometric oracles.

Reductions against brute force: the optimum stays, and nothing is left to reduce.
"""

from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.optimize
from scipy.optimize import OptimizeResult

import didact
from didact import MDP, Family, Task
from didact.bec.certificates import exact_cone
from didact.bec.linear import Outside, decide, dot
from didact.errors import Unsupported
from didact.random import stream
from didact.teaching.covers import set_cover
from didact.teaching.covers.set_cover import (
    FixedCosts,
    Uncoverable,
    cheapest_cover,
    dual_ascent,
    greedy_cover,
    harmonic,
    lp_bound,
    reduced,
    solve_with_fixed_costs,
)
from tests.decisions import decisions, unit
from tests.effort import chunks, number, takes_all
from tests.teaching.covers.instances import (
    cheapest_by_force,
    cover_oracle,
    elements_of,
    exactly,
    hitting,
    random_costs,
    random_elements,
    tight_family,
)


def assert_is_proved_minimum(found, costs, is_cover):
    exact = exactly(costs)
    assert is_cover(found.chosen)
    assert list(found.chosen) == sorted(set(found.chosen))
    assert found.cost == sum((exact[i] for i in found.chosen), Fraction(0))
    assert found.cost == cheapest_by_force(len(costs), exact, is_cover)
    assert found.lower_bound == found.cost
    assert found.proved


def steiner_triples(n):
    """Bose's Steiner triple system on n = 6t + 3 points."""
    third = n // 3
    half = (third + 1) // 2
    triples = [[(x, 0), (x, 1), (x, 2)] for x in range(third)]
    for x, y in itertools.combinations(range(third), 2):
        middle = (x + y) * half % third
        triples += [[(x, i), (y, i), (middle, (i + 1) % 3)] for i in range(3)]
    return [{x + third * i for x, i in triple} for triple in triples]


def tripled(triples, n):
    """The Steiner triple system on 3n points that three copies of one on n points give."""
    found = [{x, x + n, x + 2 * n} for x in range(n)]
    for triple in triples:
        x, y, z = sorted(triple)
        for i, j in itertools.product(range(3), repeat=2):
            found.append({x + i * n, y + j * n, z + (-i - j) % 3 * n})
    return found


# The exact minimum of plain set covers


@pytest.mark.parametrize("knows_elements", [True, False])
def test_minimum_of_random_set_covers_is_that_of_brute_force(knows_elements):
    rng = stream(1, "set cover", int(knows_elements))
    n_without_solver = 0
    n_covers = number(80, 700)
    for _ in range(n_covers):
        n = int(rng.integers(1, 10))
        elements = random_elements(rng, n, int(rng.integers(0, 12)))
        costs = random_costs(rng, n)
        stated = [{e for e, element in enumerate(elements) if i in element} for i in range(n)]
        found = cheapest_cover(
            *(stated, costs, cover_oracle(elements)),
            elements=elements if knows_elements else elements[:2],
            start=rng.choice(n, size=rng.integers(0, n + 1), replace=False).tolist(),
        )
        assert_is_proved_minimum(found, costs, hitting(elements))
        n_without_solver += found.n_solves == 0
    assert n_without_solver > 0.7 * n_covers


def test_the_solver_alone_finds_the_same_minimum(monkeypatch):
    monkeypatch.setattr(set_cover, "_shrink", lambda cuts, costs: (0, cuts))
    rng = stream(2, "solver")
    for _ in range(number(25, 120)):
        n = int(rng.integers(2, 10))
        elements = random_elements(rng, n, int(rng.integers(1, 12)))
        costs = random_costs(rng, n)
        found = cheapest_cover(
            *([()] * n, costs, cover_oracle(elements)), elements=elements[: len(elements) // 2]
        )
        assert_is_proved_minimum(found, costs, hitting(elements))
        assert lp_bound(elements, costs) <= found.cost


def test_instances_that_reductions_leave_go_to_the_solver():
    rng = stream(3, "cores")
    n_solves = 0
    for _ in range(number(20, 100)):
        elements = random_elements(rng, 10, 20, least=3, most=3)
        costs = random_costs(rng, 10)
        found = cheapest_cover([()] * 10, costs, cover_oracle(elements), elements=elements)
        assert_is_proved_minimum(found, costs, hitting(elements))
        n_solves += found.n_solves
    assert n_solves > number(6, 30)


@pytest.mark.parametrize(
    ("points", "best"), [(9, 5), (15, 9), pytest.param(27, 18, marks=pytest.mark.slow)]
)
def test_steiner_triple_systems(points, best):
    """The hard family A9, A15, A27 of Fulkerson, Nemhauser and Trotter (1974), with its optima."""
    triples = tripled(steiner_triples(9), 9) if points == 27 else steiner_triples(points)
    pairs = [p for triple in triples for p in itertools.combinations(sorted(triple), 2)]
    assert len(set(pairs)) == len(pairs) == math.comb(points, 2)
    found = cheapest_cover(*([()] * points, [2] * points, cover_oracle(triples)), elements=triples)
    assert (found.cost, found.lower_bound, found.proved) == (2 * best, 2 * best, True)
    assert hitting(triples)(found.chosen)
    assert found.n_solves > 0


# The exact minimum of cones


def supports_of(rows, target):
    """Bit sets of at most k independent rows whose cone holds the target (Caratheodory)."""
    found = []
    for size in range(1, len(target) + 1):
        for members in itertools.combinations(range(len(rows)), size):
            if is_positive_combination([rows[i] for i in members], target):
                found.append(sum(1 << i for i in members))
    return found


def is_positive_combination(generators, target):
    """Whether independent generators combine to the target, by elimination in whole numbers."""
    size = len(generators)
    table = [[*(g[j] for g in generators), target[j]] for j in range(len(target))]
    for column in range(size):
        pivot = next((r for r in range(column, len(table)) if table[r][column]), None)
        if pivot is None:
            return False
        table[column], table[pivot] = table[pivot], table[column]
        head = table[column][column]
        for r, row in enumerate(table):
            if r != column and row[column]:
                pairs = zip(row, table[column], strict=True)
                table[r] = [head * a - row[column] * b for a, b in pairs]
    signs = (table[place][-1] * table[place][place] for place in range(size))
    return all(row[-1] == 0 for row in table[size:]) and all(sign >= 0 for sign in signs)


def cone_oracle(rows, stated):
    """A reward that fits the chosen candidates and breaks a row names all who contradict it."""

    def find_gap(chosen):
        generators = [rows[r] for r in sorted({r for i in chosen for r in stated[i]})]
        for target in rows:
            decision = decide(generators, target)
            if isinstance(decision, Outside):
                w = decision.witness
                return {i for i, own in enumerate(stated) if any(dot(rows[r], w) < 0 for r in own)}
        return None

    return find_gap


def spans(rows, stated):
    """Whether chosen candidates give the cone of all rows, by enumeration of supports."""
    supports = [supports_of(rows, row) for row in rows]

    def is_cover(chosen):
        shown = sum(1 << r for r in {r for i in chosen for r in stated[i]})
        return all(any(s & shown == s for s in choices) for choices in supports)

    return is_cover


def random_cone(rng):
    """Integer rows around a true weight, most of them with a tie, in two or three dimensions."""
    k = int(rng.integers(2, 4))
    weights = rng.integers(-2, 3, size=k)
    point = tuple(weights.tolist())
    rows = rng.integers(-2, 3, size=(int(rng.integers(2, 8)), k))
    rows = [tuple(r) for r in (rows * np.where(rows @ weights < 0, -1, 1)[:, None]).tolist()]
    rows = [*rows, *(tuple(-x for x in row) for row in rows if dot(row, point) == 0)]
    rows = [row for row in dict.fromkeys(rows) if any(row)]
    n = int(rng.integers(2, 8))
    owners = [rng.integers(0, n, size=rng.integers(1, 3)) for _ in rows]
    stated = [{r for r, own in enumerate(owners) if i in own} for i in range(n)]
    return rows, stated, point


def test_minimum_of_random_cones_is_that_of_brute_force():
    rng = stream(5, "cones")
    n_tied = 0
    for _ in range(number(40, 160)):
        rows, stated, weights = random_cone(rng)
        costs = random_costs(rng, len(stated))
        cone = exact_cone(rows, weights)
        facets = [
            {i for i, own in enumerate(stated) if own & set(members)} for members in cone.facets
        ]
        is_cover = spans(rows, stated)
        for elements in ((), facets):
            found = cheapest_cover(stated, costs, cone_oracle(rows, stated), elements=elements)
            assert_is_proved_minimum(found, costs, is_cover)
        n_tied += bool(cone.equalities)
    assert n_tied > number(7, 30)


def test_a_three_way_tie_has_one_minimum_whatever_the_order():
    """One candidate for each of three tied actions; two leave open that the third is worse.

    A fourth states all rows and costs as much as two and a half.
    """
    tied = [(1, 0), (0, 1), (-1, -1)]
    pairs = [(i, j) for i in range(3) for j in range(3) if i != j]
    rows = [tuple(a - b for a, b in zip(tied[i], tied[j], strict=True)) for i, j in pairs]
    orders = list(itertools.permutations(range(6)))[::29]
    for order in orders[:: 1 if takes_all() else 3]:
        shuffled = [rows[r] for r in order]
        stated = [{p for p, r in enumerate(order) if pairs[r][0] == i} for i in range(3)]
        for extra, cost, chosen in (([], 3, (0, 1, 2)), ([set(range(6))], 2.5, (3,))):
            every, costs = [*stated, *extra], [1, 1, 1, 2.5][: 3 + len(extra)]
            found = cheapest_cover(every, costs, cone_oracle(shuffled, every))
            assert (found.cost, found.chosen, found.proved) == (cost, chosen, True)


# What happens short of a proof


def test_after_the_time_limit_the_best_cover_and_a_bound_are_left():
    rng = stream(6, "time")
    n_open = 0
    for _ in range(number(60, 100)):
        elements = random_elements(rng, 9, 15, least=2, most=3)
        costs = random_costs(rng, 9)
        found = cheapest_cover(
            *([()] * 9, costs, cover_oracle(elements)), elements=elements[:9], time_limit=0
        )
        best = cheapest_by_force(9, exactly(costs), hitting(elements))
        assert hitting(elements)(found.chosen)
        assert 0 < found.lower_bound <= best <= found.cost
        assert found.proved == (found.lower_bound == found.cost)
        assert found.n_solves == 0
        n_open += not found.proved
    assert n_open > 10


def test_a_solver_that_gives_up_proves_nothing(monkeypatch):
    triples = steiner_triples(15)
    solve = scipy.optimize.milp
    asked = []

    def gives_up(*arguments, **options):
        answer = solve(*arguments, **options)
        asked.append(options["options"])
        return OptimizeResult(x=answers[-1](answer.x), mip_dual_bound=bounds[-1], status=1)

    monkeypatch.setattr(scipy.optimize, "milp", gives_up)
    answers, bounds = [lambda x: x], [6.2]
    best = cheapest_cover(
        *([()] * 15, [1] * 15, cover_oracle(triples)), elements=triples, time_limit=600
    )
    assert (best.cost, best.lower_bound, best.proved) == (9, 7, False)
    assert 0 < asked[-1]["time_limit"] <= 600
    tens = cheapest_cover([()] * 15, [10] * 15, cover_oracle(triples), elements=triples)
    assert (tens.cost, tens.lower_bound) == (90, 70)
    for silent in (None, -math.inf):
        answers, bounds = [lambda x: None], [silent]
        found = cheapest_cover(
            *([()] * 15, [1] * 15, cover_oracle(triples)), elements=triples, lower=6
        )
        assert hitting(triples)(found.chosen)
        assert (found.lower_bound, found.proved) == (6, False)
        assert "time_limit" not in asked[-1]
    answers, bounds = [np.ones_like], [5.0]
    kept = cheapest_cover(
        *([()] * 15, [1] * 15, cover_oracle(triples)), elements=triples, start=best.chosen
    )
    assert (kept.chosen, kept.cost, kept.proved) == (best.chosen, 9, False)
    answers, bounds = [lambda x: 0.0 * x], [5.0000004]
    found = cheapest_cover([()] * 15, [1] * 15, cover_oracle(triples), elements=triples)
    assert hitting(triples)(found.chosen)
    assert (found.lower_bound, found.proved) == (5, False)


def test_start_is_used_and_completed():
    elements = [{0, 1}, {1, 2}, {3, 4}]
    asked = []

    def find_gap(chosen):
        asked.append(chosen)
        return cover_oracle(elements)(chosen)

    found = cheapest_cover([()] * 5, [1] * 5, find_gap, start=(4, 0))
    assert asked[:2] == [(0, 4), (0, 1, 4)]
    assert (found.chosen, found.proved) == ((1, 3), True)


def test_a_bound_known_beforehand_ends_the_search():
    elements = [{i, (i + 1) % 5} for i in range(5)]
    for lower in (3, Fraction(5, 2), 2.5, 3.0000000001):
        found = cheapest_cover(
            *([()] * 5, [1] * 5, cover_oracle(elements)), elements=elements, lower=lower
        )
        assert (found.cost, found.lower_bound, found.proved, found.n_solves) == (3, 3, True, 0)


def test_large_costs_are_proved_up_to_the_tolerance():
    rng = stream(7, "large")
    elements = steiner_triples(9)
    costs = [int(c) for c in rng.integers(10**8, 10**9, size=9)]
    found = cheapest_cover([()] * 9, costs, cover_oracle(elements), elements=elements)
    best = cheapest_by_force(9, costs, hitting(elements))
    assert found.n_solves > 0
    assert found.proved
    assert found.cost == best
    assert (1 - 3e-6) * best <= found.lower_bound <= best


def test_costs_keep_their_kind():
    elements = [{0}, {1, 2}]
    oracle = cover_oracle(elements)
    whole = cheapest_cover([()] * 3, [3, np.int64(6), 9], oracle)
    assert (whole.cost, type(whole.cost), type(whole.lower_bound)) == (9, int, int)
    tenths = cheapest_cover([()] * 3, [0.1, 0.2, 0.7], oracle)
    assert (tenths.cost, tenths.lower_bound) == (Fraction(3, 10), Fraction(3, 10))


def test_ties_prefer_more_rows_then_lower_numbers():
    found = cheapest_cover([{1}, {1, 2}, {1, 3}, ()], [1] * 4, cover_oracle([{0, 1, 2, 3}]))
    assert found.chosen == (1,)


def test_same_input_same_answer_and_names_do_not_matter():
    rng = stream(8, "names")
    for _ in range(number(8, 20)):
        elements = random_elements(rng, 10, 18, least=3, most=3)
        costs = random_costs(rng, 10)
        answers = [
            cheapest_cover([()] * 10, costs, cover_oracle(elements), elements=elements)
            for _ in range(2)
        ]
        assert answers[0] == answers[1]
        new = rng.permutation(10)
        renamed = [{int(new[i]) for i in element} for element in elements]
        moved = cheapest_cover(
            *([()] * 10, [costs[i] for i in np.argsort(new)], cover_oracle(renamed)),
            elements=renamed,
        )
        assert moved.cost == answers[0].cost


def test_nothing_to_cover_costs_nothing():
    for n in (0, 3):
        found = cheapest_cover([()] * n, [1] * n, lambda chosen: None)
        assert (found.chosen, found.cost, found.lower_bound, found.proved) == ((), 0, 0, True)


def test_what_nobody_closes_is_said_by_number():
    elements = [{0}, {1}]
    with pytest.raises(Uncoverable, match="gap 3") as caught:
        cheapest_cover(
            *([()] * 2, [1, 1], cover_oracle([{0}, {1}, set()])), elements=[*elements, {0, 1}]
        )
    assert caught.value.cut == 3
    with pytest.raises(Uncoverable) as caught:
        cheapest_cover([()] * 2, [1, 1], lambda chosen: None, elements=[{0}, ()])
    assert caught.value.cut == 1
    assert isinstance(caught.value, Unsupported)
    with pytest.raises(Uncoverable):
        lp_bound([{0}, []], [1])


ZERO = [0, 0, 0]


@pytest.mark.parametrize("seed", chunks(30, 150))
def test_the_cheapest_cover_with_visits_is_brute_force(seed):
    rng = np.random.default_rng(seed)
    n, m, groups = int(rng.integers(2, 9)), int(rng.integers(1, 6)), int(rng.integers(1, 4))
    cuts = [set(np.flatnonzero(rng.random(n) < 0.4).tolist()) or {0} for _ in range(m)]
    costs = [int(c) for c in rng.integers(1, 4, size=n)]
    group_of = [int(g) for g in rng.integers(groups, size=n)]
    prices = {g: Fraction(int(rng.integers(0, 9)), 2) for g in range(groups)}
    found = cheapest_cover(
        [()] * n,
        costs,
        lambda chosen: next((cut for cut in cuts if not cut & set(chosen)), None),
        elements=cuts if seed % 2 else (),
        fixed_costs=FixedCosts(group_of, prices),
    )
    assert found.proved
    best = cheapest_by_force(
        n,
        costs,
        hitting(cuts),
        lambda chosen: sum(prices[g] for g in {group_of[c] for c in chosen}),
    )
    assert found.cost == found.lower_bound == best
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
        bec = didact.equivalence_class(family)
        lesson = didact.teach(
            family, teacher="exact", horizon=1, starts="all", member_cost=prices, bec=bec
        )
        assert lesson.is_complete
        assert lesson.cost == lesson.lower_bound == _cheapest(bec, family, prices)
        visited = {d.member for d in lesson.demonstrations}
        assert lesson.cost == len(lesson.demonstrations) + sum(prices[m] for m in visited)
        assert didact.check(family, lesson, bec=bec).teaches
        plain = didact.teach(family, teacher="exact", horizon=1, starts="all", bec=bec)
        n_elsewhere += visited != {d.member for d in plain.demonstrations}
    assert n_elsewhere > number(2, 5), "visits often decide who shows"


def test_ties_alone_are_covered_with_visits():
    """Two features worth the same: no facet, so that nothing is known before the first tie."""
    task = Task(MDP([[[1, 0], [1, 0]], [[0, 1], [0, 1]]], [[[1, 0], [0, 1]]] * 2, 0), [1, 1])
    family = Family([task, Task(task.mdp, [1, 1])])
    lesson = didact.teach(family, teacher="exact", horizon=1, member_cost={0: 5, 1: 1})
    assert (lesson.n_facets, lesson.cost, lesson.lower_bound) == (0, 3, 3)
    assert {d.member for d in lesson.demonstrations} == {1}


def _cheapest(bec, family, prices):
    """The least cost of pairs that state every facet class and span the equalities."""
    elements = [set(members) for members in bec.cone.facets]
    rows = bec.rows
    pairs = {}
    for (state, action, _), row in zip(rows.statements.tolist(), rows.number, strict=True):
        if row >= 0:
            pairs.setdefault((state, action), set()).add(int(row))
    wanted = set().union(*elements) | set(bec.cone.equalities)
    useful = {pair: stated & wanted for pair, stated in pairs.items() if stated & wanted}
    firsts = [member.first for member in bec.members]
    by_stated = {}
    for (state, action), stated in useful.items():
        member = max(m for m, first in enumerate(firsts) if first <= state)
        by_stated.setdefault((member, frozenset(stated)), (state - firsts[member], action))
    listed = [(member, pair) for (member, _), pair in by_stated.items()]

    def teaches(chosen):
        shown = [[listed[i][0], [listed[i][1]]] for i in chosen]
        return didact.check(family, shown, bec=bec).teaches

    def visits(chosen):
        return sum(prices[m] for m in {listed[i][0] for i in chosen})

    return cheapest_by_force(len(listed), [1] * len(listed), teaches, visits)


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
    fixed_costs = FixedCosts([0, 0, 1], {0: 2, 1: 1})
    picks = greedy_cover({0: 0b01, 1: 0b10, 2: 0b10}, [1, 1, 1], 2, fixed_costs=fixed_costs).picks
    assert picks == (2, 0), "one element for 2, then the other for 3"
    near = FixedCosts([0, 0, 1], {0: 1, 1: 2})
    assert greedy_cover({0: 1, 1: 2, 2: 2}, [1, 1, 1], 2, fixed_costs=near).picks == (0, 1)
    assert greedy_cover({0: 1, 1: 2}, [1, 1], 2, fixed_costs=near, most=1).picks == (0,)


def test_bounds_hold_without_time():
    found, bound = solve_with_fixed_costs(
        [{0, 1}], lambda c: (1, 0, c), FixedCosts([0, 1], {0: 3}), 9.0
    )
    assert (found, bound) == ((1,), 1)


def test_the_command_line_says_what_members_cost(didact, tmp_path):

    states = [[unit(3, i), ZERO] for i in range(3)]
    path = tmp_path / "family.json"
    Family([decisions(states, [1, 2, 3])] * 2, names=["near", "far"]).save(path)
    exact = ("--teacher", "exact", "--horizon", 1)
    costs = ("--member-cost", "near=1/2", "--member-cost", "1=2")
    for given, cost in ((costs, Fraction(7, 2)), (("--member-cost", 4), 7)):
        found = json.loads(didact("teach", path, *exact, *given, "--json").out)
        assert [Fraction(str(found[name])) for name in ("cost", "lower_bound")] == [cost] * 2
    told = didact("teach", path, *exact, "--member-cost", 4, "--member-cost", 5)
    assert (told.code, "must be one cost for all" in told.err) == (2, True)


def test_reductions_keep_the_optimum():
    rng = stream(4, "reductions")
    n_left = 0
    for _ in range(number(250, 700)):
        n = int(rng.integers(2, 10))
        cuts = random_elements(rng, n, int(rng.integers(1, 14)), most=4)
        costs = rng.integers(1, 4, size=n).tolist()
        core = reduced(cuts, lambda i, costs=costs: (costs[i], 0, i))
        left = [{*cut} for cut in core.cuts]
        inner = cheapest_by_force(len(core.names), core.costs, hitting(left))
        forced = sum(costs[i] for i in core.forced)
        assert forced + inner == cheapest_by_force(n, costs, hitting(cuts))
        assert sum(dual_ascent(core.cuts, core.costs)) <= inner
        assert_is_irreducible(left, core.costs)
        n_left += bool(left)
    assert n_left > number(4, 10)


def assert_is_irreducible(cuts, costs):
    assert all(len(cut) > 1 for cut in cuts)
    assert not any(a <= b for a, b in itertools.permutations(cuts, 2))
    places = {place for cut in cuts for place in cut}
    hits = {place: {c for c, cut in enumerate(cuts) if place in cut} for place in places}
    assert not any(
        hits[a] <= hits[b] and costs[a] >= costs[b] for a, b in itertools.permutations(places, 2)
    )


def test_reductions_solve_what_they_should():
    rank = [(1, 0, i) for i in range(6)].__getitem__
    chain = reduced([{0, 1}, {1, 2}, {2, 3}, {3, 4}], rank)
    assert (set(chain.forced), chain.cuts) == ({1, 3}, ())
    assert len(reduced([{i, (i + 1) % 5} for i in range(5)], rank).cuts) == 5
    assert reduced([], rank).cuts == ()


def test_lp_bound_is_the_relaxation():
    rng = stream(10, "lp")
    n_left = 0
    for _ in range(number(100, 150)):
        n = int(rng.integers(3, 12))
        elements = random_elements(rng, n, int(rng.integers(1, 16)), least=2)
        costs = random_costs(rng, n)
        matrix = np.array([[-float(i in element) for i in range(n)] for element in elements])
        floats = [float(c) for c in costs]
        value = scipy.optimize.linprog(floats, A_ub=matrix, b_ub=-np.ones(len(elements))).fun
        bound = lp_bound(elements, costs)
        assert isinstance(bound, Fraction)
        assert float(bound) == pytest.approx(value, rel=1e-7)
        n_left += bound.denominator > 1 and set(costs) == {1}
    assert n_left > number(3, 5)


def test_lp_bounds_in_closed_form():
    cycle = [{i, (i + 1) % 5} for i in range(5)]
    fano = [{i, (i + 1) % 7, (i + 3) % 7} for i in range(7)]
    assert lp_bound(cycle, [1] * 5) == Fraction(5, 2)
    assert lp_bound(fano, [3] * 7) == 7
    assert lp_bound(fano, [Fraction(1, 7)] * 7) == Fraction(1, 3)
    assert lp_bound([], [1, 2]) == 0


def test_lp_bound_does_not_trust_the_solver(monkeypatch):
    """Prices that are too high, negative or missing still give a bound that holds."""
    solve = scipy.optimize.linprog
    cycle = [{i, (i + 1) % 5} for i in range(5)]

    def instead(status, change):
        def wrong(*arguments, **options):
            answer = solve(*arguments, **options)
            answer.ineqlin.marginals = change(answer.ineqlin.marginals)
            answer.status = status
            return answer

        return wrong

    for status, change in (
        (0, lambda prices: 3.0 * prices),
        (0, lambda prices: prices - np.array([9.0, 0.0, 0.0, 0.0, 0.0])),
        (0, lambda prices: -prices),
        (4, lambda prices: None),
    ):
        monkeypatch.setattr(scipy.optimize, "linprog", instead(status, change))
        assert 2 <= lp_bound(cycle, [1] * 5) <= Fraction(5, 2)
    pairs = [list(pair) for pair in itertools.combinations(range(4), 2)]
    negative = instead(0, lambda prices: np.array([-1.0] * 6 + [2.0]))
    monkeypatch.setattr(scipy.optimize, "linprog", negative)
    assert set_cover._dual_value([*pairs, [0, 1, 2, 3]], [1] * 4) <= 2


def numbered(masks):
    return dict(enumerate(masks))


def greedy_by_hand(masks, costs, rank=int, closure=int, most=None):
    """The best candidate at each step by its exact key."""
    covered, picks, gains = 0, [], []
    while len(picks) != most:
        keys = [
            (-Fraction(gain) / costs[i], -gain, costs[i], rank(i), i)
            for i, mask in masks.items()
            if (gain := (mask & ~covered).bit_count())
        ]
        if not keys:
            break
        best = min(keys)[-1]
        after = closure(covered | masks[best])
        picks.append(best)
        gains.append((after & ~covered).bit_count())
        covered = after
    return tuple(picks), tuple(gains)


def test_ties_by_rank_what_follows_and_a_limit_are_as_in_a_search_of_every_step():
    rng = stream(11, "greedy")
    for _ in range(number(200, 500)):
        n, n_elements = int(rng.integers(1, 24)), int(rng.integers(1, 14))
        drawn = rng.integers(0, 2**n_elements, size=(n, 2)).tolist()
        masks = {i: drawn[i][0] & drawn[i][1] for i in rng.permutation(n).tolist()}
        costs = exactly(random_costs(rng, n))
        together = int(rng.integers(0, 2**n_elements))
        order = rng.permutation(n).tolist()
        ways = {
            "rank": order.__getitem__,
            "closure": lambda covered, all=together: covered | (all if covered & all else 0),
            "most": int(rng.integers(1, 9)),
        }
        for name in (None, *ways):
            chosen = ways if name is None else {name: ways[name]}
            found = greedy_cover(masks, costs, n_elements, **chosen)
            assert found == greedy_by_hand(masks, costs, **chosen)


def test_greedy_is_lazy_but_the_same_and_keeps_its_guarantee():
    rng = stream(9, "greedy")
    n_worse = 0
    for _ in range(number(200, 500)):
        n, n_elements = int(rng.integers(1, 10)), int(rng.integers(1, 14))
        masks = [int(m) for m in rng.integers(0, 2**n_elements, size=n)]
        masks = [m & int(rng.integers(0, 2**n_elements)) for m in masks]
        costs = random_costs(rng, n)
        exact = exactly(costs)
        found = greedy_cover(numbered(masks), exact, n_elements)
        assert found == greedy_by_hand(numbered(masks), exact)
        elements = [e for e in elements_of(masks, n_elements) if e]
        best = cheapest_by_force(n, exact, hitting(elements))
        paid = sum((exact[i] for i in found.picks), Fraction(0))
        largest = max(mask.bit_count() for mask in masks)
        assert hitting(elements)(found.picks)
        assert best <= paid <= harmonic(largest) * best
        assert lp_bound(elements, costs) <= best
        assert paid <= harmonic(largest) * lp_bound(elements, costs) * Fraction(1000001, 1000000)
        n_worse += paid > best
    assert n_worse > number(2, 5)


@pytest.mark.parametrize(("t", "n_elements"), [(3, 14), (4, 30), (5, 62)])
def test_greedy_takes_more_than_two_where_two_suffice(t, n_elements):
    masks, size = tight_family(t)
    assert size == n_elements
    costs = [1] * len(masks)
    picked = greedy_cover(numbered(masks), costs, size)
    assert len(picked.picks) == t
    assert picked.gains == tuple(2**i for i in range(t, 0, -1))
    elements = elements_of(masks, size)
    stated = [{e for e in range(size) if mask >> e & 1} for mask in masks]
    found = cheapest_cover(stated, costs, cover_oracle(elements), elements=elements)
    assert (found.cost, found.proved, found.chosen) == (2, True, (t, t + 1))
    assert lp_bound(elements, costs) == 2
    assert t <= 2 * harmonic(2**t)


def test_greedy_ties():
    assert greedy_cover(numbered([0b0011, 0b0011, 0b1100]), [1, 1, 1], 4).picks == (0, 2)
    assert greedy_cover(numbered([0b0001, 0b0110]), [1, 2], 3).picks == (1, 0)
    third = Fraction(1, 3)
    assert greedy_cover(numbered([0b001, 0b110]), [third, 2 * third], 3).picks == (1, 0)
    assert greedy_cover(numbered([0b001, 0b110]), exactly([0.1, 0.2]), 3).picks == (1, 0)
    assert greedy_cover(numbered([0b001, 0b110]), [10**17, 2 * 10**17 + 1], 3).picks == (0, 1)


def test_greedy_stops_at_what_nobody_covers():
    assert greedy_cover(numbered([0b001, 0b100]), [1, 1], 3) == ((0, 1), (1, 1))
    assert greedy_cover(numbered([]), [], 3) == ((), ())
    assert greedy_cover(numbered([0, 0]), [1, 1], 0) == ((), ())


def test_harmonic_numbers():
    assert [harmonic(d) for d in range(5)] == [
        0,
        1,
        Fraction(3, 2),
        Fraction(11, 6),
        Fraction(25, 12),
    ]
    assert harmonic(300) == sum((Fraction(1, i) for i in range(1, 301)), Fraction(0))
