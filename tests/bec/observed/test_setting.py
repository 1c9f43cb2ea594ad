"""Rewards of every step, and tests of signs where steps depend on chance."""

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import didact
from didact.bec.observed.branches import Block
from didact.bec.observed.setting import (
    WRONG,
    BranchRewards,
    StepRewards,
    bernstein_slack,
    enough_repeats,
    fit_notes,
    fitted_weights,
)
from didact.errors import InvalidModel, InvalidParameter
from didact.report.words.observed import seen_lines
from didact.worlds.simulators.arrays import ArraySimulator
from tests.bec.observed.test_observe import watch
from tests.effort import number
from tests.observing import observe, plain_setting


def goal_and_effort(observation, action, after, ended):
    return np.stack([np.asarray(ended, dtype=float), -(np.asarray(action)[:, 0] ** 2)], axis=1)


def swing(observations):
    """Push to where the car goes: it reaches the flag after some 70 to 110 steps."""
    return np.where(np.atleast_2d(observations)[:, 1:] >= 0, 0.9, -0.9)


CAR = dict(features=goal_and_effort, feature_names=["goal", "-effort"], discount=0.97,
           n_rollouts=3, length=2, tolerance=2.0)  # fmt: skip


def test_a_reward_that_comes_after_the_rollouts_is_fitted_and_compared():
    """The car's reward at the flag is 100; the first steps of its episodes never see that."""
    seen = observe("MountainCarContinuous-v0", swing, **CAR)
    np.testing.assert_allclose(seen.setting.weights, [100, 0.1], rtol=1e-5)
    assert any("goal varied on" in line for line in seen_lines(seen))
    with pytest.raises(InvalidModel, match=r"it is 99\.9\d* and the features say -100"):
        observe("MountainCarContinuous-v0", swing, weights=[-100, 0.1], **CAR)


def test_a_feature_that_never_varied_is_named_and_not_fitted():
    def still(observations):
        return np.zeros((len(np.atleast_2d(observations)), 1))

    with pytest.raises(InvalidModel, match=r"cannot be fitted: goal never varied from 0 on [\d,]+"):
        observe("MountainCarContinuous-v0", still, **{**CAR, "discount": 0.9})


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
        observe(lambda: Broken(gymnasium.make("MountainCarContinuous-v0").unwrapped), swing,
                       weights=[1, 1], **CAR)  # fmt: skip


class Dice:
    """Three actions; in state x, uniform on (0, 1), action a pays 1 of feature a, with noise, and
    the state is drawn anew. The policy takes 0, which the true reward holds best."""

    action_space = spaces.Discrete(3)
    weights = np.array([1.0, 0.6, 0.3])
    feature_names = ("a", "b", "c")

    def __init__(self, noise=0.5):
        self.noise = noise

    def start(self, n, rng):
        return np.stack([rng.random(n), np.zeros(n)], axis=1)

    def step(self, states, actions, rng):
        after = np.stack([rng.random(len(states)), rng.normal(size=len(states))], axis=1)
        return after, self._paid(actions, after) @ self.weights, np.zeros(len(states), dtype=bool)

    def _paid(self, actions, after):
        paid = np.eye(3)[np.asarray(actions)]
        return paid * (1 + self.noise * after[:, 1:])

    def features(self, observation, action, after, ended):
        return self._paid(action, after)

    def best_policy(self, discount):
        return lambda o: np.zeros(len(np.atleast_2d(o)), dtype=int)


def test_rows_are_unbiased_and_their_covariances_are_those_of_means():
    env, n, repeats = Dice(), 300, 40
    seen = (ArraySimulator(env, "dice"), env.best_policy(0.5), env.features)
    setting = plain_setting(env.weights, seen=seen, discount=0.5, horizon=1, repeats=repeats)
    states, firsts = [np.array([0.5, 0.0])] * n, np.array([[0, 1, 2]] * n)
    found, _ = Block(setting, states, firsts, None, seed=0).measured()
    np.testing.assert_allclose(found.rows[:, 0].mean(axis=0), [1, -1, 0], atol=0.03)
    # the mean of 40 draws of 1 + z/2 has the variance 1/4 / 40, in either branch
    np.testing.assert_allclose(
        found.covariances[:, 0].mean(axis=0), np.diag([1, 1, 0]) * 0.25 / repeats, atol=3e-4
    )
    np.testing.assert_allclose(
        np.cov(found.rows[:, 0].T), np.diag([1, 1, 0]) * 0.25 / repeats, atol=2e-3
    )


