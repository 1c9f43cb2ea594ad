"""`didact exam`, `didact audit`, and other feedback in `teach` and `check`."""

import io
import json
import sys
from collections import Counter
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from didact.auditing import load_exam
from didact.mdp import MDP, Family, Task
from didact.proofcheck import check_proof
from tests.command_line import Answer, refused


def written(path, document):
    path.write_text(json.dumps(document))
    return path


def test_answers_may_cost_a_little(didact, tmp_path):
    answers = tmp_path / "answers.json"
    answers.write_text('["second", null]')
    for loss, code, word in (("1%", 3, "NOT DECIDED"), ("800%", 0, "PASSED")):
        done = didact("audit", "six-cell", "--agent", answers, "--loss", loss)
        assert (done.code, word in done.out) == (code, True)
        assert "percentages are of V* less V" in done.out


def test_an_exam_is_made_saved_and_written_as_a_sheet(didact, tmp_path):
    out, html = tmp_path / "exam.json", tmp_path / "exam.html"
    done = didact("exam", "six-cell", "--out", out, "--html", html)
    assert (done.code, done.err) == (0, "")
    assert done.verdict == "six-cell: 2 questions about comparisons, proved fewest."
    assert "key:" not in done.out
    questions = load_exam(out)
    assert json.loads(didact("exam", "six-cell", "--json").out) == questions.document()
    sheet, key = html.read_text(), (tmp_path / "exam-key.html").read_text()
    for question in questions.questions:
        assert question.says not in sheet
        assert question.says in key
    assert "6.715" not in sheet
    assert "no network" in sheet
    assert "key: second, left, by 2.786" in didact("exam", "six-cell", "--key").out


def test_an_exam_that_nobody_can_pass_says_so(didact):
    done = didact("exam", "Taxi-v4", "--ask", "actions", "--no-closed")
    assert done.code == 3
    assert "No agent can pass" in done.verdict
    assert "not closed" in done.out
    grid = ("random-grid", "-p", "size=9", "-p", "n_features=8", "--seed", "0")
    done = didact("exam", *grid, "--ask", "preferences")
    assert done.code == 3
    assert "cannot be asked: whether" in done.out


@pytest.mark.parametrize(
    ("weights", "code", "word"),
    [([-1, -10], 0, "PASSED"), ([-1, -2], 3, "FAILED"), (["-1", "-2.539"], 3, "FAILED")],
)
def test_weights_are_audited(didact, tmp_path, weights, code, word):
    path = written(tmp_path / "weights.json", weights)
    done = didact("audit", "six-cell", "--agent", path)
    assert (done.code, done.err) == (code, "")
    assert word in done.verdict
    found = json.loads(didact("audit", "six-cell", "--agent", path, "--json").out)
    assert found["verdict"] == word.lower().removesuffix("ed")


def test_policies_are_followed(didact, tmp_path):
    right = np.array([0, 2, 1, 0, 2, 2])
    np.save(tmp_path / "policy.npy", right)
    assert didact("audit", "six-cell", "--agent", tmp_path / "policy.npy").code == 0
    astray = written(tmp_path / "policy.json", [0, 2, 2, 0, 2, 2])
    done = didact("audit", "six-cell", "--agent", astray)
    assert done.code == 3
    assert "takes left; down is better by 6.715" in done.verdict
    assert didact("audit", "six-cell", "--agent", astray, "--within", "7").code == 0


def test_answers_are_graded(didact, tmp_path):
    answers = written(tmp_path / "answers.json", ["second", "second"])
    assert didact("audit", "six-cell", "--agent", answers).code == 0
    out = tmp_path / "exam.json"
    didact("exam", "six-cell", "--ask", "actions", "--out", out)
    named = written(tmp_path / "named.json", [q.key for q in load_exam(out).questions])
    done = didact("audit", "six-cell", "--agent", named, "--exam", out)
    assert (done.code, done.err) == (0, "")
    single = written(tmp_path / "single.json", [q.key[0] for q in load_exam(out).questions])
    done = didact("audit", "six-cell", "--agent", single, "--exam", out)
    assert (done.code, "NOT DECIDED" in done.verdict) == (3, True)


def test_an_exam_of_another_world_grades_nobody(didact, tmp_path):
    out = tmp_path / "exam.json"
    didact("exam", "six-cell", "-p", "discount=0.5", "--out", out)
    answers = written(tmp_path / "answers.json", ["second", "second"])
    done = didact("audit", "six-cell", "--agent", answers, "--exam", out)
    refused(done, "must be an exam of this world")


