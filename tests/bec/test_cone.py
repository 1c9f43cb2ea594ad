"""Bounds of weights against all corners, in fractions."""

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from flint import fmpq, fmpq_mat

from didact.bec.classes import demonstration_class, equivalence_class
from didact.bec.cone import cone_of, weight_bounds
from didact.bec.directions import TOLERANCE
from didact.errors import InvalidInput, Unsupported
from didact.mdp import MDP, Task, Transitions
from didact.worlds import make
from tests.effort import chunks

ARITHMETICS = ["exact", "float"]
SQUARE = [(1, 0, 1), (0, 1, 1), (-1, 0, 1), (0, -1, 1)]


def task_of_rows(rows, weights) -> Task:
    """One state for each row r, where taking action 0 instead of 1 is worth r.w; then the end."""
    n, zero = len(rows), [0] * len(rows[0])
    moves = [(s, a, n, 1) for s in range(n) for a in (0, 1)]
    phi = [*([list(row), zero] for row in rows), [zero, zero]]
    return Task(MDP(Transitions.from_rows(moves, n + 1, 2), phi, 0, terminal=[n]), weights)


def cone_of_rows(rows, weights, arithmetic="exact"):
    return equivalence_class(task_of_rows(rows, weights), arithmetic=arithmetic).cone


@pytest.mark.parametrize("arithmetic", ARITHMETICS)
def test_six_cell_has_the_two_facets_of_the_paper(arithmetic):
    cone = equivalence_class(make("six-cell"), arithmetic=arithmetic).cone
    assert cone.n_facets == 2
    assert cone.equalities == ()
    assert (cone.rank, len(cone.lineality), len(cone.unidentifiable)) == (2, 0, 0)
    normals = cone.rows.normals[cone.facet_rows()]
    ratio = -normals[1] / normals[1, 1]
    np.testing.assert_allclose([normals[0], ratio], [[-1, 0], [2.539, -1]], atol=1e-12)


@pytest.mark.parametrize("arithmetic", ARITHMETICS)
@pytest.mark.parametrize(
    ("weights", "position"),
    [
        ((-1, -10), "inside"),
        ((-1, -3), "inside"),
        ((-1, "-2.539"), "boundary"),
        ((-1, "-2.5"), "outside"),
        ((0, -1), "boundary"),
        ((0, 0), "boundary"),
        ((1, -10), "outside"),
        ((Fraction(-1, 3), -1), "inside"),
    ],
)
def test_where_weights_lie(arithmetic, weights, position):
    cone = equivalence_class(make("six-cell"), arithmetic=arithmetic).cone
    assert cone.contains(weights) == position


def test_exact_answers_see_what_floats_do_not():
    cone = equivalence_class(make("six-cell"), arithmetic="exact").cone
    assert cone.contains((-1, "-2.53900000000000000000001")) == "inside"
    assert cone.contains((-1, "-2.53899999999999999999999")) == "outside"
    floats = equivalence_class(make("six-cell"), arithmetic="float").cone
    assert floats.contains((-1, "-2.53899999999999999999999")) == "boundary"


@pytest.mark.parametrize("arithmetic", ARITHMETICS)
def test_positions_do_not_depend_on_the_length_of_weights(arithmetic):
    cone = equivalence_class(make("six-cell"), arithmetic=arithmetic).cone
    for scale in (1e-200, 1e-9, 1e9, 1e200):
        assert cone.contains(np.array([-1, -10]) * scale) == "inside"
        assert cone.contains(np.array([1, -10]) * scale) == "outside"


@pytest.mark.parametrize("arithmetic", ARITHMETICS)
def test_equalities_must_hold(arithmetic):
    """uvm-failure: grey = white; red is at most that."""
    cone = equivalence_class(make("uvm-failure"), arithmetic=arithmetic).cone
    names = make("uvm-failure").mdp.feature_names
    assert len(cone.lineality) == 1
    assert cone.n_facets == 2
    assert cone.rank == 3

    def at(**weights):
        return cone.contains([weights[name] for name in names])

    assert at(white=-1, grey=-1, red=-5) == "inside"
    assert at(white=-1, grey="-1.001", red=-5) == "outside"
    assert at(white=-1, grey=-1, red=-1) == "boundary"
    assert at(white=1, grey=1, red=-1) == "outside"


@pytest.mark.parametrize("arithmetic", ARITHMETICS)
@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1], r"weights must have 2 entries; the shape is \(1,\)"),
        ([[1, 2]], r"weights must have 2 entries; the shape is \(1, 2\)"),
        ([math.nan, 1], r"weights\[0\] must be a finite number"),
        (["one", 1], r"weights\[0\] must be a finite number such as"),
        (None, "weights"),
    ],
)
def test_bad_weights_are_refused_in_one_line(arithmetic, weights, message):
    cone = equivalence_class(make("six-cell"), arithmetic=arithmetic).cone
    with pytest.raises(InvalidInput, match=message):
        cone.contains(weights)


