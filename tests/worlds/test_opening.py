"""What names mean: worlds, files, and environments with or without a version."""

import gymnasium
import pytest

from didact.errors import InvalidInput, InvalidParameter
from didact.mdp import save_task
from didact.worlds import make, register_world
from didact.worlds.opening import meaning_of, newest_version, open_task, takes_seed


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
    save_task(make("six-cell"), "mine.json")
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
