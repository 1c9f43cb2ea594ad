"""Modes against densities of known shape, and chains on two equal humps far from each other."""

import warnings

import numpy as np
import pytest

import didact
from didact.learners.chains.modes import (
    MAX_MODES,
    LocalMaximum,
    Modes,
    missed_notes,
    modes_of_draws,
)
from didact.learners.chains.options import PRIORS

SPHERE = PRIORS["l2-sphere"]


def humps(tops, sharpness=50.0):
    """The log density whose modes are these unit vectors, all equally high."""
    tops = np.array(tops, dtype=float)

    def densities(w):
        cosines = w @ tops.T / np.linalg.norm(w, axis=1, keepdims=True)
        return sharpness * (cosines - 1.0).max(axis=1)

    return densities


def maxima_at(places, density):
    places = [np.array(place, dtype=float) / np.linalg.norm(place) for place in places]
    densities = density(np.array(places))
    return [LocalMaximum(*found, n) for n, found in enumerate(zip(places, densities, strict=True))]


def unit(angle):
    return [np.cos(angle), np.sin(angle)]


@pytest.mark.parametrize("angle", [0.8, 1.5, 3.0, np.pi])
def test_humps_with_a_valley_between_them_are_modes(angle):
    density = humps([unit(0.0), unit(angle)])
    near = [unit(0.01), unit(angle), unit(-0.02), unit(angle + 0.03), unit(0.0)]
    modes = Modes.among(maxima_at(near, density), SPHERE, density)
    assert sorted(sorted(s.chain for s in mode) for mode in modes.members) == [[0, 2, 4], [1, 3]]


def test_a_plateau_is_one_mode_however_wide_and_low_hills_do_not_count():
    def flat(w):
        return np.zeros(len(w))

    ring = [unit(t) for t in np.linspace(0, 2 * np.pi, 9)]
    assert len(Modes.among(maxima_at(ring, flat), SPHERE, flat).members) == 1
    density = humps([unit(0.0), unit(2.0)])
    low = [LocalMaximum(np.array(unit(2.0)), -3.5), LocalMaximum(np.array(unit(0.0)), 0.0)]
    assert len(Modes.among(low, SPHERE, density).members) == 1
    assert Modes.among([], SPHERE, density).members == ()


def test_chains_start_in_one_mode_after_the_other_and_at_summits_of_their_own():
    density = humps(np.eye(3))
    places = [[1, 0.05, 0], [1, 0, 0.05], [0, 1, 0.05], [0.05, 0, 1]]
    modes = Modes.among(maxima_at(places, density), SPHERE, density)
    starts = np.array([modes.start_of(chain) for chain in range(6)])
    assert len(set(starts.argmax(axis=1).tolist())) == 3
    assert (starts.argmax(axis=1)[:3] == starts.argmax(axis=1)[3:]).all()
    one = Modes.among(maxima_at(places[:2], density), SPHERE, density)
    assert one.start_of(0) is one.start_of(1) is None


def test_modes_without_a_draw_are_counted_and_told():
    density = humps(np.eye(4))
    modes = Modes.among(maxima_at(np.eye(4), density), SPHERE, density)
    drawn = np.array([[0.9, 0.1, 0, 0], [0.1, 2.0, 0.1, 0], [1.0, 0, 0, 0]])
    assert modes.n_missed(drawn) == 2
    assert modes.n_missed(np.vstack([drawn, np.eye(4)])) == 0
    assert missed_notes(0) == ()
    assert "found 2 modes nearly as high" in missed_notes(2)[0]
    assert "found a mode nearly as high" in missed_notes(1)[0]


def test_the_number_of_modes_is_bounded():
    k = 2 * MAX_MODES
    density = humps(np.eye(k), sharpness=1000.0)
    modes = Modes.among(maxima_at(np.eye(k), density), SPHERE, density)
    assert len(modes.members) == MAX_MODES


def two_humps(k):
    """One step to a place whose two ends pay 1 and -1: w0 and -w0 explain it equally well."""
    n_actions, n = 2 * k, 2 * k + 2
    moves, features = np.zeros((n, n_actions, n)), np.zeros((n, k))
    moves[0, 0, 1] = 1.0
    following = 2
    for feature in range(1, k):
        for sign in (1, -1):
            moves[0, following - 1, following] = 1.0
            features[following, feature] = 8 * sign
            following += 1
    for action in range(n_actions):
        if not moves[0, action].any():
            moves[0, action, following - 1] = 1.0
    moves[1, 0, following] = 1.0
    moves[1, 1:, following + 1] = 1.0
    features[following, 0], features[following + 1, 0] = 1.0, -1.0
    return didact.MDP(moves, features, 0.9, start=0, terminal=list(range(2, n)))


def shares(belief):
    return (belief.samples[:, :, 0] > 0).mean()


