"""JSON in files: read strictly, one line says what is wrong; written whole or not at all."""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

from didact.errors import InvalidFile, InvalidInput
from didact.files.folders import already_there, beside_name, rename_new, sync_folder
from didact.files.kinds import Kind, json_kind, require_kind, require_other
from didact.files.reading import Name, read_text, shown_path, system_reason, write_to_pipe
from didact.inputs import MAX_DIGITS, as_text, finite_number, is_nearly_whole, reason_of, shown
from didact.numerics.exact import read_number
from didact.numerics.texts import read_text as read_fraction

Read = TypeVar("Read")
Reader = Callable[[Any, str], Any]
"""Takes a value and where it stands; what it must not be is refused."""

HALF = re.compile(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]")
"""Half of a sign, or one of two halves."""


def read_json(path: str | os.PathLike[str]) -> Any:
    """The value in a JSON file: decimals as Decimal, no NaN, no repeated keys."""
    place = shown_path(path)
    text = read_text(path)
    if text.startswith("\ufeff"):
        raise InvalidFile(f"{place}: must not begin with a byte order mark; save it without one")
    try:
        return parse_json(text)
    except InvalidFile as error:
        raise InvalidFile(f"{place}: {error}") from None
    except json.JSONDecodeError as error:
        raise InvalidFile(
            f"{place}: must be JSON; line {error.lineno}, column {error.colno}: {error.msg}"
        ) from None
    except RecursionError:
        raise InvalidFile(f"{place}: must not be nested so deeply; flatten it") from None


def parse_json(text: str) -> Any:
    """The value of a JSON text: decimals as Decimal, no NaN, no repeated keys."""
    value = json.loads(
        text,
        parse_int=_whole,
        parse_float=_decimal,
        parse_constant=_refuse,
        object_pairs_hook=_without_repeats,
    )
    if HALF.search(text):  # JSON can name half of a sign, which no file can hold
        try:
            json.dumps(value, ensure_ascii=False, default=str).encode("utf-8")
        except UnicodeEncodeError:
            raise InvalidFile(
                "texts must hold whole signs; one holds half of a surrogate pair"
            ) from None
    return value


def plain_numbers(value: Any) -> Any:
    """A JSON value with its decimals as floats, as they were written."""
    try:
        return _plain(value)
    except RecursionError:
        raise InvalidFile("must not be nested so deeply; flatten it") from None


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_plain(entry) for entry in value]
    if not isinstance(value, Decimal):
        return value
    if not math.isfinite(nearest := float(value)):
        raise InvalidFile(f"numbers must be smaller than 1e308; one is {shown(value)}")
    if is_nearly_whole(value):
        raise InvalidFile(
            "numbers must be whole, or differ from whole ones as floats too; one is "
            f"{shown(value)}. Round it"
        )
    return nearest


def read_document(
    path: str | os.PathLike[str], format: str, read: Callable[[dict[str, Any]], Read]
) -> Read:
    """What a file of that format holds; whatever `read` stumbles on is one line with the file."""
    document, place = read_json(path), shown_path(path)
    if not isinstance(document, dict) or document.get("format") != format:
        raise InvalidFile(f"{place}: must hold one JSON object with format {format!r}")
    try:
        return read(document)
    except InvalidInput as error:
        reason = str(error)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        reason = reason_of(error)
    raise InvalidFile(f"{place}: is not a whole {format} file: {reason}")


def as_object(value: Any, place: str) -> dict[str, Any]:
    """A JSON object, decimals as floats."""
    if not isinstance(value, dict):
        raise InvalidFile(f"{place} must be an object; it is {shown(value)}")
    found: dict[str, Any] = plain_numbers(value)
    return found


def as_list(value: Any, place: str) -> list[Any]:
    """A JSON list."""
    if not isinstance(value, list):
        raise InvalidFile(f"{place} must be a list; it is {shown(value)}")
    return value


def as_texts(value: Any, place: str) -> tuple[str, ...]:
    """A list of texts."""
    return tuple(as_text(entry, place, error=InvalidFile) for entry in as_list(value, place))


def as_finite(value: Any, place: str) -> float:
    """A finite number as a float."""
    return finite_number(plain_numbers(value), place, -math.inf)


def as_fraction(value: Any, place: str) -> Fraction:
    """An exact number of any length."""
    # Fractions of proofs are longer than any number that a person may give: those are limited.
    is_long = isinstance(value, str) and value.lstrip("+-").replace("/", "", 1).isdecimal()
    return read_fraction(value, place) if is_long else read_number(value, place)


def each(read: Reader) -> Reader:
    """Reads a list of such values, as a tuple."""
    return lambda value, place: tuple(read(entry, place) for entry in as_list(value, place))


def or_null(read: Reader) -> Reader:
    """Reads such a value, or null."""
    return lambda value, place: None if value is None else read(value, place)


