"""Whatever stands for a file, a policy, a name or a count: one line, exit code 2, little memory."""

import os
import threading
from functools import partial

import numpy as np
import pytest

from tests.command_line import in_own_process, refused

MAX_MEMORY = 2**30
LONG = "x" * 300


BOUNDED = f"""
import resource
from didact.cli import main

resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
try:
    main()
finally:
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 < {MAX_MEMORY}
"""


@pytest.fixture
def bounded(in_own_folder):
    """Run a command in a process of its own that may take 1 GiB, and a minute of its processor."""
    return partial(in_own_process, python=("-c", BOUNDED), anew=False)


def sparse_array(path):
    with open(path, "wb") as file:
        header = {"descr": "<f8", "fortran_order": False, "shape": (250_000_000,)}
        np.lib.format.write_array_header_1_0(file, header)
        file.truncate(file.tell() + 2_000_000_000)


POLICIES = {
    "empty.npy": (lambda path: path.write_bytes(b""), "no array that NumPy saved"),
    "sparse.npy": (sparse_array, "must hold at most"),
    "bool.npy": (lambda path: np.save(path, np.ones((6, 4), bool)), "it holds bool"),
    "actions.npy": (lambda path: np.save(path, np.ones(6, bool)), "it holds bool"),
    "complex.npy": (lambda path: np.save(path, np.ones((6, 4)) * 0.25j), "it holds complex128"),
    "record.npy": (lambda path: np.save(path, np.zeros(6, [("a", "i4")])), "plain numbers"),
    "zero.npy": (lambda path: path.symlink_to("/dev/zero"), "it is a device"),
    "zero.json": (lambda path: path.symlink_to("/dev/zero"), "it is a device"),
    "pipe.npy": (os.mkfifo, "it is a pipe"),
    "deep.npy": (lambda path: np.save(path, np.zeros((6, 4, 2))), "the shape is (6, 4, 2)"),
    f"{LONG}.npy": (lambda path: None, "File name too long"),
}


@pytest.mark.parametrize("name", POLICIES)
def test_files_that_are_no_policy(didact, in_own_folder, name):
    make, words = POLICIES[name]
    make(in_own_folder / name)
    refused(didact("explain", "six-cell", "--policy", name), words)


@pytest.mark.parametrize("suffix", [".json", ".jsonl"])
def test_endless_recordings(bounded, tmp_path, suffix):
    zero, pipe = tmp_path / f"zero{suffix}", tmp_path / f"pipe{suffix}"
    zero.symlink_to("/dev/zero")
    refused(bounded("select", zero, "--task", "six-cell"), "it is a device")
    os.mkfifo(pipe)

    def write():
        try:
            with open(pipe, "wb") as file:
                while True:
                    file.write(b"[[1, 2], [1, 2]]\n" * 1000)
        except BrokenPipeError:
            pass

    writer = threading.Thread(target=write)
    writer.start()
    refused(bounded("select", pipe, "--task", "six-cell"), "must have at most 10000000 bytes")
    writer.join()


def test_a_sparse_policy_and_a_sparse_task_take_no_memory(bounded, tmp_path):
    sparse_array(tmp_path / "sparse.npy")
    refused(bounded("explain", "six-cell", "--policy", "sparse.npy"), "must hold at most")
    with open(tmp_path / "sparse.json", "wb") as file:
        file.truncate(390_000_000)
    refused(bounded("teach", "sparse.json"), "it is binary")


@pytest.mark.parametrize(
    "arguments",
    [
        ("show", LONG),
        ("show", f"{LONG}.json"),
        ("teach", "six-cell", "--out", LONG),
        ("show", "six-cell", "--out", LONG),
        ("check", "six-cell", LONG),
        ("learn", "six-cell", LONG),
        ("ask", "six-cell", "--demonstrations", LONG),
        ("ask", "six-cell", "--out", LONG),
        ("rank", "six-cell", "--no-exact", "--out", LONG),
        ("explain", "six-cell", "-o", LONG),
        ("select", LONG),
        ("select", f"{LONG}.jsonl"),
        ("select", f"{LONG}-v0"),
        ("select", "six.json", "--task", LONG),
        ("select", "six.json", "--task", "six-cell", "--out", LONG),
        ("convert", LONG, "to.json"),
        ("convert", LONG, "to.json", "--source-format", "minari"),
        ("convert", LONG, "to.json", "--source-format", "imitation"),
        ("convert", "six.json", LONG, "--task", "six-cell"),
        ("convert", "six.json", f"{LONG}.jsonl", "--task", "six-cell"),
        ("convert", "six.json", f"{LONG}-v0", "--task", "six-cell"),
        ("convert", "six.json", f"mine/{LONG}-v0", "--task", "six-cell"),
        ("reproduce", "example", "--out", LONG),
        ("reproduce", LONG),
    ],
    ids=lambda arguments: " ".join(arguments).replace(LONG, "LONG"),
)
def test_names_that_no_file_can_have(didact, in_own_folder, arguments):
    (in_own_folder / "six.json").write_text("[[[5, 2], [4, 2]]]")
    refused(didact(*arguments))
    assert {path.name for path in in_own_folder.iterdir()} <= {"six.json", "minari"}
