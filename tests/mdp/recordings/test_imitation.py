"""Folders for imitation: the layout that the datasets package writes, byte by byte where it counts.

`imitation_by_datasets` was written by datasets 5.2.0 itself:
Dataset.from_dict({"obs": [[0, 1, 2], [3, 4]], "acts": [[1, 1], [0]], ...}).save_to_disk(...)
"""

import json
import shutil
import sys
from pathlib import Path

import pytest

from didact.errors import InvalidFile, InvalidInput, Unsupported
from didact.mdp import Demonstration
from didact.mdp.observations import ObservedDemonstration
from didact.mdp.recordings.formats import load_recording
from didact.mdp.recordings.imitation import DATA, read_imitation
from didact.mdp.recordings.recording import Recording
from didact.teaching import teach
from didact.worlds import make

pyarrow = pytest.importorskip("pyarrow")

THEIRS = Path(__file__).parent / "imitation_by_datasets"


@pytest.fixture
def recording():
    task = make("random-grid", size=4, n_features=3, slip="1/4", terminals=2, seed=3)
    lesson = teach(task)
    return Recording(lesson.demonstrations, task=task, lesson=lesson.document())


def table(folder: Path):
    return pyarrow.ipc.open_stream((folder / DATA).read_bytes()).read_all()


def test_we_read_what_the_datasets_package_writes():
    found = load_recording(THEIRS)
    assert [list(d) for d in found.demonstrations] == [[(0, 1), (1, 1)], [(3, 0)]]
    assert (found.foreign, found.task, found.episodes) == (True, None, (0, 1))


def test_what_we_write_has_the_same_files_columns_and_types(recording, tmp_path):
    folder = recording.save(tmp_path / "ours")
    ours, theirs = table(folder), table(THEIRS)
    assert ours.schema.equals(theirs.schema)
    names = {path.name for path in folder.iterdir()}
    assert names - {path.name for path in THEIRS.iterdir()} == {
        "didact-task.json",
        "didact-lesson.json",
    }
    for file in ("state.json", "dataset_info.json"):
        mine, real = (json.loads((place / file).read_text()) for place in (folder, THEIRS))
        assert set(mine) == set(real)
    info, real = (
        json.loads((place / "dataset_info.json").read_text())["features"]
        for place in (folder, THEIRS)
    )
    assert list(info) == list(real)
    inside = json.loads(ours.schema.metadata[b"huggingface"])["info"]["features"]
    assert inside == info
    for name, feature in real.items():
        value = feature.get("feature", feature)
        assert info[name].get("feature", info[name]) == value


def test_rows_are_trajectories(recording, tmp_path):
    rows = table(recording.save(tmp_path / "ours")).to_pylist()
    assert len(rows) == len(recording.demonstrations)
    for row, shown in zip(rows, recording.demonstrations, strict=True):
        assert len(row["obs"]) == len(row["acts"]) + 1 == len(shown) + 1
        assert tuple(zip(row["obs"], row["acts"], strict=False)) == shown.pairs
        assert row["infos"] == ["{}"] * len(shown)
        assert row["terminal"] == bool(recording.task.mdp.terminal[row["obs"][-1]])
        assert len(row["rews"]) == len(shown)


def test_many_episodes_take_several_batches(tmp_path):
    task = make("six-cell")
    many = tuple(Demonstration([(1 + i % 5, i % 4)]) for i in range(2500))
    back = load_recording(Recording(many, task=task).save(tmp_path / "many"))
    assert back.demonstrations == many
    assert pyarrow.ipc.open_stream(tmp_path / "many" / DATA).read_next_batch().num_rows == 1000


def test_infos_are_never_decoded(tmp_path):
    """A jsonpickle text that would run something stays a text."""
    folder = shutil.copytree(THEIRS, tmp_path / "theirs")
    given = table(folder)
    bomb = '{"py/reduce": [{"py/function": "os.abort"}, {"py/tuple": []}]}'
    infos = pyarrow.array([[bomb, bomb], [bomb]])
    changed = given.set_column(2, "infos", infos)
    with pyarrow.ipc.new_stream(str(folder / DATA), changed.schema) as writer:
        writer.write_table(changed)
    assert len(load_recording(folder).demonstrations) == 2


