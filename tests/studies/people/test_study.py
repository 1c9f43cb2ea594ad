"""Use cases of studies: files that are made, exported, simulated."""

import csv
import re
from itertools import groupby

import numpy as np
import pytest
from scipy.stats import ttest_ind

from didact import make
from didact.errors import DidactError
from didact.random import stream
from didact.studies.people.design import Procedure, design_study
from didact.studies.people.records import Records
from didact.studies.people.results import report
from didact.studies.people.study import (
    SimulatedStudy,
    delete_participant,
    export_study,
    init_study,
    power,
    preregistration,
    simulate_study,
)
from didact.studio.study_stage import staged


@pytest.fixture
def path(tmp_path):
    (tmp_path / "consent.txt").write_text("Do you?\nReally?")
    place = str(tmp_path / "study.sqlite")
    init_study(
        place, "random-grid", {"size": 6, "n_features": 2}, n_questions=4,
        consent=str(tmp_path / "consent.txt"), conditions=("exact", "none"),
    )  # fmt: skip
    return place


def test_what_participants_see_does_not_tell_what_is_right(path):
    records = Records(path)
    stage = staged(records)
    assert stage.design.procedure.consent == "Do you?\nReally?"
    assert stage.lessons["none"] == ()
    ((world, html),) = stage.lessons["exact"]
    assert world == ""
    assert html.count('class="demo ') == len(stage.design.shown["exact"])
    assert "★" not in html
    for (_, state), told in stage.asked.items():
        assert told["place"].startswith(f"row {state // 6 + 1}, column {state % 6 + 1}")
        assert f"You are in {told['place']}" in told["picture"]
        assert 'class="policy"' not in told["picture"]
    records.close()


@pytest.mark.parametrize(
    ("text", "words"),
    [("x" * 20_001, "at most 20000 characters; it has 20001"), (" \n", "must say something")],
)
def test_a_consent_is_kept_whole_or_refused(tmp_path, text, words):
    (tmp_path / "consent.txt").write_text(text)
    place = str(tmp_path / "study.sqlite")
    how = {"n_questions": 2, "consent": str(tmp_path / "consent.txt")}
    with pytest.raises(DidactError, match=words):
        init_study(place, "random-grid", {"size": 5, "n_features": 2}, **how)
    (tmp_path / "consent.txt").write_text("x" * 20_000)
    made = init_study(place, "random-grid", {"size": 5, "n_features": 2}, **how)
    assert made.procedure.consent == "x" * 20_000
    for title in ("x" * 201, "two\nlines"):
        with pytest.raises(DidactError, match="title must"):
            init_study(place + "2", "random-grid", {"size": 5, "n_features": 2}, title=title)


def test_other_worlds_have_words_instead_of_a_map(tmp_path):
    place = str(tmp_path / "garnet.sqlite")
    init_study(place, "garnet", {"n_states": 40}, n_questions=3, conditions=("scot", "none"))
    records = Records(place)
    stage = staged(records)
    assert all(told["picture"] is None for told in stage.asked.values())
    assert stage.lessons["scot"]
    records.close()
    assert make("garnet", n_states=40)


def test_exports_and_deletions(path, tmp_path):
    records = Records(path)
    for _ in range(2):
        records.answer(records.join(), 0, {})
    records.close()
    assert delete_participant(path, 0) == 1
    places = export_study(path, str(tmp_path / "out"))
    assert [place.rpartition("/")[2] for place in places] == [
        "answers.csv", "participants.csv", "watched.csv", "codebook.md", "report.md",
    ]  # fmt: skip
    with open(places[0], encoding="utf-8", newline="") as file:
        assert [row["participant"] for row in csv.DictReader(file)] == ["1"]


def test_a_simulation_leaves_the_study_alone_and_plans_it(path):
    found = simulate_study(path, 12, confidences=[20.0], x=0.2)
    assert found.document()["participants"] == 12
    assert found.needed is None or found.needed >= 2
    records = Records(path)
    assert records.participants() == []
    records.close()
    with pytest.raises(DidactError, match="difference"):
        simulate_study(path, 3, x=0.0)


def test_a_family_is_taken_world_by_world(tmp_path):
    place = str(tmp_path / "family.sqlite")
    wish = {"size": 5, "n_features": 3, "members": 4, "seed": 2}
    design = init_study(place, "random-grid", wish, n_questions=6, unseen=["3"])
    records = Records(place)
    stage = staged(records)
    numbers = [
        int(n) for _, html in stage.lessons["exact"] for n in re.findall('id="demo(\\d+)"', html)
    ]
    assert numbers == list(range(1, len(design.shown["exact"]) + 1))
    worlds = [world for world, _ in stage.lessons["exact"]]
    members = [each.member for each in design.shown["exact"]]
    assert worlds == [f"world {member + 1}" for member, _ in groupby(members)]
    assert all(stage.asked[at]["place"].startswith("world 4, ") for at in design.test)
    person = records.join()
    for step, (_, at) in enumerate(design.steps(0)):
        records.answer(person, step, {"action": design.right.get(at, [0])[0]})
    records.close()
    export_study(place, str(tmp_path / "out"))
    rows = list(csv.DictReader((tmp_path / "out/answers.csv").open(encoding="utf-8")))
    assert {row["member"] for row in rows if row["kind"] == "test"} == {"3"}
    assert "none, set apart | 6 |" in (tmp_path / "out/codebook.md").read_text(encoding="utf-8")
    assert simulate_study(place, 12).document()["participants"] == 12


@pytest.mark.parametrize(("spread", "x", "n"), [(0.2, 0.1, 40), (0.3, 0.1, 80), (0.1, 0.1, 20)])
def test_power_is_the_share_of_studies_that_see_the_difference(spread, x, n):
    rng = stream(0, "power", n)
    a, b = rng.normal(x, spread, (4000, n)), rng.normal(0, spread, (4000, n))
    seen = np.mean(ttest_ind(a, b, axis=1, equal_var=False).pvalue < 0.05)
    assert power(spread, x, n) == pytest.approx(seen, abs=0.03)
    strict = np.mean(ttest_ind(a, b, axis=1, equal_var=False).pvalue < 0.05 / 3)
    assert power(spread, x, n, 3) == pytest.approx(strict, abs=0.07)


def test_the_draft_names_what_a_board_asks_for():
    design = design_study(
        make("random-grid", size=6, n_features=2, seed=1),
        n_questions=4,
        n_paths=2,
        procedure=Procedure(tries=2, attention=True, likert=("a",), watch_seconds=5),
    )
    found = SimulatedStudy(design, 30, report(design, []), {}, 0.2, 16, 0.2)
    text = preregistration(found)
    for words in ("Hypotheses", "| 20 |", "16 in each condition, 48 in all", "attention item",
                  "do not reach the test", "2 whole paths", "at least 5 seconds", "Holm",
                  "1 Likert item of 7 points", "Rscript analysis.R results none"):  # fmt: skip
        assert words in text, words
