"""What a loop of one's own records in an environment is read right, from whatever it was saved in.

On every environment: episodes as (observation, action), as Gymnasium gives them, saved in each
format, get the verdict that states and actions get. The states come from the walk of the loop
itself: each step is looked up in the task's transitions, from its start on.
"""

import json
import os

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import didact
from didact.mdp.observations import observation_of, observation_text

MOVES = ((-1, 0), (1, 0), (0, -1), (0, 1))


class Room(gymnasium.Env):
    """A room of 4 x 3 cells with a prize in a corner and a puddle; `show` is what it observes."""

    action_space = spaces.Discrete(4)

    def __init__(self, show, space):
        self.show, self.observation_space = show, space

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.row = self.column = 1
        return self.show(self.row, self.column), {}

    def step(self, action):
        down, right = MOVES[action]
        self.row = min(max(self.row + down, 0), 3)
        self.column = min(max(self.column + right, 0), 2)
        ends = (self.row, self.column) == (3, 2)
        reward = 5 if ends else -2 if (self.row, self.column) == (2, 1) else -1
        return self.show(self.row, self.column), reward, ends, False, {}


class Poorer(gymnasium.RewardWrapper):
    def reward(self, reward):
        return reward - 1


class Backwards(gymnasium.ActionWrapper):
    def action(self, action):
        return (action + 2) % 4


class OneHot(gymnasium.ObservationWrapper):
    def __init__(self, env):
        super().__init__(env)
        self.observation_space = spaces.MultiBinary(int(env.observation_space.n))

    def observation(self, observation):
        return np.eye(self.observation_space.n, dtype=np.int8)[observation]


def number(row, column):
    return 3 * row + column


def newest(name):
    return max(id for id in gymnasium.registry if id.rpartition("-v")[0] == name)


def minigrid(id, *wrappers):
    pytest.importorskip("minigrid")
    from minigrid import wrappers as known

    env = gymnasium.make(id)
    for wrapper in wrappers:
        env = getattr(known, wrapper)(env)
    return env


def numbers():
    return Room(number, spaces.Discrete(12))


ENVIRONMENTS = {
    "lake": lambda: gymnasium.make("FrozenLake-v1", is_slippery=False),
    "slippery lake": lambda: gymnasium.make("FrozenLake-v1"),
    "taxi": lambda: gymnasium.make(newest("Taxi")),
    "cliff": lambda: gymnasium.make(newest("CliffWalking")),
    "numbers": numbers,
    "numbers from -6": lambda: Room(lambda r, c: number(r, c) - 6, spaces.Discrete(12, start=-6)),
    "tuple": lambda: Room(lambda r, c: (r, c), spaces.Tuple([spaces.Discrete(4)] * 2)),
    "array": lambda: Room(
        lambda r, c: np.array([r, c], dtype=np.int32), spaces.Box(0, 3, (2,), dtype=np.int32)
    ),
    "dict": lambda: Room(
        lambda r, c: {"row": r, "at": np.array([c], dtype=np.int64)},
        spaces.Dict({"row": spaces.Discrete(4), "at": spaces.MultiDiscrete([3])}),
    ),
    "another reward": lambda: Poorer(numbers()),
    "other actions": lambda: Backwards(numbers()),
    "one-hot lake": lambda: OneHot(gymnasium.make("FrozenLake-v1", is_slippery=False)),
    "empty room": lambda: minigrid("MiniGrid-Empty-5x5-v0"),
    "door and key": lambda: minigrid("MiniGrid-DoorKey-5x5-v0", "FullyObsWrapper"),
    "picture": lambda: minigrid("MiniGrid-LavaGapS5-v0", "ImgObsWrapper"),
}
TABLES = {"lake", "slippery lake", "taxi", "cliff", "one-hot lake"}
GRIDS = {"empty room", "door and key", "picture"}


def task_of(name, env):
    if name in TABLES:
        return didact.from_gymnasium(env)
    return (didact.from_minigrid if name in GRIDS else didact.from_environment)(env)


def played(env, task, best, rng, seed):
    """An episode with now and then a wrong step: what was observed and done, and the states."""
    observation, _ = env.reset(seed=seed)
    mdp, starts = task.mdp, np.flatnonzero(task.mdp.start.floats).tolist()
    matches = [s for s in starts if shows(task, s, observation)]
    state = matches[0]
    watched, states = [], []
    for _ in range(12):
        action = int(rng.integers(mdp.n_actions)) if rng.random() < 0.2 else int(best[state])
        watched.append((observation, action))
        states.append((state, action))
        observation, _, ends, cut, _ = env.step(action)
        row = state * mdp.n_actions + action
        low, high = mdp.transitions.offsets[row : row + 2]
        after = [
            s
            for s in mdp.transitions.successors[low:high].tolist()
            if shows(task, s, observation) and bool(mdp.terminal[s]) == ends
        ]
        assert len(after) == 1
        state = after[0]
        if ends or cut:
            break
    return watched, states, observation


