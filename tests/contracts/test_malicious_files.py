"""A malicious file of every readable format: none runs code.

Good files of each format are edited: pickles, names of modules, entry points and templates stand
wherever a text or an object may. The table in `docs/files.md` has a row for each format, and each
row is tried here; a format that has no row fails the last test.
"""

import io
import json
import re
import sqlite3
import warnings
import zipfile
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

import didact
from didact.bec.observed.branches import PARTIAL_FORMAT, _Checkpoint
from didact.cli.policies import read_agent
from didact.errors import DidactError, Unsupported
from didact.files.archives import read_archive, write_archive
from didact.mdp.recordings.formats import formats, load_recording
from didact.mdp.recordings.minari import DATA_FORMATS
from didact.proofcheck import ProofError
from didact.studies.people.study import export_study, init_study
from didact.studio.lessons import exported
from didact.studio.worlds import read_subject
from didact.worlds.gym.runs import recorded_return
from tests.effort import number
from tests.fuzz import test_json_files, test_packed_files
from tests.malicious import MODULE, Payload, evil_pickle, trap, write_agent

__all__ = ["trap"]

ROOT = Path(__file__).parents[2]
NAMES = [
    f"{MODULE}:X",
    f"__import__('{MODULE}')",
    "{{ self._TemplateReference__context.environment.from_string('x') }}"
    f"{{% import '{MODULE}' %}}",
    f"!!python/object/apply:{MODULE}.run []",
]
OBJECTS = [
    {"py/object": f"{MODULE}.X", "py/reduce": [{"py/function": f"{MODULE}.run"}, []]},
    {":type:": "x", ":serialized:": "gASV"},
    {"__reduce__": [f"{MODULE}.run", []], "entry_point": f"{MODULE}:X", "$ref": f"{MODULE}.py"},
]


def replaced(value, evil, depth=None):
    """The JSON value with something malicious in one place after the other, so many levels deep."""
    depth = number(1, 3) if depth is None else depth
    yield evil
    if depth and isinstance(value, dict):
        yield {**value, evil if isinstance(evil, str) else "x": evil}
        for key in value:
            for other in replaced(value[key], evil, depth - 1):
                yield {**value, key: other}
    elif depth and isinstance(value, list) and value:
        for other in replaced(value[0], evil, depth - 1):
            yield [other, *value[1:]]


def renamed(value, evil):
    """The JSON value with every text that is no number, format or known word replaced."""
    if isinstance(value, dict):
        return {key: renamed(each, evil) for key, each in value.items() if key != "format"} | {
            key: each for key, each in value.items() if key in ("format", "kind", "layout")
        }
    if isinstance(value, list):
        return [renamed(each, evil) for each in value]
    is_name = isinstance(value, str) and not re.fullmatch(r"[-0-9./e]+", value)
    return evil if is_name else value


def json_edits(content):
    yield evil_pickle()
    with suppress(ValueError):
        value = json.loads(content)
        for evil in NAMES:
            yield json.dumps(renamed(value, evil)).encode()
        for evil in (NAMES[0], *OBJECTS[: number(1, 3)]):
            yield from (json.dumps(each).encode() for each in replaced(value, evil))


def line_edits(content):
    first, _, rest = content.partition(b"\n")
    yield from (edit + b"\n" + rest for edit in json_edits(first))


def table_edits(content):
    for evil in (*NAMES, json.dumps(OBJECTS[0])):
        yield re.sub(rb"(?<=\n)[^,\n]+|(?<=,)[^,\n]+(?=\n)", json.dumps(evil).encode(), content)
    yield evil_pickle()


def saved(array):
    out = io.BytesIO()
    np.save(out, array, allow_pickle=True)
    return out.getvalue()


def array_edits(_):
    yield saved(np.array([Payload()], dtype=object))
    yield saved(np.array([(1, Payload())], dtype=[("a", "i8"), ("b", "O")]))
    yield evil_pickle()


