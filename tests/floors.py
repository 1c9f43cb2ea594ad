"""The order of the rooms and of the floors inside them, as data, and what a module imports.

A name hidden in text counts as an import: "didact.app.explain:write_page", or a piece of
code in a string. Docstrings and comments are prose and do not count.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

PACKAGE = Path(__file__).parents[1] / "src" / "didact"

LEVELS = (
    {"errors", "stages"},
    {"inputs"},
    {"numerics"},
    {"random"},
    {"files"},
    {"registry"},
    {"mdp"},
    {"worlds"},
    {"planning"},
    {"bec"},
    {"teaching"},
    {"learners"},
    {"active"},
    {"auditing"},
    {"studies"},
    {"report", "plots"},
    {"app"},
    {"cli", "studio"},
    {"widgets"},
)
"""From the ground up. Rooms of one level do not import each other. Widgets are the
studio's views in a notebook."""

REST = "the other modules"

FLOORS = {
    "mdp": ({REST}, {"recordings"}),
    "worlds": ({REST}, {"gym"}, {"simulators"}, {"registry"}, {"opening"}),
    "teaching": ({REST}, {"covers"}, {"clips", "uvm"}, {"teachers", "witness"},
                 {"trim"}, {"feedback"}, {"loss"}, {"build"},
                 {"lesson_files", "teach"}, {"check"},
                 {"frontier", "rank", "select", "transfer"}),
    "learners": ({REST}, {"chains"}, {"points"}, {"clips"}, {"learn"}),
    "studies": ({REST}, {"extensions", "paper", "people"}, {"registry"}),
    "report": ({REST, "words"}, {"terminal", "page"}, {"notebook", "studies"}),
}  # fmt: skip
"""Inside a room, from the ground up: modules below sub-rooms below the modules that use them.

Sub-rooms of one floor do not import each other; the room's own __init__ is above all floors. A
room that is not here has one floor.
"""

CHECKER = "proofcheck"
MAY_RUN_THE_CHECKER = {"teaching", "app", "cli", "studio", "widgets"}
FRONT = {"__init__", "__main__"}
MAY_LOOK_UP = "didact.mdp.showing"
"""The one module that names packages above it, as text: how results show themselves."""

STARTS = {"didact.cli.studio": "didact.studio", "didact.cli.study": "didact.studio"}
"""Commands that start another edge: they name it as text, and import it only when they are run."""

OPEN_BY_NAME = {
    "didact": "the room of a public name",
    "didact.studio.questions": "the module of a question",
    "didact.cli": "the module of a command",
    "didact.files.extras": "a package that may not be installed, a module that a person names",
    "didact.mdp.showing": "pages and pictures",
    "didact.registry": "what a room registers as text",
}
"""The modules that import what they are told by name, and what that is."""

LEVEL_OF = {room: level for level, rooms in enumerate(LEVELS) for room in rooms}

_NAME = re.compile(r"didact(\.\w*)*(:[\w.]*)?")
_CODE = re.compile(r"\b(?:from|import)\s+(didact\.\w[\w.]*)")


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def name_of(path: Path) -> tuple[str, ...]:
    """('didact', 'mdp', 'model'); a package is its own name without __init__."""
    parts = ("didact", *path.relative_to(PACKAGE).with_suffix("").parts)
    return parts[:-1] if parts[-1] == "__init__" else parts


def package_of(path: Path) -> tuple[str, ...]:
    """Where a module's relative imports start."""
    return name_of(path) if path.name == "__init__.py" else name_of(path)[:-1]


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


class Said(NamedTuple):
    """What a module says, as far as it is asked here.

    imports: level, module and names of each. texts: its strings, docstrings apart. calls: names of
    functions that may open a module, with their first argument, None unless it stands there.
    """

    imports: tuple[tuple[int, str, tuple[str, ...]], ...]
    texts: tuple[str, ...]
    calls: tuple[tuple[str, Any], ...]


OPENERS = {"import_module", "find_spec", "__import__", "exec", "eval"}


