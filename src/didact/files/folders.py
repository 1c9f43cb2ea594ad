"""Folders that appear whole or not at all, and renames that never give up what is there."""

from __future__ import annotations

import ctypes
import errno
import os
import secrets
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from didact.errors import InvalidFile
from didact.files.reading import shown_path

AT_FDCWD, RENAME_NOREPLACE, RENAME_EXCHANGE = -100, 1, 2
NOT_SUPPORTED = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP)
"""What kernels and file systems answer that do not know a flag of renameat2."""


MAX_NAME = 40
"""How many characters of a name others are made of; names have at most 255 bytes."""


def write_folder(
    target: str | os.PathLike[str],
    fill: Callable[[Path], None],
    *,
    replace: bool,
    is_such: Callable[[Path], bool],
) -> None:
    """Fill a folder beside the target and rename it, so that no reader sees a part.

    An existing target is refused, also one that appears while the folder is filled; with `replace`
    it gives way if `is_such` knows it for a folder of the same kind, so that a slip of the keyboard
    never deletes anything else.
    """
    path = Path(os.path.realpath(target))
    require_free(path, replace=replace, is_such=is_such)
    beside = path.parent / beside_name(path.name)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside.mkdir()
        fill(beside)
        sync_tree(beside)
        _put_in_place(beside, path, replace=replace, is_such=is_such)
        sync_folder(path.parent)
    except InvalidFile:
        raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InvalidFile(f"{shown_path(target)}: cannot be written: {reason}") from None
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def make_folder(path: Path) -> None:
    """A folder, with those above it; one that is there stays."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InvalidFile(f"{shown_path(path)}: cannot be made: {reason}") from None


def require_free(path: Path, *, replace: bool, is_such: Callable[[Path], bool]) -> None:
    """Refuse a target that exists, or that is something else than what may be replaced."""
    if not os.path.lexists(path):
        return
    if not replace:
        raise already_there(path)
    if not is_such(path):
        raise InvalidFile(
            f"{shown_path(path)}: is not a recording of this format, so it is not replaced; "
            "take another name"
        )


def already_there(path: str | os.PathLike[str]) -> InvalidFile:
    """What is said of a target that exists and may not be replaced."""
    return InvalidFile(f"{shown_path(path)}: exists already; take another name, or force it")


def _put_in_place(
    beside: Path, path: Path, *, replace: bool, is_such: Callable[[Path], bool]
) -> None:
    """Give the new folder its name; afterwards `beside` is what had it before, if anything did."""
    try:
        rename_new(beside, path)
    except FileExistsError:
        require_free(path, replace=replace, is_such=is_such)
        _exchange(beside, path)
        if not is_such(beside):  # another program put something else there meanwhile
            _give_back(beside, path)
            require_free(path, replace=replace, is_such=is_such)


def _give_back(beside: Path, path: Path) -> None:
    """Give what was taken by mistake its name again; where that fails, one that can be found."""
    try:
        _exchange(beside, path)
    except OSError:
        kept = path.with_name(f"{path.name[:MAX_NAME]}.{secrets.token_hex(4)}.kept")
        rename_new(beside, kept)
        raise InvalidFile(
            f"{shown_path(path)}: another program put something there meanwhile; it is kept as "
            f"{shown_path(kept)}"
        ) from None


def beside_name(name: str) -> str:
    """A free name in the same folder, which says what it is of: a killed run leaves it behind."""
    return f".{name[:MAX_NAME]}.{secrets.token_hex(8)}.didact-tmp"


def rename_new(old: Path, new: Path) -> None:
    """Rename a file or folder to a name that nothing has; FileExistsError where something has it.

    Where the system cannot do both in one step, a file is linked, which never replaces, and a
    folder takes the place of an empty one that was made for it: renaming a folder onto one that
    holds anything fails.
    """
    if _renameat2(old, new, RENAME_NOREPLACE):
        return
    if old.is_dir():
        new.mkdir()
        try:
            old.rename(new)
        except BaseException:
            with suppress(OSError):
                new.rmdir()
            raise
    else:
        os.link(old, new)
        old.unlink()


def _exchange(one: Path, other: Path) -> None:
    """Let two folders change names in one step; refused where the system cannot."""
    if not _renameat2(one, other, RENAME_EXCHANGE):
        raise OSError(
            errno.ENOTSUP,
            "this file system cannot replace a folder in one step; "
            "move the old one away, or take another name",
        )


def _renameat2(old: Path, new: Path, flag: int) -> bool:
    """Linux's renameat2; False where the system or the file system does not have it."""
    try:
        call = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError, TypeError):
        return False
    if call(AT_FDCWD, os.fsencode(old), AT_FDCWD, os.fsencode(new), flag) == 0:
        return True
    code = ctypes.get_errno()
    if code in NOT_SUPPORTED:
        return False
    raise OSError(code, os.strerror(code), os.fspath(new))


def sync_tree(folder: Path) -> None:
    """Have everything in a folder on the disk before its name is."""
    for place, _, files in os.walk(folder):
        for name in files:
            with open(os.path.join(place, name), "rb") as file:
                os.fsync(file.fileno())
        sync_folder(Path(place))


def sync_folder(folder: str | os.PathLike[str]) -> None:
    """Have the names in a folder on the disk, where the system can say so of a folder."""
    try:
        opened = os.open(folder, os.O_RDONLY)
    except OSError:  # Windows opens no folders, and some may be written to and not read
        return
    try:
        os.fsync(opened)
    except OSError as error:
        if error.errno not in NOT_SUPPORTED:
            raise
    finally:
        os.close(opened)
