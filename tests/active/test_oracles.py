"""Which of two actions is better: what is asked, what it tells, who answers, what is kept."""

import json

import numpy as np
import pytest

import didact
from didact.active import AskSettings, Question, ask, optimal_oracle, policy_oracle, softmax_oracle
from didact.active.strategies import pair_information
from didact.errors import InvalidParameter, Unsupported
from didact.mdp import Comparison, Demonstration
from didact.planning import solve
from didact.worlds import make

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
