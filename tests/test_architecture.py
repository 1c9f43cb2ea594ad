"""Rooms import only the rooms below them, and floors the floors below; the checker stands alone."""

import ast
import re
import sys

import pytest

from tests.floors import (
    CHECKER,
    FLOORS,
    FRONT,
    LEVEL_OF,
    LEVELS,
    MAY_LOOK_UP,
    OPEN_BY_NAME,
    PACKAGE,
    REST,
    STARTS,
    imported,
    modules,
    name_of,
    named_in_text,
    opens_by_name,
    package_of,
    room_of,
    wrong_imports,
)


def test_every_module_has_a_room():
    assert modules()
    for path in modules():
        room = room_of(path)
        assert room in {*LEVEL_OF, CHECKER, *FRONT}, f"{path} is in no known room"


@pytest.mark.parametrize("path", modules(), ids=lambda path: ".".join(name_of(path)))
def test_rooms_import_only_downwards(path):
    if room_of(path) in FRONT or room_of(path) == CHECKER:
        return
    wrong = wrong_imports(name_of(path), path.read_text(encoding="utf-8"), package_of(path))
    assert not wrong, f"{'.'.join(name_of(path))} must not import {wrong[0]}"


def test_the_one_exception_is_there_and_looks_up():
    path = PACKAGE.parent.joinpath(*MAY_LOOK_UP.split(".")).with_suffix(".py")
    source = path.read_text(encoding="utf-8")
    room = ("didact", room_of(path))
    assert wrong_imports((*room, "elsewhere"), source, room)
    assert wrong_imports(name_of(path), source, room) == []


def test_commands_that_start_another_edge_name_it():
    for command, edge in STARTS.items():
        source = PACKAGE.parent.joinpath(*command.split(".")).with_suffix(".py").read_text("utf-8")
        assert edge in named_in_text(source, ("didact", "cli"))
        assert wrong_imports(("didact", "cli", "elsewhere"), source, ("didact", "cli"))


def test_only_these_import_what_they_are_told_by_name():
    found = {
        ".".join(name_of(path)) for path in modules() if opens_by_name(path.read_text("utf-8"))
    }
    assert found == {*OPEN_BY_NAME}


@pytest.mark.parametrize(
    ("source", "opens"),
    [
        ("import_module(name)", True),
        ('import_module("didact." + room)', True),
        ('importlib.import_module(f"didact.{room}")', True),
        ("__import__(name)", True),
        ('def f():\n    exec(f"import {name}")', True),
        ('import_module("json")', False),
        ("model.eval_at(place)", False),
        ('re.compile("x")', False),
    ],
)
def test_imports_by_name_are_found(source, opens):
    assert opens_by_name(source) == opens


def test_floors_name_what_is_there():
    for room, floors in FLOORS.items():
        named = [thing for things in floors for thing in things]
        assert named.count(REST) == 1
        for thing in {*named} - {REST}:
            at = PACKAGE / room / thing
            assert at.with_suffix(".py").exists() or (at / "__init__.py").exists(), at
        rooms = {at.parent.name for at in (PACKAGE / room).glob("*/__init__.py")}
        assert rooms <= {*named}, f"{rooms - {*named}} of {room} has no floor"


def test_the_front_opens_the_command_line_and_lends_names_only():
    found = imported((PACKAGE / "__main__.py").read_text(), ("didact",))
    assert sorted(found) == ["didact.cli.main", "signal", "sys"]
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
        "errors", "stages", "inputs", "numerics", "random", "files", "registry", "mdp", "worlds",
        "planning", "bec", "teaching", "learners", "active", "auditing", "studies", "plots",
        "report", "app", "cli", "studio", "widgets",
    ]  # fmt: skip


