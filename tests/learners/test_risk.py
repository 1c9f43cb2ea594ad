"""Losses under draws, their quantiles and bounds, and how well a recording fits a belief."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from didact.errors import InvalidInput, InvalidNumber, InvalidParameter
from didact.learners import learn
from didact.learners.belief import Belief, point_belief
from didact.learners.diagnostics import bulk_ess
from didact.learners.risk import (
    bound_order,
    conditional_value_at_risk,
    draws_needed,
    effective_draws,
    fit_of,
    losses,
    risk_of,
    upper_bound,
    value_at_risk,
)
from didact.mdp import MDP, Task
from didact.planning import batch as values_module
from didact.planning import evaluate, rollout, solve
from didact.planning.batch import action_values_of, as_weight_rows, value_blocks
from didact.worlds import make
from tests.models import tasks
from tests.oracles import Plain, best_values, optimal_sets, reward_payments


def belief_of(mdp: MDP, samples, learner: str = "given") -> Belief:
    """A posterior of given draws (chains, draws, k), the first one the most likely."""
    samples = np.asarray(samples, dtype=float)
    density = np.zeros(samples.shape[:2])
    return Belief(
        mdp=mdp, learner=learner, demonstrations=(), samples=samples, log_posterior=density,
        map_weights=samples[0, 0], map_log_posterior=0.0, best_by_chain=density[:, 0],
        acceptance=np.full(len(samples), 0.5), confidence=1.0, certificate=None, settings={},
    )  # fmt: skip


def near(task: Task, n: int, seed: int = 0, step: float = 0.3) -> np.ndarray:
    """Weights (n, k) that walk on the unit sphere from the true ones."""
    rng = np.random.default_rng(seed)
    rows = [task.weights / np.linalg.norm(task.weights)]
    for _ in range(n - 1):
        moved = rows[-1] + step * rng.normal(size=task.mdp.n_features)
        rows.append(moved / np.linalg.norm(moved))
    return np.array(rows)


GRIDS = {
    "deterministic": {},
    "slippery": {"slip": "1/4"},
    "ends": {"terminals": 2},
    "slippery ends": {"slip": "1/4", "terminals": 2},
}


# Values under many rewards


def optimal_values(mdp: MDP, weights) -> np.ndarray:
    """V*(s) under each of the weights (n, k); shape (n, S)."""
    blocks = [block for _, block in value_blocks(mdp, as_weight_rows(mdp, weights))]
    return np.vstack([np.zeros((0, mdp.n_states)), *blocks])


@given(tasks(max_states=4, max_actions=2), st.integers(0, 2**32))
def test_values_are_those_of_brute_force(task, seed):
    rng = np.random.default_rng(seed)
    weights = rng.choice([-1.0, 0.0, 0.5, 2.0], size=(4, task.mdp.n_features))
    found = optimal_values(task.mdp, weights)
    plain = Plain(task.mdp)
    for w, v in zip(weights, found, strict=True):
        exact = best_values(plain, reward_payments(plain, [as_fraction(x) for x in w]))
        expected = [float(x) for x in exact]
        scale = 1.0 + max(map(abs, expected)) / float(1 - task.mdp.exact_discount)
        assert v == pytest.approx(expected, abs=1e-11 * scale)


def as_fraction(value: float):
    from fractions import Fraction

    return Fraction(value)


@pytest.mark.parametrize("kind", GRIDS)
@pytest.mark.parametrize("size", [4, 15])
def test_values_and_action_values_are_those_of_the_planner(kind, size):
    """Small ones run plain, large ones compiled."""
    task = make("random-grid", size=size, n_features=4, seed=1, **GRIDS[kind])
    weights = near(task, 12)
    values, action_values = optimal_values(task.mdp, weights), action_values_of(task.mdp, weights)
    for w, v, q in zip(weights, values, action_values, strict=True):
        plan = solve(task.mdp, w, arithmetic="float")
        assert v == pytest.approx(plan.values, abs=1e-11)
        assert q == pytest.approx(plan.action_values, abs=1e-11)


@given(tasks(), st.integers(0, 2**32))
def test_action_values_are_those_of_the_planner(task, seed):
    weights = np.random.default_rng(seed).normal(size=(3, task.mdp.n_features))
    for w, q in zip(weights, action_values_of(task.mdp, weights), strict=True):
        plan = solve(task.mdp, w, arithmetic="float")
        assert q == pytest.approx(plan.action_values, abs=2 * plan.error_bound + 1e-9)


@pytest.mark.parametrize("kind", GRIDS)
def test_order_and_blocks_change_nothing_that_counts(kind, monkeypatch):
    task = make("random-grid", size=5, n_features=3, seed=2, **GRIDS[kind])
    weights = np.repeat(near(task, 20), 2, axis=0)
    whole = optimal_values(task.mdp, weights)
    order = np.random.default_rng(0).permutation(len(weights))
    assert optimal_values(task.mdp, weights[order]) == pytest.approx(whole[order], abs=1e-12)
    monkeypatch.setattr(values_module, "BLOCK_BYTES", 3 * 8 * 100)
    assert optimal_values(task.mdp, weights) == pytest.approx(whole, abs=1e-12)
    assert np.array_equal(whole[::2], whole[1::2])


def test_repeated_draws_are_solved_once(monkeypatch):
    task = make("six-cell")
    solved = []
    plan = values_module._Planner.values
    monkeypatch.setattr(
        values_module._Planner, "values",
        lambda self, weights: solved.append(len(weights)) or plan(self, weights),
    )  # fmt: skip
    optimal_values(task.mdp, [[1.0, 0.0]] * 5 + [[0.0, 1.0]] * 5 + [[1.0, 0.0]])
    assert solved == [3]


def test_no_weights_have_no_values():
    task = make("six-cell")
    assert optimal_values(task.mdp, np.zeros((0, 2))).shape == (0, 6)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0, 2.0], r"shape \(n, 2\)"),
        ([[1.0, 2.0, 3.0]], r"shape \(n, 2\)"),
        ([[1.0, math.nan]], r"weights\[0, 1\] must be finite"),
        ([[1.0, 1e300]], "below 1e300"),
        ("abc", "must be numbers"),
    ],
)
def test_bad_weights_are_refused(weights, message):
    with pytest.raises(InvalidInput, match=message):
        optimal_values(make("six-cell").mdp, weights)


def test_results_that_would_not_fit_are_refused_before_any_work(monkeypatch):
    task = make("six-cell")
    monkeypatch.setattr(values_module, "MAX_BYTES", 8 * 6 * 10)
    monkeypatch.setattr(values_module, "_Planner", None)
    with pytest.raises(InvalidParameter, match="action values of 5 draws"):
        action_values_of(task.mdp, np.ones((5, 2)))
    with pytest.raises(InvalidParameter, match="losses by state of 11 draws"):
        losses(belief_of(task.mdp, np.ones((1, 11, 2))), by_state=True)


# Losses


@given(tasks(discounts=("0", "1/2", "0.9", "0.95")), st.integers(0, 2**32))
def test_losses_are_those_of_evaluating_each_draw_alone(task, seed):
    rng = np.random.default_rng(seed)
    mdp = task.mdp
    samples = rng.normal(size=(2, 3, mdp.n_features))
    policy = rng.dirichlet(np.ones(mdp.n_actions), size=mdp.n_states)
    belief = belief_of(mdp, samples)
    found, by_state = losses(belief, policy), losses(belief, policy, by_state=True)
    assert found.shape == (6,)
    assert by_state.shape == (6, mdp.n_states)
    assert (by_state >= 0).all()
    for w, loss, of_states in zip(belief.samples_flat, found, by_state, strict=True):
        alone = evaluate(Task(mdp, w), policy)
        assert loss == pytest.approx(alone.policy_loss, abs=1e-9)
        assert of_states == pytest.approx(alone.loss_by_state, abs=1e-9)


@pytest.mark.parametrize("kind", GRIDS)
def test_an_optimal_policy_loses_exactly_nothing(kind):
    task = make("random-grid", size=6, n_features=4, seed=3, **GRIDS[kind])
    weights = near(task, 8)
    for w in weights:
        belief = belief_of(task.mdp, w[None, None])
        assert losses(belief).tolist() == [0.0]
        assert not losses(belief, by_state=True).any()


def test_losses_of_two_rewards_in_closed_form():
    """One state, two actions that pay w0 and w1 each step, discount 1/2: sums are doubled."""
    mdp = MDP(np.ones((1, 2, 1)), [[[1, 0], [0, 1]]], "1/2")
    belief = belief_of(mdp, [[[1.0, 0.0], [0.0, 3.0], [1.0, 1.0]]])
    assert losses(belief, np.array([[1.0, 0.0]])).tolist() == [0.0, 6.0, 0.0]
    assert losses(belief, np.array([[0.25, 0.75]])).tolist() == pytest.approx([1.5, 1.5, 0.0])


def test_the_default_policy_is_that_of_the_most_likely_weights():
    task = make("random-grid", size=5, n_features=3, seed=0)
    belief = belief_of(task.mdp, near(task, 10)[None])
    assert losses(belief).tolist() == losses(belief, belief.map_weights).tolist()


def test_thinning_takes_draws_evenly_from_each_chain():
    task = make("six-cell")
    samples = np.random.default_rng(0).normal(size=(2, 10, 2))
    belief = belief_of(task.mdp, samples)
    everything = losses(belief, [1.0, 0.0]).reshape(2, 10)
    assert losses(belief, [1.0, 0.0], most=6).tolist() == everything[:, ::4].ravel().tolist()
    assert losses(belief, [1.0, 0.0], most=10**6).tolist() == everything.ravel().tolist()
    for bad in (1, 0, -3, 2.5, True, "4"):
        with pytest.raises(InvalidParameter, match="most must be a whole number from 2"):
            losses(belief, most=bad)


# Value at risk


def test_value_at_risk_is_the_inverse_of_the_distribution():
    assert value_at_risk(range(1, 101), 0.95) == 95
    assert value_at_risk(range(1, 101), 0.951) == 96
    assert value_at_risk(range(1, 101), 0.07) == 7, "0.07 * 100 is a little more than 7"
    assert value_at_risk([3.0], 0.5) == 3
    assert value_at_risk([0.0] * 19 + [7.0], 0.95) == 0
    assert value_at_risk([0.0] * 19 + [7.0], 0.96) == 7


@given(st.lists(st.integers(0, 5), min_size=1, max_size=60), st.integers(1, 99))
def test_value_at_risk_and_its_tail_by_counting(numbers, percent):
    """VaR is the smallest x with share(<= x) >= level; CVaR is its Rockafellar-Uryasev minimum."""
    level = percent / 100
    var = value_at_risk(numbers, level)
    n = len(numbers)
    assert var == min(x for x in numbers if 100 * sum(y <= x for y in numbers) >= percent * n)
    cvar = conditional_value_at_risk(numbers, level)
    cost = [c + sum(max(y - c, 0) for y in numbers) / (n * (1 - level)) for c in set(numbers)]
    assert cvar == pytest.approx(min(cost))
    assert cvar >= var - 1e-12


def test_cvar_of_a_whole_number_of_draws_is_their_mean():
    assert conditional_value_at_risk(range(1, 101), 0.95) == pytest.approx(98.0)


def test_columns_have_their_own_risk():
    table = np.random.default_rng(0).random((50, 3))
    for measure in (value_at_risk, conditional_value_at_risk):
        assert measure(table, 0.9).tolist() == [measure(table[:, i], 0.9) for i in range(3)]
    assert upper_bound(table, 0.9).tolist() == [upper_bound(table[:, i], 0.9) for i in range(3)]


@pytest.mark.parametrize("level", [0.0, 1.0, -1, 2, math.nan, "0.5", True, None])
def test_levels_are_shares(level):
    for measure in (value_at_risk, conditional_value_at_risk, upper_bound):
        with pytest.raises(InvalidParameter, match="level must be between 0 and 1"):
            measure([1.0, 2.0], level)
    with pytest.raises(InvalidParameter, match="delta must be between 0 and 1"):
        upper_bound([1.0, 2.0], 0.9, level)


@pytest.mark.parametrize("given", [[], [math.nan], [math.inf, 1.0], np.zeros((2, 2, 2))])
def test_losses_must_be_numbers(given):
    with pytest.raises(InvalidParameter, match="losses must be finite numbers"):
        value_at_risk(given)


# The bound


def test_the_order_is_that_of_the_exact_binomial():
    from scipy.stats import binom

    for level, delta in itertools.product((0.5, 0.9, 0.95, 0.99), (0.01, 0.05, 0.5)):
        for n in [*range(10, 130), 500, 1000, 1999, 2000]:
            reached = np.flatnonzero(binom.cdf(np.arange(n), n, level) >= 1 - delta - 1e-12)
            expected = int(reached[0]) + 1 if reached.size else None
            assert bound_order(n, level, delta) == expected


@pytest.mark.slow
def test_the_order_is_that_of_the_exact_binomial_for_every_n():
    from scipy.stats import binom

    for n in range(10, 2001):
        reached = np.flatnonzero(binom.cdf(np.arange(n), n, 0.95) >= 0.95)
        assert bound_order(n, 0.95, 0.05) == (int(reached[0]) + 1 if reached.size else None)


def test_the_order_in_whole_numbers():
    """n = 59, level 19/20: only the largest draw will do, and 58 draws have no bound at all."""
    assert 19**58 * 20 > 20**58
    assert 19**59 * 20 <= 20**59
    assert bound_order(58, 0.95, 0.05) is None
    assert bound_order(59, 0.95, 0.05) == 59
    assert draws_needed(0.95, 0.05) == 59
    total = sum(math.comb(93, i) * 19**i for i in range(93))
    assert 20 * total >= 19 * 20**93


@pytest.mark.parametrize(("level", "delta"), [*itertools.product((0.5, 0.9, 0.99), (0.01, 0.5))])
def test_so_many_draws_are_needed(level, delta):
    n = draws_needed(level, delta)
    assert bound_order(n, level, delta) == n
    assert bound_order(n - 1, level, delta) is None


def test_a_bound_from_fewer_effective_draws_is_no_smaller():
    draws = np.random.default_rng(0).random(1000)
    found = [upper_bound(draws, n_effective=n) for n in (1000, 500, 200, 93, 59)]
    assert found == sorted(found)
    assert found[-1] == draws.max()
    assert upper_bound(draws, n_effective=58.9) is None
    assert upper_bound(draws, n_effective=5000) == upper_bound(draws)
    for bad in (0, -1, math.nan, "9", True):
        with pytest.raises(InvalidParameter, match="n_effective must be a number from 1"):
            upper_bound(draws, n_effective=bad)


def coverage(n: int, trials: int, seed: int) -> float:
    """How often the bound from n uniform draws is at least the true 95% quantile."""
    draws = np.random.default_rng(seed).random((n, trials))
    return float((upper_bound(draws) >= 0.95).mean())


def test_the_bound_covers_as_often_as_it_says():
    for n in (59, 93, 150):
        trials = 20_000
        assert coverage(n, trials, n) >= 0.95 - 4 * math.sqrt(0.05 * 0.95 / trials)


@pytest.mark.slow
def test_the_bound_covers_as_often_as_it_says_for_many_sizes():
    for n in range(59, 400, 17):
        trials = 100_000
        expected = float(binomial_cdf(bound_order(n, 0.95, 0.05) - 1, n))
        assert expected >= 0.95
        found = coverage(n, trials, n)
        assert abs(found - expected) < 4.5 * math.sqrt(expected * (1 - expected) / trials)


def binomial_cdf(k: int, n: int):
    from fractions import Fraction

    p = Fraction(19, 20)
    return sum(math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(k + 1))


# Risk of a policy


def test_risk_collects_it_all():
    task = make("random-grid", size=4, n_features=3, seed=0)
    rng = np.random.default_rng(0)
    samples = task.weights + 0.5 * rng.normal(size=(4, 250, 3))
    belief = belief_of(task.mdp, samples)
    risk = belief.risk()
    found = losses(belief)
    assert (risk.level, risk.delta) == (0.95, 0.05)
    assert risk.var == value_at_risk(found)
    assert risk.cvar == conditional_value_at_risk(found)
    assert (risk.mean, risk.worst) == (found.mean(), found.max())
    assert risk.n_effective == effective_draws(found.reshape(4, 250), samples, 0.95)
    assert 400 < risk.n_effective <= 1000
    assert risk.bound == upper_bound(found, n_effective=risk.n_effective)
    assert 0 < risk.var <= risk.bound <= risk.worst
    assert "95% sure" in str(risk)
    assert risk.is_mixed
    assert "not mixed" not in str(risk)
    apart = belief_of(task.mdp, samples + np.arange(4)[:, None, None]).risk()
    assert not apart.is_mixed
    assert str(apart).endswith("of chains that have not mixed")
    other = belief.risk(np.zeros(16, dtype=int), level=0.5)
    assert other.var == value_at_risk(losses(belief, np.zeros(16, dtype=int)), 0.5)


def test_draws_that_repeat_are_not_counted_as_new():
    task = make("random-grid", size=4, n_features=3, seed=0)
    samples = task.weights + 0.5 * np.random.default_rng(0).normal(size=(2, 20, 3))
    once = belief_of(task.mdp, samples).risk()
    often = belief_of(task.mdp, np.repeat(samples, 50, axis=1)).risk()
    assert often.n_effective < 60
    assert (once.bound, often.bound) == (None, None)
    assert f"{often.n_effective} effective draws, 59 are needed" in str(often)


def test_a_policy_that_never_loses_in_chains_that_disagree_gets_no_bound():
    """The weights' own effective draws count too: a stuck chain proves nothing about the rest."""
    mdp = make("six-cell").mdp
    rng = np.random.default_rng(0)
    samples = np.array([[[-1.0, -10.0]], [[-1.0, -30.0]]]) + 0.1 * rng.normal(size=(2, 500, 2))
    belief = belief_of(mdp, samples)
    assert not losses(belief).any()
    risk = belief.risk()
    assert risk.n_effective <= bulk_ess(samples).min() < 59
    assert (risk.var, risk.bound) == (0.0, None)


