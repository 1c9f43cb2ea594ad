"""Policies, losses and agreement of finite posteriors, against exact planning in fractions.

Which of two actions is better: what is asked, what it tells, who answers, what is kept.
"""

import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import didact
from didact.active import (
    AskSettings,
    Question,
    ask,
    askable_states,
    optimal_oracle,
    policy_oracle,
    situation,
    softmax_oracle,
)
from didact.active.situation import draws_for_tables, softmax
from didact.active.strategies import max_var, pair_information
from didact.errors import InvalidParameter, Unsupported
from didact.mdp import MDP, Comparison, Demonstration, Task, Transitions
from didact.planning import solve
from didact.worlds import gridworld, make
from tests.active.beliefs import belief_in, situation_of
from tests.models import tasks
from tests.oracles import Plain, optimal_sets, policy_sums, reward_payments

WEIGHTS = ["0", "1", "-1", "2", "-1/2", "1/3"]


def exact(task, weights):
    """Action values and optimal actions in fractions."""
    return optimal_sets(Plain(task.mdp), [Fraction(w) for w in weights])


@given(tasks(max_states=4, discounts=("0", "1/2", "0.9")), st.data())
def test_losses_and_policies_are_those_of_exact_planning(task, data):
    k = task.mdp.n_features
    row = st.lists(st.sampled_from(WEIGHTS), min_size=k, max_size=k)
    draws = data.draw(st.lists(row, min_size=1, max_size=4))
    floats = [[float(Fraction(w)) for w in draw] for draw in draws]
    draws = [[Fraction(str(w)) for w in draw] for draw in floats]  # what the floats stand for
    found = situation_of(task, floats, confidence=2.0)
    plain = Plain(task.mdp)
    _, chosen = exact(task, draws[0])
    policy = [{a: Fraction(1, len(actions)) for a in actions} for actions in chosen]
    for i, draw in enumerate(draws):
        values, optimal = exact(task, draw)
        gained = policy_sums(plain, policy, reward_payments(plain, draw))
        for s in range(task.mdp.n_states):
            assert found.action_values[i, s] == pytest.approx([float(q) for q in values[s]])
            lost = max(values[s]) - gained[s][0]
            assert lost >= 0
            assert found.losses[i, s] == pytest.approx(float(lost), abs=1e-9)
            if lost == 0:
                assert found.losses[i, s] == 0.0
            if task.mdp.terminal[s]:
                continue
            assert np.flatnonzero(found.optimal[i, s]).tolist() == optimal[s]
            powers = [math.exp(2.0 * float(q - max(values[s]))) for q in values[s]]
            shares = [p / sum(powers) for p in powers]
            assert found.policies[i, s] == pytest.approx(shares)
    for s in range(task.mdp.n_states):
        if not task.mdp.terminal[s]:
            agreed = [set(chosen[s]) <= set(exact(task, d)[1][s]) for d in draws]
            assert found.agreement[s] == pytest.approx(sum(agreed) / len(draws))


def test_without_a_confidence_all_optimal_actions_are_equally_likely():
    task = gridworld([".a", "a."], weights={".": 0, "a": 1}, discount="0.5")
    found = situation_of(task, [task.weights], confidence=None)
    assert found.policies[0, 0].tolist() == [0.0, 0.5, 0.0, 0.5]


def test_a_sharp_softmax_does_not_overflow():
    found = softmax(np.array([[1e3, 0.0, 1e3]]), 1e6)
    assert found.tolist() == [[0.5, 0.0, 0.5]]


def fork(n: int) -> tuple[Task, list[list[float]]]:
    """One choice: left ends with w0, right with w1; draw i says right is worth i more."""
    moves = Transitions.from_rows([(0, 0, 1, 1), (0, 1, 2, 1)], 3, 2)
    mdp = MDP(moves, [[0, 0], [1, 0], [0, 1]], "1/2", start=0, terminal=[1, 2])
    return Task(mdp, [1, 0]), [[1.0, 1.0 + i] for i in range(n)]


