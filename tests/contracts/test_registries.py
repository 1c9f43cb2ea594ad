"""Worlds, teachers, learners, strategies and studies are found by one set of rules."""

import warnings
from dataclasses import dataclass
from importlib import metadata

import pytest

import didact
from didact.active.strategies import strategies
from didact.errors import DidactError, DidactWarning, InvalidParameter
from didact.learners.chains.options import ChainOptions
from didact.learners.learn import learners
from didact.mdp import MDP, Task
from didact.registry import REQUIRED, Registry, options_of, passing_on
from didact.studies import Study, studies
from didact.studies.summary import means_of
from didact.teaching.teachers import teachers
from didact.worlds import worlds

KINDS = ("world", "teacher", "learner", "strategy", "study")
LISTED = {
    "world": worlds,
    "teacher": teachers,
    "learner": learners,
    "strategy": strategies,
    "study": studies,
}
MISSPELLED = {
    "world": ("random-gird", "random-grid"),
    "teacher": ("scott", "scot"),
    "learner": ("bril", "birl"),
    "strategy": ("max-varr", "max-var"),
    "study": ("tabel1", "table1"),
}
WITH_OPTIONS = {
    "world": ("random-grid", "sise", "size"),
    "teacher": ("uvm", "n_sample", "n_samples"),
    "learner": ("birl", "n_step", "n_steps"),
    "strategy": ("max-entropy", "n_bin", "n_bins"),
}


@dataclass(frozen=True)
class Settings:
    trials: int = 2
    seed: int = 0


def made_world(discount=0.5):
    """One cell and nothing to do."""
    return Task(MDP([[[1]]], [[1]], discount), [1], name="one cell")


def own_function(first, rng, *, most=3):
    """What a teacher, a learner or a strategy may be."""
    return [0]


def good(kind, name):
    """A thing that the registry takes."""
    if kind == "world":
        return made_world
    if kind == "study":
        return Study(name, Settings(), lambda settings, number: {"x": 1.0}, means_of)
    return own_function


def kept(kind, thing):
    return thing.maker if kind == "world" else thing


class Entry:
    """An entry point of an installed package: what it loads, or how that fails."""

    def __init__(self, name, loads):
        self.name, self.value, self.loads = name, "package.module:thing", loads

    def load(self):
        if isinstance(self.loads, Exception):
            raise self.loads
        return self.loads


@pytest.fixture
def install(monkeypatch):
    """Pretend that a package with these entry points is installed; tells which groups are asked."""

    def pretend(*entries):
        asked = []
        monkeypatch.setattr(
            metadata, "entry_points", lambda group: asked.append(group) or list(entries)
        )
        return asked

    return pretend


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


@pytest.fixture
def registry(kind, own_registries) -> Registry:
    return own_registries[kind]


def test_each_has_its_own_kind_and_group(own_registries):
    assert {kind: found.kind for kind, found in own_registries.items()} == {k: k for k in KINDS}
    groups = [found.group for found in own_registries.values()]
    assert groups == [f"didact.{name}" for name in
                      ("worlds", "teachers", "learners", "strategies", "studies")]  # fmt: skip


def test_every_built_in_thing_is_found_and_listed(kind, registry):
    listed = LISTED[kind]()
    assert set(registry.built_in) <= set(listed)
    for name in registry.built_in:
        assert registry.find(name) is listed[name]
    with pytest.raises(TypeError):
        listed["mine"] = None


def test_what_is_registered_is_found_and_may_be_defined_again(kind, registry):
    before = list(registry.names())
    assert before[: len(registry.built_in)] == list(registry.built_in)
    for _ in range(2):
        registry.register("mine", good(kind, "mine"))
    assert list(registry.names()) == [*before, "mine"]
    assert LISTED[kind]()["mine"] is registry.find("mine")


def test_a_built_in_name_is_refused_and_stays_what_it_is(kind, registry):
    for name in registry.built_in:
        before = registry.find(name)
        with pytest.raises(InvalidParameter, match=f"^the {kind} '{name}' is built in; choose"):
            registry.register(name, good(kind, name))
        assert registry.find(name) is before


@pytest.mark.parametrize("name", ["", 3, None])
def test_what_is_no_text_is_no_name(kind, registry, name):
    with pytest.raises(InvalidParameter, match="name must be text"):
        registry.register(name, good(kind, "mine"))


@pytest.mark.parametrize("given", [3, "text", None])
def test_what_is_no_such_thing_is_refused_in_one_line(registry, given):
    with pytest.raises(InvalidParameter, match="'mine'"):
        registry.register("mine", given)
    assert "mine" not in registry.names()


def test_an_unknown_name_is_told_with_the_nearest_spelling_and_all_names(kind, registry):
    wrong, right = MISSPELLED[kind]
    with pytest.raises(InvalidParameter) as raised:
        registry.find(wrong)
    told = f"no {kind} is called '{wrong}' (did you mean '{right}'?); there are "
    assert str(raised.value).startswith(told)
    assert all(name in str(raised.value) for name in registry.built_in)
    for odd in (None, 3, [wrong]):
        with pytest.raises(InvalidParameter, match=f"^no {kind} is called "):
            registry.find(odd)


@pytest.mark.parametrize("kind", WITH_OPTIONS, indirect=True)
def test_an_unknown_option_is_told_with_the_nearest_spelling(kind, registry):
    name, wrong, right = WITH_OPTIONS[kind]
    word = "parameter" if kind == "world" else "option"
    registry.find(name, [right])
    with pytest.raises(InvalidParameter) as raised:
        registry.find(name, [wrong])
    told = f"{kind} '{name}' has no {word} '{wrong}' (did you mean '{right}'?); it takes "
    assert str(raised.value).startswith(told)