# The centre


@pytest.mark.parametrize("arithmetic", ARITHMETICS)
def test_the_centre_of_a_square_cone_is_its_axis(arithmetic):
    center = cone_of_rows(SQUARE, (0, "0.2", 1), arithmetic).center()
    np.testing.assert_allclose(center, [0, 0, 1], atol=1e-12)


@pytest.mark.parametrize("arithmetic", ARITHMETICS)
def test_the_centre_of_a_wedge_halves_its_angle(arithmetic):
    cone = equivalence_class(make("six-cell"), arithmetic=arithmetic).cone
    walls = cone.rows.normals[cone.facet_rows()] @ cone.center()
    assert walls[0] == pytest.approx(walls[1], abs=1e-12)
    angle = math.atan2(1, 2.539)
    assert walls[0] == pytest.approx(math.sin(angle / 2), abs=1e-12)
    assert np.linalg.norm(cone.center()) == pytest.approx(1)


@pytest.mark.parametrize("arithmetic", ARITHMETICS)
def test_no_other_point_has_a_larger_margin(arithmetic):
    rng = np.random.default_rng(0)
    for seed in range(5):
        task = make("random-grid", size=4, n_features=3, seed=seed)
        cone = equivalence_class(task, arithmetic=arithmetic).cone
        normals = cone.rows.normals[cone.facet_rows()]
        margin = (normals @ cone.center()).min()
        points = cone.center() + 0.1 * rng.standard_normal((2000, 3))
        points /= np.linalg.norm(points, axis=1, keepdims=True)
        assert (points @ normals.T).min(axis=1).max() <= margin + 1e-12


def test_the_centre_lies_in_the_subspace_of_equalities():
    """Symmetric walls about the plane w0 = w1: x >= z and y >= z there are one facet."""
    rows = [(1, -1, 0), (1, 0, "-1"), (0, 0, 1)]
    for arithmetic in ARITHMETICS:
        cone = cone_of_rows(rows, (2, 2, 1), arithmetic)
        assert len(cone.equalities) == 2
        center = cone.center()
        assert center[0] == pytest.approx(center[1], abs=1e-15)
        assert cone_of_rows(rows, (2, 2, 1), "float").contains(center) == "inside"
    exact = cone_of_rows(rows, (2, 2, 1))
    assert exact.contains(exact.exact_center()) == "inside"
    np.testing.assert_allclose(
        np.array(exact.exact_center(), dtype=float), center / np.abs(center).max(), atol=1e-9
    )


def test_exact_centres_satisfy_equalities_that_floats_cannot():
    """w0 = 3 w1: no float center is likely to say so exactly."""
    cone = cone_of_rows([(1, -3, 0), (0, 1, 0), (0, 0, 1), (0, 7, -1)], (3, 1, 1))
    point = cone.exact_center()
    assert point[0] == 3 * point[1]
    assert max(map(abs, point)) == 1
    assert cone.contains(point) == "inside"


@pytest.mark.parametrize("arithmetic", ARITHMETICS)
def test_without_facets_the_centre_is_the_truth(arithmetic):
    cone = cone_of_rows([(1, -1)], (2, 2), arithmetic)
    assert cone.n_facets == 0
    np.testing.assert_allclose(cone.center(), [0.5**0.5] * 2)


def test_a_wedge_too_thin_for_floats_has_no_centre():
    thin = Fraction(1, 10**12)
    cone = cone_of_rows([(0, 1), (thin, -1)], (1, thin / 2))
    assert cone.n_facets == 2
    with pytest.raises(Unsupported, match="no interior point with a positive margin"):
        cone.center()


def test_exact_centres_need_exact_rows():
    with pytest.raises(Unsupported, match="build it with arithmetic='exact'"):
        cone_of_rows(SQUARE, (0, 0, 1), "float").exact_center()


# Equality and inclusion


def test_classes_of_demonstrations_shrink_to_the_class_of_the_policy():
    bec = equivalence_class(make("six-cell"))
    one, both = (demonstration_class(bec, d) for d in ([[(3, 0)]], [[(3, 0)], [(2, 1)]]))
    assert bec.cone.is_subset(one)
    assert not one.is_subset(bec.cone)
    assert not one.equals(bec.cone)
    assert not bec.cone.equals(one)
    assert both.equals(bec.cone)
    assert bec.cone.equals(both)


