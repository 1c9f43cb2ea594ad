"""Standard streams: closed, full, without a reader, printed to by others; and interrupts."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from tests.effort import number

NOISY = """
import os
import gymnasium
import numpy as np

class Noisy(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-9, 9, (1,))
    action_space = gymnasium.spaces.Discrete(2)
    def __init__(self):
        print("made"); os.write(1, b"made in C\\n")
        self.place = 0.0
    def reset(self, *, seed=None, options=None):
        print("reset"); os.write(1, b"reset in C\\n")
        self.place = 0.0
        return np.array([self.place], dtype=np.float32), {}
    def step(self, action):
        print("stepped"); os.write(1, b"stepped in C\\n")
        self.place += 2.0 * action - 1.0
        return np.array([self.place], dtype=np.float32), self.place, abs(self.place) > 3, False, {}

def phi(before, action, after, ended):
    return [float(after[0]), 1.0]

def act(observation):
    return 1
"""
OBSERVE = [
    *("observe", "noisy.py:Noisy", "--features", "noisy.py:phi", "--policy", "noisy.py:act"),
    *("--weights", "1,0", "--length", "3", "--n-states", "3", "--discount", "0.5"),
]


def started(*arguments: str, redirected: str = "", **options) -> subprocess.Popen:
    """A command with the redirections of a shell, in a process group of its own."""
    command = f'exec "$0" -m didact "$@" {redirected}'
    return subprocess.Popen(
        ["sh", "-c", command, sys.executable, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        text=True,
        **options,
    )


WAYS = {
    "<&-": 0,
    ">&-": 0,
    "2>&-": 0,
    "<&- >&-": 0,
    "<&- >&- 2>&-": 0,
    ">/dev/full": 1,
    ">/dev/full 2>/dev/full": 1,
    "2>/dev/full": 0,
    ">&- 2>/dev/full": 0,
}
COMMANDS = {
    "a result": (["teach", "six-cell", "--out", "lesson.json"], 0),
    "JSON": (["teach", "six-cell", "--json"], 0),
    "help": (["teach", "--help"], 0),
    "a list": (["worlds"], 0),
    "a refusal": (["teach", "no-such-world"], 2),
    "a wrong option": (["teach", "--no-such"], 2),
}
QUICK = ("JSON", "help", "a wrong option")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize(
    "what",
    [pytest.param(each, marks=() if each in QUICK else pytest.mark.slow) for each in COMMANDS],
)
def test_closed_and_full_streams_change_no_result(what, tmp_path):
    """The exit code is the same as ever; only a full standard output is a failure of its own."""
    arguments, code = COMMANDS[what]
    ways = [*WAYS] if number(0, 1) else ["<&- >&-", ">/dev/full 2>/dev/full"]
    running = [(way, started(*arguments, redirected=way, cwd=tmp_path)) for way in ways]
    for way, process in running:
        out, err = process.communicate()
        assert "Traceback" not in err, (way, err)
        assert process.returncode == (code or WAYS[way]), (way, out, err)
    if what == "a result":
        assert json.loads((tmp_path / "lesson.json").read_text())["format"] == "didact.lesson/1"


@pytest.fixture
def noisy(tmp_path):
    (tmp_path / "noisy.py").write_text(NOISY)
    return tmp_path


@pytest.mark.parametrize("jobs", ["1", pytest.param("2", marks=pytest.mark.slow)])
def test_what_an_environment_prints_is_no_part_of_the_json(noisy, jobs):
    done = started(*OBSERVE, "--json", "--n-rollouts", "3", "--jobs", jobs, cwd=noisy)
    out, err = done.communicate()
    assert done.returncode in (0, 3), err
    assert json.loads(out)
    for text in ("made", "reset", "stepped"):
        assert text in err.split("\n"), err
        assert f"{text} in C" in err.split("\n")


ENDS = {
    "teach": ["teach", "failing.py:Walk"],
    "explain": ["explain", "failing.py:Walk", "-o", "page.html"],
    "audit": ["audit", "failing.py:Walk", "--agent", "failing.py:act"],
    "observe": [*("failing.py".join(part.split("noisy.py")) for part in OBSERVE)],
}
FAILING = (
    NOISY.replace("print(", "str(").replace("os.write(1, ", "str(")
    + """
