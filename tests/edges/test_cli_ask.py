"""`didact ask` as a script and a person meet it: tables, files, keys, lines, interruptions."""

import importlib
import json
import re
import shlex
import signal

import pytest

from didact.cli.person import action_keys
from didact.learners import register_learner
from didact.mdp import load_demonstrations
from didact.report.page.plain import wishes
from didact.worlds import gridworld, make
from tests.active.weighing import NAME, weighing
from tests.command_line import Terminal

learn_module = importlib.import_module("didact.learners.learn")

SMALL = ("random-grid", "-p", "size=4", "-p", "n_features=3", "--seed", "3")


@pytest.fixture
def didact(didact, own_registries):
    """Run a command with a quick learner at hand."""
    register_learner(NAME)(weighing)
    return didact


# The optimal policy answers


@pytest.mark.parametrize("columns", [40, 60, 120])
def test_tables_fit_the_terminal(didact, columns):
    settings = ("--n-queries", 2, "--horizon", 1, "--learner", NAME)
    answer = didact("ask", *SMALL, *settings, columns=columns)
    assert answer.code == 0
    assert max(map(len, answer.out.splitlines()[1:])) <= columns


def test_machines_get_the_document_and_files_hold_it(didact, tmp_path):
    path = tmp_path / "run.json"
    settings = ("--n-queries", 2, "--horizon", 2, "--strategy", "scot", "--learner", NAME)
    answer = didact("ask", *SMALL, *settings, "--json", "--out", path)
    assert (answer.code, answer.err) == (0, "")
    document = json.loads(answer.out)
    assert document == json.loads(path.read_text())
    assert document["format"] == "didact.run/1"
    assert document["settings"]["strategy"] == "scot"
    again = didact("ask", *SMALL, *settings, "--json")
    assert json.loads(again.out) == document
    checked = didact("check", *SMALL, path)
    assert checked.code in (0, 3)


def test_options_reach_strategy_learner_and_loop(didact):
    answer = didact(
        "ask", *SMALL, "--n-queries", 9, "--horizon", 1, "--strategy", "max-entropy", "-s",
        "n_bins=4", "--states", "1,2,5", "--repeat", "--sure", "0.99", "--learner", NAME,
        "--confidence", 7, "-l", "n_points=50", "--json",
    )  # fmt: skip
    assert answer.code == 0
    document = json.loads(answer.out)
    wanted = {"n_bins": 4, "repeat": True, "sure": 0.99, "confidence": 7.0, "n_points": 50}
    assert {name: document["settings"][name] for name in wanted} == wanted
    assert {step["state"] for step in document["steps"][1:]} <= {1, 2, 5}


# A person answers, line by line


def person(didact, out, typed, *arguments):
    settings = ("--learner", NAME, "--n-queries", 3, "--sure", 1, "--person", "--out", out)
    return didact("ask", *SMALL, *settings, *arguments, typed=typed)


def test_lines_of_text_answer_and_a_wrong_one_asks_again(didact, tmp_path):
    out = tmp_path / "mine.json"
    answer = person(didact, out, "jump\n\nUP\nr\n2\n")
    assert (answer.code, answer.err) == (0, "")
    keys = "u up ↑, d down ↓, l left ←, r right →; z undoes, q stops"
    assert f"'jump' is no action here: {keys}" in answer.out
    assert answer.out.count("question 1 of 3: what to do in ") == 1
    assert "what to do in row " in answer.out
    assert re.search(r"after 1 answer: sure of \d+ of 16 states; ", answer.out)
    shown = load_demonstrations(out, make("random-grid", size=4, n_features=3, seed=3).mdp)
    assert [d[0][1] for d in shown] == [0, 3, 2]
    document = json.loads(out.read_text())
    assert (document["format"], document["ended"]) == ("didact.run/1", "queries")
    assert document["steps"][-1]["policy_loss"] is None


@pytest.mark.parametrize("end", ["", "q\n", "QUIT\n"])
def test_the_end_of_input_or_q_stops_and_keeps_what_was_said(didact, tmp_path, end):
    out = tmp_path / "mine.json"
    answer = person(didact, out, f"down\n{end}")
    assert answer.code == 0
    assert "Whoever answers stopped." in answer.out
    document = json.loads(out.read_text())
    assert (document["ended"], document["n_queries"]) == ("stopped", 1)


