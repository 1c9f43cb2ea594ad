import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial import ConvexHull
from scipy.stats import binom

from didact.errors import InvalidNumber, InvalidParameter
from didact.numerics.intervals import binomial_interval
from didact.random import stream
from tests import volumes
from tests.effort import number
from tests.volumes import cone_volume, count_inside


def chamber(k, *, positive):
    """Rows of w1 >= ... >= wk, and of >= 0 after them."""
    rows = np.eye(k) - np.eye(k, k=1)
    return rows if positive else rows[:-1]


def half_plane_share(rho):
    """Two unit normals with cosine rho: the share of the sphere on their positive sides."""
    return 0.25 + math.asin(rho) / (2.0 * math.pi)


def simplicial_share(rows):
    """Three unit normals: 1/8 + sum of asin(rho) / 4 pi."""
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    pairs = [unit[i] @ unit[j] for i, j in itertools.combinations(range(3), 2)]
    return 0.125 + sum(map(math.asin, pairs)) / (4.0 * math.pi)


def wedge(degrees):
    """Two rows of the plane whose cone has its edges at 0 and at so many degrees."""
    edge = math.radians(degrees)
    return np.array([[0.0, 1.0], [math.sin(edge), -math.cos(edge)]])


SYMMETRIC_CONES = [
    *[(f"orthant {k}", np.eye(k), 2.0**-k) for k in range(1, 7)],
    *[(f"ordered {k}", chamber(k, positive=False), 1 / math.factorial(k)) for k in range(2, 7)],
    *[
        (f"ordered positive {k}", chamber(k, positive=True), 1 / (2**k * math.factorial(k)))
        for k in range(1, 6)
    ],
    ("nothing asked", np.empty((0, 5)), 1.0),
    ("zero row", np.zeros((2, 3)), 1.0),
    ("half-space of an ugly row", [[0.3, -2.0, 1e-7]], 0.5),
    ("half-space of six features", [[1.0, 2.0, -3.0, 0.1, 5.0, 7.0]], 0.5),
    ("three signs of seven features", np.diag([1.0, -2.0, 3.0, 0.0, 0.0, 0.0, 0.0]), 0.125),
    ("two orders among eight", np.eye(8)[[0, 1]] - np.eye(8)[[2, 3]], 0.25),
    ("a duplicate and a redundant row", [[1, 0, 0], [2, 0, 0], [0, 1, 0], [1, 1, 0]], 0.25),
]


@pytest.mark.parametrize("region", ["box", "sphere"])
@pytest.mark.parametrize(
    ("rows", "share"), [c[1:] for c in SYMMETRIC_CONES], ids=[c[0] for c in SYMMETRIC_CONES]
)
def test_symmetric_cones_have_the_same_share_of_box_and_sphere(rows, share, region):
    result = cone_volume(rows, region=region, rng=stream(1, "symmetric", region), confidence=0.9999)
    assert result.low <= result.share <= result.high
    if result.method == "exact":
        assert result.share == pytest.approx(share, abs=1e-15)
        assert (result.low, result.high, result.n_samples) == (result.share, result.share, 0)
    else:
        assert result.low < share < result.high
        assert result.n_samples == 100_000


@pytest.mark.parametrize("k", [1, 2, 3])
def test_small_dimensions_and_single_half_spaces_are_exact(k):
    for region in ("box", "sphere"):
        assert cone_volume(np.ones((k, 6)), region=region, rng=stream(0)).method == "exact"
        assert cone_volume(np.eye(k), region=region, rng=stream(0)).method == "exact"


@pytest.mark.parametrize("degrees", [1e-6, 0.1, 1, 10, 45, 60, 90, 120, 179, 179.999, 180])
def test_wedges_of_the_plane(degrees):
    share = cone_volume(wedge(degrees), region="sphere", rng=stream(0)).share
    assert share == pytest.approx(degrees / 360.0, abs=1e-15)
    rho = -math.cos(math.radians(degrees))
    assert share == pytest.approx(half_plane_share(rho), abs=1e-8)


@pytest.mark.parametrize("slope", [0.0, 0.25, 1.0, 3.0])
def test_wedges_of_the_square(slope):
    """0 <= y <= slope x fills slope/2, or 1 - 1/(2 slope) above the diagonal, of a 4th."""
    quarter = slope / 2.0 if slope <= 1.0 else 1.0 - 0.5 / slope
    share = cone_volume([[0.0, 1.0], [slope, -1.0]], rng=stream(0)).share
    assert share == pytest.approx(quarter / 4.0, abs=1e-15)


