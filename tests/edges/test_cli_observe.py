"""`didact observe`: a certified lesson of a policy in a simulator, its files and its page."""

import json
import os
import re
import zlib

import numpy as np
import pytest

import didact as library
from didact.cli.observe import forecasts
from didact.report.page.simulators import png, simulator_page, small
from didact.report.words.observed import truth_words
from didact.stages import Forecast, stage
from didact.worlds.simulators.classics import MOVES, PointRobot
from tests.command_line import refused

ROBOT = ("observe", "point-robot", "--discount", "0.9", "--n-rollouts", "8", "--length", "10",
         "--n-states", "60", "--target", "10%")  # fmt: skip
MINE = """
import numpy as np

def phi(o, a, n, e):
    return np.stack([np.ones(len(o)), -np.abs(n[:, 0])], axis=1)

def balance(o):
    o = np.atleast_2d(o)
    return (o[:, 2] + 0.5 * o[:, 3] > 0).astype(int)
"""
CART = ("observe", "CartPole-v1", "--policy", "mine.py:balance", "--features", "mine.py:phi",
        "--weights", "1,0", "--discount", "0.9", "--n-rollouts", "3", "--length", "4",
        "--tolerance", "1", "--n-states", "20", "--target", "50%")  # fmt: skip


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(MINE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    return tmp_path


def test_a_lesson_is_told_saved_and_written_as_a_page(didact, tmp_path):
    out, html = tmp_path / "seen.npz", tmp_path / "lesson.html"
    done = didact(*ROBOT, "--out", out, "--html", html)
    assert done.code in (0, 3)
    assert done.verdict.startswith("point-robot: ")
    assert "This is a statistical statement, not a proof." in " ".join(done.out.split())
    assert "states restored" not in done.out
    seen = library.load_observed(out)
    assert len(seen.rows) == 80
    page = html.read_text()
    assert page.count("<article") == int(done.verdict.split()[1])
    assert "<polyline" in page
    assert "Left to right: across, from 0" in page
    assert "offset-path: path(" in page  # a dot moves along the way
    assert "This is a statistical statement, not a proof." in page
    document = json.loads(didact(*ROBOT, "--json").out)
    assert document["certificate"]["holds"] == (done.code == 0)
    assert len(document["clips"]) == page.count("<article")
    bound, assumed = document["statement"].split(" It assumes that ")
    assert bound in " ".join(done.out.split())
    assert assumed[:40] not in " ".join(done.out.split())
    details = " ".join(didact(*ROBOT, "--details").out.split())
    assert document["statement"] in details
    assert "states restored as the arrays that they are" in details


def test_an_empty_lesson_is_no_success(didact):
    done = didact(*ROBOT, "--tolerance", "50", "--horizon", "40")
    assert done.code == 3
    assert (
        "Nothing is taught: no action that was seen makes a difference of more than 50" in done.out
    )
    document = json.loads(didact(*ROBOT, "--tolerance", "50", "--horizon", "40", "--json").out)
    assert document["is_empty"]
    told = document["certificate"]
    assert told["open_share"] <= told["target"], "little is left open of nothing"
    assert not told["holds"]


def test_policies_and_features_of_a_file_and_pictures_of_an_environment(didact, folder):
    done = didact(*CART, "--html", "lesson.html")
    # four steps show that away is bad; who plans for that alone lets the pole fall
    assert done.code == 3, done
    assert "for the taught weights returns 58.5 an episode, the agent 101" in " ".join(
        done.out.split()
    )
    page = (folder / "lesson.html").read_text()
    assert page.count("data:image/png;base64,") >= 1
    assert len(page) < 400_000


def test_pictures_are_small_and_can_be_read():
    image = np.random.default_rng(0).integers(0, 255, (400, 600, 3)).astype(np.uint8)
    tiny = small(image)
    assert tiny.shape == (100, 150, 3)
    assert tiny[0, 0].tolist() == image[:4, :4].mean(axis=(0, 1)).round().tolist()
    content = png(tiny)
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    at = content.index(b"IDAT")
    length = int.from_bytes(content[at - 4 : at], "big")
    lines = np.frombuffer(zlib.decompress(content[at + 4 : at + 4 + length]), np.uint8)
    lines = lines.reshape(100, 1 + 450)
    assert not lines[:, 0].any()
    np.testing.assert_array_equal(lines[:, 1:].reshape(100, 150, 3), tiny)


def test_a_clip_shows_names_ground_and_where_the_closest_other_action_leads():
    seen = library.observe("point-robot", discount=0.9, n_rollouts=3, length=6)
    lesson = library.teach(seen)
    page = simulator_page(lesson)
    kinds = re.findall(r'class="mark-name">(patch \d)</text>', page)
    assert sorted(kinds) == sorted([f"patch {i}" for i in range(3)] * 3 * len(lesson.clips))
    clip = lesson.clips[0]
    assert f"actions {PointRobot.action_names[clip.actions[0]]}," in page
    place = next(i for i, state in enumerate(seen.states) if state is clip.states[0])
    worth = seen.rows[place] @ seen.setting.weights
    other = seen.others[place][min((w, i) for i, w in enumerate(worth) if w > 0)[1]]
    names = page.partition("The closest other ones: ")[2]
    assert names.startswith(PointRobot.action_names[other])
    (x, y), (u, v) = re.findall(r"[ML]([\d.]+) ([\d.]+)", page.partition('class="ghost" d="')[2])[
        :2
    ]
    moved = np.array([float(u) - float(x), float(y) - float(v)])
    wanted = MOVES[other] / np.ptp(np.vstack([seen.observations, PointRobot().centres]), axis=0)
    np.testing.assert_allclose(
        moved / np.linalg.norm(moved), wanted / np.linalg.norm(wanted), atol=0.02
    )


def test_a_taught_reward_that_contradicts_the_true_one_is_told():
    seen = library.observe("point-robot", discount=0.9, n_rollouts=3, length=6)
    lesson = library.teach(seen)
    assert truth_words(lesson).startswith("That they differ is no contradiction")
    lesson.__dict__["weights"] = -lesson.weights
    assert truth_words(lesson).startswith("The two contradict each other: in ")


def test_more_than_two_numbers_of_a_state_are_named_lines_and_a_bar_goes_over_them():
    seen = library.observe("pendulum", discount=0.9, n_rollouts=3, length=6)
    page = simulator_page(library.teach(seen))
    for name in ("cosine of the angle", "sine of the angle", "speed"):
        assert f'class="mark-name">{name}</text>' in page
        assert f"{name}, from " in page
    assert page.count('class="clip-dot"') == page.count('<rect x="-1"') >= 1
    assert "→</text>" not in page


def test_what_was_read_from_a_file_is_drawn_by_its_states(tmp_path):
    seen = library.observe("lqr", discount=0.9, n_rollouts=3, length=5)
    seen.save(tmp_path / "seen.npz")
    page = simulator_page(library.teach(library.load_observed(tmp_path / "seen.npz")))
    assert "<polyline" in page
    assert "nothing is said of others before didact.certify" in page
    assert os.listdir(tmp_path) == ["seen.npz"]


def test_recorded_episodes_of_a_simulator_are_selected(didact, folder, monkeypatch):
    pytest.importorskip("minari")
    from didact.mdp.recordings.minari import write_episodes
    from tests.mdp.recordings.test_minari import recorded

    episodes, spaces = recorded()
    write_episodes(episodes, spaces, "./cart-v0", {})
    given = ("select", "./cart-v0", "--simulator", "CartPole-v1", "--features", "mine.py:phi")
    more = ("--weights", "1,0", "--discount", "0.9", "--tolerance", "1")
    done = didact(*given, "--policy", "mine.py:balance", *more)
    assert done.code == 0, done
    assert "CartPole" in done.verdict
    assert "rollout 1, steps 1 to 12" in done.out
    refused(didact("select", "./cart-v0"), "continuous numbers", "--simulator ENV")
    refused(didact("select", "./cart-v0", "--policy", "mine.py:balance"), "--simulator")
    refused(didact(*given), "policy must be given")


def test_clips_are_written_for_minari(didact, folder):
    minari = pytest.importorskip("minari")
    done = didact(*ROBOT, "--minari", "./clips-v0")
    assert "saved as ./clips-v0" in done.out
    from minari.dataset.minari_dataset import MinariDataset

    assert minari
    assert MinariDataset(folder / "clips-v0" / "data").total_episodes >= 1


def test_a_model_of_stable_baselines_is_observed_from_its_file(didact, folder):
    """A tiny one, hardly trained: what it does is watched as it is."""
    sb3 = pytest.importorskip("stable_baselines3")
    small_net = {"net_arch": [4]}
    model = sb3.PPO("MlpPolicy", "CartPole-v1", n_steps=32, batch_size=32, n_epochs=1, seed=0,
                    device="cpu", policy_kwargs=small_net)  # fmt: skip
    model.learn(32)
    model.save("ppo.zip")
    asked = ("ppo.zip" if word == "mine.py:balance" else word for word in CART)
    more = ("--held", "1,12", "--tolerance", "0.3", "--out", "seen.npz", "--html", "lesson.html")
    done = didact(*asked, *more)
    assert done.code in (0, 3), done
    assert "This is a statistical statement, not a proof." in " ".join(done.out.split())
    assert "data:image/png;base64," in (folder / "lesson.html").read_text()
    seen = library.load_observed("seen.npz")
    told = model.predict(seen.observations.astype(np.float32), deterministic=True)[0]
    np.testing.assert_array_equal(seen.own, told)


SPOILED = """
import numpy as np
from didact.worlds.simulators.classics import PointRobot

best = PointRobot().best_policy(0.99)

def third(seen):
    chosen = np.array(best(seen))
    wrong = np.abs(np.sin(1e4 * np.atleast_2d(seen).sum(axis=1))) < 0.3
    chosen[wrong] = (chosen[wrong] + 4) % 9
    return chosen
"""


def test_an_agent_is_audited_and_compared_in_a_simulator(didact, folder, monkeypatch):
    from didact.auditing import simulators

    monkeypatch.setattr(simulators, "N_STATES", 80)
    (folder / "spoiled.py").write_text(SPOILED)
    asked = ("audit", "point-robot", "--loss", "1.5")
    done = didact(*asked, "--against", "spoiled.py:third")
    words = " ".join(done.out.split())
    assert done.verdict.startswith("point-robot: pass"), done
    assert "the other agent: fail, " in words
    assert "(more)" in words
    document = json.loads(didact(*asked, "--agent", "spoiled.py:third", "--json").out)
    assert document["status"] == "fail"
    assert document["mistaken_share"][0] > 0.05
    assert len(document["worst"]) == 5


def test_only_a_long_forecast_is_printed_and_once(capsys):
    with forecasts():
        for seconds in (2.0, 4000.0, 5000.0):
            stage(Forecast.of("9 states", seconds))
        stage("forecast: 9 states, 6,000 s")  # words alone are no forecast
    told = capsys.readouterr()
    assert told.err.count("forecast: ") == 1
    assert "forecast: 9 states, 4,000 s; --time keeps it shorter" in told.err
