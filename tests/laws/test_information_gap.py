"""infoGap (Algorithm 2) a second time, in whole numbers: 900 models, both matchings.

The oracle is that of the classes' laws: optimal sets and rows in FLINT rationals from plain lists,
cones by Caratheodory's theorem. Half of the models move by chance: their demonstrations are sampled
trajectories, and so are the candidates of the lesson to compare with, which are only checked to be
possible. Models are drawn by number, so a failure names its model.
"""

from __future__ import annotations

import itertools
import math
import random
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from didact.learners.chains.information_gap import InformationGap
from didact.learners.evidence import as_evidence
from didact.planning import solve
from didact.teaching import teach
from didact.teaching.covers.candidates import candidate_demonstrations
from tests.effort import try_each
from tests.laws.test_bec import Drawn, Oracle, canonical, draw_once, inner, is_in_cone, whole

N_QUICK, N_CHUNKS, CHUNK = 15, 18, 50
MAX_ROWS = 9
"""Cones of more rows take the oracle too long."""

Row = tuple[int, ...]
Pair = tuple[int, int]


def draw(number: int) -> tuple[Drawn, Oracle, random.Random]:
    """Every second model moves by chance; a third have ties that are equalities."""
    rng = random.Random(f"gap {number}")
    tied = number % 3 == 0
    while True:
        drawn = draw_once(rng, tied)
        oracle = Oracle(drawn)
        by_chance = any(len(row) > 1 for state in drawn.moves for row in state)
        fits = 0 < len(oracle.distinct_rows()) <= MAX_ROWS and by_chance == bool(number % 2)
        if fits and (oracle.has_equality() or not tied):
            return drawn, oracle, rng


def demonstrations_of(drawn: Drawn, oracle: Oracle, rng: random.Random) -> list[list[Pair]]:
    """One to three trajectories; most actions are optimal, some are not."""
    found = []
    for _ in range(rng.randint(1, 3)):
        path, state = [], rng.choice(oracle.scope)
        for _ in range(rng.randint(1, 4)):
            careless = rng.random() < 0.1
            action = rng.choice(range(oracle.m) if careless else oracle.optimal[state])
            path.append((state, action))
            state = rng.choice(sorted(drawn.moves[state][action]))
            if drawn.terminal[state]:
                break
        found.append(path)
    return found


def rows_of(oracle: Oracle, pairs) -> list[Row]:
    """mu(s, a) - mu(s, b) of shown pairs, optimal or not, each direction once, in order."""
    found = []
    for s, a in pairs:
        counts = [oracle.pair_counts(s, b) for b in range(oracle.m)]
        for b in range(oracle.m):
            row = whole([x - y for x, y in zip(counts[a], counts[b], strict=True)])
            found += [row] if any(row) else []
    return list(dict.fromkeys(found))


def irredundant(rows: list[Row], weights: Row) -> list[Row]:
    """Without what follows: all rows of equalities, and the first of each facet's class.

    Rows that the weights violate have no such form; then one after the other is dropped.
    """
    if all(inner(row, weights) >= 0 for row in rows):
        equal = [row for row in rows if is_in_cone(rows, tuple(-x for x in row))]
        classes: dict[Row, Row] = {}
        for row in rows:
            if row not in equal:
                (ray,) = canonical(equal, [row])[1]
                classes.setdefault(ray, row)
        facets = [
            row for ray, row in classes.items()
            if not is_in_cone([r for r in classes if r != ray], ray)
        ]  # fmt: skip
        return [row for row in rows if row in equal or row in facets]
    kept = list(rows)
    for row in rows:
        rest = [other for other in kept if other != row]
        if rest and is_in_cone(rest, row):
            kept = rest
    return kept


def likeness(x: Row, y: Row) -> float:
    """1 - angle / pi; sine and cosine from whole numbers."""
    cosine = inner(x, y)
    sine = math.sqrt(inner(x, x) * inner(y, y) - cosine * cosine)
    return 1 - math.atan2(sine, cosine) / math.pi


def similarity(rows: list[Row], reference: list[Row], matching: str) -> float:
    """The sum over a one-to-one matching, over the number of reference rows."""
    if not reference:
        return 1.0
    if matching == "greedy":
        left, total = list(reference), 0.0
        for row in rows[: len(reference)]:
            best = max(left, key=lambda other: round(likeness(row, other), 12))
            total += likeness(row, best)
            left.remove(best)
        return total / len(reference)

    @cache
    def best_from(place: int, taken: int) -> float:
        if place == len(rows):
            return 0.0
        ways = [best_from(place + 1, taken)]
        for i, other in enumerate(reference):
            if not taken >> i & 1:
                ways.append(likeness(rows[place], other) + best_from(place + 1, taken | 1 << i))
        return max(ways)

    return best_from(0, 0) / len(reference)


def first_actions(oracle: Oracle) -> list[int]:
    return [min(actions) for actions in oracle.optimal]


