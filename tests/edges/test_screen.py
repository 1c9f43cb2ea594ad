"""What commands print by default fits one screen: 25 lines of 80 columns, nothing clipped."""

import json

import numpy as np
import pytest
from rich.cells import cell_len

from didact.bec.halfspaces import scope_states
from didact.worlds import worlds
from didact.worlds.opening import open_task

LINES, COLUMNS = 25, 80
WORLDS = [
    *(name for name in worlds() if name not in ("grid", "gymnasium")),
    *("Taxi-v4", "FrozenLake-v1", "CliffWalking-v1"),
]
COMMANDS = (
    "show {world}",
    "teach {world} --out lesson.json",
    "teach {world} --loss 5% --time-limit 1",
    "teach {world} --feedback comparisons --feedback demonstrations",
    "frontier {world} --losses 10% --time-limit 1",
    "check {world} lesson.json --proof --loss",
    "check {world} wrong.json",
    "explain {world} --out page.html",
    "transfer lesson.json {world}",
    "teach {world} --lies 1",
    "attack {world} lesson.json",
    "informativeness {world} lesson.json --n-draws 10",
    "learn {world} lesson.json --n-steps 200 --n-chains 2",
    "learn {world} wrong.json --n-steps 200 --n-chains 2",
    "ask {world} --n-steps 50 --n-chains 2 --n-queries 20",
    "exam {world} --key",
    "exam {world} --ask actions",
    "exam {world} --ask preferences",
    "audit {world} --agent weights.json",
    "rank {world}",
    "select lesson.json --task {world}",
    "select wrong.json --task {world}",
)
SAMPLED = "--discount 0.9 --n-rollouts 8 --length 10 --n-states 60"
ALONE = (
    "worlds",
    "reproduce example --quick --jobs 1",
    *(f"observe {name} {SAMPLED}" for name in ("point-robot", "lqr")),
    *(
        pytest.param(f"observe {name} {SAMPLED}", marks=pytest.mark.slow)
        for name in ("pendulum", "mountain-car")
    ),
)
OF_A_STUDY = (
    "study init s.sqlite random-grid -p size=4 -p n_features=3 --questions 2 --practice 1",
    "study simulate s.sqlite -n 6",
    "study preregister s.sqlite -n 6 --out draft",
    "study export s.sqlite --out tables",
    "study serve s.sqlite",
    "studio six-cell",
    "studio --export site six-cell",
)


def require_fits(printed: str, command: str) -> None:
    lines = printed.splitlines()
    assert len(lines) <= LINES, (command, printed)
    for line in lines:
        assert cell_len(line) <= COLUMNS, (command, line)
        assert "…" not in line, (command, line)


QUICK = ("six-cell", "random-grid", "Taxi-v4", "FrozenLake-v1", "CliffWalking-v1")


@pytest.mark.parametrize(
    "world", [pytest.param(w, marks=[] if w in QUICK else pytest.mark.slow) for w in WORLDS]
)
def test_the_default_output_of_every_command_fits_one_screen(didact, tmp_path, monkeypatch, world):
    monkeypatch.chdir(tmp_path)
    task = open_task(world)
    reached = np.flatnonzero(scope_states(task.mdp, "reachable") & ~task.mdp.terminal)
    wrong = [[[state, 0]] for state in reached.tolist()]
    (tmp_path / "wrong.json").write_text(json.dumps(wrong[:50]))
    (tmp_path / "weights.json").write_text(json.dumps([1.0] * task.mdp.n_features))
    for command in COMMANDS:
        answer = didact(*command.format(world=world).split())
        if answer.code == 2:  # what may be shown cannot teach it, or not against a forgery
            assert command.startswith(("transfer", "teach {world} --lies")), answer
            assert "partial" in answer.err or "cannot teach it" in answer.err
        require_fits(answer.out, command)


@pytest.mark.parametrize("command", ALONE)
def test_commands_without_a_world_fit_one_screen(didact, tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    require_fits(didact(*command.split()).out, command)


def test_studies_and_the_studio_fit_one_screen(didact, tmp_path, monkeypatch):
    """Servers are told to be ready and end; their links have ports and tokens of full length."""
    studio = pytest.importorskip("didact.studio")
    monkeypatch.chdir(tmp_path)

    def serve(*given, ready, **settings):
        ready(f"http://127.0.0.1:65535/?token={'x' * 32}")

    monkeypatch.setattr(studio, "serve", serve, raising=False)
    monkeypatch.setattr(studio, "serve_study", serve, raising=False)
    monkeypatch.setattr("didact.cli.studio.open_in_browser", lambda link, private: None)
    for command in OF_A_STUDY:
        answer = didact(*command.split())
        assert answer.code == 0, (command, answer)
        require_fits(answer.out, command)
