"""Greedy volume minimisation against the algorithm taken literally, on the same points."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

from didact.bec.classes import equivalence_class
from didact.errors import InvalidParameter
from didact.random import stream
from didact.teaching.teachers import minimise_volume
from didact.worlds import make
from tests.effort import number
from tests.volumes import cone_volume


def points_of(rng, n_samples, k, region):
    """All points at once, from the four words that the rng gives."""
    words = rng.integers(0, 2**64, size=4, dtype=np.uint64).tolist()
    source = np.random.default_rng(words)
    if region == "sphere":
        return source.standard_normal((n_samples, k))
    return 2.0 * source.random((n_samples, k)) - 1.0


def literal(normals, stated, points, *, threshold=0.0, budget=None):
    """The appendix's algorithm: G of every candidate at every step, on all points."""
    values = np.zeros((len(points), len(normals)))
    for coordinate in range(points.shape[1]):
        values = values + points[:, coordinate, None] * normals[None, :, coordinate]
    fits = [(values[:, rows] >= 0.0).all(axis=1) for rows in stated]
    alive = np.ones(len(points), dtype=bool)
    picks, volumes = [], [1.0]
    while volumes[-1] > threshold and (budget is None or len(picks) < budget):
        shares = [(alive & fit).sum() / len(points) for fit in fits]
        best = min(range(len(shares)), key=lambda i: (shares[i], i), default=None)
        if best is None or shares[best] >= volumes[-1]:
            break
        alive &= fits[best]
        picks.append(best)
        volumes.append(shares[best])
    return tuple(picks), tuple(volumes)


def random_case(rng, largest_k=6, largest_m=20):
    """Rows with ties, duplicates, zeros and opposites; most often some weights satisfy them all.

    Candidates may state nothing, or one row twice.
    """
    k = int(rng.integers(1, largest_k + 1))
    m = int(rng.integers(1, largest_m + 1))
    if rng.random() < 0.5:
        normals = rng.integers(-1, 2, size=(m, k)).astype(float)
    else:
        normals = rng.standard_normal((m, k)) * 10.0 ** rng.integers(-3, 4)
        normals[rng.random((m, k)) < 0.3] = 0.0
    copied = rng.integers(0, m, size=m // 3)
    normals[rng.integers(0, m, size=m // 3)] = rng.choice([-1.0, 1.0]) * normals[copied]
    if rng.random() < 0.7:
        normals[normals @ rng.standard_normal(k) < 0.0] *= -1.0
    n = int(rng.choice([0, 1, 5, 10, 20, 20]))
    sizes = rng.choice([0, 1, 1, 1, 1, 2], size=n)
    stated = [rng.integers(0, m, size=size).tolist() for size in sizes]
    return normals, stated


def random_settings(rng):
    return {
        "threshold": float(rng.choice([0.0, 0.0, 0.0, 0.0, 0.02, 0.1])),
        "budget": [None, None, None, None, None, None, 0, 3][rng.integers(8)],
    }


@pytest.mark.parametrize("region", ["box", "sphere"])
def test_picks_and_volumes_are_those_of_the_literal_algorithm(region):
    rng = stream(3, "literal", region)
    n_long = 0
    for trial in range(number(120, 400)):
        normals, stated = random_case(rng)
        n_samples, settings = int(rng.integers(1, 400)), random_settings(rng)
        found = minimise_volume(
            normals,
            stated,
            n_samples=n_samples,
            rng=stream(trial),
            region=region,
            **settings,
        )
        points = points_of(stream(trial), n_samples, normals.shape[1], region)
        assert (found.numbers, found.volumes) == literal(normals, stated, points, **settings)
        n_long += len(found.numbers) > 2
    assert n_long > number(15, 50)


def test_picks_in_a_grid_world_are_those_of_the_literal_algorithm():
    rows = equivalence_class(make("random-grid", size=6, n_features=5, seed=1)).rows
    pairs = rows.statements[:, 0] * 4 + rows.statements[:, 1]
    stated = [
        sorted({r for r in rows.number[pairs == pair].tolist() if r >= 0})
        for pair in np.unique(pairs)
    ]
    found = minimise_volume(rows.normals, stated, n_samples=20_000, rng=stream(11))
    points = points_of(stream(11), 20_000, 5, "box")
    assert (found.numbers, found.volumes) == literal(rows.normals, stated, points)
    assert len(found.numbers) > 3


def test_orthant_halves_at_each_pick():
    k, n_samples = 6, 20_000
    found = minimise_volume(np.eye(k), [[i] for i in range(k)], n_samples=n_samples, rng=stream(2))
    assert sorted(found.numbers) == list(range(k))
    for i, volume in enumerate(found.volumes):
        low, high = binom.interval(1.0 - 1e-9, n_samples, 2.0**-i)
        assert low <= volume * n_samples <= high


@pytest.mark.parametrize("region", ["box", "sphere"])
def test_volume_is_that_of_the_cone_in_the_chosen_region(region):
    normals = np.array([[0.5, 1.0], [0.5, -1.0]])
    n_samples = 40_000
    found = minimise_volume(normals, [[0, 1]], n_samples=n_samples, rng=stream(3), region=region)
    share = cone_volume(normals, region=region, rng=stream(0)).share
    low, high = binom.interval(1.0 - 1e-9, n_samples, share)
    assert low <= found.volumes[-1] * n_samples <= high
    other = cone_volume(normals, region="box" if region == "sphere" else "sphere", rng=stream(0))
    assert not low <= other.share * n_samples <= high


def test_opposite_rows_leave_no_volume():
    """The paper's failure: two tied actions are shown and all weights seem to be known."""
    rng = stream(7)
    normals = rng.standard_normal((4, 5))
    normals[3] = -normals[0]
    one = minimise_volume(normals, [[1, 2], [0, 3]], n_samples=5_000, rng=stream(0))
    assert (one.numbers, one.volumes) == ((1,), (1.0, 0.0))
    two = minimise_volume(normals, [[0], [1], [2], [3]], n_samples=5_000, rng=stream(0))
    assert {0, 3} <= set(two.numbers)
    assert two.volumes[-1] == 0.0
    assert len(two.numbers) == 2


def test_ties_go_to_the_lowest_number():
    normals = np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 0.0]])
    found = minimise_volume(normals, [[2], [], [1], [0], [0, 1]], n_samples=50, rng=stream(0))
    assert found.numbers == (2,)


