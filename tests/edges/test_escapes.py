"""Whatever names a file or a plug-in brings, no command prints a sign that a terminal obeys."""

import ast
import json
import re
import warnings
from pathlib import Path

import pytest

import didact.cli
from didact.cli.printing import printable
from didact.errors import DidactWarning
from didact.teaching import register_teacher
from didact.worlds import register_world
from tests.command_line import Terminal

EVIL = (
    "\x1b]0;pwn\x07\x1b[31mX\x9b2J\x7f\x00\x08\u202e\u2066\u200f\u2028\u0085\ufeff\U000e0001\r\n"
    "INJECTED"
)
OBEYED = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff\U000e0001]"
)
TASK = {
    "format": "didact.task/1",
    "name": EVIL,
    "n_states": 4,
    "n_actions": 2,
    "transitions": [[0, 0, 1, 1], [0, 1, 2, 1], [3, 0, 2, 1], [3, 1, 0, 1]],
    "features": [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]],
    "weights": [2, 1, -1],
    "discount": "0.9",
    "start": [[0, 1]],
    "terminal": [1, 2],
    "state_names": [f"{EVIL}{i}" for i in range(4)],
    "action_names": [f"{EVIL}{i}" for i in range(2)],
    "feature_names": [f"{EVIL}{i}" for i in range(3)],
}


@pytest.fixture
def hostile(in_own_folder, own_registries):
    """A task, recordings, policies and plug-ins that are all called something evil."""
    files = {
        "task": TASK,
        "right": [[[0, 0]], [[3, 1], [0, 0]]],
        "wrong": [[[0, 0]], [[0, 1]], [[3, 0]]],
        "odd": [0, 0, 0, 0],
        "best": [0, 0, 0, 1],
        "evil": {**TASK, EVIL: 1},
        "torn": {**TASK, "format": EVIL},
    }
    for name, content in files.items():
        (in_own_folder / f"{name}.json").write_text(json.dumps(content))

    def world(size: int = 2):
        raise ValueError(EVIL)

    world.__doc__ = EVIL
    register_world("evil")(world)

    @register_teacher("evil")
    def teacher(problem, rng):
        warnings.warn(EVIL, DidactWarning, stacklevel=1)
        raise ValueError(EVIL)

    return in_own_folder


COMMANDS = [
    "worlds",
    "worlds --json",
    "show task.json",
    "show task.json --json",
    "show evil",
    "show EVIL",
    "show evil.json",
    "show torn.json",
    "teach task.json",
    "teach task.json --json",
    "teach task.json --scope all --closed",
    "teach task.json --scope all --budget 1 --horizon 1",
    "teach task.json --scope all --arithmetic float",
    "teach task.json --starts 3",
    "teach task.json --teacher evil",
    "teach task.json --teacher EVIL",
    "check task.json right.json",
    "check task.json right.json --scope all --proof",
    "check task.json wrong.json --scope all",
    "check task.json wrong.json --scope all --json",
    "explain task.json",
    "explain task.json --json",
    "explain task.json --policy odd.json --scope all",
    "explain task.json --policy best.json --scope all",
    "explain task.json --policy odd.json --if-not-optimal nearest --scope all",
    "learn task.json right.json --n-steps 100 --n-chains 2",
    "learn task.json right.json --n-steps 100 --n-chains 2 --json",
    "learn task.json wrong.json --learner ml-irl",
    "learn task.json wrong.json --learner max-entropy",
    "ask task.json --n-queries 1 --n-steps 100",
    "ask task.json --n-queries 1 --n-steps 100 --json",
    "ask task.json --n-queries 1 --person --out a.json",
    "rank task.json EVIL --no-exact",
    "rank task.json --json",
    "select right.json --task task.json --scope all",
    "select wrong.json --task task.json --scope all",
    "select wrong.json --task task.json --scope all --json",
    "select right.json --task task.json",
    "convert right.json EVIL.jsonl --task task.json",
    "convert right.json to.jsonl --task task.json --json",
    "EVIL",
    "show --EVIL",
    "learn task.json EVIL",
    "reproduce EVIL",
]


def assert_clean(text: str) -> None:
    assert not OBEYED.findall(text.removesuffix("\n")), ascii(text)


@pytest.mark.filterwarnings("ignore::didact.errors.NotMixed")
@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_prints_what_a_terminal_obeys(didact, hostile, command):
    name = EVIL.replace("\0", "")
    arguments = [part.replace("EVIL", name) for part in command.split()]
    answer = didact(*arguments, typed="1\n")
    assert answer.code in (0, 2, 3), answer
    assert_clean(answer.out)
    assert_clean(answer.err)
    assert "Traceback" not in answer.err
    lines = (answer.out + answer.err).splitlines()
    assert not [line for line in lines if line.startswith("INJECTED")]
    if "--json" in command:
        json.loads(answer.out)
        assert "\\u001b" in answer.out or "INJECTED" not in answer.out


def test_names_in_json_are_kept(didact, hostile):
    """Escaped, not cleaned: a machine reads what the file says."""
    assert json.loads(didact("show", "task.json", "--json").out)["name"] == EVIL


def test_a_terminal_gets_colours_and_no_orders(hostile):
    terminal = Terminal("teach", "task.json", "--scope", "all", folder=hostile)
    assert terminal.end() == 3
    assert b"\x1b[" in terminal.shown
    assert b"\x1b[31mX" not in terminal.shown
    assert b"\x1b]" not in terminal.shown
    assert_clean(terminal.text.replace("\r", ""))


def test_printable_keeps_what_people_write():
    assert printable("Größe 世界 é ∑ 🤖 ↑◎") == "Größe 世界 é ∑ 🤖 ↑◎"
    assert printable("a\tb\nc\u202ed") == "a b c d"


def test_commands_print_in_one_place():
    """A new command that prints by itself would print what it was given."""
    for path in sorted(Path(didact.cli.__file__).parent.glob("*.py")):
        if path.name == "printing.py":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call):
                called = ast.unparse(node.func)
                help_alone = ast.unparse(node) == "click.echo(context.get_help())"
                assert help_alone or called not in ("print", "click.echo", "click.secho"), path.name
                assert not called.endswith((".stdout.write", ".stderr.write")), path.name
