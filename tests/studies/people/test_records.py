"""Records of a study: answers are kept once, in order, and forgotten when that is asked."""

import json
import os
import shutil
import signal
import sqlite3
import sys
import tempfile
from collections import Counter
from contextlib import closing, suppress
from copy import copy as copy_of
from dataclasses import replace
from pathlib import Path

import pytest

from didact import make
from didact.errors import DidactError
from didact.mdp.files import task_document
from didact.random import stream
from didact.studies.people import records as records_module
from didact.studies.people.design import Procedure, design_study
from didact.studies.people.records import Records, row_digest
from didact.studies.people.study import delete_participant, export_study, simulate_study
from didact.studio.study_stage import staged
from tests.effort import crossed, number

TASK = make("random-grid", size=6, n_features=2, seed=1)
DESIGN = design_study(TASK, n_questions=4, n_practice=1, procedure=Procedure(comments=True))


@pytest.fixture
def records(tmp_path):
    made = Records.create(tmp_path / "study.sqlite", DESIGN, task_document(TASK))
    yield made
    made.close()


def test_a_participant_goes_on_where_they_were(records):
    joined = records.join()
    assert joined.condition == DESIGN.condition_of(0)
    for step, (kind, place) in enumerate(DESIGN.steps(0)):
        asks = place in DESIGN.right
        given = {"action": DESIGN.right[place][0]} if asks else {"comment": "x"}
        after = records.answer(joined, step, given)
        assert after.n_done == step + 1
        other = Records(records.path)
        assert other.find(joined.secret) == after
        other.close()
        assert kind in ("consent", "practice", "lesson", "test", "comments")
    kept = records.answers()
    assert [row["correct"] for row in kept if row["kind"] == "test"] == [1] * 4
    assert kept[-1]["comment"] == "x"


def test_what_is_sent_again_or_too_early_changes_nothing(records):
    joined = records.join()
    assert records.answer(joined, 0, {}).n_done == 1
    assert records.answer(joined, 0, {}).n_done == 1
    assert records.answer(joined, 3, {"action": 0}) == records.find(joined.secret)
    with pytest.raises(DidactError, match="step"):
        records.answer(joined, 99, {})
    assert len(records.answers()) == 1


def test_a_participant_is_forgotten_and_their_number_is_not_given_again(records):
    first, second = records.join(), records.join()
    records.answer(first, 0, {"comment": "very secret words"})
    records.answer(second, 0, {})
    assert records.delete(0) == 1
    assert records.find(first.secret) is None
    assert [row["participant"] for row in records.answers()] == [1]
    assert records.join().number == 2
    with pytest.raises(DidactError, match="no participant"):
        records.delete(0)
    assert first.secret.encode() not in records.path.read_bytes()


