"""`didact teach` and `didact check` as a person or a script meets them."""

import json
import os
import re
from fractions import Fraction

import pytest

from didact.report.words.lessons import number_words
from didact.teaching import load_lesson, register_teacher
from didact.worlds import make, worlds
from tests.command_line import Terminal, in_own_process, refused


@pytest.fixture
def lesson(didact, tmp_path):
    """A complete lesson for the six cells, and where it is."""
    path = tmp_path / "lesson.json"
    assert didact("teach", "six-cell", "--out", path).code == 0
    return path


# Teach


def test_demonstrations_are_numbered_on_one_grid(didact):
    lines = didact("teach", "random-grid", "--horizon", 1).out.splitlines()
    drawn = "\n".join(lines[3:12])
    numbers = sorted(map(int, re.findall(r"[↑↓←→](\d+)", drawn)))
    n = len(numbers)
    assert numbers == list(range(1, n + 1))
    assert lines[12] == f"  ↑{n}: a step of demonstration {n}"
    assert lines[0].endswith(f" {n} state-action pairs are enough.")


@pytest.mark.parametrize("teacher", ["scot", "scot-redundant", "exact", "uvm", "random"])
def test_json_is_the_lesson_file(didact, tmp_path, teacher):
    path = tmp_path / "lesson.json"
    answer = didact("teach", "uvm-failure", "--teacher", teacher, "--json", "--out", path)
    assert answer.err == ""
    assert answer.out.count("\n") == 1
    printed = json.loads(answer.out)
    assert printed == json.loads(path.read_text())
    assert printed["format"] == "didact.lesson/1"
    assert answer.code == {"complete": 0, "partial": 3}[printed["status"]]
    assert load_lesson(path).document() == printed


def test_out_is_mentioned_and_loads(didact, tmp_path):
    path = tmp_path / "lesson.json"
    answer = didact("teach", "chain", "--out", path)
    assert answer.out.endswith(f"\n  saved as {path}\n")
    assert load_lesson(path).is_complete


def test_options_reach_the_teacher(didact, own_registries):
    path = ["teach", "random-grid", "--seed", 2, "--horizon", 1, "--json"]
    drawn = json.loads(didact(*path, "--teacher", "random", "-t", "n=7").out)
    assert (drawn["settings"]["n"], drawn["settings"]["seed"]) == (7, 2)
    assert len(drawn["demonstrations"]) <= 7
    volume = json.loads(
        didact(*path, "--teacher", "uvm", "-t", "n_samples=1000", "-t", "threshold=0.2").out
    )
    assert volume["volumes"][-1] <= 0.2 < volume["volumes"][-2]
    closed = json.loads(didact(*path, "--closed").out)
    assert closed["closed"]
    cheap = json.loads(didact("teach", "six-cell", "--cost", "pairs", "--json").out)
    assert cheap["cost"] == cheap["n_pairs"]
    sampled = json.loads(didact("teach", "chain", "--rollouts", 2, "--scope", "all", "--json").out)
    assert sampled["settings"]["rollouts"] == 2
    register_teacher("mine")(lambda problem, rng: [0])
    assert json.loads(didact(*path, "--teacher", "mine").out)["settings"]["teacher"] == "mine"
    register_teacher("worse")(lambda problem, rng: [10**9])
    refused(didact(*path, "--teacher", "worse"), "teacher 'worse' must return")


def test_an_interrupt_leaves_no_file(didact, tmp_path, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    path = tmp_path / "lesson.json"
    with monkeypatch.context() as patch:
        patch.setattr("didact.files.json.os.fsync", interrupted)
        answer = didact("teach", "six-cell", "--out", path)
        assert (answer.code, answer.out) == (130, "")
        assert answer.err.strip() == "didact: interrupted"
        assert list(tmp_path.iterdir()) == []
    path.write_text(old := '{"format": "didact.lesson/1"}')
    with monkeypatch.context() as patch:
        patch.setattr("didact.files.json.os.replace", interrupted)
        assert didact("teach", "six-cell", "--out", path).code == 130
    assert [p.name for p in tmp_path.iterdir()] == ["lesson.json"]
    assert path.read_text() == old


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
@pytest.mark.parametrize("arguments", [["teach", "chain"], ["teach", "chain", "--json"]])
def test_an_output_that_cannot_be_written_is_one_line(arguments):
    with open("/dev/full", "w") as full:
        answer = in_own_process(*arguments, out=full)
    refused(answer, "didact: the output cannot be written: No space left on device\n", code=1)


def test_any_encoding_can_carry_the_answer(tmp_path, lesson):
    text = (tmp_path / "task.json").as_posix()
    make("six-cell").save(text)
    task = json.loads((tmp_path / "task.json").read_text())
    (tmp_path / "task.json").write_text(json.dumps({**task, "name": "größe"}))
    for arguments in (["teach", text], ["check", text, str(lesson)]):
        answer = in_own_process(*arguments, environment={"PYTHONIOENCODING": "ascii"})
        assert (answer.code, answer.err) == (0, "")
        assert answer.out.isascii()
        assert answer.out.startswith("gr")


def test_a_terminal_gets_an_animation_and_the_same_verdict():
    """Each frame is drawn over the last; what remains is what a file would get."""
    terminal = Terminal("teach", "six-cell")
    assert terminal.end() == 0
    assert "1 demonstration (4 state-action pairs) is enough." in terminal.text
    assert terminal.text.count("◎") >= 4
    assert "Traceback" not in terminal.text


# Check


def tampered(path, change) -> None:
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))


