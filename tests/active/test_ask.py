"""The loop: what is asked, who answers, when it ends, and that seeds decide everything."""

import json
import re
import warnings

import numpy as np
import pytest

from didact.active import (
    AskSettings,
    Question,
    ask,
    optimal_oracle,
    policy_oracle,
    softmax_oracle,
)
from didact.errors import InvalidInput, InvalidParameter, NotMixed
from didact.mdp import Demonstration, load_demonstrations
from didact.planning import evaluate, solve
from didact.teaching import check, teach
from didact.worlds import gridworld, make


def grid(seed: int = 3):
    return make("random-grid", size=4, n_features=3, seed=seed)


def test_questions_answers_and_measures_fit_together(quick):
    task = grid()
    run = ask(task, n_queries=4, horizon=3, **quick)
    assert run.ended == "queries"
    assert run.n_queries == len(run.demonstrations) == len(run.states) == 4
    assert run.steps[0].state is None
    assert run.steps[0].demonstration is None
    optimal = solve(task.mdp, task.true_weights).optimal
    for number, step in enumerate(run.steps[1:], 1):
        assert step.number == number
        assert step.demonstration[0][0] == step.state
        assert len(step.demonstration) == 3
        assert all(optimal[s, a] for s, a in step.demonstration)
    for number, step in enumerate(run.steps):
        verdict = check(task, run.demonstrations[:number])
        assert step.n_elements == verdict.n_facets + verdict.n_equalities
        assert step.covered == step.n_elements - verdict.n_open
        assert 0.0 <= step.sure <= step.agreed <= 1.0
        assert step.value_at_risk >= 0.0
        assert step.mixed
    last = evaluate(task, run.belief.map_weights)
    assert run.steps[-1].policy_loss == pytest.approx(last.policy_loss, abs=1e-12)
    assert run.steps[-1].wrong_actions == pytest.approx(last.wrong_actions)
    assert run.policy_losses.tolist() == [step.policy_loss for step in run.steps]
    assert run.policy_losses[-1] < run.policy_losses[0]


def test_the_seed_decides_everything(quick):
    task = make("random-grid", size=4, n_features=3, slip="0.3", seed=1)
    settings = {"strategy": "random", "n_queries": 3, "horizon": 4, **quick}
    documents = [ask(task, seed=seed, **settings).document() for seed in (5, 5, 6)]
    assert documents[0] == documents[1]
    assert documents[0] != documents[2]
    generators = [ask(task, seed=np.random.default_rng(2), **settings) for _ in range(2)]
    assert generators[0].document() == generators[1].document()
    assert generators[0].document()["settings"]["seed"] is None


def test_whoever_asks_about_a_state_gets_the_same_answer(quick):
    task = make("random-grid", size=3, n_features=3, slip="0.3", seed=1)
    answers = {}
    for strategy in ("random", "max-entropy", "max-infogain", "max-var"):
        run = ask(task, strategy=strategy, n_queries=9, horizon=4, seed=8, **quick)
        for state, answer in zip(run.states, run.demonstrations, strict=True):
            assert answers.setdefault(state, answer) == answer
    assert len(answers) == 9


def test_each_state_is_asked_once_unless_asked_to_repeat(quick):
    task = grid()
    run = ask(task, n_queries=5, horizon=1, settings=AskSettings(states=[2, 7, 9]), **quick)
    assert (run.ended, sorted(run.states)) == ("done", [2, 7, 9])
    often = AskSettings(states=[2, 7], repeat=True)
    again = ask(task, n_queries=5, horizon=1, settings=often, **quick)
    assert (again.ended, again.n_queries) == ("queries", 5)
    assert set(again.states) <= {2, 7}


def test_repeated_questions_get_fresh_answers(quick):
    """In a tied state both optimal actions come up in time."""
    task = gridworld([".a", "a."], weights={".": 0, "a": 1}, discount="0.5")
    often = AskSettings(states=[0], repeat=True)
    run = ask(task, n_queries=12, horizon=1, settings=often, **quick)
    assert {d[0] for d in run.demonstrations} == {(0, 1), (0, 3)}


# Ends


def test_enough_ends_by_the_bound_on_the_value_at_risk(quick):
    task = grid()
    run = ask(task, n_queries=16, horizon=1, loss_below=1e6, **quick)
    assert (run.ended, run.n_queries) == ("enough", 0)
    far = ask(task, n_queries=16, horizon=1, loss_below=0.05, **quick)
    assert far.ended == "enough"
    assert far.steps[-1].bound < 0.05
    assert all(step.bound >= 0.05 for step in far.steps[:-1])
    small = AskSettings(n_samples=40)
    few = ask(task, n_queries=1, horizon=1, loss_below=1e6, settings=small, **quick)
    assert few.steps[-1].bound is None  # 59 draws are needed
    assert few.ended == "queries"


