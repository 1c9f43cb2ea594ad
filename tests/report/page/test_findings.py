"""Pages of findings hold what was found, escaped; bars lie where the numbers are."""

import re
from dataclasses import replace

import pytest

import didact
from didact.report.page.findings import (
    LEFT,
    RIGHT,
    finding_page,
    spans,
)
from tests.report.drawn import HOSTILE


@pytest.fixture(scope="module")
def task():
    return didact.make("random-grid", size=4, n_features=3, seed=1)


def test_an_attack_is_told_and_drawn(task, tmp_path):
    lesson = didact.teach_robust(task, lies=1, horizon=1)
    found = didact.attack(task, lesson)
    page = finding_page(found)
    assert page.count(">dropped<") == len(found.demonstrations) == 3
    assert re.search(r'class="astray" d="M[^"]+"', page)
    assert [int(n) for _, n in found.stated] == sorted(n for _, n in found.stated)
    assert found.stated[0][1] == 3
    named = ", ".join(str(i + 1) for i in found.demonstrations)
    assert f"rop 3 demonstrations (no. {named})" in page
    found.report(tmp_path / "attack.html")
    assert (tmp_path / "attack.html").read_text(encoding="utf-8") == page
    assert HOSTILE not in finding_page(replace(found, task_name=HOSTILE))


def test_an_attack_on_a_family_has_no_picture(task):
    family = didact.Family([task, task])
    lesson = didact.teach(task, horizon=1)
    shown = [didact.Demonstration(d.pairs, member=1) for d in lesson.demonstrations]
    page = finding_page(didact.attack(family, shown))
    assert "<use" not in page
    assert ">dropped<" in page


def test_an_identification_names_directions_bounds_and_changes(task):
    found = didact.identify(task, ["discount=1/2", "end=5:3", "end=6:2"])
    page = finding_page(found)
    assert "Adding the same amount to every weight changes nothing." in page
    assert len(re.findall("<rect", page)) == task.mdp.n_features
    assert ">end=6<" in page
    assert ">end=5<" in page
    assert ">discount=1/2<" not in page  # it reveals nothing
    hidden = replace(found, task=didact.Task(task.mdp, task.true_weights, name=HOSTILE))
    assert HOSTILE not in finding_page(hidden)
    for x, width in re.findall(r'<rect x="([\d.]+)" y="5" width="([\d.]+)"', page):
        assert LEFT <= float(x) <= float(x) + float(width) <= RIGHT + 1.5


def test_a_demonstrator_is_judged_with_a_curve(task):
    shown = didact.demonstrate(task, "doing", n=3, horizon=3)
    found = didact.informativeness(task, shown, rewards=task.weights)
    page = finding_page(found)
    assert found.lines()[0].replace("'", "&#x27;") in page
    assert page.count("<rect") == 3
    assert task.name in page
    (line,) = re.findall(r'd="M([^"]+)" fill="none"', page)
    heights = [float(pair.split(",")[1]) for pair in line.split()]
    assert min(heights) == 15.0
    peak = max(range(len(heights)), key=lambda i: -heights[i])
    assert found.trust.low < found.trusts[1 + peak] < found.trust.high
    one = didact.informativeness(task.mdp, shown[:1], rewards=task.weights)
    assert "<h1>MDP</h1>" in finding_page(one)


def test_bars_lie_on_one_line_with_zero():
    first, last = spans([(0.0, 2.0), (-2.0, 0.0)], [True, False])
    middle = (LEFT + RIGHT) / 2
    assert (first.zero, first.low, first.high) == (middle, middle, RIGHT)
    assert (last.low, last.high) == (LEFT, middle)
    (open_one,) = spans([(None, 1.0)], [False])
    assert open_one.low == LEFT
    assert LEFT < open_one.zero < open_one.high < RIGHT
