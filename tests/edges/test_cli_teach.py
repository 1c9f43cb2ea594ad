"""`didact teach` and `didact check` as a person or a script meets them."""

import json
import os
import re
from fractions import Fraction

import gymnasium
import pytest

from didact.teaching import load_lesson, register_teacher
from didact.worlds import make, worlds
from tests.command_line import Terminal, in_own_process, refused


@pytest.fixture
def lesson(didact, tmp_path):
    """A complete lesson for the six cells, and where it is."""
    path = tmp_path / "lesson.json"
    assert didact("teach", "six-cell", "--out", path).code == 0
    return path


def newest(name: str) -> str:
    """The newest version of an environment that is installed, as Taxi-v4."""
    versions = [s.id for s in gymnasium.registry.values() if s.id.startswith(f"{name}-v")]
    return max(versions, key=lambda found: int(found.rsplit("v", 1)[1]))


# Teach


@pytest.mark.slow
def test_taxi_needs_one_demonstration(didact):
    taxi = newest("Taxi")
    short = didact("teach", taxi)
    assert (short.code, short.err) == (0, "")
    assert short.verdict == (f"{taxi}: 1 state-action pair is enough. Proof verified.")
    assert "400 non-terminal reachable states, 300 start states" in short.told
    answer = didact("teach", taxi, "--no-trim")
    assert answer.verdict == (
        f"{taxi}: 1 demonstration (18 state-action pairs) is enough. Proof verified."
    )
    whole = didact("teach", taxi, "--no-trim", "--details")
    assert "then dropoff in row 1, column 1; passenger in taxi; to R " in whole.told


def test_a_lesson_is_drawn_and_told_in_words(didact):
    answer = didact("teach", "six-cell")
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.splitlines() == [
        "six-cell: 1 demonstration (4 state-action pairs) is enough.",
        "  Proof verified; 5 non-terminal reachable states, 5 start states.",
        "",
        "  w ◎  g    w ↓",
        "  w ↑  w ←  w ←",
        "  reward by feature:   w  white: -1   g  grey: -10",
        "",
        "  cost: 1 demonstration, proved fewest",
        "  lower bound: 1: no lesson of allowed demonstrations costs less",
        "  closed: it also holds for learners that plan for themselves",
        "  smallest Q-value gap it relies on: 0.5905",
        "  --details: all steps, half-spaces, the checker's words",
    ]
    whole = didact("teach", "six-cell", "--details").out.splitlines()
    assert whole[:11] == answer.out.splitlines()[:11]
    assert "    1: a step on white is never a gain" in whole
    assert "    1: one step on grey costs at least 2.54 times a step on white" in whole
    assert any(line.startswith("  checker: proved: 1 demonstrations (4 pairs)") for line in whole)


def test_demonstrations_are_numbered_on_one_grid(didact):
    lines = didact("teach", "random-grid", "--horizon", 1).out.splitlines()
    drawn = "\n".join(lines[3:12])
    numbers = sorted(map(int, re.findall(r"[↑↓←→](\d+)", drawn)))
    n = len(numbers)
    assert numbers == list(range(1, n + 1))
    assert lines[12] == f"  ↑{n}: a step of demonstration {n}"
    assert lines[0].endswith(f" {n} state-action pairs are enough.")


def test_starts_decide_what_can_be_taught(didact):
    answer = didact("teach", "six-cell", "--starts", "4")
    assert (answer.code, answer.err) == (3, "")
    assert answer.verdict == (
        "six-cell: NOT taught: 1 demonstration (2 state-action pairs) leaves 1 of 2 "
        "constraints open. Proof verified."
    )
    assert "open: down against left in row 1, column 3 (not reachable)" in answer.told
    assert "may lose 3.68" in answer.told
    told = didact("teach", "six-cell", "--starts", "4", "--details").told
    assert "open: one step on grey costs" in told
    assert re.search(r"weights that fit all of it and are wrong: .* loses up to 3\.68", told)
    assert "plan for themselves" not in told
    assert didact("teach", "six-cell", "--starts", "2,4").code == 0


def test_a_budget_is_kept_and_what_it_costs_is_said(didact):
    whole = didact("teach", "random-grid", "--seed", 1, "--horizon", 1)
    assert whole.code == 0
    assert "14 state-action pairs are enough" in whole.verdict
    part = didact("teach", "random-grid", "--seed", 1, "--horizon", 1, "--budget", 5)
    assert part.code == 3
    assert re.search(
        r"NOT taught: 5 state-action pairs leave \d+ of 16 constraints open", part.verdict
    )
    assert "(budget)" in part.out


