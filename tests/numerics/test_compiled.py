"""A kernel gives the same bits plain and compiled, and its disk cache never fails.

Numba is loaded in processes of their own, which begin with an empty cache.
"""

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from didact.numerics.compiled import Kernel, kernel

INNER = """
from typing import Any, NamedTuple
from didact.numerics.compiled import kernel

RATE = 0.3

class Bins(NamedTuple):
    low: Any
    high: Any
    counts: Any

@kernel
def step(value, change):
    return value + RATE * (change - value) / (1.0 + value * value)
"""

OUTER = """
from __future__ import annotations
from typing import Any, NamedTuple
from didact.numerics.compiled import kernel
from inner_kernels import Bins, step

class Data(NamedTuple):
    inputs: Any
    bins: Bins
    rate: float

@kernel
def squared(value):
    return value * value

@kernel
def halved(value):
    return value / 2.0

@kernel
def fill_squared(data: Data, places, pair):
    bins = data.bins
    total = 0.0
    for i in range(len(data.inputs)):
        j = places[i]
        bins.low[j] = min(bins.low[j], data.inputs[i])
        bins.high[j] = max(bins.high[j], data.rate * squared(data.inputs[i]))
        bins.counts[j] += 1
        total += bins.high[j] - bins.low[j]
        pair[1][j] += pair[0]
    return total

@kernel
def fill_halved(data: Data, places, pair):
    bins = data.bins
    total = 0.0
    for i in range(len(data.inputs)):
        j = places[i]
        bins.low[j] = min(bins.low[j], data.inputs[i])
        bins.high[j] = max(bins.high[j], data.rate * halved(data.inputs[i]))
        bins.counts[j] += 1
        total += bins.high[j] - bins.low[j]
        pair[1][j] += pair[0]
    return total


@kernel
def smooth(inputs, indices, mask, out, counts):
    total = 0.0
    for i in range(len(indices)):
        j = indices[i]
        if mask[i]:
            out[j] = step(out[j], inputs[i])
            counts[j] += 1
        total += out[j] * 0.1 - inputs[i] // 3.0
    return total
"""

START = """
import logging, sys
import numpy as np
logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(message)s")
from outer_kernels import Bins, Data, fill_halved, fill_squared, halved, smooth
def bits(result, given):
    arrays = [given[0].inputs, *given[0].bins, given[1], given[2][1]]
    return float(result).hex(), *(np.asarray(a).tobytes() for a in arrays)
def tuples(n):
    inputs, indices, mask, out, counts = arguments(n)
    data = Data(inputs, Bins(out, out + 1.0, counts), 0.7)
    return data, indices, (0.1, np.zeros(5))
def arguments(n):
    rng = np.random.default_rng(n)
    inputs, indices = rng.normal(size=n), rng.integers(5, size=n).astype(np.uint32)
    inputs.setflags(write=False)
    return inputs, indices, rng.random(n) < 0.8, np.linspace(-1, 1, 5), np.zeros(5, dtype=np.int64)
"""


def in_new_process(folder: Path, code: str) -> list[str]:
    """Run a piece of code in a new process with two kernel files and a cache beside them."""
    if not (folder / "inner_kernels.py").exists():
        (folder / "inner_kernels.py").write_text(INNER)
        (folder / "outer_kernels.py").write_text(OUTER)
    search = [str(folder), *(p for p in sys.path if p)]
    done = subprocess.run(
        [sys.executable, "-B", "-c", START + code],  # bytecode knows changes by the second
        capture_output=True,
        text=True,
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(search),
            "NUMBA_CACHE_DIR": str(folder / "cache"),
        },
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


class Said(NamedTuple):
    """What a process printed: on arrays, and on named tuples."""

    arrays: list[str]
    tuples: list[str]


EVERYTHING = """
print(smooth.compiled(*arguments(50)).hex())
print("--")
for way in (fill_squared, fill_halved):
    compiled = tuples(50)
    found = way.compiled(*compiled)
    given = tuples(50)
    assert bits(way(*given), given) == bits(found, compiled)
    assert compiled[0].bins.counts.sum() == 50 and compiled[2][1].any()
    stats = way._dispatcher(cached=True).stats
    print(found.hex(), sum(stats.cache_hits.values()), sum(stats.cache_misses.values()))
"""


def said(folder: Path) -> Said:
    parts = "\n".join(in_new_process(folder, EVERYTHING)).split("--")
    return Said(*(part.strip().splitlines() for part in parts))


class Twice(NamedTuple):
    """A folder with compiled kernels, and what two processes said there, one after the other."""

    folder: Path
    first: Said
    second: Said


@pytest.fixture(scope="module")
def twice(tmp_path_factory: pytest.TempPathFactory) -> Twice:
    folder = tmp_path_factory.mktemp("kernels")
    return Twice(folder, said(folder), said(folder))


