"""Maximum causal entropy against closed forms, a finite-horizon twin and another package's figures.

The figures in tests/data/mce_irl.json come from imitation 1.0.1: its backward pass and its forward
pass, both with the discount, maximised by SciPy. (Its own training loop leaves the discount out of
the backward pass, so it is no oracle for discounted problems.)
"""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

import didact
from didact.errors import InvalidParameter
from didact.learners.evidence import as_evidence
from didact.learners.points.max_entropy import Dual, SoftPlan, highest_in_ball, max_entropy
from didact.mdp import MDP
from didact.planning import rollout, rollouts
from tests.models import tasks

RECORDED = json.loads((Path(__file__).parents[2] / "data" / "mce_irl.json").read_text())


def learned(mdp, demonstrations, **options):
    return max_entropy(as_evidence(mdp, demonstrations), np.random.default_rng(0), **options)


# Soft plans


@given(tasks(discounts=("0", "1/2", "0.9", "0.95")), st.integers(0, 2**32 - 1))
def test_a_soft_plan_solves_the_soft_bellman_equation(task, seed):
    mdp = task.mdp
    weights = 3.0 * np.random.default_rng(seed).standard_normal(mdp.n_features)
    plan = SoftPlan(mdp, weights)
    moves = mdp.transitions.matrix().toarray().reshape(mdp.n_states, mdp.n_actions, -1)
    rewards = mdp.features.floats @ weights
    q = (rewards if rewards.ndim == 2 else rewards[:, None]) + mdp.discount * moves @ plan.values
    values = np.log(np.exp(q - q.max(1, keepdims=True)).sum(axis=1)) + q.max(axis=1)
    values[mdp.terminal] = q[mdp.terminal, 0]
    assert np.allclose(values, plan.values, atol=1e-9)
    alive = ~mdp.terminal
    assert np.allclose(plan.policy[alive], np.exp(q - values[:, None])[alive], atol=1e-9)
    assert not plan.policy[mdp.terminal].any()


def test_without_rewards_values_are_the_entropy_of_coin_tosses():
    mdp = didact.make("random-grid", size=3, n_features=2, seed=0).mdp
    assert np.allclose(SoftPlan(mdp, np.zeros(2)).values, math.log(4.0) / (1 - mdp.discount))


def test_large_weights_give_the_optimal_plan():
    task = didact.make("random-grid", size=5, n_features=4, seed=0)
    plan = SoftPlan(task.mdp, 1e6 * task.weights)
    best = didact.solve(task.mdp, task.weights)
    assert np.allclose(plan.values / 1e6, best.values, atol=1e-4)
    assert (plan.policy[~best.optimal] < 1e-6).all()


# The function that is maximised


@given(tasks(discounts=("0", "1/2", "0.9")), st.data())
def test_the_slope_is_that_of_finite_differences(task, data):
    alive = [s for s in range(task.mdp.n_states) if not task.mdp.terminal[s]]
    pair = st.tuples(st.sampled_from(alive), st.integers(0, task.mdp.n_actions - 1))
    shown = [[p] for p in data.draw(st.lists(pair, max_size=5))]
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    shown += rollouts(
        task.mdp,
        SoftPlan(task.mdp, np.zeros(task.mdp.n_features)).policy,
        horizon=4,
        rng=rng,
        starts=[alive[0]],
    )
    function = Dual(as_evidence(task.mdp, shown), penalty=0.3)
    weights = rng.standard_normal(task.mdp.n_features)
    _, slope = function(weights)
    for i, unit in enumerate(np.eye(weights.size)):
        rise = function(weights + 1e-5 * unit)[0] - function(weights - 1e-5 * unit)[0]
        assert slope[i] == pytest.approx(rise / 2e-5, abs=1e-5)


