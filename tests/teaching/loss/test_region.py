"""Mean losses against plain rejection: directions of the whole space, those that fit kept."""

import numpy as np
import pytest

import didact
from didact.bec.classes import shown_pairs
from didact.teaching.loss.region import drawn_inside, mean_loss, region_of
from didact.teaching.loss.space import weight_space


def region_of_some(task, n):
    bec = didact.equivalence_class(task)
    pairs = [tuple(pair) for pair in np.argwhere(bec.plan.optimal).tolist()][:n]
    shown = shown_pairs(bec.members, [didact.Demonstration([pair]) for pair in pairs])
    return region_of(weight_space(bec), bec.rows.normals[bec.rows.stated_by(shown)])


@pytest.mark.parametrize(("seed", "n"), [(1, 1), (2, 2), (3, 3), (4, 0)])
def test_the_mean_is_that_of_rejection(seed, n):
    task = didact.make("random-grid", size=4, n_features=4, seed=seed)
    region = region_of_some(task, n)
    rng = np.random.default_rng(seed)
    tried = rng.standard_normal((20000, len(region.inside)))
    fits = tried[(tried @ region.facets.T >= 0.0).all(axis=1)]
    wanted = region.space.losses.of(fits @ region.basis).losses
    noise = wanted.std() / np.sqrt(300)
    assert len(fits) > 300
    assert mean_loss(region, rng, 1200) == pytest.approx(wanted.mean(), abs=4 * noise)


def test_draws_fit_and_fill_the_cone():
    task = didact.make("random-grid", size=4, n_features=4, seed=3)
    region = region_of_some(task, 4)
    drawn = drawn_inside(region, np.random.default_rng(0), 500)
    heights = drawn @ region.facets.T
    assert heights.min() > -1e-12
    assert (heights.min(axis=0) < 0.2).all()


def test_frontiers_tell_the_mean_beside_the_worst():
    task = didact.make("random-grid", size=4, n_features=3, seed=2)
    found = didact.frontier(task, losses=["50%"], horizon=1, learner_model="half-spaces")
    rough, exact = found.to_records()
    assert 0.0 <= rough["mean"] <= rough["worst"] + 1e-9
    assert exact["mean"] == pytest.approx(0.0, abs=1e-9)
