"""A policy in every form means the same."""

import numpy as np
import pytest

from didact.errors import InvalidInput
from didact.planning import as_policy, evaluate, solve
from didact.worlds import make

TASK = make("six-cell")
PLAN = solve(TASK.mdp, TASK.true_weights)
ACTIONS = PLAN.optimal.argmax(axis=1)


class Agent:
    """Answers as Stable-Baselines3 does: (action, state)."""

    def predict(self, observation, deterministic=True):
        return np.array(ACTIONS[observation]), None


@pytest.mark.parametrize(
    "form",
    [
        PLAN,
        TASK.weights,
        [-1, -10],
        ["-1", "-10"],
        ACTIONS,
        ACTIONS.tolist(),
        PLAN.policy,
        lambda state: int(ACTIONS[state]),
        lambda state: PLAN.policy[state],
        Agent(),
    ],
    ids=["plan", "weights", "ints", "text", "actions", "list", "probabilities", "callable",
         "distribution", "predict"],
)  # fmt: skip
def test_every_form_gives_the_optimal_policy(form):
    assert (as_policy(TASK.mdp, form) == PLAN.policy).all()
    assert evaluate(TASK, form).policy_loss == 0.0


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ([0, 1, 2], "shape"),
        (np.full((6, 4), 0.3), r"policy\[1\]"),
        (np.full((5, 4), 0.25), "shape"),
        (np.array([0, 9, 0, 0, 0, 0]), r"policy\[1\]"),
        (lambda state: "left", r"policy\[1\]"),
        (lambda state: 1.5, r"policy\[1\]"),
        (np.full((6, 4), np.nan), r"policy\[1\]"),
        (None, "policy must be"),
        ("left", "policy must be"),
    ],
)
def test_bad_policies_get_one_line(form, words):
    with pytest.raises(InvalidInput, match=words):
        as_policy(TASK.mdp, form)


def test_probabilities_are_divided_by_their_sum():
    policy = as_policy(TASK.mdp, np.full((6, 4), (1 + 1e-10) / 4))
    np.testing.assert_allclose(policy.sum(axis=1), [0, 1, 1, 1, 1, 1], rtol=1e-15)


def test_an_agent_is_asked_without_exploration_where_it_knows_of_that():
    class Explorer:
        def predict(self, state, deterministic=False):
            return (1 if deterministic else 0), None

    class Plain:
        def predict(self, state):
            return 1, None

    mdp = make("chain", length=4).mdp
    for agent in (Explorer(), Plain()):
        assert as_policy(mdp, agent)[:, 1].tolist() == [1.0] * 4