@pytest.mark.parametrize(
    ("normals", "stated"),
    [(np.zeros((0, 3)), []), (np.eye(3), []), (np.eye(3), [[], []]), (np.zeros((2, 3)), [[0, 1]])],
    ids=["nothing", "no candidates", "no rows", "zero rows"],
)
def test_without_information_nothing_is_picked(normals, stated):
    found = minimise_volume(normals, stated, n_samples=10, rng=stream(0))
    assert (found.numbers, found.volumes) == ((), (1.0,))


def test_a_point_on_the_boundary_is_inside(monkeypatch):
    grid = np.array([[-1.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, -1.0]])
    monkeypatch.setitem(minimise_volume.__globals__, "_points", lambda *_: grid)
    found = minimise_volume([[1.0, 0.0]], [[0]], n_samples=4, rng=stream(0))
    assert found.volumes == (1.0, 0.75)


def test_huge_and_tiny_rows_keep_their_signs():
    normals = np.array([[1.0, 1.0, -1.0, -1.0], [1.0, -1.0, 1.0, -1.0]])
    normals *= [[1.7e308], [3e-308]]
    found = minimise_volume(normals, [[0], [1]], n_samples=300, rng=stream(1))
    points = points_of(stream(1), 300, 4, "box")
    signs = np.sign(normals)
    assert (found.numbers, found.volumes) == literal(signs, [[0], [1]], points)


def test_stops():
    def run(**settings):
        return minimise_volume(
            np.eye(5), [[i] for i in range(5)], n_samples=1_000, rng=stream(5), **settings
        )

    assert len(run(budget=2).numbers) == 2
    assert (run(budget=0).numbers, run(budget=0).volumes) == ((), (1.0,))
    half = run(threshold=0.3)
    assert half.volumes[-1] <= 0.3 < half.volumes[-2]
    assert run(threshold=1.0).numbers == ()
    assert run(budget=2).numbers == run().numbers[:2]


def test_same_seed_same_picks_and_one_draw_from_the_rng():
    rng = stream(8)
    normals, stated = rng.standard_normal((30, 4)), [[i, i + 1, i + 2] for i in range(28)]
    one, other = stream(9), stream(9)
    first = minimise_volume(normals, stated, n_samples=3_000, rng=one)
    second = minimise_volume(normals, stated, n_samples=3_000, rng=other, budget=1)
    assert first.numbers[:1] == second.numbers
    assert one.integers(2**60) == other.integers(2**60)
    assert first != minimise_volume(normals, stated, n_samples=3_000, rng=stream(10))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"n_samples": 0}, "n_samples must be"),
        ({"n_samples": -3}, "n_samples must be"),
        ({"n_samples": 2.5}, "n_samples must be"),
        ({"n_samples": True}, "n_samples must be"),
        ({"region": "ball"}, "region must be 'box' or 'sphere'"),
        ({"threshold": -0.1}, "threshold must lie"),
        ({"threshold": math.nan}, "threshold must lie"),
        ({"n_samples": 10**10}, "points of .* would take"),
    ],
)
def test_bad_input_is_refused_in_one_line(change, words):
    good = {"normals": np.eye(2), "stated": [[0, 1]], "n_samples": 5}
    with pytest.raises(InvalidParameter, match=words):
        minimise_volume(**{**good, **change}, rng=stream(0))
