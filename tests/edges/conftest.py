"""The command line, run in the process of the tests."""

import io
import sys
import warnings

import pytest

from didact.cli import main
from tests.command_line import Answer


@pytest.fixture
def didact(capsys, monkeypatch):
    """Run a command without colours: didact("teach", "six-cell").

    columns: how wide. typed: what comes on standard input.
    """
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
def in_own_folder(monkeypatch, tmp_path):
    """Commands of the test run in its empty folder, which has their datasets too."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "minari"))
    return tmp_path
