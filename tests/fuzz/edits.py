"""Edits that make a hostile file from a good one: of its bytes, of its words, of its JSON."""

import json
import random
import struct
from copy import deepcopy
from typing import Any

WORDS = ("<i", "<q", ">i", "<H", "<d")
EXTREME = {
    "<i": (-1, 0, 1, 2**31 - 1, -(2**31)),
    ">i": (-1, 0, 1, 2**31 - 1, -(2**31)),
    "<q": (-1, 0, 1, 2**63 - 1, -(2**63), 2**40),
    "<H": (0, 1, 2**16 - 1),
    "<d": (float("nan"), float("inf"), -0.0, 1e308, 5e-324),
}


def edited_bytes(rng: random.Random, content: bytes) -> bytes:
    """The content with one to three edits of its bytes."""
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        content = rng.choice(BYTE_EDITS)(rng, content or b"\n")
    return content


def flipped(rng: random.Random, content: bytes) -> bytes:
    """One bit is another."""
    return _overwritten(
        content, at := _place(rng, content), bytes([content[at] ^ 1 << rng.randrange(8)])
    )


def replaced(rng: random.Random, content: bytes) -> bytes:
    """One byte is another."""
    return _overwritten(content, _place(rng, content), bytes([rng.randrange(256)]))


def cut(rng: random.Random, content: bytes) -> bytes:
    """The end is missing."""
    return content[: _place(rng, content)]


def without_a_part(rng: random.Random, content: bytes) -> bytes:
    """A part from the middle is missing."""
    begin, end = _part(rng, content)
    return content[:begin] + content[end:]


def repeated(rng: random.Random, content: bytes) -> bytes:
    """A part stands twice, or often."""
    begin, end = _part(rng, content)
    return content[:end] + content[begin:end] * rng.choice((1, 1, 3, 50)) + content[end:]


def exchanged(rng: random.Random, content: bytes) -> bytes:
    """A part stands elsewhere too, in the place of what was there."""
    begin, end = _part(rng, content)
    return _overwritten(content, _place(rng, content), content[begin:end])


def inserted(rng: random.Random, content: bytes) -> bytes:
    """Foreign bytes stand somewhere, or at the end."""
    at = rng.choice((_place(rng, content), len(content)))
    return content[:at] + rng.randbytes(rng.choice((1, 4, 100))) + content[at:]


def blanked(rng: random.Random, content: bytes) -> bytes:
    """A part is zeros, or ones."""
    begin, end = _part(rng, content)
    return content[:begin] + rng.choice((b"\0", b"\xff")) * (end - begin) + content[end:]


def extreme_word(rng: random.Random, content: bytes) -> bytes:
    """A word of the machine is as large or as small as can be, or one more than it was."""
    kind = rng.choice(WORDS)
    size = struct.calcsize(kind)
    if len(content) < size:
        return content
    at = rng.randrange(len(content) - size + 1) // size * size
    if rng.random() < 0.3 and kind == "<i":
        (old,) = struct.unpack_from("<I", content, at)
        return _overwritten(content, at, struct.pack("<I", (old + rng.choice((1, -1))) % 2**32))
    return _overwritten(content, at, struct.pack(kind, rng.choice(EXTREME[kind])))


BYTE_EDITS = (
    *(flipped, flipped, replaced, cut, without_a_part, repeated),
    *(exchanged, inserted, blanked, extreme_word, extreme_word),
)


def _place(rng: random.Random, content: bytes) -> int:
    return rng.randrange(len(content)) if content else 0


def _part(rng: random.Random, content: bytes) -> tuple[int, int]:
    begin = _place(rng, content)
    return begin, min(len(content), begin + rng.choice((1, 2, 8, 64, 500)))


def _overwritten(content: bytes, at: int, part: bytes) -> bytes:
    return (content[:at] + part + content[at + len(part) :])[: max(len(content), 1)]


# JSON


class Raw(str):
    """A piece of JSON text as it stands."""


STRANGE: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 10, 0.5, -0.0, 1e-320, 1e308, 2**31, 2**53, 2**63, -(2**63)),
    *(10**30, 10**400, Raw("1" * 5000), Raw("1e400"), Raw("1e-400"), Raw("1e999999999999")),
    *(Raw("NaN"), Raw("Infinity"), Raw("-Infinity"), Raw("00"), Raw("1."), Raw("0." + "3" * 2000)),
    *("", "x", "0", "1", "1/3", "1/0", "-1/3", " 1", "1e5", "0x10", "٣", "1" * 1500, "9" * 2500),
    *("\x1b[31m", "\x07\x9b\u202e", Raw('"\\ud800"'), "ä" * 300, "\n", "\0", "uniform", "all"),
    *(
        [],
        {},
        [[]],
        [None],
        [0],
        [[0, 0]],
        [[[0, 0]]],
        {"": 0},
        {"format": "didact.task/1"},
        ["x"] * 3,
    ),
    *(Raw("[" * 100_000), Raw("[" * 900 + "]" * 900), Raw("[" * 100_000 + "]" * 100_000)),
    *(Raw('{"a":' * 500 + "1" + "}" * 500), Raw('{"a": 1, "a": 2}'), [0] * 10_000, "y" * 100_000),
)
"""Values in the place of others."""


