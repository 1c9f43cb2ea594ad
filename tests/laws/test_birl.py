"""What must hold of Bayesian IRL: chains keep the posterior, whatever the prior and the move.

The main law is exact-start invariance. Draw w from the prior and demonstrations from the softmax
policy of w: then w is a draw from its own posterior, and stays one after any number of steps of a
right chain. No burn-in, no mixing, no tuning is involved, and wrong chains fail it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, reduce
from itertools import combinations, permutations, product

import numpy as np
import pytest
from scipy import stats

from didact.learners.chains.birl import birl
from didact.learners.chains.chain import NOTHING, Chain, Particles, Target
from didact.learners.chains.kernels import LOG_STEP, Randomness
from didact.learners.chains.options import PRIORS
from didact.learners.chains.scores import Scorer
from didact.learners.evidence import as_evidence, softmax_log_likelihood
from didact.mdp import MDP
from tests import effort

MOVES = [(prior, proposal) for prior in PRIORS.values() for proposal in prior.proposals]
NAMES = [f"{prior.name}-{proposal}" for prior, proposal in MOVES]


def loop(k: int, slip: float = 0.0) -> MDP:
    """Four states in a ring, two ways round; the features of each state differ."""
    n = 4
    moves = np.zeros((n, 2, n))
    for state in range(n):
        for action, turn in enumerate((1, 2)):
            moves[state, action, (state + turn) % n] += 1.0 - slip
            moves[state, action, state] += slip
    features = np.array([[1.0, 0.0, 0.5], [0.0, 1.0, -0.5], [-0.5, 0.5, 1.0], [0.3, -0.7, 0.0]])
    return MDP(moves, features[:, :k], 0.5)


def optimal_q(mdp: MDP, weights: np.ndarray) -> np.ndarray:
    """Q* (n, S, A) of weights (n, k) by trying all policies: no part of the library plans here."""
    n, m = mdp.n_states, mdp.n_actions
    moves = mdp.transitions.matrix().toarray().reshape(n, m, n)
    features = mdp.features.floats
    best = np.full((len(weights), n), -np.inf)
    for policy in product(range(m), repeat=n):
        system = np.eye(n) - mdp.discount * moves[np.arange(n), policy]
        best = np.maximum(best, weights @ np.linalg.solve(system, features).T)
    return (weights @ features.T)[:, :, None] + mdp.discount * np.einsum("sat,rt->rsa", moves, best)


# Exact-start invariance


@dataclass(frozen=True)
class Start:
    """Weights (n, k) from the prior and, for each, how often each action is shown (n, S, A)."""

    mdp: MDP
    weights: np.ndarray
    counts: np.ndarray
    confidence: float


@cache
def exact_start(name, k, n, confidence=3.0, shows=2) -> Start:
    mdp = loop(k)
    rng = np.random.default_rng([k, n, *name.encode()])
    weights = PRIORS[name].draw(rng, n, k)
    q = optimal_q(mdp, weights)
    raised = np.exp(confidence * (q - q.max(axis=2, keepdims=True)))
    shares = raised / raised.sum(axis=2, keepdims=True)
    second = rng.binomial(shows, shares[:, :, 1])
    return Start(mdp, weights, np.stack((shows - second, second), axis=2).astype(float), confidence)


def scores(start: Start, after: np.ndarray) -> np.ndarray:
    """z scores of E f(w, D) after the steps against before, paired, for several f."""

    def values(w: np.ndarray) -> np.ndarray:
        first = start.counts[:, :, 0]
        k = w.shape[1]
        moments = [w[:, i] ** p for i in range(k) for p in (1, 2, 3, 4)]
        mixed = [w[:, i] * w[:, j] for i in range(k) for j in range(i)]
        joint = [w[:, i] * first[:, s] for i in range(k) for s in range(4)]
        corners = [np.abs(w).max(axis=1), np.abs(w).min(axis=1), (np.abs(w) < 0.05).sum(axis=1)]
        return np.stack([*moments, *mixed, *joint, *corners], axis=1).astype(float)

    change = values(after) - values(start.weights)
    spread = change.std(axis=0)
    moved = spread > 0.0
    return change.mean(axis=0)[moved] / (spread[moved] / math.sqrt(len(change)))


def walked(start: Start, prior, proposal, step, steps=5) -> np.ndarray:
    """Where the library's chains are after so many steps from each start."""
    n, k = start.weights.shape
    evidence = as_evidence(start.mdp, [[(s, a)] for s in range(4) for a in range(2)])
    target = Target(evidence, start.confidence, Scorer(evidence), prior, prior.kind(proposal, k))
    rng = np.random.default_rng(7)
    moves = Chain(target, rng).proposal
    after = np.empty((n, k))
    shown, group = np.unique(start.counts.reshape(n, -1), axis=0, return_inverse=True)
    for number, counts in enumerate(shown):  # all starts that were shown the same walk together
        rows = np.flatnonzero(group == number)
        particles = Particles(target, start.weights[rows], walking=True)
        particles.problem.shown.counts[:] = counts
        particles.points.numbers[LOG_STEP] = math.log(step)
        particles.place(start.weights[rows])
        width, n_all = moves.n_noise, len(rows) * steps
        noise = rng.standard_normal(n_all * width), rng.random(n_all * width)
        levels = -rng.standard_exponential(n_all)
        particles.advance(moves, Randomness(*noise, levels, NOTHING, np.zeros(0), np.zeros(0)))
        after[rows] = particles.places
    return after


