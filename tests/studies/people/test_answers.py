"""Answers: what each kind of step takes, what is refused, and ids in links."""

import json

import pytest

from didact import make
from didact.errors import InvalidInput
from didact.studies.people.answers import (
    KEPT,
    TUTORIAL,
    PlatformIds,
    as_kept,
    comprehension,
    ids_in_link,
)
from didact.studies.people.design import NOWHERE, Procedure, design_study

DESIGN = design_study(
    make("random-grid", size=6, n_features=2, seed=1),
    n_questions=4,
    n_paths=1,
    n_rounds=1,
    procedure=Procedure(
        tutorial=True, tries=2, attention=True, confidence=True, likert=("a", "b"), points=5
    ),
)
(PATH,) = DESIGN.paths
BEST = DESIGN.right[DESIGN.test[0]][0]


def kept(kind, given, place=NOWHERE) -> dict:
    return dict(zip(KEPT, as_kept(DESIGN, (kind, place), given), strict=True))


def test_what_is_kept_of_each_kind():
    right = kept("test", {"action": BEST, "confidence": 2, "seconds": 1}, DESIGN.test[0])
    assert (right["correct"], right["confidence"], right["seconds"]) == (1, 2, 1.0)
    wrong = next(a for a in range(4) if a not in DESIGN.right[DESIGN.test[0]])
    assert kept("test", {"action": wrong, "confidence": 1}, DESIGN.test[0])["correct"] == 0
    assert kept("tutorial", {"action": TUTORIAL[1].right, "item": 1})["correct"] == 1
    assert kept("tutorial", {"action": TUTORIAL[1].right, "item": 0})["correct"] == 0
    answers = [item.right for item in comprehension(DESIGN.slips)]
    assert kept("gate", {"detail": answers})["correct"] == 1
    assert kept("gate", {"detail": [0, *answers[1:]]})["correct"] == 0
    assert (kept("attention", {"action": 1})["correct"], kept("consent", {})["detail"]) == (1, None)
    assert json.loads(kept("likert", {"detail": [1, 5]})["detail"]) == [1, 5]
    log = {"watched": [[1, 2, 0, 3.5]]}
    assert json.loads(kept("lesson", {"detail": log})["detail"]) == log
    assert json.loads(kept("again", {"detail": {**log, "chosen": 0}})["detail"])["chosen"] == 0
    assert kept("path", {"detail": [[PATH[1], DESIGN.right[PATH][0]]]}, PATH)["correct"] == 1


NONSENSE = (None, [], {}, "x", -1, 7, 1.5, True, [1], [9, 9], [[0, 0]], {"watched": 3},
            {"watched": [[1, 2]]}, {"watched": [], "more": 1}, {"watched": [["x", 0, 0, 0]]},
            {"watched": [[1, 1, 1, float("inf")]]}, {"chosen": 10**9},
            {"weights": ["x"]})  # fmt: skip


@pytest.mark.parametrize("kind", ["gate", "likert", "path", "lesson", "again"])
def test_nonsense_is_refused_or_kept_as_it_is_read_again(kind):
    """What is kept says the same when it is read from the file and checked once more."""
    place, n_refused = PATH if kind == "path" else NOWHERE, 0
    for given in NONSENSE:
        try:
            found = kept(kind, {"detail": given, "seconds": 0.5}, place)
        except InvalidInput:
            n_refused += 1
        else:
            assert kept(kind, {**found, "detail": json.loads(found["detail"])}, place) == found
    assert n_refused > 8


def test_ids_are_taken_from_links():
    ids = ids_in_link({"PROLIFIC_PID": "5f00", "STUDY_ID": "s", "SESSION_ID": "t", "x": "y"})
    assert ids == PlatformIds("prolific", "5f00", "s", "t")
    assert ids_in_link({"workerId": "A1", "assignmentId": "B"})[:2] == ("mturk", "A1")
    assert ids_in_link({"survey_code": "77"}) == PlatformIds("sona", "77", None, None)
    assert ids_in_link({}) == ids_in_link({"utm": "x"}) == PlatformIds()


@pytest.mark.parametrize(
    "query",
    [{"PROLIFIC_PID": "{{%PROLIFIC_PID%}}"}, {"survey_code": "%SURVEY_CODE%"},
     {"PROLIFIC_PID": ""}, {"PROLIFIC_PID": "x" * 101}, {"PROLIFIC_PID": 3},
     {"PROLIFIC_PID": "a", "STUDY_ID": "=1+1"}, {"workerId": "<b>"},
     {"workerId": "A", "assignmentId": "ASSIGNMENT_ID_NOT_AVAILABLE"}],
)  # fmt: skip
def test_ids_that_no_platform_sends_are_refused(query):
    with pytest.raises(InvalidInput):
        ids_in_link(query)
