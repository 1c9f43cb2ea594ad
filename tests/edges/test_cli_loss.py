"""`didact teach --loss` and `didact frontier`: what is only tested is said to be."""

import json

from tests.command_line import refused

WORLD = ("random-grid", "-p", "size=4", "-p", "n_features=4", "--seed", "3", "--horizon", "1")


def test_a_lesson_whose_learners_were_all_visited_exits_with_0(didact):
    answer = didact("teach", *WORLD, "--loss", "5%", "--learner-model", "half-spaces")
    assert answer.code == 0
    assert "to lose at most 5%" in answer.verdict
    assert "every class of policies that fits was visited" in answer.told
    assert "tested" not in answer.out.lower()


def test_what_is_only_tested_says_so_and_exits_with_3(didact, monkeypatch):
    monkeypatch.setattr("didact.teaching.loss.cells.IN_SIGHT", 0.0)
    answer = didact("teach", *WORLD, "--loss", "5%", "--learner-model", "planner")
    assert answer.code == 3
    assert "ONLY TESTED" in answer.verdict
    assert "learners that plan: a search found no larger loss" in answer.told
    assert "prove" not in answer.verdict.lower()


def test_machines_get_the_same(didact):
    answer = didact("teach", *WORLD, "--loss", "0.5", "--learner-model", "half-spaces", "--json")
    within = json.loads(answer.out)["within"]
    assert answer.code == 0
    assert (within["bound"], within["status"]) == (0.5, "enumerated")
    assert within["worst"] <= 0.5


def test_a_frontier_has_a_line_for_each_bound(didact):
    answer = didact("frontier", *WORLD, "--learner-model", "half-spaces")
    assert answer.code == 0
    assert [line.split()[0] for line in answer.out.splitlines()[2:7]] == [
        *("10%", "5%", "2%", "1%", "0.1%"),
    ]
    small = ("random-grid", "-p", "size=3", "-p", "n_features=3", "--horizon", "1")
    found = json.loads(didact("frontier", *small, "--json").out)
    assert [point["loss"] for point in found["points"]][-1] is None


def test_what_cannot_be_asked_is_refused(didact):
    refused(didact("teach", *WORLD, "--loss", "lots"), "loss must be", "lots")
    refused(didact("teach", *WORLD, "--loss", "1%", "--budget", "0"), "budget")
    refused(didact("frontier", *WORLD, "--losses", "1%,lots"), "loss must be", "lots")
    refused(didact("frontier", *WORLD, "--teacher", "uvm"), "--teacher")


def test_check_says_what_may_still_be_lost(didact, tmp_path, monkeypatch):
    path = tmp_path / "lesson.json"
    assert didact("teach", *WORLD, "--budget", "1", "--out", path).code == 3
    world = WORLD[:-2]
    said = didact("check", *world[:1], path, *world[1:], "--loss").out
    assert "learners of half-spaces lose at most" in said
    assert "learners that plan lose at most" in said
    monkeypatch.setattr("didact.teaching.loss.cells.IN_SIGHT", 0.0)
    said = didact("check", *world[:1], path, *world[1:], "--loss").out
    assert "learners that plan may lose" in said
    found = json.loads(didact("check", *world[:1], path, *world[1:], "--loss", "--json").out)
    half, planner = found["costs"]
    assert half["status"] == "enumerated"
    assert half["loss"] > 0
    assert len(half["weights"]) == 4
    assert planner["status"] == "tested"
