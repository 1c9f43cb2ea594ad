"""The store keeps what was written and refuses what is not its own."""

import os
import random
import re
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

import pytest

from didact.errors import InvalidFile
from didact.studies import store as store_module
from didact.studies.store import RunInfo, Store, stored_settings
from didact.studies.study import Study
from tests import effort
from tests.studies.counting import STUDY, Counting, count

ROOT = Path(__file__).parents[2]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "counting.sqlite"


def filled(path, n=3):
    with Store(path, STUDY, Counting()) as store:
        for number in range(n):
            store.add(number, {"x": number / 3}, {"all": 0.5})
    return path


def one_line(path, message, study=STUDY, settings=None):
    """Opening is refused in one line, and not a byte of the file changes."""
    before = path.read_bytes()
    with pytest.raises(InvalidFile) as told:
        Store(path, study, Counting() if settings is None else settings)
    assert message in str(told.value), str(told.value)
    assert str(path.name) in str(told.value)
    assert path.read_bytes() == before


def test_rows_come_back_in_order(path):
    with Store(path, STUDY, Counting()) as store:
        for number in (2, 0, 1):
            store.add(number, {"x": number / 3}, {"all": 0.5})
    with Store(path, STUDY, Counting()) as store:
        assert store.records() == {0: {"x": 0.0}, 1: {"x": 1 / 3}, 2: {"x": 2 / 3}}
        assert list(store.records()) == [0, 1, 2]
        assert store.seconds()[2] == {"all": 0.5}
        assert store.numbers() == {0, 1, 2}


def test_it_is_in_wal_mode_and_others_may_read(path):
    with Store(path, STUDY, Counting()) as store:
        store.add(0, {"x": 1}, {})
        reader = sqlite3.connect(path)
        assert reader.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert reader.execute("SELECT count(*) FROM trials").fetchone() == (1,)
        reader.close()


def test_no_row_is_doubled(path):
    with Store(filled(path), STUDY, Counting()) as store:
        with pytest.raises(sqlite3.IntegrityError):
            store.add(1, {"x": 9}, {})
        assert store.records()[1] == {"x": 1 / 3}
        store.add(3, {"x": 1}, {})
        assert len(store.records()) == 4


def test_failures_are_counted_quarantined_forgiven_and_overcome(path):
    with Store(path, STUDY, Counting()) as store:
        assert [store.add_failure(5, f"reason {i}", "more") for i in range(2)] == [1, 2]
        assert store.quarantined() == {}
        assert store.add_failure(5, "last", "more") == 3
        store.add_failure(6, "once", "more")
        assert store.quarantined() == {5: "last"}
        assert store.failures() == {5: ["reason 0", "reason 1", "last"], 6: ["once"]}
        store.add(6, {}, {})
        assert 6 not in store.failures()
        store.forgive()
        assert store.failures() == {}


def test_runs_are_written_down(path):
    run = RunInfo("2020-01-01T00:00:00+00:00", 2, "local processes", 3, 1.5, 2.5)
    with Store(path, STUDY, Counting()) as store:
        store.add_run(run)
        assert store.runs() == [run]


# What is not its own


def test_other_settings(path):
    one_line(
        filled(path),
        "with other settings (trials is 24 there, 5 here)",
        settings=Counting(trials=5),
    )


def test_another_study(path):
    other = Study("other", Counting(), count, STUDY.summarise)
    one_line(filled(path), "holds trials of study counting, not other", study=other)


def test_another_version_of_didact(path, monkeypatch):
    filled(path)
    monkeypatch.setattr(store_module, "__version__", "9.9.9")
    one_line(path, "holds trials of didact version 0.1.0, not 9.9.9")


def test_another_format(path):
    filled(path)
    database = sqlite3.connect(path)
    database.execute("UPDATE about SET value = 'didact.study/2' WHERE name = 'format'")
    database.commit()
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.close()
    one_line(path, "holds trials of format didact.study/2, not didact.study/1")


