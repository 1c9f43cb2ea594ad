"""`didact teach --loss` and `didact frontier`: what is only tested is said to be."""

import json

WORLD = ("random-grid", "-p", "size=4", "-p", "n_features=4", "--seed", "3", "--horizon", "1")


def test_what_is_only_tested_says_so_and_exits_with_3(didact, monkeypatch):
    monkeypatch.setattr("didact.teaching.loss.cells.IN_SIGHT", 0.0)
    answer = didact("teach", *WORLD, "--loss", "5%", "--learner-model", "planner")
    assert answer.code == 3
    assert "ONLY TESTED" in answer.verdict
    assert "learners that plan: a search found no larger loss" in answer.told
    assert "prove" not in answer.verdict.lower()


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
