"""The proof checker against a producer of proofs that shares nothing with it.

The producer solves tiny tasks by exact policy iteration and finds multipliers and witnesses by
trying all small sets of rows, so a proof is right because brute force says so.
"""

import ast
import copy
import io
import itertools
import json
import os
import random
import runpy
import subprocess
import sys
import threading
from contextlib import redirect_stdout
from decimal import Decimal
from fractions import Fraction
from functools import cache
from math import gcd, lcm
from pathlib import Path

import pytest

from didact import proofcheck
from didact.proofcheck import ProofError, check_proof
from tests.effort import chunks, number

SOURCE = Path(proofcheck.__file__)


# --- an independent producer -------------------------------------------------------------------


def solve(matrix, right):
    """The solution x of matrix x = right with free unknowns 0, or None if there is none."""
    rows = [
        [Fraction(x) for x in row] + [Fraction(y)] for row, y in zip(matrix, right, strict=True)
    ]
    width, pivots = len(matrix[0]) if matrix else 0, []
    for column in range(width):
        at = len(pivots)
        pivot = next((r for r in range(at, len(rows)) if rows[r][column]), None)
        if pivot is None:
            continue
        rows[at], rows[pivot] = rows[pivot], rows[at]
        rows[at] = [x / rows[at][column] for x in rows[at]]
        for r in range(len(rows)):
            if r != at and rows[r][column]:
                factor = rows[r][column]
                rows[r] = [x - factor * y for x, y in zip(rows[r], rows[at], strict=True)]
        pivots.append(column)
    if any(row[-1] for row in rows[len(pivots) :]):
        return None
    solution = [Fraction(0)] * width
    for row, column in zip(rows, pivots, strict=False):
        solution[column] = row[-1]
    return solution


def rank(rows):
    rows, found = [list(map(Fraction, row)) for row in rows], 0
    for column in range(len(rows[0]) if rows else 0):
        pivot = next((r for r in range(found, len(rows)) if rows[r][column]), None)
        if pivot is None:
            continue
        rows[found], rows[pivot] = rows[pivot], rows[found]
        for r in range(found + 1, len(rows)):
            factor = rows[r][column] / rows[found][column]
            rows[r] = [x - factor * y for x, y in zip(rows[r], rows[found], strict=True)]
        found += 1
    return found


def kernel(rows, width):
    """A basis of the vectors orthogonal to all rows."""
    basis = []
    for free in range(width):  # orthogonal to the rows and to the basis so far, with x[free] = 1
        pick = [int(i == free) for i in range(width)]
        x = solve([*rows, *basis, pick], [0] * (len(rows) + len(basis)) + [1])
        if x is not None:
            basis.append(x)
    return basis


def dot(u, v):
    return sum(x * y for x, y in zip(u, v, strict=True))