def test_settled_ends_when_all_states_are_known(quick):
    run = ask(grid(), n_queries=16, horizon=4, sure=0.9, **quick)
    assert run.ended == "settled"
    assert run.steps[-1].sure >= 0.9
    assert all(step.sure < 0.9 for step in run.steps[:-1])


def test_a_belief_that_has_not_mixed_ends_nothing(quick):
    """Three draws in each chain say nothing, however much they agree."""
    settings = {"n_queries": 2, "horizon": 1, "n_draws": 3, "sure": 0.001, "loss_below": 1e9}
    with pytest.warns(NotMixed, match="after 3 of 3 steps, first step 0, the draws were not"):
        run = ask(grid(), **settings, **quick)
    assert run.ended == "queries"
    assert not any(step.mixed for step in run.steps)
    assert all("too few" in step.warnings[-1] for step in run.steps)


@pytest.mark.parametrize("strategy", ["scot", "exact"])
def test_a_teaching_sequence_is_asked_in_its_order_and_then_over(quick, strategy):
    task = grid()
    lesson = teach(task, teacher=strategy, horizon=2, trim=False)
    run = ask(task, strategy=strategy, n_queries=16, horizon=2, **quick)
    assert run.ended == "done"
    assert run.demonstrations == lesson.demonstrations
    assert run.steps[-1].covered == run.steps[-1].n_elements
    assert all(step.score is None for step in run.steps)
    short = ask(task, strategy=strategy, n_queries=1, horizon=2, **quick)
    assert (short.ended, short.demonstrations) == ("queries", lesson.demonstrations[:1])


def test_sequences_start_where_questions_may_be_asked(quick):
    """One start, but questions may be asked wherever it leads."""
    task = gridworld(
        ["S..b", ".b..", "...G"], weights={"S": -1, ".": -1, "b": -3, "G": 0},
        terminal="G", start="S", discount="0.9",
    )  # fmt: skip
    run = ask(task, strategy="scot", n_queries=9, horizon=1, **quick)
    assert run.steps[-1].covered == run.steps[-1].n_elements
    assert len(set(run.states)) > 1


# Who answers


def test_a_function_can_answer(quick):
    task = grid()
    seen: list[Question] = []

    def down(question):
        seen.append(question)
        return 1 if len(seen) < 3 else None

    unknown = AskSettings(truth=False)
    run = ask(task, n_queries=9, horizon=5, answer=down, settings=unknown, **quick)
    assert (run.ended, run.n_queries) == ("stopped", 2)
    assert [question.number for question in seen] == [1, 2, 3]
    assert [d.pairs for d in run.demonstrations] == [((s, 1),) for s in run.states]
    assert seen[1].situation.demonstrations == run.demonstrations[:1]
    for step in run.steps:
        assert step.policy_loss is step.wrong_actions is step.covered is step.n_elements is None
    assert np.isnan(run.policy_losses).all()
    json.dumps(run.document(), allow_nan=False)


def test_pairs_can_answer_a_benchmarks_question_too(quick):
    task = grid()
    lesson = teach(task, horizon=1)
    settings = {"strategy": "scot", "n_queries": 2, "horizon": 1, **quick}
    run = ask(task, answer=lambda question: [(question.state, 0)], **settings)
    assert run.states == tuple(d[0][0] for d in lesson.demonstrations[:2])
    assert all(d[0][1] == 0 for d in run.demonstrations)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (
            lambda q: 7,
            "about state 0 (row 1, column 1): demonstration 1, step 1: action must be from 0 to 3",
        ),
        (
            lambda q: "up",
            "the answer about state 0 (row 1, column 1): demonstration 1: a demonstration",
        ),
        (
            lambda q: [(5, 0)],
            "the answer must begin in state 0 (row 1, column 1), which was asked; it begins in",
        ),
        (lambda q: [(0, 0), (15, 0)], "state 15 cannot follow "),
        (lambda q: 1 / 0, "the answering function failed: ZeroDivisionError"),
        (lambda q: [], "must show at least one"),
    ],
)
def test_bad_answers_are_told_in_one_line(quick, answer, message):
    with pytest.raises(InvalidParameter, match=re.escape(message)):
        ask(grid(), horizon=1, answer=answer, settings=AskSettings(states=[0]), **quick)


def question(task, state, horizon=5, seed=0):
    return Question(1, state, horizon, None, np.random.default_rng(seed))


def test_oracles_play_policies():
    task = make("six-cell")
    plan = solve(task.mdp, task.true_weights)
    answer = optimal_oracle(task, plan)(question(task, 2))
    assert answer.pairs == ((2, 1), (5, 2), (4, 2), (3, 0))  # it ends in the terminal state
    assert optimal_oracle(task)(question(task, 2, horizon=2)).pairs == answer.pairs[:2]
    assert policy_oracle(task.mdp, np.full(6, 1))(question(task, 2, horizon=1)).pairs == ((2, 1),)


