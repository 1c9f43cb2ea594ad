"""A kernel gives the same bits plain and compiled, and compiles only when that pays.

The compiler is loaded in processes of its own, each with an empty cache unless said otherwise.
"""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from didact.numerics.compiled import Kernel, kernel

INNER = """
from didact.numerics.compiled import kernel

RATE = 0.3

@kernel
def step(value, change):
    return value + RATE * (change - value) / (1.0 + value * value)
"""

OUTER = """
from didact.numerics.compiled import kernel
from inner_kernels import step

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
from outer_kernels import smooth
from inner_kernels import step
def arguments(n):
    rng = np.random.default_rng(n)
    inputs, indices = rng.normal(size=n), rng.integers(5, size=n).astype(np.uint32)
    inputs.setflags(write=False)
    return inputs, indices, rng.random(n) < 0.8, np.linspace(-1, 1, 5), np.zeros(5, dtype=np.int64)
"""


@pytest.fixture
def run(tmp_path: Path):
    """Run a piece of code in a new process with two kernel files and a cache beside them."""
    (tmp_path / "inner_kernels.py").write_text(INNER)
    (tmp_path / "outer_kernels.py").write_text(OUTER)

    def in_new_process(code: str) -> list[str]:
        search = [str(tmp_path), *(p for p in sys.path if p)]
        done = subprocess.run(
            [sys.executable, "-c", START + code],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join(search),
                "NUMBA_CACHE_DIR": str(tmp_path / "cache"),
            },
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    return in_new_process


def test_plain_and_compiled_give_the_same_bits(run) -> None:
    printed = run("""
for n in (0, 1, 7, 1000):
    plain, compiled, lists = arguments(n), arguments(n), [a.tolist() for a in arguments(n)]
    results = smooth.run(0, *plain), smooth.compiled(*compiled), smooth(*lists)
    assert len({float(r).hex() for r in results}) == 1, results
    for a, b, c in zip(plain, compiled, lists):
        assert a.tobytes() == b.tobytes() == np.array(c, dtype=a.dtype).tobytes()
    assert n < 7 or plain[4].sum() > 0
    if n == 0:
        print("numba" in sys.modules, smooth.compiled.signatures != [])
""")
    assert printed[-1] == "True True"


def test_small_work_never_loads_the_compiler(run) -> None:
    printed = run("""
smooth.run(399_999, *arguments(50))
print("numba" in sys.modules)
""")
    assert printed == ["False"]


def test_compiling_is_told_once_and_cached(run, tmp_path: Path) -> None:
    large = "print(smooth.run(400_000, *arguments(50)).hex())"
    first, second = run(large), run(large)
    assert first[0] == "compiling smooth, once on this machine"
    assert second == first[1:]
    assert list(tmp_path.glob("cache/*/outer_kernels.smooth-*.nbc"))


def test_a_changed_constant_in_another_file_is_compiled_anew(run, tmp_path: Path) -> None:
    large = "print(smooth.run(400_000, *arguments(50)).hex())"
    plain = "print(smooth.run(0, *arguments(50)).hex())"
    before = run(large)[-1]
    (tmp_path / "inner_kernels.py").write_text(INNER.replace("RATE = 0.3", "RATE = 0.7"))
    after = run(large)
    assert after[0] == "compiling smooth, once on this machine"
    assert after[-1] == run(plain)[-1] != before


def test_small_work_uses_what_is_compiled_but_compiles_nothing(run, tmp_path: Path) -> None:
    printed = run("""
import numba
smooth.run(10, *arguments(50))
print(smooth.is_at_hand(), list(smooth._dispatcher().signatures))
smooth.run(400_000, *arguments(50))
before = len(smooth.compiled.signatures)
smooth.plain = None
smooth.run(10, *arguments(50))
print(smooth.is_at_hand(), before)
""")
    assert printed == ["False []", "compiling smooth, once on this machine", "True 1"]
    printed = run("""
import numba
smooth.run(10, *arguments(50))
print(smooth.is_at_hand(), len(smooth.compiled.signatures))
""")
    assert printed == ["True 1"]


@kernel
def shift(source, target):
    """Move each number one place on."""
    for i in range(1, len(source)):
        target[i] = source[i - 1]
        source[i - 1] = 0
    return source[0]


def plainly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Kernel, "is_at_hand", lambda self: False)


def test_arrays_change_in_place_and_read_only_ones_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    plainly(monkeypatch)
    source, target = np.array([3, 4, 5], dtype=np.uint32), np.zeros(3)
    frozen = source.copy()
    frozen.setflags(write=False)
    shift.run(1, frozen, target)
    assert target.tolist() == [0, 3, 4]
    assert frozen.tolist() == [3, 4, 5]
    shift.run(1, source, target)
    assert source.tolist() == [0, 0, 5]
    assert source.dtype == np.uint32


def test_a_view_into_a_larger_array_changes_there(monkeypatch: pytest.MonkeyPatch) -> None:
    plainly(monkeypatch)
    whole = np.zeros((3, 2))
    shift.run(1, np.array([1, 2, 3]), whole[:, 1])
    assert whole.tolist() == [[0, 0], [0, 1], [0, 2]]


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
