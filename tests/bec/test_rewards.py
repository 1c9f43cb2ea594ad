"""Rewards of every step: compared with features, fitted only where steps tell, and bounded."""

import gymnasium
import numpy as np
import pytest

import didact
from didact.bec.rewards import BranchRewards, StepRewards, fit_notes, fitted_weights
from didact.errors import InvalidModel, InvalidParameter
from didact.report.simulators import measured_lines
from tests.bec.test_observe import watch


def goal_and_effort(observation, action, after, ended):
    return np.stack([np.asarray(ended, dtype=float), -(np.asarray(action)[:, 0] ** 2)], axis=1)


def swing(observations):
    """Push to where the car goes: it reaches the flag after some 70 to 110 steps."""
    return np.where(np.atleast_2d(observations)[:, 1:] >= 0, 0.9, -0.9)


CAR = dict(features=goal_and_effort, feature_names=["goal", "-effort"], discount=0.97,
           n_rollouts=3, length=2, tolerance=2.0)  # fmt: skip


def test_a_reward_that_comes_after_the_rollouts_is_fitted_and_compared():
    """The car's reward at the flag is 100; the first steps of its episodes never see that."""
    seen = didact.observe("MountainCarContinuous-v0", swing, **CAR)
    np.testing.assert_allclose(seen.setting.weights, [100, 0.1], rtol=1e-5)
    assert any("goal varied on" in line for line in measured_lines(seen))
    with pytest.raises(InvalidModel, match=r"it is 99\.9\d* and the features say -100"):
        didact.observe("MountainCarContinuous-v0", swing, weights=[-100, 0.1], **CAR)


def test_a_feature_that_never_varied_is_named_and_not_fitted():
    def still(observations):
        return np.zeros((len(np.atleast_2d(observations)), 1))

    with pytest.raises(InvalidModel, match=r"cannot be fitted: goal never varied from 0 on [\d,]+"):
        didact.observe("MountainCarContinuous-v0", still, **{**CAR, "discount": 0.9})


def _record(features, rewards):
    return StepRewards(None).with_steps(np.array(features), np.array(rewards), str)


def test_features_that_vary_only_together_are_named():
    record = _record([[1.0, 2.0, 5.0], [2.0, 4.0, 1.0], [3.0, 6.0, 1.0]], [1.0, 2.0, 3.0])
    with pytest.raises(InvalidModel, match="cannot be fitted: a and b varied only together"):
        fitted_weights(record, ["a", "b", "c"])


def test_a_constant_is_fitted_where_the_others_tell_it_apart():
    rng = np.random.default_rng(0)
    features = np.stack([np.ones(200), rng.normal(size=200), np.arange(200) == 7], axis=1)
    record = _record(features, features @ [1.0, 1e-3, 100.0])
    np.testing.assert_allclose(fitted_weights(record, "abc"), [1.0, 1e-3, 100.0], rtol=1e-9)
    assert fit_notes(record, "abc") == ("weights fitted to 200 steps, of which c varied on 1",)


def test_records_join_as_if_made_at_once():
    rng = np.random.default_rng(1)
    features, rewards = rng.normal(size=(50, 2)), rng.normal(size=50)
    weights = np.array([0.3, -1.0])
    parts = [StepRewards(weights).with_steps(features[i::2], rewards[i::2], str) for i in (0, 1)]
    whole = StepRewards(weights).with_steps(features, rewards, str)
    joined = parts[0].joined(parts[1])
    for name in ("n", "low", "high", "missed", "reward", "said"):
        assert getattr(joined, name) == getattr(whole, name)
    assert whole.missed == np.abs(features @ weights - rewards).max()
    assert joined.joined(None) is joined


def test_steps_of_branches_are_kept_with_their_numbers():
    record = BranchRewards(StepRewards(np.ones(1)))
    paid = np.zeros(3)
    for step in range(1, 6):
        record.add(np.zeros((3, 1)), paid, step)
        paid[:] = 7.0 if step == 3 else 0.0  # a user's array that is used again
    found = record.record()
    assert (found.n, found.missed, found.place) == (15, 7.0, "in step 4 of a branch")
    with pytest.raises(InvalidModel, match="in step 4 of a branch it is 7 and the features say 0"):
        found.checked()


def test_features_that_miss_a_little_of_every_step_are_no_reward():
    """A thousandth of the largest reward on every step is much return."""

    def nearly(observation, action, after, ended):
        return env.features(observation, action, after, ended) * (1 + 9e-4)

    env = watch().setting.simulator.env
    with pytest.raises(InvalidParameter, match=r"the reward, where the features miss it, changes"):
        watch(env, features=nearly, tolerance=0.001, horizon=200)


@pytest.mark.parametrize("given", [5, [1], [2, 1], ["a", 1], [0, np.inf], "01"])
def test_reward_ranges_that_are_none_are_refused(given):
    with pytest.raises(InvalidParameter, match="reward_range must be"):
        watch(reward_range=given)


class Broken(gymnasium.Wrapper):
    def step(self, action):
        shown, _, *rest = super().step(action)
        return shown, float("nan"), *rest


def test_rewards_that_are_no_numbers_are_refused():
    with pytest.raises(InvalidModel, match="rewards must be finite; in step 1 of rollout 1"):
        didact.observe(lambda: Broken(gymnasium.make("MountainCarContinuous-v0").unwrapped), swing,
                       weights=[1, 1], **CAR)  # fmt: skip
