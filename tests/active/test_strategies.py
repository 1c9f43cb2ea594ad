"""Scores against plain programs: binned entropy, and information gain by its definition.

Information gain is held against expected KL divergence and against enumeration of all answers.
"""

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from didact.active.strategies import (
    action_information,
    belief_tables,
    binned_entropy,
    entropy_terms,
    policy_entropies,
    rollout_gains,
    trajectory_information,
)
from didact.errors import InvalidParameter
from didact.mdp import MDP, Transitions
from tests.models import tasks


def policies(*draws) -> np.ndarray:
    """(draws, states, actions) from nested lists."""
    return np.array(draws, dtype=float)


def nats(*shares) -> float:
    return -sum(p * math.log(p) for p in shares if p)


def test_what_all_draws_agree_on_is_known_however_spread_the_actions():
    """A known tie scores 0; the entropy of the mean policy would be log 2."""
    agreed = policies(*[[[0.5, 0.5], [1.0, 0.0]]] * 7)
    assert binned_entropy(agreed).tolist() == [0.0, 0.0]
    opposed = policies([[0.5, 0.5], [1.0, 0.0]], [[0.5, 0.5], [0.0, 1.0]])
    assert binned_entropy(opposed) == pytest.approx([0.0, math.log(2)], abs=1e-15)


def test_the_mean_over_actions_of_the_entropy_of_each_histogram():
    """First action in bins 0, 0, 9, 4; second in 9, 9, 0, 4; third always in bin 0."""
    draws = policies([[0.0, 1.0, 0.0]], [[0.05, 0.95, 0.0]], [[0.95, 0.0, 0.05]], [[0.5, 0.5, 0.0]])
    assert binned_entropy(draws)[0] == pytest.approx(2 * nats(0.5, 0.25, 0.25) / 3, abs=1e-15)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (0.0, 0.1, True),  # 0 belongs to the first bin, whose right end is closed
        (0.0, 0.05, True),
        (0.1, 0.1000001, False),
        (0.5, 0.5 + 1e-13, True),  # a tie with rounding
        (0.5, 0.5 - 1e-13, True),
        (0.5, 0.51, False),
        (1 / 3, 1 / 3 + 1e-15, True),
        (0.2, 0.1 + 0.1 + 1e-14, True),
        (0.95, 1.0, True),
        (1.0, 1.0 + 1e-15, True),
        (0.9, 0.91, False),
    ],
)
def test_bins_are_closed_on_the_right(one, other, same):
    score = binned_entropy(policies([[one]], [[other]]))[0]
    assert score == pytest.approx(0.0 if same else math.log(2), abs=1e-15)


@given(st.data())
def test_against_a_plain_program_in_fractions(data):
    """Probabilities on a lattice of 60ths, which hits every edge of 2, 3, 4, 5, 6 and 10 bins."""
    n_draws = data.draw(st.integers(1, 6))
    n_states = data.draw(st.integers(1, 3))
    n_actions = data.draw(st.integers(1, 4))
    n_bins = data.draw(st.sampled_from([1, 2, 3, 4, 5, 6, 10]))
    entry = st.integers(0, 60)
    grid = [
        [[data.draw(entry) for _ in range(n_actions)] for _ in range(n_states)]
        for _ in range(n_draws)
    ]
    expected = []
    for s in range(n_states):
        total = 0.0
        for a in range(n_actions):
            counts = Counter(_bin(Fraction(grid[i][s][a], 60), n_bins) for i in range(n_draws))
            total += nats(*(c / n_draws for c in counts.values()))
        expected.append(total / n_actions)
    found = binned_entropy(np.array(grid) / 60, n_bins)
    assert found == pytest.approx(expected, abs=1e-12)


def _bin(p: Fraction, n_bins: int) -> int:
    """The bin k with k/K < p <= (k + 1)/K; 0 is in bin 0."""
    return next(k for k in range(n_bins) if p <= Fraction(k + 1, n_bins))