@given(tasks(discounts=("0", "1/2", "0.9")), st.data())
def test_single_pairs_are_measured_by_their_causal_likelihood(task, data):
    alive = [s for s in range(task.mdp.n_states) if not task.mdp.terminal[s]]
    pair = st.tuples(st.sampled_from(alive), st.integers(0, task.mdp.n_actions - 1))
    pairs = data.draw(st.lists(pair, max_size=5))
    value, _ = Dual(as_evidence(task.mdp, [[p] for p in pairs]))(task.weights)
    plan = SoftPlan(task.mdp, task.weights)
    assert value == pytest.approx(sum(math.log(plan.policy[p]) for p in pairs), abs=1e-8)


def test_deterministic_trajectories_are_measured_by_discounted_likelihoods():
    mdp = didact.make("random-grid", size=4, n_features=3, seed=0).mdp
    weights = np.array([1.0, -2.0, 0.5])
    plan = SoftPlan(mdp, weights)
    shown = rollouts(mdp, plan.policy, horizon=7, rng=np.random.default_rng(0), starts=[0, 5, 9])
    value, _ = Dual(as_evidence(mdp, shown))(weights)
    wanted = sum(
        mdp.discount**t * math.log(plan.policy[pair]) for d in shown for t, pair in enumerate(d)
    )
    assert value == pytest.approx(wanted, abs=1e-9)


def corridor() -> MDP:
    """Five cells; left or right with a slip; both ends are terminal and differ in features."""
    moves = np.zeros((5, 2, 5))
    for cell in (1, 2, 3):
        moves[cell, 0, cell - 1] = moves[cell, 1, cell + 1] = 0.8
        moves[cell, 0, cell + 1] = moves[cell, 1, cell - 1] = 0.2
    features = [[1, 0], [0, 0], [0, 1], [0, 0], [2, 0]]
    return MDP(moves, features, "0.9", start={2: 1}, terminal=[0, 4])


def test_whole_episodes_make_it_concave():
    rng = np.random.default_rng(0)
    slippery = corridor()
    function = Dual(as_evidence(slippery, [[(3, 1)]]))
    assert not function.is_concave  # a slip may lead back into the corridor
    sure = MDP(sure_moves(), slippery.features, "0.9", start={2: 1}, terminal=[0, 4])
    policy = SoftPlan(sure, np.array([1.0, -1.0])).policy
    function = Dual(as_evidence(sure, rollouts(sure, policy, horizon=400, rng=rng, starts=[2] * 9)))
    assert function.is_concave
    for _ in range(50):
        a, b = 3 * rng.standard_normal((2, 2))
        middle = function((a + b) / 2)[0]
        assert middle >= (function(a)[0] + function(b)[0]) / 2 - 1e-9


def sure_moves():
    moves = np.zeros((5, 2, 5))
    for cell in (1, 2, 3):
        moves[cell, 0, cell - 1] = moves[cell, 1, cell + 1] = 1.0
    return moves


# What is learned


class FiniteHorizon:
    """Ziebart's algorithm with a horizon: backward soft values, forward occupancy, gradient."""

    def __init__(self, mdp, horizon, starts, counts):
        self.mdp, self.horizon, self.starts, self.counts = mdp, horizon, starts, counts
        self.moves = mdp.transitions.matrix().toarray()
        phi = mdp.features.floats
        shape = (mdp.n_states, mdp.n_actions, mdp.n_features)
        self.phi = np.array(phi if phi.ndim == 3 else np.broadcast_to(phi[:, None], shape))
        self.phi_by_row = self.phi.reshape(len(self.moves), -1)

    def policies(self, weights):
        rewards, ends = self.phi @ weights, self.mdp.terminal
        values, policies = np.where(ends, rewards[:, 0], 0.0), []
        for _ in range(self.horizon):
            q = rewards + self.mdp.discount * (self.moves @ values).reshape(rewards.shape)
            values = np.where(ends, rewards[:, 0], np.logaddexp.reduce(q, axis=1))
            policies.append(np.where(ends[:, None], 0.0, np.exp(q - values[:, None])))
        return values, policies[::-1]

    def slope(self, policies):
        at, expected = self.starts.copy(), np.zeros(self.mdp.n_features)
        for policy in policies:
            expected += at[self.mdp.terminal] @ self.phi[self.mdp.terminal, 0]
            taken = (at[:, None] * policy).ravel()
            expected += taken @ self.phi_by_row
            at = self.mdp.discount * (taken @ self.moves)
        expected += at[self.mdp.terminal] @ self.phi[self.mdp.terminal, 0]
        return self.counts - expected

    def maximised(self):
        from scipy.optimize import minimize

        def dual(w):
            values, policies = self.policies(w)
            return self.starts @ values - self.counts @ w, -self.slope(policies)

        found = minimize(dual, np.zeros(self.counts.size), jac=True, options={"gtol": 1e-9})
        return found.x


