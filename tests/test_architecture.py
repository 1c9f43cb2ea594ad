"""Rooms import only the rooms below them; the proof checker stands alone."""

import ast
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "didact"

LEVELS = (
    {"errors"},
    {"numerics"},
    {"random"},
    {"files"},
    {"mdp"},
    {"worlds"},
    {"planning"},
    {"bec"},
    {"teaching"},
    {"learners"},
    {"active"},
    {"studies"},
    {"report"},
    {"app"},
    {"cli", "studio"},
)
"""From the ground up. Rooms of one level do not import each other."""

LEVEL_OF = {room: level for level, rooms in enumerate(LEVELS) for room in rooms}
CHECKER = "proofcheck"
MAY_RUN_THE_CHECKER = {"app", "cli", "studio"}
FRONT = {"__init__", "__main__"}


def modules():
    return sorted(PACKAGE.rglob("*.py"))


def name_of(path: Path) -> tuple[str, ...]:
    """('didact', 'mdp', 'model'); a package is its own name without __init__."""
    parts = ("didact", *path.relative_to(PACKAGE).with_suffix("").parts)
    return parts[:-1] if parts[-1] == "__init__" else parts


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def imported(source: str, package: tuple[str, ...]) -> list[str]:
    """Dotted names of all that is imported anywhere in a module, inside functions too.

    `from a import b` is a.b: b may be a module. package: that of the module, for relative imports.
    """
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            near = package[: len(package) - node.level + 1] if node.level else ()
            base = [*near, *([node.module] if node.module else [])]
            found += [".".join([*base, alias.name]) for alias in node.names]
    return found


def wrong_imports(room: str, source: str, package: tuple[str, ...]) -> list[str]:
    """The imports that a module of the room must not have."""
    wrong = []
    for name in imported(source, package):
        parts = name.split(".")
        if parts[0] != "didact" or name == "didact.__version__":
            continue
        target = parts[1] if len(parts) > 1 else ""
        if target == CHECKER:
            allowed = room in MAY_RUN_THE_CHECKER
        else:
            allowed = target == room or LEVEL_OF.get(target, len(LEVELS)) < LEVEL_OF[room]
        if not allowed:
            wrong.append(name)
    return wrong


def test_every_module_has_a_room():
    assert modules()
    for path in modules():
        room = room_of(path)
        assert room in {*LEVEL_OF, CHECKER, *FRONT}, f"{path} is in no known room"


@pytest.mark.parametrize("path", modules(), ids=lambda path: ".".join(name_of(path)))
def test_rooms_import_only_downwards(path):
    room = room_of(path)
    if room in FRONT or room == CHECKER:
        return
    name = name_of(path)
    package = name if path.name == "__init__.py" else name[:-1]
    wrong = wrong_imports(room, path.read_text(encoding="utf-8"), package)
    assert not wrong, f"didact.{room} must not import {wrong[0]}"


def test_the_front_opens_the_command_line_and_lends_names_only():
    assert imported((PACKAGE / "__main__.py").read_text(), ("didact",)) == ["didact.cli.main"]
    for name in imported((PACKAGE / "__init__.py").read_text(), ("didact",)):
        assert name.split(".")[0] in {"__future__", "importlib", "typing", "didact"}, name


def test_the_checker_shares_nothing_and_needs_only_the_standard_library():
    source = (PACKAGE / f"{CHECKER}.py").read_text(encoding="utf-8")
    names = imported(source, ("didact",))
    assert names
    for name in names:
        assert name.split(".")[0] in sys.stdlib_module_names, name
    assert "import_module" not in source
    assert "__import__" not in source


def test_the_order_is_that_of_the_design():
    order = [room for rooms in LEVELS for room in sorted(rooms)]
    assert order == [
        "errors", "numerics", "random", "files", "mdp", "worlds", "planning", "bec", "teaching",
        "learners", "active", "studies", "report", "app", "cli", "studio",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("room", "source"),
    [
        ("mdp", "import didact.planning"),
        ("mdp", "import numpy, didact.worlds.grids as g"),
        ("mdp", "def later():\n    from didact.planning import solve"),
        ("mdp", "if TYPE_CHECKING:\n    from didact.planning.solve import Plan"),
        ("mdp", "from ..planning import solve"),
        ("mdp", "from .. import planning"),
        ("mdp", "from didact import solve"),
        ("mdp", "from didact import planning"),
        ("mdp", "import didact"),
        ("mdp", "from didact.utils import x"),
        ("numerics", "from didact.random import stream"),
        ("cli", "from didact.studio import serve"),
        ("studio", "from didact.cli.options import seed"),
        ("bec", "from didact.proofcheck import show"),
    ],
)
def test_a_wrong_import_is_found(room, source):
    assert wrong_imports(room, source, ("didact", room))


@pytest.mark.parametrize(
    ("room", "source"),
    [
        ("mdp", "import numpy as np\nfrom didact.errors import InvalidModel"),
        ("mdp", "from .model import MDP\nfrom ..numerics import exact"),
        ("mdp", "from didact.mdp.model import MDP"),
        ("cli", "from didact import __version__\nfrom didact.app.show import show"),
        ("app", "from didact.proofcheck import check"),
    ],
)
def test_a_right_import_is_left_alone(room, source):
    assert wrong_imports(room, source, ("didact", room)) == []
