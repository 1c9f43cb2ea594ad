import numpy as np
import pytest

from didact.worlds.parameters import draw_unit_weights


def test_weights_lie_on_the_l1_sphere():
    rng = np.random.default_rng(0)
    for n_features in (1, 2, 8, 50):
        assert np.abs(draw_unit_weights(n_features, rng)).sum() == pytest.approx(1.0)


def test_weights_are_uniform_on_the_signed_sphere():
    """Closed forms: each orthant 2^-k; on the simplex of k = 3, P(|w1| > x) = (1 - x)^2."""
    rng = np.random.default_rng(1)
    n = 20_000
    drawn = np.array([draw_unit_weights(3, rng) for _ in range(n)])
    orthants = np.bincount((drawn > 0) @ np.array([1, 2, 4]), minlength=8)
    assert ((orthants - n / 8) ** 2 / (n / 8)).sum() < 40
    for threshold in (0.1, 0.3, 0.5, 0.8):
        share = (np.abs(drawn) > threshold).mean(axis=0)
        expected = (1 - threshold) ** 2
        deviation = np.sqrt(expected * (1 - expected) / n)
        assert (np.abs(share - expected) < 5 * deviation).all()


def test_one_feature_has_either_sign():
    rng = np.random.default_rng(2)
    assert {float(draw_unit_weights(1, rng)[0]) for _ in range(50)} == {-1.0, 1.0}
