"""What names mean: worlds, files, and environments with or without a version."""

import sys
from fractions import Fraction

import gymnasium
import numpy as np
import pytest

from didact import Family, Task, from_gymnasium
from didact.errors import InvalidInput, InvalidParameter
from didact.mdp.files import task_document
from didact.worlds import make, register_world
from didact.worlds.opening import (
    meaning_of,
    newest_version,
    open_task,
    open_task_or_family,
    takes_seed,
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("name", "meaning"),
    [
        ("six-cell", "world"),
        ("random-grid", "world"),
        ("no-such-world", "world"),
        ("", "world"),
        ("task.json", "file"),
        ("Taxi.json", "file"),
        ("./task", "file"),
        ("../Taxi-v3", "file"),
        ("/tmp/task", "file"),
        ("~/task", "file"),
        ("Taxi-v3", "environment"),
        ("Taxi", "environment"),
        ("tabular/CliffWalking-v0", "environment"),
        ("mine-v0", "environment"),
        ("MiniGrid-Empty-5x5-v0", "environment"),
        ("mine:Maze", "python"),
        ("my.package.worlds:maze.small", "python"),
        ("mine:Maze-v0", "environment"),
    ],
)
def test_a_name_means_one_thing(name, meaning):
    assert meaning_of(name) == meaning


def test_what_is_there_is_a_file_unless_it_has_another_meaning(folder):
    for name in ("task", "six-cell", "Taxi-v3"):
        (folder / name).write_text("{}")
    (folder / "Acrobot-v1").mkdir()
    (folder / "folder").mkdir()
    assert meaning_of("task") == "file"
    assert meaning_of("Taxi-v3") == "file"
    assert meaning_of("six-cell") == "world"
    assert meaning_of("Acrobot-v1") == "environment"
    assert meaning_of("folder") == "file"


def test_worlds_files_and_environments_are_opened(folder):
    assert open_task("chain", {"length": 4}).mdp.n_states == make("chain", length=4).mdp.n_states
    make("six-cell").save("mine.json")
    assert open_task("mine.json").mdp.n_states == 6
    assert open_task("FrozenLake-v1", {"is_slippery": False}).mdp.is_deterministic()
    with pytest.raises(InvalidParameter, match="is a file, which takes no parameters; leave 'a'"):
        open_task("mine.json", {"b": 1, "a": 2})
    with pytest.raises(InvalidParameter, match="no world is called 'no-such-world'"):
        open_task("no-such-world")
    with pytest.raises(InvalidInput):
        open_task("nothing.json")


def test_a_version_may_be_left_out_only_where_that_is_said():
    assert open_task("CliffWalking", any_version=True).mdp.n_actions == 4
    with pytest.raises(InvalidParameter, match=r"no environment 'CliffWalking' \(did you mean"):
        open_task("CliffWalking")


@pytest.mark.usefixtures("own_registries")
def test_sides_are_pairs_where_the_world_takes_a_whole_number():
    assert open_task("random-grid", {"size": "2x3", "n_features": 2}).mdp.n_states == 6

    @register_world("mine")
    def mine(name="2x3"):
        return make("random-grid", size=2, n_features=2 if name == "2x3" else 3)

    assert open_task("mine", {"name": "2x3"}).mdp.n_features == 2


def test_worlds_that_are_drawn_take_a_seed():
    assert takes_seed("random-grid")
    assert not takes_seed("six-cell")
    assert not takes_seed("Taxi-v3")
    assert not takes_seed("no-such-world")


def test_versions_are_found():
    assert newest_version("Taxi") in gymnasium.registry
    assert newest_version("Taxi-v9") == "Taxi-v9"
    assert newest_version("no-such") == "no-such"
    gymnasium.register("didact-test/Old-v2", entry_point="x:y")
    gymnasium.register("didact-test/Old-v10", entry_point="x:y")
    try:
        assert newest_version("didact-test/Old") == "didact-test/Old-v10"
    finally:
        for id in ("didact-test/Old-v2", "didact-test/Old-v10"):
            del gymnasium.registry[id]


OWN = """
import gymnasium
import numpy as np
import didact

class Hall(gymnasium.Env):
    action_space = gymnasium.spaces.Discrete(2)
    observation_space = gymnasium.spaces.Discrete(9)
    def __init__(self, length=4):
        self.length = length
    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = 0
        return 0, {}
    def step(self, action):
        self.place = max(0, self.place + (1 if action else -1))
        return self.place, -1, self.place == self.length, False, {}

hall = Hall(3)
task = didact.Task(didact.MDP(np.ones((1, 1, 1)), [[1]], 0.5), [1], name="mine")

def built(length=2):
    return Hall(length)

def nothing():
    return 5
"""