@pytest.mark.parametrize("content", [b"no database at all, but a long enough text" * 50, b"x"])
def test_no_database(path, content):
    path.write_bytes(content)
    one_line(path, "is damaged or no store")


def test_another_programs_database(path):
    database = sqlite3.connect(path)
    database.execute("CREATE TABLE notes (text TEXT)")
    database.execute("INSERT INTO notes VALUES ('precious')")
    database.commit()
    database.close()
    one_line(path, "is not a store of didact")


def big(path):
    """A store of many pages, all of them in the one file."""
    with Store(path, STUDY, Counting(trials=500)) as store:
        for number in range(500):
            store.add(number, {"x": number / 3, "text": "y" * 100}, {})
    return path


@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
def test_a_truncated_file(path, share):
    content = big(path).read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    one_line(path, "damaged", settings=Counting(trials=500))


def test_overwritten_pages(path):
    content = bytearray(big(path).read_bytes())
    content[8192:20480] = bytes(12288)
    path.write_bytes(bytes(content))
    one_line(path, "damaged", settings=Counting(trials=500))


@pytest.mark.parametrize("column", ["record", "seconds", "number"])
def test_a_row_that_was_changed(path, column):
    changed = {"record": "'{\"x\": 1.0}'", "seconds": "'{\"all\": 0.6}'", "number": "7"}[column]
    filled(path)
    database = sqlite3.connect(path)
    database.execute(f"UPDATE trials SET {column} = {changed} WHERE number = 1")
    database.commit()
    database.close()
    number = 7 if column == "number" else 1
    one_line(path, f"is damaged (trial {number}: its digest is another)")


EDITS = {
    "more trials than asked for": (
        "UPDATE trials SET number = 24 WHERE number = 1",
        "is damaged (it has trials from 0 to 23; one is 24)",
    ),
    "a trial before the first": ("UPDATE trials SET number = -1 WHERE number = 1", "CHECK"),
    "no JSON": ("UPDATE trials SET record = 'x'", "trial 0: record must be JSON; it is 'x'"),
    "bytes": ("UPDATE trials SET record = x'7b7d'", "value in trials.record"),
    "a list": ("UPDATE trials SET record = '[1]'", "record must be an object; it is [1]"),
    "not finite": ("UPDATE trials SET record = '{\"x\": NaN}'", "NaN is not"),
    "beyond floats": ("UPDATE trials SET record = '{\"x\": 1e999}'", "smaller than 1e308"),
    "nested": (f"UPDATE trials SET record = '{'[' * 100_000}'", "record must be JSON"),
    "words as seconds": ('UPDATE trials SET seconds = \'{"all": "x"}\'', "must be seconds"),
    "endless seconds": ("UPDATE trials SET seconds = '{\"all\": 1e13}'", "must be seconds"),
    "text as wall": ("UPDATE runs SET wall = 'x'", "value in runs.wall"),
    "endless": ("UPDATE runs SET busy = 9e999", "CHECK"),
    "text as workers": ("UPDATE runs SET workers = 'x'", "value in runs.workers"),
    "fewer workers than none": ("UPDATE runs SET workers = -1", "CHECK"),
    "bytes as place": ("UPDATE runs SET place = x'00'", "value in runs.place"),
    "text as number": ("UPDATE failures SET number = 'x'", "value in failures.number"),
    "failures of no trial": ("UPDATE failures SET number = 99", "one is 99"),
    "bytes as reason": ("UPDATE failures SET reason = x'00'", "value in failures.reason"),
    "an endless view": (
        "DROP TABLE runs; CREATE VIEW runs AS WITH RECURSIVE n(i) AS "
        "(SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS id, 'x' AS began, 1 AS workers, "
        "'x' AS place, 1 AS trials, 1.0 AS wall, 1.0 AS busy FROM n",
        "its tables are others than a store has",
    ),
    "an endless beginning": (
        "DROP TABLE about; CREATE VIEW about AS WITH RECURSIVE n(i) AS "
        "(SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS name, i AS value FROM n",
        "is not a store of didact",
    ),
    "a trigger": (
        "CREATE TRIGGER t AFTER INSERT ON trials BEGIN DELETE FROM trials; END",
        "its tables are others than a store has",
    ),
}