def archive_edits(content):
    """Each array of an archive as an object, and one more."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    for name in (*members, "more.npy"):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            for each, bytes_ in {**members, name: saved(np.array(Payload(), object))}.items():
                archive.writestr(each, bytes_)
        yield out.getvalue()


def database_edits(content, folder):
    """Pickles in every column, triggers and views that load a library."""
    path = folder / "edited.sqlite"
    statements = [
        "CREATE VIEW v AS SELECT load_extension('./evil_payload.so')",
        "CREATE TRIGGER t AFTER INSERT ON {0} BEGIN SELECT load_extension('./evil'); END",
        "UPDATE {0} SET {1} = ?",
    ]
    for statement in statements:
        path.write_bytes(content)
        with sqlite3.connect(path) as database:
            found = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            for (table,) in found.fetchall():
                columns = database.execute(f"PRAGMA table_info({table})").fetchall()
                for column in columns:
                    with suppress(sqlite3.Error):
                        told = statement.format(table, column[1])
                        database.execute(told, (evil_pickle(),) if "?" in told else ())
        database.close()
        yield path.read_bytes()


def hdf5_edits(content):
    """Opaque pickles as arrays and attributes, and links that lead elsewhere."""
    import h5py

    for kind in range(3):
        file = io.BytesIO(content)
        with h5py.File(file, "r+") as opened:
            group = opened["episode_0"]
            if kind == 0:
                del group["observations"]
                group["observations"] = np.array([np.void(evil_pickle())] * 3)
            elif kind == 1:
                group.attrs["options/start_state"] = np.void(evil_pickle())
            else:
                del group["actions"]
                group["actions"] = h5py.ExternalLink(f"{MODULE}.py", "/x")
        yield file.getvalue()


def arrow_edits(content, suffix):
    """Columns whose extension type is a pickle, as old versions of Arrow loaded it."""
    import pyarrow
    from pyarrow import parquet

    is_file = content.startswith(b"ARROW1")
    if suffix == ".parquet":
        table = parquet.read_table(io.BytesIO(content))
    elif is_file:
        table = pyarrow.ipc.open_file(content).read_all()
    else:
        table = pyarrow.ipc.open_stream(content).read_all()
    evil = {
        b"ARROW:extension:name": b"arrow.py_extension_type",
        b"ARROW:extension:metadata": evil_pickle(),
    }
    if "infos" in table.column_names:  # imitation decodes them by jsonpickle, which runs code
        at, infos = table.column_names.index("infos"), table.column("infos")
        texts = [[json.dumps(OBJECTS[0]) for _ in each] for each in infos.to_pylist()]
        table = table.set_column(at, "infos", pyarrow.array(texts, infos.type))
    fields = [field.with_metadata(evil) for field in table.schema]
    named = {b"pandas": json.dumps(OBJECTS[0]).encode(), b"huggingface": evil_pickle()}
    edited = table.cast(pyarrow.schema(fields, metadata=named))
    out = io.BytesIO()
    if suffix == ".parquet":
        parquet.write_table(edited, out)
    else:
        write = pyarrow.ipc.new_file if is_file else pyarrow.ipc.new_stream
        with write(out, edited.schema) as writer:
            writer.write_table(edited)
    yield out.getvalue()


def edits_of(name, content, folder):
    suffix = Path(name).suffix
    if suffix in (".json", ".jsonl", ".csv"):
        return {".json": json_edits, ".jsonl": line_edits, ".csv": table_edits}[suffix](content)
    if suffix in (".npy", ".npz"):
        return {".npy": array_edits, ".npz": archive_edits}[suffix](content)
    if suffix == ".hdf5":
        return hdf5_edits(content)
    if suffix in (".arrow", ".parquet"):
        return arrow_edits(content, suffix)
    return database_edits(content, folder)


def try_target(target, folder, didact_command):
    """Read every edit of the target's good files, one file after the other."""
    corpus, n_read, n_tried = target.corpus(), 0, 0
    for i, files in enumerate(corpus[: number(1, 2)]):
        place = folder / f"good{i}"
        for name, content in files.items():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_bytes(content)
        target.read(place / target.main)
        for name, content in files.items():
            for edit in edits_of(name, content, folder):
                (place / name).write_bytes(edit)
                n_tried += 1
                with suppress(DidactError, ProofError):
                    target.read(place / target.main)
                    n_read += 1
                if target.command is not None and n_tried % 10 == 1:
                    answer = didact_command(*target.command(place / target.main))
                    assert "Traceback" not in answer.err, answer.err
            (place / name).write_bytes(content)
    assert n_tried
    return n_read


