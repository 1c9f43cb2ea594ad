"""Every file that didact writes is whole or not there: failing disks and interruptions."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import sys
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import didact
from didact.active import compare
from didact.files import json as writing
from tests.effort import number

QUICK = {"n_steps": 30, "n_chains": 2}


@cache
def things():
    task = didact.make("random-grid", size=3, n_features=3)
    lesson = didact.teach(task)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        belief = didact.learn(task.mdp, lesson.demonstrations, **QUICK)
        run = didact.ask(task, strategy="random", n_queries=2, **QUICK)
        found = compare([task], ["random"], n_queries=1, **QUICK)
    return {"task": task, "lesson": lesson, "belief": belief, "run": run, "comparison": found}


WRITERS = {
    "task.json": lambda path: things()["task"].save(path),
    "lesson.json": lambda path: things()["lesson"].save(path),
    "belief.npz": lambda path: things()["belief"].save(path),
    "run.json": lambda path: things()["run"].save(path),
    "comparison.json": lambda path: things()["comparison"].save(path),
    "page.html": lambda path: things()["lesson"].report(path),
    "recording.json": lambda path: record(path),
    "recording.jsonl": lambda path: record(path),
}


def record(path):
    lesson, task = things()["lesson"], things()["task"]
    didact.Recording(lesson.demonstrations, task=task).save(path, replace=True)


STEPS = {
    "not opened": (writing, "open"),
    "not flushed": (os, "fsync"),
    "not the old permissions": (shutil, "copymode"),
    "not moved": (os, "replace"),
}
REASONS = (errno.ENOSPC, errno.EROFS, errno.EIO, errno.EDQUOT, errno.EACCES)


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("step", STEPS)
def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(name, step, tmp_path, monkeypatch):
    path = tmp_path / name
    WRITERS[name](path)
    old = path.read_bytes()
    module, function = STEPS[step]
    for reason in REASONS:
        calls = []

        def fail(*arguments, reason=reason, calls=calls, **options):
            calls.append(1)
            raise OSError(reason, os.strerror(reason))

        with monkeypatch.context() as patch:
            patch.setattr(module, function, fail, raising=False)
            with pytest.raises(didact.InvalidInput, match="cannot be written") as refusal:
                WRITERS[name](path)
        assert calls
        assert str(refusal.value).isprintable()
        assert path.read_bytes() == old
        assert os.listdir(tmp_path) == [name]


def interrupted_at(function, call: int) -> bool:
    """Run it, with a Ctrl-C at so many calls of functions; whether that came before its end."""
    count = 0

    def profile(frame, event, argument):
        nonlocal count
        count += event in ("call", "c_call")
        if count == call:
            sys.setprofile(None)
            signal.raise_signal(signal.SIGINT)

    try:
        sys.setprofile(profile)
        try:
            function()
        finally:
            sys.setprofile(None)
    except KeyboardInterrupt:
        return True
    return False


def calls_of(function) -> int:
    count = 0

    def profile(frame, event, argument):
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(profile)
    try:
        function()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("name", WRITERS)
def test_an_interruption_at_any_moment_leaves_a_whole_file(name, tmp_path):
    path = tmp_path / name
    WRITERS[name](path)
    old = path.read_bytes() + b" "
    total = calls_of(lambda: WRITERS[name](path))
    n_interrupted = 0
    for call in np.linspace(1, total, number(7, 60)).astype(int).tolist():
        path.write_bytes(old)
        n_interrupted += interrupted_at(lambda: WRITERS[name](path), call)
        assert os.listdir(tmp_path) == [name], (call, total)
        content = path.read_bytes()
        assert content == old or is_whole(path), (call, total)
    assert n_interrupted >= 5


def is_whole(path: Path) -> bool:
    readers = {
        "task.json": didact.load_task, "lesson.json": didact.load_lesson,
        "belief.npz": lambda p: didact.load_belief(p, things()["task"].mdp),
        "recording.json": didact.load_recording, "recording.jsonl": didact.load_recording,
        "page.html": lambda p: p.read_text().rstrip().endswith("</html>"),
    }  # fmt: skip
    return path.name not in readers or bool(readers[path.name](path))
