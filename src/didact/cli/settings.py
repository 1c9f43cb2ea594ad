"""Values from the texts of the command line: NAME=VALUE, lists of states, the seed of a world."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from didact.errors import InvalidParameter

_LIST = re.compile(r"[-+]?[0-9./]+(e[-+]?[0-9]+)?(,[-+]?[0-9./]+(e[-+]?[0-9]+)?)+")


def read_settings(texts: Iterable[str]) -> dict[str, Any]:
    """Parameters from texts NAME=VALUE.

    Whole numbers, true, false, none and lists of numbers -1,-10 are read as such; all else stays
    text, decimals too, so that they keep their exact value.
    """
    settings: dict[str, Any] = {}
    for given in texts:
        name, separator, text = given.partition("=")
        name = name.replace("-", "_")
        if not separator or not name:
            raise InvalidParameter(f"a parameter must read NAME=VALUE; it is {given!r:.60}")
        if name in settings:
            raise InvalidParameter(f"the parameter {name!r} must be given once; it is given twice")
        settings[name] = _read_value(text)
    return settings


def _whole_in(text: str) -> int | None:
    from didact.inputs import whole_in  # loads NumPy, which --help does not need

    return whole_in(text)


def _read_value(text: str) -> Any:
    if (number := _whole_in(text)) is not None:
        return number
    if _LIST.fullmatch(text):
        return tuple(text.split(","))
    return {"true": True, "false": False, "none": None}.get(text.lower(), text)


def world_settings(
    world: str, texts: Iterable[str], seed: int | None, members: int | None = None
) -> dict[str, Any]:
    """The parameters of a world, with the seed where it is drawn by one.

    members: how many worlds are drawn; that makes a family.
    """
    from didact.worlds.opening import takes_seed

    given = read_settings(texts)
    if members is not None:
        given["members"] = members
    return with_seed(given, seed) if takes_seed(world) or "members" in given else given


def with_seed(given: dict[str, Any], seed: int | None) -> dict[str, Any]:
    """The parameters, with the seed among them where one was given."""
    if seed is None:
        return given
    if "seed" in given:
        raise InvalidParameter("the seed must be given once; leave out --seed or -p seed")
    return {**given, "seed": seed}


def read_numbers(text: str | None, option: str) -> list[int] | None:
    """Numbers of states, episodes or features from '0,3,7', the value of an option."""
    if text is None:
        return None
    numbers = [_whole_in(part.strip()) for part in text.split(",")]
    if None in numbers:
        raise InvalidParameter(f"{option} must read 0,3,7; it is {text!r:.60}")
    return [number for number in numbers if number is not None]


def read_options(texts: Iterable[str], reserved: Iterable[str] = ()) -> dict[str, Any]:
    """Options of a teacher, a learner or a strategy from texts NAME=VALUE; decimals are floats.

    reserved: names that the command has options of its own for.
    """
    given = read_settings(texts)
    for name in given:
        if name in reserved:
            raise InvalidParameter(f"{name!r} is not an option of a teacher; `didact teach` has it")
    return {name: _as_decimal(value) for name, value in given.items()}


def _as_decimal(value: Any) -> Any:
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return value


def read_member_cost(texts: Iterable[str]) -> Any:
    """What members cost from COST for all of them, or MEMBER=COST by name or number; else None."""
    listed = list(texts)
    if not listed:
        return None
    if listed == [text for text in listed if "=" in text]:
        pairs = [text.rpartition("=") for text in listed]
        return {_read_member(member): cost for member, _, cost in pairs}
    if len(listed) > 1:
        raise InvalidParameter(
            f"--member-cost must be one cost for all, or MEMBER=COST each; it is {listed!r:.60}"
        )
    return listed[0]


def _read_member(text: str) -> str | int:
    number = _whole_in(text)
    return text if number is None else number
