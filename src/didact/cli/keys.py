"""Single keys from a terminal, arrows among them; whole lines where there is none."""

from __future__ import annotations

import sys

import click

ARROW_KEYS = {
    "\x1b[A": "up", "\x1b[B": "down", "\x1b[C": "right", "\x1b[D": "left",
    "\x1bOA": "up", "\x1bOB": "down", "\x1bOC": "right", "\x1bOD": "left",
    "\xe0H": "up", "\xe0P": "down", "\xe0M": "right", "\xe0K": "left",
    "\x00H": "up", "\x00P": "down", "\x00M": "right", "\x00K": "left",
}  # fmt: skip


def is_interactive() -> bool:
    """Whether a person sits at the keyboard."""
    return sys.stdin.isatty()


def read_key() -> str | None:
    """One key: its sign, or up, down, left, right; None at the end of input (Ctrl-D).

    Ctrl-C raises KeyboardInterrupt. Several signs at once, as a held key sends, count as the first.
    """
    try:
        pressed = click.getchar()
    except EOFError:
        return None
    if "\x03" in pressed:
        raise KeyboardInterrupt
    if pressed[:1] == "\x04":
        return None
    for length in (3, 2):
        if pressed[:length] in ARROW_KEYS:
            return ARROW_KEYS[pressed[:length]]
    return pressed[:1]


def read_line() -> str | None:
    """One line without its end; None at the end of input."""
    line = sys.stdin.readline()
    return line.rstrip("\r\n") if line else None
