"""Unit rows and labels against brute force over all pairs."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from didact.bec import directions
from didact.bec.directions import (
    TOLERANCE,
    angle,
    angles,
    angular_similarity,
    fixed_direction,
    label_units,
    scaled_rows,
    unit_normals,
    unit_rows,
)
from didact.errors import InvalidNumber, InvalidParameter


def label_directions(rows):
    """Labels of rows of any length, none of them zero."""
    return label_units(unit_rows(np.asarray(rows, dtype=float)))


def brute_force_labels(units):
    """Classes of the transitive closure of 'within the tolerance', numbered by appearance.

    Pairs at the tolerance itself may go either way: labels promise to join up to it, not beyond.
    """
    n = len(units)
    distances = np.linalg.norm(units[:, None, :] - units[None, :, :], axis=2)
    assume(not ((distances > 0.99 * TOLERANCE) & (distances < 1.05 * TOLERANCE)).any())
    labels = np.full(n, -1)
    count = 0
    for row in range(n):
        if labels[row] >= 0:
            continue
        frontier = [row]
        labels[row] = count
        while frontier:
            for other in np.flatnonzero((distances[frontier.pop()] <= TOLERANCE) & (labels < 0)):
                labels[other] = count
                frontier.append(int(other))
        count += 1
    return labels


def noisy_copies(rng, k):
    """Rows of few directions, their negatives, copies with noise far below or above TOLERANCE."""
    centers = rng.integers(-2, 3, size=(6, k)).astype(float)
    centers = centers[np.any(centers != 0, axis=1)]
    rows = np.concatenate([centers, -centers])
    rows = rows[rng.integers(len(rows), size=60)] if len(rows) else np.ones((60, k))
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    noise = rng.choice([0.0, 1e-15, 2e-10, 1e-7], size=(60, 1))
    rows = rows + noise * rng.uniform(-1, 1, size=rows.shape) / np.sqrt(k)
    return rows * rng.uniform(0.01, 100.0, size=(60, 1))


class TestLabels:
    @given(st.integers(0, 10**6), st.integers(1, 5))
    def test_agree_with_all_pairs(self, seed, k):
        rows = noisy_copies(np.random.default_rng(seed), k)
        labels, representatives = label_directions(rows)
        expected = brute_force_labels(rows / np.linalg.norm(rows, axis=1, keepdims=True))
        assert labels.tolist() == expected.tolist()
        first = [expected.tolist().index(label) for label in range(expected.max() + 1)]
        assert representatives.tolist() == first

    @given(st.integers(0, 10**6), st.integers(1, 5))
    def test_classes_do_not_depend_on_order_or_length(self, seed, k):
        rng = np.random.default_rng(seed)
        rows = noisy_copies(rng, k)
        brute_force_labels(rows / np.linalg.norm(rows, axis=1, keepdims=True))
        labels, _ = label_directions(rows)
        order = rng.permutation(len(rows))
        permuted, _ = label_directions(rows[order] * rng.uniform(1, 8, size=(len(rows), 1)))
        assert len(set(zip(labels[order], permuted, strict=True))) == labels.max() + 1
        assert permuted.max() == labels.max()

    def test_opposite_rows_never_merge(self):
        assert label_directions([[1.0], [-2.0], [3.0]])[0].tolist() == [0, 1, 0]

    @pytest.mark.parametrize(("spacing", "n_labels"), [(0.95, 1), (1.1, 50)])
    def test_chains_join_and_gaps_separate(self, spacing, n_labels):
        angles = spacing * TOLERANCE * np.arange(50)
        rows = np.column_stack([np.cos(angles), np.sin(angles), np.zeros(50)])
        order = np.random.default_rng(3).permutation(50)
        assert label_directions(rows[order])[0].max() + 1 == n_labels

    def test_a_row_between_two_others_joins_them(self):
        """Whatever the sorting line meets first: sometimes it is the two, and then the bridge."""
        rng = np.random.default_rng(8)
        for _ in range(40):
            axes = np.linalg.qr(rng.standard_normal((4, 4)))[0]
            offsets = TOLERANCE * np.array([[0.0, 0.0], [1.5, 0.0], [0.75, 0.5]])
            assert label_directions(axes[0] + offsets @ axes[1:3])[0].tolist() == [0, 0, 0]
            assert label_directions(axes[0] + offsets[:2] @ axes[1:3])[0].tolist() == [0, 1]

    @pytest.mark.parametrize("angle", [1e-8, 1e-7, 1e-5])
    def test_close_directions_stay_apart(self, angle):
        assert label_directions([[1.0, 0.0], [np.cos(angle), np.sin(angle)]])[0].tolist() == [0, 1]

    def test_many_copies_are_as_cheap_as_many_directions(self):
        rng = np.random.default_rng(5)
        centers = rng.standard_normal((3, 8))
        which = rng.integers(3, size=100_000)
        rows = centers[which] * rng.uniform(0.1, 3.0, size=(100_000, 1))
        labels, representatives = label_directions(rows)
        assert len(representatives) == 3
        assert len(set(zip(which, labels, strict=True))) == 3

    def test_directions_that_meet_on_the_line_are_told_apart(self):
        """Rows that differ only across the sorting line, and copies of each."""
        line = fixed_direction("directions", 3)
        across = np.linalg.svd(line[None])[2][1]
        rows = np.array([line + turn * across for turn in (0.0, 1e-3, -1e-3, 0.3)] * 50)
        assert label_directions(rows)[0].tolist() == [0, 1, 2, 3] * 50
        units = rows + 1e-12 * np.random.default_rng(0).standard_normal(rows.shape)
        assert label_units(units)[0].tolist() == [0, 1, 2, 3] * 50

    def test_no_rows(self):
        labels, representatives = label_units(np.zeros((0, 4)))
        assert len(labels) == len(representatives) == 0


def at(*degrees):
    """Unit vectors of the plane at these angles."""
    radians = np.radians(degrees)
    return np.stack([np.cos(radians), np.sin(radians)], axis=1)


def plain_similarity(x, y):
    """The paper's formula, good enough away from 0 and pi."""
    cosine = np.dot(x, y) / np.linalg.norm(x) / np.linalg.norm(y)
    return 1.0 - math.acos(min(1.0, max(-1.0, cosine))) / math.pi


