"""Exact results of more than 4,300 digits, which Python by itself refuses to write or read."""

import json
import random
import re
import sys
from fractions import Fraction

import pytest

from didact.proofcheck import check_proof
from didact.teaching import load_lesson

DISCOUNT = "0.9"


def world(n_states: int, n_digits: int, *, n_features: int = 2, seed: int = 1) -> dict:
    """Two random moves by each action; probabilities of so many digits."""
    rng = random.Random(seed)
    transitions = []
    for state in range(n_states):
        for action in range(2):
            share = Fraction(rng.randrange(1, 10**n_digits), 10**n_digits)
            first, second = rng.sample(range(n_states), 2)
            written = (f"{p.numerator}/{p.denominator}" for p in (share, 1 - share))
            transitions += [
                [state, action, t, p] for t, p in zip((first, second), written, strict=True)
            ]
    return {
        "format": "didact.task/1",
        "name": "long",
        "n_states": n_states,
        "n_actions": 2,
        "transitions": transitions,
        "features": [[rng.randint(0, 3) for _ in range(n_features)] for _ in range(n_states)],
        "weights": [1, "-0.5", 2][:n_features],
        "discount": DISCOUNT,
    }


@pytest.fixture
def task(tmp_path):
    path = tmp_path / "task.json"
    path.write_text(json.dumps(world(4, 600)))
    return path


@pytest.fixture(autouse=True)
def lowest_limit():
    """As low as Python's limit can be set, so that short work shows what long work would."""
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(640)
    yield
    sys.set_int_max_str_digits(before)


def longest(proof: dict) -> int:
    """How many digits the longest number of a proof has."""
    return max(map(len, re.findall(r"[0-9]+", json.dumps(proof))))


def test_a_lesson_is_proved_saved_and_read_again(didact, task, tmp_path):
    out = tmp_path / "lesson.json"
    answer = didact("teach", task, "--horizon", 1, "--out", out)
    assert (answer.code, answer.err) == (0, "")
    assert "Proof verified." in answer.verdict
    document = json.loads(out.read_text())
    assert longest(document["proof"]) > 1_500
    assert check_proof(task, out).startswith("proved: ")
    assert load_lesson(out).document() == document
    assert didact("check", task, out, "--proof").code == 0


def test_a_partial_lesson_has_its_witness_its_loss_and_its_proof(didact, task, tmp_path):
    out = tmp_path / "part.json"
    assert didact("teach", task, "--horizon", 1, "--budget", 1, "--out", out).code == 3
    document = json.loads(out.read_text())
    assert max(len(str(w)) for w in document["witness"]) > 1_500
    assert document["loss"] > 0
    assert check_proof(task, out).startswith("proved open: ")
    lesson = load_lesson(out)
    assert lesson.document() == document
    assert "1 of 2 constraints open" in repr(lesson)
    for command in (["check", task, out, "--proof"], ["select", out, "--task", task]):
        assert didact(*command).code == 3
        told = didact(*command, "--json")
        assert (told.code, told.err) == (3, "")
        assert max(map(len, json.loads(told.out)["witness"])) > 1_500


@pytest.mark.parametrize("n_features", [2, 3])
def test_pages_are_drawn(didact, tmp_path, n_features):
    task, page = tmp_path / "task.json", tmp_path / "page.html"
    task.write_text(json.dumps(world(4, 600, n_features=n_features)))
    assert didact("explain", task, "-n", 1, "-o", page).code in (0, 3)
    assert "<svg" in page.read_text()


def test_policies_are_explained_or_refuted(didact, task, tmp_path):
    policy, page = tmp_path / "policy.json", tmp_path / "page.html"
    for actions in ([0, 1, 0, 1], [1, 0, 1, 1], [1, 1, 1, 1]):
        policy.write_text(json.dumps(actions))
        answer = didact("explain", task, "--policy", policy, "-o", page, "--json")
        assert answer.code in (0, 3)
        assert json.loads(answer.out)["policy"] is not None
        near = ("--if-not-optimal", "nearest", "-o", page)
        assert didact("explain", task, "--policy", policy, *near).code in (0, 3)


@pytest.mark.slow
@pytest.mark.parametrize(("n_states", "n_digits"), [(8, 990), (250, 16)])
def test_the_usual_limit(didact, tmp_path, n_states, n_digits):
    """A few states with very long probabilities, and many with those of floats."""
    sys.set_int_max_str_digits(4300)
    task, out = tmp_path / "task.json", tmp_path / "lesson.json"
    task.write_text(json.dumps(world(n_states, n_digits)))
    answer = didact("teach", task, "--horizon", 1, "--arithmetic", "exact", "--out", out)
    assert (answer.code, answer.err) == (0, "")
    assert longest(json.loads(out.read_text())["proof"]) > 4_300
    assert check_proof(task, out).startswith("proved: ")