def primitive(row):
    scale = lcm(*(x.denominator for x in row))
    whole = [int(x * scale) for x in row]
    common = gcd(*whole)
    return tuple(x // common for x in whole) if common else None


class Solved:
    """A task solved exactly: chances, optimal actions, counts mu(s), mu(s, a) and reach."""

    def __init__(self, task):
        self.task, self.n, self.m = task, task["n_states"], task["n_actions"]
        exact = lambda x: Fraction(str(x))  # noqa: E731
        self.weights = [exact(x) for x in task["weights"]]
        self.k, self.discount = len(self.weights), exact(task["discount"])
        self.terminal = set(task.get("terminal", []))
        self.chances = {}
        for s, a, t, p in task["transitions"]:
            table = self.chances.setdefault((s, a), {})
            table[t] = table.get(t, Fraction(0)) + exact(p)
        for key, table in self.chances.items():
            mass = sum(table.values())
            self.chances[key] = {t: p / mass for t, p in table.items() if p}
        nested = isinstance(task["features"][0][0], list)
        self.phi = [
            [[exact(x) for x in (row[a] if nested else row)] for a in range(self.m)]
            for row in task["features"]
        ]
        self.live = [s for s in range(self.n) if s not in self.terminal]
        self.policy_iteration()
        self.reach = self.reachable()

    def counts_of(self, policy):
        """mu(s) of the policy that is uniform over policy[s], by elimination."""
        matrix = [[Fraction(int(s == t)) for t in range(self.n)] for s in range(self.n)]
        gains = [[Fraction(0)] * self.k for _ in range(self.n)]
        for s in range(self.n):
            actions = policy[s] if s in self.live else [0]
            for a in actions:
                share = Fraction(1, len(actions))
                gains[s] = [x + share * y for x, y in zip(gains[s], self.phi[s][a], strict=True)]
                for t, p in self.chances.get((s, a), {}).items():
                    matrix[s][t] -= share * self.discount * p
        columns = [solve(matrix, [gains[s][i] for s in range(self.n)]) for i in range(self.k)]
        return [[columns[i][s] for i in range(self.k)] for s in range(self.n)]

    def ahead(self, counts, s, a):
        mu = list(self.phi[s][a])
        for t, p in self.chances[s, a].items():
            mu = [x + self.discount * p * y for x, y in zip(mu, counts[t], strict=True)]
        return mu

    def best(self, counts, s):
        values = [dot(self.weights, self.ahead(counts, s, a)) for a in range(self.m)]
        return [a for a in range(self.m) if values[a] == max(values)]

    def policy_iteration(self):
        policy = [[0] if s in self.live else [] for s in range(self.n)]
        while True:
            counts = self.counts_of(policy)
            best = [self.best(counts, s) if s in self.live else [] for s in range(self.n)]
            if all(policy[s][0] in best[s] for s in self.live):
                break
            policy = [
                policy[s] if s not in self.live or policy[s][0] in best[s] else best[s][:1]
                for s in range(self.n)
            ]
        self.optimal, self.counts = best, self.counts_of(best)
        self.mu = {(s, a): self.ahead(self.counts, s, a) for s, a in self.chances}

    def reachable(self):
        start = self.task.get("start", "uniform")
        if start in (None, "uniform"):
            return set(self.live)
        seen = {s for s, p in start if Fraction(str(p))}
        while True:
            more = {t for (s, _), table in self.chances.items() if s in seen for t in table}
            if more <= seen:
                return seen & set(self.live)
            seen |= more

    def row(self, s, a, b):
        return [x - y for x, y in zip(self.mu[s, a], self.mu[s, b], strict=True)]

    def in_scope(self, scope):
        return [s for s in self.live if scope == "all" or s in self.reach]

    def policy_rows(self, scope):
        """Direction -> first [s, a, b] in canonical order."""
        found = {}
        for s in self.in_scope(scope):
            for a in self.optimal[s]:
                for b in range(self.m):
                    direction = primitive(self.row(s, a, b))
                    if b != a and direction is not None:
                        found.setdefault(direction, [s, a, b])
        return found

    def demonstrated_rows(self, demonstrations):
        """Direction -> a generator [s, a, b], one for each."""
        found = {}
        for s, a in sorted({tuple(pair) for pairs in demonstrations for pair in pairs}):
            for b in range(self.m):
                direction = primitive(self.row(s, a, b))
                if direction is not None:
                    found.setdefault(direction, [s, a, b])
        return found


def cone_multipliers(target, rays):
    """Coefficients >= 0 of linearly independent rays that sum to the target, or None."""
    for size in range(1, len(target) + 1):
        for chosen in itertools.combinations(range(len(rays)), size):
            if rank([rays[j] for j in chosen]) < size:
                continue
            columns = [[rays[j][i] for j in chosen] for i in range(len(target))]
            x = solve(columns, target)
            if x is not None and min(x) >= 0:
                return dict(zip(chosen, x, strict=True))
    return None


def witness(target, rays):
    """Weights w with ray.w >= 0 for all rays and target.w < 0, from the dual cone's generators."""
    width = len(target)
    lines = kernel(rays, width)
    spanned = rank(rays)
    candidates = list(lines)
    for chosen in itertools.combinations(rays, max(spanned - 1, 0)):
        rest = kernel([*chosen, *lines], width)
        if len(rest) == 1:
            candidates += rest
    for candidate in candidates:
        for w in (candidate, [-x for x in candidate]):
            if dot(target, w) < 0 and all(dot(ray, w) >= 0 for ray in rays):
                return w
    return None


def prove(solved, demonstrations, scope):
    """A true proof of whichever claim holds."""
    proof = {
        "format": "didact.proof/1",
        "scope": scope,
        "optimal": solved.optimal,
        "counts": [[str(x) for x in mu] for mu in solved.counts],
        "demonstrations": demonstrations,
    }
    shown = solved.demonstrated_rows(demonstrations)
    rays, generators = list(shown), list(shown.values())
    number = {ray: j for j, ray in enumerate(rays)}
    sizes = [  # the generator is its direction times a positive size
        next(x / y for x, y in zip(solved.row(*g), ray, strict=True) if y)
        for g, ray in zip(generators, rays, strict=True)
    ]
    multipliers = []
    for direction, name in solved.policy_rows(scope).items():
        if direction in number:
            coefficients = {number[direction]: Fraction(1)}
        else:
            coefficients = cone_multipliers(direction, rays)
        if coefficients is None:
            weights = witness(direction, rays)
            return {**proof, "claim": "open", "weights": [str(x) for x in weights], "row": name}
        multipliers.append([[j, str(x / sizes[j])] for j, x in coefficients.items() if x])
    places = [place_of(g, demonstrations, solved.m) for g in generators]
    return {**proof, "claim": "teaches", "generators": places, "multipliers": multipliers}


def place_of(statement, demonstrations, m):
    """[demonstration, row] of a statement: a row for each pair and action."""
    s, a, b = statement
    j = next(j for j, pairs in enumerate(demonstrations) if [s, a] in [[*x] for x in pairs])
    return [j, [[*x] for x in demonstrations[j]].index([s, a]) * m + b]


def is_true(solved, proof, *, only_shown=False):
    """What brute force says of the claim, taking only demonstrations, scope and witness from it;
    or only whether what is shown may be."""
    scope, demonstrations = proof["scope"], proof["demonstrations"]
    for pairs in demonstrations:
        for i, (s, a) in enumerate(pairs):
            if s not in solved.in_scope(scope) or a not in solved.optimal[s]:
                return False
            if i and s not in solved.chances[tuple(pairs[i - 1])]:
                return False
    if only_shown:
        return True
    rays = list(solved.demonstrated_rows(demonstrations))
    if proof["claim"] == "open":
        weights = [Fraction(x) for x in proof["weights"]]
        s, a, b = proof["row"]
        fits = all(dot(ray, weights) >= 0 for ray in rays)
        named = s in solved.in_scope(scope) and a in solved.optimal[s]
        return named and fits and dot(solved.row(s, a, b), weights) < 0
    return all(cone_multipliers(d, rays) is not None for d in solved.policy_rows(scope))


def all_pairs(solved, scope):
    return [[[s, a]] for s in solved.in_scope(scope) for a in solved.optimal[s]]


def lesson_of(proof):
    shown = proof["demonstrations"]
    return {
        "format": "didact.lesson/1",
        "status": "complete" if proof["claim"] == "teaches" else "partial",
        "demonstrations": shown,
        "n_demonstrations": len(shown),
        "n_pairs": sum(map(len, shown)),
        "proof": proof,
    }


# --- tasks -------------------------------------------------------------------------------------


def six_cells():
    """The paper's 2x3 grid: terminal cell 0, grey cell 1, weights (-1, -10)."""
    transitions = []
    for s in range(1, 6):
        row, column = divmod(s, 3)
        moves = [(row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)]
        for a, (r, c) in enumerate(moves):
            transitions.append([s, a, r * 3 + c if 0 <= r < 2 and 0 <= c < 3 else s, 1])
    return {
        "format": "didact.task/1",
        "name": "six cells",
        "n_states": 6,
        "n_actions": 4,
        "transitions": transitions,
        "features": [[1, 0], [0, 1], [1, 0], [1, 0], [1, 0], [1, 0]],
        "weights": [-1, -10],
        "discount": 0.9,
        "terminal": [0],
    }


def random_task(seed):
    """Two to five states; ties, slips, dead ends, action features and odd starts are common."""
    rng = random.Random(seed)
    n, m, k = rng.randint(2, 5), rng.randint(2, 3), rng.randint(1, 3)
    terminal = sorted(rng.sample(range(n), rng.randint(0, n - 1))) if rng.random() < 0.5 else []
    live = [s for s in range(n) if s not in terminal]
    splits = [[1], [1], ["1/2", 0.5], ["0.1", 0.9], ["1/3", "2/3"], [1, 0], [0.2, 0.3, 0.5]]
    transitions = [
        [s, a, rng.randrange(n), p] for s in live for a in range(m) for p in rng.choice(splits)
    ]
    numbers = [0, 0, 1, 1, 2, -1, "0.1", 0.3, "1/3"]
    if rng.random() < 0.3:
        by_state = [[[rng.choice(numbers) for _ in range(k)] for _ in range(m)] for _ in range(n)]
        features = [[x[0]] * m if s in terminal else x for s, x in enumerate(by_state)]
    elif rng.random() < 0.5:
        features = [[int(i == rng.randrange(k)) for i in range(k)] for _ in range(n)]
    else:
        features = [[rng.choice(numbers) for _ in range(k)] for _ in range(n)]
    task = {
        "format": "didact.task/1",
        "name": f"random {seed}",
        "n_states": n,
        "n_actions": m,
        "transitions": transitions,
        "features": features,
        "weights": [rng.choice([-1, 0, 1, 2, "0.1", "-1/3", -10]) for _ in range(k)],
        "discount": rng.choice([0, "1/2", 0.9, "0.95"]),
        "terminal": terminal,
    }
    start = rng.choice(["uniform", None, "one", "two"])
    if start in ("uniform", None):
        task["start"] = start
    else:
        others = [s for s in range(n) if s != live[0]]
        task["start"] = [[live[0], 1], [others[0], 0]]
        if start == "two":
            task["start"] = [[live[0], "1/4"], [others[0], 0.75]]
    return task


@cache
def solved_task(seed):
    return Solved(random_task(seed))


def random_demonstrations(solved, scope, rng):
    """A few walks along optimal actions, perhaps none."""
    shown = []
    for _ in range(rng.randint(0, 3)):
        if not solved.in_scope(scope):
            break
        s, pairs = rng.choice(solved.in_scope(scope)), []
        while s in solved.live and len(pairs) < 3:
            a = rng.choice(solved.optimal[s])
            pairs.append([s, a])
            s = rng.choice(list(solved.chances[s, a]))
        shown.append(pairs)
    return shown


def message_of(task, proof):
    """What the checker says against a proof, or None if it accepts it."""
    try:
        check_proof(task, proof)
    except ProofError as error:
        return str(error)
    return None


def assert_rejected(task, proof, *words):
    """One line that holds all the words."""
    message = message_of(task, proof)
    assert message is not None, "a false proof was accepted"
    assert "\n" not in message
    for word in words:
        assert word in message, message


@pytest.fixture(scope="module")
def grid():
    task = six_cells()
    solved = Solved(task)
    return task, prove(solved, all_pairs(solved, "all"), "all")


# --- true proofs -------------------------------------------------------------------------------


def test_six_cells_has_the_papers_constraints(grid):
    """MATH: 2.539 w0 - w1 >= 0 and -w0 >= 0, in exact numbers."""
    task, proof = grid
    solved = Solved(task)
    slopes = {Fraction(-d[0], d[1]) for d in solved.policy_rows("all") if d[1]}
    assert any(abs(slope - Fraction("2.539")) < Fraction("0.0005") for slope in slopes)
    assert (-1, 0) in solved.policy_rows("all")
    line = check_proof(task, proof)
    assert line == (
        "proved: 5 demonstrations (5 pairs) teach 'six cells' (scope all): "
        "4 directions of 5 states follow"
    )


@pytest.mark.parametrize("seed", chunks(30, 80))
def test_true_proofs_are_accepted(seed):
    solved, rng = solved_task(seed), random.Random(seed)
    task = solved.task
    for scope in ("all", "reachable"):
        everything = prove(solved, all_pairs(solved, scope), scope)
        assert everything["claim"] == "teaches"
        some = prove(solved, random_demonstrations(solved, scope, rng), scope)
        for proof in (everything, some):
            assert is_true(solved, proof)
            assert check_proof(task, proof) == check_proof(task, lesson_of(proof))


def test_both_claims_ties_and_scopes_occur_in_the_random_tasks():
    seen = set()
    for seed in range(number(30, 80)):
        solved, rng = solved_task(seed), random.Random(seed)
        for scope in ("all", "reachable"):
            proof = prove(solved, random_demonstrations(solved, scope, rng), scope)
            seen.add(proof["claim"])
            seen.add(("combined", any(len(x) > 1 for x in proof.get("multipliers", []))))
        directions = solved.policy_rows("all")
        seen.add(("equality", any(tuple(-x for x in d) in directions for d in directions)))
        seen.add(("tie", any(len(x) > 1 for x in solved.optimal)))
        seen.add(("unreachable", solved.reach < set(solved.live)))
        seen.add(("terminal", bool(solved.terminal)))
        seen.add(("action features", isinstance(solved.task["features"][0][0], list)))
        seen.add(("slips", any(len(x) > 1 for x in solved.chances.values())))
    assert {"teaches", "open"} < seen
    words = ["combined", "equality", "tie", "unreachable", "terminal", "action features", "slips"]
    assert {(word, True) for word in words} < seen


@pytest.mark.parametrize("seed", range(0, 80, 80 // number(6, 20)))
def test_the_other_claim_is_rejected(seed):
    """Multipliers of all pairs do not prove a lesson that is open, nor weights one that teaches."""
    solved, rng = solved_task(seed), random.Random(seed)
    task = solved.task
    full = prove(solved, all_pairs(solved, "all"), "all")
    some = prove(solved, random_demonstrations(solved, "all", rng), "all")
    if some["claim"] == "open":
        assert_rejected(task, {**full, "demonstrations": some["demonstrations"]}, "generators[")
    for weights in itertools.product([-1, 0, 2], repeat=solved.k):
        for direction, row in solved.policy_rows("all").items():
            false = {**full, "claim": "open", "weights": list(weights), "row": row}
            assert not is_true(solved, false)
            assert_rejected(task, false, "weights" if dot(direction, weights) < 0 else "break")


def test_a_tie_that_is_shown_from_one_side_says_no_more_than_that():
    """Action 0 is shown, so e1 >= e2; that e2 >= e1 does not follow, though the weights tie."""
    task = {
        "format": "didact.task/1",
        "n_states": 3,
        "n_actions": 2,
        "transitions": [[0, 0, 1, 1], [0, 1, 2, 1]],
        "features": [[0, 0], [1, 0], [0, 1]],
        "weights": [1, 1],
        "discount": "1/2",
        "terminal": [1, 2],
    }
    both = prove(Solved(task), [[[0, 0]], [[0, 1]]], "all")
    assert "teach" in check_proof(task, both)
    one = {"demonstrations": [[[0, 0]]], "generators": [[0, 1]]}
    one["multipliers"] = [[[0, "2"]], [[0, "-2"]]]
    assert_rejected(task, {**both, **one}, "multipliers[1] < 0")


# --- false proofs ------------------------------------------------------------------------------

STEPS = {
    "counts": ("counts",),
    "optimal": ("optimal", "counts"),
    "scope": ("scope", "demonstrations", "multipliers", "row"),
    "demonstrations": ("demonstrations", "generators", "multipliers", "weights"),
    "generators": ("generators", "multipliers"),
    "multipliers": ("multipliers",),
    "weights": ("weights", "row"),
    "row": ("row",),
    "claim": ("claim", "generators", "weights", "row"),
    "format": ("cannot read",),
}


def changed(value):
    """The value with one thing wrong, in every way that fits its kind."""
    if isinstance(value, dict):
        for key in value:
            yield key, {k: v for k, v in value.items() if k != key}
            for _, other in changed(value[key]):
                yield key, {**value, key: other}
    elif isinstance(value, list):
        yield None, {"0": value}
        yield None, [*value, value[-1] if value else 0]
        for i, entry in enumerate(value):
            yield None, value[:i] + value[i + 1 :]
            yield None, [*value[:i], entry, *value[i:]]
            for _, other in changed(entry):
                yield None, [*value[:i], other, *value[i + 1 :]]
    elif isinstance(value, str) and value[-1].isdigit() and "didact" not in value:
        number = Fraction(value)
        yield from ((None, str(x)) for x in (number + Fraction(1, 10**30), -number, number * 2, 0))
        yield from ((None, x) for x in (float("nan"), value + "e9999", "1/0", "", None, [value]))
    elif isinstance(value, int):
        yield from ((None, x) for x in (value + 1, value - 1, 10**30, True, str(value), 0.5, None))
    else:
        yield from ((None, x) for x in ("all", "open", "teaches", "nothing", 3, None))


def some_of(changes):
    """One in two in the quick tests, drawn by chance; all of them with the slow tests."""
    listed = list(changes)
    return random.Random(1).sample(listed, number(-(-len(listed) // 2), len(listed)))


@pytest.mark.parametrize(
    "seed",
    ["grid", "grid open", 1, *(pytest.param(n, marks=pytest.mark.slow) for n in (4, 9, 15, 22))],
)
def test_every_corruption_is_rejected_at_its_step_or_still_true(seed):
    if isinstance(seed, str):
        task = six_cells()
    else:
        task = random_task(seed)
    solved, rng = Solved(task), random.Random(1)
    shown = all_pairs(solved, "all") + random_demonstrations(solved, "all", rng)
    proof = prove(solved, shown[:1] if seed == "grid open" else shown, "all")
    assert message_of(task, proof) is None
    accepted, true = 0, json.dumps(proof)
    for key, false in some_of(changed(proof)):
        if json.dumps(false, default=str) == true:
            continue
        message = message_of(task, false)
        if message is None:
            accepted += 1
            assert key not in ("counts", "optimal", "format", "claim")
            assert is_true(solved, false), false
        else:
            assert "\n" not in message
            assert message.startswith(STEPS[key]), (key, message)
    assert accepted > 0, "harmless changes exist and must not be rejected"


def test_multipliers_must_give_every_entry_of_a_row():
    """What is added is 0 in the first feature, so that only a later entry is wrong."""
    tried = 0
    for seed in range(number(30, 80)):
        solved = solved_task(seed)
        proof = prove(solved, all_pairs(solved, "all"), "all")
        rays = list(solved.demonstrated_rows(proof["demonstrations"]))
        added = next((j for j, ray in enumerate(rays) if ray[0] == 0), None)
        if added is not None:
            first, *others = proof["multipliers"]
            false = {**proof, "multipliers": [[*first, [added, 1]], *others]}
            assert_rejected(solved.task, false, "multipliers[0] do not give")
            tried += 1
    assert tried > 3


@pytest.mark.parametrize(
    "seed", ["grid", 1, *(pytest.param(n, marks=pytest.mark.slow) for n in (4, 9))]
)
def test_a_proof_of_another_task_is_rejected(seed):
    task = six_cells() if seed == "grid" else random_task(seed)
    solved = Solved(task)
    proof = prove(solved, all_pairs(solved, "all"), "all")
    rejected = 0
    for key in ("weights", "features", "discount", "transitions", "terminal"):
        for _, value in some_of(changed(task[key])):
            other = {**task, key: value}
            message = message_of(other, proof)
            if message is not None:
                rejected += 1
                assert "\n" not in message
                continue
            again = Solved(other)
            assert again.optimal == proof["optimal"]
            assert again.counts == [[Fraction(x) for x in mu] for mu in proof["counts"]]
            assert is_true(again, proof)
    assert rejected > 20


def test_messages_name_the_place_and_the_values(grid):
    task, proof = grid
    wrong = copy.deepcopy(proof)
    wrong["counts"][3][1] = "1/2"
    assert_rejected(task, wrong, "counts[3][1]: the Bellman equation gives 0, the proof says 1/2")
    wrong = copy.deepcopy(proof)
    wrong["counts"][0][0] = "1/2"
    assert_rejected(task, wrong, "counts[0][0]: the Bellman equation gives 1, the proof says 1/2")
    wrong = {**proof, "demonstrations": [[[3, 3]]]}
    assert_rejected(task, wrong, "demonstrations[0][0]: [3, 3] is not optimal in scope")
    wrong = {**proof, "demonstrations": [*proof["demonstrations"], [[5, 2], [3, 0]]]}
    assert_rejected(task, wrong, "demonstrations[5][1]: [3, 0] cannot come next")
    wrong = {**proof, "demonstrations": proof["demonstrations"][:1]}
    assert_rejected(task, wrong, "generators[", "must be a whole number below 1")
    wrong = copy.deepcopy(proof)
    wrong["multipliers"][1] = [[j, "-" + x] for j, x in wrong["multipliers"][1]]
    assert_rejected(task, wrong, "multipliers[1] < 0")
    wrong = {**proof, "multipliers": proof["multipliers"][:-1]}
    assert_rejected(task, wrong, "multipliers must be a list of 4")
    assert_rejected({**task, "start": [[3, 1]], "terminal": [0, 4]}, proof, "cannot read")


def test_a_missing_or_extra_optimal_action_is_named():
    """Two equal actions: the counts are right whichever is listed, only step 2 can see it."""
    task = six_cells()
    task["weights"] = [-1, -1]
    solved = Solved(task)
    proof = prove(solved, all_pairs(solved, "all"), "all")
    state = next(s for s in solved.live if len(solved.optimal[s]) > 1)
    one = solved.optimal[state][:1]
    policy = [one if s == state else x for s, x in enumerate(solved.optimal)]
    counts = [[str(x) for x in mu] for mu in solved.counts_of(policy)]
    false = {**proof, "optimal": policy, "counts": counts}
    assert_rejected(task, false, f"optimal[{state}] must be {solved.optimal[state]}, not {one}")
    policy = [list(range(4)) if s == 1 else x for s, x in enumerate(solved.optimal)]
    counts = [[str(x) for x in mu] for mu in solved.counts_of(policy)]
    assert_rejected(task, {**proof, "optimal": policy, "counts": counts}, "optimal[1] must be")
    policy = [[0] if s == 0 else x for s, x in enumerate(solved.optimal)]
    assert_rejected(task, {**proof, "optimal": policy}, "optimal[0] must be []")


def test_scope_is_what_the_starts_reach():
    """From cell 1 the lesson for reachable states is smaller, and does not prove all states."""
    task = six_cells()
    task["transitions"] = [[1, a, 0, 1] for a in range(4)] + task["transitions"][4:]
    task["features"][0], task["start"] = [1, 1], [[1, 1], [5, 0]]
    solved = Solved(task)
    assert solved.reach == {1}
    proof = prove(solved, [], "reachable")
    assert "0 directions of 1 states" in check_proof(task, proof)
    assert_rejected(task, {**proof, "scope": "all"}, "multipliers must be a list of")
    outside = {**proof, "demonstrations": [[[5, solved.optimal[5][0]]]]}
    assert_rejected(task, outside, "demonstrations[0][0]")
    whole = prove(solved, [], "all")
    assert whole["claim"] == "open"
    assert message_of(task, whole) is None
    assert_rejected(task, {**whole, "scope": "reachable"}, "row: [", "is not optimal in scope")
    task["start"] = [[1, 1], [5, "1e-10"]]
    assert_rejected(task, proof, "multipliers must be a list of")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"proof": None}, "carries no proof"),
        ({"proof": "proof.json"}, "carries no proof"),
        ({"proof": {"format": "didact.proof/3"}}, "carries no proof"),
        ({"status": "partial"}, "status must be 'complete'"),
        ({"status": None}, "status must be"),
        ({"status": ["complete"]}, "status must be"),
        ({"demonstrations": []}, "demonstrations must be"),
        ({"demonstrations": None}, "demonstrations must be"),
        ({"n_demonstrations": 4}, "n_demonstrations must be 5"),
        ({"n_pairs": "5"}, "n_pairs must be 5"),
        ({"n_pairs": 6}, "n_pairs must be 5"),
        ({"format": "didact.lesson/3"}, "another format"),
    ],
)
def test_lessons_say_what_their_proof_says(grid, change, words):
    task, proof = grid
    assert_rejected(task, {**lesson_of(proof), **change}, words)


def test_the_sizes_may_be_left_out_of_a_lesson(grid):
    task, proof = grid
    short = {k: v for k, v in lesson_of(proof).items() if not k.startswith("n_")}
    assert check_proof(task, short).startswith("proved:")
    short.pop("status")
    assert_rejected(task, short, "status")


# --- numbers and tasks -------------------------------------------------------------------------


def test_decimals_are_exact():
    """3 * 0.1 and 0.3 tie, in JSON numbers, decimal and fraction strings."""
    task = {
        "format": "didact.task/1",
        "n_states": 3,
        "n_actions": 2,
        "transitions": [[0, 0, 1, 1], [0, 1, 2, 1]],
        "features": [[0, 0], [3, 0], [0, 1]],
        "weights": [0.1, 0.3],
        "discount": 0.9,
        "terminal": [1, 2],
    }
    for weights in ([0.1, 0.3], ["0.1", "3e-1"], ["1/10", "+3/10"], [" 0.10 ", ".3"], [1, 3]):
        task["weights"] = weights
        proof = prove(Solved({**task, "weights": ["0.1", "0.3"]}), [[[0, 0]], [[0, 1]]], "all")
        assert proof["optimal"][0] == [0, 1]
        assert "2 directions of 1 states" in check_proof(task, proof)
    assert_rejected({**task, "weights": [0.1, 0.30000000000000004]}, proof, "optimal[0]")


def test_one_action_and_an_end_are_enough():
    task = {
        "format": "didact.task/1",
        "n_states": 2,
        "n_actions": 1,
        "transitions": [[0, 0, 1, 1]],
        "features": [[1, 0], [0, 1]],
        "weights": [1, -1],
        "discount": 0.5,
        "terminal": [1],
    }
    assert "0 directions of 1 states" in check_proof(task, prove(Solved(task), [], "all"))


def test_probabilities_are_divided_by_a_sum_near_one_and_repeated_rows_add_up():
    task = six_cells()
    task["transitions"][0][3] = 0.9999999999
    task["transitions"].append([3, 0, 0, 0])
    task["transitions"][8:9] = [[3, 0, 0, 0.25], [3, 0, 0, "3/4"]]
    task["start"] = [[1, 0.3333333333], [1, 0.3333333333], [5, 0.3333333333]]
    solved = Solved(task)
    assert check_proof(task, prove(solved, all_pairs(solved, "all"), "all")).startswith("proved")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"weights": None}, "weights must be a list"),
        ({"weights": [1]}, "features[0] must be a list of 1"),
        ({"weights": ["nan", 1]}, "weights[0] must be a number"),
        ({"weights": [True, 1]}, "weights[0] must be a number"),
        ({"weights": ["1e99999", 1]}, "weights[0] must be a number"),
        ({"weights": ["1" * 200_001, 1]}, "weights[0] must be a number of at most 200000 digits"),
        ({"weights": ["1/" + "1" * 200_001, 1]}, "weights[0] must be a number"),
        ({"weights": ["1/0", 1]}, "weights[0] must be a number"),
        ({"weights": ["\u0661", 1]}, "weights[0] must be a number"),
        ({"discount": 1}, "discount must be in [0, 1)"),
        ({"discount": "-0.1"}, "discount must be in [0, 1)"),
        ({"discount": float("nan")}, "discount must be a number"),
        ({"n_states": 5}, "must be"),
        ({"n_states": 10**12}, "n_states must be a whole number"),
        ({"n_states": 1_000_000}, "n_states must be a whole number below 1000000"),
        ({"n_states": True}, "n_states must be a whole number"),
        ({"n_states": 999_999}, "features must be a list of 999999"),
        ({"n_actions": 0}, "must be a whole number below 0"),
        ({"n_actions": 0, "transitions": []}, "transitions or start"),
        ({"n_actions": 999_999}, "transitions or start"),
        ({"terminal": [6]}, "terminal[0]"),
        ({"terminal": 0}, "terminal must be a list"),
        ({"terminal": [0, 1, 2, 3, 4, 5]}, "is terminal"),
        ({"terminal": []}, "transitions or start"),
        ({"transitions": []}, "transitions or start"),
        ({"transitions": {}}, "transitions must be a list"),
        ({"start": []}, "transitions or start"),
        ({"start": [[0, 1]]}, "start lies in terminal states"),
        ({"start": [[1, 0.5]]}, "start must sum to 1, not 1/2"),
        ({"start": [[1, 2], [2, -1]]}, "< 0"),
        ({"start": "everywhere"}, "start must be a list"),
        ({"features": [[0, 0]] * 5}, "features must be a list of 6"),
        ({"features": [[[0, 0]] * 3] * 6}, "features[0] must be a list of 4"),
        ({"features": None}, "features must be a list of 6"),
        ({"features": [[[a, 0] for a in range(4)]] * 6}, "features of a terminal state"),
        ({"format": "didact.task/2"}, "another format"),
    ],
)
def test_wrong_tasks_are_file_errors(grid, change, words):
    task, proof = grid
    with pytest.raises(ProofError) as caught:
        check_proof({**task, **change}, proof)
    assert caught.value.__cause__ is not None
    assert words in str(caught.value)
    assert "didact.task/1" in str(caught.value)


