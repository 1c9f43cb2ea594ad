"""Modules that a person names: which folders count, and which do not."""

import sys

import pytest

from didact.errors import InvalidParameter
from didact.files.extras import named_object


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, with a module that runs when somebody imports it by chance."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path not in ("", ".")])
    (tmp_path / "evil_payload.py").write_text("raise SystemExit('it ran')")
    return tmp_path


def test_an_installed_module_brings_no_module_of_the_current_folder(folder):
    assert named_object("math:pi", "--x") > 3
    assert str(folder) not in sys.path
    with pytest.raises(InvalidParameter, match="no_such_module_at_all:x cannot be loaded"):
        named_object("no_such_module_at_all:x", "--x")
    assert str(folder) not in sys.path


@pytest.mark.parametrize("place", ["own_module.py", "own_module/__init__.py"])
def test_a_module_of_the_current_folder_counts_and_so_do_those_beside_it(
    place, folder, monkeypatch
):
    (folder / place).parent.mkdir(exist_ok=True)
    (folder / place).write_text("from beside_it import X\n")
    (folder / "beside_it.py").write_text("X = 5\n")
    for name in ("own_module", "beside_it"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    assert named_object("own_module:X", "--x") == 5


def test_a_file_elsewhere_finds_what_lies_beside_it(folder, monkeypatch):
    (folder / "other").mkdir()
    (folder / "other" / "their_file.py").write_text("from beside_that import X\n")
    (folder / "other" / "beside_that.py").write_text("X = 6\n")
    for name in ("their_file", "beside_that"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    assert named_object("other/their_file.py:X", "--x") == 6
    assert str(folder) not in sys.path


@pytest.mark.parametrize("text", ["evil_payload", "evil_payload:", ":X", "evil_payload.py"])
def test_a_name_without_both_parts_imports_nothing(text, folder):
    with pytest.raises(InvalidParameter, match="must be module:name or"):
        named_object(text, "--x")
    assert "evil_payload" not in sys.modules
