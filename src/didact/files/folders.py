"""Folders that appear whole or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Callable
from pathlib import Path

from didact.errors import InvalidFile
from didact.files.reading import shown_path


def write_folder(
    target: str | os.PathLike[str],
    fill: Callable[[Path], None],
    *,
    replace: bool,
    is_such: Callable[[Path], bool],
) -> None:
    """Fill a folder beside the target and rename it, so that no reader sees a part.

    An existing target is refused; with `replace` it gives way if `is_such` knows it for a folder
    of the same kind, so that a slip of the keyboard never deletes anything else.
    """
    path = Path(os.path.realpath(target))
    require_free(path, replace=replace, is_such=is_such)
    beside = path.parent / f".didact-{secrets.token_hex(8)}.tmp"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside.mkdir()
        fill(beside)
        _move(beside, path)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InvalidFile(f"{shown_path(target)}: cannot be written: {reason}") from None
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def require_free(path: Path, *, replace: bool, is_such: Callable[[Path], bool]) -> None:
    """Refuse a target that exists, or that is something else than what may be replaced."""
    if not os.path.lexists(path):
        return
    if not replace:
        raise InvalidFile(f"{shown_path(path)}: exists already; take another name, or force it")
    if not is_such(path):
        raise InvalidFile(
            f"{shown_path(path)}: is no demonstrations of this format, so it is not replaced; "
            "take another name"
        )


def _move(beside: Path, path: Path) -> None:
    """Put the new folder in place of the old one, if there is one."""
    if not os.path.exists(path):
        beside.rename(path)
        return
    old = path.parent / f".didact-{secrets.token_hex(8)}.old"
    path.rename(old)
    try:
        beside.rename(path)
    except OSError:
        old.rename(path)
        raise
    shutil.rmtree(old, ignore_errors=True)