def by_targets(*names):
    known = {**test_json_files.TARGETS, **test_packed_files.TARGETS}

    def tried(folder, command):
        for name in names:
            if name.startswith("minari"):
                pytest.importorskip("minari")
            if name == "imitation":
                pytest.importorskip("pyarrow")
            if name == "minari-parquet" and not test_packed_files.writes_parquet():
                continue
            try_target(known[name], folder / name.replace(" ", "_"), command)

    return tried


def try_minari(folder, command):
    """Datasets, and the environments that their metadata name."""
    by_targets("minari", "minari-arrow", "minari-parquet")(folder, command)
    data = folder / "minari" / "good0" / test_packed_files.DATASET / "data"
    metadata = json.loads((data / "metadata.json").read_text())
    for id in (f"{MODULE}:X-v0", f"x/{MODULE}:X-v0", f"{MODULE}.X-v0", "FrozenLake-v1"):
        for evil in (f"{MODULE}:X-v0", *OBJECTS):
            spec = {"id": id, "entry_point": f"{MODULE}:X", "kwargs": {"desc": evil}}
            spec["additional_wrappers"] = [{"entry_point": f"{MODULE}:X", "kwargs": {}}]
            foreign = {**metadata, "didact_task": None, "env_spec": json.dumps(spec)}
            (data / "metadata.json").write_text(json.dumps(foreign))
            assert command("select", data.parent).code == 2


def try_runs(folder, command):
    """What `ask` writes, read by `check`."""
    task = didact.make("six-cell")
    run = didact.ask(task, n_queries=1, n_steps=20, n_chains=2).document()
    answers = {"format": "didact.answers/1", "task": task.name, "items": []}
    for i, document in enumerate((run, answers, {**answers, "demonstrations": [[[2, 1]]]})):
        path = folder / f"run{i}.json"
        for edit in json_edits(json.dumps(document, default=str).encode()):
            path.write_bytes(edit)
            with suppress(DidactError):
                didact.check(task, str(path))


def try_checkpoint(folder, command):
    """What `observe --checkpoint` keeps."""
    by_targets("observed")(folder, command)
    write_archive(
        {"format": PARTIAL_FORMAT, "mark": "x", "n_blocks": 0},
        {"rows": np.zeros((1, 1, 1)), "covariances": np.zeros(0)},
        folder / "kept.npz",
    )
    content = (folder / "kept.npz").read_bytes()
    checkpoint = _Checkpoint.__new__(_Checkpoint)
    checkpoint._sizes, checkpoint._mark = [1], "x"
    for edit in archive_edits(content):
        (folder / "kept.npz").write_bytes(edit)
        with suppress(DidactError):
            read_archive(folder / "kept.npz", PARTIAL_FORMAT, checkpoint._read)


def try_people(folder, command):
    path = folder / "good.sqlite"
    init_study(str(path), "random-grid", {"size": 3}, n_questions=2, conditions=("scot", "none"))
    for content in database_edits(path.read_bytes(), folder):
        given = folder / "study.sqlite"
        given.write_bytes(content)
        with suppress(DidactError, ValueError, TypeError, sqlite3.Error):
            export_study(str(given), str(folder / "out"))
    for i, evil in enumerate(NAMES):
        own, consent = folder / f"own{i}.sqlite", folder / "consent.txt"
        consent.write_text(evil)
        asked = {"n_questions": 2, "conditions": ("scot", "none"), "title": evil}
        init_study(str(own), "random-grid", {"size": 3}, consent=str(consent), **asked)
        export_study(str(own), str(folder / f"out{i}"))