def test_many_draws_are_thinned():
    mdp = make("six-cell").mdp
    samples = np.random.default_rng(0).normal(size=(2, 5000, 2))
    risk = risk_of(belief_of(mdp, samples), most=100)
    assert risk.n_effective <= 100


def test_a_point_has_a_loss_and_no_bound():
    task = make("six-cell")
    belief = point_belief(task.mdp, "own", (), [1.0, 0.0])
    risk = belief.risk(task.weights)
    expected = evaluate(Task(task.mdp, [1.0, 0.0]), task.weights).policy_loss
    assert risk.var == risk.worst == risk.mean == pytest.approx(expected)
    assert (risk.n_effective, risk.bound) == (1, None)


def test_few_draws_have_no_bound():
    task = make("six-cell")
    assert belief_of(task.mdp, np.ones((2, 3, 2))).risk().n_effective == 0


@pytest.mark.parametrize("name", ["level", "delta"])
def test_risk_refuses_shares_that_are_none(name):
    belief = point_belief(make("six-cell").mdp, "own", (), [1.0, 0.0])
    with pytest.raises(InvalidParameter, match=f"{name} must be between 0 and 1"):
        belief.risk(**{name: 1.5})
    with pytest.raises(InvalidInput):
        belief.risk("no policy")


def test_weights_too_large_for_values_are_refused():
    belief = point_belief(make("six-cell").mdp, "own", (), [1e300, 0.0])
    with pytest.raises(InvalidNumber, match="rescale"):
        losses(belief, np.zeros(6, dtype=int))