def test_floats_are_said_to_prove_nothing(didact):
    answer = didact("teach", "six-cell", "--arithmetic", "float")
    assert answer.code == 0
    assert answer.verdict.endswith("is enough. Decided in floats, not proved.")


def test_nothing_to_show(didact, tmp_path):
    """One action: whatever the reward, there is nothing to choose."""
    task = {
        "format": "didact.task/1", "name": "rail", "n_states": 2, "n_actions": 1,
        "transitions": [[0, 0, 1, 1], [1, 0, 0, 1]], "features": [[1], [0]], "weights": [1],
        "discount": 0.5,
    }  # fmt: skip
    (tmp_path / "rail.json").write_text(json.dumps(task))
    answer = didact("teach", tmp_path / "rail.json")
    assert (answer.code, answer.err) == (0, "")
    assert answer.verdict.endswith("nothing needs to be shown. Proof verified.")


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


def test_options_reach_the_teacher(didact, monkeypatch):
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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "nowhere"),
        (["six-cell", "--teacher", "scott"], "no teacher is called 'scott'"),
        (["six-cell", "--starts", "a"], "--starts must read 0,3,7; it is 'a'"),
        (["six-cell", "--starts", ""], "--starts must read"),
        (["six-cell", "--starts", "99"], "starts must be from 0 to 5; it is 99"),
        (["six-cell", "--starts", "-1"], "starts must be from 0 to 5; it is -1"),
        (
            ["six-cell", "--starts", "0"],
            "starts must not be terminal; state 0 (row 1, column 1) is",
        ),
        (["six-cell", "--budget", "0"], "budget"),
        (["six-cell", "--horizon", "0"], "horizon"),
        (["six-cell", "--cost", "time"], "cost"),
        (["six-cell", "-t", "n=1"], "teacher 'exact' has no option 'n'"),
        (["six-cell", "-t", "n"], "must read NAME=VALUE"),
        (["six-cell", "-t", "starts=1"], "'starts' is not an option of a teacher"),
        (["six-cell", "-t", "horizon=1"], "'horizon' is not an option of a teacher"),
        (["six-cell", "-t", "bec=1"], "'bec' is not an option of a teacher"),
        (["six-cell", "--teacher", "uvm", "-t", "threshold=low"], "threshold must be a number"),
        (["six-cell", "--teacher", "uvm", "-t", "n_samples=-5"], "n_samples must be"),
        (["six-cell", "--teacher", "exact", "-t", "time_limit=soon"], "time_limit must be"),
        (["six-cell", "--teacher", "random", "-t", "n=many"], "n must be a whole number"),
        (["six-cell", "--out", "/nowhere/at/all.json"], "cannot be written"),
        (["six-cell", "--seed", "99999999999999999999999"], "seed"),
    ],
)
def test_bad_input_is_one_line_and_code_2(didact, arguments, message):
    refused(didact("teach", *arguments), message)


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


def test_a_lesson_passes_its_own_check(didact, lesson):
    answer = didact("check", "six-cell", lesson)
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.splitlines() == [
        "six-cell: 1 demonstration teaches it.",
        "  closed: it also holds for learners that plan for themselves",
    ]
    proved = didact("check", "six-cell", lesson, "--proof")
    assert (proved.code, proved.verdict) == (
        0, "six-cell: 1 demonstration teaches it. Proof verified."
    )  # fmt: skip


def test_demonstrations_alone_are_enough(didact, tmp_path):
    path = tmp_path / "shown.json"
    for content in ([[[3, 0]]], {"demonstrations": [[[3, 0]]]}):
        path.write_text(json.dumps(content))
        answer = didact("check", "six-cell", path, "--proof")
        assert answer.code == 3
        assert answer.verdict == "six-cell: 1 demonstration does NOT teach it. Proof verified."
        whole = didact("check", "six-cell", path, "--details")
        assert "weights that fit all of it and are wrong" in whole.told
    path.write_text(json.dumps([[[3, 0]], [[2, 1]]]))
    assert didact("check", "six-cell", path).verdict == "six-cell: 2 demonstrations teach it."