def try_links(folder, command):
    """Worlds in links, and the code that the page shows for them."""
    painting = {
        "name": "x", "rows": ["ab"], "features": [["g", "-1", 0], ["h", "1", 1]], "ends": [1],
        "starts": [], "slip": "0", "discount": "0.9",
    }  # fmt: skip
    world = {"world": "FrozenLake-v1", "parameters": {"is_slippery": False}}
    task = {"task": json.loads(test_json_files.task_files()[0][test_json_files.FILE])}
    for question in ({"painting": painting}, world, task):
        read_subject(question)
        for evil in (*NAMES, *OBJECTS):
            for edit in replaced(question, evil):
                with suppress(DidactError):
                    code = exported(read_subject(edit), edit)["python"]
                    compile(code, "shown", "exec")
                    assert f"({MODULE}" not in re.sub(r"(['\"]).*?\1", "''", code)


def try_agents(folder, command):
    """Every Python object in the file is a pickle that runs code, and so are some weights."""
    path = write_agent(folder / "agent.zip", more=evil_pickle())
    seen = ("--features", "math:sin")
    for arguments in (
        ("audit", "FrozenLake-v1", "--agent", path),
        ("observe", "FrozenLake-v1", "--policy", path, *seen),
        ("select", "x-v0", "--simulator", "FrozenLake-v1", "--policy", path, *seen),
    ):
        answer = command(*arguments)
        assert answer.code == 2
        assert answer.err.count("\n") == 1


def try_run_settings(folder, command):
    """Settings of a training run name classes, environments and files; the agent is refused later,
    where Stable-Baselines3 is not installed or the environment is another one."""
    agent = write_agent(folder / "agent.zip", more=evil_pickle())
    for evil in (*NAMES, f"!!python/name:{MODULE}.X", "\x1b[31mred", "../" * 50, "1" * 9000):
        text = "!!python/object/apply:collections.OrderedDict\n- - "
        names = ("env", "env_wrapper", "env_kwargs", "normalize", "frame_stack", "policy_kwargs")
        lines = "".join(f"- - {name}\n  - {evil}\n{name}: {evil}\n" for name in names)
        for name in ("args.yml", "config.yml", "results.json"):
            (folder / name).write_text(text + lines if name.endswith("yml") else json.dumps(evil))
            for given in (agent, folder):
                with warnings.catch_warnings():
                    warnings.simplefilter("always")
                    answer = command("audit", "FrozenLake-v1", "--agent", given)
                assert answer.code in (0, 2, 3)
                assert "Traceback" not in answer.err
                assert "\x1b" not in answer.err
    for edit in json_edits(b'{"mean_reward": 1.0, "std_reward": 0.5}'):
        (folder / "results.json").write_bytes(edit)
        recorded_return(str(agent))


def try_study_texts(folder, command):
    """Consent, debriefing and statements, which stand in pages and tables."""
    for i, evil in enumerate((*NAMES, "=1+1", "</script><script>")):
        place = folder / f"text{i}.txt"
        place.write_text(f"{evil}\n")
        texts = {name: str(place) for name in ("consent", "debriefing", "likert")}
        asked = {"n_questions": 2, "conditions": ("scot", "none")}
        init_study(str(folder / f"{i}.sqlite"), "random-grid", {"size": 3}, **texts, **asked)
    place.write_bytes(evil_pickle())
    with pytest.raises(DidactError):
        init_study(str(folder / "x.sqlite"), "random-grid", {"size": 3}, likert=str(place), **asked)


def try_normalisation(folder, command):
    path = write_agent(folder / "agent.zip")
    (folder / "vecnormalize.pkl").write_bytes(evil_pickle())
    with pytest.raises(Unsupported, match="a pickle can run any code"):
        read_agent(str(path), didact.make("FrozenLake-v1"))


def try_pickles(folder, command):
    for suffix in (".pkl", ".pickle", ".pth", ".pt", ".joblib"):
        (folder / f"agent{suffix}").write_bytes(evil_pickle())
        answer = command("audit", "FrozenLake-v1", "--agent", folder / f"agent{suffix}")
        assert answer.code == 2
        for policy in ("observe", "explain"):
            given = ("--policy", folder / f"agent{suffix}")
            assert command(policy, "FrozenLake-v1", *given).code == 2
        with pytest.raises(DidactError):
            load_recording(folder / f"agent{suffix}")


