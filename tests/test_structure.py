"""Limits on the code: one class name in one module, few parameters, simple functions, no asserts.

Which package imports which is in pyproject.toml (`tool.importlinter`), and `make lint` checks it.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import didact

PACKAGE = Path(didact.__file__).parent
CORE = {"numerics", "planning", "bec", "teaching", "learners", "active", "auditing"}
MAX_PUBLIC, MAX_INTERNAL, MAX_POSITIONAL = 12, 8, 2
MAX_COMPLEXITY = 15

Node = ast.FunctionDef


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def name_of(path: Path) -> tuple[str, ...]:
    """('didact', 'mdp', 'model'); a package is its own name without __init__."""
    parts = ("didact", *path.relative_to(PACKAGE).with_suffix("").parts)
    return parts[:-1] if parts[-1] == "__init__" else parts


def package_of(path: Path) -> str:
    """The package of didact that a module is in; its own name where it is in none."""
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


class Functions(ast.NodeVisitor):
    """All functions of a module by their qualified names."""

    def __init__(self) -> None:
        self.found: dict[str, Node] = {}
        self.place: list[str] = []

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._inside(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self.found[".".join([*self.place, node.name])] = node
        self._inside(node)

    def _inside(self, node: ast.ClassDef | ast.FunctionDef) -> None:
        self.place.append(node.name)
        self.generic_visit(node)
        self.place.pop()


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def functions_in(source: ast.Module) -> dict[str, Node]:
    visitor = Functions()
    visitor.visit(source)
    return visitor.found


def parameters_of(node: Node) -> list[str]:
    given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    return [argument.arg for argument in given if argument.arg not in ("self", "cls")]


def complexity_of(node: Node) -> int:
    """One, and one more for each branch, loop, handler, condition of a comprehension, and/or."""
    count = 1
    for part in ast.walk(node):
        if isinstance(part, ast.If | ast.IfExp | ast.For | ast.While | ast.ExceptHandler):
            count += 1
        elif isinstance(part, ast.BoolOp):
            count += len(part.values) - 1
        elif isinstance(part, ast.comprehension):
            count += len(part.ifs)
        elif isinstance(part, ast.Match):
            count += len(part.cases)
    return count


def classes_in(source: ast.Module) -> list[str]:
    """Names of the classes of a module, those inside of functions and classes too."""
    return [node.name for node in ast.walk(source) if isinstance(node, ast.ClassDef)]


def shared_names() -> dict[str, set[str]]:
    """Class names that stand in several modules, with the modules."""
    found: dict[str, set[str]] = defaultdict(set)
    for path in modules():
        for name in classes_in(parsed(path)):
            found[name].add(".".join(name_of(path)))
    return {name: places for name, places in found.items() if len(places) > 1}


def wide_functions() -> Iterator[tuple[str, int]]:
    """Functions of the core that take more than eight parameters, and how many.

    Public functions and methods of public classes may take twelve.
    """
    public = {f"{o.__module__}.{o.__qualname__}" for o in public_objects()}
    for path in modules():
        if package_of(path) in CORE:
            module = ".".join(name_of(path))
            for name, node in functions_in(parsed(path)).items():
                is_public = {f"{module}.{name}", f"{module}.{name.split('.')[0]}"} & public
                n_parameters = len(parameters_of(node))
                if n_parameters > (MAX_PUBLIC if is_public else MAX_INTERNAL):
                    yield f"{module}.{name}", n_parameters


def complex_functions() -> Iterator[tuple[str, int]]:
    """Functions of the core with a complexity above 15, and how large it is."""
    for path in modules():
        if package_of(path) in CORE:
            for name, node in functions_in(parsed(path)).items():
                if complexity_of(node) > MAX_COMPLEXITY:
                    yield ".".join([*name_of(path), name]), complexity_of(node)


def public_objects() -> list:
    found = [getattr(didact, name) for name in didact.__all__]
    return [thing for thing in found if inspect.isfunction(thing) or inspect.isclass(thing)]


def test_no_class_name_stands_in_two_modules():
    assert shared_names() == {}


def test_functions_of_the_core_take_few_parameters():
    assert dict(wide_functions()) == {}


def test_functions_of_the_core_are_simple():
    assert dict(complex_functions()) == {}


@pytest.mark.parametrize("name", didact.__all__)
def test_public_functions_take_few_parameters_and_two_by_position(name):
    function = getattr(didact, name)
    if not inspect.isfunction(function):
        return
    given = inspect.signature(function).parameters.values()
    named = [p for p in given if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    assert len(named) <= MAX_PUBLIC
    assert sum(p.kind is not p.KEYWORD_ONLY for p in named) <= MAX_POSITIONAL


def test_offences_are_found():
    source = ast.parse("class A:\n  def f(self, a, *, b, **c): ...\n  class B: ...\ndef g(): ...")
    assert classes_in(source) == ["A", "B"]
    found = functions_in(source)
    assert {name: parameters_of(node) for name, node in found.items()} == {
        "A.f": ["a", "b"],
        "g": [],
    }


def test_complexity_counts_branches_and_conditions():
    lines = (
        "def f(a):",
        "    if a and a > 1 or a < 0:",
        "        return [b if b else 0 for b in a if b]",
        "    while a:",
        "        try: g(a)",
        "        except ValueError: pass",
    )
    (node,) = functions_in(ast.parse("\n".join(lines))).values()
    assert complexity_of(node) == 1 + 3 + 2 + 1 + 1


def test_the_checker_of_proofs_needs_only_the_standard_library():
    source = (PACKAGE / "proofcheck.py").read_text(encoding="utf-8")
    found = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Import)]
    other = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ImportFrom)]
    names = [each.name for node in found for each in node.names]
    names += [node.module for node in other if node.module is not None]
    assert names
    assert len([node for node in other if node.module is None or node.level]) == 0
    assert {name.split(".")[0] for name in names} <= {*sys.stdlib_module_names}
    assert "import_module" not in source
    assert "__import__" not in source


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