@pytest.fixture
def own(folder):
    """A module in the current folder."""
    (folder / "own_worlds.py").write_text(OWN)
    yield
    sys.modules.pop("own_worlds", None)
    sys.path[:] = [place for place in sys.path if place != str(folder)]


@pytest.mark.usefixtures("own")
@pytest.mark.parametrize(
    ("name", "parameters", "goal"),
    [
        ("own_worlds:Hall", {}, 4),
        ("own_worlds:Hall", {"length": 6, "discount": "0.9"}, 6),
        ("own_worlds:hall", {"start": "uniform"}, 3),
        ("own_worlds:built", {"length": 5}, 5),
    ],
)
def test_python_is_a_world_as_text_and_as_itself(name, parameters, goal):
    task = make(name, **parameters)
    assert (task.mdp.n_states, np.flatnonzero(task.mdp.terminal).tolist()) == (9, [goal])
    module = sys.modules["own_worlds"]
    same = make(getattr(module, name.partition(":")[2]), **parameters)
    assert task_document(same) == task_document(task) == task_document(open_task(name, parameters))


@pytest.mark.usefixtures("own")
@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("own_worlds:no", {}, "the world own_worlds:no cannot be loaded: AttributeError"),
        ("nowhere_at_all:x", {}, "cannot be loaded: ModuleNotFoundError"),
        (
            "own_worlds:nothing",
            {},
            "own_worlds:nothing must make an environment or a Task; it made",
        ),
        ("own_worlds:Hall", {"width": 3}, "own_worlds:Hall failed: TypeError"),
        ("own_worlds:hall", {"width": 3}, "'width' can only be given with an environment's id"),
        ("own_worlds:task", {"width": 3}, "a Task takes no parameters; leave 'width' out"),
        ("own_worlds:OWN", {}, "cannot be loaded"),
        (5, {}, "a world must be a name, a Gymnasium id, .* it is 5"),
    ],
)
def test_what_is_no_world_is_told_in_one_line(name, parameters, message):
    with pytest.raises(InvalidInput, match=message):
        make(name, **parameters)


@pytest.mark.usefixtures("own")
def test_tasks_files_and_environments_are_worlds(folder):
    task = make("own_worlds:task")
    assert (task.name, make(task)) == ("mine", task)
    task.save("mine.json")
    for path in ("mine.json", folder / "mine.json"):
        assert task_document(make(path)) == task_document(task)
    lake = gymnasium.make("FrozenLake-v1", is_slippery=False)
    assert task_document(make(lake)) == task_document(make("FrozenLake-v1", is_slippery=False))
    with pytest.raises(InvalidParameter, match="an MDP has no reward"):
        make(task.mdp)


@pytest.mark.usefixtures("own")
def test_a_world_of_ones_own_is_taught_from_the_command_line(didact):
    answer = didact("teach", "own_worlds:Hall", "-p", "length=3")
    assert answer.code == 0
    assert "Hall: 1 demonstration (3 state-action pairs) is enough." in answer.out


def test_drawn_members_are_the_worlds_of_their_seeds_with_one_reward():
    family = make("random-grid", size=4, n_features=3, seed=5, members=3)
    assert isinstance(family, Family)
    assert len(family) == 3
    assert family.name == "random-grid, 3 members"
    for number, member in enumerate(family):
        alone = make("random-grid", size=4, n_features=3, seed=5 + number)
        assert (member.mdp.features.floats == alone.mdp.features.floats).all()
        assert member.true_weights.fractions() == family[0].true_weights.fractions()
        assert member.name == alone.name == family.names[number]
    assert family[0].weights.tolist() == make("random-grid", n_features=3, seed=5).weights.tolist()


def test_a_family_of_one_is_its_world():
    (only,) = make("random-grid", size=3, members=1)
    assert task_document(only) == task_document(make("random-grid", size=3))


@pytest.mark.parametrize(("id", "size"), [("FrozenLake-v1", 4), ("FrozenLake8x8-v1", 8)])
def test_frozen_lakes_are_gymnasiums_random_maps(id, size):
    from gymnasium.envs.toy_text.frozen_lake import generate_random_map

    family = make(id, members=2, seed=7, is_slippery=False)
    for number, member in enumerate(family):
        env = gymnasium.make(
            "FrozenLake-v1", desc=generate_random_map(size, seed=7 + number), is_slippery=False
        )
        assert task_document(member) == task_document(from_gymnasium(env, name=member.name))
    assert [float(w) for w in family.weights] == [0.0, 1.0]


