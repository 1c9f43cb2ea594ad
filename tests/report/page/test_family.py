"""The page of a frontier: what is shown, what the worst learner does, nothing loaded."""

import re
from dataclasses import replace

import numpy as np
import pytest

import didact
from didact.bec.classes import shown_pairs
from didact.planning import solve
from didact.report.page.family import frontier_page
from tests.report.drawn import HOSTILE


@pytest.fixture(scope="module")
def found():
    task = didact.make("random-grid", size=4, n_features=3, seed=2)
    return didact.frontier(
        task, losses=["50%", "1%"], horizon=1, learner_model="half-spaces", time_limit=600.0
    )


def test_every_lesson_is_on_it(found):
    page = frontier_page(found)
    titles = re.findall(r"<h3[^>]*>([^<]*)</h3>", page)
    assert [title.split(":")[0] for title in titles] == ["within 50%", "within 1%", "exact"]
    for point, title in zip(found.points, titles, strict=True):
        assert f"{len(point.lesson.demonstrations)} demonstration" in title
    assert 'max="2"' in page
    assert page.count('class="shown-pair"') == 3


def test_the_worst_learner_fits_and_its_mistakes_are_those_told(found):
    page = frontier_page(found)
    rough = found.points[0]
    bec = rough.lesson.bec
    rows = bec.rows.normals[
        bec.rows.stated_by(shown_pairs(bec.members, rough.lesson.demonstrations))
    ]
    weights = np.array(rough.weights)
    assert (rows @ weights >= -1e-9 * np.linalg.norm(weights)).all()
    assert 0.0 < rough.worst <= rough.lesson.loss_bound + 1e-9
    optimal = solve(bec.task.mdp, weights + 1e-7 * bec.task.weights).optimal
    wrong = int((~(optimal & bec.plan.optimal).any(axis=1) & optimal.any(axis=1)).sum())
    assert wrong >= 1
    assert page.count("The worst learner goes wrong") == sum(
        point.weights is not None for point in found.points
    )
    assert found.points[-1].weights is None


def test_names_are_escaped_and_it_is_written(found, tmp_path):
    assert HOSTILE not in frontier_page(replace(found, task_name=HOSTILE))
    found.report(tmp_path / "frontier.html")
    assert (tmp_path / "frontier.html").read_text(encoding="utf-8") == frontier_page(found)


def test_worlds_without_a_map_are_told_in_words():
    task = didact.make("garnet", n_states=4, n_actions=2, n_features=2, branching=2, seed=1)
    found = didact.frontier(
        task, losses=["10%"], horizon=1, learner_model="half-spaces", starts="all"
    )
    page = frontier_page(found)
    assert "<use" not in page
    assert "Shown: " in page