def read_entries(
    entries: Mapping[str, Any], readers: Mapping[str, Reader], place: str, prefix: str = ""
) -> dict[str, Any]:
    """All entries of an object, each by its reader; prefix: before the name of one in messages."""
    missing = [name for name in readers if name not in entries]
    unknown = [name for name in entries if name not in readers]
    if missing:
        raise InvalidFile(f"{place} has no {missing[0]}")
    if unknown:
        raise InvalidFile(f"{place} has no entry {shown(min(unknown))}; remove it")
    return {name: read(entries[name], prefix + name) for name, read in readers.items()}


def _whole(text: str) -> int:
    _require_short(text)
    return int(text)


def _decimal(text: str) -> Decimal:
    written, _, exponent = text.replace("E", "e").partition("e")
    _require_short(written)
    if len(exponent) > len(str(MAX_DIGITS)) + 1 or abs(int(exponent or 0)) > MAX_DIGITS:
        raise InvalidFile(
            f"numbers must have exponents from -{MAX_DIGITS} to {MAX_DIGITS}; one is {shown(text)}"
        )
    return Decimal(text)


def _require_short(digits: str) -> None:
    """Refuse digits whose length alone would take long, wherever the number stands."""
    if len(digits) > MAX_DIGITS + 2:  # a sign and a point
        raise InvalidFile(
            f"numbers must have at most {MAX_DIGITS} digits; one has {len(digits)} characters. "
            "Round it"
        )


def _refuse(constant: str) -> Any:
    raise InvalidFile(f"numbers must be finite; {constant} is not")


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    seen: dict[str, Any] = {}
    for key, value in pairs:
        if key in seen:
            raise InvalidFile(f"the key {shown(key)} must stand once in an object; it stands twice")
        seen[key] = value
    return seen


def write_json(
    document: dict[str, Any], path: Name, *, kind: Kind | None = None, new: bool = False
) -> None:
    """Write an object, one line for each top-level key; the file appears whole or not at all.

    A file that is there must be of the same format, or of the kind. new: it must not exist.
    """
    lines = [
        f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False, allow_nan=False)}"
        for key, value in document.items()
    ]
    if kind is None and "format" in document:
        kind = json_kind(document["format"])
    write_text("{" + ",\n ".join(lines) + "}\n", path, kind=kind, new=new)


def write_text(text: str, path: Name, *, kind: Kind | None, new: bool = False) -> None:
    """Write a text file as `write_bytes` does it."""
    try:
        content = text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InvalidFile(f"{shown_path(path)}: cannot be written: {error}") from None
    write_bytes(content, path, kind=kind, new=new)


def require_writable(path: Name, kind: Kind | None, inputs: Iterable[Name | None] = ()) -> None:
    """Refuse a place where no file can be written, before long work is done for it.

    kind: what a file that is there must be; None: anything. inputs: what the command reads, which
    it must not replace.
    """
    place = shown_path(path)
    require_other(path, inputs)
    require_kind(path, kind)
    try:
        target = os.path.realpath(path)
        with suppress(FileNotFoundError):
            os.lstat(target)  # a name that is too long is refused here
        if os.path.isdir(target):
            raise InvalidFile(f"{place}: cannot be written: it is a directory")
        if not os.path.exists(path) or os.path.isfile(path):
            with tempfile.NamedTemporaryFile(dir=os.path.dirname(target), prefix=".didact-"):
                pass
    except InvalidFile:
        raise
    except (OSError, ValueError) as error:
        raise InvalidFile(f"{place}: cannot be written: {system_reason(error)}") from None


def write_bytes(content: bytes, path: Name, *, kind: Kind | None, new: bool = False) -> None:
    """Write a file so that a reader sees the old one or the new one, never a part.

    A link is followed, an old file keeps its permissions, and a pipe that somebody reads, or a
    device, is simply written to. kind: what an old file must be; None: anything. new: there must be
    no old file, also at the moment when this one takes its name.
    """
    place = shown_path(path)
    require_kind(path, kind)
    try:
        target = os.path.realpath(path)
        if os.path.exists(path) and not os.path.isfile(path):
            write_to_pipe(content, path)
        else:
            _replace(target, content, new=new)
    except InvalidFile:
        raise
    except FileExistsError:
        raise already_there(path) from None
    except (OSError, ValueError) as error:
        raise InvalidFile(f"{place}: cannot be written: {system_reason(error)}") from None


def _replace(target: str, content: bytes, *, new: bool) -> None:
    folder, name = os.path.split(target)
    temporary = os.path.join(folder, beside_name(name))
    try:
        with open(temporary, "xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if new:
            rename_new(Path(temporary), Path(target))
        else:
            if os.path.exists(target):
                shutil.copymode(target, temporary)
            os.replace(temporary, target)
        sync_folder(folder)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