def wrong_in(module: str, source: str) -> list[str]:
    name = ("didact", *module.split("."))
    return wrong_imports(name, source, name[:-1] if len(name) > 2 else name)


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("mdp.model", "import didact.planning"),
        ("mdp.model", "import numpy, didact.worlds.grids as g"),
        ("mdp.model", "def later():\n    from didact.planning import solve"),
        ("mdp.model", "if TYPE_CHECKING:\n    from didact.planning.solve import Plan"),
        ("mdp.model", "from ..planning import solve"),
        ("mdp.model", "from .. import planning"),
        ("mdp.recordings.minari", "from ...planning import solve"),
        ("mdp.model", "from didact import solve"),
        ("mdp.model", "from didact import planning"),
        ("mdp.model", "import didact"),
        ("mdp.model", "from didact.utils import x"),
        ("numerics.exact", "from didact.random import stream"),
        ("inputs", "from didact.numerics.exact import Floats"),
        ("inputs", "from didact.files.json import read"),
        ("cli.main", "from didact.studio import serve"),
        ("studio.server", "from didact.cli.options import seed"),
        ("report.page.lesson", "from didact.plots import world"),
        ("bec.proofs", "from didact.proofcheck import show"),
    ],
)
def test_a_wrong_import_is_found(module, source):
    assert wrong_in(module, source)


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("teaching.lesson", 'PAGES = {"report": "didact.app.explain:write_lesson_page"}'),
        ("teaching.lesson", 'import_module("didact.report.page")'),
        ("teaching.lesson", 'import_module(f"didact.app.{verb}")'),
        ("teaching.lesson", 'import_module("didact." + verb)'),
        ("teaching.lesson", 'import_module(f"didact.{verb}")'),
        ("teaching.lesson", 'import_module("..app.explain", __package__)'),
        ("teaching.covers.minimum", 'import_module("...app", package=__package__)'),
        ("teaching.lesson", '__import__("didact.app.explain")'),
        ("teaching.lesson", 'sys.modules["didact.learners.learn"]'),
        ("teaching.lesson", 'run([sys.executable, "-m", "didact.cli"])'),
        ("teaching.lesson", 'CODE = "import sys; from didact.app import warm"'),
        ("teaching.lesson", 'exec("""\nimport didact.app.warm\n""")'),
        ("teaching.lesson", 'def f():\n    """Prose."""\n    return "didact.studies.run"'),
        ("bec.proofs", 'import_module("didact.proofcheck")'),
        ("mdp.model", 'READERS = {"minari": "didact.mdp.recordings.minari:read"}'),
    ],
)
def test_an_import_hidden_in_text_is_found(module, source):
    assert wrong_in(module, source)


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("mdp.model", "from didact.mdp.recordings.minari import read"),
        ("mdp.model", "from .recordings import minari"),
        ("mdp.recordings.minari", "from didact.mdp import MDP"),
        ("mdp.recordings.minari", "from .. import load_task"),
        ("mdp.model", "from didact import mdp"),
        ("learners.belief", "from didact.learners.learn import learn"),
        ("learners.chains.birl", "from didact.learners.points.margin import climb"),
        ("learners.chains.walk", "def f():\n    from ..points import margin"),
        ("teaching.covers.minimum", "from didact.teaching.teach import teach"),
        ("studies.run", "from didact.studies.paper.table1 import STUDY"),
        ("cli.options", "from didact.cli.__main__ import main"),
    ],
)
def test_a_wrong_import_inside_a_room_is_found(module, source):
    assert wrong_in(module, source)


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("mdp.model", "import numpy as np\nfrom didact.errors import InvalidModel"),
        ("mdp.task", "from .model import MDP\nfrom ..numerics import exact"),
        ("mdp.task", "from didact.mdp.model import MDP"),
        ("mdp.recordings.minari", "from didact.mdp.model import MDP"),
        ("mdp", "from didact.mdp.recordings.minari import read"),
        ("cli.main", "from didact import __version__\nfrom didact.planning import solve"),
        ("cli.__main__", "from didact.cli import main"),
        ("cli.check", "from didact.proofcheck import check"),
        ("learners.learn", 'BUILT_IN = {"birl": "didact.learners.chains.birl:birl"}'),
        ("learners.chains.birl", "from didact.learners.chains.kernels import step"),
        ("learners.points.search", "def f():\n    from ..chains.birl import birl"),
        ("worlds.registry", 'ENTRY_POINTS = "didact.worlds"'),
        ("teaching.teachers", 'ENTRY_POINTS = "didact.teachers"'),
        ("teaching.teach", 'fail("call didact.app.explain for more")'),
        ("teaching.teach", '"""didact.app.explain"""\nX = 1\n"didact.app.explain"  # didact.app'),
        ("teaching.teach", 'def f():\n    """import didact.app"""'),
        ("teaching.teach", 'import_module("json")'),
    ],
)
def test_a_right_import_is_left_alone(module, source):
    assert wrong_in(module, source) == []


def test_entry_points_are_no_modules():
    assert named_in_text('GROUP = "didact.strategies"', ("didact", "active")) == []


NARROWS = r"assert (not )?isinstance\([\w.]+, [\w. |]+\)|assert [\w.\[\]'\"]+ is not None"


def checks_by_assert(source: str) -> list[str]:
    """The asserts of a source that do more than narrow a type, which fails by itself without them.

    python -O leaves asserts out, and must change no verdict.
    """
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Assert):
            told = ast.unparse(node)
            if not re.fullmatch(NARROWS, told):
                found.append(told)
    return found


@pytest.mark.parametrize("path", modules(), ids=lambda path: ".".join(name_of(path)))
def test_soundness_is_not_checked_by_asserts(path):
    assert checks_by_assert(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("source", "is_found"),
    [
        ("assert x is not None", False),
        ("assert isinstance(a.b, Inside)", False),
        ("assert not isinstance(verdict, Inside)", False),
        ("assert dot(row, witness) < 0", True),
        ("assert x is not None, 'the rows span the space'", True),
        ("assert isinstance(x, A) and x.fits", True),
        ("assert not found.wrong", True),
    ],
)
def test_an_assert_that_checks_is_found(source, is_found):
    assert bool(checks_by_assert(source)) == is_found
