"""The exact teacher under every cost, against all sets of candidates; and why things stay open.

The oracle is that of the classes' laws, in FLINT rationals from plain lists: what a set of pairs
implies is decided by Caratheodory's theorem, what optimal play can show by walking through it.
"""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from didact.mdp import Demonstration
from didact.teaching import teach
from tests.laws.showing import Implied, elements_of, pairs_within
from tests.laws.test_bec import Drawn, Oracle, canonical, draw_once, is_in_cone
from tests.teaching.covers.instances import cheapest_by_force

N_QUICK, N_CHUNKS, CHUNK = 15, 8, 50
MAX_CANDIDATES, MAX_ROWS = 8, 8


def by_length(demonstration: Demonstration) -> Fraction:
    """A cost of one's own that depends on what is shown and how long it is."""
    return Fraction(1, 3) + Fraction(len(demonstration), 1 + demonstration[0][0] % 3)


def draw(number: int) -> tuple[Drawn, Oracle, random.Random]:
    rng = random.Random(f"minimal {number}")
    while True:
        drawn = draw_once(rng, tied=number % 3 == 0)
        oracle = Oracle(drawn)
        has_ties = oracle.has_equality() or number % 3 > 0
        if has_ties and 0 < len(oracle.distinct_rows()) <= MAX_ROWS:
            return drawn, oracle, rng


def walks(drawn: Drawn, oracle: Oracle, horizon: int) -> list[Demonstration]:
    """Single optimal pairs of the starts, or the one way that deterministic moves leave."""
    if horizon == 1:
        return [Demonstration([(s, a)]) for s in drawn.starts for a in oracle.optimal[s]]
    found = []
    for start in drawn.starts:
        path, s = [], start
        while len(path) < horizon and not drawn.terminal[s]:
            path.append((s, oracle.optimal[s][0]))
            (s,) = drawn.moves[s][path[-1][1]]
        found.append(Demonstration(path))
    return found


def is_one_way(drawn: Drawn, oracle: Oracle) -> bool:
    certain = all(len(row) <= 1 for state in drawn.moves for row in state)
    return certain and all(
        drawn.terminal[s] or len(oracle.optimal[s]) == 1 for s in range(oracle.n)
    )


def costs_of(shown: Demonstration, table: dict[int, Fraction]) -> dict[str, Fraction]:
    return {
        "demonstrations": Fraction(1),
        "pairs": Fraction(len(shown)),
        "own": by_length(shown),
        "table": table[shown[0][0]],
    }


def cheapest(implied: Implied, candidates: list[Demonstration], costs) -> Fraction | None:
    """The cost of the cheapest set that implies everything, all sets tried."""
    useful = [i for i, shown in enumerate(candidates) if implied.rows(shown)]
    if not implied.all(pair for i in useful for pair in candidates[i]):
        return None

    def implies(chosen: tuple[int, ...]) -> bool:
        return implied.all(pair for i in chosen for pair in candidates[useful[i]])

    return cheapest_by_force(len(useful), [Fraction(costs[i]) for i in useful], implies)


def beginnings(candidates: list[Demonstration]) -> list[Demonstration]:
    """The candidates cut after each of their steps."""
    cut = (
        candidate.pairs[:end] for candidate in candidates for end in range(1, len(candidate) + 1)
    )
    return [Demonstration(pairs) for pairs in dict.fromkeys(cut)]


def check_one(number: int) -> dict[str, bool]:
    """Four costs of one model."""
    while True:
        drawn, oracle, rng = draw(number)
        horizon = rng.choice([1, 1, 2, 3]) if is_one_way(drawn, oracle) else 1
        if any(drawn.terminal) and horizon >= oracle.n:
            horizon = 1  # ways that never end would be cut short
        candidates = walks(drawn, oracle, horizon)
        if len(candidates) <= MAX_CANDIDATES:
            break
        number += 999_999
    task, implied = drawn.task(), Implied(oracle)
    table = {s: Fraction(rng.randint(1, 9), rng.randint(1, 3)) for s in range(oracle.n)}
    given = {"demonstrations": "demonstrations", "pairs": "pairs", "own": by_length, "table": table}
    differ = set()
    for name, cost in given.items():
        each = [costs_of(shown, table)[name] for shown in candidates]
        wanted = cheapest(implied, candidates, each)
        how = {"teacher": "exact", "horizon": horizon, "scope": drawn.scope, "cost": cost}
        lesson = teach(task, trim=False, **how)
        assert lesson.is_complete == (wanted is not None), (number, name)
        spent = sum((costs_of(d, table)[name] for d in lesson.demonstrations), Fraction(0))
        assert lesson.cost == spent, (number, name)
        if wanted is not None:
            assert lesson.cost == wanted, (number, name)
            # Shorter demonstrations are allowed too, so whole ones may cost more than the bound.
            at_bound = lesson.lower_bound == wanted
            assert at_bound or (name == "pairs" and lesson.lower_bound < wanted), (number, name)
            assert set(lesson.demonstrations) <= set(candidates)
        differ.add(lesson.demonstrations)
        short = teach(task, **how)
        assert short.status == lesson.status
        spent = sum((costs_of(d, table)[name] for d in short.demonstrations), Fraction(0))
        assert short.cost == spent, (number, name)
        if name in ("pairs", "own"):
            candidates_cut = beginnings(candidates)
            each = [costs_of(shown, table)[name] for shown in candidates_cut]
        else:
            candidates_cut = candidates
        if wanted is not None and len(candidates_cut) <= MAX_CANDIDATES:
            fewest = cheapest(implied, candidates_cut, each)
            assert short.cost == short.lower_bound == fewest, (number, name)
    return {
        "complete": wanted is not None and wanted > 0,
        "partial": wanted is None,
        "several": len(lesson.demonstrations) > 1,
        "costs matter": len(differ) > 1,
        "equalities": oracle.has_equality(),
    }


