"""MiniGrid tasks: against a walk that only replays actions, and against the environment itself."""

import sys
from functools import cache

import gymnasium
import numpy as np
import pytest

from didact.errors import InvalidParameter, Unsupported
from didact.planning import solve
from didact.teaching import check, teach
from didact.worlds.gym.minigrid import from_minigrid, is_minigrid
from tests.effort import number

pytest.importorskip("minigrid")

SMALL = [
    ("MiniGrid-Empty-5x5-v0", 0),
    ("MiniGrid-DoorKey-5x5-v0", 0),
    ("MiniGrid-LavaGapS5-v0", 3),
    ("MiniGrid-Fetch-5x5-N2-v0", 1),
    ("MiniGrid-RedBlueDoors-6x6-v0", 0),
    ("MiniGrid-MultiRoom-N2-S4-v0", 0),
    ("MiniGrid-GoToDoor-5x5-v0", 0),
]


@cache
def task_of(id, seed):
    """The task of an environment, which several tests look at."""
    return from_minigrid(id, seed=seed)


def replayed(id, seed, actions):
    """The environment after these actions, the last reward, and whether it ended."""
    env = gymnasium.make(id, max_steps=10**9).unwrapped
    env.reset(seed=seed)
    env.gen_obs = lambda: None  # what the agent sees takes most of the time of a step
    reward = ends = 0
    for action in actions:
        _, reward, ends, _, _ = env.step(action)
    return env, reward, ends


def seen(env):
    """A key of its own: pictures of the grid and of what is carried, made by MiniGrid."""
    held = None if env.carrying is None else env.carrying.encode()
    return env.grid.encode().tobytes(), held, tuple(map(int, env.agent_pos)), int(env.agent_dir)


def walk(id, seed):
    """States that go on and that end, and the length of the shortest way to a reward."""
    first, _, _ = replayed(id, seed, ())
    found, ended, frontier, shortest = {seen(first)}, set(), [()], None
    n_actions = first.action_space.n
    while frontier:
        after = []
        for path in frontier:
            for action in range(n_actions):
                env, reward, ends = replayed(id, seed, (*path, action))
                if reward > 0 and shortest is None:
                    shortest = len(path) + 1
                key = seen(env)
                if ends:
                    ended.add(key)
                elif key not in found:
                    found.add(key)
                    after.append((*path, action))
        frontier = after
    return len(found), len(ended), shortest


@pytest.mark.parametrize(("id", "seed"), SMALL[:1] + SMALL[2:4])
def test_the_states_are_those_of_a_walk_by_replaying(id, seed):
    task = from_minigrid(id, seed=seed, discount="0.9")
    going, ended, shortest = walk(id, seed)
    assert (int((~task.mdp.terminal).sum()), int(task.mdp.terminal.sum())) == (going, ended)
    values = solve(task.mdp, task.true_weights).values
    start = int(np.flatnonzero(task.mdp.start.floats)[0])
    expected = 0 if shortest is None else 0.9 ** (shortest - 1)
    assert values[start] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("id", "seed"), SMALL)
def test_the_model_does_what_the_environment_does(id, seed):
    """Random play, side by side; the reward is 1 at success whatever the time."""
    task = task_of(id, seed)
    mdp, rng = task.mdp, np.random.default_rng(5)
    moves = mdp.transitions.matrix()
    state_of = {}
    for _ in range(number(12, 40)):
        env, _, _ = replayed(id, seed, ())
        state, ends = int(np.flatnonzero(mdp.start.floats)[0]), False
        for _ in range(60):
            assert state_of.setdefault((seen(env), bool(ends)), state) == state
            if ends:
                break
            action = int(rng.integers(mdp.n_actions))
            _, reward, ends, _, _ = env.step(action)
            pays = mdp.features.floats[state, action] @ task.weights
            assert pays == (1 if reward > 0 else reward)
            state = int(moves[[state * mdp.n_actions + action]].indices[0])
            assert bool(mdp.terminal[state]) == bool(ends)
    assert len(set(state_of.values())) == len(state_of)


def test_carrying_the_key_is_another_state():
    mdp = task_of("MiniGrid-DoorKey-5x5-v0", 0).mdp
    assert mdp.n_states == 270
    holding = [name for name in mdp.state_names if "carrying yellow key" in name]
    places = {name.split(";")[0] for name in holding}
    assert places & {n.split(";")[0] for n in mdp.state_names if "carrying" not in n}
    assert len(set(mdp.state_names)) == mdp.n_states
    assert mdp.action_names == ("left", "right", "forward", "pickup", "drop", "toggle", "done")


