"""Certificates of simulators against tables whose truth is known: what they once got wrong.

A table is seen only through its steps; the share of situations in which its policy errs by more
than the tolerance is solved for exactly; certificates are below it no more often than they say.
"""

import numpy as np
import pytest
from gymnasium import spaces
from scipy.stats import binom

import didact
from didact.errors import DidactError
from didact.teaching.clips.lesson import ClipLesson
from tests.effort import number
from tests.observing import observe


class Table:
    """A table as an array simulator: moves (S, A, S), features (S, A, S, k) of a move, a policy
    (S,), where episodes begin, and what ends them. pays: what moves really pay."""

    def __init__(self, moves, features, weights, policy, start=0, ends=(), pays=None):
        self.moves, self.table = np.asarray(moves, dtype=float), np.asarray(features, dtype=float)
        self.weights, self.policy = np.asarray(weights, dtype=float), np.asarray(policy)
        self.pays = self.table @ self.weights if pays is None else np.asarray(pays, dtype=float)
        self.begins = np.eye(len(self.policy))[start] if np.ndim(start) == 0 else np.asarray(start)
        self.ends = np.isin(np.arange(len(self.policy)), ends)
        self.action_space = spaces.Discrete(self.moves.shape[1])

    def start(self, n, rng):
        return rng.choice(len(self.begins), p=self.begins, size=(n, 1)).astype(float)

    def step(self, states, actions):
        here = states[:, 0].round().astype(int)
        return self._went(here, actions, self.moves[here, actions].argmax(axis=1))

    def _went(self, here, actions, there):
        return there[:, None].astype(float), self.pays[here, actions, there], self.ends[there]

    def features(self, observation, action, after, ended):
        here, there = (np.asarray(part)[:, 0].round().astype(int) for part in (observation, after))
        return self.table[here, action, there]

    def best_policy(self, discount):
        return lambda seen: self.policy[np.asarray(seen)[:, 0].round().astype(int)]

    def mistaken_share(self, discount, tolerance):
        """The exact share of situations where another action is better by more."""
        n, lives = len(self.policy), ~self.ends
        own = self.moves[np.arange(n), self.policy] * lives[:, None]
        pays = np.einsum("sat,sat->sa", self.moves, self.pays)
        going = own * lives
        values = np.linalg.solve(np.eye(n) - discount * going, pays[np.arange(n), self.policy])
        worth = pays + discount * self.moves @ (values * lives)
        errs = worth.max(axis=1) - worth[np.arange(n), self.policy] > tolerance
        visits = np.linalg.solve(np.eye(n) - discount * going.T, self.begins) * lives
        return float(visits[errs].sum() / visits.sum())


class Chance(Table):
    """The same where moves are drawn."""

    def step(self, states, actions, rng):
        here = states[:, 0].round().astype(int)
        ends = self.moves[here, actions].cumsum(axis=1)
        there = (rng.random(len(here))[:, None] > ends).sum(axis=1)
        return self._went(here, actions, np.minimum(there, ends.shape[1] - 1))


def late(steps=60, prize=1e5):
    """Action 0 pays 1 and stays; action 1 leads away for so many steps, and then pays a prize."""
    n = steps + 1
    moves, features = np.zeros((n, 2, n)), np.zeros((n, 2, n, 2))
    moves[0, 0, 0] = moves[0, 1, 1] = 1
    features[0, 0, 0, 0] = 1
    for state in range(1, n):
        moves[state, :, (state + 1) % n] = 1
    features[n - 1, :, 0, 1] = 1
    return Table(moves, features, [1.0, prize], [0] * n)


def unlisted():
    """Action 1 pays 5 that no feature tells of; the policy never takes it."""
    moves = np.ones((1, 2, 1))
    features = np.array([[[[1.0, 0.0]], [[0.0, 1.0]]]])
    return Table(moves, features, [1.0, 0.0], [0], pays=[[[1.0], [5.0]]])


def jackpot(rare=500, prize=5000.0):
    """Action 0 pays 1, action 1 a prize, once in so many times."""
    moves, features = np.zeros((2, 2, 2)), np.zeros((2, 2, 2, 2))
    moves[:, 0, 0] = 1
    moves[:, 1] = [1 - 1 / rare, 1 / rare]
    features[:, 0, :, 0] = 1
    features[:, 1, 1, 1] = 1
    return Chance(moves, features, [1.0, prize], [0, 0])


def certified(env, discount, seed=0, n_states=200, **settings):
    """The certified share of mistakes and the certificate; 1 and None where that is refused."""
    given = {"n_rollouts": 4, "length": 4, "seed": seed, **settings}
    try:
        seen = observe(env, discount=discount, **given)
        told = didact.certify(seen, didact.teach(seen), n_states=n_states, extend=False,
                              replan=False, seed=seed + 1).certificate  # fmt: skip
    except DidactError as refusal:
        return 1.0, str(refusal)
    return told.mistaken_share, " ".join(told.assumptions)


