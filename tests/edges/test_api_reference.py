"""docs/api.md is what the docstrings say, and they have a line for each parameter and option."""

import importlib.util
import inspect
import sys
from importlib import import_module
from pathlib import Path

import pytest

import didact
from didact import paper, plots, studies

DOCS = Path(__file__).parents[2] / "docs"
SCRIPT = importlib.util.spec_from_file_location("generate_api", DOCS / "generate_api.py")
generator = importlib.util.module_from_spec(SCRIPT)
sys.modules["generate_api"] = generator  # where its dataclass looks for itself
SCRIPT.loader.exec_module(generator)

PLACES = ("plots", "studies", "paper")
REGISTRIES = [
    (didact.learn, "didact.learners.learn", "learners"),
    (didact.teach, "didact.teaching.teachers", "teachers"),
    (didact.ask, "didact.active.strategies", "strategies"),
]


def public_functions() -> dict[str, object]:
    """Every public function and class, and the methods of public classes, by dotted name."""
    found = {}
    for name in didact.__all__:
        value = getattr(didact, name)
        found[name] = value
        if inspect.isclass(value):
            for member, (function, _) in generator.members_of(value).items():
                found[f"{name}.{member}"] = function
    for module in (plots, studies, paper):
        names = set(module.__all__) - set(didact.__all__)
        place = module.__name__.removeprefix("didact.")
        found |= {f"{place}.{name}": getattr(module, name) for name in sorted(names)}
    return found


FUNCTIONS = public_functions()


def test_the_reference_is_up_to_date():
    written = (DOCS / "api.md").read_text(encoding="utf-8")
    made = generator.api_reference()
    assert written == made, "write it anew: .venv/bin/python docs/generate_api.py"


def test_every_public_name_has_its_section():
    reference = generator.api_reference()
    for name in [name for name in FUNCTIONS if name.split(".")[0] in (*PLACES, name)]:
        assert reference.count(f"\n### {name}\n") == 1


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_parameter_has_a_line(name):
    value = FUNCTIONS[name]
    assert set(generator.parameters_of(value)) - generator.described(value) == set()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_line_is_about_a_parameter(name):
    value = FUNCTIONS[name]
    assert generator.described(value) - set(generator.parameters_of(value)) == set()


@pytest.mark.parametrize(("function", "module", "registry"), REGISTRIES)
def test_the_options_of_every_built_in_entry_are_listed(function, module, registry):
    room = import_module(module)
    listed = generator.options_in(function)
    entries = getattr(room, registry)()
    assert set(listed) == set(room.BUILT_IN)
    for name in room.BUILT_IN:
        taken = list(inspect.signature(entries[name]).parameters)[2:]
        assert listed[name] == set(taken), name


def test_parts_of_a_docstring():
    def example(first, *, second=1, **options):
        """The result.

        first: what it is,
            over two lines.
        second: another.

        Note: this is text, since no parameter is called so.

        Options of one and two: none.

        Options of three, which counts:

        n: how many.

        Options of four, which weighs; those of three, and:

        kilos: how much.
        """

    assert generator.described(example) == {"first", "second"}
    parts = generator.parts_of(example)
    assert parts[1].entries == {"first": "what it is, over two lines.", "second": "another."}
    assert parts[2].text.startswith("Note: this")
    assert generator.options_in(example) == {
        "one": set(),
        "two": set(),
        "three": {"n"},
        "four": {"n", "kilos"},
    }
