"""Priors: their draws are what their names say, and only moves that keep them are taken.

The preset 'paper' is what the appendix prints.
"""

import math

import numpy as np
import pytest
from scipy import stats

from didact.errors import InvalidParameter, NotMixed
from didact.learners import learn
from didact.learners.chains import kernels as chain_kernels
from didact.learners.chains.options import PRIORS, as_prior, as_proposal, published_chain
from didact.worlds import make


def draws(name: str, n: int, k: int) -> np.ndarray:
    return PRIORS[name].draw(np.random.default_rng(11), n, k)


@pytest.mark.parametrize("k", [1, 2, 3, 6])
def test_draws_lie_where_they_should(k):
    np.testing.assert_allclose((draws("l2-sphere", 1000, k) ** 2).sum(axis=1), 1.0)
    np.testing.assert_allclose(np.abs(draws("l1-sphere", 1000, k)).sum(axis=1), 1.0)
    assert np.abs(draws("box", 1000, k)).max() <= 1.0


def test_draws_have_the_distribution_of_their_name():
    # A coordinate of a uniform point: on the sphere in three dimensions it is uniform
    # (Archimedes); on the L1 sphere its size is Beta(1, k - 1); its sign is even.
    assert stats.kstest(draws("l2-sphere", 20_000, 3)[:, 1], stats.uniform(-1, 2).cdf).pvalue > 1e-3
    angle = np.arctan2(*draws("l2-sphere", 20_000, 2).T)
    assert stats.kstest(angle, stats.uniform(-np.pi, 2 * np.pi).cdf).pvalue > 1e-3
    flat = draws("l1-sphere", 20_000, 4)
    assert stats.kstest(np.abs(flat[:, 2]), stats.beta(1, 3).cdf).pvalue > 1e-3
    assert stats.binomtest(int((flat[:, 0] > 0).sum()), len(flat)).pvalue > 1e-3
    assert stats.kstest(draws("box", 20_000, 2)[:, 0], stats.uniform(-1, 2).cdf).pvalue > 1e-3
    assert stats.kstest(draws("gaussian", 20_000, 2)[:, 0], "norm").pvalue > 1e-3


def test_every_proposal_has_a_number_of_its_own():
    numbers = [n for prior in PRIORS.values() for n in prior.proposals.values()]
    assert set(numbers) == {
        chain_kernels.GAUSSIAN, chain_kernels.PAIRS, chain_kernels.LATTICE, chain_kernels.WALK,
    }  # fmt: skip


@pytest.mark.parametrize("name", ["l2-sphere", "l1-sphere"])
def test_a_sphere_of_two_points_is_flipped(name):
    for proposal in PRIORS[name].proposals:
        assert PRIORS[name].kind(proposal, 1) == chain_kernels.FLIP
        assert PRIORS[name].kind(proposal, 2) == PRIORS[name].proposals[proposal]


def test_a_function_as_prior_is_short_for_flat():
    def density(weights):
        return -1.0

    assert as_prior(density, None) == (PRIORS["flat"], density)
    assert as_prior("flat", density) == (PRIORS["flat"], density)
    assert as_prior("box", density) == (PRIORS["box"], density)
    assert as_prior("box", None) == (PRIORS["box"], None)


@pytest.mark.parametrize(
    ("prior", "tilt", "message"),
    [
        ("ball", None, "prior must be one of l2-sphere, box, l1-sphere, gaussian, flat, or a log"),
        (3, None, "prior must be one of .*; it is 3"),
        ("flat", None, "prior 'flat' needs log_prior"),
        ("box", 3.0, "log_prior must be a function of weights"),
        (lambda w: 0.0, lambda w: 0.0, "give one of the two"),
    ],
)
def test_wrong_priors_are_refused_in_one_line(prior, tilt, message):
    with pytest.raises(InvalidParameter, match=message):
        as_prior(prior, tilt)


@pytest.mark.parametrize("name", PRIORS)
def test_a_proposal_of_another_prior_is_refused(name):
    assert as_proposal(PRIORS[name], None) in PRIORS[name].proposals
    for other in PRIORS.values():
        for proposal in other.proposals:
            if proposal in PRIORS[name].proposals:
                assert as_proposal(PRIORS[name], proposal) == proposal
            else:
                with pytest.raises(InvalidParameter, match=f"prior '{name}' is kept by"):
                    as_proposal(PRIORS[name], proposal)


@pytest.mark.parametrize(
    ("name", "start", "message"),
    [
        ("l2-sphere", [1.0, 1.0], r"sum of w\^2 = 1; its norm is 1.41421. Divide"),
        ("l1-sphere", [1.0, -1.0], r"sum of \|w\| = 1; its norm is 2. Divide"),
        ("box", [0.0, -1.5], "start must lie in the box .*; an entry is -1.5"),
    ],
)
def test_starts_outside_are_refused(name, start, message):
    with pytest.raises(InvalidParameter, match=message):
        PRIORS[name].placed(np.array([start]))


def test_starts_that_are_nearly_right_are_put_right():
    placed = PRIORS["l2-sphere"].placed(np.array([[0.6, 0.8 + 1e-9]]))
    assert math.hypot(*placed[0]) == pytest.approx(1.0, abs=1e-15)
    far = np.array([[30.0, -20.0]])
    assert (PRIORS["gaussian"].placed(far) == far).all()


@pytest.mark.parametrize("name", PRIORS)
def test_the_nearest_weights_keep_the_direction(name):
    weights = np.array([3.0, -4.0, 0.5])
    near = PRIORS[name].nearest(weights)
    np.testing.assert_allclose(near / near[0], weights / weights[0])
    np.testing.assert_allclose(PRIORS[name].placed(near[None])[0], near)


def test_the_preset_is_the_published_chain():
    """Appendix: alpha 100, 10,000 steps of size 0.005; one chain, nothing dropped."""
    task = make("six-cell")
    shown = [[(2, 1), (5, 2), (4, 2), (3, 0)]]
    with pytest.warns(NotMixed):
        belief = learn(task, shown, preset="paper", seed=3)
    assert belief.samples.shape == (1, 10_000, 2)
    np.testing.assert_allclose(np.abs(belief.samples).sum(axis=2), 1.0)
    told = {"confidence": belief.confidence, **belief.settings}
    wanted = {"confidence": 100.0, "n_steps": 10_000, "step_size": 0.005, "burn_in": 0}
    assert {name: told[name] for name in wanted} == wanted
    with pytest.warns(NotMixed):
        again = learn(task, shown, **published_chain(2), seed=3)
    np.testing.assert_array_equal(belief.samples, again.samples)


def test_the_preset_of_bio_irl_and_options_that_win():
    """Appendix, ball sorting: 1,000 steps of size 0.05, lambda 100, greedy matching."""
    task = make("six-cell")
    with pytest.warns(NotMixed):
        belief = learn(task, [[(5, 2)]], learner="bio-irl", preset="paper", n_steps=50)
    wanted = {"trust": 100.0, "matching": "greedy", "step_size": 0.05, "n_steps": 50}
    assert {name: belief.settings[name] for name in wanted} == wanted


def test_what_a_preset_refuses():
    task = make("six-cell")
    with pytest.raises(InvalidParameter, match="must be 'paper'"):
        learn(task, [], preset="papre")
    with pytest.raises(InvalidParameter, match="birl and bio-irl"):
        learn(task, [], learner="ml-irl", preset="paper")