def test_a_suboptimal_action_is_named_with_what_contradicts_it(didact, tmp_path):
    path = tmp_path / "shown.json"
    path.write_text(json.dumps([[[2, 1], [5, 2], [4, 2], [3, 0]], [[1, 1]]]))
    answer = didact("check", "six-cell", path, "--proof", "--details")
    assert (answer.code, answer.err) == (3, "")
    assert answer.verdict == (
        "six-cell: 2 demonstrations, 1 wrong step of 5: the right steps alone teach it. "
        "Proof verified."
    )
    assert (
        "demonstration 2, step 1: down in row 1, column 2 is not optimal, left is better by 1.54; "
        "it contradicts what is shown elsewhere: down in row 1, column 3"
    ) in answer.told
    assert answer.told.endswith(
        "checker: proved: 1 demonstrations (4 pairs) teach 'six-cell' (scope reachable): "
        "4 directions of 5 states follow"
    )
    told = json.loads(didact("check", "six-cell", path, "--json").out)
    assert told["teaches"] is False
    assert told["wrong"][0]["contradicted_by"] == [[2, 1]]
    assert (told["right_teaches"], told["n_steps"]) == (True, 5)
    assert told["wrong"][0]["gap"] == pytest.approx(float(Fraction(told["wrong"][0]["exact_gap"])))
    assert told["segments"] == [{"demonstration": 0, "step": 0, "n_steps": 4}]
    path.write_text(json.dumps([[[2, 2], [1, 2]]]))
    answer = didact("check", "six-cell", path, "--proof")
    assert (answer.code, answer.verdict) == (
        3,
        "six-cell: 1 demonstration, 1 wrong step of 2: the right steps alone do NOT teach it. "
        "Proof verified.",
    )
    whole = didact("check", "six-cell", path, "--details")
    assert "weights that fit the right steps and are wrong" in whole.told


def test_check_as_json(didact, lesson):
    answer = didact("check", "six-cell", lesson, "--json", "--proof")
    told = json.loads(answer.out)
    assert (answer.code, told["teaches"], told["closed"], told["n_open"]) == (0, True, True, 0)
    assert told["verified"].startswith("proved: 1 demonstrations (4 pairs) teach")
    assert told["proof"]["format"] == "didact.proof/1"


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


def test_a_partial_lesson_is_checked_with_its_proof(didact, tmp_path):
    """It holds decimals (the loss), which the checker must be given as they stand."""
    path = tmp_path / "lesson.json"
    assert didact("teach", "six-cell", "--starts", 4, "--out", path).code == 3
    answer = didact("check", "six-cell", path, "--proof")
    assert (answer.code, answer.err) == (3, "")
    assert answer.verdict == "six-cell: 1 demonstration does NOT teach it. Proof verified."


def test_a_lesson_for_all_states_is_judged_as_such(didact, tmp_path):
    path = tmp_path / "lesson.json"
    world = ["ball-sorting", "-p", "starts=9"]
    assert didact("teach", *world, "--scope", "all", "--out", path).code in (0, 3)
    checked = json.loads(didact("check", *world, path, "--proof", "--json").out)
    assert checked["proof"]["scope"] == "all"
    narrow = didact("check", *world, path, "--scope", "reachable", "--json")
    assert json.loads(narrow.out)["proof"]["scope"] == "reachable"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot be read: No such file"),
        ("", "must be JSON"),
        ("{", "must be JSON"),
        ("[[[0, 1]", "must be JSON"),
        ("3", "demonstrations"),
        ('{"format": "didact.lesson/1"}', "demonstrations"),
        ("[[[9, 0]]]", "demonstration 1, step 1: state must be from 0 to 5; it is 9"),
        ("[[[2, 9]]]", "demonstration 1, step 1: action must be from 0 to 3; it is 9"),
        ("[[[0, 1]]]", "demonstration 1, step 1: state 0 (row 1, column 1) is terminal"),
        ("[[[2, 1], [3, 0]]]", "state 3 (row 2, column 1) cannot follow down in row 1, column 3"),
        ("[[[2.5, 1]]]", "demonstration 1: the task does not say what its observations mean"),
        ("[[2, 1]]", "demonstration 1"),
        ("[[]]", "at least one"),
        ('[["ab"]]', "demonstration 1"),
    ],
)
def test_bad_files_are_one_line_and_code_2(didact, tmp_path, content, message):
    path = tmp_path / "shown.json"
    if content is not None:
        path.write_text(content)
    refused(didact("check", "six-cell", path), message)


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


def test_the_way_out_is_told_to_machines_too_and_by_check(didact, tmp_path):
    answer = didact("teach", "FrozenLake-v1", "--json")
    told = json.loads(answer.out)
    assert (answer.code, told["status"]) == (3, "partial")
    assert told["way_out"] == {"starts": [0, 3], "added": [3], "n_demonstrations": 1}
    assert "way_out" not in json.loads(didact("teach", "six-cell", "--json").out)
    path = tmp_path / "lesson.json"
    path.write_text(answer.out)
    document = json.loads(didact("check", "FrozenLake-v1", path, "--json").out)
    assert document["way_out"] == {"starts": [3], "added": [3], "n_demonstrations": 1}
    said = didact("check", "FrozenLake-v1", path).told
    assert (
        "with 1 more demonstration that begins in row 1, column 4, they teach it, checked" in said
    )


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
