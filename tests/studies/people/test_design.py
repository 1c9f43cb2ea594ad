"""Designs: questions that nobody was shown, groups that never differ by more than one."""

import json
from collections import Counter

import pytest

from didact import make, solve
from didact.errors import DidactError
from didact.studies.people.design import Design, design_study

TASK = make("random-grid", size=7, n_features=3, seed=1)
DESIGN = design_study(TASK, conditions=("exact", "random", "none"), n_questions=6, comments=True)


def test_questions_are_shown_to_nobody_and_can_be_wrong():
    optimal = solve(TASK.mdp, TASK.true_weights, arithmetic="exact").optimal
    seen = {s for shown in DESIGN.shown.values() for each in shown for s, _ in each}
    assert not seen & {*DESIGN.test}
    assert not {*DESIGN.practice} & {*DESIGN.test}
    for state in (*DESIGN.practice, *DESIGN.test):
        assert DESIGN.right[state] == [a for a in range(4) if optimal[state, a]]
        assert len(DESIGN.right[state]) < 4


def test_groups_stay_balanced():
    counts = Counter()
    for number in range(100):
        counts[DESIGN.condition_of(number)] += 1
        sizes = [counts[name] for name in DESIGN.conditions]
        assert max(sizes) - min(sizes) <= 1
    orders = {tuple(DESIGN.condition_of(3 * i + j) for j in range(3)) for i in range(20)}
    assert len(orders) > 3


def test_everybody_is_asked_the_same_in_an_order_of_their_own():
    orders = [DESIGN.order_of(number) for number in range(5)]
    assert all(sorted(order) == sorted(DESIGN.steps()) for order in orders)
    assert len({tuple(order) for order in orders}) == 5
    assert [kind for kind, _ in orders[0]] == [
        "consent", "practice", "practice", "lesson", *["test"] * 6, "comments",
    ]  # fmt: skip


def test_a_design_is_kept_without_loss():
    again = Design.read(json.loads(json.dumps(DESIGN.document())))
    assert again.order_of(3) == DESIGN.order_of(3)
    assert again.right == DESIGN.right
    for name in DESIGN.conditions:
        assert again.demonstrations(name) == DESIGN.demonstrations(name)
    assert again.document().keys() == DESIGN.document().keys()


@pytest.mark.parametrize(
    "wrong",
    [{"conditions": ("exact",)}, {"conditions": ("exact", "exact")}, {"conditions": ("x", "none")},
     {"n_questions": 0}, {"n_questions": 60}, {"n_practice": -1}],
)  # fmt: skip
def test_designs_are_checked(wrong):
    with pytest.raises(DidactError):
        design_study(TASK, **wrong)