def best_by_brute_force(normals, reference):
    """The best mean over all injections of the smaller set into the larger."""
    table = [[plain_similarity(x, y) for y in reference] for x in normals]
    n, m = len(normals), len(reference)
    if n <= m:
        sums = (
            sum(table[i][j] for i, j in enumerate(p)) for p in itertools.permutations(range(m), n)
        )
    else:
        sums = (
            sum(table[i][j] for j, i in enumerate(p)) for p in itertools.permutations(range(n), m)
        )
    return max(sums) / m


@st.composite
def two_sets(draw):
    """Small integer rows: ties, duplicates, opposites and parallels are common."""
    k = draw(st.integers(1, 4))
    row = st.lists(st.integers(-2, 2), min_size=k, max_size=k).filter(any)
    return (
        np.array(draw(st.lists(row, min_size=1, max_size=5)), dtype=float),
        np.array(draw(st.lists(row, min_size=1, max_size=5)), dtype=float),
    )


def test_greedy_depends_on_the_order_and_optimal_does_not():
    reference = at(0, 90)
    assert angular_similarity(at(40, 10), reference, matching="greedy") == pytest.approx(2 / 3)
    assert angular_similarity(at(10, 40), reference, matching="greedy") == pytest.approx(5 / 6)
    assert angular_similarity(at(40, 10), reference) == pytest.approx(5 / 6, rel=1e-15)
    assert angular_similarity(at(40, 10), reference) == angular_similarity(at(10, 40), reference)


@pytest.mark.parametrize("tiny", [1e-3, 1e-6, 1e-9, 1e-12])
def test_tiny_angles_are_resolved_at_both_ends(tiny):
    assert angle((1.0, 0.0), (1.0, tiny)) == pytest.approx(math.atan(tiny), rel=1e-10)
    turned = np.array([math.cos(1.0 + tiny), math.sin(1.0 + tiny)])
    assert angle(at(math.degrees(1.0))[0], turned) == pytest.approx(tiny, abs=4e-16)
    assert math.pi - angle((1.0, 0.0), (-1.0, tiny)) == pytest.approx(math.atan(tiny), abs=1e-15)


@pytest.mark.parametrize("degrees", [0, 30, 45, 90, 135, 179, 180])
def test_angles_in_the_plane(degrees):
    assert angle((3.0, 0.0), 7.0 * at(degrees)[0]) == pytest.approx(
        math.radians(degrees), abs=1e-15
    )


def test_lengths_do_not_matter_whatever_their_size():
    assert angle((1e-300, 0.0), (1e300, 1e300)) == pytest.approx(math.pi / 4)
    assert angle((10**400, 0), (Fraction(1, 10**400),) * 2) == pytest.approx(math.pi / 4)


