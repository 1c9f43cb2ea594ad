"""Exact cones against exact double description, cddlib, named counterexamples and real worlds."""

from __future__ import annotations

import itertools
import math
import random
from dataclasses import replace
from fractions import Fraction
from functools import cache
from unittest import mock

import flint
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from didact.bec import certificates, linear
from didact.bec.certificates import exact_cone, least_on_slice
from didact.bec.linear import Inside, Multipliers, Outside, decide, dot, primitive, row_reduced
from tests.effort import chunks, number

# The evidence


def assert_combines(rows, target, multipliers, allowed):
    assert set(multipliers.indices) <= set(allowed)
    assert multipliers.denominator > 0
    assert all(numerator > 0 for numerator in multipliers.numerators)
    assert len(multipliers.indices) <= len(target)
    total = [0] * len(target)
    for index, amount in zip(multipliers.indices, multipliers.numerators, strict=True):
        total = [left + amount * entry for left, entry in zip(total, rows[index], strict=True)]
    assert total == [multipliers.denominator * entry for entry in target]


def rank(rows):
    return flint.fmpq_mat([[*row] for row in rows]).rank() if rows else 0


def assert_proved(rows, cone):
    """Every verdict in the cone follows from its evidence by integer products."""
    members = [index for facet in cone.facets for index in facet]
    assert sorted([*cone.equalities, *members, *cone.multipliers]) == list(range(len(rows)))
    for index in cone.equalities:
        negative = tuple(-entry for entry in rows[index])
        assert_combines(rows, negative, cone.opposites[index], cone.equalities)
    generators = [*cone.equalities, *(facet[0] for facet in cone.facets)]
    for index, multipliers in cone.multipliers.items():
        assert_combines(rows, rows[index], multipliers, generators)
    for facet, witness in zip(cone.facets, cone.witnesses, strict=True):
        for index, row in enumerate(rows):
            side = dot(row, witness)
            assert side < 0 if index in facet else side >= 0
            assert side == 0 or index not in cone.equalities
        for index in facet:
            assert rank([*cone.lineality, rows[facet[0]], rows[index]]) == len(cone.lineality) + 1
    assert [facet[0] for facet in cone.facets] == sorted(facet[0] for facet in cone.facets)
    equalities = [rows[index] for index in cone.equalities]
    assert rank(equalities) == len(cone.lineality) == rank([*equalities, *cone.lineality])
    assert row_reduced(cone.lineality)[0] == list(cone.lineality)
    assert cone.rank == rank(rows)
    width = len(rows[0])
    assert rank(cone.unidentifiable) == len(cone.unidentifiable) == width - cone.rank
    assert all(dot(row, free) == 0 for row in rows for free in cone.unidentifiable)


def classes(rows, cone):
    """The verdicts without the order: equalities, facet classes and redundant rows as sets."""
    name = rows.__getitem__
    return (
        frozenset(map(name, cone.equalities)),
        frozenset(frozenset(map(name, facet)) for facet in cone.facets),
        frozenset(map(name, cone.multipliers)),
        cone.lineality,
    )


# Oracle 1: exact double description of the dual cone


def dual_rays(rows, width):
    """Extreme rays of {w : r.w >= 0 for all rows} modulo its lineality, by double description."""
    lines = [tuple(int(i == j) for j in range(width)) for i in range(width)]
    rays: list[tuple[int, ...]] = []
    for step, row in enumerate(rows):
        crossing = next((line for line in lines if dot(row, line)), None)
        if crossing is not None:
            lines.remove(crossing)
            if dot(row, crossing) < 0:
                crossing = tuple(-entry for entry in crossing)
            lines = [eliminate(row, line, crossing) for line in lines]
            rays = [eliminate(row, ray, crossing) for ray in rays] + [crossing]
            continue
        zeros = {ray: {i for i in range(step) if dot(rows[i], ray) == 0} for ray in rays}
        rays = [ray for ray in rays if dot(row, ray) >= 0]
        for up, down in itertools.product(zeros, zeros):
            if dot(row, up) > 0 > dot(row, down):
                common = zeros[up] & zeros[down]
                if not any(common <= zeros[ray] for ray in zeros if ray not in (up, down)):
                    rays.append(eliminate(row, down, up))
    return rays