@pytest.mark.parametrize("kind", WITH_OPTIONS, indirect=True)
def test_an_option_without_a_default_must_be_given(kind, registry):
    def needs(first, rng, *, depth):
        return first

    def world(first=1, rng=2, *, depth):
        return made_world()

    registry.register("mine", world if kind == "world" else needs)
    assert registry.options("mine").defaults["depth"] is REQUIRED
    with pytest.raises(InvalidParameter, match=f"^{kind} 'mine' needs the .* 'depth'; give it$"):
        registry.find("mine", [])
    registry.find("mine", ["depth"])
    registry.find("mine")


@pytest.mark.parametrize("kind", WITH_OPTIONS, indirect=True)
def test_a_thing_that_takes_any_option_is_handed_all(kind, registry):
    registry.register("mine", lambda first=0, rng=0, **others: made_world())
    registry.find("mine", ["whatever"])


# Installed packages


def test_a_package_is_looked_up_once_and_only_for_names_that_are_not_known(kind, registry, install):
    asked = install(Entry("installed", good(kind, "installed")))
    registry.find(next(iter(registry.built_in)))
    assert asked == []
    assert kept(kind, registry.find("installed")) is not None
    assert "installed" in LISTED[kind]()
    with pytest.raises(InvalidParameter):
        registry.find("unknown")
    assert asked == [registry.group]


@pytest.mark.parametrize(
    ("loads", "told"),
    [
        (ImportError("no such\nmodule"), "ImportError: no such module"),
        (SyntaxError("bad"), "SyntaxError: bad"),
        (AttributeError("no thing"), "AttributeError: no thing"),
        (3, "it is 3"),
    ],
    ids=["cannot be imported", "does not compile", "is not there", "wrong type"],
)
def test_a_package_that_cannot_be_loaded_is_warned_about_and_harms_no_other(
    kind, registry, install, loads, told
):
    install(Entry("broken", loads), Entry("sound", good(kind, "sound")))
    with pytest.warns(DidactWarning) as warned:
        registry.find("sound")
    (warning,) = warned
    line = str(warning.message)
    start = (
        f"the {kind} 'broken' of 'package.module:thing' is left out, because it cannot be loaded"
    )
    assert line.startswith(start)
    assert told in line
    assert "\n" not in line
    assert "broken" not in registry.names()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "sound" in LISTED[kind]()


def test_names_that_are_taken_stay_what_they_are(kind, registry, install):
    first = next(iter(registry.built_in))
    before = registry.find(first)
    registry.register("mine", good(kind, "mine"))
    mine = registry.find("mine")
    install(Entry(first, good(kind, first)), Entry("mine", good(kind, "mine")))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        registry.names()
    assert registry.find(first) is before
    assert registry.find("mine") is mine


# Failures


def test_a_failure_of_an_own_thing_is_told_in_one_line_and_that_of_a_built_in_one_stays(registry):
    with pytest.raises(InvalidParameter) as raised, registry.running("mine"):
        raise KeyError("a\nb")
    assert str(raised.value) == f"{registry.kind} 'mine' failed: KeyError: 'a\\nb'"
    assert isinstance(raised.value.__cause__, KeyError)
    with pytest.raises(DidactError, match=r"^its own words$"), registry.running("mine"):
        raise DidactError("its own words")
    with pytest.raises(KeyError), registry.running(next(iter(registry.built_in))):
        raise KeyError("a bug")


@pytest.mark.usefixtures("own_registries")
def test_a_world_of_ones_own_fails_in_one_line_too():
    @didact.register_world("mine")
    def mine(size=0):
        return 1 / size

    with pytest.raises(InvalidParameter, match=r"^world 'mine' failed: ZeroDivisionError"):
        didact.make("mine")


# Options


def test_options_are_the_parameters_that_have_names():
    def function(first, second, third, /, fourth, *rest, fifth=5, **others):
        return first

    found = options_of(function, after=2)
    assert dict(found.defaults) == {"fourth": REQUIRED, "fifth": 5}
    assert found.unnamed == ("third", "rest")
    assert found.open_ended
    assert repr(REQUIRED) == "required"
    assert not options_of(made_world).open_ended
    assert options_of(3).open_ended


def test_options_that_are_passed_on_are_named():
    @dataclass(frozen=True, kw_only=True)
    class Passed:
        depth: int
        trials: int = 2

    @passing_on(Passed)
    def function(first, rng, *, own=1, **options):
        return own, Passed(**options)

    found = options_of(function, after=2)
    assert list(found.defaults.items()) == [("own", 1), ("depth", REQUIRED), ("trials", 2)]
    assert not found.open_ended
    assert not found.unnamed
    assert function(0, 0, own=3, depth=4) == (3, Passed(depth=4))
    with pytest.raises(TypeError, match="speed"):
        function(0, 0, depth=4, speed=1)
    with pytest.raises(ValueError, match="duplicate parameter name: 'trials'"):
        passing_on(Passed)(lambda first, *, trials=1, **options: first)


@pytest.mark.parametrize("name", ["birl", "bio-irl"])
def test_learners_with_chains_take_one_list_of_options(name):
    passed = options_of(ChainOptions).defaults
    found = options_of(learners()[name], after=2)
    assert list(found.defaults.items())[-len(passed) :] == list(passed.items())
    assert not found.open_ended
