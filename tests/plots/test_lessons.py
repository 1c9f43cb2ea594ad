"""Lessons: on the world of their task, or on the members of a family."""

import numpy as np
import pytest

import didact
from didact import load_lesson, make, plots, select, teach
from didact.errors import InvalidInput, InvalidParameter
from tests.plots.arrows import arrows, expected


def test_a_lesson_is_its_demonstrations(ax, taught):
    _, lesson = taught
    lesson.plot(ax)
    assert arrows(ax) == [expected(list(d), 4) for d in lesson.demonstrations]
    assert len(lesson.demonstrations) > 1
    numbers = [text.get_text() for text in ax.texts if text.get_weight() == "bold"]
    assert numbers == [str(i + 1) for i in range(len(lesson.demonstrations))]


def test_a_lesson_from_a_file_needs_its_task(ax, taught, tmp_path):
    task, lesson = taught
    lesson.save(tmp_path / "lesson.json")
    loaded = load_lesson(tmp_path / "lesson.json")
    with pytest.raises(InvalidParameter, match="give its task"):
        loaded.plot(ax)
    loaded.plot(ax, task=task)
    assert len(arrows(ax)) == len(lesson.demonstrations)


def test_coverage_rises_to_all(ax, taught):
    _, lesson = taught
    plots.coverage(lesson, ax)
    total, steps = ax.get_lines()
    assert list(steps.get_ydata()) == [0, *np.cumsum(lesson.gains)]
    assert lesson.is_complete
    assert set(total.get_ydata()) == {steps.get_ydata()[-1]}


def test_a_selection_covers_what_it_says(ax, taught):
    task, lesson = taught
    found = select(task, lesson.demonstrations[:1])
    found.plot(ax)
    total, steps = ax.get_lines()
    assert steps.get_ydata()[-1] == found.n_covered
    assert set(total.get_ydata()) == {found.n_elements}


def test_a_lesson_in_a_world_that_is_no_grid_is_its_steps(ax):
    lesson = teach(make("garnet"))
    lesson.plot(ax)
    assert sum(len(c.get_offsets()) for c in ax.collections) == lesson.n_pairs


def test_taxis_lesson_is_a_way_over_its_map(ax):
    task = make("Taxi-v4")
    (way,) = plots.lesson(teach(task, horizon=6), ax).get_lines()[8:9]
    rows, columns = ax.get_ylim(), ax.get_xlim()
    assert (rows, columns) == ((4.5, -0.5), (-0.5, 4.5))
    x, y = np.transpose(way.get_data())[0]
    state = teach(task, horizon=6).demonstrations[0][0][0]
    assert task.mdp.state_names[state].startswith(f"row {y + 1:.0f}, column {x + 1:.0f};")


def test_each_member_that_is_shown_has_axes_of_its_own(tmp_path):
    import matplotlib.pyplot as plt

    family = make("random-grid", size=3, n_features=3, members=6)
    lesson = didact.teach(family, teacher="exact", horizon=1)
    used = sorted({d.member for d in lesson.demonstrations})
    ax = lesson.plot()
    assert [inset.get_title() for inset in ax.child_axes] == [family.names[m] for m in used]
    assert f"{len(used)} of 6 worlds shown" in ax.get_title()
    lesson.save(tmp_path / "lesson.json")
    again = didact.load_lesson(tmp_path / "lesson.json")
    with pytest.raises(InvalidInput, match="does not hold its family"):
        again.plot()
    assert len(again.plot(task=family).child_axes) == len(used)
    boxes = didact.teach(make("garnet", n_states=5, members=3), horizon=1)
    assert boxes.plot().child_axes
    plt.close("all")