def eliminate(row, vector, pivot):
    """The vector moved along the pivot, where row.pivot > 0, to the hyperplane of the row."""
    ahead, behind = dot(row, pivot), dot(row, vector)
    return primitive([ahead * v - behind * p for v, p in zip(vector, pivot, strict=True)])


def described(rows):
    """Equalities and facet classes read off the incidence of rows with the dual's extreme rays."""
    rays = dual_rays(rows, len(rows[0]))
    touching = [frozenset(i for i, ray in enumerate(rays) if dot(row, ray) == 0) for row in rows]
    everything = frozenset(range(len(rays)))
    equalities = {index for index, touched in enumerate(touching) if touched == everything}
    proper = {touched for touched in touching if touched != everything}
    maximal = {touched for touched in proper if not any(touched < other for other in proper)}
    facets = {
        frozenset(index for index, touched in enumerate(touching) if touched == ray)
        for ray in maximal
    }
    return equalities, facets


def assert_described(rows, cone):
    equalities, facets = described(rows)
    assert set(cone.equalities) == equalities
    assert set(map(frozenset, cone.facets)) == facets


@st.composite
def half_spaces(draw):
    """Nonzero rows that hold at a point, which may lie on many of them; often with lineality."""
    width = draw(st.integers(1, 4))
    point = draw(st.tuples(*[st.integers(-2, 2)] * width))
    drawn = draw(st.lists(st.tuples(*[st.integers(-2, 2)] * width), min_size=1, max_size=9))
    rows = [row if dot(row, point) >= 0 else tuple(-entry for entry in row) for row in drawn]
    for row in list(rows):
        if dot(row, point) == 0 and draw(st.booleans()):
            rows.append(tuple(-entry for entry in row))
    if len(rows) > 1 and draw(st.booleans()):
        rows.append(tuple(a + b for a, b in zip(rows[0], rows[1], strict=True)))
    rows = [primitive(row) for row in rows if any(row)]
    assume(rows)
    return (rows if draw(st.booleans()) else list(dict.fromkeys(rows))), point


def nothing(generators, target):
    return np.zeros(len(generators))


def everything(generators, target):
    return np.ones(len(generators))


@given(half_spaces())
def test_cones_agree_with_double_description(drawn):
    rows, point = drawn
    cone = exact_cone(rows, [Fraction(entry, 7) for entry in point])
    assert_proved(rows, cone)
    assert_described(rows, cone)


@given(half_spaces(), st.sampled_from([nothing, everything]))
def test_the_proposer_decides_nothing(drawn, proposer):
    rows, point = drawn
    with (
        mock.patch.object(linear, "propose", proposer),
        mock.patch.object(certificates, "propose", proposer),
    ):
        cone = exact_cone(rows, point)
    assert_proved(rows, cone)
    assert classes(rows, cone) == classes(rows, exact_cone(rows, point))


@given(half_spaces(), st.randoms())
def test_the_order_of_rows_decides_nothing(drawn, random):
    rows, point = drawn
    shuffled = random.sample(rows, len(rows))
    assert classes(rows, exact_cone(rows, point)) == classes(shuffled, exact_cone(shuffled, point))


@given(half_spaces())
def test_cones_agree_with_cddlib(drawn):
    """cddlib in exact arithmetic, where it could be built."""
    cdd = pytest.importorskip("cdd.gmp")
    rows, point = drawn
    rows = list(dict.fromkeys(rows))
    cone = exact_cone(rows, point)
    kind = pytest.importorskip("cdd").RepType.GENERATOR
    matrix = cdd.matrix_from_array([[0, *row] for row in rows], rep_type=kind)
    linear, redundant, _ = cdd.matrix_canonicalize(matrix)
    assert set(cone.equalities) == set(linear)
    kept = set(range(len(rows))) - set(linear) - set(redundant)
    assert len(kept) == len(cone.facets)
    assert all(len(kept & set(facet)) == 1 for facet in cone.facets)


# Named counterexamples


def test_pruning_all_at_once_would_lose_both_rows():
    rows = [(1, 0), (-1, 0), (0, 1), (1, 1)]
    cone = exact_cone(rows, [0, 1])
    assert_proved(rows, cone)
    assert cone.equalities == (0, 1)
    assert cone.lineality == ((1, 0),)
    assert cone.facets == ((2, 3),)
    assert not cone.multipliers