@pytest.mark.parametrize("wrong", [0.99999999, "1.1", -1, "-1/2"])
def test_rows_that_are_not_distributions_are_rejected(grid, wrong):
    task, proof = copy.deepcopy(grid)
    task["transitions"][5][3] = wrong
    assert_rejected(task, proof, "[2, 1" if not str(wrong).startswith("-") else "[2, 1, 5]")


def test_numbers_longer_than_python_prints_are_read(grid):
    """A count of 5,000 digits is compared and reported without int() or str() refusing it."""
    task, proof = copy.deepcopy(grid)
    long = "1" * 5000 + "/" + "3" * 5000
    proof["counts"][2][1] = long
    assert_rejected(task, proof, "counts[")
    proof["counts"][2][1] = "0" * 5000 + "/" + "3" * 5000
    assert message_of(task, proof) is None


@pytest.mark.parametrize("mass", ["0.999999999", "1.000000001"])
def test_a_sum_may_be_wrong_by_a_rounding_and_no_more(mass):
    task = six_cells()
    task["start"] = [[1, mass]]
    solved = Solved(task)
    proof = prove(solved, all_pairs(solved, "all"), "all")
    assert message_of(task, proof) is None
    further = str(Fraction(mass) + (Fraction(mass) - 1) / 1000)
    assert_rejected({**task, "start": [[1, further]]}, proof, "start must sum to 1")


