"""Arrays, beliefs, stores, Minari datasets and folders for imitation, edited in every way."""

import io
import random
import tempfile
import warnings
import zipfile
from contextlib import closing
from functools import cache
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest

import didact
from didact.learners.files import load_belief
from didact.mdp.recordings.formats import load_recording
from didact.mdp.recordings.recording import Recording
from didact.report.reproduce import NoReport, report_of
from didact.report.studies import index_page, report_csv, report_markdown, report_records, times_csv
from didact.studies.store import RunInfo, Store, stored_settings
from didact.worlds.gym.trained import planned
from tests.effort import number
from tests.faults import contents
from tests.fuzz.contract import Files, Target, keeps_contract
from tests.fuzz.edits import edited_bytes, edited_json
from tests.fuzz.packed import (
    archive_edit,
    array_edit,
    column_edit,
    database_edit,
    saved,
    tree_edit,
)
from tests.fuzz.test_json_files import (
    are_probabilities,
    converted,
    read_six_cell_policy,
    recording_reads_back,
)
from tests.malicious import agent_data, write_agent
from tests.studies.counting import STUDY, Counting, count

FILE = "given.npy"
DATASET = "given-v0"
COLUMNS = ("observations", "actions")


@cache
def six_cell() -> didact.Task:
    return didact.make("six-cell")


# Policies and beliefs


def array_files() -> list[Files]:
    sure = np.zeros((6, 4))
    sure[:, 2] = 1.0
    return [{FILE: saved(np.array([0, 1, 2, 3, 0, 1]))}, {FILE: saved(sure)}]


def belief_files() -> list[Files]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        drawn = didact.learn(six_cell(), [[(4, 2)], [(5, 2), (4, 2)]], n_steps=8, n_chains=2)
    point = didact.learn(six_cell(), [[(4, 2)]], learner="max-entropy", penalty=1.0)
    found = []
    for belief in (drawn, point):
        with tempfile.TemporaryDirectory() as folder:
            belief.save(Path(folder) / "given.npz")
            found.append(contents(Path(folder)))
    return found


def read_belief(path: Path) -> didact.Belief:
    return load_belief(path, six_cell().mdp)


def belief_reads_back(belief: didact.Belief, folder: Path) -> None:
    again = folder.with_name("again.npz")
    belief.save(again)
    loaded = read_belief(again)
    assert loaded.samples.tobytes() == belief.samples.tobytes()
    assert loaded.demonstrations == belief.demonstrations
    assert dict(loaded.settings) == dict(belief.settings)
    assert str(loaded) == str(belief)


def observed_files() -> list[Files]:
    found = []
    for name in ("point-robot", "lqr"):
        seen = didact.observe(name, discount=0.8, n_rollouts=2, length=2)
        with tempfile.TemporaryDirectory() as folder:
            seen.save(Path(folder) / "given.npz")
            found.append(contents(Path(folder)))
    return found


def observed_reads_back(seen: didact.Observed, folder: Path) -> None:
    again = folder.with_name("again.npz")
    seen.save(again)
    assert didact.load_observed(again).rows.tobytes() == seen.rows.tobytes()


# Stores