def candidates_of(drawn: Drawn, oracle: Oracle, horizon: int) -> list[list[Pair]]:
    """Single pairs, or the path of the first optimal actions from each start."""
    starts = [s for s in drawn.starts if not drawn.terminal[s]]
    if horizon == 1:
        return [[(s, a)] for s in starts for a in oracle.optimal[s]]
    if any(len(row) > 1 for state in drawn.moves for row in state):
        return sampled_candidates(drawn, oracle, horizon)
    paths = []
    for s in starts:
        path: list[Pair] = []
        while len(path) < horizon and not drawn.terminal[s]:
            path.append((s, first_actions(oracle)[s]))
            (s,) = drawn.moves[s][path[-1][1]]
        paths.append(path)
    return paths


def sampled_candidates(drawn: Drawn, oracle: Oracle, horizon: int) -> list[list[Pair]]:
    """What the package samples, checked step by step; alone its choice is taken from there."""
    mdp = drawn.task().mdp
    plan = solve(mdp, drawn.task().true_weights, arithmetic="exact")
    first = np.zeros_like(plan.optimal)
    for s, action in enumerate(first_actions(oracle)):
        first[s, action] = True
    found = candidate_demonstrations(
        mdp, replace(plan, optimal=first), starts=np.array(drawn.starts), horizon=horizon,
        rollouts=None, seed=0,
    )  # fmt: skip
    paths = [list(found[i].pairs) for i in range(len(found))]
    assert {path[0][0] for path in paths} == set(drawn.starts)
    for path in paths:
        assert all(a == first_actions(oracle)[s] for s, a in path)
        for (s, a), (t, _) in itertools.pairwise(path):
            assert t in drawn.moves[s][a]
        if len(path) < horizon:
            s, a = path[-1]
            assert any(drawn.terminal[t] for t in drawn.moves[s][a])
    return paths


def gap_by_definition(
    drawn: Drawn, oracle: Oracle, shown: list[list[Pair]], horizon: int, matching: str
) -> float:
    weights = whole(drawn.weights)
    everything = rows_of(oracle, [(s, a) for s in oracle.scope for a in oracle.optimal[s]])
    reference = irredundant(everything, weights)
    equal = [row for row in everything if is_in_cone(everything, tuple(-x for x in row))]

    def class_of(row: Row) -> object:
        return row if row in equal else next(iter(canonical(equal, [row])[1]))

    elements = [class_of(row) for row in reference]
    candidates = candidates_of(drawn, oracle, horizon)
    states = [{class_of(row) for row in rows_of(oracle, path)} for path in candidates]
    covered: set[object] = set()
    lesson: set[Pair] = set()
    for _ in shown:
        gains = [len((stated & set(elements)) - covered) for stated in states]
        if max(gains) == 0:
            break
        pick = gains.index(max(gains))
        covered |= states[pick]
        if equal:  # what follows from equalities that are stated needs no other demonstration
            stated = [row for row in equal if row in covered]
            covered |= {row for row in equal if stated and is_in_cone(stated, row)}
        lesson |= set(candidates[pick])
    told, could = (
        similarity(irredundant(rows_of(oracle, sorted(pairs)), weights), reference, matching)
        for pairs in ({p for path in shown for p in path}, lesson)
    )
    return abs(told - could)


def assert_no_gap_of_the_lesson_itself(drawn: Drawn, matching: str) -> None:
    task = drawn.task()
    lesson = as_evidence(task.mdp, teach(task, horizon=1, scope=drawn.scope).demonstrations)
    assert InformationGap(lesson, 1, matching, drawn.scope).of(task.true_weights) < 1e-12


def check_one(number: int) -> dict[str, bool]:
    drawn, oracle, rng = draw(number)
    shown = demonstrations_of(drawn, oracle, rng)
    task = drawn.task()
    horizon = rng.choice([1, 2, 3])
    evidence = as_evidence(task.mdp, shown)
    for matching in ("optimal", "greedy"):
        gap = InformationGap(evidence, horizon=horizon, matching=matching, scope=drawn.scope)
        expected = gap_by_definition(drawn, oracle, shown, horizon, matching)
        assert gap.of(task.true_weights) == pytest.approx(expected, abs=1e-7), (number, matching)
        longest = InformationGap(evidence, matching=matching, scope=drawn.scope)
        assert longest.horizon == max(map(len, shown))
        assert_no_gap_of_the_lesson_itself(drawn, matching)
    return {
        "a gap": expected > 1e-9,
        "equalities": oracle.has_equality(),
        "sampled": bool(number % 2) and horizon > 1,
        "errors": any(a not in oracle.optimal[s] for path in shown for s, a in path),
    }


LEAST_SHARES = {"a gap": 0.2, "equalities": 0.2, "sampled": 0.1, "errors": 0.02}


@pytest.mark.parametrize("number", range(N_QUICK))
def test_the_gap_is_that_of_the_definition(number):
    check_one(number)


@pytest.mark.slow
@pytest.mark.parametrize("chunk", range(N_CHUNKS))
def test_nine_hundred_gaps(chunk):
    try_each(check_one, range(chunk * CHUNK, (chunk + 1) * CHUNK), LEAST_SHARES)
