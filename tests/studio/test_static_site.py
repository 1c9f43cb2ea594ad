"""The static site: what it holds is what the studio and the library answer."""

import json
import random
import re

import pytest

pytest.importorskip("starlette", reason="the studio is an extra")

from didact import teach
from didact.errors import DidactError
from didact.studio import static_site
from didact.studio.questions import QUESTIONS
from didact.studio.static_site import USUAL, canonical, export_site, recorded
from didact.studio.worlds import read_painting


def painting(seed: int) -> dict:
    """A small world with random grounds and rewards."""
    rng = random.Random(seed)
    n = rng.randint(2, 3)
    rows = ["".join(rng.choice("aab") for _ in range(n)) for _ in range(n)]
    return {
        "name": f"world {seed}", "rows": rows, "ends": [rng.randrange(n * n)], "starts": [],
        "features": [["a", str(rng.randint(-3, -1)), 0], ["b", str(rng.randint(-6, 4)), 1]],
        "slip": "0", "discount": "0.9",
    }  # fmt: skip


def table_of(path) -> dict:
    found = re.search(r'id="recorded">(.*?)</script>', path.read_text(encoding="utf-8"), re.S)
    return json.loads(found[1])


@pytest.mark.parametrize(
    "n", [3, pytest.param(50, marks=pytest.mark.slow)], ids=["12 lessons", "200 lessons"]
)
def test_its_lessons_are_those_of_the_library(tmp_path, monkeypatch, n):
    monkeypatch.setattr(static_site, "_games", lambda task: iter(()))
    subjects = [(str(i), {"painting": painting(i)}) for i in range(n)]
    *lessons, index = export_site(tmp_path / "site", subjects)
    table, compared = table_of(index), 0
    assert len(lessons) == n
    for _, subject in subjects:
        answers = table[canonical(subject)]
        task = read_painting(subject["painting"]).task()
        for key, told in answers.items():
            kind, _, question = key.partition(" ")
            if kind != "teach":
                continue
            wish = json.loads(question)["settings"]
            own = {name: wish[name] for name in ("cost", "scope", "trim")}
            lesson = teach(task, teacher="exact", **own)
            if any(len({*each}) < len(each) for each in lesson.demonstrations):
                lesson = teach(task, teacher="exact", **{**own, "trim": True})  # it goes in circles
            shown = [[list(pair) for pair in each] for each in lesson.demonstrations]
            assert told["demonstrations"] == shown
            assert told["status"] == lesson.status
            compared += 1
    assert compared == 4 * n


def test_what_it_holds_is_what_the_studio_answers():
    subject = {"painting": painting(1)}
    answers = dict(recorded(subject))
    asked = [key.partition(" ") for key in answers]
    assert {"look", "teach", "fit", "export", "quiz", "exam"} <= {kind for kind, *_ in asked}
    for kind, _, question in asked:
        if kind in QUESTIONS and kind != "quiz":
            told = QUESTIONS[kind]({**subject, **json.loads(question)})
            assert canonical(answers[f"{kind} {question}"]) == canonical(told)
    settings = canonical({"settings": USUAL})
    shown = answers[f"teach {settings}"]["demonstrations"]
    assert answers[f"fit {canonical({'demonstrations': shown, 'settings': USUAL})}"]["teaches"]


def test_names_cannot_end_the_script(tmp_path, monkeypatch):
    monkeypatch.setattr(static_site, "_games", lambda task: iter(()))
    evil = "</script><script>alert(1)</script> /*script*/ /*answers*/"
    named = {**painting(2), "name": evil}
    *_, index = export_site(tmp_path / "s", [(evil, {"painting": named})])
    text = index.read_text(encoding="utf-8")
    assert "<script>alert" not in text
    assert text.count('id: "ready"') == 1  # of the script
    assert named["name"] in canonical(table_of(index))


def test_lessons_lead_back_to_their_world(tmp_path, monkeypatch):
    monkeypatch.setattr(static_site, "_games", lambda task: iter(()))
    lesson, _ = export_site(tmp_path / "s", [("One", {"painting": painting(3)})])
    assert lesson.name == "one-1.html"
    assert 'href="../index.html#' in lesson.read_text(encoding="utf-8")


def test_too_much_and_files_of_others_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(static_site, "_games", lambda task: iter(()))
    subjects = [("One", {"painting": painting(3)})]
    monkeypatch.setattr(static_site, "MAX_BYTES", 1000)
    with pytest.raises(DidactError, match="Choose fewer or smaller worlds"):
        export_site(tmp_path / "s", subjects)
    assert not (tmp_path / "s" / "index.html").exists()
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "index.html").write_text("mine")
    with pytest.raises(DidactError, match="is not a page of didact"):
        export_site(tmp_path / "t", subjects)
    assert not (tmp_path / "t" / "lessons").exists()
    monkeypatch.setattr(static_site, "MAX_BYTES", 10**8)
    (tmp_path / "v" / "lessons").mkdir(parents=True)
    (tmp_path / "v" / "lessons" / "one-1.html").write_text("mine")
    with pytest.raises(DidactError, match=r"one-1\.html: is not a page of didact"):
        export_site(tmp_path / "v", subjects)
    assert not (tmp_path / "v" / "index.html").exists()
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / "lessons").write_text("mine")
    with pytest.raises(DidactError, match="lessons: cannot be made"):
        export_site(tmp_path / "w", subjects)
    export_site(tmp_path / "x", [("n" * 300, subjects[0][1])])
    with pytest.raises(DidactError, match="different names"):
        export_site(tmp_path / "u", [*subjects, *subjects])
