"""Waiting times of a person: help, and the first picture with and without compiled kernels."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time

import didact
from benchmarks.timing import print_table, readable


def run(command: list[str], cache: str) -> float:
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    began = time.perf_counter()
    subprocess.run([sys.executable, "-m", *command], env=environment, check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
    return time.perf_counter() - began


def report() -> None:
    commands = [
        ["didact", "--help"],
        ["didact", "show", "six-cell"],
        ["didact", "show", "random-grid"],
        ["didact", "show", "random-grid", "-p", "slip=0.2"],
        ["didact", "show", "Taxi-v4"],
        ["didact", "show", "random-grid", "-p", "size=200", "-p", "slip=0.2"],
        ["didact.warm"],
    ]
    with tempfile.TemporaryDirectory() as folder:
        lesson = os.path.join(folder, "lesson.json")
        didact.teach(didact.make("random-grid")).save(lesson)
        _print([*commands, ["didact", "learn", "random-grid", lesson]])


def _print(commands: list[list[str]]) -> None:
    rows = []
    for command in commands:
        with tempfile.TemporaryDirectory() as cache:
            cold = run(command, cache)
            warm = min(run(command, cache) for _ in range(3))
        rows.append([" ".join(map(os.path.basename, command)), readable(cold), readable(warm)])
    print_table(
        "Start-up (a new process each; cold: empty kernel cache)", ["command", "cold", "warm"], rows
    )
