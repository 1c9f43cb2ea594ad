"""What the exit codes of commands mean."""

from __future__ import annotations

DONE = 0
NO_OUTPUT = 1
BAD_INPUT = 2
LEFT_OPEN = 3
"""Not taught, or a task or a trial has no result."""
PROOF_FAILED = 4
INTERRUPTED = 130


def exit_code(done: bool) -> int:
    """0 where all that was asked for is done, 3 where something stays open."""
    return DONE if done else LEFT_OPEN