@pytest.mark.parametrize("name", ["grid", "slippery", "episodes", "pair features"])
def test_a_finite_horizon_twin_agrees_as_the_horizon_grows(name):
    rng = np.random.default_rng(1)
    if name == "episodes":
        mdp = MDP(sure_moves(), corridor().features, "0.9", start={2: 1}, terminal=[0, 4])
    elif name == "pair features":
        moves = rng.dirichlet(np.ones(4), size=(4, 3))
        mdp = MDP(moves, rng.standard_normal((4, 3, 2)), "0.8")
    else:
        slip = {"slip": "1/4"} if name == "slippery" else {}
        mdp = didact.make("random-grid", size=3, n_features=3, seed=2, discount="0.8", **slip).mdp
    teacher = SoftPlan(mdp, rng.standard_normal(mdp.n_features)).policy
    begin = [s for s in range(mdp.n_states) if not mdp.terminal[s]][:3]
    shown = rollouts(mdp, teacher, horizon=150, rng=rng, starts=begin * 4)
    belief = learned(mdp, shown)
    assert belief.settings["converged"]
    policy = SoftPlan(mdp, belief.map_weights).policy
    gaps = []
    for horizon in (5, 20, 160 if mdp.discount > 0.8 else 70):
        twin = FiniteHorizon(mdp, horizon, *counted(mdp, shown, horizon))
        first = twin.policies(twin.maximised())[1][0]
        gaps.append(float(np.abs(first - policy).max()))
    assert gaps[2] < 1e-5
    if name != "episodes":
        assert gaps[0] > gaps[1] > gaps[2]


def counted(mdp, shown, horizon):
    """How often demonstrations start where, and their discounted counts in so many steps.

    Demonstrations that end early end in the state that their last pair leads to.
    """
    starts, counts = np.zeros(mdp.n_states), np.zeros(mdp.n_features)
    phi = mdp.features.floats
    for demonstration in shown:
        starts[demonstration[0][0]] += 1.0
        pairs = demonstration.pairs[:horizon]
        for step, (state, action) in enumerate(pairs):
            counts += mdp.discount**step * (phi[state] if phi.ndim == 2 else phi[state, action])
        if len(pairs) < 150:
            state, action = pairs[-1]
            row = mdp.transitions.matrix()[[state * mdp.n_actions + action]].toarray()[0]
            if mdp.terminal[row > 0].all():
                counts += mdp.discount ** len(pairs) * (row @ phi)
    return starts, counts


@pytest.mark.parametrize("number", range(3))
def test_another_package_gives_the_same_policy(number):
    assert RECORDED["versions"]["imitation"] == "1.0.1"
    case = RECORDED["worlds"][number]
    mdp = MDP(np.array(case["transitions"]), np.array(case["features"]), case["discount"])
    belief = learned(mdp, case["demonstrations"])
    plan = SoftPlan(mdp, belief.map_weights)
    assert np.allclose(plan.policy, case["policy"], atol=1e-6)
    same = SoftPlan(mdp, np.array(case["weights"]))
    assert np.allclose(same.policy, case["policy"], atol=1e-6)
    assert np.allclose(same.values, case["value"], atol=1e-5)


