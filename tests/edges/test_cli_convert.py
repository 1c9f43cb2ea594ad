"""`didact convert` as a person or a script meets it."""

import json
import shutil
from itertools import pairwise

import gymnasium
import numpy as np
import pytest

from didact.mdp import load_task
from didact.mdp.files import task_document
from didact.mdp.recordings.formats import load_recording
from didact.worlds import make
from tests.command_line import in_own_process, refused

pytest.importorskip("minari")
pytest.importorskip("pyarrow")


pytestmark = pytest.mark.usefixtures("in_own_folder")


@pytest.fixture(scope="module")
def taught(tmp_path_factory):
    path = tmp_path_factory.mktemp("taught") / "lesson.json"
    assert in_own_process("teach", "random-grid", "--out", path).code == 0
    return path


@pytest.fixture
def lesson(taught, tmp_path):
    """A lesson of several demonstrations, and where it is."""
    return shutil.copy(taught, tmp_path / "lesson.json")


def test_a_lesson_goes_round_all_formats_and_comes_back_byte_for_byte(didact, lesson, tmp_path):
    way = ["lesson.json", "grid-v0", "folder", "grid.jsonl", "./other-v1", "back.json"]
    assert didact("convert", "lesson.json", "grid-v0", "--task", "random-grid").code == 0
    for source, target in pairwise(way[1:]):
        answer = didact("convert", source, target)
        assert (answer.code, answer.err) == (0, "")
        assert answer.out.startswith("a lesson (10 episodes, ")
    assert (tmp_path / "back.json").read_bytes() == lesson.read_bytes()
    assert (tmp_path / "minari" / "grid-v0").is_dir()
    assert (tmp_path / "other-v1").is_dir()
    assert didact("check", "random-grid", "back.json", "--proof").code == 0
    task = load_task(tmp_path / "folder" / "didact-task.json")
    assert task_document(task) == task_document(make("random-grid"))


def test_machines_get_json(didact, lesson):
    answer = didact("convert", "lesson.json", "x.jsonl", "--task", "random-grid", "--json")
    document = json.loads(answer.out)
    assert document["format"] == "jsonl"
    assert (document["lesson"], document["n_episodes"]) == (True, 10)
    assert document["task"] == make("random-grid").name


def test_a_table_is_a_file_and_teaches_the_same(didact, lesson, tmp_path):
    answer = didact("convert", "lesson.json", "lesson.csv")
    assert answer.out.startswith("demonstrations (10 episodes, ")
    assert answer.out.endswith("as csv: lesson.csv\n")
    assert (tmp_path / "lesson.csv").is_file()
    for target in ("again.json", "again.jsonl", "again-v0", "again-folder"):
        assert didact("convert", "lesson.csv", target, "--task", "random-grid").code == 0
        assert didact("check", "random-grid", target).code == 0
        back = didact("convert", target, "back.csv", "--replace")
        assert (back.code, back.err) == (0, "")
        assert (tmp_path / "back.csv").read_bytes() == (tmp_path / "lesson.csv").read_bytes()
    refused(didact("convert", "lesson.csv", "x-v0"), "do not say which task they belong to")


def test_some_episodes_alone(didact, lesson, tmp_path):
    answer = didact(
        "convert", "lesson.json", "part-v0", "--task", "random-grid", "--episodes", "3,0"
    )
    assert answer.out.startswith("demonstrations (2 episodes, ")
    shown = load_recording(tmp_path / "lesson.json").demonstrations
    assert load_recording(tmp_path / "minari" / "part-v0").demonstrations == (shown[3], shown[0])


def test_an_existing_target_needs_force(didact, lesson):
    arguments = ("convert", "lesson.json", "grid-v0", "--task", "random-grid")
    assert didact(*arguments).code == 0
    refused(didact(*arguments), "exists already")
    assert didact(*arguments, "--replace").code == 0
    refused(didact("convert", "grid-v0", "lesson.json"), "exists already")


def test_formats_can_be_said(didact, lesson):
    arguments = ("--task", "random-grid", "--target-format", "imitation")
    assert didact("convert", "lesson.json", "named-v0", *arguments).code == 0
    assert didact("convert", "named-v0", "lines.txt", "--target-format", "jsonl").code == 0
    assert didact("convert", "lines.txt", "again.json", "--source-format", "jsonl").code == 0
    refused(didact("convert", "lines.txt", "x.json"), "neither JSON")


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_what_others_recorded_is_renumbered_by_its_environment(didact, tmp_path):
    """CliffWalking's 48 cells are 38 states here; the dataset names its environment."""
    import minari

    id = "CliffWalking-v1" if "CliffWalking-v1" in gymnasium.registry else "CliffWalking-v0"
    env = gymnasium.make(id)
    states, actions = [env.reset(seed=0)[0]], [0, *[1] * 11, 2]
    answers = [env.step(action) for action in actions]
    states += [answer[0] for answer in answers]
    buffer = minari.data_collector.EpisodeBuffer(
        observations=np.array(states), actions=np.array(actions),
        rewards=[float(a[1]) for a in answers], terminations=[a[2] for a in answers],
        truncations=[a[3] for a in answers], infos={},
    )  # fmt: skip
    minari.create_dataset_from_buffers("cliff-v0", [buffer], env=env)
    assert didact("convert", "cliff-v0", "cliff.json").code == 0
    found = load_recording(tmp_path / "cliff.json")
    mdp = found.task.mdp
    assert [int(mdp.state_name(s)) for s, _ in found.demonstrations[0]] == states[:-1]
    assert didact("convert", "cliff-v0", "named.json", "--task", id).code == 0
    assert load_recording(tmp_path / "named.json").demonstrations == found.demonstrations
    assert didact("check", id, "cliff.json").code == 0