def test_longer_answers_follow_the_world_and_may_be_cut_short(didact, tmp_path):
    out = tmp_path / "mine.json"
    answer = person(didact, out, "r\nd\nl\nu\nq\n", "--horizon", "3", "--states", "0,5,10")
    assert ", step 3 of 3: " in answer.out
    first, second = json.loads(out.read_text())["demonstrations"]
    state = first[0][0]
    assert first == [[state, 3], [state + 1, 1], [state + 5, 2]]
    assert len(second) == 1
    assert second[0][1] == 0


def test_a_session_goes_on_from_its_file_and_never_overwrites_another(didact, tmp_path):
    out = tmp_path / "mine.json"
    person(didact, out, "d\nr\nq\n")
    before = out.read_bytes()
    refused = person(didact, out, "d\n")
    assert (refused.code, refused.out) == (2, "")
    assert (
        f"exists already; go on with --demonstrations {out}, or choose another --out" in refused.err
    )
    assert out.read_bytes() == before
    answer = person(didact, out, "l\nq\n", "--demonstrations", out)
    assert answer.code == 0
    shown = json.loads(out.read_text())["demonstrations"]
    assert [d[0][1] for d in shown] == [1, 3, 2]
    assert len({d[0][0] for d in shown}) == 3
    assert "after 2 from before" in answer.out
    assert "question 3 of 5: what to do in " in answer.out