STEPS = {"lattice": 0.3, "pairs": 0.3}
TELLING = 40_000
"""So many starts find every wrong chain below out ..."""
TELLING_MOST = 10_000
"""... and so many all of them but Sattolo's order."""


@pytest.mark.parametrize("n", [TELLING, pytest.param(100_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("k", [1, pytest.param(2, marks=pytest.mark.slow), 3])
@pytest.mark.parametrize(("prior", "proposal"), MOVES, ids=NAMES)
def test_draws_from_the_posterior_stay_such_draws(prior, proposal, k, n):
    if prior.name == "flat":
        pytest.skip("no distribution to draw from")
    if n == TELLING and proposal != "pairs":  # whose order alone can be Sattolo's
        n = TELLING_MOST
    start = exact_start(prior.name, k, n if k > 1 else n // 4)
    after = walked(start, prior, proposal, STEPS.get(proposal, 0.5))
    assert (np.abs(after - start.weights).max(axis=1) > 0).mean() > 0.1, "the chain must move"
    assert np.abs(scores(start, after)).max() < 4.0


# The same law finds wrong chains out


def batch_walk(start: Start, propose, rng, steps=5) -> np.ndarray:
    """Metropolis steps of all chains together, with any proposal, as if it were symmetric."""
    w = start.weights.copy()

    def log_density(w: np.ndarray) -> np.ndarray:
        scaled = start.confidence * optimal_q(start.mdp, w)
        logs = scaled - np.logaddexp.reduce(scaled, axis=2, keepdims=True)
        return (start.counts * logs).sum(axis=(1, 2))

    here = log_density(w)
    for _ in range(steps):
        proposed = propose(w, rng)
        there = log_density(proposed)
        accepted = np.log(rng.random(len(w))) < there - here
        w[accepted], here[accepted] = proposed[accepted], there[accepted]
    return w


def renormalised(w, rng):
    moved = w + 0.5 * rng.standard_normal(w.shape)
    return moved / np.abs(moved).sum(axis=1, keepdims=True)


def clipped(w, rng):
    return np.clip(w + 0.5 * rng.standard_normal(w.shape), -1.0, 1.0)


def drawn_again(w, rng):
    moved = w + 0.5 * rng.standard_normal(w.shape)
    while (outside := (np.abs(moved) > 1.0).any(axis=1)).any():
        moved[outside] = w[outside] + 0.5 * rng.standard_normal(w[outside].shape)
    return moved


def turned(w, i, j, length):
    """Rows of w with (w_i, w_j) moved by a length along |w_i| + |w_j| = const."""
    x, y = w[:, i].copy(), w[:, j].copy()
    side = np.abs(x) + np.abs(y)
    place = np.select([(x > 0) & (y >= 0), (x <= 0) & (y > 0), (x < 0) & (y <= 0)],
                      [y, side - x, 2 * side - y], 3 * side + x)  # fmt: skip
    place = np.mod(place + length, 4 * side)
    corner = np.floor(place / side)
    along = place - corner * side
    w[:, i] = np.choose(corner.astype(int) % 4, [side - along, -along, along - side, along])
    w[:, j] = np.choose(corner.astype(int) % 4, [along, side - along, -along, along - side])


def in_order(order_of):
    """Pair moves of a fixed length in the order that order_of(rng, n, pairs) gives each row."""

    def propose(w, rng):
        pairs = list(zip(*np.triu_indices(w.shape[1], 1), strict=True))
        moved = w.copy()
        orders = order_of(rng, len(w), len(pairs))
        for place in range(len(pairs)):
            for number, (i, j) in enumerate(pairs):
                rows = np.flatnonzero(orders[:, place] == number)
                part = moved[rows]
                turned(part, i, j, 0.3 * rng.choice([-1.0, 1.0], len(rows)))
                moved[rows] = part
        return moved

    return propose


def fisher_yates(rng, n, m):
    return rng.permuted(np.tile(np.arange(m), (n, 1)), axis=1)


def sattolo(rng, n, m):
    orders = np.tile(np.arange(m), (n, 1))
    rows = np.arange(n)
    for last in range(m - 1, 0, -1):
        other = rng.integers(0, last, n)
        kept = orders[:, last].copy()
        orders[:, last] = orders[rows, other]
        orders[rows, other] = kept
    return orders


def clamped(w, rng):
    """Steps of a length that does not divide the sides, cut off at the corners."""
    moved = w.copy()
    for i, j in zip(*np.triu_indices(w.shape[1], 1), strict=True):
        side = np.abs(moved[:, i]) + np.abs(moved[:, j])
        x = np.clip(moved[:, i] + 0.3 * rng.choice([-1.0, 1.0], len(w)), -side, side)
        sign = np.where(rng.random(len(w)) < 0.5, -1.0, 1.0)
        moved[:, i], moved[:, j] = x, sign * (side - np.abs(x))
    return moved


WRONG = {
    "gaussian step + L1 renormalising": ("l1-sphere", renormalised),
    "clipping to the box": ("box", clipped),
    "drawing again until inside": ("box", drawn_again),
    "pairs in Sattolo's order": ("l1-sphere", in_order(sattolo)),
    "misaligned lattice, clamped": ("l1-sphere", clamped),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_chains_fail(name):
    prior, propose = WRONG[name]
    if "Sattolo" in name:
        start = exact_start(prior, 3, TELLING, confidence=12.0, shows=4)
    else:
        start = exact_start(prior, 3, TELLING_MOST)
    after = batch_walk(start, propose, np.random.default_rng(3))
    assert np.abs(scores(start, after)).max() > 5.0


def test_the_right_order_passes_where_sattolos_fails():
    start = exact_start("l1-sphere", 3, TELLING, confidence=12.0, shows=4)
    after = batch_walk(start, in_order(fisher_yates), np.random.default_rng(3))
    assert np.abs(scores(start, after)).max() < 4.0


# A lattice small enough to write its transition matrix down


@cache
def along(x: int, y: int, sign: int) -> tuple[int, int]:
    """A whole step along the diamond on which (x, y) lies; from its middle there is none."""
    side = abs(x) + abs(y)
    if not side:
        return x, y
    ring = [(side - t, t) for t in range(side)] + [(-t, side - t) for t in range(side)]
    ring += [(-x, -y) for x, y in ring]
    return ring[(ring.index((x, y)) + sign) % len(ring)]


def lattice_walk(place: tuple[int, ...], order, signs, sides: int) -> tuple[int, ...]:
    """Whole steps along the diamonds of the pairs, in the given order."""
    pairs = list(combinations(range(len(place)), 2))
    w = list(place)
    for number, sign in zip(order, signs, strict=True):
        i, j = pairs[number]
        w[i], w[j] = along(w[i], w[j], sign)
    return tuple(w)


def transition_matrix(points, log_densities, sides):
    index = {point: number for number, point in enumerate(points)}
    matrix = np.zeros((len(points), len(points)))
    orders, signs = list(permutations(range(3))), list(product((-1, 1), repeat=3))
    for point, number in index.items():
        for order, sign in product(orders, signs):
            other = index[lattice_walk(point, order, sign, sides)]
            chance = math.exp(min(0.0, log_densities[other] - log_densities[number]))
            matrix[number, other] += chance / 48
            matrix[number, number] += (1.0 - chance) / 48
    return matrix


def test_the_lattice_chain_has_the_transition_matrix_that_it_should():
    sides, confidence = 5, 5.0
    mdp = loop(3)
    evidence = as_evidence(mdp, [[(0, 1)], [(1, 0)], [(2, 0)], [(0, 1)]])
    points = [p for p in product(range(-sides, sides + 1), repeat=3) if sum(map(abs, p)) == sides]
    density = [
        softmax_log_likelihood(evidence, q, confidence)
        for q in optimal_q(mdp, np.array(points) / sides)
    ]
    matrix = transition_matrix(points, density, sides)
    posterior = np.exp(density) / np.exp(density).sum()
    np.testing.assert_allclose(posterior @ matrix, posterior, atol=1e-15)

    belief = birl(
        evidence, np.random.default_rng(5), confidence=confidence, prior="l1-sphere",
        proposal="lattice", step_size=1 / sides, start=np.array(points[0]) / sides,
        n_steps=200_000, n_chains=1, burn_in=0,
    )  # fmt: skip
    walk = np.rint(np.vstack((np.array(points[0]) / sides, belief.samples[0])) * sides).astype(int)
    assert np.abs(belief.samples[0] * sides - walk[1:]).max() < 1e-9
    index = {point: number for number, point in enumerate(points)}
    numbers = np.array([index[tuple(p)] for p in walk.tolist()])
    seen = np.zeros_like(matrix)
    np.add.at(seen, (numbers[:-1], numbers[1:]), 1)
    assert seen[matrix == 0].sum() == 0
    expected = seen.sum(axis=1, keepdims=True) * matrix
    large = expected >= 10
    statistic = ((seen - expected) ** 2)[large] / expected[large]
    freedom = large.sum() - (large.sum(axis=1) > 0).sum()
    assert freedom > 200
    assert stats.chi2.sf(statistic.sum(), freedom) > 1e-4


# Quadrature: the posterior in two and three dimensions


def directions(k: int) -> tuple[np.ndarray, np.ndarray]:
    """Unit vectors (n, k) and the solid angle that each stands for."""
    if k == 2:
        angle = (np.arange(1500) + 0.5) * (2 * np.pi / 1500)
        return np.stack((np.cos(angle), np.sin(angle)), axis=1), np.full(1500, 2 * np.pi / 1500)
    heights, shares = np.polynomial.legendre.leggauss(50)
    turns = (np.arange(100) + 0.5) * (2 * np.pi / 100)
    z, turn = np.meshgrid(heights, turns, indexing="ij")
    ring = np.sqrt(1 - z**2)
    points = np.stack((ring * np.cos(turn), ring * np.sin(turn), z), axis=-1).reshape(-1, 3)
    return points, np.repeat(shares, 100) * (2 * np.pi / 100)


def radii(prior: str, units: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Lengths (n, r) along each direction, and the prior's mass per solid angle at each."""
    n, k = units.shape
    if prior == "l2-sphere":
        return np.ones((n, 1)), np.ones((n, 1))
    sums = np.abs(units).sum(axis=1, keepdims=True)
    if prior == "l1-sphere":
        return 1 / sums, sums**-k
    n_lengths = effort.number(100, 300)
    share = (np.arange(n_lengths) + 0.5) / n_lengths
    if prior == "box":
        edge = 1 / np.abs(units).max(axis=1, keepdims=True)
        lengths = edge * share
        return lengths, lengths ** (k - 1) * edge
    lengths = np.broadcast_to(8 * share, (n, n_lengths))
    return lengths, lengths ** (k - 1) * np.exp(-0.5 * lengths**2)


def quadrature(evidence, confidence, prior, tilt=None):
    """Posterior mean, variance and best log density; Q of c w is c times Q of w."""
    units, angles = directions(evidence.mdp.n_features)
    q = optimal_q(evidence.mdp, units)
    lengths, masses = radii(prior, units)
    likelihood = np.zeros(lengths.shape)
    for state, counts in zip(evidence.states, evidence.counts, strict=True):
        scaled = [confidence * lengths * values[:, None] for values in q[:, state].T]
        total = reduce(np.logaddexp, scaled)
        likelihood += sum(count * (own - total) for count, own in zip(counts, scaled, strict=True))
    points = units[:, None, :] * lengths[:, :, None]
    tilts = 0.0 if tilt is None else np.apply_along_axis(tilt, 2, points)
    weights = angles[:, None] * masses * np.exp(likelihood + tilts)
    weights /= weights.sum()
    mean = np.einsum("nr,nrk->k", weights, points)
    variance = np.einsum("nr,nrk->k", weights, (points - mean) ** 2)
    normal = -0.5 * (points**2).sum(axis=2) if prior == "gaussian" else 0.0
    return mean, variance, float((likelihood + normal + tilts).max())


@pytest.mark.parametrize(
    ("prior", "k", "slip"),
    effort.crossed(("l2-sphere", "l1-sphere", "box", "gaussian"), (2, 3), (0.0, 0.3), one_in=2),
)
def test_means_variances_and_maximum_are_those_of_quadrature(prior, k, slip):
    evidence = as_evidence(loop(k, slip), [[(0, 1)], [(1, 0)], [(2, 0)], [(2, 1)]])
    mean, variance, best = quadrature(evidence, 4.0, prior)
    for number, proposal in enumerate(PRIORS[prior].proposals):
        belief = birl(
            evidence, np.random.default_rng([k, number]), confidence=4.0,
            n_steps=effort.number(8_000, 40_000), prior=prior, proposal=proposal, threads=1,
            step_size=0.1871 if proposal == "lattice" else None,
        )  # fmt: skip
        assert belief.is_mixed
        draws = belief.samples_flat
        error = np.sqrt(variance / belief.ess_bulk)
        assert (np.abs(draws.mean(axis=0) - mean) < 4.5 * error + 2e-3).all()
        assert (np.abs(draws.var(axis=0) / variance - 1) < 7.0 / np.sqrt(belief.ess_bulk)).all()
        assert abs(belief.map_log_posterior - best) < 2e-2


def test_a_tilted_prior_is_that_of_quadrature():
    def tilt(weights):
        return 2.0 * weights[0]

    evidence = as_evidence(loop(2), [[(0, 1)], [(1, 0)]])
    mean, variance, _ = quadrature(evidence, 4.0, "l2-sphere", tilt)
    belief = birl(
        evidence, np.random.default_rng(0), confidence=4.0, n_steps=10_000, log_prior=tilt
    )
    error = np.sqrt(variance / belief.ess_bulk)
    assert (np.abs(belief.samples_flat.mean(axis=0) - mean) < 4.5 * error + 2e-3).all()


def test_a_density_as_prior_is_the_gaussian_one_if_it_says_so():
    evidence = as_evidence(loop(2), [[(0, 1)], [(1, 0)]])
    mean, variance, _ = quadrature(evidence, 4.0, "gaussian")
    belief = birl(
        evidence, np.random.default_rng(0), confidence=4.0, n_steps=10_000,
        prior=lambda weights: -0.5 * float(weights @ weights),
    )  # fmt: skip
    error = np.sqrt(variance / belief.ess_bulk)
    assert (np.abs(belief.samples_flat.mean(axis=0) - mean) < 4.5 * error + 5e-3).all()


# Simulation-based calibration


def rank_test(n: int, prior: str, n_steps: int) -> float:
    """p value of uniform ranks of the true weights among thinned draws from their posterior."""
    n_draws = 19
    ranks = np.zeros((n, 3), dtype=int)
    start = exact_start(prior, 3, n, confidence=2.0, shows=1)
    for r in range(n):
        shown = [[(s, int(start.counts[r, s, 1]))] for s in range(4)]
        belief = birl(
            as_evidence(start.mdp, shown), np.random.default_rng([9, r]), confidence=2.0,
            n_steps=n_steps, thin=(n_steps - n_steps // 5) // n_draws, n_chains=1, prior=prior,
        )  # fmt: skip
        ranks[r] = (belief.samples[0, :n_draws] < start.weights[r]).sum(axis=0)
    tests = [
        stats.chisquare(np.bincount(column, minlength=n_draws + 1)).pvalue for column in ranks.T
    ]
    return float(min(tests)) * 3


def test_a_few_ranks_are_uniform():
    assert rank_test(100, "box", 2000) > 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("prior", ["l2-sphere", "l1-sphere", "box", "gaussian"])
def test_ranks_are_uniform(prior):
    assert rank_test(10_000, prior, 4000) > 1e-3
