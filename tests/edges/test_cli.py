"""The command line as a person or a script meets it: output, exit codes, one line for bad input."""

import inspect
import json
import os
import re
import subprocess
import sys

import pytest
from gymnasium.envs.toy_text.taxi import TaxiEnv

from didact.cli import COMMANDS
from didact.mdp import load_task
from didact.mdp.files import task_document
from didact.worlds import make, worlds
from tests.command_line import in_own_process, refused

TASK = {
    "format": "didact.task/1",
    "name": "two cells",
    "n_states": 2,
    "n_actions": 2,
    "transitions": [[0, 0, 0, 1], [0, 1, 1, "9/10"], [0, 1, 0, 0.1]],
    "features": [[1, 0], [0, 1]],
    "weights": ["-1", 0.5],
    "discount": 0.95,
    "start": [[0, 1]],
    "terminal": [1],
    "feature_names": ["grey", "goal"],
}


def written(tmp_path, content) -> str:
    path = tmp_path / "task.json"
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        path.write_text(content if isinstance(content, str) else json.dumps(content))
    return str(path)


def test_worlds_lists_every_world_with_its_parameters(didact):
    answer = didact("worlds", "--details")
    assert (answer.code, answer.err) == (0, "")
    for name, info in worlds().items():
        assert f"\n{name}: " in "\n" + answer.out
        assert f"{name}: {info.summary}" in answer.told
        assert f"{name}: {info.summary}" in didact("worlds").told
        for parameter in info.parameters:
            assert f"{parameter}=" in answer.out
    assert "weights=-1,-10, discount=0.9, terminal=once" in answer.told
    assert "rows=required" in answer.out
    assert "object at 0x" not in answer.out


def test_worlds_as_json_says_what_is_required(didact):
    listed = json.loads(didact("worlds", "--json").out)
    assert list(listed) == list(worlds())
    assert listed["grid"]["required"] == ["rows", "weights"]
    assert "rows" not in listed["grid"]["parameters"]
    assert listed["six-cell"]["parameters"]["weights"] == [-1, -10]
    assert listed["ball-sorting"]["parameters"]["starts"] is None
    assert (listed["gymnasium"]["takes_others"], listed["chain"]["takes_others"]) == (True, False)


def test_what_worlds_lists_can_be_typed(didact):
    """Every default that is printed is read back as the same world."""
    listing = didact("worlds").out.split("\n\n")
    for block in listing[:-1]:
        name, _, *lines = block.splitlines()
        if name in ("grid", "gymnasium"):
            continue
        settings = " ".join(line.strip() for line in lines).split(", ")
        typed = [part for setting in settings for part in ("-p", setting)]
        plain, spelled = didact("show", name, "--json"), didact("show", name, "--json", *typed)
        assert (spelled.code, spelled.out) == (0, plain.out), name


def test_the_seed_names_the_world(didact):
    one, same, other = (
        didact("show", "random-grid", "--json", "--seed", seed).out for seed in ("1", "1", "2")
    )
    assert one == same != other
    assert one == didact("show", "random-grid", "--json", "-p", "seed=1").out


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (["size=3"], 9),
        (["size=2x5"], 10),
        (["size=4", "walls=0.25"], 12),
        (["size=3", "n-features=2"], 9),
    ],
)
def test_parameters_are_read_as_typed(didact, settings, expected):
    typed = [part for setting in settings for part in ("-p", setting)]
    assert json.loads(didact("show", "random-grid", "--json", *typed).out)["n_states"] == expected


def test_lists_and_decimals_keep_their_exact_values(didact, tmp_path):
    path = str(tmp_path / "saved.json")
    didact("show", "six-cell", "-p", "weights=-1,-0.3", "-p", "discount=9/10", "--out", path)
    task = load_task(path)
    assert [str(w) for w in task.true_weights.fractions()] == ["-1", "-3/10"]
    assert str(task.mdp.exact_discount) == "9/10"


def test_a_saved_world_is_shown_the_same(didact, tmp_path):
    path = str(tmp_path / "saved.json")
    saved = didact("show", "random-grid", "-p", "size=4", "--out", path)
    assert saved.out.endswith(f"\n  saved as {path}\n")
    again = didact("show", path)
    assert again.out + f"  saved as {path}\n" == saved.out
    assert task_document(load_task(path)) == task_document(make("random-grid", size=4))
    quiet = didact("show", "six-cell", "--json", "--out", path)
    assert json.loads(quiet.out)["n_states"] == 6


@pytest.mark.parametrize(
    ("world", "parameters", "n_states"),
    [
        ("FrozenLake-v1", [], 16),
        ("FrozenLake-v1", ["-p", "map_name=8x8", "-p", "is_slippery=false"], 64),
        ("CliffWalking-v0", [], 48),
        ("Taxi-v3", ["-p", "discount=0.9"], 500),
    ],
)
def test_gymnasium_ids_are_worlds(didact, world, parameters, n_states):
    answer = didact("show", world, "--json", *parameters)
    assert answer.code == 0
    assert json.loads(answer.out)["n_states"] == n_states


def test_words_of_other_packages_are_in_the_one_line(didact):
    """Of another version Click and Gymnasium say more; other refusals: tests/data/refusals.json."""
    refused(didact("show", "six-cell", "--nope"), "No such option")
    refused(didact("show", "Nope-v9"), "has no environment 'Nope-v9'")