@pytest.mark.parametrize(
    ("typed", "code", "word"),
    [
        ("2\n2\n", 0, "PASSED"),
        ("second\nequal\n", 3, "FAILED"),
        ("1\n", 3, "FAILED: question 1"),
        ("2\nq\n", 3, "NOT DECIDED"),
        ("", 3, "NOT DECIDED"),
        ("nonsense\n\n2\n2\n", 0, "PASSED"),
    ],
)
def test_a_person_is_asked_until_it_is_decided(didact, monkeypatch, typed, code, word):
    monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
    done = didact("audit", "six-cell", "--person")
    assert (done.code, word in done.out) == (code, True)


def test_a_person_names_actions(didact, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("down\nleft\n2\nup\n"))
    done = didact("audit", "six-cell", "--person", "--ask", "actions", "--json")
    assert (done.code, json.loads(done.out)["answers"]) == (0, [[1], [2], [2], [0]])


def test_an_agent_of_stable_baselines_is_asked(didact, tmp_path, monkeypatch):
    from types import ModuleType

    class Agent:
        @classmethod
        def load(cls, path, device, custom_objects):
            return cls()

        def predict(self, observation, deterministic=False):
            return [0, 2, 1, 0, 2, 2][int(observation)], None

    package = ModuleType("stable_baselines3")
    package.PPO = Agent
    monkeypatch.setitem(sys.modules, "stable_baselines3", package)
    model = tmp_path / "model.zip"
    model.write_bytes(b"")
    assert didact("audit", "six-cell", "--agent", model, "--trust-pickle").code == 0


def test_a_mix_is_taught_saved_and_checked(didact, tmp_path):
    out = tmp_path / "mix.json"
    kinds = ("--feedback", "comparisons", "--feedback", "preferences")
    done = didact("teach", "six-cell", *kinds, "--out", out)
    assert (done.code, done.err) == (0, "")
    assert done.verdict == "six-cell: 2 items are enough, decided exactly. Proof verified."
    assert "smallest Q-value gap it relies on: " in done.out
    again = didact("check", "six-cell", out)
    assert (again.code, again.verdict) == (0, "six-cell: 2 items teach it, decided exactly.")
    proved = didact("check", "six-cell", out, "--proof")
    assert proved.verdict == "six-cell: 2 items teach it, decided exactly. Proof verified."
    forged = json.loads(out.read_text())
    forged["proof"]["multipliers"][0] = []
    (tmp_path / "forged.json").write_text(json.dumps(forged))
    refused(didact("check", "six-cell", tmp_path / "forged.json", "--proof"), "multipliers", code=4)
    walk = tmp_path / "walk.json"
    assert didact("teach", "six-cell", "--feedback", "demonstrations", "--out", walk).code == 0
    assert didact("check", "six-cell", walk).code == 0
    printed = json.loads(didact("teach", "six-cell", *kinds, "--json").out)
    assert printed == json.loads(out.read_text())


def test_feedback_among_episodes_is_learned_from(didact, tmp_path):
    """A recording in JSON lines: its first line, an episode, and what was said."""
    path = tmp_path / "said.jsonl"
    begins = {"format": "didact.demonstrations/1", "task": None, "lesson": None}
    said = [
        begins,
        {"episode": 0, "pairs": [[2, 1]]},
        {"episode": 1, "kind": "comparison", "state": 1, "better": 2, "other": 3},
        {"kind": "preference", "better": [[2, 1], [5, 2]], "other": [[2, 2], [1, 3]]},
    ]
    path.write_text("\n".join(map(json.dumps, said)))
    done = didact("learn", "six-cell", path, "--learner", "ml-irl")
    assert (done.code, done.err) == (0, "")
    assert "after 1 pair and 2 answers" in done.out
    assert "it loses nothing" in done.out
    drawn = didact("learn", "six-cell", path, "--n-steps", "100", "--json")
    assert json.loads(drawn.out)["n_answers"] == 2
    assert didact("check", "six-cell", path).code == 0


def test_few_of_many_items_are_selected(didact, tmp_path):
    from didact.mdp.files import task_document
    from didact.worlds import make

    path = tmp_path / "said.jsonl"
    begins = {"format": "didact.demonstrations/1", "task": task_document(make("six-cell"))}
    said = [
        begins,
        {"kind": "comparison", "state": 2, "better": 2, "other": 1},
        {"episode": 0, "pairs": [[5, 0]]},
        {"kind": "comparison", "state": 2, "better": 1, "other": 2},
        {"kind": "comparison", "state": 1, "better": 2, "other": 3},
        {"kind": "comparison", "state": 1, "better": 2, "other": 3},
    ]
    path.write_text("\n".join(map(json.dumps, said)))
    done = didact("select", path)
    assert (done.code, done.err) == (0, "")
    assert done.verdict == "six-cell: 5 items: 2 of them are enough, decided exactly."
    assert "item 1 is not true: in row 1, column 3: left rather than down" in done.told
    assert "item 2, step 1 is wrong: up in row 2, column 3" in done.out
    assert "redundant (1): 5" in done.out
    found = json.loads(didact("select", path, "--task", "six-cell", "--json").out)
    assert (found["chosen"], found["redundant"]) == ([2, 3], [4])
    refused(didact("select", path, "--out", tmp_path / "few.json"), "not written")


