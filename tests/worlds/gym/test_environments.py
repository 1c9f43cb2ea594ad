"""State numbers are observations: against a model written by hand in the environment's numbers."""

import gymnasium
import numpy as np
import pytest

import didact
from didact.errors import InvalidInput
from didact.mdp.model import idle_states
from didact.worlds.gym.environments import MAX_NUMBERS, as_found, by_observation

MOVES = ((-1, 0), (1, 0), (0, -1), (0, 1))


class Field(gymnasium.Env):
    """A 5x5 field that observes its cell, starts in the middle and ends in the last one."""

    action_space = gymnasium.spaces.Discrete(4)
    observation_space = gymnasium.spaces.Discrete(25)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.cell = 12
        return self.cell, {}

    def step(self, action):
        row, column = divmod(self.cell, 5)
        down, right = MOVES[action]
        self.cell = min(max(row + down, 0), 4) * 5 + min(max(column + right, 0), 4)
        reward = -3 if self.cell in (7, 13, 17) else -1
        return self.cell, reward, self.cell == 24, False, {}


def by_hand():
    """The same field as arrays, row by row from the top left."""
    moves, phi = np.zeros((25, 4, 25)), np.zeros((25, 4, 2))
    for cell in range(24):
        for action, (down, right) in enumerate(MOVES):
            row, column = divmod(cell, 5)
            after = min(max(row + down, 0), 4) * 5 + min(max(column + right, 0), 4)
            moves[cell, action, after] = 1
            phi[cell, action, 0 if after in (7, 13, 17) else 1] = 1
    mdp = didact.MDP(moves, phi, "0.95", start=12, terminal=[24])
    return didact.Task(mdp, [-3, -1])


def test_demonstrations_are_read_as_observations():
    """Found cells begin with 12; three steps down the last column mean the cells 4, 9 and 14."""
    walked, written = didact.from_environment(Field()), by_hand()
    classes = [(task, didact.equivalence_class(task)) for task in (walked, written)]
    shown = [[(4, 1)], [(9, 1)], [(14, 1)]]
    verdicts = [didact.check(task, shown, bec=bec) for task, bec in classes]
    assert [v.teaches for v in verdicts] == [False, False]
    assert verdicts[0].wrong == verdicts[1].wrong == ()
    assert verdicts[0].n_open == verdicts[1].n_open
    rng = np.random.default_rng(3)
    for _ in range(30):
        cells = rng.integers(0, 24, size=4).tolist()
        shown = [[(cell, int(rng.integers(4)))] for cell in cells]
        found, wanted = (didact.check(task, shown, bec=bec) for task, bec in classes)
        assert (found.teaches, found.wrong, found.n_open, found.missing) == (
            wanted.teaches,
            wanted.wrong,
            wanted.n_open,
            wanted.missing,
        )


def episode_of(env, policy, seed, steps=60):
    """What a loop of one's own records: observation and action, until the end."""
    observation, _ = env.reset(seed=seed)
    pairs, ends = [], False
    while not ends and len(pairs) < steps:
        action = policy(observation)
        pairs.append((observation, action))
        observation, _, ends, cut, _ = env.step(action)
        ends = ends or cut
    return pairs


def test_taxi_episodes_are_read_as_gymnasium_recorded_them():
    env = gymnasium.make(max(id for id in gymnasium.registry if id.startswith("Taxi-v")))
    task = didact.from_gymnasium(env)
    bec = didact.equivalence_class(task)
    best = bec.plan.optimal.argmax(axis=1)
    for seed in range(5):
        shown = episode_of(env, lambda state: int(best[state]), seed)
        assert shown[-1][1] == 5
        verdict = didact.check(task, [shown], bec=bec)
        assert verdict.wrong == ()
        assert didact.select(task, [shown], bec=bec).contradicting == ()


def test_ends_of_observations_that_go_on_come_after_all_others():
    numbering = by_observation({(2, False), (2, True), (0, False), (3, True)}, 5)
    assert numbering.nodes == ((0, False), None, (2, False), (3, True), None, (2, True))
    assert numbering.terminal == [3, 5]
    assert as_found({(2, False), (2, True), (0, False)}).nodes == (
        (0, False),
        (2, False),
        (2, True),
    )


class Far(Field):
    """Its observations are few and far apart."""

    def __init__(self, n, step):
        self.observation_space = gymnasium.spaces.Discrete(n)
        self.far = step

    def reset(self, *, seed=None, options=None):
        observation, info = super().reset(seed=seed)
        return observation * self.far, info

    def step(self, action):
        observation, *rest = super().step(action)
        return observation * self.far, *rest


def test_observations_that_never_come_up_keep_their_numbers():
    mdp = didact.from_environment(Far(100, 4)).mdp
    assert (mdp.n_states, int(idle_states(mdp).sum())) == (100, 75)
    assert np.flatnonzero(~idle_states(mdp)).tolist() == list(range(0, 100, 4))
    with pytest.raises(InvalidInput, match="cannot be reached from the start"):
        didact.select(didact.from_environment(Far(100, 4)), [[(1, 0)]])


def test_very_many_observations_are_numbered_as_they_are_found():
    assert didact.from_environment(Far(MAX_NUMBERS + 1, 4000)).mdp.n_states == 25
