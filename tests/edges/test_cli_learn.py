"""`didact learn` as a person or a script meets it."""

import json
import os
import sys
import warnings
from dataclasses import replace

import numpy as np
import pytest

from didact.errors import NotMixed
from didact.learners import Belief, learn, load_belief, register_learner
from didact.learners.evidence import certify
from didact.mdp import MDP, Task
from didact.mdp.naming import action_words, state_words
from didact.planning import evaluate, solve
from didact.report.notebook import belief_fragment
from didact.worlds import make
from tests.command_line import Terminal, in_own_process, refused

learn_module = sys.modules["didact.learners.learn"]


@pytest.fixture
def didact(didact, own_registries):
    """Run a command; what is registered is forgotten."""
    register_learner("drawn")(drawn)
    return didact


def drawn(evidence, rng, *, confidence=100.0, n_steps=500, n_chains=4, progress=None, apart=0.0):
    """Draws around some weights, without any learning; chains can be set apart."""
    k = evidence.mdp.n_features
    centre = rng.normal(size=k)
    samples = centre + 0.2 * rng.normal(size=(n_chains, n_steps, k))
    samples[:, :, 0] += apart * np.arange(n_chains)[:, None]
    density = -((samples - centre) ** 2).sum(axis=2)
    if progress is not None:
        progress(n_steps, n_steps)
    return Belief(
        evidence.mdp, "drawn", evidence.demonstrations, samples, density, centre, 0.0,
        density.max(axis=1), np.full(n_chains, 0.3), confidence,
        certify(evidence, centre, confidence), {"n_steps": n_steps},
    )  # fmt: skip


@pytest.fixture
def shown(tmp_path):
    """Demonstrations of the six cells."""
    path = tmp_path / "shown.json"
    path.write_text("[[[2, 2], [1, 2]], [[5, 0]]]")
    return path


def test_a_lesson_is_learned_from(didact, tmp_path):
    """From the lesson of a world to the reward that makes its policy, in two commands."""
    lesson = tmp_path / "lesson.json"
    assert didact("teach", "six-cell", "--closed", "--out", lesson).code == 0
    answer = didact("learn", "six-cell", lesson, "--learner", "ml-irl")
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.startswith("six-cell: ml-irl: one weight vector after ")
    assert "The learned policy is optimal in every state: it loses nothing." in answer.out


def test_the_table_names_features_and_diagnostics(didact, shown):
    answer = didact("learn", "six-cell", shown, "--learner", "drawn")
    assert (answer.code, answer.err) == (0, "")
    lines = answer.out.splitlines()
    assert lines[0] == "six-cell: drawn: 4 chains of 500 draws after 3 pairs, confidence 100"
    assert lines[1].split()[:5] == ["feature", "MAP", "mean", "R-hat", "ESS"]
    assert [line.split()[0] for line in lines[2:4]] == ["white", "grey"]
    assert all("=" in line and "•" in line for line in lines[2:4])
    assert "The certificate" in answer.out
    assert "The learned policy" in answer.out
    assert "warning:" not in answer.out


def test_warnings_are_told_once(didact, shown):
    with warnings.catch_warnings():
        warnings.simplefilter("always", NotMixed)
        answer = didact("learn", "six-cell", shown, "--learner", "drawn", "-l", "apart=2")
    assert answer.code == 0
    assert answer.err == ""
    told = " ".join(answer.out.split())
    assert told.count("warning: the chains have not mixed: R-hat") == 1
    assert "for feature 0 (white)" in told


@pytest.mark.parametrize("columns", [24, 30, 40, 50, 60, 80, 120])
def test_nothing_but_the_first_line_is_wider_than_the_terminal(didact, shown, columns):
    answer = didact("learn", "six-cell", shown, "--learner", "drawn", columns=columns)
    assert max(map(len, answer.out.splitlines()[1:])) <= columns
    assert "white" in answer.out


def test_intervals_and_points_stand_where_they_are(didact, tmp_path, shown):
    """Two features whose draws are the same but for the sign mirror each other."""

    @register_learner("mirror")
    def mirror(evidence, rng):
        draws = np.linspace(0.2, 1.0, 401)
        samples = np.stack((-draws, draws), axis=1)[None]
        density = np.zeros((1, 401))
        return Belief(
            evidence.mdp, "mirror", (), samples, density, [-0.6, 0.6], 0.0, [0.0], [0.5], None,
            None, {},
        )  # fmt: skip

    lines = didact("learn", "six-cell", shown, "--learner", "mirror").out.splitlines()
    assert lines[1].split()[-2:] == ["-0.96", "0.96"]
    first = lines[1].index("-0.96")
    left, right = (line[first:].ljust(len(lines[1]) - first) for line in lines[2:4])
    assert left == right[::-1]
    signs = left.replace(" ", "")
    assert signs.strip("=") == f"•{signs[signs.index('•') + 1 :]}"
    assert signs[signs.index("•") + 1 :].strip("=") == "|"
    assert abs(2 * signs.index("•") - signs.count("=")) <= 1
    assert (len(left) - 1) / 2 == left.index("|")
    assert signs.count("=") == pytest.approx(0.72 / 1.92 * len(left), abs=2)