def test_a_three_way_tie_in_every_order():
    corners = [(1, 0, 0), (0, 1, 0), (0, 0, 1)]
    rows = [
        tuple(a - b for a, b in zip(left, right, strict=True))
        for left, right in itertools.permutations(corners, 2)
    ]
    for order in itertools.permutations(rows):
        cone = exact_cone(order, [1, 1, 1])
        assert cone.equalities == (0, 1, 2, 3, 4, 5)
        assert cone.lineality == ((1, 0, -1), (0, 1, -1))
        assert cone.unidentifiable == ((1, 1, 1),)
        assert (cone.facets, cone.multipliers, cone.rank) == ((), {}, 2)


def test_equalities_without_their_negatives():
    rows = [(1, 0, 0), (0, 1, 0), (-1, -1, 0), (0, 0, 1), (2, 3, 1), (1, -1, 5)]
    cone = exact_cone(rows, [0, 0, 1])
    assert_proved(rows, cone)
    assert cone.equalities == (0, 1, 2)
    assert cone.facets == ((3, 4, 5),)


def test_redundant_rows_with_lineality_use_facets_and_equalities():
    tie = [(1, 1, 0, 0), (-1, -1, 0, 0)]
    rows = [*tie, (0, 0, 1, 0), (0, 0, 0, 1), (5, 5, 1, 2), (-7, -7, 3, 1), (-7, -7, 6, 2)]
    cone = exact_cone(rows, [1, -1, 1, 1])
    assert_proved(rows, cone)
    assert cone.facets == ((2,), (3,))
    assert cone.multipliers[4] == Multipliers((0, 2, 3), (5, 1, 2), 1)
    assert cone.multipliers[5] == Multipliers((1, 2, 3), (7, 3, 1), 1)


@pytest.mark.parametrize(
    "equalities",
    [
        [(1, 1), (-1, -1), (1, -1), (-1, 1)],
        [(1, 0), (0, 1), (-1, -1)],
        [(2, 1), (-1, 1), (-1, -3)],
        [(1, 2), (-1, -2), (1, -3), (-1, 0)],
    ],
)
def test_redundant_rows_anywhere_along_the_lineality(equalities):
    """Rows that are shifted along L stay redundant, whatever equalities must make up the shift."""
    shifts = [*itertools.product((-2, -1, 0, 1, 3), repeat=2)]
    rows = [(*row, 0, 0) for row in equalities] + [(0, 0, 1, 0), (0, 0, 0, 1)]
    rows += [(*shift, 1, 1) for shift in shifts]
    cone = exact_cone(rows, [0, 0, 1, 1])
    assert_proved(rows, cone)
    assert cone.equalities == tuple(range(len(equalities)))
    assert len(cone.multipliers) == len(shifts)


def test_a_point_on_the_boundary_moves_inside():
    rows = [(1, 0), (0, 1), (1, 1), (-1, 2)]
    for point in ([0, 0], [0, 1], [2, 1]):
        cone = exact_cone(rows, point)
        assert_proved(rows, cone)
        assert cone.facets == ((0,), (3,))
        assert not cone.equalities


def test_duplicates_and_multiples_share_a_class():
    rows = [(1, 0), (3, 0), (0, 1), (1, 1), (2, 2), (0, 1)]
    cone = exact_cone(rows, [1, 1])
    assert_proved(rows, cone)
    assert cone.facets == ((0, 1), (2, 5))
    assert set(cone.multipliers) == {3, 4}


def test_dependent_features_are_unidentifiable():
    rows = [(1, 1, 0, 2), (0, 0, 0, 1), (1, 1, 0, 0)]
    cone = exact_cone(rows, [1, 1, 0, 1])
    assert_proved(rows, cone)
    assert (cone.rank, cone.unidentifiable) == (2, ((-1, 1, 0, 0), (0, 0, 1, 0)))


def test_cones_of_nothing_and_of_one_row():
    empty = exact_cone([], [1, 2])
    assert (empty.facets, empty.rank, empty.unidentifiable) == ((), 0, ((1, 0), (0, 1)))
    single = exact_cone([(2, -1)], [1, 1])
    assert_proved([(2, -1)], single)
    assert single.facets == ((0,),)
    line = exact_cone([(1,), (-1,)], [0])
    assert_proved([(1,), (-1,)], line)
    assert line.equalities == (0, 1)


