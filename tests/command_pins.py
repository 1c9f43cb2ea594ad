"""What commands print, as text and with --json; `python -m tests.command_pins write` records it.

Every command runs once as a person reads it and once for machines, on small worlds, in a folder of
its own. Times, versions and the folder's path are replaced; numbers keep six significant digits.
Long documents are recorded by a digest for each of their keys, so that a change names its place.

`data/refusals.json` lists commands that are refused, the files they are given, and the one line of
each: to add one, write the command with an empty line and record anew.
"""

import contextlib
import io
import json
import os
import re
import shlex
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any

import didact
from didact.cli import main
from didact.cli.printing import BAD_INPUT
from tests.pins import digest, rounded

FILE = Path(__file__).parent / "data" / "commands.json"
REFUSALS = FILE.with_name("refusals.json")
SETTINGS = {"COLUMNS": "80", "MINARI_DATASETS_PATH": "minari"}
MAX_WHOLE = 2_000
"""Documents of so many signs are recorded whole."""

GRID = "random-grid -p size=3 -p n_features=3 --seed 1"
COMMANDS = f"""
worlds
show {GRID} --out task.json
show six-cell
show six-cell --arithmetic float
show chain --arithmetic exact
show rail.json
teach six-cell --out lesson.json
teach six-cell --details
teach six-cell --starts 4 --out partial.json
teach six-cell --starts 4 --details
teach six-cell --starts 2,4
teach six-cell --arithmetic float
teach rail.json
teach random-grid --seed 1 --horizon 1 --budget 5
teach FrozenLake-v1 --out lake.json
teach task.json --teacher exact --horizon 2 --out exact.json
teach {GRID} --starts 0 --teacher uvm -t n_samples=500
teach {GRID} --members 2 --member-cost 1 --out family.json
teach {GRID} --feedback comparisons --feedback demonstrations --out mixed.json
teach {GRID} --loss 10%
teach {GRID} --loss 5% --learner-model half-spaces
frontier {GRID} --out frontier.html
check six-cell lesson.json
check six-cell lesson.json --proof --loss
check six-cell partial.json --proof
check FrozenLake-v1 lake.json
check six-cell short.json --proof --details
check six-cell named.json
check six-cell both.json
check six-cell suboptimal.json --proof --details
check six-cell contradicting.json --proof --details
check six-cell said.jsonl
check six-cell said.jsonl --proof
attack six-cell lesson.json
identify task.json --change end=3 --change discount=1/2:2
identify task.json --goal order=0,1
teach six-cell --lies 1
check task.json wrong.json
check {GRID} mixed.json --proof
check {GRID} family.json --members 2 --proof
explain task.json --out page.html --pair 0,1
explain task.json --policy policy.json --out policy.html
explain task.json --policy policy.json --if-not-optimal nearest --for people --out people.html
explain {GRID} --members 2 --out family.html
learn task.json exact.json --n-steps 200 --n-chains 2 --out belief.npz
learn task.json exact.json --learner ml-irl -l n_starts=2
learn six-cell log.json --confidence 20 --n-steps 300 --n-chains 2
learn six-cell log.json --confidence 20 --n-steps 300 --n-chains 2 --details
informativeness task.json exact.json --n-draws 20
ask task.json --n-queries 2 --n-steps 100 --n-chains 2 --out run.json
ask task.json --strategy random --comparisons --n-queries 2 --n-steps 100 --states 1,2,3
ask task.json --person --n-queries 2 --n-steps 100 --seed 3 --out answers.json
transfer exact.json {GRID} --members 3 --out transfer.json
exam six-cell --key --proof --out exam.json --html exam.html
exam {GRID} --ask actions
audit six-cell --agent weights.json
audit six-cell --agent policy6.json --loss 10%
audit six-cell --agent sides.json --exam exam.json
audit six-cell --person
observe point-robot --n-rollouts 4 --length 5 --n-states 20 --discount 0.9 --html r.html
rank random-grid Blackjack missing.json
rank six-cell uvm-failure nothing --out rank.json --svg rank.svg
select exact.json --task task.json --method exact --out kept.jsonl --replace
convert exact.json steps.csv --replace
convert steps.csv again.json --task task.json --episodes 0 --replace
reproduce example --quick --jobs 1 --out reproduced
study init study.sqlite {GRID} --questions 2 --practice 1 --conditions exact,none
study simulate study.sqlite -n 4
study export study.sqlite --out tables
study delete study.sqlite 0
""".strip().splitlines()

SLOW = ("reproduce", "study simulate", "learn task.json exact.json --learner ml-irl")
NO_JSON = ("study init", "study export", "study delete")
PERSON = "ask task.json --person"
"""The second time it goes on with the answers of the first."""
TYPED = "u\nx\nd\nz\nl\n1\n=\n2\n2\n1\n1\nq\n"
"""What a person types where one is asked."""
INPUTS: dict[str, Any] = {
    "wrong.json": [[[0, 0], [0, 0]], [[4, 1]]],
    "short.json": [[[3, 0]]],
    "named.json": {"demonstrations": [[[3, 0]]]},
    "both.json": [[[3, 0]], [[2, 1]]],
    "suboptimal.json": [[[2, 1], [5, 2], [4, 2], [3, 0]], [[1, 1]]],
    "contradicting.json": [[[2, 2], [1, 2]]],
    "log.json": [[[2, 1], [5, 2], [4, 2], [3, 0]]] * 5 + [[[4, 3]]],
    "said.jsonl": '{"kind": "comparison", "state": 2, "better": 2, "other": 1}\n'
    "[[5, 2], [4, 2], [3, 0]]\n",
    "rail.json": {
        "format": "didact.task/1", "name": "rail", "n_states": 2, "n_actions": 1,
        "transitions": [[0, 0, 1, 1], [1, 0, 0, 1]], "features": [[1], [0]], "weights": [1],
        "discount": 0.5,
    },
    "policy.json": [1, 1, 1, 3, 3, 3, 0, 0, 0],
    "policy6.json": [0, 1, 2, 3, 0, 1],
    "weights.json": [-1, -10],
    "sides.json": ["first", "second"],
}  # fmt: skip
"""Files that commands are given; a text as it stands, anything else as JSON."""
TIMES = re.compile(
    r"\d+(\.\d+)? (s|ms|seconds?)\b|\d+ kB|busy \d+%|\d{4}-\d\d-\d\d( \d\d:\d\d UTC)?"
)
NUMBER = re.compile(r"-?\d+\.\d{4,}(e-?\d+)?")