def test_many_features_are_cut(didact, tmp_path):
    mdp = MDP(np.ones((1, 2, 1)), np.ones((1, 40)), "0.5")
    Task(mdp, [1] * 40, name="wide").save(tmp_path / "wide.json")
    (tmp_path / "d.json").write_text("[[[0, 1]]]")
    answer = didact("learn", tmp_path / "wide.json", tmp_path / "d.json", "--learner", "drawn")
    assert "(32 more features)" in answer.out


def test_odd_names_do_no_harm(didact, tmp_path):
    names = ["[bold]\x1b[31m\nred", "x" * 200]
    mdp = MDP(np.ones((1, 2, 1)), [[1, 2]], "0.5", feature_names=names)
    Task(mdp, [1, 2]).save(tmp_path / "odd.json")
    (tmp_path / "d.json").write_text("[[[0, 1]]]")
    answer = didact("learn", tmp_path / "odd.json", tmp_path / "d.json", "--learner", "drawn")
    assert answer.code == 0
    assert "\x1b" not in answer.out
    assert "[bold]" in answer.out
    assert max(map(len, answer.out.splitlines()[1:])) <= 80


def test_json_is_the_same_as_python(didact, shown):
    answer = didact("learn", "six-cell", shown, "--learner", "drawn", "--seed", 5, "--json")
    document = json.loads(answer.out)
    task = make("six-cell")
    belief = learn(task.mdp, json.loads(shown.read_text()), learner="drawn", seed=5)
    truth = evaluate(task, belief.map_weights)
    assert document["features"] == json.loads(json.dumps(belief.summary()))
    assert document["task"] == "six-cell"
    assert document["n_pairs"] == 3
    assert document["is_mixed"] is True
    assert document["warnings"] == []
    assert document["certificate"] == json.loads(json.dumps(vars(belief.certificate)))
    assert document["evaluation"]["policy_loss"] == truth.policy_loss
    assert document["evaluation"]["wrong_actions"] == truth.wrong_actions
    assert document["settings"] == {"n_steps": 500, "seed": 5}


def test_json_of_a_point_has_nulls_and_no_nan(didact, shown):
    register_learner("own")(lambda evidence, rng: [1.0, 2.0])
    answer = didact("learn", "six-cell", shown, "--learner", "own", "--json")
    document = json.loads(answer.out, parse_constant=pytest.fail)
    assert document["features"][0]["r_hat"] is None
    assert document["map_log_posterior"] is None
    assert document["confidence"] is None


def test_options_go_to_the_learner(didact, shown):
    answer = didact(
        "learn", "six-cell", shown, "--learner", "drawn", "--confidence", "5", "--n-steps", "60",
        "--n-chains", "3", "-l", "apart=0.5", "--json",
    )  # fmt: skip
    document = json.loads(answer.out)
    assert (document["confidence"], document["n_chains"], document["n_draws"]) == (5.0, 3, 60)
    assert document["settings"]["n_steps"] == 60


def test_all_options_of_chains_have_a_name(didact, shown):
    met = {}
    register_learner("any")(lambda evidence, rng, **rest: met.update(rest) or [0, 0])
    didact(
        "learn", "six-cell", shown, "--learner", "any", "--confidence", "5", "--n-steps", "60",
        "--n-chains", "3", "--step-size", "0.25", "--prior", "box", "--burn-in", "7",
    )  # fmt: skip
    assert met == {
        "confidence": 5.0, "n_steps": 60, "n_chains": 3, "step_size": 0.25, "prior": "box",
        "burn_in": 7,
    }  # fmt: skip


def test_the_belief_is_saved(didact, shown, tmp_path):
    out = tmp_path / "belief.npz"
    answer = didact("learn", "six-cell", shown, "--learner", "drawn", "--out", out)
    assert answer.out.splitlines()[-1] == f"  saved as {out}"
    loaded = load_belief(out, make("six-cell").mdp)
    assert loaded.samples.shape == (4, 500, 2)
    assert len(loaded.demonstrations) == 2