def set_multiplier(document) -> None:
    document["proof"]["multipliers"][0][0][1] = "12345/7"


def drop_a_pair(document) -> None:
    document["demonstrations"][0].pop()


def claim_more(document) -> None:
    document["n_pairs"] = 1


def change_counts(document) -> None:
    document["proof"]["counts"][2][0] = "1"


def claim_another_optimum(document) -> None:
    document["proof"]["optimal"][2] = [2]


@pytest.mark.parametrize(
    "change", [set_multiplier, drop_a_pair, claim_more, change_counts, claim_another_optimum]
)
def test_a_tampered_proof_is_code_4(didact, lesson, change):
    tampered(lesson, change)
    refused(didact("check", "six-cell", lesson, "--proof"), "the proof failed: ", code=4)
    refused(didact("check", "six-cell", lesson, "--proof", "--json"), "the proof failed: ", code=4)
    assert didact("check", "six-cell", lesson).code in (0, 3)


def test_a_lesson_of_another_world_is_code_4(didact, lesson):
    answer = didact("check", "six-cell", lesson, "-p", "weights=-1,-11", "--proof")
    assert answer.code == 0
    other = didact("check", "six-cell", lesson, "-p", "discount=0.8", "--proof")
    refused(other, "the proof failed: ", code=4)


def test_a_lesson_for_all_states_is_judged_as_such(didact, tmp_path):
    path = tmp_path / "lesson.json"
    world = ["ball-sorting", "-p", "starts=9"]
    assert didact("teach", *world, "--scope", "all", "--out", path).code in (0, 3)
    checked = json.loads(didact("check", *world, path, "--proof", "--json").out)
    assert checked["proof"]["scope"] == "all"
    narrow = didact("check", *world, path, "--scope", "reachable", "--json")
    assert json.loads(narrow.out)["proof"]["scope"] == "reachable"


def test_every_world_can_be_taught_from_the_command_line(didact, tmp_path):
    """What is printed as taught is also what `check` says."""
    for name in worlds():
        if name in ("grid", "gymnasium"):
            continue
        path = tmp_path / f"{name}.json"
        answer = didact("teach", name, "--horizon", 1, "--out", path)
        assert answer.code in (0, 3), name
        assert answer.err == ""
        checked = didact("check", name, path, "--proof")
        assert checked.code == answer.code
        assert checked.verdict.endswith("Proof verified.")


def test_what_is_only_tested_is_never_called_proved_and_is_code_3(didact, monkeypatch):
    monkeypatch.setattr("didact.teaching.loss.cells.IN_SIGHT", 0.0)
    world = ("teach", "random-grid", "-p", "size=4", "-p", "n_features=3", "--seed", "1")
    tested = didact(*world, "--horizon", "1", "--loss", "1%", "--learner-model", "planner")
    assert tested.code == 3
    assert "ONLY TESTED" in tested.verdict
    told = tested.out.lower()
    assert "proved" not in told
    assert "proof" not in told
    assert "every class" not in told
    visited = didact(*world, "--horizon", "1", "--loss", "1%", "--learner-model", "half-spaces")
    assert visited.code == 0
    assert "learners of half-spaces: every class of policies that fits was visited" in visited.told
    listed = json.loads(didact(*world, "--horizon", "1", "--loss", "1%", "--json").out)
    assert listed["within"]["status"] == "tested"
    frontier = didact("frontier", *world[1:], "--horizon", "1", "--learner-model", "planner")
    assert frontier.code == 3
    assert "that is not proved" in frontier.out


def test_expected_attempts_are_a_cost_of_teach(didact):
    few = json.loads(didact("teach", "garnet", "--teacher", "exact", "--json").out)
    likely = json.loads(
        didact("teach", "garnet", "--teacher", "exact", "--cost", "attempts", "--json").out
    )
    assert likely["settings"]["cost"] == "attempts"
    assert likely["n_demonstrations"] >= few["n_demonstrations"]
    spent, other = (sum(1 / p for p in map(float, x["probabilities"])) for x in (likely, few))
    assert spent == pytest.approx(float(Fraction(likely["cost"])))
    assert spent <= other


def test_whole_costs_are_printed_in_full_and_others_to_four_digits():
    assert [number_words(cost) for cost in (12345, 2.0, 0.123456)] == ["12345", "2", "0.1235"]
