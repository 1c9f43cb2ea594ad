"""Learners in place of people: what they were taught shows in their scores; the closed loop.

The loop is compared with brute force: own value iteration, thousands of rewards on the sphere.
"""

import numpy as np
import pytest

from didact import Family, make, solve
from didact.errors import InvalidModel
from didact.random import stream
from didact.studies.people.answers import Kept
from didact.studies.people.design import design_study
from didact.studies.people.learners import (
    CONFIDENCE,
    MAX_LIKELIHOODS,
    next_demonstration,
    one_model,
    simulated_answers,
)
from didact.studies.people.results import estimates, scores
from tests.effort import number

TASK = make("random-grid", size=7, n_features=3, seed=1)
DESIGN = design_study(TASK, conditions=("exact", "none"), n_questions=8, seed=3)


@pytest.fixture(autouse=True)
def short_chains(monkeypatch):
    """Learners of small worlds, most of whose time is their chains."""
    most = number(MAX_LIKELIHOODS // 6, MAX_LIKELIHOODS)
    monkeypatch.setattr("didact.studies.people.learners.MAX_LIKELIHOODS", most)


def test_who_saw_the_lesson_scores_higher_and_slips_cost():
    steady = estimates(scores(simulated_answers(TASK, DESIGN, 40, (200.0,)), DESIGN))
    hasty = estimates(scores(simulated_answers(TASK, DESIGN, 40, (0.0,)), DESIGN))
    assert steady["exact"].n == steady["none"].n == 20
    assert steady["exact"].low > steady["none"].high
    assert abs(hasty["exact"].mean - hasty["none"].mean) < 0.15


def test_a_family_stands_side_by_side_and_every_member_keeps_its_values():
    family = make("random-grid", size=4, n_features=3, members=3, slip=0.2, seed=5)
    mdp, firsts = one_model(family)
    together = solve(mdp, family.true_weights, arithmetic="float").values
    for first, task in zip(firsts, family.members, strict=False):
        alone = solve(task.mdp, task.true_weights, arithmetic="exact").values
        assert together[first : first + 16] == pytest.approx(alone)


def test_learners_take_a_study_of_a_family():
    family = make("random-grid", size=5, n_features=3, members=3, seed=2)
    design = design_study(family, conditions=("exact", "none"), n_questions=8, unseen=[1])
    rows = simulated_answers(family, design, 40, (200.0,))
    assert {row["member"] for row in rows} == {1}
    found = estimates(scores(rows, design))
    assert found["exact"].low > found["none"].high


def test_worlds_of_several_discounts_keep_their_values():
    worlds = [make("random-grid", size=4, n_features=3, discount=d) for d in ("0.5", "0.9")]
    mdp, firsts = one_model(Family(worlds))
    together = solve(mdp, worlds[0].true_weights, arithmetic="float").values
    for first, task in zip(firsts, worlds, strict=False):
        alone = solve(task.mdp, task.true_weights, arithmetic="exact").values
        assert together[first : first + 16] == pytest.approx(alone)


def test_worlds_of_several_numbers_of_actions_are_refused():
    worlds = [make("garnet", n_states=6, n_features=3, n_actions=n) for n in (2, 3)]
    weights = worlds[0].true_weights
    family = Family([worlds[0], type(worlds[1])(worlds[1].mdp, weights)])
    with pytest.raises(InvalidModel, match="as many actions as the first, 2"):
        one_model(family)


def test_the_seed_decides():
    assert simulated_answers(TASK, DESIGN, 6) == simulated_answers(TASK, DESIGN, 6)


LOOPED = make("random-grid", size=6, n_features=5, seed=4)
LOOP = design_study(LOOPED, n_questions=8, n_practice=0, n_rounds=2, conditions=("exact", "none"))


def q_values(task, weights):
    """Action values (..., S, A) by plain value iteration on a dense table; for rewards (..., k)."""
    mdp = task.mdp
    table = np.zeros((mdp.n_states * mdp.n_actions, mdp.n_states))
    moves = mdp.transitions
    for row in range(len(table)):
        for i in range(moves.offsets[row], moves.offsets[row + 1]):
            table[row, moves.successors[i]] += moves.probabilities.floats[i]
    reward = np.asarray(weights) @ mdp.features.floats.T
    values = np.zeros_like(reward)
    for _ in range(600):
        gained = (values @ table.T).reshape(*reward.shape, mdp.n_actions)
        found = reward[..., None] + float(mdp.discount) * gained
        values = np.where(mdp.terminal, reward, found.max(axis=-1))
    return found


def answers_of(weights) -> list[Kept]:
    """A participant who answers the test by a reward of their own."""
    best = q_values(LOOPED, weights).argmax(axis=1)
    return [Kept("test", 0, state, int(best[state]), 0, None, 0.0) for _, state in LOOP.test]


def log_likelihood(weights, answers):
    found = q_values(LOOPED, weights)
    soft = CONFIDENCE * (found - found.max(axis=-1, keepdims=True))
    norms = np.log(np.exp(soft).sum(axis=-1))
    return sum(soft[..., each.state, each.action] - norms[..., each.state] for each in answers)


def test_the_explaining_reward_is_the_most_likely_and_what_is_shown_excludes_it():
    rng, chosen = stream(0, "believers"), set()
    for _ in range(3):
        answers = answers_of(rng.normal(size=5))
        found = next_demonstration(LOOPED, LOOP, answers)
        weights = np.array(found.weights)
        best = log_likelihood(weights, answers)
        others = rng.normal(size=(200, 5))
        others /= np.linalg.norm(others, axis=1, keepdims=True)
        assert best >= log_likelihood(others, answers).max() - 1e-6
        values = q_values(LOOPED, weights)
        regrets = [
            max(values[s].max() - values[s, a] for s, a in each) / np.ptp(values)
            for each in LOOP.pool
        ]
        assert found.chosen is not None
        assert found.regret == pytest.approx(max(regrets), abs=1e-6)
        assert regrets[found.chosen] == pytest.approx(max(regrets), abs=1e-6)
        chosen.add(found.chosen)
        again = next_demonstration(LOOPED, LOOP, answers, {found.chosen})
        assert again.chosen != found.chosen
    assert len(chosen) > 1


def test_without_a_mistake_nothing_is_shown():
    found = next_demonstration(LOOPED, LOOP, answers_of(LOOPED.weights))
    assert found.chosen is None


def test_demonstrations_of_the_pool_are_optimal_and_show_nothing_that_is_asked():
    values = q_values(LOOPED, LOOPED.weights)
    asked = {state for _, state in LOOP.asked}
    for each in LOOP.pool:
        for state, action in each:
            assert values[state, action] == pytest.approx(values[state].max())
            assert state not in asked
    assert [len(places) for places in LOOP.retest] == [2, 2]
