"""The public names: the list is written here once more, so that a change is meant."""

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import didact

PUBLIC = [
    "AskSettings",
    "MDP",
    "Attack",
    "Audit",
    "Belief",
    "Comparison",
    "Cone",
    "Demonstration",
    "DidactError",
    "Difficulty",
    "EquivalenceClass",
    "Evaluation",
    "Exam",
    "Family",
    "Frontier",
    "Identification",
    "Informativeness",
    "InvalidInput",
    "Lesson",
    "Observed",
    "ObserveSettings",
    "ObserveWorkers",
    "Plan",
    "Preference",
    "RankedTrajectories",
    "Recording",
    "Selection",
    "Stop",
    "StudyRun",
    "Task",
    "Transitions",
    "Transfer",
    "Verdict",
    "angular_similarity",
    "ask",
    "attack",
    "audit",
    "certify",
    "check",
    "demonstrate",
    "demonstration_class",
    "describe",
    "equivalence_class",
    "evaluate",
    "exam",
    "from_environment",
    "from_gymnasium",
    "from_minigrid",
    "frontier",
    "gridworld",
    "identify",
    "information_gap",
    "informativeness",
    "learn",
    "load_agent",
    "load_belief",
    "load_exam",
    "load_family",
    "load_lesson",
    "load_observed",
    "load_recording",
    "load_task",
    "make",
    "ng_russell",
    "observe",
    "prove",
    "rank",
    "reward_terms",
    "reachable_pairs",
    "reachable_states",
    "register_learner",
    "register_strategy",
    "register_study",
    "register_teacher",
    "register_world",
    "rollout",
    "run_study",
    "select",
    "solve",
    "successor_features",
    "teach",
    "teach_mixed",
    "teach_robust",
    "teach_within",
    "transfer",
]
MODULES = ["errors", "learners", "paper", "plots", "studies", "worlds"]
HEAVY = ["numpy", "scipy", "numba", "flint", "gymnasium", "click", "rich"]


def type_checking_imports() -> dict[str, str]:
    """Name -> module of what the block for type checkers imports as itself."""
    tree = ast.parse(Path(didact.__file__).read_text(encoding="utf-8"))
    blocks = [
        node
        for node in tree.body
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    ]
    assert len(blocks) == 1
    found = {}
    for node in blocks[0].body:
        assert isinstance(node, ast.ImportFrom)
        for alias in node.names:
            assert alias.asname == alias.name, f"{alias.name} must be imported as itself"
            found[alias.name] = node.module
    return found


def test_the_public_list_is_this_one():
    assert sorted(didact.__all__) == sorted(PUBLIC)
    assert len(set(didact.__all__)) == len(didact.__all__)


@pytest.mark.parametrize("name", PUBLIC)
def test_every_name_resolves_and_says_what_it_is(name):
    value = getattr(didact, name)
    assert value.__doc__
    assert value.__name__ == name
    assert name in dir(didact)


def test_type_checkers_see_the_same_names_from_the_same_rooms():
    seen = type_checking_imports()
    assert seen == didact._ROOM_OF
    for name, room in seen.items():
        assert getattr(import_module(room), name) is getattr(didact, name)


def test_no_room_hides_a_public_name():
    """`import didact.worlds` would put the room where a public name of that spelling was."""
    rooms = {path.stem for path in Path(didact.__file__).parent.iterdir()}
    assert not rooms & set(didact.__all__)


def test_only_public_names_are_listed():
    import_module("didact.worlds")
    listed = [name for name in dir(didact) if not (name.startswith("__") and name.endswith("__"))]
    assert listed == sorted([*PUBLIC, *MODULES])


@pytest.mark.parametrize("name", MODULES)
def test_modules_with_public_names_are_attributes(name):
    code = f"import didact; print(didact.{name}.__name__)"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert answer.stdout == f"didact.{name}\n"


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'slove'"):
        _ = didact.slove


def test_the_version_is_the_packages():
    from importlib.metadata import version

    assert didact.__version__ == version("didact")


def test_importing_didact_loads_nothing_heavy():
    code = f"import didact, sys; print(*(m for m in {HEAVY} if m in sys.modules))"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (answer.returncode, answer.stdout.split()) == (0, [])
    code = f"import didact, sys; didact.MDP; print(*(m for m in {HEAVY} if m in sys.modules))"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert answer.stdout.split() == ["numpy"]