@pytest.mark.parametrize("seed", range(6))
def test_equal_humps_each_have_a_chain(seed):
    """Each chain stays in its hump; were all in one of them, R-hat would have nothing to say."""
    belief = quietly(seed=seed)
    assert 0.1 < shares(belief) < 0.9
    assert not belief.is_mixed


def quietly(**options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        given = {"confidence": 200.0, "n_steps": 3000, **options}
        return didact.learn(two_humps(5), [[(0, 0)]], **given)


def test_given_starts_in_one_hump_are_told_of_the_other():
    belief = quietly(seed=0, start=np.eye(5)[0])
    assert shares(belief) == 1.0
    assert any("where no chain has been" in line for line in belief.warnings)


@pytest.mark.slow
def test_no_run_of_a_hundred_keeps_to_one_hump_in_silence():
    for seed in range(100):
        belief = quietly(seed=seed)
        assert 0.02 < shares(belief) < 0.98 or belief.warnings, seed


def no_cells(weights):
    return np.zeros((len(weights), 1))


def drawn_from(density, k, n=4000, seed=0):
    """Draws on the sphere by rejection, and their log densities, at most 0."""
    rng = np.random.default_rng(seed)
    places = rng.standard_normal((15_000, k))
    places /= np.linalg.norm(places, axis=1, keepdims=True)
    heights = density(places)
    kept = np.flatnonzero(np.log(rng.random(len(places))) < heights)[:n]
    return places[kept], heights[kept]


@pytest.mark.parametrize("seed", range(2))
def test_a_bent_ridge_is_one_mode_and_humps_are_many(seed):
    """Straight ways between the ends of a ridge lead through a valley; from draw to draw none."""

    def ridge(w):
        return -400.0 * (w[:, 2] - 0.5) ** 2

    places, heights = drawn_from(ridge, 3, seed=seed)
    assert set(modes_of_draws(places, heights, SPHERE, ridge, no_cells)) == {0}
    density = humps(np.vstack([np.eye(3), -np.eye(3)]), sharpness=30.0)
    places, heights = drawn_from(density, 3, seed=seed)
    found = modes_of_draws(places, heights, SPHERE, density, no_cells)
    nearest = (places @ np.vstack([np.eye(3), -np.eye(3)]).T).argmax(axis=1)
    assert len(set(found)) == len(set(zip(found, nearest, strict=True))) == 6


def gambles(k):
    """In state j going on is worth |w_j|, for then w_j or -w_j is taken: each sign explains it."""
    n = 4 * k + 1
    moves, features, end = np.zeros((n, 2, n)), np.zeros((n, k)), 2 * k
    for j in range(k):
        moves[j, 0, k + j] = moves[j, 1, end] = 1
        for action, sign in ((0, 1), (1, -1)):
            moves[k + j, action, end + 1 + 2 * j + action] = 1
            features[end + 1 + 2 * j + action, j] = sign
    starts = np.append(np.full(k, 1 / k), np.zeros(n - k))
    return didact.MDP(moves, features, 0.9, terminal=list(range(end, n)), start=starts)


@pytest.mark.parametrize(("k", "seed"), [(2, 0), (3, 0), (3, 1), (4, 0)])
def test_every_mode_of_a_likelihood_is_found_however_narrow_the_valleys(k, seed):
    """2^k modes, one for each choice of signs, with equal shares."""
    shown = [[(j, 0)] for j in range(k)] * 12
    belief = didact.learn(gambles(k), shown, confidence=50.0, seed=seed)
    assert len(belief.modes) == 2**k
    assert len({tuple(np.sign(mode.mean)) for mode in belief.modes}) == 2**k
    assert all(abs(2**k * mode.share - 1) < 0.5 for mode in belief.modes)


@pytest.mark.parametrize("seed", range(3))
def test_a_light_mode_is_drawn_from_or_told(seed):
    """Two weights, 17 states, confidence 1e4: a mode of 2% that climbs from random places miss."""
    rng = np.random.default_rng([17, 29])
    n_actions = int(rng.integers(2, 5))
    moves = np.zeros((17, n_actions, 17))
    for s, a in np.ndindex(17, n_actions):
        moves[s, a, rng.integers(17)] = 1
    mdp = didact.MDP(moves, rng.standard_normal((17, 2)).round(2), "0.9")
    optimal = didact.solve(mdp, rng.standard_normal(2)).optimal_actions
    shown = [
        [(int(s), int(rng.choice(optimal(int(s)) if rng.random() < 0.7 else range(n_actions))))]
        for s in rng.integers(17, size=int(rng.integers(2, 7)))
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        belief = didact.learn(mdp, shown, confidence=1e4, seed=seed)
    angles = np.arctan2(belief.samples[..., 1], belief.samples[..., 0]) % (2 * np.pi)
    light = ((angles > 3.79) & (angles < 3.82)).mean()
    assert 0.005 < light < 0.05 or not belief.is_mixed
    assert belief.is_mixed or "where no chain has been" in belief.warnings[0]
