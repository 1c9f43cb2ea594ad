"""Moves leave the density as it is; each way of breaking them is seen."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from didact.learners.chains import moves as kernels
from didact.learners.chains import particles as particles_module
from didact.learners.chains.metropolis import Target
from didact.learners.chains.mixture import fitted
from didact.learners.chains.models import scorer_of
from didact.learners.chains.moves import L1, L2, Mover, Moves, Points
from didact.learners.chains.particles import Particles, radii, spread_out
from didact.learners.chains.priors import PRIORS
from didact.learners.chains.proposals import moves_by
from didact.learners.diagnostics import indicator_ess
from didact.learners.evidence import as_evidence
from didact.numerics.compiled import kernel
from didact.worlds import make
from tests.effort import number

CONCENTRATION = 3.0


def planted(weights, action_values):
    """A von Mises density on the circle, around the first axis."""
    return CONCENTRATION * float(weights[0])


def target_of(prior="l2-sphere", **changes) -> Target:
    task = make("random-grid", size=2, n_features=2, seed=0)
    evidence = as_evidence(task.mdp, [])
    return Target(evidence, 1.0, scorer_of(evidence), PRIORS[prior], 0, **changes)


def only_jumps(fit, moves: Moves, rng) -> Moves:
    places = fit.draws(len(moves.levels), rng)
    return moves._replace(
        jumping=np.ones(len(places), np.int64),
        shifts=places.ravel(),
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
    particles.advance(1.0, fit.mixture, only_jumps(fit, moves, rng))
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


@kernel
def ratio_without_jumps(p, i, mixture, moves, points):
    numbers = points.numbers
    change = numbers[kernels.NEW_REFERENCE] - points.references[p]
    return change + numbers[kernels.TEMPERATURE] * (numbers[kernels.NEW_SCORE] - points.scores[p])


@kernel
def ratio_upside_down(p, i, mixture, moves, points):
    numbers = points.numbers
    change = numbers[kernels.NEW_REFERENCE] - points.references[p]
    change += numbers[kernels.TEMPERATURE] * (numbers[kernels.NEW_SCORE] - points.scores[p])
    if moves.jumping[i] != 0:
        k = len(points.proposed)
        here = kernels.log_mixture(mixture, p * k, k, points.places)
        change -= here - moves.log_jumps[i]
    return change


@pytest.mark.parametrize(
    ("broken", "n_steps"), [(ratio_without_jumps, 6000), (ratio_upside_down, 2000)]
)
def test_a_broken_jump_ratio_is_seen(monkeypatch, broken, n_steps):
    accept = kernels.accept_move.filled(log_ratio=broken)
    monkeypatch.setattr(kernels, "end_move", kernels.end_move.filled(accept_move=accept))
    assert z_of(chain_of(target_of(extra=planted, compiled=False), n_steps, seed=2)) > 6


@kernel
def begin_and_forget_the_radius(p, i, moves, points):
    """Redraws the radius, and leaves its density out of the ratio."""
    inside = kernels.begin_move(p, i, moves, points)
    points.references[p] = 0.0
    points.numbers[kernels.NEW_REFERENCE] = 0.0
    return inside


def test_a_forgotten_radius_is_seen():
    target = target_of(extra=planted, compiled=False)
    trial = target.scorer.mover.trial.filled(begin_move=begin_and_forget_the_radius)
    scorer = replace(target.scorer, mover=Mover(trial, target.scorer.mover.run))
    assert z_of(chain_of(replace(target, scorer=scorer), 3000, seed=2)) > 6


def test_the_twin_with_nothing_broken_is_right_too():
    accept = kernels.accept_move.filled(log_ratio=kernels.log_ratio)
    assert accept.fingerprint() == kernels.accept_move.fingerprint()
    assert z_of(chain_of(target_of(extra=planted, compiled=False), number(3000, 6000))) < 4


@pytest.mark.parametrize(("kind", "law"), [(L2, stats.chi(5)), (L1, stats.gamma(5))])
def test_radii_have_the_law_of_the_reference(kind, law):
    found = radii(kind, 5, 4000, np.random.default_rng(0))
    assert stats.kstest(found, law.cdf).pvalue > 1e-3


@pytest.mark.parametrize("prior", ["l2-sphere", "l1-sphere", "box", "gaussian"])
def test_compiled_and_plain_moves_give_the_same_bits(prior):
    task = make("random-grid", size=3, n_features=3, seed=1)
    evidence = as_evidence(task.mdp, [[(0, 1)], [(4, 2)]])
    kept = []
    for compiled in (True, False):
        target = Target(evidence, 20.0, scorer_of(evidence), PRIORS[prior], 0, compiled=compiled)
        rng = np.random.default_rng(0)
        kind = particles_module.kind_of(target.prior)
        points = spread_out(kind, target.prior.draw(rng, 50, 3), rng)
        fit = fitted(points, np.full(50, 1 / 50), rng, 3)
        particles = Particles(target, points[:1], n_kept=150)
        particles.advance(1.0, fit.mixture, moves_by(fit, kind, 150, rng))
        kept.append((particles.points.samples.copy(), particles.points.densities.copy()))
    assert (kept[0][0] == kept[1][0]).all()
    assert (kept[0][1] == kept[1][1]).all()


def test_standing_is_what_the_kernel_says():
    rng = np.random.default_rng(1)
    for kind in (kernels.PLAIN, L2, L1, kernels.BOX):
        places = rng.standard_normal((20, 3)) * 0.7
        weights, references = particles_module.standing(kind, places)
        room = np.zeros(3)
        for place, own, reference in zip(places, weights, references, strict=True):
            assert kernels.stand_for(kind, place, room) == pytest.approx(reference, rel=1e-12)
            if reference > -math.inf:
                np.testing.assert_allclose(room, own, rtol=1e-12)


def test_what_the_kernels_hold_has_names():
    assert Moves._fields == ("jumping", "shifts", "log_jumps", "radii", "levels")
    assert "places" in Points._fields
