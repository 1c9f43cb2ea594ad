"""Policies that a person names as module:name: modules, names and answers of every kind."""

import contextlib
import random
import sys
from pathlib import Path

import pytest

from didact.cli.policies import read_policy
from tests.fuzz.contract import Files, Target, keeps_contract
from tests.fuzz.test_json_files import are_probabilities, tasks

MODULE, NAME = "given_policy.py", "name.txt"
"""The module that is named, and what a person types, which is as long as it is wrong."""

FORMS = (
    "def policy(state):\n    return {}\n",
    "policy = {}\n",
    "policy = lambda *given, **more: {}\n",
    "def policy(state, other):\n    return {}\n",
    "class policy:\n    def __init__(self, state=None):\n        self.given = {}\n",
    "class Agent:\n    def predict(self, observation, deterministic=False):\n        return {}\n"
    "policy = Agent()\n",
    "class Agent:\n    def predict(self, seen):\n        return {}, None\npolicy = Agent()\n",
    "class Agent:\n    predict = {}\npolicy = Agent()\n",
    "class Agent:\n    @property\n    def predict(self):\n        return {}\npolicy = Agent()\n",
    "class Agent:\n    def __getattr__(self, name):\n        return {}\npolicy = Agent()\n",
    "class Agent:\n    def __array__(self, *a, **b):\n        return np.asarray({})\n"
    "policy = Agent()\n",
    "class Agent:\n    def __iter__(self):\n        yield {}\npolicy = Agent()\n",
    "def policy(state):\n    yield {}\n",
    "async def policy(state):\n    return {}\n",
    "import a_module_that_is_missing\npolicy = {}\n",
    "raise RuntimeError({})\n",
)
ANSWERS = (
    *("0", "3", "4", "-1", "2.0", "2.5", "'1'", "None", "True", "1j", "b'1'", "10**400", "...",),
    *("[0.25] * 4", "[1, 0, 0, 0]", "[0.5, 0.5]", "(0,)", "[[1, 0, 0, 0]]", "[None] * 4", "[]"),
    *("[1e308] * 4", "[-0.5, 0.5, 0.5, 0.5]", "[1e-320, 1, 0, 0]", "{'a': 1}", "{0, 1}"),
    *("float('nan')", "float('inf')", "[float('nan')] * 4", "object()", "iter([1])", "int"),
    *("np.array(1)", "np.int8(2)", "np.zeros(4)", "np.eye(4)[1]", "np.array([[1]])"),
    *("np.datetime64('2020')", "np.ones(4, dtype=bool)", "np.zeros((6, 4, 2))", "np.array('x')"),
    *("np.ma.masked",),
    *("[0] * 6", "[[0.25] * 4] * 6", "np.full((6, 4), 0.25)", "np.arange(6)", "['1/4'] * 4"),
    *("1 / 0", "[][0]", "sys.exit(3)", "open('/nowhere')", "state.missing", "policy(0)", "_fail()"),
    *("'x' * 10**6", "'\\x1b[31m\\u202e'", "Ellipsis", "sys", "policy", "_Odd()", "print"),
)  # fmt: skip
NAMES = (
    *("given_policy:", ":policy", "given_policy", "given_policy:policy.missing", "a:b:c", ""),
    *("given_policy:policy.__class__", "sys:exit", "sys:maxsize", "math:pi", "json.nothing:x"),
    *("given_policy:_fail", "given_policy:_Odd", ".given_policy:policy", "given policy:policy"),
    *("é:ü", "x" * 300 + ":policy", "given_policy:" + "y" * 5000, "..:policy", "0:0", "\x1b[31m:x"),
)
BEGINNING = (
    "import sys\nimport numpy as np\n"
    "def _fail():\n    raise KeyError('\\x1b[31m', 'two\\nlines')\n"
    "class _Odd:\n    def __repr__(self):\n        raise ValueError('no text')\n"
    "    __int__ = __index__ = __float__ = __len__ = __repr__\n"
)


def module_files() -> list[Files]:
    good = ("0", "[1, 0, 0, 0]", "np.array([0.5, 0.5, 0.0, 0.0])")
    return [_named(FORMS[0].format(answer)) for answer in good] + [_named(FORMS[6].format("2"))]


def _named(code: str, name: str = "given_policy:policy") -> Files:
    return {MODULE: (BEGINNING + code).encode(), NAME: name.encode()}


def another_answer(rng: random.Random, files: Files) -> Files:
    return _named(rng.choice(FORMS).format(rng.choice(ANSWERS)))


def another_name(rng: random.Random, files: Files) -> Files:
    return {**files, NAME: rng.choice(NAMES).encode()}


def read_named(path: Path) -> object:
    """The policy that the text beside the module names, read where both are."""
    text = path.read_bytes().decode("utf-8", "surrogateescape")
    kept, written = list(sys.path), sys.dont_write_bytecode
    sys.dont_write_bytecode = True
    sys.modules.pop("given_policy", None)
    try:
        with contextlib.chdir(path.parent):
            return read_policy(text, tasks()[0])
    finally:
        sys.path[:], sys.dont_write_bytecode = kept, written
        sys.modules.pop("given_policy", None)


TARGET = Target(
    module_files, NAME, read_named, are_probabilities, edits=(another_answer, another_name)
)


def test_named_policies_are_read_or_refused_in_one_line(tmp_path):
    told = keeps_contract("named policy", TARGET, 400, tmp_path)
    assert min(told["read"], told["refused"]) > 10


@pytest.mark.slow
def test_many_named_policies_are_read_or_refused_in_one_line(tmp_path):
    told = keeps_contract("named policy", TARGET, 10_000, tmp_path)
    assert min(told["read"], told["refused"]) > 200
    print(f"named policy: {told}")