@pytest.mark.parametrize("n_bins", [0, -1, 2.5, True, "10"])
def test_bins_must_be_counted(n_bins):
    with pytest.raises(InvalidParameter, match="n_bins must be a whole number from 1"):
        binned_entropy(np.ones((1, 1, 1)), n_bins)


def test_entropy_terms_of_nothing_are_nothing():
    assert entropy_terms(np.array([0.0, 1.0])).tolist() == [0.0, 0.0]


def expected_divergence(likelihoods: dict[object, list[float]], n_draws: int) -> float:
    """Mean over answers of KL(posterior || uniform prior); likelihoods[answer][draw]."""
    total = 0.0
    for of_draw in likelihoods.values():
        chance = sum(of_draw) / n_draws
        for p in of_draw:
            if p > 0.0:
                after = p / (n_draws * chance)
                total += chance * after * math.log(after * n_draws)
    return total


def all_answers(mdp: MDP, policies: np.ndarray, state: int, horizon: int) -> dict:
    """The likelihood of every possible trajectory under every draw, moves included."""
    moves, n_draws = mdp.transitions, len(policies)
    found: dict = {}
    ends: list = [((), state, np.ones(n_draws))]
    for _ in range(horizon):
        going = []
        for path, at, likelihood in ends:
            for action in range(mdp.n_actions):
                row = at * mdp.n_actions + action
                for i in range(moves.offsets[row], moves.offsets[row + 1]):
                    target = int(moves.successors[i])
                    chance = likelihood * policies[:, at, action] * moves.probabilities.floats[i]
                    step = (*path, (at, action, target))
                    if mdp.terminal[target]:
                        found[step] = chance
                    else:
                        going.append((step, target, chance))
        ends = going
    found.update({path: chance for path, _, chance in ends})
    return {path: chance.tolist() for path, chance in found.items()}


def random_policies(rng, n_draws, mdp, sharp=3.0) -> np.ndarray:
    logs = sharp * rng.normal(size=(n_draws, mdp.n_states, mdp.n_actions))
    powers = np.exp(logs - logs.max(axis=2, keepdims=True))
    return powers / powers.sum(axis=2, keepdims=True)


@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(1, 4), st.booleans())
def test_an_actions_information_is_the_expected_divergence(seed, n_draws, n_actions, zeros):
    rng = np.random.default_rng(seed)
    powers = rng.exponential(size=(n_draws, 2, n_actions)) ** 3 + 1e-9
    if zeros and n_actions > 1:
        powers[:, :, 0] *= rng.integers(0, 2, size=(n_draws, 2))
    policies = powers / powers.sum(axis=2, keepdims=True)
    found = action_information(policies)
    for state in range(2):
        answers = {a: policies[:, state, a].tolist() for a in range(n_actions)}
        assert found[state] == pytest.approx(expected_divergence(answers, n_draws), abs=1e-12)


def test_known_values():
    sure = np.array([[[1.0, 0.0]], [[0.0, 1.0]]])
    assert action_information(sure)[0] == pytest.approx(math.log(2), abs=1e-15)
    tied = np.full((5, 1, 2), 0.5)
    assert action_information(tied)[0] == 0.0
    assert policy_entropies(tied) == pytest.approx(np.full((5, 1), math.log(2)))
    noisy = np.array([[[0.9, 0.1]], [[0.1, 0.9]]])
    entropy = -0.9 * math.log(0.9) - 0.1 * math.log(0.1)
    assert action_information(noisy)[0] == pytest.approx(math.log(2) - entropy, abs=1e-15)


def corridor() -> MDP:
    """0 and 1 go left or right, 2 ends; right from 1 slips half of the time."""
    rows = [(0, 0, 0, 1), (0, 1, 1, 1), (1, 0, 0, 1), (1, 1, 2, "1/2"), (1, 1, 1, "1/2")]
    moves = Transitions.from_rows(rows, 3, 2)
    return MDP(moves, [[1], [0], [0]], "0.9", terminal=[2])