def _jackpots(rng, size):
    """1 most of the time, and then a loss that makes the mean 0."""
    return np.where(rng.random(size) < 1 / 200, -199.0, 1.0)


@pytest.mark.parametrize(
    ("draw", "span"),
    [
        (lambda rng, size: rng.uniform(-1, 1, size), 2.0),
        (lambda rng, size: rng.choice([-1.0, 1.0], size), 2.0),
        (_jackpots, 200.0),
    ],
)
def test_certain_signs_are_wrong_no_more_often_than_told(draw, span):
    rng, n, repeats = np.random.default_rng(1), 5_000, 50
    each = draw(rng, (n, repeats, 1))  # truly 0: every claim of a sign is wrong
    rows, spread = each.mean(axis=1)[:, None], each.var(axis=1, ddof=1)[:, None, None] / repeats
    slack = bernstein_slack(spread.reshape(n, 1), repeats, span)
    assert float((rows[:, :, 0] - slack > 0).mean()) <= WRONG
    small = bernstein_slack(spread.reshape(n, 1), repeats, 0.0)
    far_too_often = float((rows[:, :, 0] - small > 0).mean()) > 10 * WRONG
    assert far_too_often == (draw is _jackpots), "without the range jackpots are missed"


def test_the_repeats_that_are_enough_are_enough():
    variance, span = 0.04, 3.0
    n = enough_repeats(variance, 25, span, 0.2)
    assert bernstein_slack(np.array(variance * 25 / n), n, span) <= 0.2
    assert bernstein_slack(np.array(variance * 50 / n), n // 2, span) > 0.2


@pytest.fixture(scope="module")
def seen():
    size = {"n_rollouts": number(5, 10), "length": number(4, 5)}
    return watch(Dice(noise=0.1), None, tolerance=0.2, repeats=500, **size)


@pytest.fixture(scope="module")
def lesson(seen):
    return didact.teach(seen)


def test_what_is_shown_is_certain_and_the_truth_fits_it(seen, lesson):
    assert lesson.clips
    assert not seen.mistaken.any()
    for clip in lesson.clips:
        margins = clip.rows @ seen.setting.truth
        shown = np.abs(clip.rows).sum(axis=2) > 0
        assert (margins[shown] > 0).all()
        np.testing.assert_allclose(clip.rows[shown][0] / seen.setting.unit * seen.setting.scale,
                                   [1, -1, 0], atol=0.5)  # fmt: skip


def test_the_weights_that_are_taught_are_certified(seen, lesson):
    certified = didact.certify(seen, lesson, n_states=number(100, 200), target=0.05)
    told = certified.certificate
    assert told.holds
    assert "let the weights that are taught prefer" in certified.statement()
    values = certified.weights
    assert values[0] > max(values[1], values[2])


def test_weights_that_are_wrong_are_not_certified(seen, lesson):
    n = number(40, 100)
    backwards = type(lesson)(seen, lesson.clips, 1)
    backwards.__dict__["weights"] = -lesson.weights
    told = didact.certify(seen, backwards, n_states=n, extend=False).certificate
    assert told.n_open == n
    assert told.open_share == 1.0


def test_learning_and_files_work_the_same(seen, lesson, tmp_path):
    weights = didact.learn(seen, lesson).weights
    assert weights[0] > max(weights[1], weights[2])
    seen.save(tmp_path / "seen.npz")
    read = didact.load_observed(tmp_path / "seen.npz")
    np.testing.assert_array_equal(read.covariances, seen.covariances)
    np.testing.assert_array_equal(read.certain_rows, seen.certain_rows)


def test_the_same_seed_sees_the_same():
    given = dict(tolerance=0.5, repeats=150, n_rollouts=2, length=3)
    one, other = (watch(Dice(noise=0.1), None, **given, seed=4) for _ in range(2))
    assert one.rows.tobytes() == other.rows.tobytes()


def test_a_default_tolerance_is_above_what_chance_leaves_undecided():
    seen = watch(Dice(noise=3.0), None, repeats=10)
    slack = seen.setting.slack(seen.covariances, seen.setting.weights).max(axis=1)
    assert seen.setting.tolerance == pytest.approx(1.1 * np.sort(slack)[len(slack) // 2])
    assert any("tolerance raised from" in line for line in seen_lines(seen))


def test_undecided_is_refused_with_the_repeats_to_think_of():
    with pytest.raises(InvalidParameter, match=r"chance leaves undecided.*Give more repeats"):
        watch(Dice(noise=3.0), None, tolerance=0.01, repeats=10)
    with pytest.raises(InvalidParameter, match="repeats is for simulators with chance"):
        watch(repeats=5)
