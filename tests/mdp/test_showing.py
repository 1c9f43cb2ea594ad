"""A lesson and a task show themselves: `lesson.report(path)`, and in a notebook."""

import pytest

from didact import from_gymnasium, load_lesson, make, teach
from didact.errors import InvalidFile, InvalidParameter


def test_a_lesson_reports_itself(tmp_path):
    lesson = teach(make("six-cell"), horizon=1)
    lesson.report(tmp_path / "lesson.html")
    page = (tmp_path / "lesson.html").read_text()
    assert "✓ Proof verified" in page
    assert "didact.teach(task, teacher=&#x27;exact&#x27;, horizon=1)" in page


def test_a_lesson_from_a_file_needs_its_task(tmp_path):
    task = from_gymnasium("FrozenLake-v1")
    lesson = teach(task)
    lesson.report(tmp_path / "one.html")
    lesson.save(tmp_path / "lesson.json")
    loaded = load_lesson(tmp_path / "lesson.json")
    with pytest.raises(InvalidParameter, match="give its task"):
        loaded.report(tmp_path / "two.html")
    loaded.report(tmp_path / "two.html", task=task)
    assert (tmp_path / "two.html").read_text() == (tmp_path / "one.html").read_text()
    assert loaded._repr_html_().startswith('<section class="didact">')


def test_the_command_of_a_report_can_be_given(tmp_path):
    lesson = teach(make("six-cell"))
    lesson.report(tmp_path / "lesson.html", command="make lesson.html")
    assert "<code>make lesson.html</code>" in (tmp_path / "lesson.html").read_text()


def test_a_report_that_cannot_be_written_is_told(tmp_path):
    with pytest.raises(InvalidFile, match="cannot be written"):
        teach(make("six-cell")).report(tmp_path / "no" / "lesson.html")


def test_notebooks_show_lessons_and_tasks():
    task = make("six-cell")
    assert task._repr_html_().startswith('<iframe title="six-cell"')
    assert teach(task)._repr_html_().startswith('<iframe title="Lesson for six-cell"')
