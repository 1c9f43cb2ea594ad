import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from didact.bec import similarity
from didact.bec.similarity import angle, angles, angular_similarity, scaled_rows, unit_normals
from didact.errors import InvalidNumber, InvalidParameter


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
    monkeypatch.setattr(similarity, "_BLOCK_NUMBERS", 100)
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
