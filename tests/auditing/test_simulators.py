"""Audits in simulators: sabotaged agents are told from good ones, and bounds cover the truth."""

import numpy as np
import pytest
from scipy.stats import binom

import didact
from didact.auditing import simulators
from didact.errors import InvalidParameter
from didact.worlds.simulators.classics import LQR, PointRobot
from tests.beyond.test_false_certificates import Table, drawn
from tests.effort import number
from tests.observing import observe


class Sabotaged:
    """A policy that does something else in some share of all places, always the same there."""

    def __init__(self, policy, share):
        self.policy, self.share = policy, share

    def __call__(self, seen):
        chosen = np.array(self.policy(seen))
        marks = np.abs(np.sin(1e4 * np.atleast_2d(seen).sum(axis=1)))
        spoiled = marks < self.share
        chosen[spoiled] = (chosen[spoiled] + 4) % 9
        return chosen


@pytest.fixture(scope="module")
def robot():
    env = PointRobot(3, seed=0)
    best = env.best_policy(0.9)
    seen = observe(env, best, discount=0.9, n_rollouts=5, length=10)
    return best, didact.audit(seen, None, loss=0.1)


def test_a_good_agent_passes_and_a_sabotaged_one_fails(robot):
    best, good = robot
    assert good.status == "pass", good
    spoiled = didact.audit(good.seen, Sabotaged(best, 0.3), loss=0.1)
    assert spoiled.status == "fail"
    assert spoiled.mistaken_share[0] > 0.05
    assert spoiled.worst
    assert spoiled.worst[0].gain == pytest.approx(spoiled.gains.max())
    difference = good.compared_with(spoiled)
    assert difference.mean > 3 * difference.error
    assert spoiled.gain.mean > 3 * good.gain.mean
    assert "have another action that gains more than 0.1 return" in spoiled.statement


def test_the_same_agent_is_as_good_as_itself(robot):
    best, good = robot
    assert good.compared_with(didact.audit(good.seen, best, loss=0.1)).mean == 0


def test_bounds_of_mistakes_cover_the_share_of_tables(monkeypatch):
    """The exact share is solved for; both bounds together miss it at most once in twenty."""
    monkeypatch.setattr(simulators, "N_STATES", 60)
    n, missed = number(40, 400), 0
    for seed in range(n):
        env = drawn(seed, Table)
        truth = env.mistaken_share(0.8, 0.05)
        seen = observe(env, discount=0.8, tolerance=0.05, n_rollouts=3, length=3, seed=seed)
        monkeypatch.setattr(
            simulators, "stream", lambda *key, seed=seed: np.random.default_rng([seed, len(key)])
        )
        low, high = didact.audit(seen, None, loss=0.05).mistaken_share
        missed += not low <= truth <= high
    print(f"{missed} of {n} intervals miss the share")
    assert missed <= binom.ppf(0.9999, n, 0.05)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"loss": 0}, "loss must be a return above 0"),
        ({"weights": [1]}, "weights must be 3 finite"),
    ],
)
def test_what_is_wrong_is_told(change, message):
    env = LQR()
    with pytest.raises(InvalidParameter, match=message):
        didact.audit(env, env.best_policy(0.99), features=env.features, **change)


def test_features_of_a_task_are_its_own():
    with pytest.raises(InvalidParameter, match="env must be a Gymnasium environment"):
        didact.audit(didact.make("six-cell"), [1, 2], features=lambda o: o)