def test_the_proof_of_an_exam_is_checked_alone(didact, tmp_path):
    out = tmp_path / "exam.json"
    done = didact("exam", "six-cell", "--proof", "--out", out)
    assert (done.code, done.err) == (0, "")
    assert "proved: 2 questions decide 'six-cell'" in done.out
    asked = didact("exam", "six-cell", "--proof", "--ask", "actions")
    assert "proved: 4 questions decide 'six-cell'" in asked.out


@pytest.mark.parametrize("ask", ["comparisons", "preferences"])
def test_a_proof_does_not_depend_on_closed_where_nothing_needs_closing(ask, didact):
    answer = didact("exam", "six-cell", "--ask", ask, "--no-closed", "--proof")
    assert answer.code == 0, answer


def _world(name: str, folder: Path) -> str:
    """A file with a world: chance, ties, a family, or one action only."""
    chance = [[[0, "1/2", "1/2"], [0, 1, 0]], [[0, 0, 1], [1, 0, 0]], [[0, 0, 0]] * 2]
    sure = [[[0, 1, 0], [0, 0, 1]], [[0, 0, 1], [1, 0, 0]], [[0, 0, 0]] * 2]
    features = [[0, 0], [1, 0], [0, 1]]

    def task(moves: list, weights: list) -> Task:
        return Task(MDP(moves, features, "0.9", start=0, terminal=[2]), weights, name=name)

    made = {
        "chance": task(chance, [-1, 2]),
        "ties": task(sure, [0, 1]),
        "family": Family([task(chance, [-1, 2]), task(sure, [-1, 2])], names=["a", "b"]),
        "one action": task([rows[:1] for rows in sure], [1, 1]),
    }[name]
    path = folder / "world.json"
    made.save(path)
    return str(path)


def _is_proved_or_refused(answer: Answer, path: Path, world: str) -> str:
    """One line with exit code 2 and no file, or a file whose proof the checker accepts."""
    if answer.code == 2:
        refused(answer)
        assert not path.exists()
        return "refused"
    assert answer.code in (0, 3), answer
    found = json.loads(path.read_text(encoding="utf-8"), parse_float=str)
    if found["proof"] is None:
        assert answer.code == 3, answer
        return "open"
    whole = json.loads(Path(world).read_text(encoding="utf-8"), parse_float=str)
    assert check_proof(whole, found).startswith("proved")
    return "proved"


@pytest.mark.parametrize("name", ["chance", "ties", "family", "one action"])
def test_every_combination_of_flags_is_proved_or_refused_before_the_work(name, didact, tmp_path):
    """`exam --proof` and `check --proof`; exit code 4 is for proofs that are wrong."""
    world, out, ends = _world(name, tmp_path), tmp_path / "exam.json", Counter()
    asks, scopes = ("comparisons", "actions", "preferences"), ("reachable", "all")
    for ask, closed, scope, numbers in product(
        asks, ("--closed", "--no-closed"), scopes, ("auto", "float", "exact")
    ):
        out.unlink(missing_ok=True)
        flags = ("--ask", ask, closed, "--scope", scope, "--arithmetic", numbers)
        answer = didact("exam", world, *flags, "--proof", "--out", out)
        end = _is_proved_or_refused(answer, out, world)
        ends[end] += 1
        no_proof = numbers == "float" or (ask, closed) == ("actions", "--no-closed")
        assert (end == "refused") == no_proof, (flags, answer)
    assert ends["proved"] >= 12
    lesson = tmp_path / "lesson.json"
    kinds = ((), ("--arithmetic", "float"), ("--scope", "all"), ("--feedback", "comparisons"))
    given = (("auto",), ("float",), ("exact",), ("auto", "--loss"))
    for made_with in kinds:
        assert didact("teach", world, *made_with, "--out", lesson).code in (0, 3)
        for numbers, scope in product(given, ((), ("--scope", "reachable"), ("--scope", "all"))):
            flags = ("--arithmetic", *numbers, *scope, "--proof", "--json")
            answer = didact("check", world, lesson, *flags)
            if answer.code == 2:
                refused(answer)
            else:
                assert answer.code in (0, 3), (made_with, flags, answer)
                assert json.loads(answer.out)["verified"], (made_with, flags, answer)
