"""Classes: shaded where rewards fit, by asking the cone itself."""

import numpy as np
import pytest

from didact import equivalence_class, make
from didact.errors import InvalidParameter


@pytest.mark.parametrize("weights", [(0, 1), (2, 0), None])
def test_a_cone_is_shaded_where_the_rewards_fit(ax, taught, weights):
    bec = taught[1].bec
    bec.plot(ax, weights=weights)
    (region,) = ax.patches
    (low_x, high_x), (low_y, high_y) = ax.get_xlim(), ax.get_ylim()
    points = np.random.default_rng(0).uniform((low_x, low_y), (high_x, high_y), size=(400, 2))
    names = (ax.get_xlabel(), ax.get_ylabel())
    first, second = (int(name.split()[0].removeprefix("w")) for name in names)
    fits = []
    for x, y in points:
        weights_there = bec.task.weights.copy()
        weights_there[[first, second]] = x, y
        fits.append(bec.cone.contains(weights_there.tolist()) != "outside")
    assert any(fits)
    assert region.get_path().contains_points(points).tolist() == fits


def test_a_slice_shows_the_class_with_three_fifths_of_air_around_it(ax):
    bec = equivalence_class(make("garnet"))
    truth = bec.task.weights
    bec.plot(ax)
    first, second = (int(name().split()[0][1:]) for name in (ax.get_xlabel, ax.get_ylabel))
    reach = (ax.get_xlim()[1] - ax.get_xlim()[0]) / 2
    (region,) = ax.patches
    extent = np.abs(region.get_xy() - truth[[first, second]]).max()
    assert reach == pytest.approx(1.6 * extent)
    assert sum(ax.get_xlim()) / 2 == pytest.approx(truth[first])


def test_an_equality_is_a_line_and_not_a_region(ax):
    bec = equivalence_class(make("uvm-failure"))
    assert bec.cone.equalities
    bec.plot(ax, weights=(0, 1))
    assert not ax.patches


@pytest.mark.parametrize("weights", [(0, 0), (0, 3), (0,), "ab", (0.5, 1)])
def test_weights_that_are_not_there_are_refused(ax, taught, weights):
    with pytest.raises(InvalidParameter, match="two different features from 0 to 2; they are"):
        taught[1].bec.plot(ax, weights=weights)


@pytest.mark.parametrize(("name", "times"), [("chain", 2.0), ("six-cell", 1.25)])
def test_a_wide_class_is_cut_at_a_multiple_of_the_largest_weight(ax, name, times):
    bec = equivalence_class(make(name))
    bec.plot(ax, weights=(0, 1))
    reach = (ax.get_xlim()[1] - ax.get_xlim()[0]) / 2
    assert reach == pytest.approx(times * np.abs(bec.task.weights).max())
