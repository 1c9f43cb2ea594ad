"""What agents may lose, against losses in fractions and every direction of weights."""

import random
import re
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

import didact
from didact.auditing import exam, load_exam
from didact.errors import InvalidParameter, Unsupported
from tests.all_policies import counts_and_losses
from tests.auditing.test_audit import _belief, plain_loss
from tests.beyond.test_exams import tied_world
from tests.beyond.test_loss_by_angles import directions, model
from tests.effort import chunks
from tests.laws.test_exams import world

# Policies, weights and beliefs


@pytest.mark.parametrize("seed", range(12))
def test_a_policy_passes_exactly_when_it_loses_no_more(seed):
    task, rng = world(seed), random.Random(f"losing {seed}")
    policy = [rng.randrange(task.mdp.n_actions) for _ in range(task.mdp.n_states)]
    loss = plain_loss(task, policy)
    table = np.eye(task.mdp.n_actions)[policy]
    assert didact.audit(task, table, loss=loss).passed
    found = didact.audit(task, lambda state: policy[state], loss=loss * Fraction(9, 10))
    assert found.verdict == ("fail" if loss else "pass")
    assert found.loss == pytest.approx(float(loss), abs=1e-9)


def test_weights_lose_what_the_worst_way_to_break_ties_does():
    task = tied_world()
    assert didact.audit(task, [1, 0, "0.5"], loss=0).passed
    between = ["0.5", "0.5", "0.5"]
    assert didact.audit(task, between, loss="0.36").passed
    found = didact.audit(task, between, loss="0.35")
    assert (found.verdict, found.situation.state) == ("fail", 0)
    assert "at most 0.35" in found.statement


def test_of_a_belief_the_draws_are_counted_that_lose_little():
    task = didact.make("six-cell")
    draws = np.random.default_rng(0).normal([-1, -3], [0.2, 1.0], size=(4, 25, 2))
    bec, belief = didact.equivalence_class(task), _belief(task, draws)
    judged = [didact.audit(task, list(w), loss=2, bec=bec) for w in draws.reshape(-1, 2)]
    found = didact.audit(task, belief, loss=2)
    assert found.verdict == "undecided"
    assert found.share["share"] == pytest.approx(np.mean([each.passed for each in judged]))
    assert found.share["share"] > didact.audit(task, belief).share["share"]
    assert "lose no more" in found.reason


def test_draws_that_tie_lose_what_the_worst_way_to_break_ties_does():
    """Draws of a lattice tie exactly: e1 = e2 = e3 may take e3, which loses .36."""
    task = tied_world()
    rng = np.random.default_rng(0)
    draws = np.where(rng.random((4, 25, 1)) < 0.5, [0.5, 0.5, 0.5], [1.0, 1.0, 0.5])
    judged = [didact.audit(task, list(w), loss="0.35").passed for w in draws.reshape(-1, 3)]
    assert 0 < np.mean(judged) < 1
    found = didact.audit(task, _belief(task, draws), loss="0.35")
    assert found.share["share"] == pytest.approx(np.mean(judged))


def test_a_bound_for_each_action_and_one_for_all_are_not_mixed():
    task = didact.make("six-cell")
    with pytest.raises(InvalidParameter, match="not both"):
        didact.audit(task, [-1, -3], loss="1%", within=1)
    with pytest.raises(Unsupported, match="for one task"):
        didact.audit(didact.Family([task, task]), [-1, -3], loss="1%")


# Answers


@cache
def every(seed):
    """A tiny world with two features: one direction in each class, and what its policies lose."""
    task = model(seed)
    bec = didact.equivalence_class(task)
    weights = directions(bec)
    counts, losses = counts_and_losses(task)
    returns = weights @ counts.T
    best = returns >= returns.max(axis=1)[:, None] - 1e-9
    return bec, weights, np.where(best, losses, -np.inf).max(axis=1)


