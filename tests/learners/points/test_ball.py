"""The highest point of a ball: closed forms, and SciPy's optimum of random duals in it."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize

from didact.learners.evidence import as_evidence
from didact.learners.points.ball import highest_in_ball
from didact.learners.points.max_entropy import Dual, max_entropy
from didact.mdp import MDP
from didact.planning import rollout


def hill(top, width=1.0):
    """-|w - top|^2 / width and its slope."""
    top = np.array(top, dtype=float)
    return lambda w: (-float((w - top) @ (w - top)) / width, -2.0 * (w - top) / width)


@pytest.mark.parametrize("width", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("radius", [0.5, 4.9, 5.1, 100.0])
def test_the_top_of_a_hill_or_the_nearest_point_of_the_border(radius, width):
    found = highest_in_ball(hill([3.0, -4.0], width), 2, radius, np.random.default_rng(0))
    share = min(1.0, radius / 5.0)
    assert np.allclose(found.ascent.point, [3.0 * share, -4.0 * share], atol=1e-4 * radius)
    assert found.on_border == (radius < 5.0)
    assert found.ascent.is_summit


def test_a_function_that_only_flattens_out_is_followed_to_the_border():
    def rising(w):
        return -math.exp(-w[0]), np.array([math.exp(-w[0]), 0.0])

    found = highest_in_ball(rising, 2, 60.0, np.random.default_rng(0))
    assert found.on_border
    assert np.linalg.norm(found.ascent.point) == pytest.approx(60.0)


def two_doors():
    moves = np.zeros((3, 2, 3))
    moves[0, 0, 1] = moves[0, 1, 2] = moves[1, 0, 2] = moves[1, 1, 0] = 1.0
    mdp = MDP(moves, [[1, 0], [0, 1], [0, 0]], 0.9, start=0, terminal=[2])
    return mdp, [[(0, 0), (1, 0)]] * 5 + [[(0, 1)]]


@pytest.mark.parametrize("most_norm", [4.07, 4.1, 4.4767, 5.0, 8.0, 16.0])
def test_a_step_that_overshoots_the_summit_and_the_ball_is_shortened(most_norm):
    """The summit has the norm 4.0698; a climb that ended on the border called it the best."""
    evidence = as_evidence(*two_doors())
    belief = max_entropy(evidence, np.random.default_rng(0), penalty=0.1, most_norm=most_norm)
    assert belief.settings["norm"] == pytest.approx(4.0697582, abs=1e-6)
    assert belief.map_log_posterior == pytest.approx(-4.0906162, abs=1e-6)
    assert belief.settings["convergence"].startswith("a summit of a concave function, so the best")
    assert belief.notes == ()


def test_weights_held_back_by_the_ball_are_told_so():
    evidence = as_evidence(*two_doors())
    belief = max_entropy(evidence, np.random.default_rng(0), penalty=0.1, most_norm=3.0)
    assert "so the best weights of norm 3 or less" in belief.settings["convergence"]
    assert belief.notes == (
        "the weights grew to the largest norm allowed, 3, and longer ones fit no worse; "
        "give a larger penalty, or a larger most_norm",
    )


def whole_episodes(seed):
    """A random deterministic model with an exit everywhere, and episodes that end."""
    rng = np.random.default_rng(seed)
    n, n_actions, k = (int(rng.integers(low, high)) for low, high in ((3, 7), (2, 4), (1, 5)))
    moves = np.eye(n)[rng.integers(0, n, size=(n, n_actions))]
    moves[np.arange(n), rng.integers(0, n_actions, size=n)] = np.eye(n)[n - 1]
    moves[n - 1] = 0.0
    features = np.round(rng.standard_normal((n, k)), 2)
    mdp = MDP(moves, features, float(rng.choice([0.5, 0.9, 0.95])), terminal=[n - 1])
    policy = rng.dirichlet(np.ones(n_actions) * rng.choice([0.3, 1.0]), size=n)
    shown = [
        rollout(mdp, policy, horizon=1000, rng=rng, start=int(rng.integers(0, n - 1)))
        for _ in range(int(rng.integers(1, 12)))
    ]
    return mdp, shown, rng


def scipys_best(dual, start, radius):
    """SciPy's highest value in the ball."""
    held = {
        "type": "ineq",
        "fun": lambda w: radius**2 - w @ w,
        "jac": lambda w: -2.0 * w,
    }
    found = minimize(
        lambda w: tuple(-part for part in dual(w)),
        start,
        jac=True,
        method="SLSQP",
        constraints=[held],
        options={"ftol": 1e-13, "maxiter": 500},
    )
    return -found.fun if np.linalg.norm(found.x) <= radius * (1 + 1e-7) else -math.inf


@pytest.mark.slow
def test_no_random_dual_is_higher_elsewhere_in_its_ball():
    n_inside = n_border = 0
    for seed in range(250):
        mdp, shown, rng = whole_episodes(seed)
        penalty = float(rng.choice([0.01, 0.1, 1.0]))
        evidence = as_evidence(mdp, shown)
        dual = Dual(evidence, penalty)
        if not dual.is_concave:
            continue
        free = max_entropy(evidence, np.random.default_rng(0), penalty=penalty, most_norm=1e4)
        norm = free.settings["norm"]
        for share in (0.7, rng.uniform(1.02, 1.3), rng.uniform(1.3, 4.0)):
            if norm < 1e-3:
                continue
            radius = share * norm
            belief = max_entropy(
                evidence, np.random.default_rng(0), penalty=penalty, most_norm=radius
            )
            starts = (np.zeros(mdp.n_features), 0.9 * belief.map_weights)
            best = max(scipys_best(dual, start, radius) for start in starts)
            assert belief.map_log_posterior >= best - 1e-6 * (1 + abs(best)), seed
            assert belief.settings["norm"] <= radius * (1 + 1e-9)
            is_told = any("largest norm allowed" in note for note in belief.notes)
            assert is_told == (share < 1.0), seed
            assert belief.settings["at_local_optimum"], seed
            n_inside, n_border = n_inside + (share > 1), n_border + (share < 1)
    assert min(n_inside, n_border) > 100