@pytest.mark.parametrize("sign", [1, -1])
def test_numbers_are_shown_in_full_while_they_are_short(sign):
    for short in (Fraction(2**169 - 1), Fraction(1, 2**169 - 1)):
        assert proofcheck.show(sign * short) == str(sign * short)
    for long in (Fraction(2**169), Fraction(1, 2**169)):
        assert proofcheck.show(sign * long) == "a number of about 51 digits"


def test_lists_of_long_numbers_are_named():
    assert proofcheck.show([10**5000]) == "a list of long numbers"


def test_braces_in_a_step_are_text():
    with pytest.raises(ProofError, match=r"^in \{0\}$"):
        proofcheck.need(False, "in {0}")


def test_messages_say_what_a_list_should_hold():
    for pattern, wanted in (([Fraction], "a list"), ((Fraction, 3), "a list of 2")):
        with pytest.raises(ProofError) as caught:
            proofcheck.read("text", pattern, "place")
        assert str(caught.value) == f"place must be {wanted}, not 'text'"


# --- files and the command line ----------------------------------------------------------------


def write(folder, name, content):
    path = folder / name
    text = content if isinstance(content, str) else json.dumps(content)
    path.write_text(text, encoding="utf-8", errors="surrogateescape")
    return path


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        "3",
        "[" * 100_000,
        '{"format": "didact.proof/1", "counts": ' + "[" * 900 + "]" * 900 + "}",
        '{"format": "didact.proof/1", "format": "didact.proof/1"}',
        '{"format": ["didact.proof/1"]}',
        '{"format": "didact.proof/1"}',
        '{"format": "didact.proof/1", "claim": NaN}',
        '{"format": "didact.proof/1", "claim": "teaches"}',
        '{"format": "didact.proof/1", "claim": ' + "9" * 5000 + "}",
        '{"format": "didact.lesson/1"}',
        '{"format": "didact.lesson/1", "proof": {"a": 1, "a": 1}}',
        '{"format": "didact.lesson/1", "proof": []}',
        "\udcff\udcfe",
    ],
)
def test_malformed_files_end_in_one_line(grid, tmp_path, text):
    task, proof = grid
    bad = write(tmp_path, "bad.json", text)
    for first, second in ((write(tmp_path, "task.json", task), bad), (bad, proof)):
        with pytest.raises(ProofError) as caught:
            check_proof(first, second)
        assert len(str(caught.value).splitlines()) == 1