def answers_of(questions, rng):
    """Some right, some wrong, some none; a wrong "equal" says nothing."""
    given = []
    for question in questions:
        wrong = [side for side in ("first", "second", "equal") if side != question.key]
        given.append(rng.choice([question.key, question.key, None, rng.choice(wrong)]))
    return given


def who_answers(questions, given, weights):
    fits = np.ones(len(weights), dtype=bool)
    for question, answer in zip(questions, given, strict=True):
        if answer in ("first", "second"):
            sign = 1 if answer == "first" else -1
            fits &= sign * (weights @ np.array(question.normal, dtype=float)) > 0
    return fits


@pytest.mark.parametrize("seed", chunks(12, 40))
def test_what_follows_from_answers_is_true_of_every_direction(seed):
    bec, weights, losses = every(seed)
    rng = random.Random(f"answers {seed}")
    asked = exam(bec.task, bec=bec)
    assert all(question.key != "equal" for question in asked.questions)
    if not asked.questions:
        assert asked.grade([], loss=0).passed
        return
    for share in (0.0, 0.02, 0.3, 1.0):
        given = answers_of(asked.questions, rng)
        found = asked.grade(given, loss=f"{100 * share:g}%")
        fits = who_answers(asked.questions, given, weights)
        bound = share * spread(bec)
        if not fits.any():
            assert "no weights" in found.reason
        elif losses[fits].max() <= bound + 1e-9:
            assert found.verdict == "pass"
            assert found.loss_bound == pytest.approx(losses[fits].max(), abs=1e-9)
        elif losses[fits].min() > bound + 1e-9:
            assert found.verdict == "fail"
        else:
            assert found.verdict == "undecided"
            assert found.witness is not None


def spread(bec):
    uniform = np.full(bec.plan.optimal.shape, 1 / bec.plan.optimal.shape[1])
    return didact.evaluate(bec.task, uniform, plan=bec.plan).policy_loss


@cache
def corridor():
    return didact.make("random-grid", size=5, n_features=4, seed=2)


def test_open_questions_pass_once_little_can_be_lost():
    asked = exam(corridor())
    key = [question.key for question in asked.questions]
    found = [asked.grade(key[:n] + [None] * (5 - n), loss="5%") for n in range(6)]
    assert [each.verdict for each in found] == ["undecided"] * 4 + ["pass"] * 2
    assert found[5].loss_bound == 0
    assert asked.grade([*key[:4], None]).verdict == "undecided"
    assert asked.grade([*key[:4], None], loss=f"{100 * 0.99 * 0.0033:g}%").verdict == "undecided"
    assert "answers the same" in found[3].reason
    rows = [np.array(q.normal, dtype=float) for q in asked.questions[:3]]
    signs = [1 if side == "first" else -1 for side in key[:3]]
    assert all(s * (r @ found[3].witness) >= -1e-9 for s, r in zip(signs, rows, strict=True))
    lost = didact.audit(corridor(), np.array(found[3].witness)).loss
    assert lost > 0.05 * spread(didact.equivalence_class(corridor()))


def test_a_wrong_answer_that_costs_little_passes():
    asked = exam(corridor())
    given = [question.key for question in asked.questions]
    given[4] = {"first": "second", "second": "first"}[given[4]]
    assert asked.grade(given).verdict == "fail"
    found = asked.grade(given, loss="1%")
    assert (found.verdict, found.same, found.question) == ("pass", False, 4)
    assert 0 < found.loss_bound < 0.01 * spread(asked.bec)
    assert asked.grade(given, loss=found.loss_bound / 2).verdict != "pass"


