"""What all tests share: hypothesis's examples, registries that forget, the command line."""

import gc
import io
import os
import signal
import sys
import warnings
from importlib import import_module
from itertools import takewhile

import pytest
from hypothesis import settings

from tests import effort
from tests.command_line import Answer

# Matrices of tests are small, and workers fill the cores: more threads only wait for each other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
settings.register_profile("quick", derandomize=True, max_examples=16, deadline=None)
settings.register_profile("slow", max_examples=150, deadline=None, print_blob=True)


def pytest_configure(config):
    """Tests are read after this, and with them the numbers of their examples.

    The quick tests take the same examples at each run, unless there is a --hypothesis-seed; runs
    with the slow tests take new ones. Kernels run compiled from the first test on.
    """
    gc.disable()
    import_module("numba")
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background ignores it
    is_quick = "not slow" in config.getoption("markexpr")
    settings.load_profile("quick" if is_quick else "slow")
    if is_quick:
        effort.take_some_only()
        if config.getoption("--hypothesis-seed") is not None:
            settings.register_profile("seeded", settings(derandomize=False, print_blob=True))
            settings.load_profile("seeded")


def pytest_terminal_summary(terminalreporter, config):
    """Say the seed of random examples, with which a run is repeated."""
    seed = config.getoption("--hypothesis-seed")
    if seed is not None:
        terminalreporter.write_line(f"random examples: --hypothesis-seed={seed}")


def pytest_collection_finish():
    """All that was read stays to the end: no search for garbage need look at it again."""
    gc.collect()
    gc.freeze()
    gc.enable()


REGISTRIES = {
    "world": "didact.worlds.registry:_worlds",
    "teacher": "didact.teaching.teachers:_teachers",
    "learner": "didact.learners.learn:_learners",
    "strategy": "didact.active.strategies:_strategies",
    "study": "didact.studies.study:_studies",
}


@pytest.fixture
def own_registries(monkeypatch):
    """The five registries by kind; what a test registers is forgotten, packages are looked up."""
    found = {}
    for kind, place in REGISTRIES.items():
        module, _, name = place.partition(":")
        found[kind] = registry = getattr(import_module(module), name)
        monkeypatch.setattr(registry, "_added", dict(registry._added))
        monkeypatch.setattr(registry, "_packages_seen", False)
    return found


@pytest.fixture(autouse=True)
def own_modules():
    """Modules that a test writes and imports are forgotten: another's may have the same name."""
    last = next(reversed(sys.modules))
    yield
    for name in [*takewhile(lambda name: name != last, reversed(sys.modules))]:
        if "pytest-of-" in str(getattr(sys.modules[name], "__file__", None)):
            del sys.modules[name]


@pytest.fixture(autouse=True, scope="session")
def one_line_errors():
    """Whatever error of didact a test meets, it is one line."""

    def told(self, *words):
        assert "\n" not in "".join(map(str, words)), words
        Exception.__init__(self, *words)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("didact.errors.DidactError.__init__", told)
        yield


@pytest.fixture
def didact(capsys, monkeypatch):
    """Run a command in this process, without colours: didact("teach", "six-cell").

    columns: how wide. typed: what comes on standard input.
    """
    from didact.cli import main

    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    monkeypatch.setattr(sys, "path", list(sys.path))
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)

    def run(*arguments, columns: int = 80, typed: str | None = None) -> Answer:
        monkeypatch.setenv("COLUMNS", str(columns))
        if typed is not None:
            monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
        with pytest.raises(SystemExit) as left:
            main([str(a) for a in arguments])
        output = capsys.readouterr()
        return Answer(left.value.code, output.out, output.err)

    return run


@pytest.fixture
def run_plain(monkeypatch):
    """When it is called, kernels run as plain Python from then on, so that tests may break them."""

    def patch() -> None:
        Kernel = import_module("didact.numerics.compiled").Kernel
        monkeypatch.setattr(Kernel, "compiled", lambda self, *given: self.plain(*given))

    return patch