@pytest.fixture(scope="module")
def changed(twice: Twice) -> list[str]:
    """Compiled and plain results after changes in the file that the kernels' own file imports."""
    inner = INNER.replace("RATE = 0.3", "RATE = 0.7")
    swapped = inner.replace("low: Any\n    high: Any", "high: Any\n    low: Any")
    assert len({INNER, inner, swapped}) == 3
    (twice.folder / "inner_kernels.py").write_text(swapped)
    try:
        return in_new_process(
            twice.folder,
            """
print(smooth.compiled(*arguments(50)).hex())
print(smooth(*arguments(50)).hex())
print(fill_squared.compiled(*tuples(50)).hex())
print(fill_squared(*tuples(50)).hex())
""",
        )
    finally:
        (twice.folder / "inner_kernels.py").write_text(INNER)


def test_plain_and_compiled_give_the_same_bits(twice: Twice) -> None:
    printed = in_new_process(
        twice.folder,
        """
for n in (0, 1, 7, 1000):
    plain, compiled = arguments(n), arguments(n)
    results = smooth.run(0, *plain) if n == 0 else smooth(*plain), smooth.compiled(*compiled)
    assert len({float(r).hex() for r in results}) == 1, results
    for a, b in zip(plain, compiled):
        assert a.tobytes() == b.tobytes()
    assert n < 7 or plain[4].sum() > 0
print("numba" in sys.modules)
""",
    )
    assert printed[-1] == "True"


def test_little_work_never_loads_the_compiler_and_much_does(twice: Twice) -> None:
    printed = in_new_process(
        twice.folder,
        """
from didact.numerics.compiled import WORTH_COMPILING
for _ in range(4):
    smooth.run(WORTH_COMPILING // 3, *arguments(50))
    print("numba" in sys.modules)
""",
    )
    assert printed == ["False", "False", "False", "True"]


def test_compiling_is_told_once_and_cached(twice: Twice) -> None:
    told, result = twice.first.arrays
    assert told == "compiling smooth, once on this machine"
    assert twice.second.arrays == [result]
    assert list(twice.folder.glob("cache/*/outer_kernels.smooth-*.nbi"))


RUN_HALVED = "print(halved.compiled(3.0))"


def test_whatever_is_damaged_in_the_cache_is_removed_and_compiled_again(tmp_path: Path) -> None:
    told = ["compiling halved, once on this machine", "1.5"]
    assert in_new_process(tmp_path, RUN_HALVED) == told
    files = sorted(tmp_path.glob("cache/*/*"))
    assert [path.suffix for path in files] == [".nbc", ".nbi"]
    for path in files:
        content = path.read_bytes()
        for damaged in (b"", content[:-20]):
            path.write_bytes(damaged)
            assert in_new_process(tmp_path, RUN_HALVED)[-1] == "1.5"
            assert path.read_bytes() != damaged if path.exists() else True
            assert in_new_process(tmp_path, RUN_HALVED) == told
            assert in_new_process(tmp_path, RUN_HALVED) == ["1.5"]
            assert sorted(tmp_path.glob("cache/*/*")) == files


def test_while_a_kernel_is_compiled_others_are_told(tmp_path: Path) -> None:
    """It is, from the search for its file until its first call returns; not when it is cached."""
    run = "from didact.numerics.compiled import is_compiling\nhalved._dispatcher(cached=True)\n"
    run += "found = [is_compiling()]\nhalved.compiled(3.0)\nprint(*found, is_compiling())"
    assert in_new_process(tmp_path, run)[-1] == "True False"
    assert in_new_process(tmp_path, run) == ["False False"]


def test_what_was_interrupted_is_no_longer_compiled(tmp_path: Path) -> None:
    run = """
from didact.numerics.compiled import is_compiling
def interrupted(*_):
    raise KeyboardInterrupt
halved._dispatcher(cached=True)
halved._dispatchers[True] = interrupted
try:
    halved.compiled(3.0)
except KeyboardInterrupt:
    print(is_compiling())
"""
    assert in_new_process(tmp_path, run)[-1] == "False"


@pytest.mark.parametrize(
    "trouble",
    [
        "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (20, 20))",
        "import numba.core.caching as c; c.CacheImpl._locator_classes = []; "
        "import os; os.environ['NUMBA_CACHE_LOCATOR_CLASSES'] = ''",
    ],
)
def test_where_nothing_can_be_cached_kernels_are_compiled_all_the_same(
    tmp_path: Path, trouble: str
) -> None:
    run = f"{trouble}\n"
    run += "print(smooth.compiled(*arguments(50)).hex())"
    run += "; print(smooth(*arguments(50)).hex())"
    *_, compiled, plain = in_new_process(tmp_path, run)
    assert compiled == plain
    assert not [path for path in tmp_path.rglob("*.nb*") if path.is_file()]


def test_a_changed_constant_in_another_file_is_compiled_anew(
    twice: Twice, changed: list[str]
) -> None:
    told, after, plain = changed[:3]
    assert told == "compiling smooth, once on this machine"
    assert [after] == [plain] != twice.second.arrays


def test_named_tuples_give_the_same_bits_and_are_cached(twice: Twice) -> None:
    told = [f"compiling {name}, once on this machine" for name in ("fill_squared", "fill_halved")]
    squared, halved = (line.split()[0] for line in twice.second.tuples)
    assert squared != halved
    assert twice.first.tuples == [told[0], f"{squared} 0 1", told[1], f"{halved} 0 1"]
    assert twice.second.tuples == [f"{squared} 1 0", f"{halved} 1 0"]


