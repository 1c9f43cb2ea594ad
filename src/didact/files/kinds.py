"""What a file is, by its first bytes: a file of another kind than what is written stays as it is.

A command may replace what it wrote before; a slip of the keyboard, as in `teach task.json --out
task.json`, must not cost anybody the file. An empty file has nothing to lose.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from didact.errors import InvalidFile
from didact.files.reading import Name, open_file, shown_path

HEAD_BYTES = 8192
"""How much of a file is looked at."""


@dataclass(frozen=True)
class Kind:
    """A kind of file: what it is called, and whether some first bytes are of one."""

    words: str
    is_such: Callable[[bytes], bool]


def beginning_with(start: bytes, words: str) -> Kind:
    """Files that begin with these bytes, as pictures do."""
    return Kind(words, lambda head: head.startswith(start))


def beginning_like(text: str, n_lines: int, words: str) -> Kind:
    """Texts whose first lines are those of this one: tables by their columns, reports by titles."""
    lines = "".join(text.splitlines(keepends=True)[:n_lines]).encode()[:HEAD_BYTES]
    return beginning_with(lines, words)


def json_kind(*formats: str) -> Kind:
    """JSON objects of these formats in any version, as `write_json` writes them: format first."""
    names = [format.partition("/")[0] for format in formats]
    known = "|".join(map(re.escape, names)).encode()
    first = re.compile(rb'\s*\{\s*"format"\s*:\s*"(%s)/[0-9]+"' % known)
    return Kind(f"a {' or '.join(names)} file", lambda head: first.match(head) is not None)


def archive_kind(format: str) -> Kind:
    """Archives of arrays with a header of a format, as `write_archive` writes them: header first.

    NumPy writes the header's text in four bytes for each sign.
    """
    name = format.partition("/")[0]
    return Kind(
        f"a {name} file",
        lambda head: head.startswith(b"PK") and f'"{name}/'.encode("utf-32-le") in head,
    )


PAGE = Kind("a page of didact", lambda head: b'<meta name="generator" content="didact">' in head)
SVG = beginning_with(b"<svg ", "an SVG picture")


def require_kind(path: Name, kind: Kind | None) -> None:
    """Refuse a file that is there already and is something else; None: whatever it is."""
    if kind is None or not os.path.isfile(path) or not os.path.getsize(path):
        return
    with open_file(path) as file:
        is_such = kind.is_such(file.read(HEAD_BYTES))
    if not is_such:
        raise InvalidFile(
            f"{shown_path(path)}: is not {kind.words}, so it is not replaced; take another name"
        )


def require_other(path: Name, inputs: Iterable[Name | None]) -> None:
    """Refuse a target that is one of the files that a command reads."""
    for given in inputs:
        try:
            is_same = given is not None and os.path.samefile(path, given)
        except (OSError, ValueError, TypeError):  # one of them is no file
            continue
        if is_same:
            raise InvalidFile(
                f"{shown_path(path)}: is read by this command, so it is not replaced; take "
                "another name"
            )
