"""The mutants of a file: every place that can be wrong is, once, and nothing else changes."""

import ast
from functools import cache

import pytest

from tests import mutation
from tests.effort import number
from tests.mutants import mutants
from tests.mutation import EQUIVALENT, PACKAGE

CHANGES = [
    ("a < b", ["a <= b"]),
    ("a <= b < c", ["a < b < c", "a <= b <= c"]),
    ("a in b", ["a not in b"]),
    ("a is None", ["a is not None"]),
    ("a and b", ["a or b"]),
    ("not a", ["a"]),
    ("-a", ["a"]),
    ("a + b", ["a - b"]),
    ("a * b", ["a + b"]),
    ("7", ["8"]),
    ("True", ["False"]),
    ("'text'", []),
    ("a if b else c", ["a", "c"]),
    ("[a for a in b if a]", ["[a for a in b]"]),
    ("any(a)", ["all(a)"]),
    ("max(a)", ["min(a)"]),
    ("abs(a)", ["a"]),
]


@pytest.mark.parametrize(("expression", "changed"), CHANGES)
def test_an_expression_is_changed_in_every_way(expression, changed):
    found = [mutant.source for mutant in mutants(f"x = {expression}")]
    assert found == [f"x = {text}" for text in changed]


@pytest.mark.parametrize(
    ("statement", "changed"),
    [
        ("if a:\n    b", ["if True:\n    b", "if False:\n    b"]),
        ("while a:\n    b", ["while False:\n    b"]),
        ("call()", ["pass"]),
        ("a += b", ["a -= b", "pass"]),
        ("def f():\n    return a", ["def f():\n    return None"]),
        ("def f(a: 0 < 1) -> 2:\n    'Text: 1 + 1.'", []),
        ("if TYPE_CHECKING:\n    import a", []),
    ],
)
def test_a_statement_is_changed_in_every_way(statement, changed):
    assert [mutant.source for mutant in mutants(statement)] == changed


def test_a_mutant_says_where_it_is_and_what_changed():
    (mutant,) = mutants("a = b\nc = d < e\n")
    assert (mutant.line, mutant.inside) == (2, "c = d < e")
    assert mutant.change == "d < e -> d <= e"


@cache
def mutants_of(name):
    return mutants((PACKAGE / name).read_text(encoding="utf-8"))


def test_every_mutant_is_another_program():
    source = (PACKAGE / "proofcheck.py").read_text(encoding="utf-8")
    written = ast.unparse(ast.parse(source))
    found = mutants_of("proofcheck.py")
    assert len(found) > 200
    for mutant in found[:: 120 // number(1, 3)]:
        assert ast.unparse(ast.parse(mutant.source)) != written


def test_the_tests_of_a_file_begin_with_its_own():
    first, *others = mutation.tests_of(PACKAGE / "bec" / "halfspaces.py")
    assert first.endswith("tests/bec/test_halfspaces.py")
    assert any(name.endswith("tests/bec/test_cone.py") for name in others)
    own, *beyond = mutation.tests_of(PACKAGE / "proofcheck.py")
    assert own.endswith("tests/test_proofcheck.py")
    assert [name.split("/")[-1] for name in beyond] == [
        "test_exam_proofs.py",
        "test_feedback_proofs.py",
        "test_fewest.py",
    ]


def test_every_equivalent_mutant_is_one_of_its_file():
    lines = EQUIVALENT.read_text(encoding="utf-8").splitlines()
    for line in filter(None, lines):
        if not line.startswith("#"):
            name, inside, change, reason = line.split(" | ")
            found = mutants_of(name)
            assert (inside, change) in {(m.inside, m.change) for m in found}, line
            assert reason


def test_known_equivalents_are_not_tried(monkeypatch, tmp_path):
    file = PACKAGE / "bec" / "halfspaces.py"
    every = mutants(file.read_text(encoding="utf-8"))
    listed = tmp_path / "equivalent.txt"
    listed.write_text(f"bec/halfspaces.py | {every[0].inside} | {every[0].change} | because\n")
    monkeypatch.setattr(mutation, "EQUIVALENT", listed)
    tried = mutation.mutants_to_try(file, None, 0)
    assert len(tried) < len(every)
    assert every[0].change not in {m.change for m in tried if m.inside == every[0].inside}
    assert len(mutation.mutants_to_try(file, 5, 0)) == 5