def test_fields_that_change_places_in_another_file_are_compiled_anew(
    twice: Twice, changed: list[str]
) -> None:
    before = twice.second.tuples[0].split()[0]
    told, after, plain = changed[3:]
    assert told == "compiling fill_squared, once on this machine"
    assert after == plain != before


@kernel
def shift(source, target):
    """Move each number one place on."""
    for i in range(1, len(source)):
        target[i] = source[i - 1]
        source[i - 1] = 0
    return source[0]


class Pair(NamedTuple):
    left: Any
    right: Any


def test_a_kernel_is_its_function() -> None:
    assert shift.__name__ == "shift"
    assert shift.__doc__ == "Move each number one place on."
    source, target = [1, 2], [0, 0]
    assert shift(source, target) == 0
    assert target == [0, 1]


SCALE = 2.0


@kernel
def scaled(value):
    return value * SCALE


@kernel
def doubled(value):
    return scaled(value) + 1


def test_where_nothing_is_to_be_compiled_kernels_run_all_the_same(monkeypatch) -> None:
    import numba

    monkeypatch.setattr(numba.config, "DISABLE_JIT", 1)
    assert Kernel(doubled.plain).compiled(3.0) == 7.0


class Nested(NamedTuple):
    pair: Pair


class Turned(NamedTuple):
    right: Any
    left: Any


Turned.__name__ = "Pair"


@kernel
def first_left(nested: Nested) -> float:
    left: float = nested.pair.left[0]
    return left


def test_a_fingerprint_covers_the_fields_of_named_tuples(monkeypatch: pytest.MonkeyPatch) -> None:
    before = first_left.fingerprint()
    assert first_left.fingerprint() == before
    monkeypatch.setitem(Nested.__annotations__, "pair", Turned)
    assert first_left.fingerprint() != before


def test_a_fingerprint_covers_code_constants_and_callees(monkeypatch: pytest.MonkeyPatch) -> None:
    before = doubled.fingerprint(), scaled.fingerprint(), shift.fingerprint()
    for _ in range(3000):
        doubled(1.0)
    assert (doubled.fingerprint(), scaled.fingerprint(), shift.fingerprint()) == before
    assert len(set(before)) == 3
    monkeypatch.setitem(globals(), "SCALE", 3.0)
    assert doubled.fingerprint() != before[0]
    assert scaled.fingerprint() != before[1]
    assert shift.fingerprint() == before[2]


def test_threads_that_ask_at_once_compile_a_kernel_once(caplog, monkeypatch, tmp_path):
    monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path))  # empty, however often this runs

    def add_one(values, n):
        for i in range(n):
            values[i] += 1.0

    asked = kernel(add_one)
    gate = threading.Barrier(4)

    def ask(dispatchers):
        gate.wait()
        asked.compiled(np.zeros(3), 3)
        dispatchers.append(asked._dispatcher(cached=True))

    dispatchers: list = []
    threads = [threading.Thread(target=ask, args=(dispatchers,)) for _ in range(4)]
    with caplog.at_level("INFO", logger="didact"):
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(dispatchers) == 4
    assert len(set(map(id, dispatchers))) == 1
    assert len(dispatchers[0].signatures) == 1
    assert sum(dispatchers[0].stats.cache_misses.values()) == 1
    assert [record.getMessage() for record in caplog.records].count(
        "compiling add_one, once on this machine"
    ) == 1


CONFIGURED = """
import sys
if sys.argv[1] == "numba first":
    import numba
from didact.numerics.compiled import kernel

def twice(values, n):
    for i in range(n):
        values[i] *= 2.0

dispatcher = kernel(twice)._dispatcher(cached=True)
import numba
told = numba.config.CACHE_DIR, numba.config.CACHE_LOCATOR_CLASSES
print(*map(repr, told), dispatcher.stats.cache_path)
"""


@pytest.mark.parametrize("order", ["didact first", "numba first"])
def test_no_file_of_the_current_folder_says_where_kernels_lie(order, tmp_path):
    """A cache holds pickles; Numba would take it, and classes, from the file of a stranger."""
    pytest.importorskip("yaml")
    told = "cache_dir: ./evil\ncache_locator_classes: evil_payload.X\n"
    (tmp_path / ".numba_config.yaml").write_text(told)
    (tmp_path / "evil_payload.py").write_text("open('it ran', 'w')\nclass X: pass\n")
    (tmp_path / "own.py").write_text(CONFIGURED)
    variables = {name: v for name, v in os.environ.items() if not name.startswith("NUMBA_CACHE")}
    done = subprocess.run(
        [sys.executable, "own.py", order],
        cwd=tmp_path,
        env={**variables, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
    )
    assert done.stdout.startswith("'' '' "), (done.stdout, done.stderr)
    assert "evil" not in done.stdout
    assert not (tmp_path / "it ran").exists()
    assert not (tmp_path / "evil").exists()