def test_a_file_is_as_long_as_it_may_be_and_no_longer(grid, tmp_path, monkeypatch):
    task, proof = grid
    file = write(tmp_path, "task.json", task)
    monkeypatch.setattr(proofcheck, "MAX_BYTES", len(file.read_bytes()))
    assert message_of(file, proof) is None
    file.write_bytes(file.read_bytes() + b" ")
    assert_rejected(file, proof, f"it has more than {proofcheck.MAX_BYTES} bytes")


def test_a_pipe_is_read_if_somebody_writes_to_it(grid, tmp_path, monkeypatch):
    task, proof = grid
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    monkeypatch.setattr(proofcheck, "PATIENCE", 0)
    assert_rejected(pipe, proof, "nobody writes to this pipe")
    monkeypatch.setattr(proofcheck, "PATIENCE", 300)
    content = json.dumps({**task, "name": "x" * 200_000}).encode()  # more than a pipe can hold
    writer = threading.Thread(target=pipe.write_bytes, args=(content,))
    writer.start()
    assert message_of(pipe, proof) is None
    writer.join()


def test_a_repeated_key_is_refused(grid, tmp_path):
    """Whichever of the two values a reader keeps, the file does not say one thing."""
    task, proof = grid
    for document in (proof, lesson_of(proof)):
        text = json.dumps(document)
        for key in ('"claim": "teaches", ', '"scope": "all", '):
            assert_rejected(task, write(tmp_path, "a.json", text.replace('"opt', key + '"opt', 1)))
        assert message_of(task, write(tmp_path, "b.json", text)) is None
    text = json.dumps(task)
    assert_rejected(write(tmp_path, "c.json", text.replace("{", '{"n_states": 6, ', 1)), proof)