@pytest.mark.parametrize("seed", range(20))
def test_three_planes_in_space(seed):
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((3, 3))
    expected = simplicial_share(rows)
    assert cone_volume(rows, region="sphere", rng=rng).share == pytest.approx(expected, abs=1e-14)
    turned = rows @ np.linalg.qr(rng.standard_normal((7, 7)))[0][:3]
    result = cone_volume(turned, region="sphere", rng=rng)
    assert result.method == "exact"
    assert result.share == pytest.approx(expected, abs=1e-14)


def box_share_by_hull(rows):
    """Corners by exact enumeration of plane triples, volume by Qhull: an independent oracle."""
    planes = [([Fraction(int(v)) for v in row], Fraction(0)) for row in rows]
    for axis, side in itertools.product(range(3), (1, -1)):
        planes.append(([Fraction(-side if i == axis else 0) for i in range(3)], Fraction(1)))
    corners = set()
    for triple in itertools.combinations(planes, 3):
        point = solved(triple)
        if point and all(
            sum(n * x for n, x in zip(p, point, strict=True)) + c >= 0 for p, c in planes
        ):
            corners.add(tuple(point))
    spans = np.array([[float(x) for x in corner] for corner in corners])
    if len(corners) < 4 or np.linalg.matrix_rank(spans - spans[0]) < 3:
        return 0.0
    return ConvexHull(spans).volume / 8.0


def solved(triple):
    """The common point of three planes by Cramer's rule, None when there is not exactly one."""
    matrix = [normal for normal, _ in triple]
    whole = determinant(matrix)
    if whole == 0:
        return None
    constants = [-constant for _, constant in triple]
    return [
        determinant([[*r[:i], c, *r[i + 1 :]] for r, c in zip(matrix, constants, strict=True)])
        / whole
        for i in range(3)
    ]


def determinant(m):
    return (
        m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1])
        - m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0])
        + m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0])
    )


SMALL_ROWS = st.lists(
    st.lists(st.integers(-3, 3), min_size=3, max_size=3), min_size=1, max_size=6
).map(np.array)


@given(SMALL_ROWS)
def test_box_share_in_space_is_the_hull_of_the_exact_corners(rows):
    result = cone_volume(rows, rng=stream(0))
    assert result.method == "exact"
    assert result.share == pytest.approx(box_share_by_hull(rows), abs=1e-12)


@given(SMALL_ROWS, st.integers(0, 2**32), st.sampled_from(["box", "sphere"]))
def test_a_cut_divides_the_share(rows, seed, region):
    cut = np.random.default_rng(seed).integers(-3, 4, 3)
    if not cut.any():
        return
    whole = cone_volume(rows, region=region, rng=stream(0)).share
    parts = [
        cone_volume(np.vstack([rows, s * cut]), region=region, rng=stream(0)).share for s in (1, -1)
    ]
    assert sum(parts) == pytest.approx(whole, abs=1e-14)


@given(SMALL_ROWS, st.sampled_from(["box", "sphere"]), st.permutations(range(3)), st.integers(0, 7))
def test_signed_permutations_orders_and_scales_keep_the_share(rows, region, order, signs):
    flips = np.array([1 - 2 * (signs >> i & 1) for i in range(3)])
    moved = (rows * flips)[::-1, list(order)] * np.arange(1, len(rows) + 1)[:, None]
    assert cone_volume(moved, region=region, rng=stream(0)).share == pytest.approx(
        cone_volume(rows, region=region, rng=stream(0)).share, abs=1e-14
    )


@pytest.mark.parametrize("region", ["box", "sphere"])
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_counting_agrees_with_the_exact_share(region, k, seed):
    rows = np.random.default_rng(seed).standard_normal((k + 1, k)) + 0.8
    exact = cone_volume(rows, region=region, rng=stream(0))
    hits = count_inside(rows, region=region, n_samples=50_000, rng=stream(seed, region, k))
    low, high = binomial_interval(hits, 50_000, 0.9999)
    assert exact.method == "exact"
    assert exact.share > 0.0
    assert low < exact.share < high