@pytest.mark.parametrize("rows", [[(1, 0), (0, -1)], [(1, 0), (0, 0)]])
def test_a_row_that_excludes_the_point_or_is_zero_is_a_bug(rows):
    with pytest.raises(AssertionError, match="row 1 "):
        exact_cone(rows, [1, Fraction(1, 10**30)])


def test_the_check_of_evidence_can_fail():
    rows = [(1, 0), (0, 1), (1, 1)]
    cone = exact_cone(rows, [1, 1])
    assert_proved(rows, cone)
    for broken in (
        replace(cone, multipliers={2: Multipliers((0, 1), (1, 2), 1)}),
        replace(cone, witnesses=cone.witnesses[::-1]),
        replace(cone, facets=((0,), (2,)), multipliers={1: Multipliers((0, 2), (1, 1), 1)}),
        replace(cone, rank=1),
    ):
        with pytest.raises(AssertionError):
            assert_proved(rows, broken)


# Hard numbers


@pytest.mark.parametrize("digits", [5, 7, 9, 12, 40, 300])
def test_facets_at_tiny_angles_are_kept(digits):
    """Points on a parabola are all extreme, however flat; midpoints are not."""
    big = 10**digits
    corners = [(big, i, i * i) for i in range(-6, 7)]
    middles = [
        tuple(a + b for a, b in zip(*pair, strict=True)) for pair in itertools.pairwise(corners)
    ]
    rows = [primitive(row) for row in [*middles, *corners]]
    cone = exact_cone(rows, [1, 0, 0])
    assert_proved(rows, cone)
    assert {rows[facet[0]] for facet in cone.facets} == set(map(primitive, corners))


@pytest.mark.parametrize("width", [3, 5, 8])
def test_many_rows_through_one_point_tie_every_shot(width):
    """A cube of sign vectors: faces with many vertices, and every midpoint redundant."""
    signs = [(1, *tail) for tail in itertools.product((-1, 0, 1), repeat=min(width, 5) - 1)]
    rows = [(*row, *(0,) * (width - len(row))) for row in signs]
    cone = exact_cone(rows, [1, *(0,) * (width - 1)])
    assert_proved(rows, cone)
    assert {rows[facet[0]] for facet in cone.facets} == {
        row for row in rows if 0 not in row[: len(signs[0])]
    }


# Worlds


def moves(size):
    """For each cell of a square grid the next cell of up, down, left, right."""
    for cell in range(size * size):
        row, column = divmod(cell, size)
        yield (
            cell - size if row else cell,
            cell + size if row < size - 1 else cell,
            cell - 1 if column else cell,
            cell + 1 if column < size - 1 else cell,
        )


def followed(successor, features, discount, n_features):
    """Discounted feature counts along a functional graph; a cycle has a closed form."""
    counts = {}
    for start in range(len(successor)):
        path, cell = [], start
        while cell not in counts and cell not in path:
            path.append(cell)
            cell = successor[cell]
        if cell not in counts:
            cycle = path[path.index(cell) :]
            once = [Fraction(0)] * n_features
            for steps, member in enumerate(cycle):
                once[features[member]] += discount**steps
            counts[cell] = [total / (1 - discount ** len(cycle)) for total in once]
        for cell in reversed(path):
            if cell not in counts:
                counts[cell] = [discount * entry for entry in counts[successor[cell]]]
                counts[cell][features[cell]] += 1
    return counts


def optimal_counts(targets, features, weights, discount):
    """Counts of an optimal policy by exact policy iteration, and its values."""
    policy = [0] * len(targets)
    while True:
        successor = [targets[cell][action] for cell, action in enumerate(policy)]
        counts = followed(successor, features, discount, len(weights))
        values = {cell: dot_fractions(weights, entry) for cell, entry in counts.items()}
        better = [
            max(range(4), key=lambda a: values[targets[cell][a]]) for cell in range(len(targets))
        ]
        improved = [
            new if values[targets[cell][new]] > values[targets[cell][old]] else old
            for cell, (old, new) in enumerate(zip(policy, better, strict=True))
        ]
        if improved == policy:
            return counts, values
        policy = improved


def dot_fractions(left, right):
    return sum((a * b for a, b in zip(left, right, strict=True)), Fraction(0))


