"""Designs: questions that nobody was shown, groups that never differ by more than one.

What groups are shown: optimal walks, as many as the minimum lesson has.
"""

import json
from collections import Counter

import numpy as np
import pytest

from didact import Demonstration, Family, check, make, solve, teach
from didact.errors import DidactError
from didact.studies.people.conditions import CONDITIONS, shown_to
from didact.studies.people.design import Design, Procedure, design_study

TASK = make("random-grid", size=7, n_features=3, seed=1)
DESIGN = design_study(
    TASK, conditions=("exact", "random", "none"), n_questions=6, procedure=Procedure(comments=True)
)


def test_questions_are_shown_to_nobody_and_can_be_wrong():
    optimal = solve(TASK.mdp, TASK.true_weights, arithmetic="exact").optimal
    seen = {(0, s) for shown in DESIGN.shown.values() for each in shown for s, _ in each}
    assert not seen & {*DESIGN.test}
    assert not {*DESIGN.practice} & {*DESIGN.test}
    for place in (*DESIGN.practice, *DESIGN.test):
        assert DESIGN.right[place] == [a for a in range(4) if optimal[place[1], a]]
        assert len(DESIGN.right[place]) < 4


FAMILY = make("random-grid", size=5, n_features=3, members=4, seed=2)


def test_a_family_is_shown_and_asked_about_member_by_member():
    design = design_study(FAMILY, conditions=("exact", "highlights", "none"), n_questions=20)
    seen = {(d.member, s) for shown in design.shown.values() for d in shown for s, _ in d}
    assert not seen & {*design.test}
    assert len({member for member, _ in design.test}) == 4
    for (member, state), best in design.right.items():
        optimal = solve(FAMILY[member].mdp, FAMILY.true_weights, arithmetic="exact").optimal
        assert best == [a for a in range(4) if optimal[state, a]]
    assert check(FAMILY, list(design.shown["exact"])).teaches


def test_members_that_are_set_apart_are_asked_about_and_never_shown():
    name = FAMILY.names[2]
    design = design_study(FAMILY, n_questions=8, unseen=[name, "0"])
    assert design.unseen == (0, 2)
    shown = {each.member for lesson in design.shown.values() for each in lesson}
    assert shown <= {1, 3}
    assert {member for member, _ in design.test} <= {0, 2}
    assert not {member for member, _ in design.practice} & {0, 2}
    rest = Family([FAMILY[1], FAMILY[3]])
    lesson = [Demonstration(each, {1: 0, 3: 1}[each.member]) for each in design.shown["exact"]]
    assert check(rest, lesson).teaches


def test_groups_stay_balanced():
    counts = Counter()
    for number in range(100):
        counts[DESIGN.condition_of(number)] += 1
        sizes = [counts[name] for name in DESIGN.conditions]
        assert max(sizes) - min(sizes) <= 1
    orders = {tuple(DESIGN.condition_of(3 * i + j) for j in range(3)) for i in range(20)}
    assert len(orders) > 3


def test_everybody_is_asked_the_same_in_an_order_of_their_own():
    orders = [DESIGN.steps(number) for number in range(5)]
    assert all(sorted(order) == sorted(DESIGN.steps(9)) for order in orders)
    assert len({tuple(order) for order in orders}) == 5
    assert [kind for kind, _ in orders[0]] == [
        "consent", "practice", "practice", "lesson", *["test"] * 6, "comments",
    ]  # fmt: skip


def test_a_design_is_kept_without_loss():
    again = Design.read(json.loads(json.dumps(DESIGN.document())))
    assert again.steps(3) == DESIGN.steps(3)
    assert again.right == DESIGN.right
    for name in DESIGN.conditions:
        assert again.shown[name] == tuple(DESIGN.shown[name])
    assert again.document().keys() == DESIGN.document().keys()


@pytest.mark.parametrize(
    "wrong",
    [{"conditions": ("exact",)}, {"conditions": ("exact", "exact")}, {"conditions": ("x", "none")},
     {"n_questions": 0}, {"n_questions": 60}, {"n_practice": -1}, {"unseen": ["x"]}],
)  # fmt: skip
def test_designs_are_checked(wrong):
    with pytest.raises(DidactError):
        design_study(TASK, **wrong)


@pytest.mark.parametrize("wrong", [[9], ["nobody"], [0, 1, 2, 3]])
def test_members_that_are_set_apart_are_checked(wrong):
    with pytest.raises(DidactError, match="unseen"):
        design_study(FAMILY, unseen=wrong)


def test_the_order_of_losses_is_of_one_world():
    with pytest.raises(DidactError, match="'loss' is for one world"):
        design_study(FAMILY, conditions=("loss", "none"))


SMALL = make("random-grid", size=5, n_features=3, seed=4)
OPTIMAL = solve(SMALL.mdp, SMALL.true_weights, arithmetic="exact").optimal
FEWEST = len(teach(SMALL, teacher="exact").demonstrations)


@pytest.mark.parametrize("name", CONDITIONS)
def test_every_step_that_is_shown_is_optimal(name):
    shown = shown_to(name, SMALL, 7)
    assert all(OPTIMAL[state, action] for each in shown for state, action in each)
    assert shown == shown_to(name, SMALL, 7)


def test_lessons_teach_and_others_are_as_long():
    exact, loss = (shown_to(name, SMALL, 7) for name in ("exact", "loss"))
    assert check(SMALL, list(exact)).teaches
    assert check(SMALL, list(loss)).teaches
    assert len(exact) == FEWEST
    assert len(loss) == FEWEST
    lengths = [len(each) for each in exact]
    assert [len(each) for each in shown_to("random", SMALL, 7)] == lengths
    assert shown_to("none", SMALL, 7) == ()


def test_the_first_highlight_is_where_most_is_at_stake():
    values = solve(SMALL.mdp, SMALL.true_weights).action_values
    first = shown_to("highlights", SMALL, 7)[0][0][0]
    gaps = np.ptp(values, axis=1)
    assert gaps[first] == pytest.approx(gaps.max())
