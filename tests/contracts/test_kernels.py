"""Every kernel of the package: few parameters, and the named tuples that it reads are annotated.

The disk cache knows the fields of named tuples by the annotations alone: see `Kernel.fingerprint`.
"""

import ast
import inspect
import pkgutil
import textwrap
from importlib import import_module
from typing import get_args, get_type_hints

import pytest

import didact
from didact.numerics.compiled import Kernel

MAX_PARAMETERS = 6
WITH_EXTRAS = ("plots", "studio", "widgets")
"""Rooms without kernels that cannot be imported everywhere."""


def kernels() -> dict[str, Kernel]:
    found = {}
    for module in pkgutil.walk_packages(didact.__path__, "didact."):
        if not module.name.endswith("__main__") and module.name.split(".")[1] not in WITH_EXTRAS:
            names = vars(import_module(module.name))
            found |= {f"{module.name}.{n}": k for n, k in names.items() if isinstance(k, Kernel)}
    return {name: k for name, k in found.items() if k.plain.__module__ in name}


KERNELS = kernels()


def fields_read(source: str) -> set[str]:
    """The parameters of a function of which it reads attributes that arrays do not have."""
    tree = ast.parse(textwrap.dedent(source))
    (function,) = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    own = {argument.arg for argument in function.args.args}
    return own & {
        node.value.id
        for node in ast.walk(function)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
        if node.attr != "shape"
    }


def test_kernels_are_found():
    assert len(KERNELS) > 50


@pytest.mark.parametrize("name", KERNELS)
def test_kernels_have_few_parameters(name):
    assert KERNELS[name].plain.__code__.co_argcount <= MAX_PARAMETERS


@pytest.mark.parametrize("name", KERNELS)
def test_named_tuples_are_annotated(name):
    plain = KERNELS[name].plain
    hints = get_type_hints(plain)
    for parameter in fields_read(inspect.getsource(plain)):
        kinds = get_args(hints[parameter]) or (hints[parameter],)
        assert all(hasattr(kind, "_fields") for kind in kinds), f"{name}: what is {parameter}?"


def test_fields_are_read_by_name():
    source = "def f(a, b, c):\n    d = a.x\n    return d.y + b[0] + b.shape[0] + math.pi"
    assert fields_read(source) == {"a"}
