"""Exams: the statements about them, and the counterexamples to what one might think."""

from fractions import Fraction

import pytest

import didact
from didact.auditing import exam
from didact.mdp import MDP, Task, Transitions


def ways(moves, paid, weights, discount="0.9"):
    """A world that starts in state 0: moves[s] lists where actions lead, none where s ends.

    paid: the features of each state.
    """
    n_actions = max(map(len, moves))
    rows = [
        (s, a, targets[min(a, len(targets) - 1)], 1)
        for s, targets in enumerate(moves)
        for a in range(n_actions if targets else 0)
    ]
    ends = [s for s, targets in enumerate(moves) if not targets]
    transitions = Transitions.from_rows(rows, len(moves), n_actions)
    return Task(MDP(transitions, paid, discount, start={0: 1}, terminal=ends), weights)


def loss(task, weights):
    return didact.evaluate(task, didact.solve(task, weights, arithmetic="exact")).worst_policy_loss


def grades(task, weights):
    """The verdict of every kind of exam on an agent that answers truthfully."""
    asked = ("comparisons", "actions", "preferences")
    exams = [exam(task, ask=kind) for kind in asked]
    return {e.ask: e.grade(e.answers_of(weights)).verdict for e in exams}


ZERO, E1, E2, E3 = [0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]


def tied_world():
    """State 0 goes on to state 1 or takes e3; state 1 takes e1 or e2, which tie."""
    return ways([[1, 4], [2, 3], [], [], []], [ZERO, ZERO, E1, E2, E3], [1, 1, "0.5"])


def test_with_ties_agents_that_never_lose_are_no_convex_set():
    task = tied_world()
    assert loss(task, [1, 0, "0.5"]) == loss(task, [0, 1, "0.5"]) == 0
    assert loss(task, ["0.5", "0.5", "0.5"]) == pytest.approx(0.36, abs=1e-12)


def test_an_exam_with_ties_asks_for_the_same_best_actions_not_for_no_loss():
    """Agents that lose nothing hold other sets best, and prefer e3 to our way of going on.

    What they take when offered both ways is not what they do where they go on by themselves.
    """
    task = tied_world()
    for weights in ([1, 0, "0.5"], [0, 1, "0.5"], ["0.5", "0.5", "0.5"]):
        assert set(grades(task, weights).values()) == {"fail"}
        questions = exam(task)
        situation = questions.grade(questions.answers_of(weights)).situation
        assert situation.cost == pytest.approx(0.36)
        assert "offered both ways" in situation.words
    assert set(grades(task, [2, 2, 1]).values()) == {"pass"}


def leak():
    """s1: a goes on to s2, b ends; s2: c pays +1, d pays -2; the reward is w = 1."""
    return ways([[1, 4], [2, 3], [], [], []], [[0], [0], [1], [-2], [0]], [1])


def test_an_exam_of_actions_that_is_not_closed_passes_an_agent_that_loses():
    """The agent -1 goes on to s2 too, to take d there: it answers rightly and loses."""
    task = leak()
    short = exam(task, ask="actions", closed=False)
    asked = [question.state for question in short.questions]
    assert len(asked) == short.lower_bound == 1
    agent = didact.solve(task, [-1], arithmetic="exact")
    assert loss(task, [-1]) == pytest.approx(2.43, abs=1e-12)
    about_the_first = exam(task, ask="actions", closed=False, bec=short.bec)
    assert agent.optimal_actions(0) == didact.solve(task).optimal_actions(0)
    found = about_the_first.grade([[agent.optimal_actions(s)[0]] for s in asked])
    assert found.verdict != "pass"
    right = about_the_first.grade([q.key for q in about_the_first.questions])
    assert right.verdict == "undecided"
    assert "not closed" in right.reason


def test_a_closed_exam_of_actions_does_not_pass_it():
    whole = exam(leak(), ask="actions")
    assert [question.state for question in whole.questions]
    found = whole.grade(whole.answers_of([-1]))
    assert found.verdict == "fail"
    assert whole.grade(whole.answers_of([3])).passed


