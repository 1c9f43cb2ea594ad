"""Learning from clips: the posterior by direct integration, the margin by a linear program."""

import numpy as np
import pytest
from scipy.optimize import minimize

import didact
from didact.errors import InvalidParameter
from didact.learners.clips import decisions_of
from tests.bec.observed.test_observe import watch
from tests.effort import number
from tests.teaching.clips.robots import planned


@pytest.fixture(scope="module")
def robot():
    world, policy = planned(3, seed=1)
    seen = watch(world, policy, discount=0.95, n_rollouts=8, length=20)
    return world, policy, seen, didact.teach(seen)


def _log_likelihoods(points, lesson, confidence):
    """Of weights (n, k): softmaxes of what each shown situation offers, one after the other."""
    truth, total = lesson.seen.setting.truth, np.zeros(len(points))
    for clip in lesson.clips:
        for rows in clip.rows:
            moved = [row - min(row @ truth, 0.0) * truth for row in rows]
            total -= np.log1p(sum(np.exp(-confidence * (points @ row)) for row in moved))
    return total


def test_draws_have_the_mean_of_the_posterior_by_integration(robot):
    *_, seen, lesson = robot
    confidence = 0.3 / seen.setting.tolerance
    n = number(3000, 6000)
    points = np.random.default_rng(0).normal(size=(40_000, 3))
    points /= np.linalg.norm(points, axis=1)[:, None]
    logs = _log_likelihoods(points[:n], lesson, confidence)
    shares = np.exp(logs - logs.max())
    expected = shares @ points[:n] / shares.sum()
    told = didact.learn(seen, lesson, confidence=confidence, seed=3)
    found = told.belief.samples_flat.mean(axis=0)
    effective = shares.sum() ** 2 / (shares**2).sum()
    assert effective > 100
    np.testing.assert_allclose(found, expected, atol=5 / np.sqrt(effective))


def test_the_centre_has_the_widest_margin(robot):
    *_, seen, lesson = robot
    rows = lesson.cone / np.linalg.norm(lesson.cone, axis=1)[:, None]
    own = didact.learn(seen, lesson, learner="max-margin").centre * seen.setting.scale
    margin = (rows @ (own / np.linalg.norm(own))).min()
    bound = minimize(
        lambda v: -v[-1],
        np.append(own / np.linalg.norm(own), margin),
        constraints=[
            {"type": "ineq", "fun": lambda v: rows @ v[:-1] - v[-1]},
            {"type": "ineq", "fun": lambda v: 1.0 - v[:-1] @ v[:-1]},
        ],
    )
    assert margin == pytest.approx(-bound.fun, abs=1e-6)


def test_planning_for_what_was_learnt_loses_little_by_rows_and_by_returns(robot):
    *_, seen, lesson = robot
    told = didact.learn(seen, lesson)
    assert not told.warnings

    def planner(weights):
        return planned(3, seed=1, weights=tuple(weights))[1]

    good = didact.evaluate(seen, told, planner=planner, n_states=200)
    assert abs(good.loss.mean) < 0.01 * abs(good.own_return.mean)
    bad = didact.evaluate(seen, -told.weights, planner=planner, n_states=200)
    assert bad.loss.mean > 0.1 * abs(bad.own_return.mean)
    error = np.hypot(bad.loss.error, bad.return_loss.error)
    assert abs(bad.loss.mean - bad.return_loss.mean) < 4 * error + seen.setting.tolerance


def test_situations_are_decisions_that_pay_minus_their_rows(robot):
    *_, seen, lesson = robot
    model = decisions_of(lesson)
    assert model.n_states == lesson.n_steps + 1
    paid = model.features.floats @ seen.setting.truth
    assert paid.max() < 1e-12  # the truth fits what is shown
    rows = np.concatenate([clip.rows for clip in lesson.clips])
    fits = rows @ seen.setting.truth >= 0
    np.testing.assert_array_equal(-model.features.floats[:-1, 1:][fits], rows[fits])


def test_more_confidence_leaves_less_open(robot):
    *_, seen, lesson = robot
    loose = didact.learn(seen, lesson, confidence=0.1 / seen.setting.tolerance)
    tight = didact.learn(seen, lesson, confidence=10 / seen.setting.tolerance)
    assert tight.spread.max() < loose.spread.max()
    assert "feature 0" in repr(tight)


def test_nothing_shown_leaves_the_prior(robot):
    *_, seen, lesson = robot
    told = didact.learn(seen, type(lesson)(seen, (), ()))
    assert np.abs(told.belief.samples_flat.mean(axis=0)).max() < 0.1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"learner": "ml-irl"}, "learner must be"),
        ({"learner": "max-margin", "confidence": 3.0}, "has no option 'confidence'"),
        ({"nonsense": 3}, "nonsense"),
    ],
)
def test_options_that_do_not_apply_are_refused(robot, change, message):
    *_, seen, lesson = robot
    with pytest.raises(InvalidParameter, match=message):
        didact.learn(seen, lesson, **change)


def test_a_lesson_of_another_observation_is_refused(robot):
    world, policy, seen, lesson = robot
    with pytest.raises(InvalidParameter, match="another observation"):
        didact.learn(watch(world, policy), lesson)
    with pytest.raises(InvalidParameter, match="demonstrations must be"):
        didact.learn(seen, [[(0, 1)]])
