"""Worlds and plans: arrows, walls, ends and starts where they are."""

import numpy as np

from didact import gridworld, make, plots
from tests.plots.arrows import arrows, expected


def test_a_plan_is_an_arrow_for_each_optimal_action(ax, taught):
    task, lesson = taught
    plan = lesson.bec.plan
    plan.plot(ax, task=task)
    (drawn,) = arrows(ax)
    assert drawn == expected(np.argwhere(plan.optimal).tolist(), 4)


def test_a_plan_without_a_task_is_its_values(ax, taught):
    plan = taught[1].bec.plan
    plan.plot(ax)
    assert np.array_equal(ax.images[0].get_array(), plan.action_values)
    (dots,) = ax.get_lines()
    assert np.array_equal(np.transpose(dots.get_data()[::-1]), np.argwhere(plan.optimal))


def test_walls_ends_and_starts_are_where_they_are(ax):
    task = gridworld(["S.#", "..G"], {"S": -1, ".": -1, "G": 1}, terminal="G", start="S")
    plots.world(task, ax)
    colours = ax.collections[0].get_array()
    assert (colours[0, 2] != colours[0, 1]).any()
    ends, starts = ax.get_lines()
    assert np.transpose(ends.get_data()).tolist() == [[2, 1]]
    assert np.transpose(starts.get_data()).tolist() == [[0, 0]]


def test_goal_and_holes_have_signs_of_their_own_and_a_legend(ax):
    plots.world(make("FrozenLake-v1"), ax)
    signs = {line.get_label(): line for line in ax.get_lines()}
    goal, holes = signs["a goal"], signs["an end that pays less"]
    assert np.transpose(goal.get_data()).tolist() == [[3, 3]]
    assert len(holes.get_xdata()) == 4
    assert goal.get_marker() != holes.get_marker()
    named = [text.get_text() for text in ax.get_legend().get_texts()]
    assert named == list(signs)


def test_a_world_that_is_no_grid_is_a_table(ax):
    task = make("garnet")
    task.plot(ax)
    rewards = task.mdp.features.floats @ task.weights
    assert np.allclose(ax.images[0].get_array().ravel(), rewards.ravel())