def edited_without_rules(path, statements):
    """Run statements on a store whose types and ranges are taken away first and put back last."""
    made = store_module.tables_made_by(store_module.SCHEMA)
    own = {entry[1]: entry[3] for entry in made if entry[0] == "table"}
    for end in (statements, None):
        with closing(sqlite3.connect(path)) as database:
            database.execute("PRAGMA writable_schema=ON")
            for name, rules in own.items():
                loose = re.sub(r" CHECK \(.*?\)| STRICT", "", rules)
                database.execute(
                    "UPDATE sqlite_master SET sql = ? WHERE name = ? AND type = 'table'",
                    (rules if end is None else loose, name),
                )
            database.commit()
        if end is not None:
            with closing(sqlite3.connect(path)) as database:
                database.executescript(end)
                for number, record, seconds in database.execute(
                    "SELECT number, record, seconds FROM trials"
                ).fetchall():
                    right = (store_module._digest(number, record, seconds), number)
                    database.execute("UPDATE trials SET digest = ? WHERE number = ?", right)
                database.commit()
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")


@pytest.mark.parametrize("edit", EDITS)
def test_rows_that_no_run_writes_are_refused_with_right_digests_too(path, edit):
    statements, message = EDITS[edit]
    with Store(filled(path), STUDY, Counting()) as store:
        store.add_failure(7, "why", "more")
        store.add_run(RunInfo("2020-01-01T00:00:00+00:00", 2, "here", 3, 1.5, 2.5))
    edited_without_rules(path, statements)
    one_line(path, message)


def test_a_store_whose_rules_were_taken_away_and_put_back_is_read(path):
    edited_without_rules(filled(path), "")
    with Store(path, STUDY, Counting()) as store:
        assert store.numbers() == {0, 1, 2}


def test_pipes_and_devices_are_refused_at_once(tmp_path):
    pipe, zero = tmp_path / "pipe.sqlite", tmp_path / "zero.sqlite"
    os.mkfifo(pipe)
    zero.symlink_to("/dev/zero")
    for path, what in ((pipe, "pipe"), (zero, "device")):
        with pytest.raises(InvalidFile, match=f"must be a file; it is a {what}"):
            Store(path, STUDY, Counting())
        with pytest.raises(InvalidFile, match="its settings cannot be read"):
            stored_settings(path, STUDY)
    os.mkfifo(tmp_path / ".counting.lock")
    with pytest.raises(InvalidFile, match="cannot be written"):
        Store(tmp_path / "counting.sqlite", STUDY, Counting())


def test_whatever_bytes_are_damaged_no_record_changes(path):
    """Opening is refused in one line, or every record is as it was written."""
    content = filled(path, 24).read_bytes()
    with Store(path, STUDY, Counting()) as store:
        written = store.records()
    chance = random.Random(5)
    refused = 0
    n_rounds = effort.number(15, 40)
    for n_bytes in [1, 3, 30] * n_rounds:
        damaged = bytearray(content)
        for _ in range(n_bytes):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        path.write_bytes(damaged)
        try:
            with Store(path, STUDY, Counting()) as store:
                assert store.records() == {n: written[n] for n in store.numbers()}
        except InvalidFile:
            refused += 1
            one_line(path, "")
    assert n_rounds / 2 < refused < 3 * n_rounds


def test_an_empty_file_becomes_a_store(path):
    path.touch()
    filled(path)
    with Store(path, STUDY, Counting()) as store:
        assert len(store.numbers()) == 3


def test_odd_names_of_folders(tmp_path):
    path = tmp_path / "a ?#% b" / "counting.sqlite"
    filled(path)
    assert path.exists()


# Two at once