def test_studies_are_never_overwritten_and_other_files_are_refused(records, tmp_path):
    with pytest.raises(DidactError, match="never overwritten"):
        Records.create(records.path, DESIGN, {})
    with pytest.raises(DidactError, match="no such study"):
        Records(tmp_path / "nothing.sqlite")
    for name, content in (("text", b"hello"), ("empty", b"")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(DidactError):
            Records(tmp_path / name)
    sqlite3.connect(tmp_path / "other.sqlite").executescript("CREATE TABLE about (name, value)")
    with pytest.raises(DidactError, match="must be a file of"):
        Records(tmp_path / "other.sqlite")


def test_names_are_texts(tmp_path):
    hostile = replace(DESIGN, title="'); DROP TABLE answers; --")
    made = Records.create(tmp_path / "hostile.sqlite", hostile, task_document(TASK))
    assert made.find("' OR 1=1 --") is None
    assert made.design.title == hostile.title
    made.close()


# ---------------------------------------------------------------- files that were changed


def exported(path, folder) -> dict[str, bytes]:
    """The files of an export."""
    return {Path(place).name: Path(place).read_bytes() for place in export_study(path, str(folder))}


@pytest.fixture(scope="module")
def taken(tmp_path_factory):
    """A study with answers, and one participant who was deleted."""
    folder = tmp_path_factory.mktemp("taken")
    made = Records.create(folder / "study.sqlite", DESIGN, task_document(TASK))
    for i in range(6):
        person = made.join()
        for step, (kind, place) in enumerate(DESIGN.steps(i)[: 3 + i]):
            given = {"action": i % 4} if place in DESIGN.right else {}
            made.answer(person, step, {**given, "comment": "fine" if kind == "comments" else None})
    made.delete(3)
    made.close()
    assert os.listdir(folder) == ["study.sqlite"]
    return folder / "study.sqlite", exported(str(folder / "study.sqlite"), folder / "own")


def outcome(path, own, folder) -> str:
    """What an export of a changed file comes to: refused in one line, or the same as before."""
    shutil.rmtree(folder, ignore_errors=True)
    try:
        found = exported(str(path), folder)
    except DidactError as error:
        told = str(error)
    else:
        assert found == own, "the export is silently different"
        return "the same"
    assert told.isprintable()
    assert len(told) < 500
    return told


def test_flipped_bits_are_noticed_and_named(taken, tmp_path):
    """Bits of the file anywhere, and of what stands in its rows."""
    path, own = taken
    content, copy = path.read_bytes(), tmp_path / "study.sqlite"
    rng = stream(1, "flips")
    n, named = number(30, 1000), 0
    for at in rng.integers(8 * len(content), size=n).tolist():
        changed = bytearray(content)
        changed[at // 8] ^= 1 << at % 8
        copy.write_bytes(changed)
        told = outcome(copy, own, tmp_path / "out")
        named += "table " in told and "row" in told
    assert named > n / 20


def test_every_changed_lost_or_added_row_is_named(taken, tmp_path):
    path, own = taken
    values = ("7", "'x'", "NULL", "x'00'", "-1", "9e99", "1.5")
    tried = values[: number(2, len(values))]
    rows = {"participants": "number = 2", "answers": "participant = 2 AND step = 1"}
    for table, where in rows.items():
        for column in records_module.COLUMNS[table]:
            for value in tried:
                copy = Path(shutil.copy(path, tmp_path / "study.sqlite"))
                with suppress(sqlite3.IntegrityError), closing(sqlite3.connect(copy)) as database:
                    before = database.execute(f"SELECT * FROM {table}").fetchall()
                    database.execute(f"UPDATE {table} SET {column} = {value} WHERE {where}")
                    database.commit()
                    if before != database.execute(f"SELECT * FROM {table}").fetchall():
                        told = outcome(copy, own, tmp_path / "out")
                        assert f"table {table}, row " in told, (column, value)
        for change in (
            f"DELETE FROM {table} WHERE {where}",
            f"UPDATE about SET value = replace(value, '{table}', 'x')",
        ):
            copy = Path(shutil.copy(path, tmp_path / "study.sqlite"))
            with closing(sqlite3.connect(copy)) as database:
                database.execute(change)
                database.commit()
            assert "table " in outcome(copy, own, tmp_path / "out")


def with_digests(database) -> None:
    """Make all digests right again, as somebody can who wants to deceive."""
    total, counts = 0, {}
    for table, columns in records_module.COLUMNS.items():
        rows = database.execute(f"SELECT rowid, {', '.join(columns)} FROM {table}").fetchall()
        counts[table] = len(rows)
        for row, *values in rows:
            with suppress(ValueError, TypeError):
                digest = row_digest(table, values)
                total += int(digest, 16)
                database.execute(f"UPDATE {table} SET digest = ? WHERE rowid = ?", (digest, row))
    content = {**records_module.EMPTY, **counts, "joined": 6, "sum": f"{total % 2**256:064x}"}
    text = json.dumps(content)
    database.execute("UPDATE about SET value = ? WHERE name = 'content'", (text,))
    for name, value in database.execute("SELECT name, value FROM about").fetchall():
        digest = row_digest("about", (name, value))
        database.execute("UPDATE about SET digest = ? WHERE name = ?", (digest, name))


HOSTILE = {
    "view": "DROP TABLE answers; CREATE VIEW answers AS SELECT 1 AS participant",
    "endless view": "DROP TABLE about; CREATE VIEW about AS WITH RECURSIVE c(name, value, digest) "
    "AS (SELECT 'a', 'b', 'c' UNION ALL SELECT name || 'x', value, digest FROM c) SELECT * FROM c",
    "trigger": "CREATE TRIGGER t AFTER INSERT ON answers BEGIN DELETE FROM participants; END",
    "index": "CREATE INDEX i ON answers (abs(step))",
    "column": "ALTER TABLE answers ADD COLUMN more TEXT",
    "table": "CREATE TABLE more (x)",
    "no rows": "DELETE FROM about",
    "large": "UPDATE about SET value = printf('%.*c', 2000000, 'x') WHERE name = 'design'",
    "large text": "UPDATE answers SET comment = printf('%.*c', 2000000, 'x')",
    "many": "WITH RECURSIVE c(n) AS (SELECT 20 UNION ALL SELECT n + 1 FROM c LIMIT 3000) INSERT "
    "INTO answers SELECT n, n, 'x', 0, 0, 0, 0, 0, NULL, NULL, NULL, 0.0, 'x' FROM c",
    "family of files": "UPDATE about SET value = '{\"format\": \"didact.family/1\", \"members\": "
    "[\"/etc/passwd\"]}' WHERE name = 'subject'",
}  # fmt: skip


@pytest.mark.parametrize(("name", "right_digests"), crossed(HOSTILE, (True, False), one_in=2))
def test_hostile_contents_are_refused_in_one_line(
    taken, tmp_path, monkeypatch, name, right_digests
):
    monkeypatch.setattr(records_module, "MAX_VALUE", 1_000_000)
    copy = Path(shutil.copy(taken[0], tmp_path / "study.sqlite"))
    with closing(sqlite3.connect(copy)) as database:
        database.execute("PRAGMA ignore_check_constraints=ON")
        with suppress(sqlite3.Error):
            database.executescript(HOSTILE[name])
        if right_digests:
            with suppress(sqlite3.Error):
                with_digests(database)
        database.commit()
    uses = [lambda: simulate_study(str(copy), 3), lambda: staged(Records(copy))]
    if name != "family of files":  # exports and deletions do not need the world
        uses += [lambda: export_study(str(copy), str(tmp_path / "out"))]
        uses += [lambda: delete_participant(str(copy), 0)]
    for use in uses:
        with pytest.raises(DidactError) as refusal:
            use()
        assert str(refusal.value).isprintable()


def mutated(document, rng):
    """A JSON value with one part changed, taken away or put elsewhere."""
    if isinstance(document, dict | list) and document and rng.random() < 0.9:
        keys = list(document) if isinstance(document, dict) else range(len(document))
        key = keys[int(rng.integers(len(keys)))]
        made = copy_of(document)
        if rng.random() < 0.1:
            del made[key]
        else:
            made[key] = mutated(document[key], rng)
        return made
    others = (None, True, -1, 0, 1, 10**9, 10**400, 1.5, "", "x" * 30_000, "\0\n", [], {}, [[]])
    return others[int(rng.integers(len(others)))]


def test_mutations_of_designs_and_rows_are_refused_or_kept(taken, tmp_path):
    """Parts of what the file says of itself are changed, with digests that are right."""
    path, _ = taken
    rng, seen = stream(2, "mutations"), Counter()
    for _ in range(number(20, 10_000)):
        copy = Path(shutil.copy(path, tmp_path / "study.sqlite"))
        with closing(sqlite3.connect(copy)) as database:
            name = ("design", "subject", "content")[int(rng.integers(3))]
            query = "SELECT value FROM about WHERE name = ?"
            ((text,),) = database.execute(query, (name,))
            if rng.random() < 0.1:
                at = int(rng.integers(len(text)))
                text = text[:at] + text[at + 1 :]
            else:
                text = json.dumps(mutated(json.loads(text), rng))
            database.execute("UPDATE about SET value = ? WHERE name = ?", (text, name))
            digest = row_digest("about", (name, text))
            database.execute("UPDATE about SET digest = ? WHERE name = ?", (digest, name))
            database.commit()
        for use in (
            lambda copy=copy: export_study(str(copy), str(tmp_path / "out")),
            lambda copy=copy: staged(Records(copy, read_only=True)),
        ):
            try:
                use()
                seen["read"] += 1
            except DidactError as error:
                seen["refused"] += 1
                seen["broken"] += not str(error).isprintable()
        shutil.rmtree(tmp_path / "out", ignore_errors=True)
    assert seen["refused"] > seen["read"] / 2
    assert not seen["broken"]


def test_a_study_is_read_where_nothing_can_be_written(taken):
    folder, user = Path(tempfile.mkdtemp()), os.geteuid()
    copy = Path(shutil.copy(taken[0], folder / "study.sqlite"))
    copy.chmod(0o444)
    folder.chmod(0o555)
    try:
        if user == 0:  # who may write anywhere
            os.seteuid(65534)
        people = Records(copy, read_only=True).participants()
        assert os.listdir(folder) == ["study.sqlite"]
    finally:
        os.seteuid(user)
        folder.chmod(0o755)
        shutil.rmtree(folder)
    assert [person["participant"] for person in people] == [0, 1, 2, 4, 5]


def test_deleted_words_leave_no_trace(records):
    person = records.join()
    for step in range(len(DESIGN.steps(0))):
        words = {"comment": "very secret words"} if step == len(DESIGN.steps(0)) - 1 else {}
        records.answer(person, step, {"action": 0, **words})
    records.delete(0)
    for place in records.path.parent.iterdir():
        for words in (b"very secret words", person.secret.encode()):
            assert words not in place.read_bytes(), place


def test_a_killed_init_leaves_nothing_or_a_study(tmp_path):
    """SIGKILL at every call that opens, writes, flushes or renames."""
    for call in range(number(8, 40)):
        path = tmp_path / f"{call}.sqlite"
        child = os.fork()
        if not child:
            killed_at(call)
            Records.create(path, DESIGN, task_document(TASK))
            os._exit(0)
        os.waitpid(child, 0)
        if path.exists():
            Records(path).close()
            assert Records(path).design == DESIGN


CHANGING = {"open", "os.rename", "os.remove", "os.link", "ctypes.dlsym", "sqlite3.connect"}


def killed_at(call: int) -> None:
    """Kill this process at so many of its calls that change files."""
    count = 0

    def hook(event, arguments):
        nonlocal count
        if event in CHANGING:
            if count == call:
                os.kill(os.getpid(), signal.SIGKILL)
            count += 1

    sys.addaudithook(hook)


def test_of_two_programs_one_makes_the_study(tmp_path):
    for number_of in range(number(3, 100)):
        path, children = tmp_path / f"{number_of}.sqlite", []
        for _ in range(2):
            child = os.fork()
            if not child:
                try:
                    Records.create(path, DESIGN, task_document(TASK))
                    os._exit(0)
                except DidactError:
                    os._exit(2)
            children.append(child)
        codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
        assert sorted(codes) == [0, 2]
        Records(path).close()


def test_two_writers_lose_nothing(tmp_path):
    """Two programs let people join and answer at the same time."""
    path, n = tmp_path / "study.sqlite", number(5, 100)
    Records.create(path, DESIGN, task_document(TASK)).close()
    children = []
    for _ in range(2):
        child = os.fork()
        if not child:
            with suppress(BaseException):
                own = Records(path)
                for _ in range(n):
                    own.answer(own.join(), 0, {})
                os._exit(0)
            os._exit(1)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0]
    both = Records(path)
    assert [row["participant"] for row in both.participants()] == list(range(2 * n))
    assert len(both.answers()) == 2 * n
    both.close()


def test_a_damaged_log_of_a_killed_server_loses_nothing(tmp_path):
    """What was acknowledged is in the file itself too; its log is what a kill leaves beside it."""
    path, folder = tmp_path / "study.sqlite", tmp_path / "damaged"
    Records.create(path, DESIGN, task_document(TASK)).close()
    child = os.fork()
    if not child:
        own = Records(path)
        for _ in range(4):
            own.answer(own.join(), 0, {})
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    log, rng = Path(f"{path}-wal").read_bytes(), stream(3, "log")
    content = path.read_bytes()
    whole = Records(path, read_only=True).answers()
    assert len(whole) == 4
    for at in rng.integers(8 * len(log), size=number(10, 300)).tolist():
        folder.mkdir()
        changed = bytearray(log)
        changed[at // 8] ^= 1 << at % 8
        (folder / path.name).write_bytes(content)
        (folder / f"{path.name}-wal").write_bytes(changed)
        with suppress(DidactError):
            assert Records(folder / path.name, read_only=True).answers() == whole
        shutil.rmtree(folder)


def test_mutations_of_bytes_are_noticed(taken, tmp_path):
    """Parts are cut off, overwritten, doubled, put elsewhere, or taken from another study."""
    path, own = taken
    content, copy, rng = path.read_bytes(), tmp_path / "study.sqlite", stream(4, "bytes")
    seen = Counter()
    for _ in range(number(20, 3000)):
        changed = bytearray(content)
        for _ in range(int(rng.integers(1, 4))):
            at, to = sorted(rng.integers(len(changed), size=2).tolist())
            at, to = (at, min(to, at + 200)) if rng.random() < 0.7 else (at // 4096 * 4096, to)
            elsewhere = int(rng.integers(len(changed)))
            match int(rng.integers(5)):
                case 0:
                    del changed[at:]
                case 1:
                    changed[at:to] = bytes(to - at)
                case 2:
                    changed[at:to] = rng.bytes(to - at)
                case 3:
                    changed[elsewhere : elsewhere + to - at] = changed[at:to]
                case 4:
                    del changed[at:to]
            if not changed:
                break
        copy.write_bytes(changed)
        told = outcome(copy, own, tmp_path / "out")
        seen["the same" if told == "the same" else "refused"] += 1
    assert seen["refused"] > seen["the same"]
