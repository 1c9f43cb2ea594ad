import pytest

from didact.bec.classes import demonstration_class, equivalence_class
from didact.bec.describe import describe
from didact.bec.words import half_space_words
from didact.errors import InvalidInput, InvalidParameter
from didact.mdp import MDP, Task, Transitions
from didact.teaching import teach
from didact.worlds import make


def sentences(name: str, arithmetic: str = "exact", **options) -> list[str]:
    task = make(name, **options)
    known = equivalence_class(task, arithmetic=arithmetic)
    return describe(known.cone, task.mdp.feature_names)


@pytest.mark.parametrize("arithmetic", ["exact", "float"])
def test_six_cell_says_what_the_paper_prints(arithmetic):
    assert sentences("six-cell", arithmetic) == [
        "a step on white is never a gain",
        "one step on grey costs at least 2.54 times a step on white",
    ]


def test_equalities_come_first_and_once():
    assert sentences("uvm-failure") == [
        "one step on white costs exactly as much as a step on grey",
        "a step on white is never a gain",
        "one step on red costs at least as much as a step on grey",
    ]


def test_float_arithmetic_says_as_many_things():
    said = sentences("uvm-failure", "float")
    assert len(said) == 3
    assert "exactly as much as" in said[0]
    assert said[1] == "a step on white is never a gain"


def task_of_rows(rows, weights) -> Task:
    """One state for each row r, where taking action 0 instead of 1 is worth r.w; then the end."""
    n, zero = len(rows), [0] * len(rows[0])
    moves = [(s, a, n, 1) for s in range(n) for a in (0, 1)]
    phi = [*([list(row), zero] for row in rows), [zero, zero]]
    return Task(MDP(Transitions.from_rows(moves, n + 1, 2), phi, 0, terminal=[n]), weights)


@pytest.mark.parametrize("arithmetic", ["exact", "float"])
def test_equalities_that_follow_from_others_are_left_out(arithmetic):
    """w0 = w1, w1 = w2, w0 = w2: two say it all, and w0 = w1 = w2 is said with few features."""
    rows = [(1, 1, -2), (1, -1, 0), (0, 1, -1), (1, 0, -1), (0, 0, 1)]
    known = equivalence_class(task_of_rows(rows, (1, 1, 1)), arithmetic=arithmetic)
    assert len(known.cone.equalities) == 8
    said = describe(known.cone)
    assert len(said) == 3
    assert sum("exactly" in sentence for sentence in said) == 2
    assert not any("together" in sentence for sentence in said)
    assert said[-1] == "a step on feature 2 is never a loss"


@pytest.mark.parametrize("arithmetic", ["exact", "float"])
def test_a_facet_speaks_by_its_plainest_row(arithmetic):
    """Modulo w0 = w1 the rows (2, 1, -1) and (3, 0, -1) are one facet; the latter is plainer."""
    rows = [(1, -1, 0), (2, 1, -1), (3, 0, -1)]
    known = equivalence_class(task_of_rows(rows, (1, 1, 1)), arithmetic=arithmetic)
    assert known.cone.n_facets == 1
    assert describe(known.cone, ["a", "b", "c"]) == [
        "one step on a is worth exactly as much as a step on b",
        "one step on c is worth at most 3 times a step on a",
    ]


def test_what_is_said_holds_for_the_true_weights_and_not_beyond():
    task = make("random-grid", seed=3)
    known = equivalence_class(task)
    assert len(describe(known.cone)) == known.cone.n_facets + len(known.cone.lineality)
    for members, witness in zip(known.cone.facets, known.cone.witnesses, strict=True):
        words = half_space_words(known.rows.exact[members[0]], None, weights=task.weights)
        assert words.holds(task.true_weights.fractions())
        assert not words.holds(witness)


def test_noise_in_floats_names_no_feature():
    for sentence in sentences("random-grid", "float", seed=0, size=9):
        assert "e-" not in sentence


def test_nothing_shown_says_nothing():
    known = equivalence_class(make("six-cell"))
    assert describe(demonstration_class(known, [])) == []


def test_actions_are_used_not_stepped_on():
    known = equivalence_class(task_of_rows([(1, -2)], (3, 1)))
    assert describe(known.cone, ["push", "pull"], kind="action") == [
        "one use of push is worth at least 2 times a use of pull"
    ]


def test_names_must_be_as_many_as_features():
    known = equivalence_class(make("six-cell"))
    with pytest.raises(InvalidParameter, match="names must name each of the 2 features"):
        describe(known.cone, ["white"])


def test_tasks_classes_and_lessons_are_described_as_their_cones():
    task = make("six-cell")
    known, lesson = equivalence_class(task), teach(task)
    said = describe(known.cone, task.mdp.feature_names)
    assert describe(known) == describe(task) == said
    assert sorted(describe(lesson)) == sorted(said)
    garnet = make("garnet", seed=1)
    kind = "feature" if garnet.mdp.has_action_features else "state"
    names = [garnet.mdp.feature_name(i) for i in range(garnet.mdp.n_features)]
    assert describe(garnet) == describe(equivalence_class(garnet).cone, names, kind=kind)
    with pytest.raises(InvalidInput, match="cone must be a Cone, a Task, its class or a lesson"):
        describe(3)
