"""Tables of a notebook: people count demonstrations and steps from 1."""

import re

from didact import Demonstration, check, load_lesson, make, teach


def table(html: str) -> list[list[str]]:
    """The heads and rows of the table of a piece."""
    rows = re.findall(r"<tr>(.*?)</tr>", html, re.DOTALL)
    return [[cell.strip() for cell in re.findall(r"<t[hd][^>]*>([^<]*)<", row)] for row in rows]


def test_a_lesson_from_a_file_counts_from_one(tmp_path):
    task = make("six-cell")
    made = teach(task)
    made.save(tmp_path / "lesson.json")
    heads, *rows = table(load_lesson(tmp_path / "lesson.json")._repr_html_())
    assert heads == ["demonstration", "step", "state", "action"]
    assert rows == [
        [str(number), str(step), str(state), str(action)]
        for number, shown in enumerate(made.demonstrations, start=1)
        for step, (state, action) in enumerate(shown, start=1)
    ]


def test_wrong_steps_are_counted_from_one():
    task = make("six-cell")
    right = teach(task).demonstrations[0]
    wrong = next(a for a in range(task.mdp.n_actions) if a != right[0][1])
    heads, *rows = table(check(task, [right, Demonstration([(right[0][0], wrong)])])._repr_html_())
    assert heads[:2] == ["demonstration", "step"]
    assert [row[:3] for row in rows] == [["2", "1", str(right[0][0])]]
