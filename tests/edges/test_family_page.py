"""The page of a family: members side by side, the shown ones marked, all of it escaped."""

import re

import pytest

import didact as library
from didact import Family, Task, make
from didact.errors import InvalidInput
from didact.mdp.naming import pair_words
from tests.command_line import refused


def small(members=5, **more):
    return make("random-grid", size=3, n_features=3, members=members, **more)


def test_members_that_are_shown_are_marked(tmp_path):
    family = small()
    lesson = library.teach(family, teacher="exact", horizon=1)
    lesson.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    marked = re.findall(r'class="card member( taught)?">\s*<h3>([^<]*)', page)
    used = {d.member for d in lesson.demonstrations}
    assert [name.strip() for _, name in marked] == list(family.names)
    assert {i for i, (taught, _) in enumerate(marked) if taught} == used
    assert page.count("★ shown") == len(used)
    assert "✓ Proof verified" in page
    assert f"in {len(used)} of 5 worlds: enough for all of them." in page
    assert page.count('class="shown-pair"') == len(used)
    assert "src=" not in page
    assert "http" not in page.replace("http-equiv", "")


def test_what_nothing_can_narrow_names_identify(tmp_path):
    """The end of six-cell has no feature: all its weights can be learned."""
    for family, is_said in ((small(), True), (Family([make("six-cell")]), False)):
        library.teach(family).report(tmp_path / "page.html")
        page = (tmp_path / "page.html").read_text(encoding="utf-8")
        assert ("Adding the same amount to every weight changes nothing." in page) == is_said
        assert ("didact identify finds the cheapest change of a world that" in page) == is_said


def test_steps_stand_below_their_world_without_its_name(tmp_path):
    """A colon in the name of a world is part of the name."""
    tasks = [make("random-grid", size=3, n_features=3, seed=seed) for seed in range(2)]
    names = ("hall: east wing", "hall: west wing")
    family = Family([Task(t.mdp, tasks[0].weights, name=n, layout=t.layout)
                     for t, n in zip(tasks, names, strict=True)])  # fmt: skip
    lesson = library.teach(family, horizon=2)
    lesson.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    cards = page.split('class="card member')[1:]
    for member, (name, card) in enumerate(zip(names, cards, strict=True)):
        own = [(i, d) for i, d in enumerate(lesson.demonstrations, start=1) if d.member == member]
        told = [
            f"{number}. {', then '.join(pair_words(family[member], s, a) for s, a in shown)}"
            for number, shown in own
        ]
        assert re.findall(r"<li>([^<]*)</li>", card) == told
        assert re.findall(r"<h3>([^<]*)", card)[0].strip() == name
    assert lesson.demonstrations


def test_names_cannot_break_out(tmp_path):
    task = make("random-grid", size=2, n_features=2)
    evil = "<script>alert(1)</script>"
    family = Family([Task(task.mdp, task.weights, name=evil)], name=evil)
    library.teach(family).report(tmp_path / "page.html")
    assert evil not in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_large_families_are_cut_and_worlds_without_a_picture_are_listed(tmp_path):
    lesson = library.teach(small(70), horizon=1)
    lesson.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.count('class="card member') == 60
    assert "And 10 more worlds of which nothing is shown." in page
    boxes = make("garnet", n_states=5, members=3)
    library.teach(boxes, horizon=1, budget=1).report(tmp_path / "boxes.html")
    page = (tmp_path / "boxes.html").read_text(encoding="utf-8")
    assert page.count('class="card member') == 3
    assert "◐ Partial" in page


def test_a_lesson_from_a_file_needs_its_family(tmp_path):
    family = small()
    library.teach(family, horizon=1).save(tmp_path / "lesson.json")
    lesson = library.load_lesson(tmp_path / "lesson.json")
    with pytest.raises(InvalidInput, match="does not hold its family"):
        lesson.report(tmp_path / "page.html")
    with pytest.raises(InvalidInput, match="task must be a Family"):
        lesson.report(tmp_path / "page.html", task=family[0])
    lesson.report(tmp_path / "page.html", task=family)
    assert (tmp_path / "page.html").stat().st_size > 1000


def test_explain_writes_a_familys_page(didact, tmp_path):
    out = tmp_path / "page.html"
    world = ("random-grid", "-p", "size=3", "-p", "n_features=3", "--members", 4)
    told = didact("explain", *world, "--horizon", 1, "-o", out)
    assert told.code == 0, told
    assert f"saved as {out}" in told.out
    page = out.read_text(encoding="utf-8")
    assert "didact explain random-grid -p size=3 -p n_features=3" in page
    assert "--members 4" in page
    refused(didact("explain", *world, "--for", "people", "-o", out), "is for one world")
