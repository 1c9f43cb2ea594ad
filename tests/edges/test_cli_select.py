"""`didact select` as a person or a script meets it."""

import json

import gymnasium
import numpy as np
import pytest

from didact.mdp.recordings.formats import load_recording
from didact.mdp.recordings.recording import Recording
from didact.planning import rollout
from didact.teaching import teach
from didact.worlds import make

minari = pytest.importorskip("minari")


pytestmark = pytest.mark.usefixtures("in_own_folder")


@pytest.fixture
def dataset(didact):
    """Single steps that teach a grid, one of them twice, and one that is wrong."""
    task = make("random-grid", size=6, n_features=5, seed=2)
    shown = list(teach(task, horizon=1).demonstrations)
    wrong = [[(0, action)] for action in range(4)]
    Recording((*shown, shown[0], *wrong), task=task).save("grid-v0")
    return len(shown)


def test_the_dataset_alone_says_it_all(didact, dataset):
    answer = didact("select", "grid-v0")
    assert (answer.code, answer.err) == (0, "")
    lines = answer.out.splitlines()
    assert lines[0] == (
        f"random-grid 6x6, seed 2: {dataset + 5} episodes, 3 with wrong steps: {dataset} of them "
        "are enough."
    )
    assert "episode 1: " in didact("select", "grid-v0", "--details").out
    assert "  wrong steps (3), left out:" in answer.out
    assert " is not optimal, " in answer.out
    assert "still missing" not in answer.out


def test_a_budget_and_what_is_missing(didact, dataset):
    answer = didact("select", "grid-v0", "--budget", "2")
    assert answer.code == 3
    assert "NOT taught: the best 2 show " in answer.told
    assert "  left out by the budget (" in answer.out
    assert " (in an episode left out): " in answer.told
    assert "  a learner may still lose " in answer.out


def test_what_is_claimed_is_what_check_says(didact, dataset):
    """The chosen episodes, written out, cover what the selection says they cover."""
    for budget in (1, 2, dataset):
        answer = didact(
            "select", "grid-v0", "--budget", budget, "--json", "--out", "part.json", "--replace"
        )
        document = json.loads(answer.out)
        world = ("random-grid", "-p", "size=6", "-p", "n_features=5", "-p", "seed=2")
        checked = didact("check", world[0], "part.json", *world[1:], "--json")
        verdict = json.loads(checked.out)
        assert verdict["teaches"] == document["teaches"]
        assert verdict["n_open"] == document["n_elements"] - document["n_covered"]
        assert checked.code == answer.code
        kept = minari.load_dataset("grid-v0").filter_episodes(
            lambda episode, chosen=document["chosen"]: episode.id in chosen
        )
        assert len(kept) == len(document["chosen"]) <= budget


def test_chosen_episodes_can_be_a_dataset_again(didact, dataset):
    answer = didact("select", "grid-v0", "--out", "few-v0")
    assert answer.out.splitlines()[-1].startswith("  saved as ")
    again = json.loads(didact("select", "few-v0", "--json").out)
    assert (again["teaches"], again["redundant"], again["contradicting"]) == (True, [], [])


def test_parts_of_one_long_episode_are_written_as_demonstrations(didact, tmp_path):
    """Somebody wanders for 200 steps: what is right of it is chosen, in several parts."""
    task = make("random-grid", size=6, n_features=5, seed=2)
    anything = np.full((36, 4), 0.25)
    walk = rollout(task.mdp, anything, horizon=200, seed=np.random.default_rng(1))
    Recording((walk,), task=task).save(tmp_path / "walk.jsonl")
    answer = didact("select", "walk.jsonl", "--out", "right.csv", "--json")
    document = json.loads(answer.out)
    assert set(document["chosen"]) == {0}
    assert len(document["chosen"]) > 1
    written = load_recording(tmp_path / "right.csv")
    assert written.episodes == tuple(range(len(document["chosen"])))
    parts = [(p["step"], p["step"] + p["n_steps"]) for p in document["segments"]]
    assert [d.pairs for d in written.demonstrations] == [walk.pairs[a:b] for a, b in parts]
    told = didact("select", "walk.jsonl").told
    assert told.startswith("random-grid 6x6, seed 2: 1 episode, 1 with wrong steps: ")
    assert f"{len(parts)} of their right segments" in told
    assert f" episode 1, step{'s' if parts[0][1] - parts[0][0] > 1 else ''} " in told
    assert "more steps)" in told


def test_other_formats_and_methods(didact, dataset):
    for name in ("folder", "grid.jsonl"):
        assert didact("select", "grid-v0", "--out", name).code == 0
        answer = didact("select", name, "--method", "exact", "--cost", "pairs", "--json")
        assert json.loads(answer.out)["n_items"] == dataset


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_dataset_that_others_recorded(didact):
    """FrozenLake without ice: an expert, a wanderer, and their dataset names the environment."""
    env = gymnasium.make("FrozenLake-v1", is_slippery=False)
    buffers = []
    for actions in ([1, 1, 2, 1, 2, 2], [2, 2, 1, 1, 1, 2], [0, 1, 1, 2, 1, 2, 2]):
        states = [env.reset(seed=0)[0]]
        answers = [env.step(action) for action in actions]
        states += [answer[0] for answer in answers]
        buffers.append(
            minari.data_collector.EpisodeBuffer(
                observations=np.array(states), actions=np.array(actions),
                rewards=[float(a[1]) for a in answers], terminations=[a[2] for a in answers],
                truncations=[a[3] for a in answers], infos={},
            )
        )  # fmt: skip
    minari.create_dataset_from_buffers("lake-v0", buffers, env=env)
    document = json.loads(didact("select", "lake-v0", "--json").out)
    assert document["n_items"] == 3
    assert [c["episode"] for c in document["contradicting"]] == [2]
    assert document["contradicting"][0]["step"] == 0
    assert [w["episode"] for w in document["wrong"]] == [2]
    assert sorted(document["chosen"] + document["redundant"]) == [0, 1, 2]
    slippery = didact("select", "lake-v0", "--task", "FrozenLake-v1", "--json")
    assert len(json.loads(slippery.out)["contradicting"]) == 3