def test_states_need_not_end(grid):
    """terminal may be left out or null when no state is."""
    task = copy.deepcopy(grid[0])
    task["transitions"] += [[0, a, 0, 1] for a in range(4)]
    solved = Solved({**task, "terminal": []})
    proof = prove(solved, all_pairs(solved, "all"), "all")
    lines = {check_proof({**task, "terminal": ends}, proof) for ends in ([], None)}
    task.pop("terminal")
    assert lines == {check_proof(task, proof)}


def test_a_deep_list_anywhere_in_a_proof_is_one_line(grid, tmp_path):
    task, proof = grid
    for key in proof:
        text = json.dumps({**proof, key: "@"}).replace('"@"', "[" * 950 + "]" * 950)
        with pytest.raises(ProofError) as caught:
            check_proof(task, write(tmp_path, "deep.json", text))
        assert len(str(caught.value).splitlines()) == 1


def run(*arguments, script=("-m", "didact.proofcheck")):
    environment = {**os.environ, "PYTHONPATH": str(SOURCE.parents[1]), "PYTHONIOENCODING": "ascii"}
    command = [sys.executable, *script, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.stderr == ""
    assert len(done.stdout.splitlines()) == 1
    return done.returncode, done.stdout.strip()


def run_here(*arguments):
    """The same in this process."""
    written = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    with pytest.MonkeyPatch.context() as changed, redirect_stdout(written):
        changed.setattr(sys, "argv", [str(SOURCE), *map(str, arguments)])
        with pytest.raises(SystemExit) as left:
            runpy.run_path(str(SOURCE), run_name="__main__")
    written.seek(0)
    (line,) = written.read().splitlines()
    return left.value.code, line.strip()


def test_exit_codes(grid, tmp_path):
    task, proof = grid
    named = {**task, "name": "sechs Zellen \u00e4 \u4e16\nline"}
    good, lesson = write(tmp_path, "task.json", named), write(tmp_path, "l.json", lesson_of(proof))
    code, line = run(good, lesson)
    assert code == 0
    assert line.startswith("proved: 5 demonstrations (5 pairs) teach 'sechs")
    assert run_here(good, write(tmp_path, "proof.json", proof))[0] == 0
    false = write(tmp_path, "false.json", {**proof, "demonstrations": []})
    code, line = run(good, false)
    assert code == 1
    assert line.startswith("generators[0][0] must be")
    assert run_here(good, write(tmp_path, "no.json", {**lesson_of(proof), "proof": None}))[0] == 1
    assert run_here(good, tmp_path / "absent.json")[0] == 2
    assert run_here(tmp_path, lesson)[0] == 2
    assert run_here(lesson, good)[0] == 2
    assert run_here(write(tmp_path, "t.json", {**task, "discount": 2}), lesson)[0] == 2
    assert run_here(good, write(tmp_path, "torn.json", '{"format":'))[0] == 2
    assert run_here()[0] == run_here(good)[0] == run_here(good, lesson, lesson)[0] == 2
    assert run()[1].startswith("usage:")


# --- long numbers ------------------------------------------------------------------------------


def long_numbers(size):
    """A task of two states whose rows have numbers of about so many digits, and its true proof."""
    big = 10**size + 7
    task = {
        "format": "didact.task/1",
        "name": "long",
        "n_states": 2,
        "n_actions": 2,
        "transitions": [[0, 0, 0, 1], [0, 1, 1, "9/10"], [0, 1, 0, 0.1]],
        "features": [[big, 0], [0, 1]],
        "weights": [-1, 0.5],
        "discount": 0.95,
        "start": [[0, 1]],
        "terminal": [1],
    }
    solved = Solved(task)
    return task, prove(solved, [[[0, 1]]], "reachable")


@pytest.fixture
def unlimited():
    """For the producer: Python converts numbers of any length."""
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    yield before
    sys.set_int_max_str_digits(before)


@pytest.mark.parametrize("size", [700, 5_000])
def test_long_numbers_are_proved_and_refuted(unlimited, tmp_path, size):
    """Exit code 1 is for false steps alone; a message of a step that holds is never made."""
    task, proof = long_numbers(size)
    files = [write(tmp_path, "task.json", task), write(tmp_path, "proof.json", proof)]
    for limit in ("640", str(unlimited)):
        code, line = run(*files, script=("-X", f"int_max_str_digits={limit}", str(SOURCE)))
        assert (code, line.split(":")[0]) == (0, "proved")
    for key, place in (("counts", (0, 0)), ("multipliers", (0, 0, 1))):
        false = copy.deepcopy(proof)
        inner = false[key]
        for i in place[:-1]:
            inner = inner[i]
        inner[place[-1]] += "1"
        files[1] = write(tmp_path, "false.json", false)
        code, line = run(*files)
        assert (code, line.split("[")[0]) == (1, key)


def test_numbers_are_read_as_decimal_reads_them():
    """Decimal has no limit; the checker reads by halves."""
    rng = random.Random(0)
    for size in (1, 2, 599, 600, 601, 1_201, 5_000):
        for _ in range(5):
            before, after, below = (
                "".join(rng.choices("0123456789", k=rng.randint(1, size))) for _ in range(3)
            )
            below = f"1{below}"
            texts = (before, f"-{before}.{after}", f"+.{after}", f"{before}.", f"{before}e-7")
            for text in (*texts, f"{before}e7"):
                exact = Fraction(Decimal(text))
                assert proofcheck.read(text, Fraction, "x") == exact
                assert proofcheck.read(f"{text}/{below}", Fraction, "x") == exact / int(
                    Decimal(below)
                )


@pytest.mark.parametrize(
    "text", [".", "", "-", "1..2", "1/0", "1/00", "e5", "1e5555", "--1", "1/-2"]
)
def test_other_texts_are_no_numbers(text):
    with pytest.raises(ProofError, match="x must be a number"):
        proofcheck.read(text, Fraction, "x")


def test_a_wrong_end_of_a_long_number_is_seen_at_once():
    """No pattern that tries every place of a point."""
    longest = proofcheck.read("1" * proofcheck.MAX_DIGITS, Fraction, "x")
    assert longest.numerator % 1000 == 111
    with pytest.raises(ProofError):
        proofcheck.read("1" * proofcheck.MAX_DIGITS + "x", Fraction, "x")


def test_denominators_with_nothing_in_common_are_not_multiplied_out():
    """A common unit is for speed; where it would be far longer than its parts there is none."""
    first, second = 10**3000, 10**3000 + 1
    longer = [Fraction(1, first + i) for i in range(40)]
    assert proofcheck.in_common([longer[:2]]) == (first * second, [[second, first]])
    assert proofcheck.in_common([longer[:9]])[0] == lcm(*(x.denominator for x in longer[:9]))
    assert proofcheck.in_common([longer[:1], longer[:10]]) == (1, [longer[:1], longer[:10]])
    halves = [Fraction(1, 2), Fraction(2, 3)]
    assert proofcheck.in_common([halves, []]) == (6, [[3, 4], []])
    assert proofcheck.in_common([[]]) == (1, [[]])


@pytest.mark.parametrize("error", [MemoryError(), ZeroDivisionError("x"), KeyError("y")])
def test_a_failure_of_the_checker_says_nothing_of_the_proof(grid, tmp_path, error):
    """Exit code 2, in one line."""
    task, proof = grid
    code = (
        "import fractions, runpy, sys; "
        "fractions.Fraction.__mul__ = lambda *_: (_ for _ in ()).throw(error); "
        f"error = {error!r}; sys.argv = ['proofcheck', *sys.argv[1:]]; "
        f"runpy.run_path({str(SOURCE)!r}, run_name='__main__')"
    )
    files = write(tmp_path, "task.json", task), write(tmp_path, "proof.json", proof)
    assert run(*files, script=("-c", code)) == (2, mine := run(*files, script=("-c", code))[1])
    assert mine.startswith(f"cannot be checked: {type(error).__name__}")


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="needs an endless device")
def test_endless_input_is_refused(grid, tmp_path):
    code, line = run("/dev/zero", write(tmp_path, "proof.json", grid[1]))
    assert (code, line[-14:]) == (2, "it is a device")


