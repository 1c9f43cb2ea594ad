"""What must hold of every behavioural equivalence class, on 10,000 random models.

The first 3,000 are for every day, the others for the slow tests. The oracle knows nothing of the
package: policy iteration, counts and rows in FLINT rationals from the lists that the model was
drawn as, cones by Caratheodory's theorem. Models are drawn by number, so a failure names its model.
"""

from __future__ import annotations

import functools
import itertools
import json
import math
import random
from dataclasses import dataclass
from fractions import Fraction

import pytest
from flint import fmpq, fmpq_mat

from didact.bec.classes import demonstration_class, equivalence_class
from didact.bec.proofs import prove
from didact.mdp import MDP, Task, Transitions
from didact.mdp.files import task_document
from didact.proofcheck import check_proof
from tests.effort import chunks, number, try_each

N_QUICK_CHUNKS, N_CHUNKS, CHUNK = 1, 40, 250
DISCOUNTS = ["0", "1/2", "3/4", "9/10", "0.95"]
FINE_WEIGHTS = [Fraction(n, d) for n in range(-9, 10) for d in (1, 3, 7, 10)]


# Random models


@dataclass(frozen=True)
class Drawn:
    """A model as plain lists: moves[s][a] maps next states to probabilities, phi[s][a] is (k,)."""

    moves: list[list[dict[int, Fraction]]]
    phi: list[list[list[Fraction]]]
    discount: Fraction
    starts: list[int]
    terminal: list[bool]
    weights: list[Fraction]
    scope: str
    wide: bool

    @property
    def k(self) -> int:
        return len(self.weights)

    def task(self) -> Task:
        rows = [
            (s, a, t, p)
            for s, actions in enumerate(self.moves)
            for a, targets in enumerate(actions)
            for t, p in targets.items()
        ]
        mdp = MDP(
            Transitions.from_rows(rows, len(self.moves), len(self.moves[0])),
            self.phi if self.wide else [state[0] for state in self.phi],
            self.discount,
            start=[[s, Fraction(1, len(self.starts))] for s in self.starts],
            terminal=[s for s, ends in enumerate(self.terminal) if ends],
        )
        return Task(mdp, self.weights)

    def renamed(self, states: list[int], actions: list[int]) -> Drawn:
        """The same model, where the old state s is called states[s]; likewise actions."""
        moves = [[dict[int, Fraction]() for _ in actions] for _ in states]
        phi = [[list[Fraction]() for _ in actions] for _ in states]
        terminal = [False for _ in states]
        for s, a in itertools.product(range(len(states)), range(len(actions))):
            moves[states[s]][actions[a]] = {states[t]: p for t, p in self.moves[s][a].items()}
            phi[states[s]][actions[a]] = self.phi[s][a]
            terminal[states[s]] = self.terminal[s]
        starts = sorted(states[s] for s in self.starts)
        rest = (self.weights, self.scope, self.wide)
        return Drawn(moves, phi, self.discount, starts, terminal, *rest)


def draw(number: int) -> Drawn:
    """Model `number`: a third have ties that are equalities, and so on (see the shares below)."""
    rng = random.Random(number)
    tied = rng.random() < 0.31
    while True:
        drawn = draw_once(rng, tied)
        if not tied or Oracle(drawn).has_equality():
            return drawn