def shows(task, state, observation):
    """Whether a state shows what was observed."""
    return observation_text(task.observation(state)) == observation_text(observation)


def plain(value):
    """What people write into JSON: lists and numbers."""
    if isinstance(value, dict):
        return {name: plain(part) for name, part in value.items()}
    if isinstance(value, tuple | list):
        return [plain(part) for part in value]
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def as_json(episodes, env, folder):
    (folder / "mine.json").write_text(json.dumps([plain(list(w)) for w, _, _ in episodes]))
    return folder / "mine.json"


def as_jsonl(episodes, env, folder):
    lines = [json.dumps(plain(list(w))) for w, _, _ in episodes]
    (folder / "mine.jsonl").write_text("\n".join(lines))
    return folder / "mine.jsonl"


def as_minari(episodes, env, folder):
    minari = pytest.importorskip("minari")
    space = env.observation_space
    if "mission" in getattr(space, "spaces", {}):
        pytest.skip("Minari has no format for a MiniGrid mission")

    def columns(space, values):
        if isinstance(space, spaces.Dict):
            return {k: columns(space[k], [v[k] for v in values]) for k in space.spaces}
        if isinstance(space, spaces.Tuple):
            return tuple(columns(p, [v[i] for v in values]) for i, p in enumerate(space.spaces))
        return np.array(values, dtype=space.dtype)

    buffers = [
        minari.data_collector.EpisodeBuffer(
            observations=columns(space, [*(o for o, _ in watched), last]),
            actions=np.array([a for _, a in watched]), rewards=[0.0] * len(watched),
            terminations=[False] * len(watched), truncations=[False] * len(watched), infos={},
        )
        for watched, _, last in episodes
    ]  # fmt: skip
    minari.create_dataset_from_buffers(
        "mine-v0", buffers, observation_space=space, action_space=env.action_space
    )
    return folder / "minari" / "mine-v0"


def as_imitation(episodes, env, folder):
    pyarrow = pytest.importorskip("pyarrow")
    if isinstance(env.observation_space, spaces.Dict | spaces.Tuple):
        pytest.skip("imitation has no format for a Dict or a Tuple")
    data = pyarrow.table(
        {
            "obs": [[plain(o) for o in (*(o for o, _ in w), last)] for w, _, last in episodes],
            "acts": [[a for _, a in w] for w, _, _ in episodes],
        }
    )
    target = folder / "mine"
    os.mkdir(target)
    with pyarrow.ipc.new_stream(str(target / "data.arrow"), data.schema) as writer:
        writer.write_table(data)
    (target / "state.json").write_text(json.dumps({"_data_files": [{"filename": "data.arrow"}]}))
    (target / "dataset_info.json").write_text("{}")
    return target


def as_python(episodes, env, folder):
    return [watched for watched, _, _ in episodes]


def as_csv(episodes, env, folder):
    """As pandas writes it, lists and objects as JSON."""
    pandas = pytest.importorskip("pandas")
    rows = [
        {"episode": i, "step": t, "observation": json.dumps(plain(o)), "action": a}
        for i, (watched, _, _) in enumerate(episodes)
        for t, (o, a) in enumerate(watched)
    ]
    pandas.DataFrame(rows).to_csv(folder / "mine.csv", index=False)
    return folder / "mine.csv"


SAVED = [as_python, as_json, as_jsonl, as_csv, as_minari, as_imitation]


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_recordings_get_the_verdict_of_their_states(name, tmp_path, monkeypatch):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "minari"))
    env = ENVIRONMENTS[name]()
    task = task_of(name, env)
    task.save(tmp_path / "task.json")
    again = didact.load_task(tmp_path / "task.json")
    best, rng = didact.solve(task).optimal.argmax(axis=1), np.random.default_rng(1)
    seeds = [0] * 4 if name in GRIDS else range(4)
    episodes = [played(env, task, best, rng, seed) for seed in seeds]
    direct = [didact.Demonstration(states) for _, states, _ in episodes]
    classes = [(held, didact.equivalence_class(held)) for held in (task, again)]
    bec = classes[0][1]
    wanted, chosen = (asked(task, direct, bec=bec) for asked in (didact.check, didact.select))
    n_saved = 0
    for save in SAVED:
        try:
            saved = save(episodes, env, tmp_path)
        except pytest.skip.Exception:
            continue
        n_saved += 1
        for held, bec in classes:
            verdict = didact.check(held, saved, bec=bec)
            selection = didact.select(held, saved, bec=bec)
            assert (verdict.teaches, verdict.wrong) == (wanted.teaches, wanted.wrong)
            assert (verdict.n_open, verdict.missing) == (wanted.n_open, wanted.missing)
            assert (selection.chosen, selection.demonstrations) == (
                chosen.chosen,
                chosen.demonstrations,
            )
    assert n_saved >= 4
    state = episodes[0][1][-1][0]
    assert observation_of(observation_text(episodes[0][0][-1][0])) == task.observation(state)
