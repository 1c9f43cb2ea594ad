"""Records of a study: answers are kept once, in order, and forgotten when that is asked."""

import sqlite3
from dataclasses import replace

import pytest

from didact import make
from didact.errors import DidactError
from didact.mdp.files import task_document
from didact.studies.people.design import design_study
from didact.studies.people.records import Records

TASK = make("random-grid", size=6, n_features=2, seed=1)
DESIGN = design_study(TASK, n_questions=4, n_practice=1, comments=True)


@pytest.fixture
def records(tmp_path):
    made = Records.create(tmp_path / "study.sqlite", DESIGN, task_document(TASK))
    yield made
    made.close()


def test_a_participant_goes_on_where_they_were(records):
    joined = records.join()
    assert joined.condition == DESIGN.condition_of(0)
    for step, (kind, place) in enumerate(DESIGN.order_of(0)):
        asks = place in DESIGN.right
        given = {"action": DESIGN.right[place][0]} if asks else {"comment": "x"}
        assert records.answer(joined, step, given) == step + 1
        other = Records(records.path)
        assert other.find(joined.secret).n_done == step + 1
        other.close()
        assert kind in ("consent", "practice", "lesson", "test", "comments")
    kept = records.answers()
    assert [row["correct"] for row in kept if row["kind"] == "test"] == [1] * 4
    assert kept[-1]["comment"] == "x"


def test_what_is_sent_again_or_too_early_changes_nothing(records):
    joined = records.join()
    assert records.answer(joined, 0, {}) == 1
    assert records.answer(joined, 0, {}) == 1
    assert records.answer(joined, 3, {"action": 0}) == 1
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
