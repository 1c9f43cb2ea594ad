"""Where nothing can be written: one line, the old files as they were, nothing left lying about."""

import json
import shutil
import subprocess
import sys

import pytest

from tests.command_line import Answer, in_own_process
from tests.edges import test_faults

COMMANDS = {
    name: test_faults.COMMANDS[name]
    for name in (
        "a task",
        "a lesson",
        "a page",
        "a belief",
        "a run",
        "ranks",
        "JSON",
        "JSON lines",
        "a table",
        "Minari",
        "imitation",
    )
}

SCRIPT = """
import contextlib, io, json, os, resource, subprocess, sys
from pathlib import Path
from didact.cli import main

way, commands = sys.argv[1], json.loads(sys.argv[2])


def mounted(*options):
    done = subprocess.run(["mount", "-t", "tmpfs", *options, "tmpfs", "."], capture_output=True)
    if done.returncode:
        sys.exit(77)
    os.chdir(os.getcwd())


def run(arguments):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(arguments)
        except SystemExit as left:
            return left.code, err.getvalue()


def there():
    return {str(p): p.read_bytes() if p.is_file() else b"" for p in Path(".").rglob("*")}


if way != "a limit":
    mounted("-o", "size=1m")
Path("shown.json").write_text("[[[5, 2], [4, 2]]]")
first = {name: run(arguments)[0] for name, arguments in commands.items()}
if way == "a limit":
    sys.dont_write_bytecode = True  # Python would leave a part of it, and not notice
    resource.setrlimit(resource.RLIMIT_FSIZE, (20, 20))
elif way == "a full disk":
    with contextlib.suppress(OSError), open("filler", "wb") as file:
        while True:
            file.write(bytes(4096))
            file.flush()
else:
    mounted("-o", "remount,ro")
before, found = there(), {}
for name, arguments in commands.items():
    code, err = run(arguments)
    now = there()
    changed = sorted(p for p in {*now, *before} if now.get(p) != before.get(p))
    found[name] = [first[name], code, err, changed]
print(json.dumps(found))
"""


def limited(way: str) -> Answer:
    return in_own_process(way, json.dumps(COMMANDS), python=("-c", SCRIPT), anew=False)


def apart(way: str) -> Answer:
    """In a process that sees its own disks."""
    if not shutil.which("unshare"):
        pytest.skip("needs a way to mount a disk for itself")
    done = subprocess.run(
        ["unshare", "-m", sys.executable, "-c", SCRIPT, way, json.dumps(COMMANDS)],
        capture_output=True,
        text=True,
    )
    if done.returncode == 77 or done.stderr.startswith("unshare:"):
        pytest.skip("needs the right to mount a disk for itself")
    return Answer(done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize(
    "way",
    [
        "a limit",
        pytest.param("a full disk", marks=pytest.mark.slow),
        pytest.param("a read-only disk", marks=pytest.mark.slow),
    ],
)
def test_files_that_cannot_be_written(tmp_path, monkeypatch, way):
    """A limit on sizes of files; disks only where we may mount one of our own."""
    pytest.importorskip("minari")
    monkeypatch.chdir(tmp_path)
    done = limited(way) if way == "a limit" else apart(way)
    assert done.code == 0, done.err
    for name, (first, code, err, changed) in json.loads(done.out).items():
        assert first in (0, 3), (name, first)
        assert code == 2, (name, code, err)
        *notes, last = err.splitlines()
        assert "cannot be written" in last, (name, err)
        assert all(line.startswith("didact: ") for line in (*notes, last)), (name, err)
        assert changed == [], (name, err)
