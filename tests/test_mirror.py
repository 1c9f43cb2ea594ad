"""Tests of a module stand where it stands; those of no one module have folders of their own."""

from pathlib import Path

import pytest

TESTS = Path(__file__).parent
PACKAGE = TESTS.parent / "src" / "didact"

APART = {"laws", "paper", "beyond", "contracts", "edges", "fuzz"}
"""Folders whose tests mirror no module; some are not there yet."""

ABOUT_THE_WHOLE = {
    "test_structure",
    "test_docs",
    "test_mirror",
    "test_mutants",
    "test_pages",
    "test_pins",
    "test_surface",
    "test_wheel",
}


def module_of(test: Path) -> Path:
    """The module, without its suffix, that a test file must stand for: tests/mdp/test_model.py."""
    return PACKAGE / test.parent / test.stem.removeprefix("test_")


def mirrors(test: Path) -> bool:
    """Whether a test file, named from `tests`, is where its module says, or in a folder apart."""
    if test.parts[0] in APART or (test.parent == Path() and test.stem in ABOUT_THE_WHOLE):
        return True
    module = module_of(test)
    return module.with_suffix(".py").exists() or (module / "__init__.py").exists()


def files() -> list[str]:
    return sorted(path.relative_to(TESTS).as_posix() for path in TESTS.rglob("test_*.py"))


@pytest.mark.parametrize("test", files())
def test_every_test_file_mirrors_a_module(test):
    module = module_of(Path(test)).relative_to(PACKAGE.parent)
    assert mirrors(Path(test)), f"there is no {module}.py for tests/{test}"


def test_a_file_that_mirrors_nothing_is_found():
    assert not mirrors(Path("mdp/test_nothing.py"))
    assert not mirrors(Path("nowhere/test_model.py"))
    assert not mirrors(Path("test_nothing.py"))
    assert not mirrors(Path("mdp/test_structure.py"))
    assert mirrors(Path("mdp/test_model.py"))
    assert mirrors(Path("mdp/recordings/test_minari.py"))
    assert mirrors(Path("test_random.py"))
    assert mirrors(Path("laws/test_anything.py"))