def test_feature_counts_are_matched():
    """Long trajectories: the soft policy has their discounted feature counts, from their starts."""
    mdp = didact.make("random-grid", size=4, n_features=3, seed=0, slip="1/4", discount="0.8").mdp
    rng = np.random.default_rng(0)
    plan = SoftPlan(mdp, np.array([1.0, -1.0, 0.0]))
    shown = rollouts(mdp, plan.policy, horizon=120, rng=rng, starts=list(range(16)))
    belief = learned(mdp, shown)
    counted = sum(
        mdp.discount**t * mdp.features.floats[s] for d in shown for t, (s, _) in enumerate(d)
    )
    expected = SoftPlan(mdp, belief.map_weights).counts(mdp).sum(axis=0)
    assert np.allclose(counted, expected, atol=1e-5)


def two_ways() -> MDP:
    moves = np.zeros((3, 2, 3))
    moves[0, 0, 1] = moves[0, 1, 2] = 1.0
    return MDP(moves, [[0, 0], [1, 0], [0, 1]], "1/2", terminal=[1, 2])


def test_a_closed_form():
    """Three of four times the first: w0 - w1 = log(3) / discount, and no longer than needed."""
    belief = learned(two_ways(), [[(0, 0)]] * 3 + [[(0, 1)]])
    gap = math.log(3.0) / 0.5
    assert np.allclose(belief.map_weights, [gap / 2, -gap / 2], atol=1e-6)
    assert belief.settings["concave"]
    assert "best weights" in belief.settings["convergence"]
    assert belief.confidence is None


def test_a_penalty_has_the_closed_form_of_a_prior():
    """max log p - penalty/2 |w|^2: the slope discount * (1 - p) equals penalty * w0."""
    belief = learned(two_ways(), [[(0, 0)]], penalty=0.1)
    w0, w1 = belief.map_weights
    assert w0 == pytest.approx(-w1)
    p = 1.0 / (1.0 + math.exp(-0.5 * (w0 - w1)))
    assert 0.5 * (1.0 - p) == pytest.approx(0.1 * w0, abs=1e-6)
    assert belief.notes == ()


@pytest.mark.parametrize("most_norm", [1.0, 50.0])
def test_perfect_demonstrations_stop_at_the_largest_norm(most_norm):
    belief = learned(two_ways(), [[(0, 0)]], most_norm=most_norm)
    assert np.linalg.norm(belief.map_weights) == pytest.approx(most_norm)
    assert np.allclose(belief.map_weights, most_norm * np.array([1, -1]) / math.sqrt(2), atol=1e-3)
    assert f"the largest norm allowed, {most_norm:g}" in belief.notes[0]


def test_perfect_lessons_are_learned():
    task = didact.make("random-grid", size=5, n_features=4, seed=0)
    lesson = didact.teach(task, horizon=1, scope="all", closed=True)
    belief = learned(task.mdp, lesson.demonstrations)
    assert didact.evaluate(task, belief.map_weights).policy_loss < 1e-6


def test_nothing_shown_is_said():
    belief = learned(two_ways(), [])
    assert belief.map_weights.tolist() == [0.0, 0.0]
    assert belief.map_log_posterior == 0.0
    assert "nothing was shown" in belief.notes[0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"penalty": -1}, "penalty must be a finite number from 0; it is -1"),
        ({"penalty": math.nan}, "penalty must be a finite number from 0; it is nan"),
        ({"most_norm": 0}, "most_norm must be a finite number from 1e-06; it is 0"),
        ({"most_norm": "large"}, "most_norm must be a finite number from 1e-06; it is 'large'"),
    ],
)
def test_bad_options_are_told_in_one_line(options, message):
    with pytest.raises(InvalidParameter, match=re.escape(message)):
        learned(two_ways(), [], **options)


