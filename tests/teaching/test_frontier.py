"""Frontiers: each point is what `teach` gives for its bound, and bounds that grow need no more."""

from dataclasses import replace
from functools import cache

import pytest

import didact
from didact.errors import InvalidInput
from didact.teaching.frontier import _cheapest
from tests.effort import number

SETTINGS = {"horizon": 1, "learner_model": "half-spaces"}


TASK = didact.make("random-grid", size=5, n_features=4, seed=2)


@pytest.fixture(scope="module")
def found():
    return didact.frontier(TASK, losses=["50%", "5%", "0.1%"], time_limit=600, **SETTINGS)


@cache
def lesson_within(loss):
    return didact.teach_within(TASK, teacher="exact", loss=loss, time_limit=600, **SETTINGS)


def test_points_are_the_lessons_of_their_bounds(found):
    for point in found.points[:-1]:
        alone = lesson_within(point.loss)
        assert len(alone.demonstrations) == len(point.lesson.demonstrations)
        assert point.status == "enumerated"
    exact = didact.teach(TASK, teacher="exact", horizon=1)
    assert found.points[-1].lesson.demonstrations == exact.demonstrations
    assert found.points[-1].status == "exact"


def test_less_loss_needs_no_fewer(found):
    sizes = [row["n_demonstrations"] for row in found.to_records()]
    assert sizes == sorted(sizes)
    assert all(row["lower_bound"] <= row["cost"] for row in found.to_records())
    assert found.is_certain
    assert found.to_dict()["points"] == found.to_records()


def test_a_frontier_without_bounds_is_refused():
    with pytest.raises(InvalidInput, match="losses must be a list"):
        didact.frontier(didact.make("six-cell"), losses="1%")


def test_lower_bounds_never_fall_as_bounds_get_tighter_even_without_time():
    task = didact.make("random-grid", size=number(5, 6), n_features=number(5, 6), seed=3)
    found = didact.frontier(task, horizon=1, learner_model="half-spaces", time_limit=1e-3)
    bounds = [row["lower_bound"] for row in found.to_records()]
    assert bounds == sorted(bounds)
    exact = found.points[-1].lesson.cost
    assert all(bound <= exact for bound in bounds)


def test_rewards_of_tighter_bounds_are_no_witnesses_of_looser_ones():
    back = didact.frontier(TASK, losses=["0.1%", "50%"], **SETTINGS)
    alone = lesson_within("50%")
    assert back.points[1].lesson.lower_bound == alone.lower_bound
    assert len(back.points[1].lesson.demonstrations) == len(alone.demonstrations)
    assert back.points[1].lesson.settings["loss"] == "50%"


def test_a_cheaper_lesson_of_a_tighter_bound_stands_in_where_it_is_as_sure():
    tight = lesson_within("5%")
    dear = didact.teach_within(
        TASK, loss="50%", budget=None, teacher="scot", starts="all", **SETTINGS
    )
    dear = replace(dear, cost=tight.cost + 3)
    found = _cheapest(dear, [dear, tight])
    assert found.demonstrations == tight.demonstrations
    assert (found.loss_bound, found.lower_bound) == (dear.loss_bound, dear.within.lower_bound)
    assert found.settings["loss"] == "50%"
    unsure = replace(tight, within=replace(tight.within, statuses={"half-spaces": "tested"}))
    assert _cheapest(dear, [dear, unsure]) is dear
    assert _cheapest(tight, [dear, tight]) is tight