def test_members_may_list_what_changes():
    family = make("random-grid", members=[{"discount": "0.9"}, {"slip": "1/10"}], size=3)
    assert [task.mdp.exact_discount for task in family] == [Fraction(9, 10), Fraction(19, 20)]
    assert family.names == ("0", "1")
    desc = [["SF", "FG"], ["SFF", "FHG"]]
    lakes = make("FrozenLake-v1", members=[{"desc": d} for d in desc])
    assert [task.mdp.n_states for task in lakes] == [4, 6]


def test_a_list_of_sources_is_a_family():
    family = make(["FrozenLake-v1", ("FrozenLake-v1", {"map_name": "8x8"})], discount="0.9")
    assert [task.mdp.n_states for task in family] == [16, 64]
    assert {task.mdp.exact_discount for task in family} == {Fraction(9, 10)}
    tasks = list(make("random-grid", size=2, members=2))
    assert list(make(tasks)) == tasks


@pytest.mark.parametrize(
    ("source", "parameters", "words"),
    [
        ("random-grid", {"members": 0}, "members must be"),
        ("random-grid", {"members": 2, "seed": None}, "seed of a family"),
        ("random-grid", {"members": [3]}, r"members\[0\] must be a table of parameters"),
        ("random-grid", {"members": []}, "at least one member"),
        ("random-grid", {"members": [{"seed": 0}, {"seed": 1}]}, "exactly the same weights"),
        ("random-grid", {"members": "many"}, "members must"),
        ("chain", {"members": 2}, "not drawn by a seed"),
        ("Taxi-v3", {"members": 2}, "not drawn by a seed"),
        (["random-grid"], {"members": 2}, "leave 'members' out"),
        ([("random-grid", {1: 2})], {}, r"worlds\[0\] must be a table"),
        ([], {}, "at least one member"),
    ],
)
def test_refusals_are_one_line(source, parameters, words):
    with pytest.raises(InvalidInput, match=words):
        make(source, **parameters)


@pytest.mark.usefixtures("own_registries")
def test_own_worlds_that_take_a_seed_can_be_drawn():
    @register_world("two-sizes")
    def two_sizes(seed: int = 0) -> Task:
        return make("random-grid", size=2 + seed % 2, n_features=2, seed=seed)

    assert [task.mdp.n_states for task in make("two-sizes", members=4)] == [4, 9, 4, 9]


def test_texts_of_the_command_line_mean_the_same(tmp_path):
    family = open_task_or_family("random-grid", {"size": 3, "members": 2, "seed": 4})
    assert isinstance(family, Family)
    path = tmp_path / "family.json"
    family.save(path)
    assert [task_document(task) for task in open_task_or_family(str(path))] == [
        task_document(task) for task in family
    ]


def test_teach_draws_members_on_the_command_line(didact, tmp_path):
    lesson = tmp_path / "lesson.json"
    world = ["random-grid", "-p", "size=3", "-p", "n_features=3", "--members", "4", "--seed", "2"]
    taught = didact("teach", *world, "--out", lesson)
    assert taught.code == 0, taught
    assert "of 4 members: enough for all of them. Proof verified." in taught.verdict
    checked = didact("check", *world, lesson, "--proof")
    assert checked.code == 0, checked
    assert "teach 4 members. Proof verified." in checked.verdict


def test_seed_and_parameters_reach_a_function_of_a_module(didact, tmp_path, monkeypatch):
    """Also those that a table or a walk of an environment would take, as the seed."""
    (tmp_path / "own_worlds.py").write_text(
        "import didact\n"
        "def field(seed=0, size=3):\n"
        "    return didact.make('random-grid', size=size, n_features=3, seed=seed)\n"
        "def fixed():\n"
        "    return field(7)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    assert make("own_worlds:field", seed=4, size=2).name == "random-grid 2x2, seed 4"
    assert "seed 4" in didact("show", "own_worlds:field", "--seed", "4").out
    assert "seed 5" in didact("teach", "own_worlds:field", "--seed", "5").out
    refused = didact("show", "own_worlds:fixed", "--seed", "4")
    assert refused.code == 2
    assert "leave 'seed' out" in refused.err