def normalised(text: str, folder: str) -> str:
    """A text without what differs from run to run and from machine to machine."""
    text = text.replace(os.path.realpath(folder), "FOLDER").replace(folder, "FOLDER")
    text = text.replace(f"Gymnasium {metadata.version('gymnasium')}", "Gymnasium VERSION")
    text = TIMES.sub("TIME", text.replace(didact.__version__, "VERSION"))
    return NUMBER.sub(lambda found: f"{float(found[0]):.4g}", text)


def recorded(document: Any) -> Any:
    """A document whole, or where it is long a digest of each entry."""
    document = rounded(document)
    if len(json.dumps(document)) <= MAX_WHOLE:
        return document
    if isinstance(document, dict):
        return {key: recorded(value) for key, value in document.items()}
    return digest(document)


def run(arguments: list[str], typed: str) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of a command in this process."""
    out, err, before = io.StringIO(), io.StringIO(), sys.stdin
    sys.stdin = io.StringIO(typed)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main(arguments)
    except SystemExit as left:
        return int(left.code or 0), out.getvalue(), err.getvalue()
    finally:
        sys.stdin = before
    raise AssertionError("a command must end by an exit code")


def results(folder: str, *, slow: bool) -> dict[str, Any]:
    """What every command prints, in a folder that is empty before; slow: the slow ones too."""
    for name, document in INPUTS.items():
        Path(name).write_text(document if isinstance(document, str) else json.dumps(document))
    found: dict[str, Any] = {}
    for line in COMMANDS:
        if line.startswith(SLOW) and not slow:
            continue
        given = shlex.split(line)
        code, out, err = run(given, TYPED)
        told = normalised(out, folder).splitlines()
        found[line] = {"code": code, "text": told}
        if code == BAD_INPUT:
            found[line]["refusal"] = normalised(err, folder)
        if not line.startswith(NO_JSON):
            goes_on = ["--demonstrations", "answers.json"] if line.startswith(PERSON) else []
            code, out, _ = run([*given, *goes_on, "--json"], TYPED)
            document = json.loads(normalised(out, folder))
            for study in document.get("studies", ()):
                del study["efficiency"]  # of workers, which is a time
            found[line]["json"] = {"code": code, "document": recorded(document)}
    return found


def refused(folder: str) -> dict[str, str]:
    """The one line with which each command is refused that is to be; none leaves a file."""
    recorded = json.loads(REFUSALS.read_text(encoding="utf-8"))
    for name, text in recorded["files"].items():
        Path(name).write_text(text, encoding="utf-8")
    found = {}
    for line in recorded["refusals"]:
        code, out, err = run(shlex.split(line), "")
        assert (code, out, err.count("\n"), err[-1:]) == (BAD_INPUT, "", 1, "\n"), (line, out, err)
        found[line] = normalised(err, folder)
        left = {*os.listdir()} - {"__pycache__"}
        assert left == {*recorded["files"]}, (line, left)
    return found


def in_own_folder(work: Callable[[str], dict[str, Any]]) -> dict[str, Any]:
    """What is found in a folder that is deleted afterwards."""
    before, shown, paths = os.getcwd(), warnings.showwarning, [*sys.path]
    environment = {name: os.environ.get(name) for name in SETTINGS}
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.environ.update(SETTINGS)
        try:
            return work(folder)
        finally:
            os.chdir(before)
            warnings.showwarning = shown
            sys.path[:] = paths
            sys.modules.pop("failing", None)  # of the refused policies
            for name, value in environment.items():
                os.environ.pop(name)
                if value is not None:
                    os.environ[name] = value


def write() -> None:
    """Record what every command prints, and tell which moved."""
    old = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    began = time.monotonic()
    now = in_own_folder(partial(results, slow=True))
    for name, result in now.items():
        if old.get(name) != result:
            print("new" if name not in old else "moved", name)
    FILE.write_text(json.dumps(now, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    write_refusals()
    print(f"{time.monotonic() - began:.0f} s")


def write_refusals() -> None:
    """Record every refusal, and tell which moved."""
    document = json.loads(REFUSALS.read_text(encoding="utf-8"))
    for line, told in in_own_folder(refused).items():
        if document["refusals"][line] != told:
            print("moved", line[:99], told, sep="\n  ")
        document["refusals"][line] = told
    text = json.dumps(document, indent=1, ensure_ascii=False)
    REFUSALS.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:] not in (["write"], ["refusals"]):
        sys.exit("usage: python -m tests.command_pins write|refusals")
    write() if sys.argv[1] == "write" else write_refusals()