def test_a_session_says_what_to_aim_for_and_how_to_learn_from_it(didact, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    answer = person(didact, "mine.json", "d\nr\nq\n")
    task = make("random-grid", size=4, n_features=3, seed=3)
    assert answer.out.startswith("Say what is best in each place.")
    assert all(f"  {line}\n" in answer.out for line in wishes(task))
    command = answer.out.splitlines()[-1].partition("learn from all answers: ")[2]
    assert command == "didact learn random-grid mine.json -p size=4 -p n_features=3 --seed 3"
    learned = didact(*shlex.split(command)[1:], "--learner", NAME)
    assert learned.code == 0
    assert "after 2 pairs" in learned.out


def test_undo_takes_back_a_step_and_then_an_answer(didact, tmp_path):
    out = tmp_path / "mine.json"
    answer = person(didact, out, "z\nr\nz\nl\nu\nundo\nd\nq\n", "--horizon", "2")
    assert (answer.code, answer.err) == (0, "")
    assert "there is nothing to take back" in answer.out
    assert answer.out.count("taken back") == 2
    (shown,) = json.loads(out.read_text())["demonstrations"]
    assert [action for _, action in shown] == [1]


def test_undo_of_a_whole_answer_asks_the_same_question_again(didact, tmp_path):
    out = tmp_path / "mine.json"
    answer = person(didact, out, "d\nr\nz\nl\nu\n")
    shown = json.loads(out.read_text())["demonstrations"]
    assert [d[0][1] for d in shown] == [1, 2, 0]
    assert len({d[0][0] for d in shown}) == 3
    asked = re.findall(r"question (\d) of 3: what to do in row (\d), column (\d)", answer.out)
    assert [int(number) for number, *_ in asked] == [1, 2, 3, 2, 3]
    states = [4 * (int(row) - 1) + int(column) - 1 for _, row, column in asked]
    assert states[1::2] == [shown[1][0][0]] * 2


def test_machines_get_only_the_document_on_standard_output(didact, tmp_path):
    answer = person(didact, tmp_path / "mine.json", "d\nq\n", "--json")
    assert answer.code == 0
    assert json.loads(answer.out)["n_queries"] == 1
    assert answer.out.count("\n") == 1
    assert "what to do in" in answer.err


def test_sure_is_told_and_ends_the_session(didact, tmp_path, monkeypatch):
    """One action only: nothing is open from the start."""
    monkeypatch.chdir(tmp_path)
    rail = {
        "format": "didact.task/1", "name": "rail", "n_states": 2, "n_actions": 1,
        "transitions": [[0, 0, 1, 1], [1, 0, 0, 1]], "features": [[1, 0], [0, 1]],
        "weights": [1, 0], "discount": 0.5,
    }  # fmt: skip
    (tmp_path / "rail.json").write_text(json.dumps(rail))
    answer = didact("ask", "rail.json", "--person", "--learner", NAME, typed="")
    assert answer.code == 0
    assert "I am sure now what to do in every state." in answer.out
    assert "The learned policy is settled." in answer.out
    assert json.loads((tmp_path / "answers.json").read_text())["n_queries"] == 0


def test_worlds_that_are_no_grid_are_told_in_words(didact, tmp_path):
    out = tmp_path / "mine.json"
    settings = ("--person", "--learner", NAME, "--out", out)
    answer = didact("ask", "garnet", *settings, typed="9\n0\nq\n")
    assert answer.code == 0
    assert "'9' is no action here" in answer.out
    assert "  state " in answer.out


# What means which action


def test_keys_are_initials_numbers_names_and_arrows():
    keys = action_keys(make("six-cell").mdp)
    assert all(keys.is_undo(typed) for typed in ("z", "Z", "undo", "\x7f"))
    assert not keys.is_undo("u")
    for typed in ("u", "U", "up", " Up ", "0"):
        assert keys.action(typed) == 0
    assert [keys.action(d) for d in ("up", "down", "left", "right")] == [0, 1, 2, 3]
    assert [keys.action(x) for x in ("", "x", "4", "-1", "upp")] == [None] * 5
    assert keys.is_stop("q")
    assert keys.is_stop("Quit")
    assert not keys.is_stop("u")


def named(*names):
    from didact.mdp import MDP, Task, Transitions

    rows = [(0, a, 0, 1) for a in range(len(names))]
    mdp = MDP(Transitions.from_rows(rows, 1, len(names)), [[1]], "0.5", action_names=list(names))
    return action_keys(Task(mdp, [1]).mdp)


def test_equal_initials_leave_numbers_and_names():
    keys = named("south", "north", "stay")
    assert [keys.action(x) for x in ("s", "n", "0", "north", "stay", "down", "up")] == [
        None, None, 0, 1, 2, 0, 1,
    ]  # fmt: skip
    assert keys.words == "0 south ↓, 1 north ↑, 2 stay"


def test_an_action_that_begins_with_q_is_no_stop():
    keys = named("quiet", "loud")
    assert keys.action("q") == 0
    assert not keys.is_stop("q")
    assert keys.is_stop("quit")


def test_many_actions_are_typed_as_lines():
    assert not named(*[f"a{i}" for i in range(11)]).by_single_keys
    assert named(*[f"a{i}" for i in range(10)]).by_single_keys


def test_the_asked_cell_is_marked_also_in_worlds_with_walls():
    from rich.console import Console

    from didact.report.terminal.tables import draw_question
    from tests.active.beliefs import situation_of

    task = gridworld(["a#b", "bba"], weights={"a": 1, "b": 0}, discount="0.5")
    found = situation_of(task, [task.weights])
    console = Console(width=40)
    for state, place in ((0, (0, 0)), (1, (0, 2)), (4, (1, 2))):
        with console.capture() as captured:
            console.print(*draw_question(task, found, state, (), 40), sep="\n")
        lines = captured.get().splitlines()
        width = lines[0].index("█") - 2
        row, column = place
        assert lines[row][2 + column * width + 1] == "?"
        assert captured.get().count("?") == 1


def test_a_person_says_which_of_two_actions_is_better(didact, tmp_path):
    """One answer, one that is neither of the two, one taken back, and on from the file."""
    out = tmp_path / "mine.json"
    comparing = ("--comparisons", "--strategy", "random", "--learner", "max-entropy", "-l")
    settings = (*comparing, "penalty=1", "--person", "--out", out, "--n-queries", 3)
    asks = re.compile(r"which is better in row \d, column \d, (\w+) or (\w+)\?")
    first = didact("ask", "six-cell", *settings, typed="q\n")
    one, other = asks.search(first.out).groups()
    neither = ({"up", "down", "left", "right"} - {one, other}).pop()
    out.unlink()
    answer = didact("ask", "six-cell", *settings, typed=f"{neither}\n{one}\nz\n{other}\nq\n")
    assert (answer.code, answer.err) == (0, "")
    assert f"{neither} is not one of the two" in answer.out
    assert "taken back" in answer.out
    names = {"up": 0, "down": 1, "left": 2, "right": 3}
    (kept,) = json.loads(out.read_text())["items"]
    assert (kept["better"], kept["other"]) == (names[other], names[one])
    again = didact("ask", "six-cell", *settings, "--demonstrations", out, typed="q\n")
    assert "question 2 of 4" in again.out
    learned = didact("learn", "six-cell", out, "--learner", "ml-irl")
    assert "after 0 pairs and 1 answer" in learned.out


# A person at a terminal


def asking(folder, *settings) -> Terminal:
    """`didact ask --person` in a terminal of its own."""
    return Terminal("ask", "six-cell", "--person", *settings, folder=folder)


QUICK = ("--learner", "birl", "--n-steps", "400", "--n-chains", "2")


def test_arrow_keys_answer_in_a_terminal(tmp_path):
    terminal = asking(tmp_path, "--n-queries", "3", "--sure", "1", "--confidence", "1", *QUICK)
    terminal.until("question 1 of 3")
    terminal.press("\x1b[B")
    terminal.until("question 2 of 3")
    terminal.press("x")
    assert "'x' is no action here" in terminal.until("is no action here")
    terminal.until("q stops")
    terminal.press("\x1bOD")
    terminal.until("question 3 of 3")
    terminal.press("r")
    assert terminal.end() == 0
    assert "Traceback" not in terminal.text
    assert "All questions are asked." in terminal.text
    shown = json.loads((tmp_path / "answers.json").read_text())["demonstrations"]
    assert [d[0][1] for d in shown] == [1, 2, 3]


@pytest.mark.parametrize("how", ["ctrl-c", "sigint", "kill"])
def test_an_interrupted_session_loses_nothing(tmp_path, how):
    settings = ("--n-queries", "5", "--horizon", "3", "--sure", "1", "--states", "2,5", *QUICK)
    terminal = asking(tmp_path, *settings)
    terminal.until("question 1 of 5, step 1 of 3: what to do")
    for step in (2, 3):
        terminal.press("d")
        terminal.until(f"question 1 of 5, step {step} of 3: what to do")
    if how == "ctrl-c":
        terminal.press("\x03")
    else:
        terminal.process.send_signal(signal.SIGINT if how == "sigint" else signal.SIGKILL)
    assert terminal.end() == (-signal.SIGKILL if how == "kill" else 130)
    assert "Traceback" not in terminal.text
    if how != "kill":
        assert "didact: interrupted" in terminal.text
    (shown,) = json.loads((tmp_path / "answers.json").read_text())["demonstrations"]
    assert [action for _, action in shown] == [1, 1]
    assert len(list(tmp_path.iterdir())) == 1


def test_words_are_not_broken_at_a_terminal(tmp_path):
    terminal = asking(tmp_path, "--n-queries", "1", "--sure", "1", *QUICK)
    terminal.until("question 1 of 1")
    terminal.press("d")
    assert terminal.end() == 0
    begin = terminal.text.replace("\r", "").partition("question 1")[0]
    lines = [line.strip() for line in begin.splitlines()]
    assert max(map(len, lines)) <= 100
    words = " ".join(lines).split()
    assert "rather" in words
    for sentence in wishes(make("six-cell")):
        assert sentence in " ".join(words)


def test_ctrl_d_and_q_stop_at_a_terminal(tmp_path):
    for key in ("\x04", "q"):
        settings = ("--n-queries", "3", "--sure", "1", "--out", f"{ord(key)}.json", *QUICK)
        terminal = asking(tmp_path, *settings)
        terminal.until("question 1 of 3")
        terminal.press(key)
        assert terminal.end() == 0
        assert "Whoever answers stopped." in terminal.text


def test_states_with_long_names_are_named_and_other_columns_give_way(didact):
    asked = didact("ask", "Taxi-v4", "--n-steps", "50", "--n-chains", "2", "--n-queries", "3")
    assert asked.out.count("; passenger ") == 3
    assert "  state " not in asked.out
    assert max(map(len, asked.out.splitlines())) <= 80