def test_equal_classes_may_have_different_rows():
    """Modulo w0 = w1 the facets w0 >= w2 and w1 >= w2 are the same."""
    left = cone_of_rows([(1, -1, 0), (1, 0, -1)], (1, 1, 0))
    right = cone_of_rows([(1, -1, 0), (0, 1, -1)], (1, 1, 0))
    assert left.equals(right)
    assert not left.equals(cone_of_rows([(1, -1, 0), (0, -1, 1)], (1, 1, 2)))


def test_the_whole_space_holds_every_class():
    bec = equivalence_class(make("six-cell"))
    nothing = demonstration_class(bec, [])
    assert bec.cone.is_subset(nothing)
    assert not nothing.is_subset(bec.cone)
    assert nothing.equals(nothing)


def test_classes_of_other_features_are_not_compared():
    left, right = (equivalence_class(make(name)).cone for name in ("six-cell", "chain"))
    with pytest.raises(InvalidInput, match="as many entries; these have 2 and 3"):
        left.is_subset(right)


def test_inclusion_needs_exact_rows():
    cone = equivalence_class(make("six-cell"), arithmetic="float").cone
    with pytest.raises(Unsupported, match="computed in floats; build it with arithmetic='exact'"):
        cone.equals(cone)


# Identifiability


@pytest.mark.parametrize("arithmetic", ARITHMETICS)
@pytest.mark.parametrize(
    ("make_features", "loose"),
    [
        (lambda x: [x[0], x[1], x[1]], (0, 1, -1)),
        (lambda x: [x[0], x[1], 0], (0, 0, 1)),
        (lambda x: [x[0], x[1], x[0] + 2 * x[1]], (1, 2, -1)),
    ],
    ids=["duplicate", "zero", "dependent"],
)
def test_directions_that_nothing_can_fix_are_reported(arithmetic, make_features, loose):
    six = make("six-cell").mdp
    features = [make_features(row) for row in six.features.floats.astype(int).tolist()]
    mdp = MDP(six.transitions, features, "0.9", terminal=six.terminal)
    cone = equivalence_class(Task(mdp, [-1, -10, 0]), arithmetic=arithmetic).cone
    assert cone.rank == 2
    assert len(cone.unidentifiable) == 1
    direction = np.array(cone.unidentifiable[0], dtype=float)
    along = abs(direction @ loose) / np.linalg.norm(direction) / np.linalg.norm(loose)
    assert along == pytest.approx(1, abs=1e-12)
    assert np.abs(cone.rows.normals @ direction).max() < 1e-12
    assert cone.contains([-1 + 7 * loose[0], -10 + 7 * loose[1], 7 * loose[2]]) == "inside"


@pytest.mark.parametrize("arithmetic", ARITHMETICS)
def test_without_rows_nothing_is_fixed(arithmetic):
    cone = equivalence_class(make("random-grid", size=2, n_features=1), arithmetic=arithmetic).cone
    assert (cone.rank, cone.n_facets, cone.equalities) == (0, 0, ())
    assert cone.unidentifiable.tolist() == [[1]]
    assert cone.contains([5]) == cone.contains([-5]) == "inside"


# Near-degenerate rows


@pytest.mark.parametrize("digits", range(5, 13))
def test_a_row_just_outside_is_a_facet_exactly_and_never_vanishes_in_floats(digits):
    """(1 + e, 1 + e, 2) sticks out of the square cone by an angle of about e / 2."""
    angle = Fraction(1, 10**digits)
    rows = [*SQUARE, (1 + 2 * angle, 1 + 2 * angle, 2)]
    exact = cone_of_rows(rows, (0, 0, 1))
    assert exact.facets == ((0,), (1,), (2,), (3,), (4,))
    floats = cone_of_rows(rows, (0, 0, 1), "float")
    if floats.n_facets == 5:
        decided = floats.margin < 2 * float(angle)
        assert decided or floats.n_unknown == 1
        assert decided == (digits < 9)
    else:
        assert floats.largest_residual > 0.5 * float(angle), "it must say what it took for zero"
        assert digits == 12


@pytest.mark.parametrize("digits", range(5, 13))
def test_a_row_just_inside_is_redundant_in_both(digits):
    angle = Fraction(1, 10**digits)
    rows = [*SQUARE, (1 - 2 * angle, 1 - 2 * angle, 2)]
    for arithmetic in ARITHMETICS:
        cone = cone_of_rows(rows, (0, 0, 1), arithmetic)
        assert cone.facets == ((0,), (1,), (2,), (3,))
        assert cone.n_unknown == 0


