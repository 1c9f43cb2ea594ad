"""Simulated participants: what they were taught shows in their scores."""

from didact import make
from didact.studies.people.design import design_study
from didact.studies.people.results import estimates, scores
from didact.studies.people.simulated import simulated_answers

TASK = make("random-grid", size=7, n_features=3, seed=1)
DESIGN = design_study(TASK, conditions=("exact", "none"), n_questions=8, seed=3)


def test_who_saw_the_lesson_scores_higher_and_slips_cost():
    steady = estimates(scores(simulated_answers(TASK, DESIGN, 40, (200.0,)), DESIGN))
    hasty = estimates(scores(simulated_answers(TASK, DESIGN, 40, (0.0,)), DESIGN))
    assert steady["exact"].n == steady["none"].n == 20
    assert steady["exact"].low > steady["none"].high
    assert abs(hasty["exact"].mean - hasty["none"].mean) < 0.15


def test_the_seed_decides():
    assert simulated_answers(TASK, DESIGN, 6) == simulated_answers(TASK, DESIGN, 6)
