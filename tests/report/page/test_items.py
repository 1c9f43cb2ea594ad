"""Pages of items: lessons of several kinds."""

import html
import re

import pytest

import didact
from didact.report.page.items import exam_page, mixed_lesson_page

KINDS = ["demonstrations", "comparisons", "preferences"]


@pytest.mark.parametrize(
    ("name", "kinds", "n_pictures"),
    [
        ("six-cell", ["comparisons"], 4),
        ("six-cell", ["preferences"], 4),
        ("six-cell", ["demonstrations"], 1),
        ("uvm-failure", KINDS, None),
    ],
)
def test_items_are_drawn_and_told(name, kinds, n_pictures, tmp_path):
    task = didact.make(name)
    lesson = didact.teach_mixed(task, feedback=kinds)
    path = tmp_path / "lesson.html"
    lesson.report(path, task=task)
    page = path.read_text()
    assert page == mixed_lesson_page(task, lesson)
    told = html.unescape(re.sub(r"<[^>]*>", "", page))
    for number, words in enumerate(lesson.words):
        assert words in told
        assert lesson.why(number) in told
    assert "smallest Q-value gap it relies on: " in told
    if n_pictures is not None:
        assert page.count("<figcaption>") == n_pictures
    assert "http://" not in page.replace("http://www.w3.org", "")


def test_mixed_lessons_and_frontiers_say_what_no_behaviour_shows(tmp_path):
    """The items state rows of the BEC, of whatever kind; the end of six-cell has no feature."""
    grid = didact.make("random-grid", size=3, n_features=3, seed=0)
    for task, is_said in ((grid, True), (didact.make("six-cell"), False)):
        found = didact.teach_mixed(task, feedback=KINDS)
        frontier = didact.frontier(task, losses=["50%"], horizon=1, learner_model="half-spaces")
        frontier.report(tmp_path / "frontier.html")
        for page in (mixed_lesson_page(task, found), (tmp_path / "frontier.html").read_text()):
            assert (
                "didact identify finds the cheapest change of the world that" in page
            ) == is_said


def test_what_is_open_stands_on_the_page():
    task = didact.make("random-grid", size=4, n_features=4, seed=1)
    lesson = didact.teach_mixed(task, feedback=["preferences"])
    assert lesson.uncovered
    told = html.unescape(re.sub(r"<[^>]*>", "", mixed_lesson_page(task, lesson)))
    assert "What stays open" in told
    assert lesson.uncovered[0].words in told


def test_a_lesson_of_other_items_from_a_file_has_a_page_too(tmp_path):
    """Rankings and stops as well, and names that would break a page."""
    task = didact.make("six-cell")
    lesson = didact.teach_mixed(task, feedback=["comparisons"])
    lesson.save(tmp_path / "mix.json")
    again = didact.load_lesson(tmp_path / "mix.json")
    assert mixed_lesson_page(task, again) == mixed_lesson_page(task, lesson)
    odd = didact.Task(task.mdp, task.true_weights, name="<script>alert(1)</script>")
    made = didact.teach_mixed(odd, feedback=["comparisons"])
    assert "<script>alert" not in mixed_lesson_page(odd, made)


def test_the_key_of_an_exam_names_what_no_behaviour_shows():
    task = didact.make("random-grid", size=3, n_features=3, seed=1)
    exam = didact.exam(task)
    pointer = "Adding the same amount to every weight changes nothing. didact identify finds"
    assert pointer in exam_page(task, exam, key=True)
    assert pointer not in exam_page(task, exam)
    six = didact.make("six-cell")
    assert "didact identify" not in exam_page(six, didact.exam(six), key=True)
