"""What every reader must do with any file: read it, or refuse it in one line, and no more.

Inputs are tried in a process of their own, forked from this one, because a hostile file may end
it or keep it for ever. Each is told by its number, from which `input_of` makes it again.
"""

import contextlib
import io
import os
import random
import resource
import signal
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from didact.errors import DidactError
from tests.fuzz.edits import edited_bytes, edited_json, edited_lines

Files = dict[str, bytes]
"""What lies in a folder, by path."""
Edit = Callable[[random.Random, Files], Files]

PATIENCE = 300
"""Seconds after which a reader counts as stuck, on a busy machine too."""
MAX_SECONDS = 20
"""Of the processor, for one input."""
MAX_MEMORY = 300 * 2**20
"""Bytes that the process may grow by; every input is small."""
LONGEST_LINE = 700
BY_COMMAND = 16
"""One input of so many goes through the command line too."""


@dataclass(frozen=True)
class Target:
    """A reader and what to try it on.

    corpus: good files. main: what the reader is given, from the folder. agrees(value, folder)
    raises where what was read contradicts itself. command: arguments after the path is known.
    edits: ways to edit files that know their format, beside those of bytes and of JSON.
    """

    corpus: Callable[[], Sequence[Files]]
    main: str
    read: Callable[[Path], Any]
    agrees: Callable[[Any, Path], None] = lambda value, folder: None
    command: Callable[[Path], list[str]] | None = None
    edits: Sequence[Edit] = ()
    refusals: tuple[type[Exception], ...] = (DidactError,)
    changes: tuple[str, ...] = field(default=())
    """Endings of files that a reader may write."""


def input_of(name: str, target: Target, corpus: Sequence[Files], number: int) -> Files:
    """The files of one input."""
    rng = random.Random(f"{name} {number}")
    files = dict(rng.choice(corpus))
    if target.edits and rng.random() < 0.5:
        return rng.choice(target.edits)(rng, files)
    edited = rng.choice([path for path, content in files.items() if content])
    files[edited] = _edit_of(edited, rng)(rng, files[edited])
    return files


def _edit_of(path: str, rng: random.Random) -> Callable[[random.Random, bytes], bytes]:
    structural = {".json": edited_json, ".jsonl": edited_lines}.get(Path(path).suffix)
    return edited_bytes if structural is None or rng.random() < 0.25 else structural


def keeps_contract(name: str, target: Target, n_inputs: int, folder: Path) -> Counter[str]:
    """How many inputs were read and how many refused; an input that breaks the contract raises."""
    corpus = target.corpus()
    for number, files in enumerate(corpus):
        place = _written(files, folder / f"good{number}")
        with _quiet():
            target.agrees(target.read(place / target.main), place)

    def work(tell: Callable[[str], None]) -> None:
        for number in range(n_inputs):
            tell(f"at {number}")
            files = input_of(name, target, corpus, number)
            tell(_outcome(target, files, folder / "input", number))

    told: Counter[str] = Counter()
    last = "nothing"
    with contextlib.closing(_in_own_process(work)) as lines:
        for line in lines:
            if line.startswith("at "):
                last = f"{name} {line[3:]}"
            elif line in ("read", "refused"):
                told[line] += 1
            else:
                raise AssertionError(f"{last}: {line}")
    assert told.total() == n_inputs, (last, told)
    return told


def _outcome(target: Target, files: Files, folder: Path, number: int) -> str:
    """'read', 'refused', or what broke the contract."""
    signal.alarm(PATIENCE)
    signal.setitimer(signal.ITIMER_PROF, MAX_SECONDS)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    place = _written(files, folder)
    outcome = _read(target, place)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    if grown > MAX_MEMORY:
        return f"took {grown / 2**20:.0f} MiB"
    if outcome in ("read", "refused"):
        if changed := _changes(files, place, target.changes):
            return f"{outcome}, and changed {changed}"
        if target.command is not None and number % BY_COMMAND == 0:
            outcome = _commanded(target.command(place / target.main), outcome)
        if changed := _changes(files, place, target.changes):
            return f"the command changed {changed}"
    return outcome


def _read(target: Target, place: Path) -> str:
    try:
        with _quiet():
            value = target.read(place / target.main)
    except target.refusals as error:
        text = str(error)
        is_line = text.isprintable() and 0 < len(text) < LONGEST_LINE
        return "refused" if is_line else f"refused in other than one line: {text[:300]!r}"
    except BaseException as error:
        return f"raised {_traced(error)}"
    try:
        with _quiet():
            target.agrees(value, place)
    except BaseException as error:
        return f"read, but does not agree: {_traced(error)}"
    return "read"


def _traced(error: BaseException) -> str:
    """An error and the last places it came through, in one line."""
    places, trace = [], error.__traceback__
    while trace is not None:
        places.append(f"{Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}")
        trace = trace.tb_next
    return f"{type(error).__name__}: {error!s:.300} at {' '.join(places[-6:])}".replace("\n", " ")


def _commanded(arguments: list[str], outcome: str) -> str:
    """The outcome, if the command line ends as it should."""
    from didact.cli import main

    out, err = io.StringIO(), io.StringIO()
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main(arguments)
        code: Any = "none"
    except SystemExit as left:
        code = left.code
    except BaseException as error:
        return f"{' '.join(arguments)} raised {_traced(error)}"
    said = err.getvalue()
    is_line = said.startswith("didact: ") and said.count("\n") == 1
    if code == 2 and not (is_line and not out.getvalue()):
        return f"{' '.join(arguments)} was refused in other than one line: {said[:300]!r}"
    if code not in (0, 2, 3, 4) or "Traceback" in said:
        return f"{' '.join(arguments)} ended with {code}: {said[:300]!r}"
    return outcome


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _written(files: Files, folder: Path) -> Path:
    """The folder with these files; what lay there before is gone, and empty folders may stay."""
    for path in folder.rglob("*"):
        if not path.is_dir() and path.relative_to(folder).as_posix() not in files:
            path.unlink()
    for path, content in files.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    return folder


def _changes(files: Files, folder: Path, may_change: tuple[str, ...]) -> list[str]:
    """Which files are others than were written."""
    there = {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }
    names = {*there, *files}
    return sorted(
        n for n in names if there.get(n) != files.get(n) and not n.endswith(may_change or ("\0",))
    )


def _in_own_process(work: Callable[[Callable[[str], None]], None]) -> Iterator[str]:
    """The lines that `work` tells in a process of its own, and how that ended where it did not."""
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        process = os.fork()
    if process == 0:
        code = 1
        try:
            os.close(reader)
            os.fsync = lambda _: None  # what is tried here need not outlive a power cut
            for name in (signal.SIGALRM, signal.SIGPROF):
                signal.signal(name, signal.SIG_DFL)
            with open(writer, "w", buffering=1, encoding="utf-8", errors="replace") as lines:
                work(lambda line: print(line.replace("\n", " "), file=lines))
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    os.close(writer)
    status = 0
    try:
        with open(reader, encoding="utf-8") as lines:
            yield from (line.rstrip("\n") for line in lines)
    except GeneratorExit:
        os.kill(process, signal.SIGKILL)
        raise
    finally:
        _, status = os.waitpid(process, 0)
    if status:
        yield f"the process ended with {os.waitstatus_to_exitcode(status)}"
