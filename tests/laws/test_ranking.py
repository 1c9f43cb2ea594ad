"""`rank` against brute force: every number of a row a second time, from plain lists in fractions.

Facets and equalities by Caratheodory's theorem, lessons by trying all sets of episodes and of
pairs, what a partial lesson may lose by trying all policies.
"""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

import didact
from tests.effort import try_each
from tests.laws.showing import Implied, elements_of, episodes, fewest, pairs_within
from tests.laws.test_bec import Drawn, Oracle, draw_once, is_in_cone
from tests.oracles import Plain, optimal_sets, policy_sums, pure_policies, reward_payments

N_QUICK, N_CHUNKS, CHUNK = 12, 6, 100
MAX_STATES, MAX_ROWS, MAX_EPISODES = 5, 7, 8


def draw(number: int) -> tuple[Drawn, Oracle]:
    """Small enough that all sets can be tried; scope 'reachable', as `rank` has it."""
    rng = random.Random(f"rank {number}")
    while True:
        drawn = draw_once(rng, tied=number % 4 == 0)
        oracle = Oracle(drawn)
        fits = len(drawn.moves) <= MAX_STATES and len(oracle.distinct_rows()) <= MAX_ROWS
        if drawn.scope == "reachable" and fits:
            return drawn, oracle


def default_horizon(drawn: Drawn) -> int:
    steps = -(-1 // (1 - drawn.discount))
    return max(len(drawn.moves), 10 * steps) if any(drawn.terminal) else steps


def worst_loss(task: didact.Task, witness) -> Fraction:
    """V* less the worst that optimal play for the witness may earn, from the start."""
    plain = Plain(task.mdp)
    weights = task.true_weights.fractions()
    values, _ = optimal_sets(plain, weights)
    _, allowed = optimal_sets(plain, list(witness))
    earned = reward_payments(plain, weights)
    worst = None
    for choice in pure_policies(plain, [actions or [0] for actions in allowed]):
        found = [v[0] for v in policy_sums(plain, [{a: Fraction(1)} for a in choice], earned)]
        worst = found if worst is None else [min(x, y) for x, y in zip(worst, found, strict=True)]
    start = task.mdp.start.fractions()
    best = [max(q) for q in values]
    return sum((p * (x - y) for p, x, y in zip(start, best, worst, strict=True)), Fraction(0))


def check_one(number: int) -> dict[str, bool]:
    drawn, oracle = draw(number)
    task, implied = drawn.task(), Implied(oracle)
    (row,) = didact.rank([task])
    assert row.error is None
    assert (row.n_states, row.n_actions, row.n_features) == (oracle.n, oracle.m, drawn.k)
    elements = elements_of(oracle)
    n_facets = len(elements) - row.n_equalities
    rows = set(oracle.distinct_rows())
    assert row.n_equalities == sum(e in rows and is_equality(oracle, e) for e in elements)
    assert row.n_facets == n_facets
    single = [frozenset({(s, a)}) for s in oracle.scope for a in oracle.optimal[s]]
    useful = [one for one in single if implied.rows(one)]
    assert row.n_pairs == row.fewest_pairs == fewest(useful, implied)
    check_episodes(drawn, oracle, task, row, elements)
    return {
        "partial": row.status == "partial",
        "equalities": row.n_equalities > 0,
        "several": (row.n_demonstrations or 0) > 1,
        "proved": row.status == "complete" and row.fewest_demonstrations == row.n_demonstrations,
    }


def is_equality(oracle: Oracle, row) -> bool:
    return is_in_cone(oracle.distinct_rows(), tuple(-x for x in row))


def check_episodes(drawn: Drawn, oracle: Oracle, task, row: didact.Difficulty, elements) -> None:
    """Status, share, demonstrations and their bound, loss: of whole episodes from the starts."""
    implied, horizon = Implied(oracle), default_horizon(drawn)
    within = pairs_within(drawn, oracle, drawn.starts, horizon)
    is_taught = implied.all(within)
    assert row.status == ("complete" if is_taught else "partial")
    lesson = didact.teach(task, teacher="exact", trim=False)
    shown = {pair for demonstration in lesson.demonstrations for pair in demonstration}
    assert implied.rows(shown) <= implied.rows(within)
    open_now = [e for e, pairs in elements.items() if not pairs & within]
    still = [e for e in open_now if not follows(oracle, implied, within, e)]
    assert row.share == pytest.approx(1 - len(still) / len(elements) if elements else 1)
    assert row.longest == max(map(len, lesson.demonstrations), default=0) <= horizon
    assert (row.n_demonstrations == 0) == (row.longest == 0)
    if not is_taught:
        assert row.fewest_demonstrations is None
        assert row.loss == pytest.approx(float(worst_loss(task, lesson.witness)), abs=1e-9)
        return
    assert implied.all(shown)
    assert not row.loss
    found = [episodes(drawn, oracle, s, min(horizon, 40)) for s in drawn.starts]
    if None in found:
        return
    sets = [e for e in frozenset().union(*found) if implied.rows(e)]
    if len(sets) <= MAX_EPISODES:
        smallest = fewest(sets, implied)
        assert row.fewest_demonstrations <= smallest <= row.n_demonstrations
        if all(len(moves) <= 1 for state in drawn.moves for moves in state):
            unique = all(len(actions) == 1 for actions in oracle.optimal)
            assert not unique or smallest == row.n_demonstrations == row.fewest_demonstrations


def follows(oracle: Oracle, implied: Implied, pairs, element) -> bool:
    """Whether an equality that nobody states follows from equalities that are stated."""
    stated = [row for row in implied.rows(pairs) if is_equality(oracle, row)]
    return element in oracle.distinct_rows() and bool(stated) and is_in_cone(stated, element)


@pytest.mark.parametrize("number", range(N_QUICK))
def test_a_row_is_that_of_brute_force(number):
    check_one(number)


LEAST_SHARES = {"partial": 0.01, "equalities": 0.02, "several": 0.04, "proved": 0.3}


@pytest.mark.slow
@pytest.mark.parametrize("chunk", range(N_CHUNKS))
def test_six_hundred_rows(chunk):
    try_each(check_one, range(chunk * CHUNK, (chunk + 1) * CHUNK), LEAST_SHARES)


def test_rows_are_sorted_by_what_was_found():
    rows = didact.rank({f"model {n}": draw(n)[0].task() for n in range(8)})
    keys = [
        (row.status == "complete", -row.n_pairs, -row.n_demonstrations, -row.n_facets,
         -row.n_states, row.name)
        for row in rows
    ]  # fmt: skip
    assert keys == sorted(keys)
    assert len({row.name for row in rows}) == 8