@pytest.mark.parametrize("where", ["none/belief.npz", "."])
def test_where_it_cannot_be_saved_nothing_is_learned(didact, shown, tmp_path, where):
    register_learner("own")(lambda evidence, rng: pytest.fail("it was asked"))
    place = tmp_path / where
    answer = didact("learn", "six-cell", shown, "--learner", "own", "--out", place)
    refused(answer, "directory")


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes anywhere")
def test_a_folder_that_is_read_only_is_told_before(didact, shown, tmp_path):
    register_learner("own")(lambda evidence, rng: pytest.fail("it was asked"))
    folder = tmp_path / "closed"
    folder.mkdir(mode=0o500)
    refused(
        didact("learn", "six-cell", shown, "--learner", "own", "--out", folder / "b.npz"),
        "Permission denied",
    )


def test_trying_the_place_leaves_nothing_behind(didact, shown, tmp_path):
    out = tmp_path / "folder" / "belief.npz"
    out.parent.mkdir()

    @register_learner("broken")
    def broken(evidence, rng):
        raise ValueError("no")

    refused(
        didact("learn", "six-cell", shown, "--learner", "broken", "--out", out),
        "learner 'broken' failed: ValueError: no",
    )
    assert not list(out.parent.iterdir())


def test_the_seed_goes_to_world_and_learner(didact, tmp_path):
    path = tmp_path / "d.json"
    path.write_text("[[[0, 1]]]")
    world = ["random-grid", path, "-p", "size=3", "-p", "n_features=2", "--learner", "drawn"]
    documents = [json.loads(didact("learn", *world, "--seed", s, "--json").out) for s in (4, 4, 5)]
    assert documents[0] == documents[1]
    assert documents[0]["task"] != documents[2]["task"]
    assert documents[0]["features"] != documents[2]["features"]


def test_signs_that_the_output_cannot_carry_have_others(tmp_path, shown):
    arguments = ("learn", "six-cell", shown, "--learner", "ml-irl")
    answer = in_own_process(*arguments, environment={"PYTHONIOENCODING": "ascii"})
    assert answer.code == 0
    assert "*" in answer.out
    assert "?" not in answer.out


def test_a_person_sees_progress_and_a_file_does_not(tmp_path, shown):
    """The bar is on standard error, only where that is a terminal."""
    code = (
        "from didact.cli import main; from didact.learners import register_learner\n"
        "@register_learner('slow')\n"
        "def slow(evidence, rng, *, progress=None):\n"
        "    for i in range(5):\n"
        "        progress(i, 5) if progress else None\n"
        "    return [0, 0]\n"
        "main()\n"
    )
    command = ("learn", "six-cell", shown, "--learner", "slow")
    wide = {"COLUMNS": "100"}
    quiet = in_own_process(*command, python=("-c", code), environment=wide, anew=False)
    assert (quiet.code, quiet.err) == (0, "")
    terminal = Terminal(*command, python=("-c", code), piped=True, anew=False)
    assert terminal.end() == 0
    assert "learning from" in terminal.text
    assert terminal.out == quiet.out


# The same as a piece of a page


def test_the_fragment_escapes_names_and_draws_intervals():
    mdp = MDP(np.ones((1, 2, 1)), [[1, 2]], "0.5", feature_names=["<script>", "b"])
    task = Task(mdp, [1, 2], name="<i>task</i>")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotMixed)
        belief = drawn(
            learn_module.as_evidence(mdp, [[(0, 1)]]), np.random.default_rng(0), apart=3.0
        )
    text = belief_fragment(task, belief, evaluate(task, belief.map_weights))
    assert "<script>" not in text
    assert "<i>" not in text
    assert text.count("<svg") == 2
    assert text.count("<rect") == 2
    assert "Warning: the chains have not mixed" in text
    assert "nan" not in text
    assert "http" not in text


def test_a_page_says_where_the_draws_disagree():
    """Three draws of one reward, one of another: the page has the shares of their plans."""
    task = make("random-grid", size=2, n_features=2, seed=5)
    rewards = ([1.0, 0.0], [0.0, 1.0])
    plans = [solve(task.mdp, reward).optimal for reward in rewards]
    one, other = (plan / plan.sum(axis=1, keepdims=True) for plan in plans)
    shares = 0.75 * one + 0.25 * other
    unsure = np.flatnonzero((shares == 0.75).any(axis=1) & ~task.mdp.terminal)
    samples = np.broadcast_to([rewards[0]] * 3 + [rewards[1]], (2, 4, 2))
    belief = learn(task, [], seed=0, n_steps=100, n_chains=2)
    text = belief_fragment(task, replace(belief, samples=samples, log_posterior=np.zeros((2, 4))))
    assert unsure.size > 1
    for state in unsure.tolist():
        first = action_words(task, int(shares[state].argmax()))
        assert f"<td>{state_words(task, state)}</td><td>{first} 75%, " in text
    point = learn(task, [[(0, 1)]], learner="ml-irl")
    assert "disagree" not in belief_fragment(task, point)
