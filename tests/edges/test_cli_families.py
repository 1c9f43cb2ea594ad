"""`didact teach` and `didact check` with files of families."""

import json

import pytest

from didact.mdp import load_family
from didact.teaching import check, load_lesson
from tests.laws.test_family_classes import small_family


@pytest.fixture
def family(tmp_path):
    path = tmp_path / "family.json"
    small_family(0).save(path)
    return path


def test_a_family_is_taught_saved_and_checked(didact, family, tmp_path):
    lesson = tmp_path / "lesson.json"
    options = ("--teacher", "exact", "--horizon", "1", "--out", lesson)
    done = didact("teach", family, *options)
    assert (done.code, done.err) == (0, "")
    assert done.verdict.endswith("of 3 members: enough for all of them. Proof verified.")
    assert "proved fewest" in done.out
    again = didact("check", family, lesson, "--proof")
    assert (again.code, again.err) == (0, "")
    assert again.verdict.endswith("teach 3 members. Proof verified.")
    assert check(load_family(family), load_lesson(lesson)).teaches


def test_what_stays_open_is_told_with_its_member(didact, family, tmp_path):
    done = didact("teach", family, "--horizon", "1", "--budget", "1")
    assert done.code == 3
    assert "NOT taught" in done.verdict
    assert "  open: " in done.out
    assert " (budget)" in done.out
    shown = tmp_path / "shown.json"
    first = json.loads(didact("teach", family, "--horizon", "1", "--budget", "1", "--json").out)
    assert first["format"] == "didact.lesson/1"
    shown.write_text(json.dumps(first["demonstrations"]))
    checked = didact("check", family, shown)
    assert checked.code == 3
    assert checked.verdict.endswith("does NOT teach 3 members.")
    assert "open: " in checked.out


def test_a_wrong_step_is_told(didact, family, tmp_path):
    members = load_family(family)
    known = check(members, []).n_facets
    assert known > 0
    shown = tmp_path / "shown.json"
    shown.write_text(json.dumps([[0, [[0, action]]] for action in range(4)]))
    done = didact("check", family, shown)
    assert done.code == 3
    assert " in state 0 is not optimal, action " in done.out


def test_who_demonstrates_a_family_and_what_it_cannot_show(didact, family, tmp_path):
    lesson, shown = tmp_path / "lesson.json", tmp_path / "shown.json"
    didact("teach", family, "--lies", "1", "--horizon", "1", "--out", lesson)
    shown.write_text(json.dumps(json.loads(lesson.read_text("utf-8"))["demonstrations"]))
    for given in (lesson, shown):
        attacked = json.loads(didact("attack", family, given, "--json").out)
        assert attacked["survives"] == 1
        selected = json.loads(
            didact("select", given, "--task", family, "--lies", "1", "--json").out
        )
        assert (selected["survives"], selected["teaches"]) == (1, True)
        judged = didact("informativeness", family, given, "--json")
        assert json.loads(judged.out)["n_rewards"] == 1
        learned = didact("learn", family, given, "--lies", "1", "--n-steps", "200", "--json")
        assert len(json.loads(learned.out)["settings"]["forged"]) == len(
            json.loads(shown.read_text("utf-8"))
        )
    told = json.loads(didact("identify", family, "--change", "1/end=0:3", "--json").out)
    assert {"invisible", "tried", "confirmed"} <= set(told)
    gone = didact("attack", family, tmp_path / "missing.json")
    assert gone.code == 2
    assert gone.err.count("\n") == 1
