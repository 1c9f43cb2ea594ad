"""Facets and lineality against exact double description, linear programs and closed forms."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given
from hypothesis import strategies as st

from didact.bec.directions import TOLERANCE, label_units, unit_rows
from didact.bec.facets import IS_EQUALITY, IS_REDUNDANT, _first_met, find_facets
from didact.errors import InvalidParameter
from didact.numerics import compiled as kernels
from tests.effort import number


def grid_world_rows(size, k, seed, discount=0.95):
    """Rows mu(s, a*) - mu(s, b) of a random grid with one-hot features, and its weights."""
    rng = np.random.default_rng(seed)
    n = size * size
    weights = rng.exponential(size=k) * rng.choice([-1.0, 1.0], size=k)
    weights /= np.abs(weights).sum()
    features = np.eye(k)[rng.integers(k, size=n)]
    row, column = np.divmod(np.arange(n), size)
    moves = [(-1, 0), (1, 0), (0, -1), (0, 1)]
    following = np.column_stack(
        [
            np.clip(row + down, 0, size - 1) * size + np.clip(column + right, 0, size - 1)
            for down, right in moves
        ]
    )
    policy = np.zeros(n, dtype=int)
    while True:
        transition = np.eye(n)[following[np.arange(n), policy]]
        counts = np.linalg.solve(np.eye(n) - discount * transition, features)
        values = (counts @ weights)[following]
        best = values.max(axis=1)
        better = best > values[np.arange(n), policy] + 1e-10
        if not better.any():
            break
        policy[better] = values[better].argmax(axis=1)
    after = discount * counts[following]
    rows = (after[np.arange(n), policy][:, None, :] - after).reshape(-1, k)
    return rows[np.linalg.norm(rows, axis=1) > 1e-12], weights


def lp_facets(rows):
    """Rows that survive removal one at a time, each tested by one linear program."""
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    kept = list(range(len(units)))
    for row in range(len(units)):
        others = units[[other for other in kept if other != row]]
        program = scipy.optimize.linprog(
            units[row],
            A_ub=np.vstack([-others, -units[row]]),
            b_ub=np.append(np.zeros(len(others)), 1.0),
            bounds=(None, None),
        )
        assert program.status == 0
        if program.fun > -1e-6:
            kept.remove(row)
    return kept


def exact_cone(rows):
    """Implicit equalities, dimension of L and surviving facet rows, by cddlib in fractions."""
    cdd, exact = pytest.importorskip("cdd"), pytest.importorskip("cdd.gmp")
    matrix = [[0, *map(int, row)] for row in rows]
    equalities = exact.implicit_linearity_rows(
        exact.matrix_from_array(matrix, rep_type=cdd.RepType.INEQUALITY)
    )
    canonical = exact.matrix_from_array(matrix, rep_type=cdd.RepType.INEQUALITY)
    _, _, positions = exact.matrix_canonicalize(canonical)
    dimension = len(canonical.lin_set)
    facets = [row for row, at in enumerate(positions) if at is not None and at >= dimension]
    return sorted(equalities), dimension, facets


def integer_cone(rng, n, k):
    """Small integer rows that a small integer point satisfies, many of them with equality."""
    point = rng.integers(-1, 2, size=k)
    rows = rng.integers(-2, 3, size=(n, k))
    rows = rows * np.where(rows @ point < 0, -1, 1)[:, None]
    copies = rows[rng.integers(n, size=n // 3)] * rng.integers(1, 4, size=(n // 3, 1))
    return np.concatenate([rows, copies]), point


def check_consistent(rows, cone):
    """What must hold of every answer, whatever the rows."""
    n, k = rows.shape
    assert cone.facet_of.shape == (n,)
    for place, facet in enumerate(cone.facets):
        assert np.flatnonzero(cone.facet_of == place)[0] == facet
    assert cone.facet_of.max(initial=-1) == len(cone.facets) - 1
    assert (np.diff(cone.facets) > 0).all()
    assert cone.equalities.tolist() == np.flatnonzero(cone.facet_of == IS_EQUALITY).tolist()
    gram = cone.lineality @ cone.lineality.T
    np.testing.assert_allclose(gram, np.eye(len(cone.lineality)), atol=1e-12)
    assert cone.lineality.shape[1] == k
    assert cone.largest_residual <= TOLERANCE < cone.margin


class TestAgainstOracles:
    @given(st.integers(0, 10**6), st.integers(1, 5), st.integers(1, 14))
    def test_integer_rows_agree_with_exact_double_description(self, seed, k, n):
        rng = np.random.default_rng(seed)
        rows, point = integer_cone(rng, n, k)
        rows = rows[np.any(rows != 0, axis=1)]
        cone = find_facets(rows, point)
        check_consistent(rows, cone)
        equalities, dimension, facets = exact_cone(rows)
        assert cone.equalities.tolist() == list(equalities)
        assert len(cone.lineality) == dimension
        assert sorted(cone.facet_of[facets]) == list(range(len(cone.facets)))
        assert cone.n_unknown == 0

    @pytest.mark.parametrize(("size", "k", "seed"), [(5, 4, 0), (6, 6, 1), (6, 8, 2)])
    def test_grid_worlds_agree_with_linear_programs(self, size, k, seed):
        rows, weights = grid_world_rows(size, k, seed)
        cone = find_facets(rows, weights)
        check_consistent(rows, cone)
        assert cone.margin > 1e-5
        assert cone.largest_residual < 1e-12
        distinct = label_units(unit_rows(rows))[1]
        assert distinct[lp_facets(rows[distinct])].tolist() == cone.facets.tolist()

    @given(st.integers(0, 10**6), st.integers(1, 40))
    def test_in_the_plane_the_outer_angles_are_the_facets(self, seed, n):
        rng = np.random.default_rng(seed)
        angles = rng.uniform(-1.5, 1.5, size=n)
        rows = np.column_stack([np.cos(angles), np.sin(angles)]) * rng.uniform(0.1, 9, size=(n, 1))
        cone = find_facets(rows, [1.0, 0.0])
        assert set(cone.facets) == {angles.argmin(), angles.argmax()}

    def test_rays_of_a_round_cone_are_all_facets(self):
        angles = np.linspace(0.0, 2 * np.pi, 300, endpoint=False)
        round_rows = np.column_stack([np.cos(angles), np.sin(angles), np.ones(300)])
        inner = round_rows * [0.9, 0.9, 1.0]
        cone = find_facets(np.concatenate([inner, round_rows]), [0.05, 0.02, 1.0])
        assert cone.facets.tolist() == list(range(300, 600))
        sagitta = (1 - np.cos(angles[1])) / np.sqrt(2)
        assert 0 < cone.margin < sagitta

    @pytest.mark.parametrize("n", [200, pytest.param(700, marks=pytest.mark.slow)])
    def test_more_facets_than_the_first_room(self, n):
        rng = np.random.default_rng(4)
        sphere = rng.standard_normal((n, 5))
        sphere /= np.linalg.norm(sphere, axis=1, keepdims=True)
        rows = np.column_stack([sphere, np.ones(n)])
        inner = np.column_stack([0.2 * sphere, np.ones(n)])
        cone = find_facets(np.concatenate([rows, inner]), [0.0, 0.1, 0.0, 0.0, 0.0, 1.0])
        assert cone.facets.tolist() == list(range(n))


def test_first_met_is_the_nearest_half_space_along_the_ray():
    rng = np.random.default_rng(6)
    for _ in range(50):
        rows = rng.standard_normal((30, 4))
        slack = rng.random(30)
        separator = rng.standard_normal(4)
        settled = rng.random(30) < 0.2
        speed = rows @ separator
        crossing = np.where((speed > 0) & ~settled, slack / speed, np.inf)
        start = int(np.argmax((speed > 0) & ~settled))
        assert _first_met(rows, slack, settled, start, separator) == crossing.argmin()


class TestLineality:
    def test_pairs_of_opposite_rows(self):
        """{e1, -e1, e2, e1 + e2}: both e2 rows are one facet modulo L, neither is lost."""
        cone = find_facets([[1, 0], [-1, 0], [0, 1], [1, 1]], [0, 1])
        assert cone.facet_of.tolist() == [IS_EQUALITY, IS_EQUALITY, 0, 0]
        np.testing.assert_allclose(np.abs(cone.lineality), [[1, 0]])

    def test_a_three_way_tie_in_every_order(self):
        """Rows that only together make equalities: no row has its negative among them."""
        rng = np.random.default_rng(0)
        rows = np.array([[1, -1, 0], [0, 1, -1], [-1, 0, 1], [1, 1, 1], [2, 0, 1], [1, 0, 0]])
        for _ in range(30):
            order = rng.permutation(len(rows))
            cone = find_facets(rows[order], [1, 1, 1])
            assert len(cone.lineality) == 2
            assert set(order[cone.equalities]) == {0, 1, 2}
            assert cone.facet_of[cone.facet_of >= 0].tolist() == [0, 0, 0]

    def test_boundary_point_that_makes_no_equality(self):
        cone = find_facets(np.eye(3), [1, 0, 0])
        assert cone.facets.tolist() == [0, 1, 2]
        assert len(cone.lineality) == 0

    def test_the_origin_as_point_says_nothing_and_is_enough(self):
        rows = [[1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1], [0, 0, -1], [1, 2, 5]]
        cone = find_facets(rows, [0, 0, 0])
        assert cone.facets.tolist() == [0, 1]
        assert cone.equalities.tolist() == [3, 4]
        assert cone.facet_of.tolist() == [0, 1, IS_REDUNDANT, -2, -2, IS_REDUNDANT]

    def test_the_whole_space(self):
        rng = np.random.default_rng(1)
        rows = np.concatenate([np.eye(4), [-np.ones(4)], rng.standard_normal((5, 4))])
        cone = find_facets(rows, np.zeros(4))
        assert len(cone.lineality) == 4
        assert len(cone.equalities) == 10
        assert len(cone.facets) == 0
        assert cone.margin == np.inf

    def test_noise_on_equalities_stays_an_equality(self):
        rng = np.random.default_rng(7)
        base = rng.standard_normal((4, 6))
        point = np.linalg.svd(base)[2][-1]
        strict = rng.standard_normal((20, 6))
        strict *= np.sign(strict @ point)[:, None]
        rows = np.concatenate([base, -base, strict])
        rows += 1e-14 * rng.standard_normal(rows.shape)
        cone = find_facets(rows, point)
        assert cone.equalities.tolist() == list(range(8))
        assert len(cone.lineality) == 4
        assert cone.n_unknown == 0


class TestSmallAndBadInput:
    def test_one_dimension(self):
        assert find_facets([[2.0], [3.0]], [1.0]).facet_of.tolist() == [0, 0]
        assert find_facets([[-2.0]], [-0.5]).facets.tolist() == [0]
        assert len(find_facets([[1.0], [-1.0]], [0.0]).lineality) == 1
        assert find_facets([[1.0], [4.0]], [0.0]).facets.tolist() == [0]

    def test_no_rows(self):
        cone = find_facets(np.zeros((0, 3)), [1.0, 2.0, 3.0])
        assert cone.lineality.shape == (0, 3)
        assert (len(cone.facets), cone.margin, cone.n_unknown) == (0, np.inf, 0)

    def test_a_point_outside_is_refused(self):
        with pytest.raises(InvalidParameter, match="row 2 is violated"):
            find_facets([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]], [1.0, 1.0])


class TestTolerance:
    @pytest.mark.parametrize("height", [1e-5, 1e-6, 1e-7, 1e-8, 3e-9])
    @pytest.mark.parametrize("k", [3, 6])
    def test_a_row_just_outside_a_face_is_a_facet(self, height, k):
        middle = np.ones(k) / np.sqrt(k)
        middle[-1] = -height
        cone = find_facets(np.vstack([middle, np.eye(k)]), np.arange(2.0 * k, k, -1.0))
        assert 0 in cone.facets
        assert cone.n_unknown == 0
        assert 0 < cone.margin <= 1.6 * height

    @pytest.mark.parametrize("height", [1e-5, 1e-8, 1e-10, 0.0])
    def test_a_row_just_inside_a_face_is_redundant(self, height):
        cone = find_facets([[1, 1, height], [1, 0, 0], [0, 1, 0], [0, 0, 1]], [1, 1, 1])
        assert cone.facet_of.tolist() == [IS_REDUNDANT, 0, 1, 2]

    @pytest.mark.parametrize("height", [3e-11, 1e-10, 5e-10])
    def test_what_tolerance_cannot_tell_is_kept_and_counted(self, height):
        cone = find_facets([[1, 1, -height], [1, 0, 0], [0, 1, 0], [0, 0, 1]], [1, 1, 1])
        assert cone.facets.tolist() == [0, 1, 2, 3]
        assert cone.n_unknown == 1

    @pytest.mark.parametrize("angle", [1e-5, 1e-6, 1e-7, 1e-8])
    def test_narrow_wedges(self, angle):
        """Three rows at a tiny angle in the plane: the outer two are the facets."""
        angles = np.array([0.3, 0.3 + angle / 2, 0.3 + angle])
        rows = np.column_stack([np.cos(angles), np.sin(angles)])
        assert find_facets(rows, [np.cos(0.3), np.sin(0.3)]).facets.tolist() == [0, 2]

    @pytest.mark.parametrize("angle", [1e-3, 1e-4, 1e-5])
    def test_tight_bundles_are_never_silently_thinned(self, angle):
        """Rays on a tiny circle: their distances are squares of the angle between them."""
        turns = np.linspace(0.0, 2 * np.pi, 6, endpoint=False)
        bundle = np.column_stack([angle * np.cos(turns), angle * np.sin(turns), np.ones(6)])
        cone = find_facets(bundle, [0.0, 0.0, 1.0])
        assert len(cone.facets) == 6


class TestInvariance:
    @pytest.mark.parametrize("seed", range(4))
    def test_order_and_length_of_rows_do_not_matter(self, seed):
        rows, weights = grid_world_rows(7, 6, seed)
        cone = find_facets(rows, weights)
        order = np.random.default_rng(seed).permutation(len(rows))
        stretch = np.random.default_rng(seed).uniform(0.5, 2.0, size=(len(rows), 1))
        other = find_facets((rows * stretch)[order], 5.0 * weights)
        assert len(cone.facets) == len(other.facets)
        pairs = set(zip(cone.facet_of[order], other.facet_of, strict=True))
        assert len(pairs) == len(set(cone.facet_of))

    def test_any_point_inside_gives_the_same_facets(self):
        rows, weights = grid_world_rows(7, 6, 3)
        facets = find_facets(rows, weights).facets
        units = rows[facets] / np.linalg.norm(rows[facets], axis=1, keepdims=True)
        step = 0.9 * (units @ weights).min() * units[0]
        for point in (np.zeros(6), weights - step, weights + step):
            assert find_facets(rows, point).facets.tolist() == facets.tolist()

    def test_plain_and_compiled_kernels_agree(self, monkeypatch):
        rows, weights = grid_world_rows(6, 5, 8)
        monkeypatch.setattr(kernels.Kernel, "run", lambda self, _, *given: self.compiled(*given))
        compiled = find_facets(rows, weights)
        monkeypatch.setattr(kernels.Kernel, "run", lambda self, _, *given: self.plain(*given))
        plain = find_facets(rows, weights)
        assert compiled.facet_of.tolist() == plain.facet_of.tolist()
        assert (compiled.margin, compiled.largest_residual) == (
            plain.margin,
            plain.largest_residual,
        )


@pytest.mark.parametrize("has_ties", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_copies_of_rows_change_no_facet(seed, has_ties):
    rng = np.random.default_rng(seed)
    rows, weights = grid_world_rows(4, 4, seed)
    if has_ties:
        across = np.cross(weights[:3], rng.standard_normal(3))
        rows = np.vstack([rows, np.append(across, 0.0), np.append(-across, 0.0)])
    rows = rows[np.linalg.norm(rows, axis=1) > 1e-9]
    rows = rows[label_units(unit_rows(rows))[1]]
    once, twice = find_facets(rows, weights), find_facets(np.vstack([rows, 3.0 * rows]), weights)
    assert len(once.equalities) == 2 * has_ties
    assert once.facets.tolist() == twice.facets.tolist()
    assert twice.facet_of.tolist() == 2 * once.facet_of.tolist()


@pytest.mark.parametrize("apart", [1.1e-9, 2.21057989e-9, 1e-8, 1e-7, 1e-6])
@pytest.mark.parametrize("plain", [True, False])
def test_two_rows_that_hardly_differ_are_two_facets(apart, plain, monkeypatch):
    """In the plane any two directions are facets; one's distance squared is below all rounding."""
    way = (
        (lambda self, _, *given: self.plain(*given))
        if plain
        else (lambda self, _, *given: self.compiled(*given))
    )
    monkeypatch.setattr(kernels.Kernel, "run", way)
    for turn in np.linspace(0.0, 2 * np.pi, number(31, 97)):
        angles = turn + np.array([0.0, apart])
        rows = np.column_stack([np.cos(angles), np.sin(angles)])
        for inside in (rows[0], np.array([np.cos(turn + 1.5), np.sin(turn + 1.5)])):
            found = find_facets(rows, inside)
            assert found.facets.tolist() == [0, 1]
            assert found.equalities.size == 0
    assert find_facets([[0.0, 1.0], [apart, 1.0]], [-1.0, 20.0]).facets.tolist() == [0, 1]
    assert find_facets([[apart, 1.0], [0.0, 1.0]], [-1.0, 20.0]).facets.tolist() == [0, 1]