def drawn_weights(rng, n_features):
    """Uniform on the signed L1 sphere, as 17-digit decimals."""
    sizes = rng.dirichlet(np.ones(n_features)) * rng.choice([-1, 1], n_features)
    return tuple(Fraction(f"{size:.17f}") for size in sizes)


@cache
def grid_rows(size, n_features, seed, weights=None):
    """The distinct rows of a random deterministic grid world, and the true weights."""
    rng = np.random.default_rng(seed)
    weights = weights or drawn_weights(rng, n_features)
    features = rng.integers(n_features, size=size * size).tolist()
    targets = list(moves(size))
    counts, values = optimal_counts(targets, features, weights, Fraction(19, 20))
    rows = {}
    for reached in targets:
        best = max(values[cell] for cell in reached)
        for good, other in itertools.product(reached, reached):
            row = [a - b for a, b in zip(counts[good], counts[other], strict=True)]
            if values[good] == best and any(row):
                rows.setdefault(primitive(row))
    return list(rows), weights


def slippery_rows(size, n_features, seed):
    """The distinct rows of a grid world that slips, so that counts have many digits."""
    rng = np.random.default_rng(seed)
    weights = drawn_weights(rng, n_features)
    features = rng.integers(n_features, size=size * size).tolist()
    targets = list(moves(size))
    n_cells = len(targets)
    sideways = {0: (2, 3), 1: (2, 3), 2: (0, 1), 3: (0, 1)}
    outcomes = [
        [[(reached[a], 8), *((reached[b], 1) for b in sideways[a])] for a in range(4)]
        for reached in targets
    ]
    policy = [0] * n_cells
    while True:
        system = [[flint.fmpq(int(i == j)) for j in range(n_cells)] for i in range(n_cells)]
        for cell, action in enumerate(policy):
            for reached, tenths in outcomes[cell][action]:
                system[cell][reached] -= flint.fmpq(19 * tenths, 200)
        hot = [[int(features[cell] == f) for f in range(n_features)] for cell in range(n_cells)]
        counts = flint.fmpq_mat(system).solve(flint.fmpq_mat(hot)).tolist()
        exact = [flint.fmpq(w.numerator, w.denominator) for w in weights]
        ahead = [
            [[sum(t * counts[n][f] for n, t in pairs) for f in range(n_features)] for pairs in cell]
            for cell in outcomes
        ]
        value = [
            [sum(w * c for w, c in zip(exact, row, strict=True)) for row in cell] for cell in ahead
        ]
        improved = [
            old if value[cell][old] == max(value[cell]) else value[cell].index(max(value[cell]))
            for cell, old in enumerate(policy)
        ]
        if improved == policy:
            break
        policy = improved
    rows = {}
    for cell in range(n_cells):
        for other in range(4):
            row = [
                a - b for a, b in zip(ahead[cell][policy[cell]], ahead[cell][other], strict=True)
            ]
            if any(row):
                rows.setdefault(primitive(row))
    return list(rows), weights


@pytest.mark.parametrize("seed", chunks(2, 4))
def test_grid_worlds_with_random_weights_are_proved(seed):
    rows, weights = grid_rows(9, 8, seed)
    cone = exact_cone(rows, weights)
    assert_proved(rows, cone)
    assert not cone.equalities
    assert cone.n_exact_lp == 0
    assert dot((1,) * 8, cone.unidentifiable[0]) == 8


def test_floats_propose_well_on_a_grid_world():
    """Each decision about a world's facets and rows is settled without the exact LP."""
    rows, weights = grid_rows(9, 8, 0)
    cone = exact_cone(rows, weights)
    facets = [rows[facet[0]] for facet in cone.facets]
    inside = [decide(facets, rows[index]) for index in cone.multipliers]
    outside = [decide([g for g in facets if g != facet], facet) for facet in facets]
    assert all(isinstance(decision, Inside) for decision in inside)
    assert all(isinstance(decision, Outside) for decision in outside)
    assert not any(decision.exact_lp for decision in [*inside, *outside])


@pytest.mark.parametrize("seed", chunks(3, 6))
def test_grid_worlds_with_ties_agree_with_double_description(seed):
    rng = np.random.default_rng(seed)
    chosen = tuple(Fraction(entry) for entry in rng.integers(-1, 2, 4).tolist())
    rows, weights = grid_rows(4, 4, seed, chosen)
    if rows:
        cone = exact_cone(rows, weights)
        assert_proved(rows, cone)
        assert_described(rows, cone)