def test_a_fickle_passenger_is_refused(didact):
    if "fickle_passenger" not in inspect.signature(TaxiEnv).parameters:
        pytest.skip("in this Gymnasium no passenger is fickle")
    answer = didact("show", "Taxi-v4", "-p", "fickle_passenger=true")
    refused(answer, "fickle_passenger=False")


def test_no_arguments_and_help_are_the_same_page(didact):
    alone, asked = didact(), didact("--help")
    assert alone == asked == didact("-h")
    assert alone.code == 0
    for command in COMMANDS:
        assert f"\n  {command} " in alone.out
        assert didact(command, "--help").out.startswith(f"Usage: didact {command} ")


def test_a_bug_is_a_traceback(didact, monkeypatch):
    monkeypatch.setattr("didact.planning.solve", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        didact("show", "six-cell")


def test_an_interrupt_is_one_line_and_130(didact, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("didact.planning.solve", interrupted)
    answer = didact("show", "six-cell")
    assert (answer.code, answer.err.strip()) == (130, "didact: interrupted")


def test_python_m_didact_is_the_same_command(didact):
    for module in ("didact", "didact.cli"):
        answer = in_own_process("show", "chain", python=("-m", module))
        assert answer == didact("show", "chain")
    refused(in_own_process("show", "nothing"), "nothing")


@pytest.mark.parametrize("arguments", [["worlds"], ["show", "chain"], ["show", "chain", "--json"]])
def test_a_reader_that_stops_reading_is_no_error(arguments):
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "w") as unread:
        answer = in_own_process(*arguments, out=unread)
    assert (answer.code, answer.err) == (0, "")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
@pytest.mark.parametrize("arguments", [["worlds"], ["show", "chain"], ["--help"]])
def test_an_output_that_cannot_be_written_is_one_line(arguments):
    with open("/dev/full", "w") as full:
        answer = in_own_process(*arguments, out=full)
    refused(answer, "didact: the output cannot be written: No space left on device\n", code=1)


def test_an_output_without_arrows_gets_plain_signs():
    arguments = ("show", "ball-sorting", "-p", "starts=9")
    answer = in_own_process(*arguments, environment={"PYTHONIOENCODING": "ascii"})
    assert (answer.code, answer.out.isascii()) == (0, True)
    drawn = answer.out.splitlines()
    assert drawn[3] == "  b O  a <  a*<  a >  a >  c O"
    assert "?" not in "".join(drawn)


def test_names_in_json_survive_any_encoding(tmp_path):
    path = written(tmp_path, {**TASK, "name": "größe"})
    for encoding in ("ascii", "utf-8"):
        environment = {"PYTHONIOENCODING": encoding}
        answer = in_own_process("show", path, "--json", environment=environment)
        assert json.loads(answer.out)["name"] == "größe"


def test_colours_come_with_a_terminal_only():
    forced = {"FORCE_COLOR": "1", "TERM": "xterm-256color"}
    plain = in_own_process("show", "six-cell")
    coloured = in_own_process("show", "six-cell", environment=forced)
    assert "\x1b[" not in plain.out
    assert "\x1b[" in coloured.out


LOADS = """
import sys, didact.cli
for arguments in {commands!r}:
    try: didact.cli.main(arguments)
    except SystemExit as left: assert left.code == 0, arguments
    for module in {heavy!r}: assert module not in sys.modules, (arguments, module)
"""


def test_help_and_small_worlds_load_no_compiler():
    """One process for each list, which must not have loaded anything heavy after any command."""
    helps = [["--help"], *([command, "--help"] for command in COMMANDS)]
    heavy = ["numpy", "scipy", "numba", "flint", "gymnasium", "rich", "minari", "pyarrow"]
    for commands, modules in [
        (helps, heavy),
        ([["worlds"], ["show", "random-grid"]], ["numba", "gymnasium"]),
    ]:
        code = LOADS.format(commands=commands, heavy=modules)
        answer = in_own_process(python=("-c", code))
        assert (answer.code, answer.err) == (0, "")


OPTIMISED = """
import sys
from didact.cli import main
print(__debug__)
for line in sys.argv[1:]:
    try:
        main(line.split())
    except SystemExit as ended:
        print("exit", ended.code)
"""


@pytest.mark.slow
def test_python_without_asserts_says_the_same(tmp_path, monkeypatch):
    """-O leaves asserts out; what is told, and the exit codes, stay."""
    monkeypatch.chdir(tmp_path)
    commands = (
        "teach six-cell --json",
        "teach uvm-failure --teacher uvm",
        "teach chain --loss 10% --json",
        "teach six-cell --teacher exact --out proved.json",
        "check six-cell proved.json --proof",
        "check six-cell lesson.json --proof",
        "select lesson.json --task six-cell --method exact --json",
        "audit six-cell --agent weights.json --loss 10% --json",
        "exam six-cell --json --ask comparisons",
        "rank six-cell chain --no-exact",
        "exam six-cell --json --ask actions",
        "audit six-cell --agent weights.json",
        "show nothing.json",
    )
    (tmp_path / "weights.json").write_text("[1, -1]")
    (tmp_path / "lesson.json").write_text("[[[2, 1]]]")
    told = [
        subprocess.run(
            [sys.executable, *flags, "-c", OPTIMISED, *commands], capture_output=True, text=True
        )
        for flags in ((), ("-O",))
    ]
    plain, optimised = (
        re.sub("didact: compiling .*\n", "", f"{each.stdout}{each.stderr}") for each in told
    )
    assert plain.startswith("True\n")
    assert plain.removeprefix("True\n") == optimised.removeprefix("False\n")
    assert "exit 3" in plain
    assert "Traceback" not in plain
