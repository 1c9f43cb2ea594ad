"""What another policy loses, by rows: the same as by values in closed form and by returns."""

import numpy as np
import pytest

import didact
from didact.bec.observed.evaluate import MeanEstimate
from didact.errors import InvalidParameter
from didact.worlds.simulators.classics import LQR
from tests.bec.observed.test_observe import Coin, watch
from tests.effort import number


def _policy(gain):
    return lambda states: -np.atleast_2d(states) @ gain.T


def test_loss_by_rows_is_that_of_the_closed_form():
    """x' P x with P = Q + K' R K + discount (A - B K)' P (A - B K), starts of unit covariance."""
    env, discount = LQR(), 0.8
    best = env.gain(discount)
    worse = best * 0.5
    seen = watch(env, _policy(best), discount=discount, actions=0.5)

    def cost(gain):
        stage = np.diag(env.weights[:2]) + gain.T @ np.diag(env.weights[2:]) @ gain
        step, total = env.moves - env.pushes @ gain, np.zeros((2, 2))
        for _ in range(400):
            total = stage + discount * step.T @ total @ step
        return np.trace(total)

    told = didact.evaluate(seen, _policy(worse), n_states=number(1500, 4000))
    expected = cost(worse) - cost(best)
    slack = seen.setting.tolerance + seen.tail
    assert expected > 10 * told.loss.error
    assert abs(told.loss.mean - expected) < 4 * told.loss.error + slack
    assert abs(told.return_loss.mean - expected) < 4 * told.return_loss.error + slack
    assert told.other_actions.mean == 1.0


def test_weights_without_a_planner_act_by_branching():
    env = Coin()
    env.weights = np.array([1.0, 0.0])
    seen = watch(env, lambda o: np.zeros(len(np.atleast_2d(o)), dtype=int), tolerance=0.1)
    right = didact.evaluate(seen, [1.0, 0.0])
    assert (right.loss.mean, right.other_actions.mean, right.return_loss) == (0.0, 0.0, None)
    wrong = didact.evaluate(seen, [0.0, 1.0])  # always the other action: it never earns 1
    assert wrong.other_actions.mean == 1.0
    assert wrong.loss.mean == pytest.approx(1 / (1 - 0.9))
    assert wrong.loss.mean == pytest.approx(wrong.own_return.mean, abs=seen.tail + 1e-9)


def test_an_estimate_has_the_error_of_a_mean():
    told = MeanEstimate.of(np.array([1.0, 2.0, 3.0, 4.0]))
    assert told.mean == 2.5
    assert told.error == pytest.approx(np.sqrt(5 / 3) / 2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"plan": 3}, "plan is for tasks"),
        ({"n_states": 1}, "n_states"),
        ({"planner": 3}, "planner must be a function"),
        ({"planner": lambda weights: 1 / 0}, "the planner failed"),
    ],
)
def test_bad_input_is_told(change, message):
    with pytest.raises(InvalidParameter, match=message):
        didact.evaluate(watch(), [1.0, 2.0, 3.0], **change)


def test_a_planner_is_for_simulators_and_for_weights():
    with pytest.raises(InvalidParameter, match="planner is for policies in simulators"):
        didact.evaluate(didact.make("six-cell"), [1.0], planner=abs)
    with pytest.raises(InvalidParameter, match="a policy needs none"):
        didact.evaluate(watch(), lambda o: 1, planner=abs)