def test_a_second_run_is_kept_out_and_let_in_afterwards(path):
    with Store(path, STUDY, Counting()) as store:
        store.add(0, {}, {})
        with pytest.raises(InvalidFile, match="another run is using it"):
            Store(path, STUDY, Counting())
        code = (
            "from didact.studies.store import Store\n"
            "from tests.studies.counting import STUDY, Counting\n"
            f"Store({str(path)!r}, STUDY, Counting())"
        )
        other = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT
        )
        assert "another run is using it" in other.stderr
    with Store(path, STUDY, Counting()) as store:
        assert store.numbers() == {0}


# No room


def add_many(store):
    for number in range(1, 100):
        store.add(number, {"text": "x" * 3000}, {})


def test_a_full_disk_keeps_what_was_written(path):
    with Store(path, STUDY, Counting(trials=101)) as store:
        store.add(0, {"x": 1}, {})
        pages = store._database.execute("PRAGMA page_count").fetchone()[0]
        store._database.execute(f"PRAGMA max_page_count={pages + 1}")
        with pytest.raises(InvalidFile, match="free some space and run the same command again"):
            add_many(store)
        kept = store.numbers()
    with Store(path, STUDY, Counting(trials=101)) as store:
        assert store.numbers() == kept
        store.add(100, {"x": 1}, {})


def test_a_limit_on_the_size_of_files_is_told_in_one_line(tmp_path):
    """A write that the system refuses, as on a full disk."""
    code = (
        "import resource, sys\n"
        "from didact.errors import InvalidFile\n"
        "from didact.studies.store import Store\n"
        "from tests.studies.counting import STUDY, Counting\n"
        "store = Store(sys.argv[1], STUDY, Counting(trials=9999))\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
        "try:\n"
        "    for number in range(9999): store.add(number, {'x': 'y' * 999}, {})\n"
        "except InvalidFile as error:\n"
        "    print(number, error)\n"
    )
    path = tmp_path / "counting.sqlite"
    answer = subprocess.run(
        [sys.executable, "-B", "-c", code, str(path)], capture_output=True, text=True, cwd=ROOT
    )
    n_written, _, message = answer.stdout.strip().partition(" ")
    assert "cannot be written" in message, answer.stderr
    assert "run the same command again" in message
    with Store(path, STUDY, Counting(trials=9999)) as store:
        assert store.numbers() == set(range(int(n_written)))


@pytest.mark.parametrize("place", ["a file", "/proc"])
def test_a_folder_that_cannot_be_written(tmp_path, place):
    folder = Path(place)
    if place == "a file":
        folder = tmp_path / "file"
        folder.write_text("precious")
    with pytest.raises(InvalidFile, match=r"cannot be written: .*; give another --out"):
        Store(folder / "inside" / "counting.sqlite", STUDY, Counting())
    if place == "a file":
        assert folder.read_text() == "precious"


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="no users here")
def test_a_read_only_folder():
    """As a person without rights: root may write everywhere."""
    with tempfile.TemporaryDirectory(dir="/tmp") as place:
        folder = Path(place)
        path = filled(folder / "counting.sqlite")
        before = path.read_bytes()
        for entry in folder.iterdir():
            entry.chmod(0o444)
        folder.chmod(0o555)
        code = (
            "import os, sys\n"
            "from didact.errors import InvalidFile\n"
            "from didact.studies.store import Store\n"
            "from tests.studies.counting import STUDY, Counting\n"
            "if os.geteuid() == 0: os.setuid(65534)\n"
            "try:\n"
            "    Store(sys.argv[1], STUDY, Counting())\n"
            "except InvalidFile as error:\n"
            "    print(error)\n"
        )
        answer = subprocess.run(
            [sys.executable, "-c", code, str(path)], capture_output=True, text=True, cwd=ROOT
        )
        folder.chmod(0o755)
        assert "cannot be written: Permission denied; give another" in answer.stdout, answer.stderr
        assert answer.stdout.count("\n") == 1
        assert path.read_bytes() == before