@pytest.mark.parametrize("n", [*range(10, 60), 100, 999, 1000, 2000])
@pytest.mark.parametrize("level", [0.95, 0.5, 0.99])
def test_the_value_at_risk_is_the_order_statistic(n, level):
    """Losses of left are i/2 for i = 0 .. n-1; the smallest covering the level is known."""
    task, draws = fork(n)
    rank = -(-round(level * 100) * n // 100)  # ceil in whole numbers
    found = situation_of(task, [[2.0, 1.0], *draws[1:]])  # the most likely weights say left
    scores = max_var(found, np.random.default_rng(0), level=level)
    assert scores[0] == pytest.approx((rank - 1) / 2, abs=1e-12)
    assert scores[1:].tolist() == [0.0, 0.0]


@pytest.mark.parametrize("level", [0, 1, -0.5, 2, math.nan, "high", True])
def test_the_level_is_a_share(level):
    task, draws = fork(3)
    with pytest.raises(InvalidParameter, match="level must be"):
        max_var(situation_of(task, draws), np.random.default_rng(0), level=level)


# What may be asked


@given(tasks())
def test_terminal_and_unreachable_states_are_never_asked(task):
    mdp = task.mdp
    reached = set(np.flatnonzero(mdp.start.floats > 0).tolist())
    for _ in range(mdp.n_states):
        for state in list(reached):
            for action in range(mdp.n_actions):
                row = state * mdp.n_actions + action
                low, high = mdp.transitions.offsets[row], mdp.transitions.offsets[row + 1]
                reached |= set(mdp.transitions.successors[low:high].tolist())
    wanted = sorted(s for s in reached if not mdp.terminal[s])
    assert askable_states(task).tolist() == wanted


def test_states_can_be_named():
    task = make("six-cell")
    assert askable_states(task, [4, 1, 1]).tolist() == [1, 4]
    for wrong, message in (
        ([0], r"states must not be terminal; state 0 \(row 1, column 1\) is"),
        ([], "states must name at least one state"),
        ([9], "states must be from 0 to 5"),
        (3, "states must be a list of states; it is 3"),
    ):
        with pytest.raises(InvalidParameter, match=message):
            askable_states(task, wrong)


def test_states_out_of_reach_are_refused():
    moves = Transitions.from_rows([(0, 0, 0, 1), (1, 0, 0, 1)], 2, 1)
    task = Task(MDP(moves, [[1], [0]], "0.5", start=0), [1])
    assert askable_states(task).tolist() == [0]
    with pytest.raises(InvalidParameter, match="states must be in reach of the start; state 1 is"):
        askable_states(task, [0, 1])


# Draws


def test_draws_are_spread_over_the_chains_and_few_enough(monkeypatch):
    task = make("six-cell")
    belief = belief_in(task, np.arange(2000.0).reshape(1000, 2))
    assert draws_for_tables(belief, 100).shape == (1, 100, 2)
    assert draws_for_tables(belief, 5000).shape == (1, 1000, 2)
    monkeypatch.setattr(situation, "MAX_ENTRIES", 24 * 50)
    assert draws_for_tables(belief, 1000).shape == (1, 50, 2)
    monkeypatch.setattr(situation, "MAX_ENTRIES", 24 * 19)
    with pytest.raises(Unsupported, match="at most 22 states times actions; this world has 24"):
        draws_for_tables(belief, 1000)


@given(tasks(max_states=3))
def test_one_draw_leaves_nothing_open(task):
    assume(any(task.weights))
    found = situation_of(task, [task.weights])
    assert not found.losses.any()
    assert (found.agreement == 1.0).all()


def test_action_probabilities_are_the_shares_of_the_draws():
    task = make("random-grid", size=2, n_features=2, seed=1)
    draws = [[1.0, 0.5], [-1.0, 0.3], [0.0, 0.0]]
    found = situation_of(task, draws)
    shares = [np.array([[a in row for a in range(4)] for row in exact(task, w)[1]]) for w in draws]
    expected = np.mean([s / s.sum(axis=1, keepdims=True) for s in shares], axis=0)
    np.testing.assert_allclose(found.action_probabilities, expected)


COMPARING = {"strategy": "max-infogain", "strategy_options": {"comparisons": True}}
WALK = {"n_steps": 1500, "confidence": 50.0}


def grid(seed: int = 3):
    return make("random-grid", size=3, n_features=3, seed=seed)


@pytest.mark.parametrize("learner", ["birl", "max-entropy"])
def test_what_a_comparison_tells_is_its_mutual_information(learner):
    """By its definition: the mean over answers of KL(belief after it || belief before it)."""
    seen = []
    options = {"n_steps": 300, "confidence": 5.0} if learner == "birl" else {}
    ask(
        grid(), n_queries=1, learner=learner,
        settings=AskSettings(n_samples=40, on_step=lambda _, s: seen.append(s)),
        **COMPARING, **options,
    )  # fmt: skip
    situation = seen[0]
    found = pair_information(situation)
    n = len(situation.weights)
    for state, a, b in [(0, 1, 3), (4, 0, 2), (8, 2, 3)]:
        chance = situation.rather(a, b)[:, state]
        if learner == "birl":
            gap = 5.0 * (
                situation.action_values[:, state, a] - situation.action_values[:, state, b]
            )
            assert chance == pytest.approx(1.0 / (1.0 + np.exp(-gap)))
        wanted = 0.0
        for likelihood in (chance, 1.0 - chance):
            after = likelihood / likelihood.sum()
            wanted += likelihood.mean() * (after * np.log(np.maximum(after * n, 1e-300))).sum()
        assert found[state, a, b] == found[state, b, a] == pytest.approx(wanted, abs=1e-12)


def test_comparisons_teach_and_none_is_asked_twice(tmp_path):
    task = grid()
    run = ask(task, n_queries=14, **COMPARING, **WALK)
    said = [step.comparison for step in run.steps[1:]]
    assert run.demonstrations == ()
    assert run.belief.feedback == tuple(said)
    assert len({(c.state, frozenset((c.better, c.other))) for c in said}) == 14
    values = solve(task).action_values
    assert all(values[c.state, c.better] >= values[c.state, c.other] - 1e-12 for c in said)
    assert run.policy_losses[-1] < 0.05 < run.policy_losses[0]
    for number, step in enumerate(run.steps):
        verdict = didact.check(task, [[(0, 0)]] if not number else list(said[:number]))
        if number:  # what follows from rows outside of the class is not counted while asking
            assert step.covered <= step.n_elements - verdict.n_open
    path = tmp_path / "run.json"
    run.save(path)
    assert [item["kind"] for item in json.loads(path.read_text())["items"]] == ["comparison"] * 14
    assert didact.learn(task, path, learner="ml-irl").feedback == tuple(said)


def test_what_was_known_before_is_not_asked_again(quick):
    task = grid()
    before = [Comparison(s, a, b) for s in range(9) for a in range(4) for b in range(a)]
    before.remove(Comparison(4, 2, 1))
    options = {"comparisons": True}
    run = ask(
        task, strategy="random", strategy_options=options, demonstrations=before, n_queries=5,
        learner="max-entropy", penalty=1.0,
    )  # fmt: skip
    assert run.ended == "done"
    assert {run.steps[1].comparison.better, run.steps[1].comparison.other} == {1, 2}
    assert run.n_queries == 1


def asked(actions, situation=None, seed=0) -> Question:
    return Question(1, 4, 3, situation, np.random.default_rng(seed), actions)


def test_oracles_answer_what_is_better():
    task = grid()
    values = solve(task).action_values[4]
    pairs = [(a, b) for a in range(4) for b in range(a) if abs(values[a] - values[b]) > 1e-9]
    for a, b in pairs:
        assert optimal_oracle(task)(asked((a, b))) == (a if values[a] > values[b] else b)
    a, b = pairs[0]
    unsure = softmax_oracle(task, 2.0)
    often = [unsure(asked((a, b), seed=i)) for i in range(2000)]
    wanted = 1.0 / (1.0 + np.exp(2.0 * (values[b] - values[a])))
    assert np.mean([answer == a for answer in often]) == pytest.approx(wanted, abs=0.05)
    with pytest.raises(Unsupported, match="does not say which"):
        policy_oracle(task.mdp, np.zeros(9, dtype=int))(asked((0, 1)))


@pytest.mark.parametrize("answer", [3, [(4, 0)], "left", Comparison(4, 0, 3)])
def test_another_answer_than_one_of_the_two_is_refused(answer):
    task = grid()

    def compare_first(situation, rng):
        scores = np.zeros((9, 4, 4))
        scores[4, 0, 1] = 1.0
        return scores

    didact.register_strategy("first-pair")(compare_first)
    settings = {"strategy": "first-pair", "learner": "max-entropy", "n_queries": 1, "penalty": 1.0}
    with pytest.raises(InvalidParameter, match="one of the two actions"):
        ask(task, answer=lambda question: answer, **settings)
    run = ask(task, answer=lambda question: Comparison(4, 1, 0), **settings)
    assert run.steps[1].comparison == Comparison(4, 1, 0)


def test_demonstrations_and_comparisons_go_together():
    """A strategy may ask one and then the other; a state that was compared can still be shown."""
    task = grid()

    def by_turns(situation, rng):
        compares = len(situation.belief.feedback) <= len(situation.demonstrations)
        return np.ones((9, 4, 4)) if compares else np.arange(9.0, 0.0, -1.0)

    didact.register_strategy("by-turns")(by_turns)
    run = ask(task, strategy="by-turns", n_queries=4, horizon=2, **WALK)
    kinds = [type(step.comparison or step.demonstration) for step in run.steps[1:]]
    assert kinds == [Comparison, Demonstration, Comparison, Demonstration]
    assert run.states == (0, 0, 0, 1)