def hill(top, width=1.0):
    """-|w - top|^2 / width and its slope."""
    top = np.array(top, dtype=float)
    return lambda w: (-float((w - top) @ (w - top)) / width, -2.0 * (w - top) / width)


@pytest.mark.parametrize("width", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("radius", [0.5, 4.9, 5.1, 100.0])
def test_the_top_of_a_hill_or_the_nearest_point_of_the_border(radius, width):
    found = highest_in_ball(hill([3.0, -4.0], width), np.zeros(2), radius, np.random.default_rng(0))
    share = min(1.0, radius / 5.0)
    assert np.allclose(found.ascent.point, [3.0 * share, -4.0 * share], atol=1e-4 * radius)
    assert found.on_border == (radius < 5.0)
    assert found.ascent.is_maximum


def test_a_function_that_only_flattens_out_is_followed_to_the_border():
    def rising(w):
        return -math.exp(-w[0]), np.array([math.exp(-w[0]), 0.0])

    found = highest_in_ball(rising, np.zeros(2), 60.0, np.random.default_rng(0))
    assert found.on_border
    assert np.linalg.norm(found.ascent.point) == pytest.approx(60.0)


def two_doors():
    moves = np.zeros((3, 2, 3))
    moves[0, 0, 1] = moves[0, 1, 2] = moves[1, 0, 2] = moves[1, 1, 0] = 1.0
    mdp = MDP(moves, [[1, 0], [0, 1], [0, 0]], 0.9, start=0, terminal=[2])
    return mdp, [[(0, 0), (1, 0)]] * 5 + [[(0, 1)]]


@pytest.mark.parametrize("most_norm", [4.07, 4.1, 4.4767, 5.0, 8.0, 16.0, 100.0])
def test_a_step_that_overshoots_the_summit_and_the_ball_is_shortened(most_norm):
    """The summit has the norm 4.0698; a climb that ended on the border called it the best."""
    evidence = as_evidence(*two_doors())
    belief = max_entropy(evidence, np.random.default_rng(0), penalty=0.1, most_norm=most_norm)
    assert belief.settings["norm"] == pytest.approx(4.0697582, abs=1e-6)
    assert belief.map_log_posterior == pytest.approx(-4.0906162, abs=1e-6)
    assert belief.settings["convergence"].startswith("the maximum of a concave function, so the")
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
        rollout(mdp, policy, horizon=1000, seed=rng, start=int(rng.integers(0, n - 1)))
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
            assert belief.settings["converged"], seed
            n_inside, n_border = n_inside + (share > 1), n_border + (share < 1)
    assert min(n_inside, n_border) > 100


def test_a_saddle_above_the_start_does_not_pass_for_the_maximum():
    """Two ways to go on are equally good, so from w = 0 the gradient keeps both weights equal.

    One of them alone is better: the ascent from w = 0 ends at a saddle, where the gradient is zero.
    F is symmetric in the two, so half of the plane is enough.
    """
    moves = np.zeros((5, 2, 5))
    moves[0, 0, 1] = moves[0, 1, 4] = moves[1, 0, 2] = moves[1, 1, 3] = 1.0
    features = [[0, 0], [0, 0], [1, 0], [0, 1], [0, 0]]
    mdp = MDP(moves, features, 0.9, start=0, terminal=[2, 3, 4])
    evidence = as_evidence(mdp, [[(0, 0)]] * 20)
    dual = Dual(evidence, 0.1)
    assert not dual.is_concave
    saddle = highest_in_ball(dual, np.zeros(2), 100.0, np.random.default_rng(0)).ascent
    belief = max_entropy(evidence, np.random.default_rng(0), penalty=0.1)
    sides = np.linspace(-8.0, 8.0, 41)
    highest = max(dual(np.array([x, y]))[0] for x in sides for y in sides[sides <= x])
    assert saddle.point[0] == pytest.approx(saddle.point[1])
    assert saddle.value < highest - 0.1
    assert belief.map_log_posterior >= highest
    assert belief.settings["convergence"].startswith("a local maximum")