def edited_json(rng: random.Random, content: bytes) -> bytes:
    """A JSON text with one to three edits of its values; other texts as bytes."""
    try:
        tree = {"": json.loads(content)}
    except ValueError:
        return edited_bytes(rng, content)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        _edit_tree(rng, tree)
    return text_of(tree[""]).encode("utf-8", "surrogatepass")


def edited_lines(rng: random.Random, content: bytes) -> bytes:
    """JSON lines, one of them edited, moved, doubled or left out."""
    lines = content.split(b"\n")
    at = rng.randrange(len(lines))
    way = rng.randrange(5)
    if way == 0:
        del lines[at]
    elif way == 1:
        lines.insert(at, rng.choice(lines))
    elif way == 2:
        lines[at] = rng.choice(
            (b"", b"[]", b"{}", b"null", b"1", b"[[0, 0]]", b'{"pairs": [[0, 0]]}')
        )
    else:
        lines[at] = edited_json(rng, lines[at])
    return b"\n".join(lines)


def _edit_tree(rng: random.Random, tree: Any) -> None:
    """Edit one value; each depth is as likely as another."""
    places: dict[int, list[tuple[Any, Any]]] = {}
    _gather(tree, 0, places)
    holder, key = rng.choice(places[rng.choice(list(places))])
    rng.choice(VALUE_EDITS)(rng, holder, key, tree)


def _gather(node: Any, depth: int, places: dict[int, list[tuple[Any, Any]]]) -> None:
    keys = node if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ()
    for key in keys:
        places.setdefault(depth, []).append((node, key))
        _gather(node[key], depth + 1, places)


def _strange(rng: random.Random, holder: Any, key: Any, tree: Any) -> None:
    holder[key] = deepcopy(rng.choice(STRANGE))


def _near(rng: random.Random, holder: Any, key: Any, tree: Any) -> None:
    """A number becomes another, or a text that means it."""
    value = holder[key]
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > 1e100:
        value = 1
    near = (
        value + 1,
        value - 1,
        -value,
        str(value),
        f"{value}/1",
        value * 10**9,
        float(value),
        [value],
    )
    holder[key] = rng.choice(near)


def _leave_out(rng: random.Random, holder: Any, key: Any, tree: Any) -> None:
    if "" not in holder or holder is not tree:
        del holder[key]


def _again(rng: random.Random, holder: Any, key: Any, tree: Any) -> None:
    """An entry of a list stands again; an object gets a key more."""
    if isinstance(holder, list):
        holder[key:key] = [holder[key]] * rng.choice((1, 1, 2, 100))
    elif holder is not tree:
        holder[rng.choice(("extra", "", "x" * 300, "\x1b[31m", "format"))] = holder[key]


def _wrapped(rng: random.Random, holder: Any, key: Any, tree: Any) -> None:
    holder[key] = rng.choice(([holder[key]], {"a": holder[key]}, [holder[key], holder[key]]))


def _from_elsewhere(rng: random.Random, holder: Any, key: Any, tree: Any) -> None:
    """A copy of another value of the same file."""
    places: dict[int, list[tuple[Any, Any]]] = {}
    _gather(tree, 0, places)
    other, place = rng.choice(places[rng.choice(list(places))])
    holder[key] = Raw(text_of(other[place]))


def _shuffled(rng: random.Random, holder: Any, key: Any, tree: Any) -> None:
    value = holder[key]
    if isinstance(value, list):
        rng.shuffle(value)
    elif isinstance(value, str) and not isinstance(value, Raw):
        holder[key] = value[: len(value) // 2] + rng.choice(("", "\x1b", "9", "/", ".")) + value[1:]
    else:
        _near(rng, holder, key, tree)


VALUE_EDITS = (
    *(_strange, _strange, _strange, _near, _near, _leave_out),
    *(_again, _wrapped, _from_elsewhere, _shuffled),
)


def text_of(node: Any) -> str:
    """JSON text of a tree that may hold raw pieces."""
    if isinstance(node, Raw):
        return str(node)
    if isinstance(node, dict):
        return "{" + ", ".join(f"{json.dumps(k)}: {text_of(v)}" for k, v in node.items()) + "}"
    if isinstance(node, list):
        return "[" + ", ".join(map(text_of, node)) + "]"
    return json.dumps(node)