def near_tie():
    """s0 takes e1 or goes on to s1, which takes e2 or e3: worth .5 and .49."""
    return ways([[2, 1], [3, 4], [], [], []], [ZERO, ZERO, E1, E2, E3], [1, "0.5", "0.49"])


def test_leaving_out_a_question_with_a_small_margin_is_unsound():
    task = near_tie()
    questions = exam(task)
    agent = [1, "0.5", 10]
    answers = questions.answers_of(agent)
    wrong = [
        i for i, (q, a) in enumerate(zip(questions.questions, answers, strict=True)) if a != q.key
    ]
    assert [questions.questions[i].state for i in wrong] == [1]
    smallest = min(questions.questions, key=lambda q: q.margin)
    assert smallest is questions.questions[wrong[0]]
    assert loss(task, agent) == pytest.approx(0.5031, abs=1e-12)
    assert float(smallest.margin) == pytest.approx(0.009)
    assert questions.grade(answers).verdict == "fail"
    left_out = {i: a for i, a in enumerate(answers) if i not in wrong}
    assert questions.grade(left_out).verdict == "undecided"


def corridor():
    """1 x 4 cells with features 0, 2, 0, 1; staying in cell 1 ties with going on from it."""
    return didact.gridworld(
        ["acab"], {"a": -1, "b": 3, "c": 1}, names={"a": "0", "b": "1", "c": "2"}, discount="0.5"
    )


def test_the_published_exam_passes_an_agent_that_is_strictly_wrong_and_ours_does_not():
    task = corridor()
    order = [task.mdp.feature_name(i) for i in range(3)]
    agent = [{"0": -4, "1": 3, "2": 4}[name] for name in order]
    plan = didact.solve(task, agent, arithmetic="exact")
    assert not (plan.optimal[2] & didact.solve(task).optimal[2]).any()
    assert loss(task, agent) == pytest.approx(0.5, abs=1e-12)
    assert didact.equivalence_class(task).cone.equalities
    found = grades(task, agent)
    assert (found["comparisons"], found["actions"]) == ("fail", "fail")
    assert found["preferences"] != "pass"


@pytest.mark.parametrize("kind", ["comparisons", "actions", "preferences"])
def test_single_answers_never_pass(kind):
    task = near_tie()
    questions = exam(task, ask=kind)
    right = [q.key for q in questions.questions]
    assert questions.grade(right).passed
    if kind == "actions":
        found = questions.grade([key[0] for key in right])
        assert found.verdict == "undecided"
        assert "single action" in found.reason


def test_single_answers_leave_the_boundary_open():
    """(1, .5, .5) answers as the task does where it breaks its tie so, and is not aligned."""
    task = near_tie()
    questions = exam(task, ask="actions")
    plan = didact.solve(task, [1, "0.5", "0.5"], arithmetic="exact")
    single = [plan.optimal_actions(q.state)[0] for q in questions.questions]
    assert questions.grade(single).verdict == "undecided"
    assert questions.grade(questions.answers_of([1, "0.5", "0.5"])).verdict == "fail"


def test_the_smallest_margin_is_asked_first():
    task = didact.make("random-grid", size=4, n_features=5, seed=3)
    angles = [q.angle for q in exam(task).questions]
    assert len(angles) > 2
    assert angles == sorted(angles)
    weights = task.true_weights.fractions()
    for question in exam(task).questions:
        product = sum(n * w for n, w in zip(question.normal, weights, strict=True))
        length = sum(n * n for n in question.normal) * sum(w * w for w in weights)
        assert abs(question.angle) == pytest.approx(abs(float(product)) / float(length) ** 0.5)


def test_a_wrong_answer_costs_what_taking_that_side_costs():
    task = near_tie()
    for question in exam(task).questions:
        values = didact.solve(task, arithmetic="exact").action_values[question.state]
        for option, cost in zip(question.options, question.costs, strict=True):
            assert float(cost) == pytest.approx(values.max() - values[option], abs=1e-12)
        assert isinstance(question.margin, Fraction)