@pytest.mark.parametrize("digits", range(5, 13))
def test_near_facets_are_two_exactly_and_one_at_most_within_the_tolerance(digits):
    angle = Fraction(1, 10**digits)
    rows = [(1, 0, 1), (1, angle, 1), (-1, 0, 1), (0, -1, 1)]
    assert cone_of_rows(rows, (0, 0, 1)).n_facets == 4
    floats = cone_of_rows(rows, (0, 0, 1), "float")
    assert floats.n_facets == 4 or 0 < floats.rows.spread <= TOLERANCE
    assert (floats.n_facets == 4) == (digits < 9)


@pytest.mark.parametrize("digits", range(5, 13))
def test_a_near_equality_is_none_exactly(digits):
    """w1 - w0 >= -e w2 and w0 - w1 >= 0 leave a slit; together they say that w2 >= 0."""
    slit = Fraction(1, 10**digits)
    rows = [(1, -1, 0), (-1, 1, slit), (0, 0, 1), (0, 1, 0)]
    exact = cone_of_rows(rows, (1 + slit / 2, 1, 1))
    assert exact.equalities == ()
    assert exact.facets == ((0,), (1,), (3,))
    floats = cone_of_rows(rows, (1 + slit / 2, 1, 1), "float")
    assert floats.facets == exact.facets or floats.largest_residual > float(slit) / 4
    assert (floats.facets == exact.facets) == (digits < 9)


# What is proved


def test_exact_cones_are_proved_and_float_cones_are_numerical():
    exact, floats = (
        equivalence_class(make("six-cell"), arithmetic=arithmetic).cone
        for arithmetic in ARITHMETICS
    )
    assert (exact.arithmetic, exact.is_proved, exact.margin) == ("exact", True, None)
    assert (floats.arithmetic, floats.is_proved) == ("float", False)
    assert floats.margin > 0.05
    assert floats.largest_residual < 1e-12
    assert floats.multipliers == floats.opposites == {}
    assert floats.witnesses == ()


def test_true_weights_that_break_a_row_are_a_bug():
    bec = equivalence_class(make("six-cell"))
    other = Task(bec.task.mdp, [1, 1]).true_weights
    with pytest.raises(AssertionError, match="excludes the point inside"):
        cone_of(bec.rows, other)


def corners(rows, k: int, unit: int, sign: int) -> list[list[Fraction]]:
    """Every point with w[unit] = sign where k - 1 rows are tight and none is broken."""
    axis = [int(i == unit) for i in range(k)]
    all_rows = fmpq_mat(len(rows), k, [fmpq(x) for row in rows for x in row])
    found = []
    for tight in combinations(rows, k - 1):
        system = fmpq_mat(k, k, [fmpq(x) for row in (axis, *tight) for x in row])
        if system.det() == 0:
            continue
        point = system.solve(fmpq_mat(k, 1, [fmpq(sign), *[fmpq(0)] * (k - 1)]))
        kept = all_rows * point
        if all(kept[i, 0] >= 0 for i in range(len(rows))):
            found.append([Fraction(int(point[i, 0].p), int(point[i, 0].q)) for i in range(k)])
    return found


@pytest.mark.parametrize("seed", chunks(8, 12))
@pytest.mark.parametrize("k", [2, 3, 4])
def test_bounds_are_those_of_the_corners(seed, k):
    rng = np.random.default_rng([seed, k])
    inside = rng.integers(-5, 6, size=k)
    unit = int(rng.integers(k))
    inside[unit] = sign = int(rng.choice([-1, 1]))
    drawn = [tuple(int(x) for x in row) for row in rng.integers(-9, 10, size=(12, k))]
    rows = [row if np.dot(row, inside) >= 0 else tuple(-x for x in row) for row in drawn]
    rows = [row for row in rows if any(row)]
    found, points = weight_bounds(rows, k, unit, sign), corners(rows, k, unit, sign)
    assert points
    for i, (low, high) in enumerate(found):
        assert low.is_proved
        assert high.is_proved
        values = [point[i] for point in points]
        assert low.value is None or low.value == min(values)
        assert high.value is None or high.value == max(values)


def test_what_nothing_bounds_has_no_bound():
    (low, high), unit = weight_bounds([(1, 0)], 2, 1, -1)
    assert (low.value, high.value) == (0, None)
    assert (unit[0].value, unit[1].value) == (-1, -1)
    assert [bound.value for bound in weight_bounds([], 2, 1, 1)[0]] == [None, None]


def test_an_equality_is_a_bound_on_both_sides():
    (low, high), _ = weight_bounds([(3, -1), (-3, 1)], 2, 1, 1)
    assert low.value == high.value == Fraction(1, 3)