@pytest.mark.parametrize("horizon", [1, 2, 3, 4])
def test_a_trajectorys_information_is_that_of_all_its_answers(horizon):
    mdp = corridor()
    rng = np.random.default_rng(horizon)
    policies = random_policies(rng, 4, mdp)
    states = np.array([0, 1])
    n = 20_000
    found = trajectory_information(
        mdp, policies, states, horizon=horizon, n_rollouts=n, rng=np.random.default_rng(1)
    )
    for state, value in zip(states.tolist(), found, strict=True):
        exact = expected_divergence(all_answers(mdp, policies, state, horizon), 4)
        assert value == pytest.approx(exact, abs=4 * math.log(4) / math.sqrt(n))
        if horizon == 1:
            assert value == pytest.approx(exact, abs=1e-12)


@given(tasks(max_states=4, max_actions=3), st.integers(1, 3), st.integers(1, 4), st.integers(0, 99))
def test_on_random_models_with_ties_and_certain_draws(task, horizon, n_draws, seed):
    """Paths weighted by their chance give the exact value: the code is run on every path."""
    mdp = task.mdp
    rng = np.random.default_rng(seed)
    policies = random_policies(rng, n_draws, mdp, sharp=rng.choice([0.0, 1.0, 300.0]))
    state = int(np.flatnonzero(~mdp.terminal)[seed % mdp.n_going])
    answers = all_answers(mdp, policies, state, horizon)
    exact = expected_divergence(answers, n_draws)
    assert weighted_gain(mdp, policies, state, horizon, answers) == pytest.approx(exact, abs=1e-9)


def weighted_gain(mdp, policies, state, horizon, answers) -> float:
    """The sum over paths of chance times the gain, each path forced by its numbers."""
    total = 0.0
    for path, likelihood in answers.items():
        chance = float(np.mean(likelihood))
        if chance > 1e-14:
            total += chance * forced_gain(mdp, policies, state, horizon, path)
    return total


def forced_gain(mdp, policies, state, horizon, path) -> float:
    """The gain along one path: random numbers in the middle of each choice's interval."""
    n_draws, _, n_actions = policies.shape
    moves = mdp.transitions
    shares = np.full(n_draws, 1.0 / n_draws)
    uniforms = np.full((horizon, 2), 0.5)
    for step, (at, action, target) in enumerate(path):
        mixture = shares @ policies[:, at]
        uniforms[step, 0] = mixture[:action].sum() + mixture[action] / 2
        row = at * n_actions + action
        low, high = int(moves.offsets[row]), int(moves.offsets[row + 1])
        outcomes = moves.probabilities.floats[low:high]
        place = moves.successors[low:high].tolist().index(target)
        uniforms[step, 1] = outcomes[:place].sum() + outcomes[place] / 2
        shares = shares * policies[:, at, action] / mixture[action]
    (gain,) = rollout_gains(mdp, belief_tables(policies), np.array([state]), uniforms[None])
    return gain


def test_states_do_not_disturb_each_other(monkeypatch):
    mdp = corridor()
    policies = random_policies(np.random.default_rng(0), 5, mdp)
    options = {"horizon": 6, "n_rollouts": 7}
    both = trajectory_information(
        mdp, policies, np.array([0, 1]), rng=np.random.default_rng(3), **options
    )
    one = trajectory_information(
        mdp, policies, np.array([1]), rng=np.random.default_rng(3), **options
    )
    assert one[0] == both[1]
    monkeypatch.setitem(trajectory_information.__globals__, "MAX_SHARES", 0)
    in_blocks = trajectory_information(
        mdp, policies, np.array([0, 1]), rng=np.random.default_rng(3), **options
    )
    assert np.array_equal(in_blocks, both)
    assert both.any()
