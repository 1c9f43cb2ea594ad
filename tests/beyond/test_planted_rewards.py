"""A wrong weight, a missing feature and an unmodelled term of the reward are never certified.

Twenty environments of known truth: random tables and chance tables seen through their steps,
built-in simulators, and objects of Gymnasium. Whichever is planted, observing is refused.
"""

import copy
import inspect

import gymnasium
import numpy as np
import pytest

from didact.errors import InvalidModel
from didact.worlds.simulators.classics import LQR, PointRobot
from didact.worlds.simulators.terms import READY
from tests.beyond.test_false_certificates import Chance, Table, drawn
from tests.observing import observe


def of_table(kind, seed):
    env = drawn(seed, kind)
    more = dict(repeats=20) if kind is Chance else {}
    return env, env.best_policy(0.8), env.features, env.weights, dict(discount=0.8, **more)


def of_simulator(env):
    return env, env.best_policy(0.9), env.features, env.weights, dict(discount=0.9)


def of_gymnasium(id, policy):
    ready = READY[id.rsplit("-v", 1)[0]]
    env = gymnasium.make(id)
    return env, policy, ready.features, np.array(ready.weights), dict(discount=0.9)


def pumping(seen):
    return np.sign(np.atleast_2d(seen)[:, 1:2]) * 1.0


CASES = {
    **{f"table {seed}": (of_table, Table, seed) for seed in range(8)},
    **{f"chance {seed}": (of_table, Chance, seed) for seed in range(4)},
    **{f"robot {k}": (of_simulator, PointRobot(k, seed=k)) for k in (3, 4, 5, 6)},
    "lqr": (of_simulator, LQR(weights=[1.0, 0.3, 0.2])),
    "pendulum": (of_gymnasium, "Pendulum-v1", lambda o: -np.atleast_2d(o)[:, 1:2]),
    "continuous mountain car": (of_gymnasium, "MountainCarContinuous-v0", pumping),
    "cart": (of_gymnasium, "CartPole-v1", lambda o: (np.atleast_2d(o)[:, 2] > 0).astype(int)),
}


def planted(kind, features, weights):
    """Features and weights with a mistake; the second of them, where there are several."""
    j = min(1, len(weights) - 1)
    if kind == "wrong weight":
        wrong = np.array(weights, dtype=float)
        wrong[j] += 0.5 * np.abs(weights).max()
        return features, wrong
    if kind == "missing feature":
        kept = [i for i in range(len(weights)) if i != j] or [0]

        def fewer(*step, **named):
            told = np.asarray(features(*step, **named), dtype=float)
            return told[..., kept] * (len(weights) > 1)

        fewer.__signature__ = inspect.signature(features)
        return fewer, np.asarray(weights, dtype=float)[kept]
    return features, weights


class Surcharged(gymnasium.Wrapper):
    """A reward with a term that no feature tells: on every third step."""

    def reset(self, **given):
        self.n = 0
        return self.env.reset(**given)

    def step(self, action):
        after, reward, ended, cut, info = self.env.step(action)
        self.n += 1
        return after, float(reward) - (self.n % 3 == 0) * 2.0, ended, cut, info


def surcharged(env):
    """The same environment, with more in its rewards than features tell."""
    if isinstance(env, gymnasium.Env):
        return Surcharged(env)
    step = env.step

    def more(states, actions, *chance):
        after, rewards, ended = step(states, actions, *chance)
        return after, rewards - 2.0 * (np.asarray(states)[:, 0] > np.asarray(after)[:, 0]), ended

    if isinstance(env, Chance):
        env.step = lambda states, actions, rng: more(states, actions, rng)
    else:
        env.step = lambda states, actions: more(states, actions)
    return env


@pytest.mark.parametrize("kind", ["wrong weight", "missing feature", "unmodelled term"])
@pytest.mark.parametrize("case", CASES)
def test_what_is_planted_in_a_reward_is_refused(case, kind):
    make, *given = CASES[case]
    env, policy, features, weights, settings = make(*given)
    phi, w = planted(kind, features, weights)
    if kind == "unmodelled term":
        env = surcharged(copy.deepcopy(env))
    with pytest.raises(InvalidModel, match=r"the reward must be weights \. features"):
        observe(env, policy, features=phi, weights=w, n_rollouts=4, length=20, **settings)
