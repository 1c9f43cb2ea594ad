"""Near-tie preferences: as few as the rank, true, complete, and harder than any facet."""

from fractions import Fraction

import numpy as np
import pytest

import didact
from didact.errors import InvalidParameter, Unsupported
from didact.mdp import Preference
from didact.teaching.feedback.halfspaces import item_differences, margin
from didact.teaching.feedback.over_teaching import _corners, fewest_halfspaces


def smallest_facet_margin(bec) -> Fraction:
    """The least that some action of a facet's rows costs under the true weights, of all facets."""
    plan = bec.plan
    found = []
    for facet in bec.cone.facets:
        hit = np.isin(bec.rows.number, list(facet))
        worths = [
            plan.action_values[s, a] - plan.action_values[s, b]
            for s, a, b in bec.rows.statements[hit].tolist()
        ]
        found.append(max(worths))
    return min(found)


def require_few_and_true(task, bec, lesson) -> None:
    assert lesson.is_complete
    assert all(isinstance(item, Preference) for item in lesson.items)
    verdict = didact.check(task, list(lesson.items), bec=bec)
    assert verdict.teaches
    margins = [margin(bec, item_differences(bec, item)[0]) for item in lesson.items]
    assert min(margins) > 0
    assert lesson.hardest == verdict.hardest == min(margins)
    assert float(lesson.hardest) <= smallest_facet_margin(bec) + 1e-12


@pytest.mark.parametrize("seed", [3, pytest.param(2, marks=pytest.mark.slow)])
def test_as_many_near_ties_as_the_rank_are_enough(seed):
    task = didact.make("random-grid", size=5, n_features=4, seed=seed)
    bec = didact.equivalence_class(task)
    usual = didact.teach_mixed(task, feedback=["comparisons", "preferences"], bec=bec)
    lesson = didact.teach_mixed(
        task, feedback=["comparisons", "preferences"], over_teach=True, bec=bec
    )
    require_few_and_true(task, bec, lesson)
    assert len(lesson.items) == bec.cone.rank == lesson.lower_bound < len(usual.items)
    assert not lesson.is_fewest  # no certificate allows rows outside of the class
    assert lesson.hardest < usual.hardest
    assert "narrows" in " ".join(map(lesson.why, range(len(lesson.items))))
    assert sum(lesson.gains) == bec.cone.n_facets


def test_margins_are_kept_and_where_none_is_found_the_usual_lesson_stays_or_it_is_refused():
    task = didact.make("random-grid", size=4, n_features=4, seed=0)
    bec = didact.equivalence_class(task)
    usual = didact.teach_mixed(task, feedback=["preferences"], bec=bec)
    for least in ("1e-6", usual.hardest / 2, usual.hardest, 2 * usual.hardest, 1, 5):
        options = {"feedback": ["preferences"], "over_teach": True, "margin": least}
        try:
            lesson = didact.teach_mixed(task, **options, bec=bec)
        except Unsupported:
            assert Fraction(least) > usual.hardest
            continue
        assert lesson.hardest >= Fraction(least)
        if lesson.items == usual.items:  # the bound is on any half-spaces, and is not reached
            assert not lesson.is_fewest
    with pytest.raises(Unsupported, match="the usual one rests on a difference of"):
        didact.teach_mixed(task, **{**options, "margin": 5}, bec=bec)


def test_what_cannot_be_over_taught_is_refused():
    task = didact.make("six-cell")
    with pytest.raises(InvalidParameter, match="needs 'preferences'"):
        didact.teach_mixed(task, feedback=["comparisons"], over_teach=True)
    with pytest.raises(InvalidParameter, match="no option 'over_teach'"):
        didact.teach(task, over_teach=True)
    with pytest.raises(InvalidParameter, match="margin is for over_teach"):
        didact.teach_mixed(task, feedback=["preferences"], margin="0.1")
    with pytest.raises(InvalidParameter, match="must not be negative"):
        didact.teach_mixed(task, feedback=["preferences"], over_teach=True, margin=-1)


@pytest.mark.parametrize("name", ["six-cell", "uvm-failure"])
def test_over_teaching_never_costs_more(name):
    """Also with ties, which need their own items, and where trajectories end."""
    task = didact.make(name)
    bec = didact.equivalence_class(task)
    usual = didact.teach_mixed(task, feedback=["comparisons", "preferences"], bec=bec)
    lesson = didact.teach_mixed(
        task, feedback=["comparisons", "preferences"], over_teach=True, bec=bec
    )
    assert lesson.cost <= usual.cost
    assert lesson.cost >= lesson.lower_bound == fewest_halfspaces(bec)
    assert didact.check(task, list(lesson.items), bec=bec).teaches


@pytest.mark.parametrize("d", [1, 2, 3, 7])
def test_corners_sum_to_nothing_and_are_equally_far(d):
    corners = _corners(d, np.random.default_rng(0))
    assert corners.shape == (d, d - 1)
    assert np.allclose(corners.sum(axis=0), 0.0)
    assert np.allclose(corners @ corners.T, (d * np.eye(d) - 1.0) / max(d - 1, 1), atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_seven_near_ties_teach_grids_of_eight_features(seed):
    """9x9, k = 8: as many as the rank in 8 of 8 worlds."""
    task = didact.make("random-grid", size=9, n_features=8, seed=seed)
    bec = didact.equivalence_class(task)
    lesson = didact.teach_mixed(task, feedback=["preferences"], over_teach=True, bec=bec)
    require_few_and_true(task, bec, lesson)
    assert len(lesson.items) == 7 == bec.cone.rank