def test_best_actions_pass_where_they_are_closed_or_all_is_charted(monkeypatch):
    asked = exam(corridor(), ask="actions")
    key = [question.key for question in asked.questions]
    n = len(key)
    few = key[:5] + [None] * (n - 5)
    assert asked.grade([*key[: n - 1], None], loss="5%").verdict == "pass"
    charted = asked.grade(few, loss="20%")
    assert charted.verdict == "pass" or charted.witness is not None
    monkeypatch.setattr("didact.teaching.loss.cells.IN_SIGHT", 0.0)
    assert asked.grade([*key[: n - 1], None], loss="5%").verdict == "pass"
    found = asked.grade(few, loss="5%")
    assert found.verdict == "undecided"
    assert "proves nothing" in found.reason
    wrong = [None] * n
    wrong[0] = (key[0][0] + 1) % 4
    cost = float(asked.questions[0].costs[wrong[0]]) / 25
    assert asked.grade(wrong, loss=0.99 * cost).verdict == "fail"
    assert asked.grade(wrong, loss=1.01 * cost).verdict == "undecided"


def test_what_an_agent_was_seen_to_do_passes_only_if_every_policy_may():
    """No action was called worse, so that the reward 0 fits, and with it the worst policy."""
    task = corridor()
    bec = didact.equivalence_class(task)
    enough = didact.teach_within(task, bec=bec, teacher="exact", horizon=1, loss="1%")
    assert enough.loss_status == "enumerated"
    seen = list(enough.demonstrations)
    found = didact.audit(task, seen, loss="1%", bec=bec)
    assert (found.verdict, found.agent) == ("undecided", "demonstrations")
    assert "without preferences" in found.reason
    assert didact.audit(task, list(found.witness), loss="1%", bec=bec).verdict == "fail"
    most = didact.audit(task, [0, 0, 0, 0], bec=bec).loss
    assert didact.audit(task, seen, loss=1.01 * most, bec=bec).verdict == "pass"
    assert didact.audit(task, seen, loss=0.99 * most, bec=bec).verdict == "undecided"
    with pytest.raises(InvalidParameter, match="give loss"):
        didact.audit(task, seen, bec=bec)


def on_the_boundary():
    """State 0 stays or goes to 1, which goes back or ends; (-10, -1) ties all of it."""
    moves = [[[1, 0, 0], [0, 1, 0]], [[1, 0, 0], [0, 0, 1]], [[0, 0, 0]] * 2]
    mdp = didact.MDP(moves, [[0, 1], [0, 1], [1, 0]], "0.9", start=0, terminal=[2])
    return didact.Task(mdp, [0, 1])


def test_an_agent_on_the_boundary_of_those_who_answer_so_breaks_ties_for_the_worst():
    task = on_the_boundary()
    asked = exam(task, ask="actions")
    agent = [-10, -1]
    given = [None, asked.answers_of(agent)[1]]
    assert given == [None, (0, 1)]
    assert didact.audit(task, agent, loss="1%").verdict == "fail"
    assert asked.grade(given, loss="1%").verdict == "undecided"
    seen = [didact.Demonstration([(0, 0)]), didact.Demonstration([(0, 1)])]
    assert didact.audit(task, seen, loss="1%").verdict == "undecided"
    assert asked.grade([(0,), None], loss="1%").verdict == "pass"


def test_witnesses_answer_as_was_answered_and_lose_at_least_what_is_told():
    asked = exam(corridor())
    key = [question.key for question in asked.questions]
    for n in range(4):
        found = asked.grade([*key[:n], *[None] * (5 - n)], loss="5%")
        weights = [repr(weight) for weight in found.witness]
        assert asked.answers_of(weights)[:n] == key[:n]
        told = float(re.search(r"loses (\S+) ", found.reason)[1])
        assert didact.audit(corridor(), weights).loss > 0.999 * told


def test_what_cannot_be_judged_by_loss_is_refused(tmp_path):
    asked = exam(corridor())
    asked.save(tmp_path / "exam.json")
    with pytest.raises(InvalidParameter, match="use audit for loss"):
        load_exam(tmp_path / "exam.json").grade([None] * 5, loss="1%")
    with pytest.raises(InvalidParameter, match="loss must not be negative"):
        asked.grade([None] * 5, loss=-1)
    family = didact.Family([corridor(), corridor()])
    with pytest.raises(Unsupported, match="for one task"):
        exam(family).grade([None] * 5, loss="1%")