@given(two_sets())
def test_optimal_is_the_best_of_all_matchings_and_never_below_greedy(sets):
    normals, reference = sets
    best = angular_similarity(normals, reference)
    assert best == pytest.approx(best_by_brute_force(normals, reference), abs=1e-7)
    assert best >= angular_similarity(normals, reference, matching="greedy") - 1e-12
    assert 0.0 <= best <= 1.0 + 1e-15


@given(two_sets(), st.randoms(use_true_random=False))
def test_optimal_depends_on_no_order_and_no_scale(sets, random):
    normals, reference = sets
    shuffled, other = list(normals), list(reference)
    random.shuffle(shuffled)
    random.shuffle(other)
    scaled = [row * random.choice([0.5, 3.0, 1e20]) for row in shuffled]
    assert angular_similarity(scaled, other) == pytest.approx(
        angular_similarity(normals, reference), abs=1e-14
    )


@given(two_sets())
def test_greedy_is_the_paper_step_by_step(sets):
    normals, reference = sets
    table = 1.0 - angles(normals, reference) / math.pi
    left, total = list(range(len(reference))), 0.0
    for i in range(len(normals)):
        if left:
            best = max(left, key=lambda j: table[i, j])
            total += table[i, best]
            left.remove(best)
    greedy = angular_similarity(normals, reference, matching="greedy")
    assert greedy == pytest.approx(total / len(reference), abs=1e-14)


def test_surplus_normals_are_unmatched_and_missing_ones_cost():
    for matching in ("optimal", "greedy"):
        assert angular_similarity(at(0, 90, 200), at(0, 90), matching=matching) == 1.0
        assert angular_similarity(at(0), at(0, 90), matching=matching) == 0.5
        assert angular_similarity(at(180), at(0), matching=matching) == pytest.approx(
            0.0, abs=1e-15
        )


def test_a_set_is_as_similar_as_can_be_to_itself():
    rows = np.random.default_rng(0).standard_normal((40, 6))
    assert angular_similarity(rows, 3.0 * rows[::-1]) == pytest.approx(1.0, abs=1e-15)


def test_empty_sets():
    for matching in ("optimal", "greedy"):
        assert angular_similarity([], [], matching=matching) == 1.0
        assert angular_similarity(at(0), np.empty((0, 2)), matching=matching) == 1.0
        assert angular_similarity(np.empty((0, 2)), at(0), matching=matching) == 0.0


def test_blocks_do_not_change_the_angles(monkeypatch):
    rng = np.random.default_rng(1)
    normals, reference = rng.standard_normal((17, 5)), rng.standard_normal((9, 5))
    whole = angles(normals, reference)
    monkeypatch.setattr(directions, "_BLOCK_NUMBERS", 100)
    assert (angles(normals, reference) == whole).all()
    assert whole[3, 4] == angle(normals[3], reference[4])


@given(
    st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=5),
    st.integers(-20, 20),
    st.sampled_from([1, 3, 7]),
)
def test_parallel_rows_are_scaled_to_the_same_bits(row, power, factor):
    exact = [Fraction(value) for value in row]
    multiple = [value * factor * Fraction(2) ** power for value in exact]
    assert (scaled_rows([exact]) == scaled_rows([multiple])).all()
    shrunk = [float(np.float32(value)) for value in row]
    product = [value * factor for value in shrunk]
    assert scaled_rows([shrunk]).tobytes() == scaled_rows([product]).tobytes()


def test_wide_integers_are_divided_exactly():
    """2^53 + 1 is not a float, so that dividing floats would miss one third."""
    wide = np.array([[2**53 + 1, 3 * (2**53 + 1)]])
    assert wide.dtype.kind == "i"
    assert (scaled_rows(wide) == [[1 / 3, 1.0]]).all()


def test_unit_normals_have_length_one():
    rows = np.random.default_rng(2).standard_normal((30, 4)) * 10.0 ** np.arange(-15, 15)[:, None]
    assert np.linalg.norm(unit_normals(rows), axis=1) == pytest.approx(1.0, abs=1e-15)


def test_bad_input_is_refused():
    with pytest.raises(InvalidParameter, match=r"normals\[1\] must have a direction"):
        angular_similarity([[1.0, 0.0], [0.0, 0.0]], at(0))
    with pytest.raises(InvalidNumber, match=r"reference\[0, 1\]"):
        angular_similarity(at(0), [[1.0, float("nan")]])
    with pytest.raises(InvalidParameter, match="2 and 3"):
        angular_similarity(at(0), np.eye(3))
    with pytest.raises(InvalidParameter, match="matching"):
        angular_similarity(at(0), at(0), matching="best")
    with pytest.raises(InvalidParameter, match="shape"):
        angles([1.0, 0.0], at(0))
