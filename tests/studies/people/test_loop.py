"""The closed loop against brute force: own value iteration, thousands of rewards on the sphere."""

import numpy as np
import pytest

from didact import make
from didact.random import stream
from didact.studies.people.answers import Kept
from didact.studies.people.design import design_study
from didact.studies.people.loop import CONFIDENCE, next_demonstration

TASK = make("random-grid", size=6, n_features=5, seed=4)
DESIGN = design_study(TASK, n_questions=8, n_practice=0, n_rounds=2, conditions=("exact", "none"))


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
    best = q_values(TASK, weights).argmax(axis=1)
    return [Kept("test", 0, state, int(best[state]), 0, None, 0.0) for _, state in DESIGN.test]


def log_likelihood(weights, answers):
    found = q_values(TASK, weights)
    soft = CONFIDENCE * (found - found.max(axis=-1, keepdims=True))
    norms = np.log(np.exp(soft).sum(axis=-1))
    return sum(soft[..., each.state, each.action] - norms[..., each.state] for each in answers)


def test_the_explaining_reward_is_the_most_likely_and_what_is_shown_excludes_it():
    rng, chosen = stream(0, "believers"), set()
    for _ in range(3):
        answers = answers_of(rng.normal(size=5))
        found = next_demonstration(TASK, DESIGN, answers)
        weights = np.array(found.weights)
        best = log_likelihood(weights, answers)
        others = rng.normal(size=(200, 5))
        others /= np.linalg.norm(others, axis=1, keepdims=True)
        assert best >= log_likelihood(others, answers).max() - 1e-6
        values = q_values(TASK, weights)
        regrets = [
            max(values[s].max() - values[s, a] for s, a in each) / np.ptp(values)
            for each in DESIGN.pool
        ]
        assert found.chosen is not None
        assert found.regret == pytest.approx(max(regrets), abs=1e-6)
        assert regrets[found.chosen] == pytest.approx(max(regrets), abs=1e-6)
        chosen.add(found.chosen)
        again = next_demonstration(TASK, DESIGN, answers, {found.chosen})
        assert again.chosen != found.chosen
    assert len(chosen) > 1


def test_without_a_mistake_nothing_is_shown():
    found = next_demonstration(TASK, DESIGN, answers_of(TASK.weights))
    assert found.chosen is None


def test_demonstrations_of_the_pool_are_optimal_and_show_nothing_that_is_asked():
    values = q_values(TASK, TASK.weights)
    asked = {state for _, state in DESIGN.asked}
    for each in DESIGN.pool:
        for state, action in each:
            assert values[state, action] == pytest.approx(values[state].max())
            assert state not in asked
    assert [len(places) for places in DESIGN.retest] == [2, 2]
