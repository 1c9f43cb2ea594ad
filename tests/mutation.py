"""Mutation test: change a file in one place after another, and see whether its tests notice.

    python -m tests.mutation proofcheck.py bec/halfspaces.py     files
    python -m tests.mutation bec --sample 20               a room, twenty mutants of each file

A mutant is killed if a test fails or waits too long. One that survives is a missing test, or does
the same as the file: `tests/equivalent_mutants.txt` lists these, each with its reason. Tests run on
a copy of the package; the file's own tests come first, then those of its room.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue

from tests.mutants import Mutant, mutants

TESTS = Path(__file__).parent
ROOT = TESTS.parent
PACKAGE = ROOT / "src" / "didact"
EQUIVALENT = TESTS / "equivalent_mutants.txt"
PATIENCE = 4.0
"""A mutant may take so many times as long as the file itself, and ten seconds more."""
MEMORY = 8 * 2**30
"""Bytes that the tests of a mutant may take: one may read without end."""
PYTEST = f"""
import resource, sys, pytest
resource.setrlimit(resource.RLIMIT_AS, ({MEMORY}, {MEMORY}))
sys.exit(pytest.main(sys.argv[1:]))
"""


def files_of(names: list[str]) -> list[Path]:
    """The files that the names stand for, under the package; a folder stands for what is in it."""
    found: list[Path] = []
    for name in names:
        path = PACKAGE / name
        found += sorted(path.rglob("*.py")) if path.is_dir() else [path]
    return [path for path in found if path.name != "__init__.py"]


def tests_of(file: Path) -> list[str]:
    """The tests of a file: its own, then those of its room and the room's laws."""
    place = file.relative_to(PACKAGE)
    own = TESTS / place.parent / f"test_{place.name}"
    room = place.parts[0]
    beside = [*sorted((TESTS / room).rglob("test_*.py")), TESTS / "laws" / f"test_{room}.py"]
    if room == "proofcheck.py":
        beside += sorted((TESTS / "beyond").glob("test_*_proofs.py"))
        beside.append(TESTS / "teaching" / "covers" / "test_fewest.py")
    return [str(path) for path in dict.fromkeys([own, *beside]) if path.exists()]


def mutants_to_try(file: Path, sample: int | None, seed: int) -> list[Mutant]:
    """The mutants of a file but for the known equivalents, or so many of them by chance."""
    name = file.relative_to(PACKAGE).as_posix()
    lines = EQUIVALENT.read_text(encoding="utf-8").splitlines()
    known = {tuple(line.split(" | ")[1:3]) for line in lines if line.startswith(f"{name} | ")}
    every = mutants(file.read_text(encoding="utf-8"))
    chosen = [mutant for mutant in every if (mutant.inside, mutant.change) not in known]
    if sample is None or sample >= len(chosen):
        return chosen
    numbers = random.Random(seed).sample(range(len(chosen)), sample)
    return [chosen[i] for i in sorted(numbers)]


def notices(tests: list[str], folder: Path, seconds: float | None = None) -> bool:
    """Whether the tests fail, or take longer than that, on the package in the folder."""
    options = ["-x", "-q", "-m", "not slow", "-p", "no:cacheprovider", "-p", "no:xdist"]
    try:
        answer = subprocess.run(
            [sys.executable, "-c", PYTEST, *options, *tests],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=seconds,
        )
    except subprocess.TimeoutExpired:
        return True
    return answer.returncode != 0


@contextmanager
def copies(n: int) -> Iterator[SimpleQueue[Path]]:
    """Folders with a copy of the package each; who takes one puts it back."""
    with tempfile.TemporaryDirectory() as top:
        folders: SimpleQueue[Path] = SimpleQueue()
        for number in range(n):
            folder = Path(top) / str(number)
            leave_out = shutil.ignore_patterns("__pycache__")
            shutil.copytree(PACKAGE, folder / "didact", ignore=leave_out)
            folders.put(folder)
        yield folders


def survivors(file: Path, chosen: list[Mutant], workers: int) -> Iterator[Mutant]:
    """The mutants that no test notices, as they are found."""
    tests = tests_of(file)
    with copies(workers) as folders, ThreadPoolExecutor(workers) as pool:
        folder = folders.get()
        began = time.perf_counter()
        if notices(tests, folder):
            raise SystemExit(f"the tests of {file.name} fail before anything is changed")
        seconds = 10.0 + PATIENCE * workers * (time.perf_counter() - began)
        folders.put(folder)

        def survives(mutant: Mutant) -> bool:
            folder = folders.get()
            place = folder / "didact" / file.relative_to(PACKAGE)
            place.write_text(mutant.source, encoding="utf-8")
            lives = not notices(tests, folder, seconds)
            shutil.copy(file, place)
            folders.put(folder)
            return lives

        for mutant, lives in zip(chosen, pool.map(survives, chosen), strict=True):
            if lives:
                yield mutant


def main() -> None:
    reader = argparse.ArgumentParser(prog="python -m tests.mutation")
    reader.add_argument("names", nargs="+", help="files or rooms under src/didact")
    reader.add_argument("--sample", type=int, help="so many mutants of each file, by chance")
    reader.add_argument("--seed", type=int, default=0)
    reader.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    wanted = reader.parse_args()
    n_tried = n_alive = 0
    for file in files_of(wanted.names):
        name = file.relative_to(PACKAGE).as_posix()
        chosen = mutants_to_try(file, wanted.sample, wanted.seed)
        print(f"{name}: {len(chosen)} mutants", flush=True)
        for mutant in survivors(file, chosen, wanted.workers):
            n_alive += 1
            print(f"  survived, line {mutant.line}: {mutant.inside} | {mutant.change}", flush=True)
        n_tried += len(chosen)
    print(f"{n_tried} mutants: {n_tried - n_alive} killed, {n_alive} survived")
    sys.exit(1 if n_alive else 0)


if __name__ == "__main__":
    main()
