"""Results in a terminal: descriptions, tables, grids."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator


def wrapped_lines(lines: Iterable[str], width: int) -> Iterator[str]:
    """Lines of at most `width` signs; what follows a break is set in, and no word is broken."""
    for line in lines:
        if len(line) <= width:
            yield line
            continue
        inner = line.lstrip(" ")
        indent = line[: len(line) - len(inner)]
        yield from textwrap.wrap(
            inner,
            width,
            initial_indent=indent,
            subsequent_indent=indent + "  ",
            break_long_words=False,
            break_on_hyphens=False,
        )