# --- lessons that say something else than their proofs ------------------------------------------


def test_the_line_names_the_scope(grid):
    task, proof = grid
    assert " teach 'six cells' (scope all): " in check_proof(task, proof)
    less = prove(Solved(task), [[[5, 2]]], "reachable")
    assert " leave 'six cells' (scope reachable) open: " in check_proof(task, less)


def whole_lesson(task, proof):
    """A lesson with all that a saved one says and that its proof settles."""
    shown = {(s, a) for pairs in proof["demonstrations"] for s, a in pairs}
    solved = Solved(task)
    after = {t for pair in shown for t in solved.chances[pair]} | {s for s, _ in shown}
    closed = all((t, a) in shown for t in after for a in solved.optimal[t])
    lesson = {**lesson_of(proof), "closed": closed}
    lesson["settings"] = {
        "scope": proof["scope"],
        "arithmetic": "exact",
        "budget": len(proof["demonstrations"]),
        "horizon": max(map(len, proof["demonstrations"])),
        "starts": [pairs[0][0] for pairs in proof["demonstrations"]],
    }
    if proof["claim"] == "open":
        weights = [Fraction(w) for w in proof["weights"]]
        lesson["witness"] = [str(w / max(map(abs, weights))) for w in weights]
        return {**lesson, "loss": 0.5, "uncovered": [{}]}
    return {**lesson, "witness": None, "loss": None, "uncovered": []}


SETTINGS = [
    *({"scope": "other"}, {"scope": "reachable"}, {"scope": None}, {"arithmetic": "float"}),
    *({"budget": 1}, {"horizon": 1}, {"budget": "5"}, {"horizon": True}, {"starts": [0]}),
    *({"starts": 5}, {"starts": ["x"]}, {"starts": []}, {"budget": 0}, {"horizon": 0}),
]


@pytest.mark.parametrize("claim", ["teaches", "open"])
def test_a_lesson_that_contradicts_its_proof_is_refused(grid, claim):
    task, _ = grid
    solved = Solved(task)
    rest = all_pairs(solved, "all") if claim == "teaches" else [[[4, 2]]]
    shown = [[[5, 2], [4, 2]], *rest]
    proof = prove(solved, shown, "all")
    assert proof["claim"] == claim
    lesson = whole_lesson(task, proof)
    assert message_of(task, lesson) is None
    assert message_of(task, {**lesson, "settings": {}}) is None
    for change in SETTINGS:
        key = next(iter(change))
        changed = {**lesson, "settings": {**lesson["settings"], **change}}
        assert_rejected(task, changed, key)
    changes = [{"settings": []}, {"scope": "reachable"}, {"closed": not lesson["closed"]}]
    changes += [{"n_pairs": 1}, {"status": "undecided"}, {"demonstrations": shown[:-1]}]
    if claim == "open":
        changes += [{"witness": [1, 1]}, {"witness": ["x", 1]}, {"witness": 5}]
    else:
        changes += [{"witness": [1, 1]}, {"loss": 0.1}, {"uncovered": [{}]}]
    for change in changes:
        assert_rejected(task, {**lesson, **change}, next(iter(change)))


def test_the_file_runs_alone_and_stays_short(grid, tmp_path):
    task, proof = grid
    files = write(tmp_path, "task.json", task), write(tmp_path, "proof.json", proof)
    assert run(*files, script=("-I", "-S", str(SOURCE)))[0] == 0
    text = SOURCE.read_text()
    assert len(text.splitlines()) <= 770
    for node in ast.walk(ast.parse(text)):
        names = [x.name for x in node.names] if isinstance(node, ast.Import) else []
        names += [node.module] if isinstance(node, ast.ImportFrom) else []
        assert all(name.split(".")[0] in sys.stdlib_module_names for name in names)
        assert not isinstance(node, ast.Import | ast.ImportFrom) or not getattr(node, "level", 0)


# --- families ----------------------------------------------------------------------------------


class SolvedFamily:
    """The members of a family solved exactly, and what brute force says of all of them."""

    def __init__(self, family):
        self.members = [
            Solved({**member, "weights": family["weights"]}) for member in family["members"]
        ]

    def named(self, found):
        """Direction -> the first [member, s, a, b] of all members."""
        named = {}
        for i, rows in enumerate(found):
            for direction, name in rows.items():
                named.setdefault(direction, [i, *name])
        return named

    def policy_rows(self, scope):
        return self.named([solved.policy_rows(scope) for solved in self.members])

    def demonstrated_rows(self, shown):
        own = [[pairs for i, pairs in shown if i == j] for j in range(len(self.members))]
        rows = [s.demonstrated_rows(x) for s, x in zip(self.members, own, strict=True)]
        return self.named(rows)

    def row(self, i, *statement):
        return self.members[i].row(*statement)


def random_family(seed):
    """Two or three random tasks of their own sizes with the features and weights of the first."""
    rng = random.Random(seed)
    first = random_task(seed)
    k, members = len(first["weights"]), [first]
    while len(members) < rng.choice([2, 3]):
        other = random_task(rng.randrange(10**6))
        if len(other["weights"]) == k:
            members.append(other)
    inline = [{x: y for x, y in m.items() if x not in ("format", "weights")} for m in members]
    return {
        "format": "didact.family/1",
        "name": f"family {seed}",
        "weights": first["weights"],
        "members": inline,
    }


def prove_family(solved, shown, scope):
    """A true `didact.proof/1` of whichever claim holds."""
    proof = {
        "format": "didact.proof/1",
        "scope": scope,
        "members": [
            {"optimal": x.optimal, "counts": [[str(y) for y in mu] for mu in x.counts]}
            for x in solved.members
        ],
        "demonstrations": shown,
    }
    found = solved.demonstrated_rows(shown)
    rays, generators = list(found), list(found.values())
    sizes = [
        next(x / y for x, y in zip(solved.row(*g), ray, strict=True) if y)
        for g, ray in zip(generators, rays, strict=True)
    ]
    multipliers = []
    for direction, name in solved.policy_rows(scope).items():
        coefficients = cone_multipliers(direction, rays)
        if coefficients is None:
            weights = [str(x) for x in witness(direction, rays)]
            return {**proof, "claim": "open", "weights": weights, "row": name}
        multipliers.append([[j, str(x / sizes[j])] for j, x in coefficients.items() if x])
    places = []
    for i, *statement in generators:
        own = [pairs if member == i else [] for member, pairs in shown]
        places.append(place_of(statement, own, solved.members[i].m))
    return {**proof, "claim": "teaches", "generators": places, "multipliers": multipliers}


def family_is_true(solved, proof):
    """What brute force says of the claim of a family's proof."""
    for i, pairs in proof["demonstrations"]:
        alone = {"scope": proof["scope"], "demonstrations": [pairs], "claim": "open"}
        part = solved.members[i]
        if not is_true(part, {**alone, "weights": [0] * part.k, "row": None}, only_shown=True):
            return False
    rays = list(solved.demonstrated_rows(proof["demonstrations"]))
    if proof["claim"] == "open":
        weights = [Fraction(x) for x in proof["weights"]]
        i, s, a, b = proof["row"]
        part = solved.members[i]
        named = s in part.in_scope(proof["scope"]) and a in part.optimal[s]
        fits = all(dot(ray, weights) >= 0 for ray in rays)
        return named and fits and dot(part.row(s, a, b), weights) < 0
    return all(cone_multipliers(d, rays) is not None for d in solved.policy_rows(proof["scope"]))