@given(tasks(max_states=4, discounts=("0", "1/2", "0.9")), st.integers(0, 2**31))
def test_fit_is_what_brute_force_says_of_the_weights(task, seed):
    mdp, rng = task.mdp, np.random.default_rng(seed)
    anything = np.full((mdp.n_states, mdp.n_actions), 1 / mdp.n_actions)
    shown = tuple(rollout(mdp, anything, horizon=4, seed=rng) for _ in range(3))
    weights = [Fraction(int(n), 4) for n in rng.integers(-8, 9, mdp.n_features)]
    q, best = optimal_sets(Plain(mdp), weights)
    belief = point_belief(mdp, "own", shown, np.array([float(w) for w in weights]), confidence=3.0)
    found = fit_of(belief)
    shares = [[math.exp(3 * float(v - max(row))) for v in row] for row in q]
    shares = [[x / sum(row) for x in row] for row in shares]
    pairs = [pair for demonstration in shown for pair in demonstration]
    assert found.n_steps == len(pairs)
    assert found.log_likelihood == pytest.approx(sum(math.log(shares[s][a]) for s, a in pairs))
    assert found.wrong == sum(a not in best[s] for s, a in pairs)
    slips = sum(sum(x for b, x in enumerate(shares[s]) if b not in best[s]) for s, _ in pairs)
    assert found.expected_wrong == pytest.approx(slips, abs=1e-9)
    astray = [sum(x for b, x in enumerate(shares[s]) if b not in best[s]) for s, _ in pairs]
    tail = sum(
        math.prod(x if slip else 1 - x for x, slip in zip(astray, slips_of, strict=True))
        for slips_of in product((0, 1), repeat=len(pairs))
        if sum(slips_of) >= found.wrong
    )
    assert found.p_value == pytest.approx(tail, abs=1e-9)
    doubted = [
        (i, step)
        for i, demonstration in enumerate(shown)
        for step, (s, a) in enumerate(demonstration)
        if shares[s][a] < 0.05
    ]
    assert [(d.demonstration, d.step) for d in found.doubted] == doubted
    for d in found.doubted:
        assert d.probability == pytest.approx(shares[d.state][d.action])
        assert shares[d.state][d.likelier] == pytest.approx(max(shares[d.state]))


def test_draws_are_averaged_and_a_planted_step_is_not_believed():
    task = make("six-cell")
    right = [(2, 1), (5, 2), (4, 2), (3, 0)]
    belief = learn(task.mdp, [right] * 5 + [[(4, 3)]], n_steps=200, n_chains=2, confidence=20.0)
    found = fit_of(belief)
    assert [(d.demonstration, d.step, d.likelier) for d in found.doubted] == [(5, 0, 2)]
    one_by_one = [
        fit_of(point_belief(task.mdp, "own", belief.demonstrations, w, confidence=20.0))
        for w in belief.samples_flat
    ]
    assert found.wrong == pytest.approx(np.mean([f.wrong for f in one_by_one]))
    assert found.expected_wrong == pytest.approx(np.mean([f.expected_wrong for f in one_by_one]))
    assert belief.fit() == found
    assert found.to_dict()["doubted"][0]["demonstration"] == 5


def test_who_has_no_confidence_is_refused():
    task = make("six-cell")
    with pytest.raises(InvalidParameter, match="has no confidence"):
        fit_of(point_belief(task.mdp, "own", (), np.array([-1.0, -2.0])))
