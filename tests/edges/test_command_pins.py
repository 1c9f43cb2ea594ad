"""What commands print must not move by a change of code alone (tests/command_pins.py)."""

import json
from functools import partial

import pytest

from didact.cli import COMMANDS as VERBS
from tests.command_pins import (
    COMMANDS,
    FILE,
    REFUSALS,
    SLOW,
    in_own_folder,
    normalised,
    recorded,
    refused,
    results,
)

RECORDED = json.loads(FILE.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def printed():
    """What every quick command prints now."""
    return in_own_folder(partial(results, slow=False))


def quick() -> list[str]:
    return [line for line in COMMANDS if not line.startswith(SLOW)]


@pytest.mark.parametrize("line", quick())
def test_quick_commands_print_what_was_recorded(line, printed):
    assert printed[line] == RECORDED[line]


@pytest.mark.slow
def test_all_commands_print_what_was_recorded():
    assert in_own_folder(partial(results, slow=True)) == RECORDED


def test_refusals_are_the_lines_that_were_recorded(own_registries, monkeypatch):
    """Each is one line on standard error with exit code 2, and leaves no file."""
    for registry in own_registries.values():  # some lines list all names; tests add others
        monkeypatch.setattr(registry, "_added", {})
    assert in_own_folder(refused) == json.loads(REFUSALS.read_text(encoding="utf-8"))["refusals"]


def test_every_command_is_recorded():
    assert [*RECORDED] == COMMANDS
    assert {line.split()[0] for line in COMMANDS} == {*VERBS} - {"studio"}


def test_a_change_is_seen_and_a_time_is_not():
    assert (
        normalised("/a/b/page.html (12 kB) after 1.25 s", "/a/b")
        == "FOLDER/page.html (TIME) after TIME"
    )
    assert normalised("0.123456", "/a") != normalised("0.123556", "/a")
    long = {"first": list(range(2000)), "second": 1}
    assert recorded(long) != recorded({**long, "second": 2})
    assert recorded(long)["first"] != recorded({"first": list(range(1, 2001))})["first"]
