"""Spaces that begin elsewhere than 0: observations and actions are the environment's own numbers.

`Discrete(n, start=k)` for both, walked or read from a table: what the environment itself records is
read in every format, agents are asked and answer in its numbers, and inside actions count from 0.
"""

import json

import gymnasium
import numpy as np
import pytest

import didact
from didact.errors import InvalidInput
from didact.mdp.recordings.recording import Recording
from didact.planning import as_policy

SEEN, DONE = 10, 5
"""The first observation and the first action; below 0 it is -1."""


class Corridor(gymnasium.Env):
    """Five cells; actions go back, go on and stay; the last cell pays."""

    def __init__(self, seen=SEEN, done=DONE):
        self.observation_space = gymnasium.spaces.Discrete(5, start=seen)
        self.action_space = gymnasium.spaces.Discrete(3, start=done)
        self.seen, self.done, self.cell = seen, done, 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.cell = 0
        return self.seen + self.cell, {}

    def step(self, action):
        assert self.action_space.contains(action), action
        self.cell = min(4, max(0, self.cell + (-1, 1, 0)[action - self.done]))
        ends = self.cell == 4
        return self.seen + self.cell, 5.0 if ends else -1.0, ends, False, {}


class Table(Corridor):
    """The same with its table, in its own numbers."""

    def __init__(self):
        super().__init__()
        moves = {-1: -1, 0: 1, 1: 0}
        self.initial_state_distrib = np.eye(SEEN + 5)[SEEN]
        self.P = {
            SEEN + cell: {
                DONE + 1 + number: [
                    (1.0, SEEN + after, 5.0 if after == 4 else -1.0, after == 4)
                    for after in (min(4, max(0, cell + move)),)
                ]
                for number, move in moves.items()
            }
            for cell in range(5)
        }


def recorded(env, policy):
    """One episode by a loop of one's own: what was observed, and what was done."""
    observation, _ = env.reset(seed=0)
    pairs, ends = [], False
    while not ends and len(pairs) < 20:
        action = policy(observation)
        pairs.append((int(observation), int(action)))
        observation, _, ends, _, _ = env.step(action)
    return pairs


ENVIRONMENTS = {
    "walked": Corridor,
    "table": Table,
    "below 0": lambda: Corridor(seen=-2, done=-1),
    "actions alone": lambda: Corridor(seen=0, done=1),
    "observations alone": lambda: Corridor(seen=3, done=0),
}


@pytest.fixture(params=ENVIRONMENTS)
def env(request):
    return ENVIRONMENTS[request.param]()


def test_actions_are_taken_as_the_environment_numbers_them(env):
    task = didact.make(env)
    assert task.first_action == env.done
    assert task.mdp.n_actions == 3
    assert task.mdp.action_names[1] == f"action {env.done + 1}"
    plan = didact.solve(task)
    going = [task.state(env.seen + cell) for cell in range(4)]
    assert [plan.optimal_actions(state) for state in going] == [[1]] * 4


@pytest.mark.parametrize("suffix", ["json", "jsonl", "csv"])
def test_what_the_environment_records_is_read_in_every_format(env, suffix, tmp_path):
    task = didact.make(env)
    right = recorded(env, lambda observation: env.done + 1)
    wrong = recorded(env, lambda observation: env.done + 2)[:1] + right
    path = tmp_path / f"log.{suffix}"
    if suffix == "json":
        path.write_text(json.dumps([right, wrong]))
    elif suffix == "jsonl":
        path.write_text("\n".join(json.dumps(episode) for episode in (right, wrong)) + "\n")
    else:
        rows = [(e, i, *p) for e, pairs in enumerate((right, wrong)) for i, p in enumerate(pairs)]
        lines = ["episode,step,observation,action", *(",".join(map(str, row)) for row in rows)]
        path.write_text("\n".join(lines) + "\n")
    direct = [[(task.state(o), a - env.done) for o, a in pairs] for pairs in (right, wrong)]
    demonstrations = [didact.Demonstration(pairs) for pairs in direct]
    for given in (path, [right, wrong]):
        assert didact.check(task, given).to_dict() == didact.check(task, demonstrations).to_dict()
    assert [(w.demonstration, w.step, w.action) for w in didact.check(task, path).wrong] == [
        (1, 0, 2)
    ]


def test_tasks_and_lessons_keep_their_numbers_in_files(env, tmp_path):
    task = didact.make(env)
    task.save(tmp_path / "task.json")
    again = didact.load_task(tmp_path / "task.json")
    assert again.first_action == task.first_action
    lesson = didact.teach(task)
    lesson.save(tmp_path / "lesson.json")
    assert didact.check(again, tmp_path / "lesson.json").teaches is lesson.is_complete
    Recording(lesson.demonstrations, task=task).save(tmp_path / "own.csv")
    assert didact.check(again, tmp_path / "own.csv").teaches is lesson.is_complete


def test_agents_are_asked_and_answer_in_the_environments_numbers(env):
    task = didact.make(env)
    asked = []

    class Agent:
        def predict(self, observation, deterministic=False):
            asked.append(int(observation))
            return np.array(env.done + 1), None

    state = task.state(env.seen + 2)
    forms = [Agent(), lambda o: env.done + 1, np.full(task.mdp.n_states, env.done + 1)]
    for policy in forms:
        assert as_policy(task, policy)[state].tolist() == [0, 1, 0]
    assert set(asked) == {env.seen + cell for cell in range(4)}
    with pytest.raises(InvalidInput, match=f"from {env.done} to {env.done + 2}; it is 9"):
        as_policy(task, lambda o: 9)


def test_actions_outside_are_refused_by_the_environments_numbers():
    task = didact.make(Corridor())
    with pytest.raises(InvalidInput, match="demonstration 1, step 1: action must be from 5 to 7"):
        didact.check(task, [[(SEEN, 0)]])


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
def test_a_minari_dataset_of_the_environment_is_read(tmp_path, monkeypatch):
    minari = pytest.importorskip("minari")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    buffer = minari.data_collector.EpisodeBuffer(
        observations=np.arange(SEEN, SEEN + 5),
        actions=np.full(4, DONE + 1),
        rewards=[-1.0, -1.0, -1.0, 5.0],
        terminations=[False, False, False, True],
        truncations=[False] * 4,
        infos={},
    )
    spaces = {name: getattr(Corridor(), name) for name in ("observation_space", "action_space")}
    minari.create_dataset_from_buffers("corridor/own-v0", [buffer], **spaces)
    task = didact.make(Corridor())
    known = didact.load_recording("corridor/own-v0").of_task(task)
    assert [list(d) for d in known.demonstrations] == [[(SEEN + cell, 1) for cell in range(4)]]
    assert didact.check(task, "corridor/own-v0").wrong == ()