def store_files() -> list[Files]:
    """A store at rest: one file, nothing beside it that must be read."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "counting.sqlite"
        with Store(path, STUDY, Counting(trials=5)) as store:
            for number in range(5):
                record = count(Counting(), number)
                store.add(number, record, record.pop("seconds"))
            store.add_failure(1, "why", "more")
            store.add_run(RunInfo("2020-01-01T00:00:00+00:00", 2, "local processes", 3, 1.5, 2.5))
        with closing(Store(path, STUDY, Counting(trials=5))) as store:
            store._database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return [{"counting.sqlite": path.read_bytes()}]


def read_store(path: Path) -> object:
    """What a store comes to; a refusal leaves it as it was, byte for byte."""
    before = path.read_bytes()
    try:
        settings = stored_settings(path, STUDY)
        with Store(path, STUDY, settings) as store:
            return report_of(STUDY, settings, store) if store.numbers() else None
    except NoReport:
        raise
    except didact.DidactError:
        assert path.read_bytes() == before
        raise


def report_can_be_written(report: object, folder: Path) -> None:
    if report is None:
        return
    assert set(report.records) <= set(range(report.total))
    for write in (report_markdown, report_csv, report_records, times_csv):
        assert write(report).encode()
    assert index_page([report], {"date": "today"}, {}).encode()


# Recordings of others


def saved_recording(target: str, **options: object) -> Files:
    lesson = didact.teach(six_cell(), horizon=3)
    recording = Recording(lesson.demonstrations, task=six_cell(), lesson=lesson.document())
    with tempfile.TemporaryDirectory() as folder:
        recording.save(Path(folder) / target, **options)
        return contents(Path(folder))


def minari_files() -> list[Files]:
    return [saved_recording(f"./{DATASET}", format="minari")]


@cache
def table_files(data_format: str) -> tuple[Files, ...]:
    """A dataset whose steps Minari itself has written as Arrow or Parquet."""
    import gymnasium
    from minari.data_collector.episode_buffer import EpisodeBuffer
    from minari.dataset.minari_storage import MinariStorage

    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / DATASET / "data"
        data.mkdir(parents=True)
        storage = MinariStorage.new(
            data,
            observation_space=gymnasium.spaces.Discrete(6),
            action_space=gymnasium.spaces.Discrete(4),
            data_format=data_format,
        )
        storage.update_metadata({"dataset_id": DATASET, "minari_version": "0.5.3"})
        steps = EpisodeBuffer(
            observations=[5, 4, 1], actions=[2, 2], rewards=[0.0, 1.0], terminations=[False, True],
            truncations=[False, False], options={"start_state": 5},
        )  # fmt: skip
        storage.update_episodes([steps, steps])
        return (contents(Path(folder)),)


def imitation_files() -> list[Files]:
    return [saved_recording("given", format="imitation")]


# Agents


def agent_files() -> list[Files]:
    with tempfile.TemporaryDirectory() as folder:
        path = write_agent(Path(folder) / "agent.zip", agent_data(lr_schedule=None))
        return [{"agent.zip": path.read_bytes()}]


def edited_member(rng: random.Random, files: Files) -> Files:
    """A member is something else, and the archive is whole."""
    with zipfile.ZipFile(io.BytesIO(files["agent.zip"])) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    edit = edited_json if rng.random() < 0.7 else edited_bytes
    members["data"] = edit(rng, members["data"])
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return {"agent.zip": out.getvalue()}


TARGETS = {
    "array": Target(
        array_files,
        FILE,
        read_six_cell_policy,
        are_probabilities,
        lambda path: [
            *("explain", "six-cell", "--policy", str(path)),
            *("-o", str(path.parent.with_name("page.html"))),
        ],
        edits=(array_edit(FILE),),
    ),
    "belief": Target(
        belief_files,
        "given.npz",
        read_belief,
        belief_reads_back,
        edits=(archive_edit("given.npz"),),
    ),
    "observed": Target(
        observed_files,
        "given.npz",
        didact.load_observed,
        observed_reads_back,
        edits=(archive_edit("given.npz"),),
    ),
    "store": Target(
        store_files,
        "counting.sqlite",
        read_store,
        report_can_be_written,
        edits=(database_edit("counting.sqlite"),),
        changes=(".sqlite", ".sqlite-wal", ".sqlite-shm", ".counting.lock"),
    ),
    "minari": Target(
        minari_files,
        DATASET,
        load_recording,
        recording_reads_back,
        converted,
        edits=(tree_edit(f"{DATASET}/data/main_data.hdf5"),),
    ),
    "minari-arrow": Target(
        lambda: table_files("arrow"),
        DATASET,
        load_recording,
        recording_reads_back,
        converted,
        edits=(column_edit(".arrow", COLUMNS, lists=False),),
    ),
    "minari-parquet": Target(
        lambda: table_files("parquet"),
        DATASET,
        load_recording,
        recording_reads_back,
        converted,
        edits=(column_edit(".parquet", COLUMNS, lists=False),),
    ),
    "agent": Target(
        agent_files,
        "agent.zip",
        lambda path: planned(str(path)),
        command=lambda path: ["audit", "FrozenLake-v1", "--agent", str(path)],
        edits=(edited_member,),
    ),
    "imitation": Target(
        imitation_files,
        "given",
        load_recording,
        recording_reads_back,
        converted,
        edits=(column_edit(".arrow", ("obs", "acts"), lists=True),),
    ),
}


def writes_parquet() -> bool:
    """Whether the installed Minari knows Parquet."""
    return tuple(map(int, version("minari").split(".")[:3])) >= (0, 5, 3)


def told(name: str, n_inputs: int, folder: Path):
    if name.startswith("minari"):
        pytest.importorskip("minari")
    if name == "minari-parquet" and not writes_parquet():
        pytest.skip("this Minari writes no Parquet")
    if name == "imitation":
        pytest.importorskip("pyarrow")
    return keeps_contract(name, TARGETS[name], n_inputs, folder)


@pytest.mark.parametrize("name", TARGETS)
def test_packed_files_are_read_or_refused_in_one_line(name, tmp_path):
    found = told(name, number(40, 80), tmp_path)
    assert min(found["read"], found["refused"]) > 2


@pytest.mark.slow
@pytest.mark.parametrize("name", TARGETS)
def test_many_packed_files_are_read_or_refused_in_one_line(name, tmp_path):
    found = told(name, 10_000, tmp_path)
    assert min(found["read"], found["refused"]) > 300
    print(f"{name}: {found}")
