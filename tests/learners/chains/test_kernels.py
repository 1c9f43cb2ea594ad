"""Moves leave the density as it is; each way of breaking them is seen."""

import math

import numpy as np
import pytest
from scipy import stats

from didact.learners.chains import kernels
from didact.learners.chains.chain import Particles, Target, radii, spread_out, standing
from didact.learners.chains.kernels import L1, L2, Points, Randomness
from didact.learners.chains.options import PRIORS
from didact.learners.chains.scores import Scorer
from didact.learners.chains.smc import fitted, moves_by
from didact.learners.diagnostics import indicator_ess
from didact.learners.evidence import as_evidence
from didact.worlds import make
from tests.effort import number

CONCENTRATION = 3.0


def planted(weights, action_values):
    """A von Mises density on the circle, around the first axis."""
    return CONCENTRATION * float(weights[0])


def target_of(prior="l2-sphere", **changes) -> Target:
    task = make("random-grid", size=2, n_features=2, seed=0)
    evidence = as_evidence(task.mdp, [])
    return Target(evidence, 1.0, Scorer(evidence), PRIORS[prior], 0, **changes)


def only_jumps(fit, moves: Randomness, rng) -> Randomness:
    places = fit.draws(len(moves.levels), rng)
    return moves._replace(
        jumping=np.ones(len(places), np.int64),
        noise=places.ravel(),
        log_jumps=fit.log_densities(places),
    )


def chain_of(target: Target, n_steps: int = 6000, seed: int = 0) -> np.ndarray:
    """Weights (n_steps, k) of a chain that only jumps, by a fit that is too wide, shifted, and
    longer to one side than to the other."""
    rng = np.random.default_rng(seed)
    angles = stats.vonmises.rvs(0.3 * CONCENTRATION, loc=1.2, size=400, random_state=rng)
    around = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    places = around * np.exp(np.sin(angles))[:, None]
    fit = fitted(places, np.full(400, 1 / 400), rng)
    particles = Particles(target, spread_out(L2, around[:1], rng), n_kept=n_steps)
    moves = moves_by(fit, particles.kind, n_steps, rng)
    particles.advance(fit.proposal, only_jumps(fit, moves, rng))
    return particles.points.samples.reshape(n_steps, -1)


def z_of(weights: np.ndarray) -> float:
    """The worst error of E cos, E sin, E cos 2a and P(cos > 0.8), in standard errors."""
    angles = np.arctan2(weights[:, 1], weights[:, 0])
    law = stats.vonmises(CONCENTRATION)
    functions = (np.cos, np.sin, lambda a: np.cos(2 * a), lambda a: (np.cos(a) > 0.8) * 1.0)
    grid = (np.arange(20_000) + 0.5) / 20_000 * 2 * np.pi - np.pi
    shares = law.pdf(grid) / law.pdf(grid).sum()
    worst = 0.0
    for function in functions:
        exact, drawn = function(grid), function(angles)
        mean = shares @ exact
        spread = math.sqrt(shares @ (exact - mean) ** 2)
        ess = min(indicator_ess(drawn[None]), len(drawn))
        worst = max(worst, abs(drawn.mean() - mean) / (spread / math.sqrt(ess)))
    return worst


def test_the_moves_as_they_are_keep_the_density():
    assert z_of(chain_of(target_of(extra=planted))) < 4


def ratio_without_jumps(p, i, proposal, randomness, points):
    numbers = points.numbers
    change = numbers[kernels.NEW_REFERENCE] - points.references[p]
    return change + numbers[kernels.TEMPERATURE] * (numbers[kernels.NEW_SCORE] - points.scores[p])


def ratio_upside_down(p, i, proposal, randomness, points):
    change = ratio_without_jumps(p, i, proposal, randomness, points)
    if randomness.jumping[i] != 0:
        k = len(points.proposed)
        here = kernels.log_mixture(proposal.mixture, p * k, k, points.places)
        change -= here - randomness.log_jumps[i]
    return change


@pytest.mark.parametrize(
    ("broken", "n_steps"), [(ratio_without_jumps, 6000), (ratio_upside_down, 2000)]
)
def test_a_broken_jump_ratio_is_seen(monkeypatch, run_plain, broken, n_steps):
    run_plain()
    monkeypatch.setattr(kernels, "log_ratio", broken)
    assert z_of(chain_of(target_of(extra=planted), n_steps, seed=2)) > 6


def test_a_forgotten_radius_is_seen(monkeypatch, run_plain):
    begin = kernels.begin_step

    def begin_and_forget_the_radius(p, i, proposal, randomness, points):
        """Redraws the radius, and leaves its density out of the ratio."""
        inside = begin(p, i, proposal, randomness, points)
        points.references[p] = 0.0
        points.numbers[kernels.NEW_REFERENCE] = 0.0
        return inside

    run_plain()
    monkeypatch.setattr(kernels, "begin_step", begin_and_forget_the_radius)
    assert z_of(chain_of(target_of(extra=planted), 3000, seed=2)) > 6


def test_plain_kernels_with_nothing_broken_are_right_too(run_plain):
    run_plain()
    assert z_of(chain_of(target_of(extra=planted), number(3000, 6000))) < 4


@pytest.mark.parametrize(("kind", "law"), [(L2, stats.chi(5)), (L1, stats.gamma(5))])
def test_radii_have_the_law_of_the_reference(kind, law):
    found = radii(kind, 5, 4000, np.random.default_rng(0))
    assert stats.kstest(found, law.cdf).pvalue > 1e-3


@pytest.mark.parametrize("prior", ["l2-sphere", "l1-sphere", "box", "gaussian"])
def test_compiled_and_plain_moves_give_the_same_bits(run_plain, prior):
    task = make("random-grid", size=3, n_features=3, seed=1)
    evidence = as_evidence(task.mdp, [[(0, 1)], [(4, 2)]])
    kept = []
    for compiled in (True, False):
        if not compiled:
            run_plain()
        target = Target(evidence, 20.0, Scorer(evidence), PRIORS[prior], 0)
        rng = np.random.default_rng(0)
        kind = target.kind
        points = spread_out(kind, target.prior.draw(rng, 50, 3), rng)
        fit = fitted(points, np.full(50, 1 / 50), rng, 3)
        particles = Particles(target, points[:1], n_kept=150)
        particles.advance(fit.proposal, moves_by(fit, kind, 150, rng))
        kept.append((particles.points.samples.copy(), particles.points.densities.copy()))
    assert (kept[0][0] == kept[1][0]).all()
    assert (kept[0][1] == kept[1][1]).all()


def test_standing_is_what_the_kernel_says():
    rng = np.random.default_rng(1)
    for kind in (kernels.PLAIN, L2, L1, kernels.BOX, kernels.DIRECT):
        places = rng.standard_normal((20, 3)) * 0.7
        weights, references = standing(kind, places)
        room = np.zeros(3)
        for place, own, reference in zip(places, weights, references, strict=True):
            assert kernels.stand_for(kind, place, room) == pytest.approx(reference, rel=1e-12)
            if reference > -math.inf:
                np.testing.assert_allclose(room, own, rtol=1e-12)


def test_what_the_kernels_hold_has_names():
    fields = ("noise", "shuffles", "levels", "jumping", "log_jumps", "radii")
    assert Randomness._fields == fields
    assert "places" in Points._fields