def test_ties_occur_in_the_worlds_above():
    cones = [
        exact_cone(*grid_rows(5, 4, seed, (Fraction(1), Fraction(-1), Fraction(0), Fraction(1))))
        for seed in range(4)
    ]
    assert any(cone.equalities and cone.multipliers and cone.facets for cone in cones)


@pytest.mark.parametrize("seed", range(2))
def test_slippery_worlds_with_long_numbers(seed):
    rows, weights = slippery_rows(5, 4, seed)
    assert max(abs(entry) for row in rows for entry in row) > 10**40
    cone = exact_cone(rows, weights)
    assert_proved(rows, cone)
    assert_described(rows, cone)


def test_a_linear_map_of_long_integers_keeps_the_verdicts():
    rows, weights = grid_rows(9, 8, 0)
    rng = np.random.default_rng(1)
    entries = [int("".join(map(str, rng.integers(1, 10, 120)))) for _ in range(64)]
    mapping = flint.fmpz_mat(8, 8, entries)
    mapped = [
        tuple(map(int, row))
        for row in (flint.fmpz_mat([[*row] for row in rows]) * mapping).tolist()
    ]
    column = flint.fmpq_mat(8, 1, [flint.fmpq(w.numerator, w.denominator) for w in weights])
    inside = [
        Fraction(int(entry.p), int(entry.q))
        for entry in (flint.fmpq_mat(mapping).inv() * column).entries()
    ]
    before, after = exact_cone(rows, weights), exact_cone(mapped, inside)
    assert_proved(mapped, after)
    assert before.facets == after.facets
    assert set(before.multipliers) == set(after.multipliers)


def test_row_order_of_a_world_decides_nothing():
    rows, weights = grid_rows(5, 4, 1, (Fraction(1), Fraction(-1), Fraction(0), Fraction(1)))
    expected = classes(rows, exact_cone(rows, weights))
    for seed in range(5):
        shuffled = [rows[i] for i in np.random.default_rng(seed).permutation(len(rows))]
        assert classes(shuffled, exact_cone(shuffled, weights)) == expected


def test_multipliers_are_in_lowest_terms():
    cone = exact_cone(*grid_rows(9, 8, 0))
    assert cone.multipliers
    for multipliers in cone.multipliers.values():
        assert math.gcd(multipliers.denominator, *multipliers.numerators) == 1


def expected_least(vectors, heights, direction):
    ratios = [Fraction(dot(v, direction), h) for v, h in zip(vectors, heights, strict=True)]
    return [ray for ray, ratio in enumerate(ratios) if ratio == min(ratios)]


def found_least(vectors, heights, direction):
    values = [dot(vector, direction) for vector in vectors]
    return least_on_slice(values, heights, range(len(heights)))


@pytest.mark.parametrize("digits", [1, 2, 15, 17, 40, 200, 400])
def test_the_least_ratios_are_those_of_fractions(digits):
    """Small numbers tie often; 400 digits have no float; and some ratios differ in the last one."""
    draw = random.Random(digits)
    for _ in range(number(60, 150)):
        k, n = draw.randint(1, 4), draw.randint(1, 12)
        most = 10 ** draw.randint(1, digits)
        vectors = [tuple(draw.randint(-most, most) for _ in range(k)) for _ in range(n)]
        heights = [draw.randint(1, 10 ** draw.randint(1, digits)) for _ in range(n)]
        for ray in range(1, n, 3):  # the same place but for one unit of a longer vector
            vectors[ray] = tuple(3 * x for x in vectors[ray - 1])
            heights[ray] = 3 * heights[ray - 1]
            if draw.random() < 0.5:
                vectors[ray] = (vectors[ray][0] + 1, *vectors[ray][1:])
        direction = tuple(draw.randint(-most, most) for _ in range(k))
        found = found_least(vectors, heights, direction)
        assert found == expected_least(vectors, heights, direction)


def test_numbers_beyond_floats_are_compared_too():
    assert found_least([(-(10**400),), (-(10**400) - 1,), (5,)], [1, 1, 1], (1,)) == [1]
    assert found_least([(1,), (0,)], [10**400, 1], (1,)) == [1]
    assert found_least([(1,), (2,)], [1, 1], (0,)) == [0, 1]