@cache
def said_in(source: str) -> Said:
    """Several questions are asked about each module; half a million nodes are not kept for them."""
    imports, texts, calls = [], [], []
    waiting: list[ast.AST] = [ast.parse(source)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Constant):
            texts += [node.value] if isinstance(node.value, str) else []
        elif isinstance(node, ast.Import):
            imports += [(0, "", (alias.name,)) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = tuple(alias.name for alias in node.names)
            imports.append((node.level, node.module or "", names))
        elif isinstance(node, ast.Call) and _called(node) in OPENERS:
            first = node.args[0] if node.args else None
            calls.append((_called(node), first.value if isinstance(first, ast.Constant) else None))
        if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            waiting += _children(node)
    return Said(tuple(imports), tuple(texts), tuple(calls))


def _children(node: ast.AST) -> list[ast.AST]:
    found: list[ast.AST] = []
    for field in node._fields:
        value = getattr(node, field, None)
        if isinstance(value, list):
            found += [child for child in value if isinstance(child, ast.AST)]
        elif isinstance(value, ast.AST) and value._fields:
            found.append(value)
    return found


def imported(source: str, package: tuple[str, ...]) -> list[str]:
    """Dotted names of all that is imported anywhere in a module, inside functions too.

    `from a import b` is a.b: b may be a module. package: that of the module, for relative imports.
    """
    found = []
    for level, module, names in said_in(source).imports:
        near = package[: len(package) - level + 1] if level else ()
        base = [*near, *([module] if module else [])]
        found += [".".join([*base, name]) for name in names]
    return found


def named_in_text(source: str, package: tuple[str, ...]) -> list[str]:
    """Dotted names of modules that stand in a module's strings, docstrings apart.

    Counted are "didact.app.explain:write", the start of f"didact.app.{name}", code such as "import
    didact.app", and relative names given to import_module or find_spec. Names of no room, as those
    of entry points, are left alone.
    """
    said = said_in(source)
    found = [name for text in said.texts for name in _names_in(text)]
    for called, first in said.calls:
        found += _relative_names(called, first, package)
    return [name for name in found if name.split(".")[1] in {*LEVEL_OF, CHECKER, ""}]


def _names_in(text: str) -> Iterator[str]:
    if _NAME.fullmatch(text) and "." in text:
        yield text.replace(":", ".").removesuffix(".") if text != "didact." else text
    for code in _CODE.finditer(text):
        yield code[1]


def opens_by_name(source: str) -> bool:
    """Whether a module imports something whose name does not stand there."""
    return any(called != "find_spec" and first is None for called, first in said_in(source).calls)


def _called(call: ast.Call) -> str:
    return getattr(call.func, "attr", "") or getattr(call.func, "id", "")


def _relative_names(called: str, first: Any, package: tuple[str, ...]) -> Iterator[str]:
    """The whole name of import_module("..app", __package__)."""
    if called not in {"import_module", "find_spec"} or not isinstance(first, str):
        return
    if first.startswith("."):
        tail = first.lstrip(".")
        up = len(first) - len(tail)
        yield ".".join([*package[: len(package) - up + 1], tail])


def wrong_imports(name: tuple[str, ...], source: str, package: tuple[str, ...]) -> list[str]:
    """The imports that a module must not have, each with the rule that it breaks."""
    targets = [tuple(target.split(".")) for target in imported(source, package)]
    if ".".join(name) != MAY_LOOK_UP:
        hidden = [tuple(target.split(".")) for target in named_in_text(source, package)]
        started = tuple(STARTS.get(".".join(name), "").split("."))
        allowed = {name[:2], started}  # the room's own name is a label
        targets += [parts for parts in hidden if parts not in allowed]
    wrong = []
    for target in targets:
        if target[0] == "didact" and target != ("didact", "__version__"):
            rule = _broken_rule(name, target)
            if rule:
                wrong.append(f"{'.'.join(target)} ({rule})")
    return wrong


def _broken_rule(name: tuple[str, ...], target: tuple[str, ...]) -> str:
    """What an import breaks, or nothing."""
    room, other = name[1], target[1] if len(target) > 1 else ""
    if other == CHECKER:
        return "" if room in MAY_RUN_THE_CHECKER else f"{room} must not run the checker"
    if other != room:
        below = LEVEL_OF.get(other, len(LEVELS)) < LEVEL_OF[room]
        return "" if below else f"{other or 'the front'} is not below {room}"
    here, there = place_of(name), place_of(target)
    if floor_of(room, there) > floor_of(room, here):
        return f"inside {room}, {there} is above {here}"
    beside = floor_of(room, there) == floor_of(room, here) and there != here
    rooms = all(_is_package(PACKAGE / room / place) for place in (here, there))
    return f"inside {room}, {there} is beside {here}" if beside and rooms else ""


@cache
def place_of(name: tuple[str, ...]) -> str:
    """The module or sub-room that a name is in; what is neither comes from the room's __init__."""
    at = PACKAGE.joinpath(*name[1:3])
    there = len(name) > 2 and (_is_package(at) or at.with_suffix(".py").exists())
    return name[2] if there else "__init__"


@cache
def _is_package(folder: Path) -> bool:
    return (folder / "__init__.py").exists()


def floor_of(room: str, place: str) -> int:
    """The floor of a module or a sub-room in its room; __init__ is above all but __main__."""
    floors = FLOORS.get(room, ({REST},))
    if place in ("__init__", "__main__"):
        return len(floors) + (place == "__main__")
    named = {thing: floor for floor, things in enumerate(floors) for thing in things}
    return named.get(place, named[REST])
