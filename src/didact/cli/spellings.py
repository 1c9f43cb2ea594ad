"""Spellings of options that help no longer shows: what they are called now.

Options have the names of Python's parameters. What was typed before goes on working.
"""

from __future__ import annotations

from collections.abc import Sequence

CHAINS = {"--steps": "--n-steps", "--chains": "--n-chains"}
OLD = {
    "show": {"--save": "--out"},
    "learn": CHAINS,
    "ask": {**CHAINS, "--queries": "--n-queries", "--from": "--demonstrations"},
    "exam": {"--open": "--no-closed"},
    "transfer": {"--chosen": "--no-drawn"},
    "rank": {"--greedy": "--no-exact"},
    "select": {"--from": "--format", "--force": "--replace"},
    "convert": {
        "--from": "--source-format",
        "--to": "--target-format",
        "--force": "--replace",
    },
}
"""By command, the old spelling and the one that help shows."""


def respelled(command: str, arguments: Sequence[str]) -> list[str]:
    """The arguments of a command with its options as they are called now; none after `--`."""
    known = OLD.get(command, {})
    ends = arguments.index("--") if "--" in arguments else len(arguments)
    found = []
    for text in arguments[:ends]:
        name, is_given, value = text.partition("=")
        found.append(f"{known.get(name, name)}{is_given}{value}")
    return [*found, *arguments[ends:]]