def rewritten(folder: Path, **columns) -> None:
    data = {"obs": [[0, 1, 2]], "acts": [[1, 1]], **columns}
    made = pyarrow.table({k: v for k, v in data.items() if v is not None})
    with pyarrow.ipc.new_stream(str(folder / DATA), made.schema) as writer:
        writer.write_table(made)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"obs": [[0, 1]]}, "episode 0: must have one observation more than actions"),
        ({"acts": [[0.5, 1.0]]}, "must be numbers of states or actions"),
        ({"acts": [[[0, 1], [1, 1]]]}, "must be numbers of states or actions"),
        ({"acts": [[0, -1]]}, "step 2: action must be from 0"),
        ({"obs": None}, "obs is missing"),
        ({"acts": [3]}, "acts must be a list"),
    ],
)
def test_other_columns_are_refused_in_one_line(columns, message, tmp_path):
    folder = shutil.copytree(THEIRS, tmp_path / "theirs")
    rewritten(folder, **columns)
    with pytest.raises(InvalidFile, match=message):
        load_recording(folder)


def test_columns_of_one_entry_are_numbers_too(tmp_path):
    folder = shutil.copytree(THEIRS, tmp_path / "theirs")
    rewritten(folder, obs=[[[1], [4], [5]]], acts=[[1, 3]])
    (shown,) = load_recording(folder).of_task(make("six-cell")).demonstrations
    assert list(shown) == [(1, 1), (4, 3)]


@pytest.mark.parametrize(
    "obs",
    [[[0.5, 1.0], [2.0, 3]], [[[1], [2]], [[3], [4]], [[3], [4]]], [-1, 2, 3]],
    ids=["vectors", "arrays", "below 0"],
)
def test_what_was_observed_stays_until_a_task_says_what_it_means(obs, tmp_path):
    folder = shutil.copytree(THEIRS, tmp_path / "theirs")
    rewritten(folder, obs=[obs], acts=[[1] * (len(obs) - 1)])
    (shown,) = load_recording(folder).demonstrations
    assert shown == ObservedDemonstration.of([(observed, 1) for observed in obs[:-1]])
    with pytest.raises(InvalidInput, match="the task does not say what its observations mean"):
        load_recording(folder).of_task(make("six-cell"))


def test_episodes_without_a_step_are_passed_over(tmp_path):
    folder = shutil.copytree(THEIRS, tmp_path / "theirs")
    rewritten(folder, obs=[[7], [0, 1]], acts=[[], [2]])
    found = load_recording(folder)
    assert ([list(d) for d in found.demonstrations], found.episodes) == ([[(0, 2)]], (1,))


@pytest.mark.parametrize(
    "files",
    [[], None, [{"filename": "../secret.arrow"}], [{"filename": "/etc/passwd"}], [{}], ["x"]],
)
def test_data_files_lie_in_the_folder(files, tmp_path):
    (tmp_path / "secret.arrow").write_bytes((THEIRS / DATA).read_bytes())
    folder = shutil.copytree(THEIRS, tmp_path / "theirs")
    (folder / "state.json").write_text(json.dumps({"_data_files": files}))
    with pytest.raises(InvalidFile, match="must name data files in this folder"):
        load_recording(folder)


@pytest.mark.parametrize("content", [b"", b"not arrow", None])
def test_damaged_data_are_refused_in_one_line(content, tmp_path):
    folder = shutil.copytree(THEIRS, tmp_path / "theirs")
    whole = (folder / DATA).read_bytes()
    (folder / DATA).write_bytes(whole[: len(whole) // 2] if content is None else content)
    with pytest.raises(InvalidFile, match="cannot be read"):
        load_recording(folder)


def test_a_folder_that_is_none(tmp_path):
    with pytest.raises(InvalidFile, match="is no folder for imitation"):
        read_imitation(tmp_path)
    with pytest.raises(InvalidFile, match="needs the task"):
        Recording((Demonstration([(0, 0)]),)).save(tmp_path / "x")


def test_without_the_package_one_line_says_what_to_install(recording, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    for use in (lambda: load_recording(THEIRS), lambda: recording.save(tmp_path / "x")):
        with pytest.raises(Unsupported, match=r"pip install 'didact\[imitation\]'"):
            use()
