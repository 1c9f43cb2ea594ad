"""Names that people guess: the paper's letters, other libraries' words, other cases."""

import ast
import inspect
from importlib import import_module
from pathlib import Path

import pytest

import didact
from didact.errors import DidactError, InvalidModel, InvalidParameter

SIX = didact.make("six-cell")
GUESSES = [
    (didact.learn, "alpha", "did you mean 'confidence'"),
    (didact.learn, "beta", "did you mean 'confidence'"),
    (didact.learn, "random_state", "did you mean 'seed'"),
    (didact.learn, "n_jobs", "did you mean 'threads'"),
    (didact.learn, "lambda", "for the learner bio-irl"),
    (didact.learn, "gamma", "belongs to the world"),
    (didact.teach, "m", "did you mean 'rollouts'"),
    (didact.teach, "H", "did you mean 'horizon'"),
    (didact.teach, "epsilon", "teach_within"),
    (didact.teach, "random_state", "did you mean 'seed'"),
    (didact.teach, "gamma", "belongs to the world"),
    (didact.teach, "n_jobs", "run_study"),
    (didact.teach, "alpha", "for learners"),
    (didact.ask, "beta", "did you mean 'confidence'"),
]


@pytest.mark.parametrize(("verb", "name", "hint"), GUESSES)
def test_a_guessed_name_gets_the_name_that_is_meant(verb, name, hint):
    demonstrations = ([[(5, 2)]],) if verb is didact.learn else ()
    with pytest.raises(InvalidParameter, match=hint):
        verb(SIX, *demonstrations, **{name: 3})


def test_gamma_and_lambda_where_they_are_taken():
    with pytest.raises(InvalidParameter, match="did you mean 'discount'"):
        didact.make("chain", gamma=0.9)
    with pytest.raises(InvalidParameter, match="did you mean 'trust'"):
        didact.learn(SIX, [], learner="bio-irl", **{"lambda": 1})


def test_every_hint_names_an_option_that_there_is():
    """A guess leads to an option of some verb, or to a line that says where it belongs."""
    from didact.inputs import ELSEWHERE, GUESSES
    from didact.learners.learn import _learners
    from didact.registry import options_of
    from didact.teaching.teachers import _teachers

    verbs = [didact.teach, didact.teach_within, didact.learn, didact.ask, didact.run_study]
    taken = {name for verb in verbs for name in options_of(verb).defaults}
    for registry in (_teachers, _learners):
        for name in registry.names():
            taken |= set(registry.options(name).defaults)
        taken |= set(registry.shared)
    meant = {name for names in GUESSES.values() for name in names}
    assert meant <= taken | set(ELSEWHERE)


@pytest.mark.parametrize("name", ["SCOT", "Scot", "scot"])
def test_the_case_of_a_teacher_does_not_matter(name):
    lesson = didact.teach(SIX, teacher=name)
    assert lesson.settings["teacher"] == "scot"
    assert lesson.guarantee is not None  # what is known of greedy covers is known of this one


def test_the_case_of_learners_and_strategies_does_not_matter():
    assert didact.learn(SIX, [], learner="BIRL", n_steps=100).learner == "birl"
    assert didact.learn(SIX, [], learner="BIO_IRL", n_steps=100).learner == "bio-irl"
    run = didact.ask(SIX, strategy="Max-VaR", n_queries=1, n_steps=100, seed=0)
    assert run.strategy == "max-var"
    with pytest.raises(InvalidParameter, match="did you mean 'birl'"):
        didact.learn(SIX, [], learner="birll")


def test_a_world_may_be_named_where_a_task_is_taken():
    shown = [[(2, 1), (5, 2), (4, 2), (3, 0)]]
    assert didact.teach("six-cell").demonstrations == didact.teach(SIX).demonstrations
    assert didact.check("six-cell", shown).teaches
    assert didact.equivalence_class("six-cell").name == "six-cell"
    assert didact.demonstration_class("six-cell", shown).n_facets == 2
    assert didact.exam("six-cell").task_name == "six-cell"
    with pytest.raises(DidactError, match="six-cel"):
        didact.teach("six-cel")


def test_one_trajectory_that_is_not_wrapped_is_told_what_to_do():
    for verb in (didact.check, didact.learn, didact.demonstration_class):
        with pytest.raises(InvalidModel, match="is one trajectory"):
            verb(SIX, [(5, 2), (4, 2), (3, 0)])


def test_solving_a_model_says_that_weights_are_missing():
    with pytest.raises(InvalidParameter, match="needs the argument weights"):
        didact.solve(SIX.mdp)


@pytest.mark.parametrize(
    ("verb", "given", "name", "hint"),
    [
        (didact.rank, (["six-cell"],), "n_jobs", "run_study"),
        (didact.run_study, ("example",), "n_jobs", "did you mean 'jobs'"),
        (didact.run_study, ("example",), "gamma", "did you mean 'discount'"),
        (didact.rollout, (SIX, SIX.weights), "random_state", "did you mean 'seed'"),
        (didact.rollout, (SIX, SIX.weights), "H", "did you mean 'horizon'"),
        (didact.demonstrate, (SIX,), "lambda", "did you mean 'trust'|for the learner bio-irl"),
        (didact.informativeness, (SIX, [[(5, 2)]]), "alpha", "did you mean 'confidence'"),
        (didact.teach_within, (SIX,), "epsilon", "did you mean 'loss'"),
        (didact.select, (SIX, [[(5, 2)]]), "m", "for teachers"),
        (didact.equivalence_class, (SIX,), "gamma", "belongs to the world"),
    ],
)
def test_a_guessed_argument_of_other_verbs_is_told_as_well(verb, given, name, hint):
    with pytest.raises(InvalidParameter, match=hint):
        verb(*given, **{name: 3})


def test_a_type_error_that_is_no_guess_stays_one():
    from didact.inputs import explains_names

    @explains_names
    def doubled(horizon):
        return 2 * len(horizon)

    assert doubled([0]) == 2
    with pytest.raises(TypeError, match="has no len"):
        doubled(3)
    with pytest.raises(TypeError, match="zzzz"):
        doubled([0], zzzz=1)
    with pytest.raises(InvalidParameter, match="doubled has no argument 'H'"):
        doubled(H=[0])


def test_a_rollout_takes_a_seed():
    one, two = (didact.rollout(SIX, SIX.weights, horizon=5, seed=3) for _ in range(2))
    assert one == two


ROOT = Path(__file__).parents[2]
PROGRAMS = sorted([*ROOT.glob("examples/*.py"), *ROOT.glob("benchmarks/*.py")])


def own_functions(tree):
    """What a program imports from didact, by the name that it has there."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("didact"):
            module = import_module(node.module)
            found |= {(name.asname or name.name): getattr(module, name.name) for name in node.names}
    return found


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_examples_and_benchmarks_call_functions_by_arguments_that_they_take(program):
    tree = ast.parse(program.read_text(encoding="utf-8"))
    functions = own_functions(tree)
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        called = call.func
        if isinstance(called, ast.Name):
            function = functions.get(called.id)
        else:
            is_public = isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name)
            function = (
                getattr(didact, called.attr) if is_public and called.value.id == "didact" else None
            )
        if function is None:
            continue
        takes = inspect.signature(function).parameters
        if any(each.kind is each.VAR_KEYWORD for each in takes.values()):
            continue
        given = {word.arg for word in call.keywords} - {None}
        assert given <= set(takes), f"{program.name}:{call.lineno}"
