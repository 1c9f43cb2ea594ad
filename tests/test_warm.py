"""After `python -m didact.warm` every kernel lies in the cache."""

import os
import subprocess
import sys

import pytest

KEPT = """
from didact.warm import warm
from didact.numerics.compiled import Kernel
from tests.contracts.test_kernels import KERNELS

def has_a_hole(kernel):
    used = kernel.used().values()
    return "NotImplementedError" in kernel.plain.__code__.co_names or any(
        has_a_hole(value) for value in used if isinstance(value, Kernel)
    )

def is_kept(kernel):
    return any(dispatcher.signatures for dispatcher in kernel._dispatchers.values())

whole = {name: kernel for name, kernel in KERNELS.items() if not has_a_hole(kernel)}
alone = {name: kernel for name, kernel in whole.items() if not kernel.inline}
before = sum(is_kept(kernel) for kernel in alone.values())
warm()
print(len(alone), before, [name for name, kernel in alone.items() if not is_kept(kernel)])
"""


@pytest.mark.slow
def test_every_kernel_without_a_hole_is_compiled(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", KEPT],
        capture_output=True,
        text=True,
        env={
            **os.environ,
            "NUMBA_CACHE_DIR": str(tmp_path),
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        },
    )
    assert done.returncode == 0, done.stderr
    n_kernels, before, missing = done.stdout.split(maxsplit=2)
    assert int(n_kernels) > 50
    assert int(before) == 0
    assert missing.strip() == "[]"