def test_things_that_look_alike_are_told_apart():
    """Two equal balls, one of which is wanted: they can change places, and which is held counts."""
    from minigrid.core.grid import Grid
    from minigrid.core.mission import MissionSpace
    from minigrid.core.world_object import Ball
    from minigrid.minigrid_env import MiniGridEnv

    class Twins(MiniGridEnv):
        def __init__(self):
            super().__init__(MissionSpace(lambda: "hold the first"), width=4, height=4)

        def _gen_grid(self, width, height):
            self.grid = Grid(width, height)
            self.grid.wall_rect(0, 0, width, height)
            self.wanted = Ball("red")
            self.put_obj(self.wanted, 2, 1)
            self.put_obj(Ball("red"), 1, 2)
            self.agent_pos, self.agent_dir = (1, 1), 0

        def step(self, action):
            observation, reward, ends, cut, info = super().step(action)
            if action == self.actions.done and self.carrying is not None:
                reward, ends = (self._reward() if self.carrying is self.wanted else 0), True
            return observation, reward, ends, cut, info

    task = from_minigrid(Twins())
    mdp, start = task.mdp, int(np.flatnonzero(task.mdp.start.floats)[0])
    assert solve(mdp, task.true_weights).values[start] == pytest.approx(0.95)
    going = [name for name, ends in zip(mdp.state_names, mdp.terminal, strict=True) if not ends]
    alike = {name: going.count(name) for name in going}
    assert set(alike.values()) == {2}
    assert {name.split(" at ")[0] for name in going} > {"row 1, column 1, looking east; red ball"}


def test_rewards_of_ones_own_stay():
    from minigrid.envs import EmptyEnv

    class Ten(EmptyEnv):
        def _reward(self):
            return 10

    env = Ten(size=5)
    assert from_minigrid(env).mdp.feature_names == ("reward 0", "reward 10")
    assert "gen_obs" not in vars(env)


def test_a_lesson_for_doors_and_keys():
    task = task_of("MiniGrid-DoorKey-5x5-v0", 0)
    lesson = teach(task)
    assert (lesson.status, len(lesson.demonstrations), lesson.n_pairs) == ("complete", 1, 11)
    assert check(task, lesson.demonstrations).teaches


def test_the_seed_fixes_one_layout():
    one = task_of("MiniGrid-DoorKey-5x5-v0", 0).mdp.state_names
    same, other = (
        from_minigrid("MiniGrid-DoorKey-5x5-v0", seed=seed).mdp.state_names for seed in (0, 7)
    )
    assert one == same != other
    both = from_minigrid("MiniGrid-DoorKey-5x5-v0", seed=("0", "7")).mdp
    assert int((both.start.floats > 0).sum()) == 2
    assert both.n_states == len(one) + len(other)
    assert both.state_name(0).startswith("layout 0; ")
    twice = from_minigrid("MiniGrid-Empty-5x5-v0", seed=[1, 2]).mdp
    assert (twice.n_states, float(twice.start.floats.max())) == (34, 1.0)


def test_random_starts_of_one_grid_share_its_states():
    mdp = from_minigrid("MiniGrid-Empty-Random-5x5-v0", seed=range(8)).mdp
    assert mdp.n_states == 34
    assert int((mdp.start.floats > 0).sum()) > 3


@pytest.mark.parametrize(
    ("id", "options", "error", "message"),
    [
        ("MiniGrid-Dynamic-Obstacles-5x5-v0", {}, Unsupported, "draws random numbers"),
        ("BabyAI-GoToRedBall-v0", {}, Unsupported, "instruction is followed"),
        ("MiniGrid-KeyCorridorS3R3-v0", {"limit": 500}, Unsupported, "more than 500 states"),
        ("MiniGrid-Nowhere-v0", {}, InvalidParameter, "has no environment"),
        ("FrozenLake-v1", {}, InvalidParameter, "no MiniGrid environment"),
    ],
)
def test_what_cannot_be_tabularised_is_refused(id, options, error, message):
    with pytest.raises(error, match=message):
        from_minigrid(id, **options)


def test_without_the_package_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "minigrid", None)
    with pytest.raises(Unsupported, match=r"pip install 'didact\[minigrid\]'"):
        from_minigrid("MiniGrid-Empty-5x5-v0")


def test_which_ids_are_minigrids():
    assert is_minigrid("MiniGrid-Empty-5x5-v0")
    assert not is_minigrid("Taxi-v4")
