"""The command line, run in the process of the tests."""

import warnings

import pytest

from didact.cli import main
from tests.edges.commandline import Answer


@pytest.fixture
def didact(capsys, monkeypatch):
    """Run a command, 80 signs wide and without colours: didact("teach", "six-cell")."""
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    monkeypatch.setenv("COLUMNS", "80")
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)

    def run(*arguments) -> Answer:
        with pytest.raises(SystemExit) as left:
            main([str(a) for a in arguments])
        output = capsys.readouterr()
        return Answer(left.value.code, output.out, output.err)

    return run
