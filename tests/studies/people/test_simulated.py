"""Simulated participants: what they were taught shows in their scores."""

import pytest

from didact import make, solve
from didact.errors import Unsupported
from didact.studies.people.design import design_study
from didact.studies.people.results import estimates, scores
from didact.studies.people.simulated import MAX_LIKELIHOODS, side_by_side, simulated_answers
from tests.effort import number

TASK = make("random-grid", size=7, n_features=3, seed=1)
DESIGN = design_study(TASK, conditions=("exact", "none"), n_questions=8, seed=3)


@pytest.fixture(autouse=True)
def short_chains(monkeypatch):
    """Learners of small worlds, most of whose time is their chains."""
    most = number(MAX_LIKELIHOODS // 6, MAX_LIKELIHOODS)
    monkeypatch.setattr("didact.studies.people.simulated.MAX_LIKELIHOODS", most)


def test_who_saw_the_lesson_scores_higher_and_slips_cost():
    steady = estimates(scores(simulated_answers(TASK, DESIGN, 40, (200.0,)), DESIGN))
    hasty = estimates(scores(simulated_answers(TASK, DESIGN, 40, (0.0,)), DESIGN))
    assert steady["exact"].n == steady["none"].n == 20
    assert steady["exact"].low > steady["none"].high
    assert abs(hasty["exact"].mean - hasty["none"].mean) < 0.15


def test_a_family_stands_side_by_side_and_every_member_keeps_its_values():
    family = make("random-grid", size=4, n_features=3, members=3, slip=0.2, seed=5)
    mdp, firsts = side_by_side(family.members)
    together = solve(mdp, family.true_weights, arithmetic="float").values
    for first, task in zip(firsts, family.members, strict=True):
        alone = solve(task.mdp, task.true_weights, arithmetic="exact").values
        assert together[first : first + 16] == pytest.approx(alone)


def test_learners_take_a_study_of_a_family():
    family = make("random-grid", size=5, n_features=3, members=3, seed=2)
    design = design_study(family, conditions=("exact", "none"), n_questions=8, unseen=[1])
    rows = simulated_answers(family, design, 40, (200.0,))
    assert {row["member"] for row in rows} == {1}
    found = estimates(scores(rows, design))
    assert found["exact"].low > found["none"].high


def test_worlds_that_cannot_stand_side_by_side_are_refused():
    slow, fast = (make("random-grid", size=4, n_features=3, discount=d) for d in ("0.5", "0.9"))
    with pytest.raises(Unsupported, match="one discount"):
        side_by_side([slow, fast])


def test_the_seed_decides():
    assert simulated_answers(TASK, DESIGN, 6) == simulated_answers(TASK, DESIGN, 6)
