"""docs/cli.md is what `--help` prints."""

import importlib.util
from pathlib import Path

import pytest

from didact.cli import COMMANDS

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def reference() -> str:
    described = importlib.util.spec_from_file_location("generate_cli", DOCS / "generate_cli.py")
    generator = importlib.util.module_from_spec(described)
    described.loader.exec_module(generator)
    return generator.cli_reference()


def test_the_reference_is_up_to_date(reference):
    written = (DOCS / "cli.md").read_text(encoding="utf-8")
    assert written == reference, "write it anew: .venv/bin/python docs/generate_cli.py"


def test_every_command_is_in_it(reference):
    assert reference.count("$ didact --help\n") == 1
    for command in COMMANDS:
        assert f"\n## didact {command}\n" in reference
        assert f"$ didact {command} --help\nUsage: didact {command} " in reference