def shown_of_family(solved, scope, rng=None):
    """All optimal pairs of all members, or a few walks in each."""
    return [
        [i, pairs]
        for i, part in enumerate(solved.members)
        for pairs in (
            all_pairs(part, scope) if rng is None else random_demonstrations(part, scope, rng)
        )
    ]


@pytest.mark.parametrize("seed", chunks(10, 30))
def test_true_proofs_of_families_are_accepted(seed):
    family, rng = random_family(seed), random.Random(seed)
    solved = SolvedFamily(family)
    for scope in ("all", "reachable"):
        everything = prove_family(solved, shown_of_family(solved, scope), scope)
        assert everything["claim"] == "teaches"
        some = prove_family(solved, shown_of_family(solved, scope, rng), scope)
        for proof in (everything, some):
            assert family_is_true(solved, proof)
            assert check_proof(family, proof) == check_proof(
                family, {**lesson_of(proof), **sizes_of(proof)}
            )


def sizes_of(proof):
    n_pairs = sum(len(pairs) for _, pairs in proof["demonstrations"])
    return {"format": "didact.lesson/1", "n_pairs": n_pairs}


@pytest.fixture(scope="module")
def proved_family():
    """A family, solved, and its proof; tests change copies."""
    family = random_family(3)
    solved = SolvedFamily(family)
    return family, solved, prove_family(solved, shown_of_family(solved, "all"), "all")


def test_a_line_names_the_family_and_counts_all_states(proved_family):
    family, solved, proof = proved_family
    n_states = sum(len(x.live) for x in solved.members)
    line = check_proof(family, proof)
    assert line.startswith("proved: ")
    assert f"teach 'family 3' (scope all): {len(solved.policy_rows('all'))} directions" in line
    assert line.endswith(f"of {n_states} states follow")


FAMILY_STEPS = {
    **{key: words for key, words in STEPS.items() if key not in ("counts", "optimal")},
    "members": ("members",),
    "scope": ("scope", "demonstrations", "multipliers", "row"),
}


def corruptions_of_families(seeds):
    """How many corrupted proofs of families were refused, each at its step, or were still true."""
    refused = accepted = 0
    for seed in seeds:
        family, rng = random_family(seed), random.Random(seed)
        solved = SolvedFamily(family)
        shown = shown_of_family(solved, "all", None if seed % 2 else rng)
        proof = prove_family(solved, shown, "all")
        assert message_of(family, proof) is None
        for key, false in changed(proof):
            if json.dumps(false, default=str) == json.dumps(proof):
                continue
            message = message_of(family, false)
            if message is None:
                accepted += 1
                assert key not in ("members", "format", "claim")
                assert family_is_true(solved, false), false
            else:
                refused += 1
                assert "\n" not in message
                assert message.startswith(FAMILY_STEPS[key]), (key, message)
    return refused, accepted


def test_corrupted_proofs_of_families_are_refused():
    refused, accepted = corruptions_of_families((0,))
    assert refused > 400
    assert accepted > 0, "harmless changes exist and must not be rejected"


@pytest.mark.slow
def test_many_corrupted_proofs_of_families_are_refused():
    refused, _ = corruptions_of_families(range(60))
    assert refused > 10_000


def test_a_proof_is_of_the_family_that_it_names(proved_family):
    family, solved, proof = proved_family
    first, *others = family["members"]
    assert_rejected({**family, "members": others}, proof, "members must be a list of")
    assert_rejected(
        {**family, "members": [first, *others, first]}, proof, "members must be a list of"
    )
    assert_rejected({**family, "members": []}, proof, "members must be a list")
    assert_rejected({**family, "members": [*others, 3]}, proof, "must be a task or a path")
    changed_discount = {**family, "members": [{**first, "discount": "1/7"}, *others]}
    assert_rejected(changed_discount, proof, "members[0].counts[")
    task = {**first, "format": "didact.task/1", "weights": family["weights"]}
    assert_rejected(task, proof, "optimal must be a list of 3, not None")
    alone = prove(solved.members[0], all_pairs(solved.members[0], "all"), "all")
    assert_rejected(family, alone, "members must be a list of 2, not None")


def test_members_are_read_from_files_beside_the_family(proved_family, tmp_path):
    family = copy.deepcopy(proved_family[0])
    proof = write(tmp_path, "proof.json", proved_family[2])
    task = {**family["members"][0], "format": "didact.task/1", "weights": family["weights"]}
    write(tmp_path, "first.json", task)
    family["members"][0] = "first.json"
    whole = write(tmp_path, "family.json", family)
    assert run(whole, proof)[0] == 0
    write(tmp_path, "first.json", {**task, "weights": [x for x in reversed(family["weights"])]})
    code, line = run_here(whole, proof)
    assert code == 2 if family["weights"] != family["weights"][::-1] else code == 0
    assert "\n" not in line.strip()
    family["members"][0] = "nowhere.json"
    assert run_here(write(tmp_path, "family.json", family), proof)[0] == 2


@pytest.mark.parametrize(
    "change",
    [
        {"n_pairs": 0},
        {"n_demonstrations": 77},
        {"closed": None},
        {"status": "partial"},
        {"settings": {"scope": "reachable"}},
        {"settings": {"budget": 1}},
        {"settings": {"starts": [[0, []]]}},
        {"settings": {"starts": [[9, [0]]]}},
        {"settings": {"starts": 3}},
        {"settings": []},
    ],
)
def test_what_a_familys_lesson_says_must_be_as_in_the_proof(proved_family, change):
    family, solved, proof = proved_family
    lesson = {**lesson_of(proof), **sizes_of(proof)}
    assert message_of(family, lesson) is None
    starts = [[i, list(range(x.n))] for i, x in enumerate(solved.members)]
    assert message_of(family, {**lesson, "settings": {"starts": starts}}) is None
    assert_rejected(family, {**lesson, **change}, next(iter(change.get("settings") or change)))


# --- a task of the size of Taxi ----------------------------------------------------------------


def layered_task(n, m, k, seed):
    """Every step goes forward, so that counts follow by substitution from the last state."""
    rng = random.Random(seed)
    transitions, splits = [], [["1"], ["1"], ["1/2", "1/2"], ["0.1", "0.2", "0.7"]]
    for s, a in itertools.product(range(n - 1), range(m)):
        for p in rng.choice(splits):
            transitions.append([s, a, rng.randint(s + 1, min(n - 1, s + 30)), p])
    return {
        "format": "didact.task/1",
        "name": "layers",
        "n_states": n,
        "n_actions": m,
        "transitions": transitions,
        "features": [[int(rng.randrange(k) == i) for i in range(k)] for _ in range(n)],
        "weights": [rng.choice([-3, -1, 1, 2]) for _ in range(k)],
        "discount": "0.95",
        "terminal": [n - 1],
    }


class Layered(Solved):
    """The same, with counts from the last state to the first instead of elimination."""

    def policy_iteration(self):
        self.counts = [self.phi[s][0] for s in range(self.n)]
        self.optimal = [[] for _ in range(self.n)]
        for s in reversed(self.live):
            self.optimal[s] = self.best(self.counts, s)
            ahead = [self.ahead(self.counts, s, a) for a in self.optimal[s]]
            self.counts[s] = [sum(x) / len(ahead) for x in zip(*ahead, strict=True)]
        self.mu = {(s, a): self.ahead(self.counts, s, a) for s, a in self.chances}


def test_four_hundred_states():
    n = number(200, 400)
    task = layered_task(n, 6, number(5, 8), 0)
    solved = Layered(task)
    proof = prove(solved, all_pairs(solved, "all"), "all")
    line = check_proof(task, proof)
    assert f"{len(solved.policy_rows('all'))} directions of {n - 1} states follow" in line
    j, multiplier = proof["multipliers"][777][0]
    proof["multipliers"][777][0] = [j, str(Fraction(multiplier) + Fraction(1, 10**60))]
    assert_rejected(task, proof, "multipliers[777]")
