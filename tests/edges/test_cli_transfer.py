"""`didact transfer`: what a lesson determines elsewhere, on the command line."""

import json

from tests.command_line import refused

WORLD = ("random-grid", "-p", "size=3", "-p", "n_features=3")


def test_transfer_says_which_worlds_follow(didact, tmp_path):
    from didact import make

    seen, lesson = tmp_path / "seen.json", tmp_path / "lesson.json"
    make("random-grid", size=3, n_features=3, members=5).save(seen)
    assert didact("teach", seen, "--horizon", 1, "--out", lesson).code == 0
    unseen = (*WORLD, "-p", "weights_seed=0", "--members", 6, "--seed", 50)
    told = didact("transfer", lesson, *unseen, "--of", seen)
    machines = didact("transfer", lesson, *unseen, "--of", seen, "--json")
    document = json.loads(machines.out)
    n = document["n_determined"]
    assert told.code == machines.code == (0 if n == 6 else 3)
    assert f"{n} of 6 unseen worlds" in told.verdict
    assert told.out.count("  open: ") == 6 - n
    assert "  5 members taught: " in told.out
    assert [point["n_members"] for point in document["curve"]] == [1, 2, 5]


def test_the_seen_worlds_are_determined(didact, tmp_path):
    lesson, out = tmp_path / "lesson.json", tmp_path / "found.json"
    world = (*WORLD, "--members", 3)
    assert didact("teach", *world, "--horizon", 1, "--out", lesson).code == 0
    told = didact("transfer", lesson, *world, "--no-drawn", "--out", out)
    assert told.code == 0
    assert told.verdict.endswith("3 of 3 unseen worlds are determined completely (proved).")
    assert "confidence" not in told.out
    assert json.loads(out.read_text())["share"] == 1


def test_another_reward_is_refused_in_one_line(didact, tmp_path):
    lesson = tmp_path / "lesson.json"
    assert didact("teach", *WORLD, "--horizon", 1, "--out", lesson).code == 0
    refused(didact("transfer", lesson, *WORLD, "--seed", 7), "contradict it")
