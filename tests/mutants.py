"""Small changes to a Python file, each of which some test should notice.

A mutant differs from its file in one place: a comparison off by one, a sum for a difference, a
branch that is always taken, a call that is left out. Texts, types and docstrings stay as they are.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass

COMPARISONS = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
OPERATORS = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.MatMult: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
OTHER_FUNCTION = {"any": "all", "all": "any", "min": "max", "max": "min"}
TYPES = ("annotation", "returns")


@dataclass(frozen=True)
class Mutant:
    """One change to a file: its line, what that line says, and what changes in it."""

    line: int
    inside: str
    change: str
    tree: ast.Module
    place: tuple
    changed: ast.AST

    @property
    def source(self) -> str:
        """The whole text of the changed file."""
        return ast.unparse(ast.fix_missing_locations(_put(self.tree, self.place, self.changed)))


def mutants(source: str) -> list[Mutant]:
    """Every mutant of a file, from top to bottom."""
    tree = ast.parse(source)
    lines = source.splitlines()
    found = []
    for place, node in _places(tree, ()):
        for changed in _changes(node):
            line = node.target.lineno if isinstance(node, ast.comprehension) else node.lineno
            change = f"{_one_line(node)} -> {_one_line(changed)}"
            found.append(Mutant(line, lines[line - 1].strip(), change, tree, place, changed))
    return sorted(found, key=lambda mutant: mutant.line)


def _places(node: ast.AST, place: tuple) -> Iterator[tuple[tuple, ast.AST]]:
    """Every node that may change, with the fields and numbers that lead to it from the top."""
    yield place, node
    for field, value in ast.iter_fields(node):
        if field in TYPES:
            continue
        children = enumerate(value) if isinstance(value, list) else [(None, value)]
        for number, child in children:
            if isinstance(child, ast.AST):
                yield from _places(child, (*place, (field, number)))


def _put(tree: ast.AST, place: tuple, changed: ast.AST) -> ast.AST:
    """The tree with another node at the place; what does not lead there is shared."""
    if not place:
        return changed
    (field, number), *rest = place
    value = getattr(tree, field)
    if number is None:
        return _with(tree, **{field: _put(value, rest, changed)})
    there = _put(value[number], rest, changed)
    return _with(tree, **{field: [*value[:number], there, *value[number + 1 :]]})


def _changes(node: ast.AST) -> Iterator[ast.AST]:
    """What may stand in the place of a node."""
    for kind, change in CHANGES.items():
        if isinstance(node, kind):
            yield from change(node)


def _with(node: ast.AST, **fields: object) -> ast.AST:
    changed = copy.copy(node)
    for name, value in fields.items():
        setattr(changed, name, value)
    return changed


def _compare(node: ast.Compare) -> Iterator[ast.AST]:
    for i, operator in enumerate(node.ops):
        ops = [*node.ops[:i], COMPARISONS[type(operator)](), *node.ops[i + 1 :]]
        yield _with(node, ops=ops)


def _join(node: ast.BoolOp) -> Iterator[ast.AST]:
    yield _with(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())


def _calculate(node: ast.BinOp | ast.AugAssign) -> Iterator[ast.AST]:
    if type(node.op) in OPERATORS:
        yield _with(node, op=OPERATORS[type(node.op)]())


def _negate(node: ast.UnaryOp) -> Iterator[ast.AST]:
    if isinstance(node.op, ast.Not | ast.USub):
        yield node.operand


def _constant(node: ast.Constant) -> Iterator[ast.AST]:
    if isinstance(node.value, bool):
        yield ast.Constant(not node.value)
    elif isinstance(node.value, int | float):
        yield ast.Constant(node.value + 1)


def _choose(node: ast.IfExp) -> Iterator[ast.AST]:
    yield node.body
    yield node.orelse


def _decide(node: ast.If | ast.While) -> Iterator[ast.AST]:
    if not (isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"):
        if isinstance(node, ast.If):
            yield _with(node, test=ast.Constant(True))
        yield _with(node, test=ast.Constant(False))


def _filter(node: ast.comprehension) -> Iterator[ast.AST]:
    for i in range(len(node.ifs)):
        yield _with(node, ifs=node.ifs[:i] + node.ifs[i + 1 :])


def _leave_out(node: ast.Expr | ast.AugAssign) -> Iterator[ast.AST]:
    if isinstance(node, ast.AugAssign) or isinstance(node.value, ast.Call):
        yield ast.Pass()


def _return(node: ast.Return) -> Iterator[ast.AST]:
    if node.value is not None and not isinstance(node.value, ast.Constant):
        yield _with(node, value=ast.Constant(None))


def _call(node: ast.Call) -> Iterator[ast.AST]:
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    if name in OTHER_FUNCTION:
        yield _with(node, func=ast.Name(OTHER_FUNCTION[name]))
    if name == "abs":
        yield node.args[0]


def _one_line(node: ast.AST) -> str:
    """What the node says, shortened to its first line."""
    if isinstance(node, ast.comprehension):
        return f"for {ast.unparse(node.target)} in ... {' '.join(map(ast.unparse, node.ifs))}"
    return ast.unparse(node).split("\n")[0][:90]


CHANGES = {
    ast.Compare: _compare,
    ast.BoolOp: _join,
    ast.BinOp | ast.AugAssign: _calculate,
    ast.UnaryOp: _negate,
    ast.Constant: _constant,
    ast.IfExp: _choose,
    ast.If | ast.While: _decide,
    ast.comprehension: _filter,
    ast.Expr | ast.AugAssign: _leave_out,
    ast.Return: _return,
    ast.Call: _call,
}
