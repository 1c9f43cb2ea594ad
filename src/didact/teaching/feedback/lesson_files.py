"""Read `didact.lesson/2` files of several kinds of items; `MixedLesson.save` writes them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from didact.errors import InvalidFile
from didact.files.json import plain_numbers
from didact.inputs import as_text, choice, finite_number, shown, whole_number
from didact.mdp import Demonstration
from didact.mdp.items import Item, read_item
from didact.numerics.exact import read_number, whole_if_whole
from didact.numerics.texts import read_text
from didact.teaching.feedback.lesson import MixedLesson


def read_mixed(document: Mapping[str, Any]) -> MixedLesson:
    """The lesson in a document; what is missing or of another kind raises."""
    witness, loss, settings = (document[name] for name in ("witness", "loss", "settings"))
    items = _items(document["items"], settings)
    texts = {name: _texts(document[name], name) for name in ("words", "open")}
    gains = tuple(whole_number(x, "gains", 0) for x in _list(document["gains"], "gains"))
    why = tuple(_texts(entry, "why") for entry in _list(document["why"], "why"))
    for name, listed in (("words", texts["words"]), ("gains", gains), ("why", why)):
        if len(listed) != len(items):
            raise InvalidFile(
                f"{name} must be as many as items, {len(items)}; they are {len(listed)}"
            )
    return MixedLesson(
        task_name=as_text(document["task"], "task", error=InvalidFile),
        status=choice(document["status"], "status", ("complete", "partial")),
        items=items,
        words=texts["words"],
        gains=gains,
        why=why,
        cost=_cost(document["cost"], "cost"),
        lower_bound=None
        if document["lower_bound"] is None
        else _cost(document["lower_bound"], "lower_bound"),
        hardest=_number(document["hardest"], "hardest"),
        n_facets=whole_number(document["n_facets"], "n_facets", 0),
        n_equalities=whole_number(document["n_equalities"], "n_equalities", 0),
        open=texts["open"],
        witness=None
        if witness is None
        else tuple(_exact(entry, "witness") for entry in _list(witness, "witness")),
        loss=None if loss is None else finite_number(plain_numbers(loss), "loss", -math.inf),
        settings=plain_numbers(settings),
        proof=_proof(document.get("proof")),  # older files have none
    )


def _items(given: Any, settings: Any) -> tuple[Item, ...]:
    """The items, each of a member where the settings name some."""
    if not isinstance(settings, dict):
        raise InvalidFile(f"settings must be an object; it is {shown(settings)}")
    members = settings.get("members")
    n_members = 0 if members is None else len(_texts(members, "settings: members"))
    listed = _list(given, "items")
    return tuple(_as_item(entry, f"items[{i}]", n_members) for i, entry in enumerate(listed))


def _proof(given: Any) -> dict[str, Any] | None:
    if given is None or isinstance(given, dict):
        return None if given is None else plain_numbers(given)
    raise InvalidFile(f"proof must be an object or null; it is {shown(given)}")


def _as_item(entry: Any, place: str, n_members: int) -> Item:
    """An item of a task, or of one of so many members of a family."""
    item: Item
    if isinstance(entry, Mapping):
        item = read_item(entry, place)
    elif n_members:
        if len(_list(entry, place)) != 2:
            raise InvalidFile(f"{place} must be [member, pairs]; it is {shown(entry)}")
        item = Demonstration(entry[1], whole_number(entry[0], f"{place}: member", 0))
    else:
        item = Demonstration(_list(entry, place))
    if (item.member is None) != (n_members == 0) or (item.member or 0) >= max(n_members, 1):
        of = f"of one of {n_members} members" if n_members else "of a task, without a member"
        raise InvalidFile(f"{place} must be {of}; its member is {item.member}")
    return item


def _cost(value: Any, place: str) -> int | Fraction:
    cost = whole_if_whole(_exact(value, place))
    if cost < 0:
        raise InvalidFile(f"{place} must not be negative; it is {shown(value)}")
    return cost


def _number(value: Any, place: str) -> Fraction | None:
    return None if value is None else _exact(value, place)


def _exact(value: Any, place: str) -> Fraction:
    """A number of any length; decimals as elsewhere."""
    is_long = isinstance(value, str) and value.lstrip("+-").replace("/", "", 1).isdecimal()
    return read_text(value, place) if is_long else read_number(value, place)


def _list(value: Any, place: str) -> list[Any]:
    if not isinstance(value, list):
        raise InvalidFile(f"{place} must be a list; it is {shown(value)}")
    return value


def _texts(value: Any, place: str) -> tuple[str, ...]:
    return tuple(as_text(entry, place, error=InvalidFile) for entry in _list(value, place))