def test_a_reward_that_comes_late_on_another_branch_is_seen():
    env = late()
    assert env.mistaken_share(0.9, 1.0) == 1.0
    assert certified(env, 0.9)[0] == 1.0
    assert certified(env, 0.9, tolerance=1.0)[0] == 1.0
    assert certified(env, 0.9, tolerance=1.0, horizon=42)[0] == 1.0


def test_a_reward_that_comes_too_late_for_anybody_is_an_assumption_unless_its_range_is_given():
    env = late(steps=400, prize=1e30)
    assert env.mistaken_share(0.9, 1.0) == 1.0
    share, told = certified(env, 0.9, tolerance=1.0)
    assert share < 0.1
    assert "rewards stay between 0 and 1, as on all" in told
    assert certified(env, 0.9, tolerance=1.0, reward_range=(0, 1e30))[0] == 1.0
    share, told = certified(env, 0.9, tolerance=1.0, reward_range=(0, 0.5))
    assert share == 1.0
    assert "rewards must stay within reward_range" in told


def test_rewards_off_the_policys_way_are_compared_with_features():
    assert unlisted().mistaken_share(0.9, 0.5) == 1.0
    share, told = certified(unlisted(), 0.9, tolerance=0.5)
    assert share == 1.0
    assert "in step 1 of a branch it is 5 and the features say 0" in told


def test_a_jackpot_of_1_in_500_is_never_certified_away():
    env = jackpot()
    assert env.mistaken_share(0.5, 0.5) == 1.0
    for seed in range(number(5, 20)):
        assert certified(env, 0.5, seed, tolerance=0.5, repeats=100, n_states=100)[0] == 1.0


def test_a_jackpot_that_nobody_saw_is_an_assumption_unless_the_rewards_range_is_given():
    env = jackpot(rare=10**9, prize=1e10)
    given = {"tolerance": 0.5, "repeats": 200, "n_states": 60}
    share, told = certified(env, 0.5, **given)
    assert share < 0.2
    assert "differ by no more than was seen in all repeats" in told
    assert certified(env, 0.5, **given, reward_range=(0, 1e10))[0] == 1.0


def drawn(seed, kind):
    """A random table, a policy that is best in most of its states, and random starts."""
    rng = np.random.default_rng(seed)
    n, n_actions = 8, 3
    moves = np.eye(n)[rng.integers(n, size=(n, n_actions))]
    if kind is Chance:
        moves = 0.7 * moves + 0.3 * np.eye(n)[rng.integers(n, size=(n, n_actions))]
    features = rng.integers(0, 2, size=(n, n_actions, 1, 3)).repeat(n, axis=2)
    ends = [n - 1] if seed % 2 else []
    start = np.append(rng.dirichlet(np.ones(n - 1)), 0.0)  # nobody begins where an episode ends
    policy = np.where(rng.random(n) < 0.6, (features[:, :, 0] @ [0.6, 0.3, 0.1]).argmax(axis=1),
                      rng.integers(n_actions, size=n))  # fmt: skip
    return kind(moves, features, [0.6, 0.3, 0.1], policy, start, ends)


CASES = {
    Table: dict(discount=0.8, tolerance=0.05),
    Chance: dict(discount=0.3, tolerance=0.3, repeats=150),
}


@pytest.mark.parametrize("kind", CASES)
def test_certified_mistakes_of_tables_miss_at_most_delta(kind):
    delta, n_worlds, n_runs = 0.1, number(3, 20), number(8, 50)
    n_missed = n_tight = 0
    given = CASES[kind]
    for world in range(n_worlds):
        env = drawn(world, kind)
        truth = env.mistaken_share(given["discount"], given["tolerance"])
        seen = observe(env, **given, n_rollouts=6, length=4, reward_range=(0, 1))
        lesson = ClipLesson(seen, (), ())  # mistakes of a policy do not depend on the lesson
        for run in range(n_runs):
            told = didact.certify(
                seen,
                lesson,
                n_states=30,
                level=1 - delta,
                extend=False,
                seed=1 + run + n_runs * world,
                replan=False,
            ).certificate
            n_missed += told.mistaken_share < truth
            n_tight += told.mistaken_share < truth + 0.3
    n = n_worlds * n_runs
    print(f"{kind.__name__}: {n_missed} of {n} certificates below the truth, {n_tight} near it")
    assert n_missed <= binom.ppf(0.9999, n, delta / 2)  # half of delta is for what stays open
    assert n_tight > 0.5 * n or kind is Chance