@pytest.mark.parametrize("region", ["box", "sphere"])
def test_equalities_have_exactly_no_volume(region):
    rng = np.random.default_rng(3)
    for k in (1, 2, 3, 6):
        row = rng.standard_normal(k)
        rows = np.vstack([rng.standard_normal((4, k)), row, -row])
        result = cone_volume(rows, region=region, rng=rng)
        assert (result.share, result.high, result.method) == (0.0, 0.0, "exact")
    huge = [[3 * 10**320, -(10**320), 0, 0], [Fraction(-3, 7), Fraction(1, 7), 0, 0]]
    assert cone_volume(huge, region=region, rng=rng).high == 0.0
    nearly = np.vstack([np.eye(4), [-1.0, 0.0, 0.0, 1e-6]])
    assert cone_volume(nearly, region=region, rng=rng).method == "monte carlo"
    assert cone_volume(nearly, region=region, rng=rng).high > 0.0


def test_three_rows_around_a_plane_leave_no_volume():
    """An equality without opposite rows: they add up to nothing."""
    rows = np.array([[1, 0, 0], [0, 1, 0], [-1, -1, 0]])
    for region in ("box", "sphere"):
        assert cone_volume(rows, region=region, rng=stream(0)).share == pytest.approx(
            0.0, abs=1e-15
        )


@pytest.mark.parametrize("region", ["box", "sphere"])
@pytest.mark.parametrize("chunk_numbers", [64, 4321, 2**25])
def test_the_result_does_not_depend_on_the_chunks(monkeypatch, region, chunk_numbers):
    rows = np.random.default_rng(0).standard_normal((70, 5)) + 2.0
    expected = cone_volume(rows, region=region, n_samples=3000, rng=stream(5))
    assert 0.0 < expected.share < 1.0
    monkeypatch.setattr(volumes, "CHUNK_NUMBERS", chunk_numbers)
    assert cone_volume(rows, region=region, n_samples=3000, rng=stream(5)) == expected


@pytest.mark.parametrize(("k", "n_samples"), [(4, 50), (4, 700), (6, 700)])
def test_intervals_cover_at_the_stated_rate(k, n_samples):
    """Many repetitions: coverage is what the binomial says it is, and never below the promise."""
    share, confidence, repetitions = 2.0**-k, 0.9, number(200, 400)
    table = [binomial_interval(h, n_samples, confidence) for h in range(n_samples + 1)]
    holding = [h for h, (low, high) in enumerate(table) if low <= share <= high]
    rate = float(binom.pmf(holding, n_samples, share).sum())
    assert rate >= confidence
    covered = 0
    for repetition in range(repetitions):
        rng = stream(repetition, "coverage", k, n_samples)
        result = cone_volume(np.eye(k), n_samples=n_samples, confidence=confidence, rng=rng)
        covered += result.low <= share <= result.high
    assert binom.cdf(covered, repetitions, rate) > 1e-4
    assert binom.sf(covered - 1, repetitions, rate) > 1e-4


def test_intervals_without_a_hit_or_a_miss():
    low, high = binomial_interval(0, 1000, 0.95)
    assert (low, high) == (0.0, pytest.approx(1.0 - 0.025 ** (1 / 1000), rel=1e-9))
    low, high = binomial_interval(1000, 1000, 0.95)
    assert (low, high) == (pytest.approx(0.025 ** (1 / 1000), rel=1e-9), 1.0)
    never = cone_volume(chamber(12, positive=True), n_samples=100, rng=stream(0))
    assert never.share == never.low == 0.0
    assert 0.0 < never.high < 0.05


def test_bad_volume_input_is_refused():
    good = np.eye(2)
    with pytest.raises(InvalidParameter, match="region"):
        cone_volume(good, region="ball", rng=stream(0))
    with pytest.raises(InvalidParameter, match="n_samples"):
        cone_volume(good, n_samples=0, rng=stream(0))
    with pytest.raises(InvalidParameter, match="confidence"):
        cone_volume(good, confidence=1.0, rng=stream(0))
    with pytest.raises(InvalidParameter, match="shape"):
        cone_volume([1.0, 2.0], rng=stream(0))
    with pytest.raises(InvalidParameter, match="column"):
        cone_volume(np.empty((2, 0)), rng=stream(0))
    with pytest.raises(InvalidNumber, match=r"rows\[0, 1\]"):
        cone_volume([[1.0, np.nan]], rng=stream(0))