n_calls = {}
def fail(call):
    n_calls[call] = n_calls.get(call, 0) + 1
    if call == CALL and n_calls[call] == COUNT:
        raise KINDS[KIND]
KINDS = [OSError(28, "no more"), EOFError(), SystemExit(3), KeyError(1), ValueError("\\n\\n")]

class Walk(Noisy):
    observation_space = gymnasium.spaces.Discrete(5)
    name = "Walk"
    def reset(self, **_):
        fail("reset")
        self.place = 0
        return 0, {}
    def step(self, action):
        fail("step")
        self.place = min(4, max(0, self.place + 2 * int(action) - 1))
        return self.place, float(self.place == 4), self.place == 4, False, {}
    def __deepcopy__(self, memo):
        fail("copy")
        twin = type(self)()
        twin.place = self.place
        return twin

class Noisy(Walk):
    observation_space = gymnasium.spaces.Box(0, 9, (1,))
    def reset(self, **_):
        return np.array([super().reset()[0]], dtype=np.float32), {}
    def step(self, action):
        place, *rest = super().step(action)
        return np.array([place], dtype=np.float32), *rest
"""
)


@pytest.mark.parametrize("command", ENDS)
def test_an_environment_that_fails_at_any_call_is_told_in_one_line(
    command, tmp_path, didact, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    for i, call in enumerate(("reset", "step", "copy") * number(2, 40)):
        kind, count = i % 5, 1 + (i * i) % 16
        told = f"CALL, KIND, COUNT = {call!r}, {kind}, {count}\n"
        (tmp_path / "failing.py").write_text(told + FAILING)
        answer = didact(*ENDS[command], *(["--n-rollouts", "2"] if command == "observe" else []))
        assert answer.code in (0, 2, 3), answer
        if answer.code == 2:
            assert answer.err.count("\n") == 1, (call, kind, count, answer.err)
        for false in ("interrupted", "output"):
            assert false not in answer.err, (call, kind, count, answer.err)


def is_running(group: int) -> bool:
    """Whether a process of a group runs; one that has ended and was not waited for does not."""
    found = subprocess.run(["ps", "-eo", "pgid=,stat="], capture_output=True, text=True)
    lines = [line.split() for line in found.stdout.splitlines()]
    return any(int(each) == group and not state.startswith("Z") for each, state in lines)


def interrupted_after(seconds: float, *arguments: str, **options) -> None:
    """A Ctrl-C for all processes of a command ends them, in one line."""
    process = started(*arguments, **options)
    time.sleep(seconds)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate()
    assert process.returncode in (0, 130, -signal.SIGINT), (seconds, err)  # by a signal: also 130
    is_python = "runpy" in err and "/didact/cli/" not in err  # which had not yet started
    assert is_python or err in ("", "didact: interrupted\n"), (seconds, err)
    while is_running(process.pid):
        time.sleep(0.05)


def test_an_interrupt_while_workers_start_is_one_line(noisy, tmp_path):
    """The environment prints nothing here, so that standard error has that line alone."""
    quiet = NOISY.replace("print(", "str(").replace("os.write(1, ", "str(")
    (tmp_path / "noisy.py").write_text(quiet)
    arguments = (*OBSERVE, "--n-rollouts", "4000", "--jobs", "2")
    for seconds in [0.3 + 0.3 * i for i in range(number(3, 20))]:
        interrupted_after(seconds, *arguments, cwd=tmp_path)


def test_an_interrupt_while_the_studio_starts_is_one_line():
    pytest.importorskip("uvicorn")
    for seconds in [0.2 + 0.2 * i for i in range(number(3, 20))]:
        interrupted_after(seconds, "studio", "--no-open")


def test_a_stream_that_ends_is_no_interruption(didact, monkeypatch):
    """Click would tell an EOFError as one."""
    from didact.cli import show

    monkeypatch.setattr(show.command, "callback", lambda **_: pickle_of_nothing())
    with pytest.raises(RuntimeError, match="ended too early"):
        didact("show", "six-cell")


def pickle_of_nothing():
    raise EOFError("Ran out of input")