def draw_once(rng: random.Random, tied: bool) -> Drawn:
    n, m, k = rng.randint(2, 6), rng.randint(2, 3), rng.randint(1 + tied, 4)
    terminal = [rng.random() < 0.15 for _ in range(n)]
    terminal[rng.randrange(n)] = False
    most = 3 if rng.random() < 0.3 else 1
    moves = [
        [{} if terminal[s] else draw_row(rng, n, rng.randint(1, most)) for _ in range(m)]
        for s in range(n)
    ]
    wide = rng.random() < 0.15
    entries = [0, 0, 1] if tied else [0, 0, 1, 1, -1, 2, Fraction(1, 3)]
    phi = []
    for s in range(n):
        rows = [[Fraction(rng.choice(entries)) for _ in range(k)] for _ in range(m)]
        phi.append(rows if wide and not terminal[s] else [rows[0]] * m)
    if rng.random() < 0.14:
        make_degenerate(rng, phi)
    alive = [s for s in range(n) if not terminal[s]]
    starts = alive
    if rng.random() < 0.3:
        starts = rng.sample(alive, rng.randint(1, (len(alive) + 1) // 2))
    weights = [
        Fraction(rng.choice([-1, 1, 0, 1]) if tied else rng.choice(FINE_WEIGHTS)) for _ in range(k)
    ]
    scope = "all" if rng.random() < 0.2 else "reachable"
    discount = Fraction(rng.choice(DISCOUNTS[tied:]))
    return Drawn(moves, phi, discount, sorted(starts), terminal, weights, scope, wide)


def draw_row(rng: random.Random, n: int, size: int) -> dict[int, Fraction]:
    targets = rng.sample(range(n), min(n, size))
    shares = [rng.randint(1, 4) for _ in targets]
    return {t: Fraction(share, sum(shares)) for t, share in zip(targets, shares, strict=True)}


def make_degenerate(rng: random.Random, phi: list[list[list[Fraction]]]) -> None:
    """One feature becomes zero, a copy of another, or a sum of the others; each list only once."""
    at, kind = rng.randrange(len(phi[0][0])), rng.choice(["zero", "copy", "sum"])
    for row in {id(row): row for state in phi for row in state}.values():
        others = row[:at] + row[at + 1 :]
        if kind == "zero" or not others:
            row[at] = Fraction(0)
        else:
            row[at] = others[0] if kind == "copy" else sum(others, Fraction(0))


# The oracle


def rational(x: Fraction) -> fmpq:
    return fmpq(x.numerator, x.denominator)


def whole(vector: list[fmpq] | list[Fraction]) -> tuple[int, ...]:
    """The shortest integer vector of the same direction."""
    pairs = [
        (int(x.p), int(x.q)) if isinstance(x, fmpq) else (x.numerator, x.denominator)
        for x in vector
    ]
    common = math.lcm(*(q for _, q in pairs))
    numbers = [p * (common // q) for p, q in pairs]
    divisor = math.gcd(*numbers) or 1
    return tuple(x // divisor for x in numbers)


def inner(left, right) -> int:
    return sum(x * y for x, y in zip(left, right, strict=True))


class Oracle:
    """Optimal sets and rows of a drawn model, by textbook matrices."""

    def __init__(self, drawn: Drawn):
        self.drawn = drawn
        self.n, self.m = len(drawn.moves), len(drawn.moves[0])
        g = rational(drawn.discount)
        self.moves = [
            [[g * rational(row.get(t, Fraction(0))) for t in range(self.n)] for row in actions]
            for actions in drawn.moves
        ]
        self.phi = [[[rational(x) for x in row] for row in actions] for actions in drawn.phi]
        self.optimal = self.optimal_sets(drawn.weights)
        self.scope = self.states_in_scope()

    def states_in_scope(self) -> list[int]:
        found = set(self.drawn.starts if self.drawn.scope == "reachable" else range(self.n))
        while True:
            wider = found | {t for s in found for row in self.drawn.moves[s] for t in row}
            if wider == found:
                return [s for s in sorted(found) if not self.drawn.terminal[s]]
            found = wider

    def policy_matrix(self, choice: list[list[int]]) -> fmpq_mat:
        """I - discount * T of the policy that is uniform over the chosen actions."""
        entries = []
        for s, actions in enumerate(choice):
            for t in range(self.n):
                mean = sum((self.moves[s][a][t] for a in actions), fmpq(0)) / len(actions)
                entries.append(int(s == t) - mean)
        return fmpq_mat(self.n, self.n, entries)

    def optimal_sets(self, weights: list[Fraction]) -> list[list[int]]:
        """Howard's policy iteration; what it stops at satisfies Bellman's optimality equation."""
        w = [rational(x) for x in weights]
        reward = [[inner(phi, w) for phi in actions] for actions in self.phi]
        choice = [0] * self.n
        while True:
            paid = fmpq_mat(self.n, 1, [reward[s][choice[s]] for s in range(self.n)])
            values = self.policy_matrix([[a] for a in choice]).solve(paid).entries()
            q = [
                [reward[s][a] + inner(self.moves[s][a], values) for a in range(self.m)]
                for s in range(self.n)
            ]
            better = [s for s in range(self.n) if max(q[s]) > values[s]]
            if not better:
                return [[a for a, x in enumerate(q[s]) if x == values[s]] for s in range(self.n)]
            for s in better:
                choice[s] = q[s].index(max(q[s]))

    @functools.cached_property
    def counts(self) -> list[list[fmpq]]:
        """(I - discount T)^-1 Phi of the uniform optimal policy."""
        chosen = [[0] if self.drawn.terminal[s] else self.optimal[s] for s in range(self.n)]
        mean = [
            sum((self.phi[s][a][i] for a in chosen[s]), fmpq(0)) / len(chosen[s])
            for s in range(self.n)
            for i in range(self.drawn.k)
        ]
        return self.policy_matrix(chosen).solve(fmpq_mat(self.n, self.drawn.k, mean)).tolist()

    def pair_counts(self, s: int, a: int) -> list[fmpq]:
        return [
            self.phi[s][a][i] + inner(self.moves[s][a], [row[i] for row in self.counts])
            for i in range(self.drawn.k)
        ]

    @functools.cached_property
    def rows(self) -> dict[tuple[int, int, int], tuple[int, ...]]:
        """Theorem 1: every statement (s, a, b) with its integer normal, zero or not."""
        found = {}
        for s in self.scope:
            counts = [self.pair_counts(s, a) for a in range(self.m)]
            for a, b in itertools.product(self.optimal[s], range(self.m)):
                if a != b:
                    difference = [x - y for x, y in zip(counts[a], counts[b], strict=True)]
                    found[s, a, b] = whole(difference)
        return found

    def distinct_rows(self) -> list[tuple[int, ...]]:
        return list(dict.fromkeys(row for row in self.rows.values() if any(row)))

    def has_equality(self) -> bool:
        rows = set(self.distinct_rows())
        return any(tuple(-x for x in row) in rows for row in rows)

    def ng_russell_rows(self) -> list[tuple[int, ...]]:
        """(T_pi - T_b)(I - discount T_pi)^-1 Phi in every state in scope, for every action b.

        The appendix's corollary as it stands, with features of pairs added; pi is the uniform
        optimal policy, so in a tie the rows of its actions add up to zero.
        """
        found = []
        for s in self.scope:
            for b in range(self.m):
                row = [x - y for x, y in zip(self.counts[s], self.pair_counts(s, b), strict=True)]
                if any(row):
                    found.append(whole(row))
        return list(dict.fromkeys(found))


def rank_of(rows: list[tuple[int, ...]]) -> int:
    return fmpq_mat([list(row) for row in rows]).rref()[1] if rows else 0


def is_in_cone(rows: list[tuple[int, ...]], target: tuple[int, ...]) -> bool:
    """Caratheodory: whether some independent rows combine to the target, all subsets tried."""
    if not any(target):
        return True
    rank = rank_of(rows)
    if rank_of([*rows, target]) > rank:
        return False
    for some in itertools.combinations(rows, rank):
        echelon, found = fmpq_mat([[*column] for column in zip(*some, target, strict=True)]).rref()
        pivots = [[echelon[i, j] for j in range(rank)] for i in range(found)]
        independent = found == rank and all(row[i] == 1 for i, row in enumerate(pivots))
        if independent and all(echelon[i, rank] >= 0 for i in range(rank)):
            return True
    return False


Canonical = tuple[tuple[tuple[int, ...], ...], frozenset[tuple[int, ...]]]


def canonical(equalities: list[tuple[int, ...]], facets: list[tuple[int, ...]]) -> Canonical:
    """The cone in one way only: row-reduced equalities, and facets with their pivots cleared."""
    basis: list[list[fmpq]] = []
    if equalities:
        echelon, rank = fmpq_mat([list(row) for row in equalities]).rref()
        basis = [[echelon[i, j] for j in range(echelon.ncols())] for i in range(rank)]
    cleared = []
    for facet in facets:
        row = [fmpq(x) for x in facet]
        for known in basis:
            pivot = next(j for j, x in enumerate(known) if x)
            row = [x - row[pivot] * y for x, y in zip(row, known, strict=True)]
        cleared.append(whole(row))
    return tuple(whole(row) for row in basis), frozenset(cleared)


def canonical_of(cone) -> Canonical:
    exact = cone.rows.exact
    found = canonical([exact[i] for i in cone.equalities], [exact[f[0]] for f in cone.facets])
    assert len(found[1]) == cone.n_facets
    assert found[0] == tuple(tuple(row) for row in cone.lineality.tolist())
    return found


def canonical_by_brute_force(rows: list[tuple[int, ...]]) -> Canonical:
    """A row is an equality if its negative is in the cone; a facet if the others do not give it."""
    equalities = [row for row in rows if is_in_cone(rows, tuple(-x for x in row))]
    _, rays = canonical(equalities, [row for row in rows if row not in equalities])
    facets = [ray for ray in rays if not is_in_cone([r for r in rays if r != ray], ray)]
    return canonical(equalities, facets)


def canonical_by_angle(rows: list[tuple[int, ...]], weights: list[Fraction]) -> Canonical:
    """Two features: rows lie in the half-plane of the weights, so the outermost two are facets."""
    w = whole(weights)
    if not any(w):
        return canonical(rows, [])
    flat = [row for row in rows if inner(row, w) == 0]
    steep = [row for row in rows if inner(row, w) > 0]
    if len(flat) == 2:
        return canonical(flat, steep[:1])
    slope = {row: Fraction(w[0] * row[1] - w[1] * row[0], inner(row, w)) for row in steep}
    ordered = sorted(steep, key=slope.__getitem__)
    if flat:
        left = w[0] * flat[0][1] - w[1] * flat[0][0] < 0
        ordered = [*flat, *ordered] if left else [*ordered, *flat]
    return canonical([], [*ordered[:1], *ordered[1:][-1:]])


def canonical_by_double_description(rows: list[tuple[int, ...]]) -> Canonical:
    """cddlib in exact arithmetic: from rays to half-spaces and back."""
    cdd = pytest.importorskip("cdd.gmp")
    kind = pytest.importorskip("cdd").RepType.GENERATOR
    apex = [1] + [0] * len(rows[0])
    rays = cdd.matrix_from_array([apex, *([0, *row] for row in rows)], rep_type=kind)
    half_spaces = cdd.copy_inequalities(cdd.polyhedron_from_matrix(rays))
    found = cdd.copy_generators(cdd.polyhedron_from_matrix(half_spaces))
    split: tuple[list[tuple[int, ...]], list[tuple[int, ...]]] = ([], [])
    for i, (first, *ray) in enumerate(found.array):
        if first == 0:
            split[i not in found.lin_set].append(whole([Fraction(x) for x in ray]))
    return canonical(*split)


# The laws


def is_within(cone, weights) -> tuple[bool, bool]:
    """In the class, and in its relative interior."""
    position = cone.contains(weights)
    return position != "outside", position == "inside"


def probes(rng: random.Random, cone, weights: list[Fraction]) -> list[list[Fraction]]:
    """Weights all over: random, opposite, zero, the centre, points on facets, beyond one facet."""
    k = len(weights)
    random_ones = [[Fraction(rng.randint(-3, 3)) for _ in range(k)] for _ in range(2)]
    found = [weights, [-w for w in weights], *random_ones, list(cone.exact_center())]
    for witness in cone.witnesses[:2]:
        found.append([Fraction(x) for x in witness])
    center = cone.exact_center()
    for members in rng.sample(cone.facets, min(2, cone.n_facets)):
        normal, other = cone.rows.exact[members[0]], rng.choice(found)
        near, far = inner(normal, center), inner(normal, other)
        if far < 0:
            found.append([near * y - far * x for x, y in zip(center, other, strict=True)])
    return found


def assert_membership_is_optimality(oracle: Oracle, cone, rng: random.Random) -> int:
    """In the class: all optimal actions stay optimal. Inside: no others become so."""
    kinds = set()
    for weights in probes(rng, cone, oracle.drawn.weights):
        sets = oracle.optimal_sets(weights)
        stay = all(set(oracle.optimal[s]) <= set(sets[s]) for s in oracle.scope)
        same = all(oracle.optimal[s] == sets[s] for s in oracle.scope)
        assert is_within(cone, weights) == (stay, same), weights
        kinds.add((stay, same))
    return len(kinds)


def assert_certified(cone) -> None:
    """Every row is an equality, of a facet, or redundant, and the evidence adds up."""
    rows, equalities = cone.rows.exact, set(cone.equalities)
    facets = [set(members) for members in cone.facets]
    groups = [equalities, *facets, set(cone.multipliers)]
    assert sorted(itertools.chain(*groups)) == list(range(len(rows)))
    first = {members[0] for members in cone.facets}
    for sign, allowed, proofs in (
        (1, first | equalities, cone.multipliers),
        (-1, equalities, cone.opposites),
    ):
        for row, proof in proofs.items():
            assert set(proof.indices) <= allowed
            assert min(proof.numerators) > 0
            total = [
                inner(proof.numerators, column)
                for column in zip(*(rows[i] for i in proof.indices), strict=True)
            ]
            assert total == [sign * proof.denominator * x for x in rows[row]]
    assert set(cone.opposites) == equalities
    for members, witness in zip(facets, cone.witnesses, strict=True):
        signs = [inner(row, witness) for row in rows]
        assert all(x < 0 if i in members else x >= 0 for i, x in enumerate(signs))
        assert all(signs[i] == 0 for i in equalities)


def is_taught(cone, shown: set[int]) -> bool:
    """The quotient criterion: shown equalities span L positively, and every facet is hit."""
    exact = cone.rows.exact
    rows = [exact[i] for i in cone.equalities if i in shown]
    spans = rank_of(rows) == len(cone.lineality)
    positively = all(is_in_cone(rows, tuple(-x for x in row)) for row in rows)
    return spans and positively and all(shown & set(members) for members in cone.facets)


def assert_proofs_pass(bec, pairs: list[tuple[int, int]], document) -> bool:
    """Demonstrations of these pairs: proof, checker, cones and the criterion tell one story."""
    demonstrations = [[pair] for pair in pairs]
    proof = prove(bec, demonstrations)
    line = check_proof(document, json.loads(json.dumps(proof.document)))
    assert line.startswith("proved: " if proof.teaches else "proved open: ")
    shown = {
        int(row)
        for (s, a, _), row in zip(bec.rows.statements.tolist(), bec.rows.number, strict=True)
        if (s, a) in pairs and row >= 0
    }
    assert proof.teaches == is_taught(bec.cone, shown)
    part = demonstration_class(bec, demonstrations)
    assert bec.cone.is_subset(part)
    assert part.equals(bec.cone) == proof.teaches
    if proof.witness is not None:
        assert part.contains(proof.witness) != "outside"
        assert bec.cone.contains(proof.witness) == "outside"
    return proof.teaches


def check_one(number: int) -> dict[str, bool]:
    """All laws of one model; what kind of model it was."""
    drawn = draw(number)
    oracle, rng = Oracle(drawn), random.Random(f"probes {number}")
    task = drawn.task()
    bec = equivalence_class(task, scope=drawn.scope, arithmetic="exact")
    cone, exact = bec.cone, bec.rows.exact
    stated = {
        tuple(statement): exact[row] if row >= 0 else (0,) * drawn.k
        for statement, row in zip(bec.rows.statements.tolist(), bec.rows.number, strict=True)
    }
    assert stated == oracle.rows
    assert cone.contains(drawn.weights) == "inside"
    assert cone.contains(cone.exact_center()) == "inside"
    assert cone.equalities or cone.contains(cone.center()) == "inside"
    n_kinds = assert_membership_is_optimality(oracle, cone, rng)
    assert_certified(cone)
    document = json.loads(json.dumps(task_document(task)))
    optimal = [(s, a) for s in oracle.scope for a in oracle.optimal[s]]
    chosen = optimal if number % 3 == 0 else [pair for pair in optimal if rng.random() < 0.6]
    teaches = assert_proofs_pass(bec, chosen, document)
    assert teaches or chosen != optimal
    form = canonical_of(cone)
    check_other_forms(number, oracle, form)
    if number % 5 == 0:
        check_other_orders(drawn, rng, cone)
    return {
        "equalities": bool(cone.equalities),
        "stochastic": not task.mdp.is_deterministic(),
        "restricted": len(drawn.starts) < drawn.terminal.count(False),
        "degenerate": is_degenerate(drawn),
        "open": not teaches,
        "taught by a part": teaches and chosen != optimal,
        "inside, boundary and outside": n_kinds == 3,
    }


def is_degenerate(drawn: Drawn) -> bool:
    """Whether some feature is zero or a combination of the others."""
    return rank_of([whole(row) for state in drawn.phi for row in state]) < drawn.k


def check_other_forms(number: int, oracle: Oracle, form: Canonical) -> None:
    """Other ways to the cone: Ng and Russell's matrices, angles, brute force, cddlib."""
    rows = oracle.distinct_rows()
    if len(rows) <= 10 and number % 4 == 0:
        assert canonical_by_brute_force(rows) == form
        assert canonical_by_brute_force(oracle.ng_russell_rows()) == form
    if oracle.drawn.k == 2:
        assert canonical_by_angle(rows, oracle.drawn.weights) == form


def check_other_orders(drawn: Drawn, rng: random.Random, cone) -> None:
    """Renaming states and actions reorders rows, and changes nothing else."""
    states, actions = list(range(len(drawn.moves))), list(range(len(drawn.moves[0])))
    rng.shuffle(states)
    rng.shuffle(actions)
    task = drawn.renamed(states, actions).task()
    other = equivalence_class(task, scope=drawn.scope, arithmetic="exact").cone
    assert canonical_of(other) == canonical_of(cone)
    assert other.equals(cone)
    assert set(other.rows.exact) == set(cone.rows.exact)
    assert len(other.equalities) == len(cone.equalities)
    assert sorted(map(len, other.facets)) == sorted(map(len, cone.facets))
    assert (other.rank, len(other.multipliers)) == (cone.rank, len(cone.multipliers))
    assert other.unidentifiable.tolist() == cone.unidentifiable.tolist()


LEAST_SHARES = {
    "equalities": 0.225,
    "stochastic": 0.15,
    "restricted": 0.15,
    "degenerate": 0.075,
    "open": 0.075,
    "taught by a part": 0.0375,
    "inside, boundary and outside": 0.15,
}
"""Of a chunk; of all 10,000 there are a third more."""


@pytest.mark.parametrize("chunk", chunks(N_QUICK_CHUNKS, N_CHUNKS))
def test_classes(chunk):
    first = chunk * CHUNK
    try_each(check_one, range(first, first + number(70, CHUNK)), LEAST_SHARES)


@pytest.mark.parametrize("chunk", chunks(1, 4))
def test_classes_agree_with_cddlib(chunk):
    pytest.importorskip("cdd.gmp")
    for model in range(chunk * 100, (chunk + 1) * 100):
        drawn = draw(model)
        bec = equivalence_class(drawn.task(), scope=drawn.scope, arithmetic="exact")
        if bec.rows.exact:
            found = canonical_by_double_description(list(bec.rows.exact))
            assert found == canonical_of(bec.cone), f"model {model}"
