"""Families: the counterexamples to what one might think of them, in worlds of single decisions."""

import pytest

import didact
from didact.bec.classes import demonstration_class
from didact.mdp.files import family_document
from didact.proofcheck import check_proof
from tests.decisions import decisions, unit

ZERO3, ZERO4 = [0] * 3, [0] * 4


def proved(family, lesson):
    """What the checker says of a lesson's proof."""
    return check_proof(family_document(family), lesson.document())


def test_a_row_that_is_redundant_in_its_member_covers_a_facet_of_the_family():
    """m1 has the rows e1, e2, e1 + e2; m2 ties e1 = e2. Modulo that tie all three are one facet."""
    first = decisions([[[1, 0], [0, 0]], [[0, 1], [0, 0]], [[1, 1], [0, 0]]], [1, 1])
    second = decisions([[[1, 0], [0, 1]]], [1, 1])
    assert didact.equivalence_class(first).cone.n_facets == 2
    family = didact.Family([first, second])
    bec = didact.equivalence_class(family)
    assert bec.cone.n_facets == 1
    assert len(bec.cone.facets[0]) == 3
    assert len(bec.cone.equalities) == 2
    lesson = didact.teach(family, teacher="exact", horizon=1, starts={0: [2], 1: [0]})
    assert lesson.is_complete
    assert len(lesson.demonstrations) == 3
    assert proved(family, lesson).startswith("proved: 3 demonstrations")


def test_more_members_may_need_fewer_pairs():
    """A: three decisions, e_i against nothing: 3 pairs. B: nothing against every -e_i: 1 pair."""
    weights = [1, 2, 3]
    a = decisions([[unit(3, i), ZERO3] for i in range(3)], weights)
    b = decisions([[ZERO3, *(unit(3, i, -1) for i in range(3))]], weights)
    alone = didact.teach(a, teacher="exact", horizon=1)
    assert (len(alone.demonstrations), alone.lower_bound) == (3, 3)
    family = didact.Family([a, b])
    both = didact.teach(family, teacher="exact", horizon=1)
    assert (len(both.demonstrations), both.lower_bound) == (1, 1)
    assert both.demonstrations[0] == didact.Demonstration([(0, 0)], member=1)
    assert proved(family, both).startswith("proved: 1 demonstrations")


def test_choosing_members_first_is_not_minimal():
    """X covers four facets with four pairs, Y and Z two each with one: 2 pairs, not 4."""
    weights = [1, 2, 3, 4]
    x = decisions([[unit(4, i), ZERO4] for i in range(4)], weights)
    y = decisions([[ZERO4, unit(4, 0, -1), unit(4, 1, -1)]], weights)
    z = decisions([[ZERO4, unit(4, 2, -1), unit(4, 3, -1)]], weights)
    family = didact.Family([x, y, z])
    assert didact.equivalence_class(family).cone.n_facets == 4
    assert len(didact.teach(x, teacher="exact", horizon=1).demonstrations) == 4
    for teacher in ("exact", "scot"):
        lesson = didact.teach(family, teacher=teacher, horizon=1)
        assert lesson.is_complete
        assert {d.member for d in lesson.demonstrations} == {1, 2}
        assert len(lesson.demonstrations) == lesson.lower_bound == 2


@pytest.mark.parametrize("apart", [False, True])
def test_a_tie_has_two_sides(apart):
    """Rows e1, -e1 and e2: merging r with -r would leave e1 and e2, and lose a side of the tie."""
    tie, other = [[1, 0], [0, 0]], [[0, 1], [0, 0]]
    members = [[tie], [other]] if apart else [[tie, other]]
    family = didact.Family([decisions(states, [0, 1]) for states in members])
    bec = didact.equivalence_class(family)
    assert (len(bec.cone.equalities), bec.cone.n_facets) == (2, 1)
    lesson = didact.teach(family, teacher="exact", horizon=1, bec=bec)
    assert len(lesson.demonstrations) == lesson.lower_bound == 3
    at = (1, [[0, 0]]) if apart else (0, [[1, 0]])
    merged = didact.check(family, [(0, [[0, 0]]), at], bec=bec)
    assert not merged.teaches
    assert merged.witness[0] > 0, "a reward for feature 0 fits the one side that was shown"
    assert demonstration_class(bec, [(0, [[0, 0]]), at]).contains(merged.witness) != "outside"


def test_a_lesson_covers_the_class_and_not_everything_that_can_be_said():
    """Members whose rows all follow from others add candidates, and never a demonstration."""
    weights = [1, 2]
    first = decisions([[unit(2, 0), [0, 0]], [unit(2, 1), [0, 0]]], weights)
    more = decisions([[[1, 1], [0, 0]], [[2, 1], [0, 0]]], weights)
    alone = didact.teach(didact.Family([first]), teacher="exact", horizon=1)
    both = didact.teach(didact.Family([first, more]), teacher="exact", horizon=1)
    assert alone.demonstrations == both.demonstrations