def test_a_softmax_oracle_errs_as_often_as_it_should():
    task = make("six-cell")
    plan = solve(task.mdp, task.true_weights)
    powers = np.exp(0.5 * (plan.action_values[4] - plan.action_values[4].max()))
    oracle = softmax_oracle(task, 0.5)
    n = 4000
    taken = [oracle(question(task, 4, horizon=1, seed=i))[0][1] for i in range(n)]
    found = np.bincount(taken, minlength=4) / n
    chances = powers / powers.sum()
    assert (np.abs(found - chances) < 4 * np.sqrt(chances * (1 - chances) / n)).all()


# What is given


def test_demonstrations_can_be_given_before_the_first_question(quick):
    task = grid()
    lesson = teach(task, horizon=1)
    run = ask(task, demonstrations=lesson.demonstrations, n_queries=1, horizon=1, **quick)
    assert run.steps[0].covered == run.steps[0].n_elements
    assert run.demonstrations[:-1] == lesson.demonstrations
    assert isinstance(run.demonstrations[-1], Demonstration)


def test_every_step_is_told_as_it_comes(quick):
    told = []
    telling = AskSettings(on_step=lambda *what: told.append(what))
    run = ask(grid(), n_queries=2, horizon=1, settings=telling, **quick)
    assert tuple(step for step, _ in told) == run.steps
    assert [len(situation.open_states) for _, situation in told] == [16, 15, 14]


def test_a_run_is_a_file_that_other_commands_read(quick, tmp_path):
    task = grid()
    run = ask(task, n_queries=2, horizon=2, **quick)
    run.save(tmp_path / "run.json")
    assert load_demonstrations(tmp_path / "run.json", task.mdp) == run.demonstrations
    document = json.loads((tmp_path / "run.json").read_text())
    assert document["format"] == "didact.run/1"
    assert document == json.loads(json.dumps(run.document()))
    assert repr(run) == (
        "Run('random-grid 4x4, seed 3', 'max-var', 2 questions, ended: all questions are asked)"
    )


def test_a_point_learner_can_be_asked_for_and_says_nothing_of_risk():
    learner = pytest.importorskip("didact.learners.points.unit_weights")
    assert learner
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = ask(grid(), learner="ml-irl", n_queries=2, horizon=2)
    assert all(step.bound is step.r_hat is step.ess is None for step in run.steps)
    assert not any(step.is_telling for step in run.steps)
    assert ask(grid(), learner="ml-irl", n_queries=1, horizon=2, sure=0.5).ended == "queries"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"strategy": "max"},
            "no strategy is called 'max' (did you mean 'max-var'?); there are",
        ),
        (
            {"learner": "bird"},
            "no learner is called 'bird' (did you mean 'birl'?); there are",
        ),
        ({"n_queries": 0}, "n_queries must be a whole number from 1; it is 0"),
        ({"n_queries": 2.5}, "n_queries must be a whole number from 1; it is 2.5"),
        ({"horizon": 0}, "horizon must be a whole number from 1; it is 0"),
        ({"n_samples": 0}, "n_samples must be a whole number from 1; it is 0"),
        ({"truth": "maybe"}, "truth must be"),
        ({"repeat": 2}, "repeat must be"),
        ({"loss_below": 0}, "loss_below must be a positive number; it is 0"),
        ({"loss_below": float("nan")}, "loss_below must be a positive number; it is nan"),
        ({"loss_below": float("inf")}, "loss_below must be a positive number; it is inf"),
        ({"sure": 1.5}, "sure must be above 0 and at most 1; it is 1.5"),
        ({"sure": "very"}, "sure must be above 0 and at most 1; it is 'very'"),
        ({"seed": -1}, "seed must be"),
        ({"seed": "one"}, "seed must be"),
        ({"states": [99]}, "states must be from 0 to 15; it is 99"),
        ({"demonstrations": [[(99, 0)]]}, "state must be from 0 to 15"),
        ({"strategy_options": {"n_bins": 3}}, "strategy 'max-var' has no option 'n_bins'"),
        ({"temperature": 3}, "learner 'weighing' has no option 'temperature'"),
    ],
)
def test_bad_settings_are_told_in_one_line(quick, options, message):
    own = {name: options[name] for name in AskSettings.__dataclass_fields__ if name in options}
    rest = {name: value for name, value in options.items() if name not in own}
    with pytest.raises(InvalidInput, match=re.escape(message)):
        ask(grid(), **{**quick, **rest}, settings=AskSettings(**own))