def try_python(folder, command):
    """Python runs where it is named by its user; a file of that name alone is not imported."""
    for name in (MODULE, f"{MODULE}.py", f"{MODULE}:"):
        assert command("audit", "six-cell", "--agent", name).code == 2
        assert command("show", name).code == 2


ROWS = {
    "`didact.task/1`": by_targets("task"),
    "`didact.family/1`": by_targets("family"),
    "`didact.lesson/1`": by_targets("lesson", "family lesson"),
    "`didact.proof/1`": by_targets("proof", "family proof"),
    "`didact.exam/1`": by_targets("exam"),
    "`didact.demonstrations/1`": by_targets("recording", "lines"),
    "`didact.run/1`, `didact.answers/1`": try_runs,
    "other feedback": by_targets("feedback"),
    "weights, actions, probabilities, answers": by_targets("policy"),
    "arrays": by_targets("array"),
    "table of demonstrations": by_targets("table"),
    "Minari dataset": try_minari,
    "imitation folder": by_targets("imitation"),
    "`didact.belief/1`": by_targets("belief"),
    "`didact.observed/1`, `didact.observing/1`": try_checkpoint,
    "`didact.study/1`": by_targets("store"),
    "`didact.people/1`": try_people,
    "texts of a study": try_study_texts,
    "link of the studio": try_links,
    "agent of Stable-Baselines3": try_agents,
    "`config.yml`, `args.yml`, `results.json` beside an agent": try_run_settings,
    "`vecnormalize.pkl` beside an agent": try_normalisation,
    "other pickles": try_pickles,
    "Python that you name": try_python,
}


def listed():
    """The rows of the table in the docs: what is read, and whether it can run code."""
    page = (ROOT / "docs" / "files.md").read_text(encoding="utf-8")
    part = page[page.index("## Which files can run code") :].split("\n## ")[0]
    rows = [line.strip("| ").split(" | ") for line in part.splitlines() if line.startswith("| ")]
    return part, {row[0]: row[2] for row in rows[2:]}


@pytest.mark.parametrize("row", ROWS)
def test_no_malicious_file_runs_code(row, trap, didact, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "minari"))
    (tmp_path / "files").mkdir()
    ROWS[row](tmp_path / "files", didact)


def test_the_trap_is_sprung_by_what_loads_pickles(tmp_path, monkeypatch):
    """The test itself can fail."""
    import pickle

    from tests.malicious import Trap

    monkeypatch.syspath_prepend(tmp_path)
    made = Trap(tmp_path)
    assert not made.sprung
    pickle.loads(evil_pickle())
    assert made.sprung
    monkeypatch.delitem(__import__("sys").modules, MODULE)
    made.sign.unlink()
    np.load(io.BytesIO(next(array_edits(b""))), allow_pickle=True)
    assert made.sprung
    monkeypatch.delitem(__import__("sys").modules, MODULE)


def test_every_format_has_a_row_and_every_row_is_tried():
    part, rows = listed()
    assert list(rows) == list(ROWS)
    assert {told.partition(":")[0] for told in rows.values()} == {
        *("no", "no, not read", "only if trusted", "yes"),
    }
    sources = "\n".join(
        path.read_text(encoding="utf-8") for path in (ROOT / "src" / "didact").rglob("*.py")
    )
    known = set(re.findall(r"didact\.[a-z]+/[0-9]", sources))
    assert len(known) > 15
    endings = re.findall(r"(?:endswith|_ends|suffix ==|suffix in)[( ]+([^)\n]+)", sources)
    known |= {ending for each in endings for ending in re.findall(r'"(\.[a-z0-9]+)"', each)}
    known |= set(DATA_FORMATS)
    for name in sorted(known):
        assert f"`{name}`" in part, f"{name} has no row in docs/files.md"
    assert set(formats()) == {"json", "jsonl", "csv", "minari", "imitation"}, "a row for the new"