LEAST_SHARES = {"complete": 0.5, "partial": 0.02, "several": 0.2, "equalities": 0.2}


def check_many(check, numbers: range, shares: dict[str, float]) -> None:
    counts = dict.fromkeys(shares, 0)
    for number in numbers:
        found = check(number)
        for kind in shares:
            counts[kind] += found[kind]
    for kind, share in shares.items():
        assert counts[kind] >= share * len(numbers), (kind, counts)


@pytest.mark.parametrize("number", range(N_QUICK))
def test_the_exact_teacher_is_minimal_under_all_costs(number):
    check_one(number)


@pytest.mark.slow
@pytest.mark.parametrize("chunk", range(N_CHUNKS))
def test_sixteen_hundred_lessons_are_minimal(chunk):
    check_many(check_one, range(chunk * CHUNK, (chunk + 1) * CHUNK), LEAST_SHARES)


# Why things stay open


def check_reasons(number: int) -> dict[str, bool]:
    """A lesson from few samples: what is open could have been shown, or could not."""
    rng = random.Random(f"reasons {number}")
    while True:
        drawn = draw_once(rng, tied=number % 4 == 0)
        oracle = Oracle(drawn)
        if 0 < len(oracle.distinct_rows()) <= MAX_ROWS and not has_idle_states(drawn):
            break
    choices = sorted({s for s, _, _ in oracle.rows})
    starts = rng.sample(choices, rng.randint(1, min(2, len(choices))))
    horizon = rng.randint(1, 4)
    lesson = teach(
        drawn.task(), teacher=rng.choice(["scot", "exact", "random"]), starts=starts,
        horizon=horizon, rollouts=1, scope=drawn.scope, seed=number,
    )  # fmt: skip
    within = pairs_within(drawn, oracle, starts, horizon)
    elements = elements_of(oracle)
    shown = {pair for demonstration in lesson.demonstrations for pair in demonstration}
    assert shown <= within, number
    for missing in lesson.uncovered:
        stating = [pairs for pairs in elements.values() if (missing.state, missing.action) in pairs]
        assert stating, number
        row = oracle.rows[missing.state, missing.action, missing.other]
        mine = next(pairs for e, pairs in elements.items() if element_is(oracle, elements, e, row))
        assert not mine & shown, number
        reachable = bool(mine & within)
        assert reachable == (missing.reason != "not reachable"), (number, missing)
    reasons = {missing.reason for missing in lesson.uncovered}
    implied = Implied(oracle)
    assert lesson.is_complete == implied.all(shown), number
    return {reason: reason in reasons for reason in ("not sampled", "not reachable", "left out")}


def has_idle_states(drawn: Drawn) -> bool:
    """States that nothing reaches and nothing leaves are in no scope."""
    return any(
        s not in drawn.starts and all(row == {s: 1} for row in state)
        for s, state in enumerate(drawn.moves)
    )


def element_is(oracle: Oracle, elements, element, row) -> bool:
    """Whether a row belongs to an element: the same equality, or the same class of a facet."""
    if row in elements:
        return element == row
    rows = oracle.distinct_rows()
    equal = [r for r in rows if is_in_cone(rows, tuple(-x for x in r))]
    return element in canonical(equal, [row])[1]


LEAST_REASONS = {"not sampled": 0.02, "not reachable": 0.2}


@pytest.mark.parametrize("number", range(30))
def test_what_stays_open_could_or_could_not_be_shown(number):
    check_reasons(number)


@pytest.mark.slow
@pytest.mark.parametrize("chunk", range(16))
def test_eight_hundred_lessons_say_why(chunk):
    check_many(check_reasons, range(chunk * CHUNK, (chunk + 1) * CHUNK), LEAST_REASONS)
