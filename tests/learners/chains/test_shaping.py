"""From populations to a mixture: heavy hills count, poor populations ripen, starts lie high."""

import numpy as np
import pytest

from didact.learners.chains.metropolis import Target
from didact.learners.chains.models import scorer_of
from didact.learners.chains.particles import Particles
from didact.learners.chains.priors import PRIORS
from didact.learners.chains.shaping import DRAWS, FEWEST, FINE, Shaping, population_shares
from didact.learners.chains.tempering import Population
from didact.learners.evidence import as_evidence
from didact.worlds import make


def target_of(k: int, extra=None) -> Target:
    """No evidence and a normal prior, times a density of our own."""
    task = make("random-grid", size=3, n_features=k, seed=0)
    evidence = as_evidence(task.mdp, [])
    return Target(evidence, 1.0, scorer_of(evidence), PRIORS["gaussian"], 0, extra=extra)


def populations_at(target: Target, clouds) -> list[Population]:
    found = []
    for number, places in enumerate(clouds):
        population = Population(target, np.random.default_rng([9, number]))
        population.particles = Particles(target, places)
        found.append(population)
    return found


def shaped(target: Target, populations, seed: int = 0) -> tuple[Shaping, int]:
    shaping, ripened = Shaping(target, populations, np.random.default_rng(seed)), 0
    for runs in shaping.phases(1):
        ripened += 1
        for run in runs:
            assert sum(run) > 0
    return shaping, ripened


def test_populations_count_by_the_mass_of_their_hills():
    """Two normal hills of known masses: 0.8, narrow and high, and 0.2, wide and low."""
    rng, k = np.random.default_rng(0), 3
    spreads, shares, centres = (0.01, 0.1), (0.8, 0.2), (np.full(k, 1.0), np.full(k, -1.0))

    def hills(weights, action_values):
        logs = [
            np.log(share) - k * np.log(sd) - 0.5 * ((weights - centre) ** 2).sum() / sd**2
            for share, sd, centre in zip(shares, spreads, centres, strict=True)
        ]
        return float(np.logaddexp(*logs) + 0.5 * weights @ weights)

    target = target_of(k, hills)
    clouds = [c + s * rng.standard_normal((400, k)) for c, s in zip(centres, spreads, strict=True)]
    found = population_shares([Particles(target, cloud) for cloud in clouds])
    assert found.sum() == pytest.approx(1.0)
    assert found[:400].sum() == pytest.approx(0.8, abs=0.05)


def test_no_population_counts_for_nothing():
    target = target_of(2)
    near, far = np.random.default_rng(0).standard_normal((2, 50, 2))
    found = population_shares([Particles(target, near), Particles(target, far + 100.0)])
    assert found[50:].sum() == pytest.approx(FEWEST / (1 + FEWEST), rel=1e-6)


def test_a_population_that_stands_for_the_density_need_not_ripen():
    target = target_of(4)
    places = np.random.default_rng(1).standard_normal((500, 4))
    shaping, ripened = shaped(target, populations_at(target, [places]))
    assert ripened == 0
    assert shaping.worth >= FINE * DRAWS


def test_populations_far_too_narrow_ripen_until_they_are_as_wide_as_the_density():
    target = target_of(12)
    clouds = 0.1 * np.random.default_rng(2).standard_normal((3, 100, 12))
    populations = populations_at(target, clouds)
    before = np.concatenate([each.particles.places for each in populations]).std()
    shaping, ripened = shaped(target, populations)
    after = np.concatenate([each.particles.places for each in populations]).std()
    assert ripened > 0
    assert before < 0.11 < 0.7 < after
    start = shaping.picked(np.random.default_rng(0))
    assert start.shape == (12,)
    assert np.abs(start).max() < 6.0


def test_chains_start_where_the_mass_is():
    """One population on a low, wide hill, one in a needle that has all but e^-20 of the mass."""
    rng = np.random.default_rng(3)
    top = np.array([2.0, 0.0, 0.0])

    def needle(weights, action_values):
        far = 0.5 * float((weights - top) @ (weights - top)) / 0.01**2
        return float(np.logaddexp(40.0 - far, 0.0))

    target = target_of(3, needle)
    clouds = [rng.standard_normal((200, 3)), top + 0.01 * rng.standard_normal((50, 3))]
    shaping, _ = shaped(target, populations_at(target, clouds))
    starts = np.array([shaping.picked(np.random.default_rng(seed)) for seed in range(40)])
    assert (np.linalg.norm(starts - top, axis=1) < 0.1).all()
