"""The site of a study: steps in order, answers checked and kept, nothing told that is right."""

import json

import pytest

pytest.importorskip("starlette", reason="the studio is an extra")

from didact.app.study import init_study, staged
from didact.studies.people.records import Records
from didact.studio.study_site import study_site
from tests.studio.asgi import asked

JSON = [("Content-Type", "application/json")]


@pytest.fixture
def study(tmp_path):
    place = str(tmp_path / "study.sqlite")
    init_study(place, "random-grid", {"size": 6, "n_features": 2}, n_questions=3, n_practice=1,
               title="<script>x</script>", confidence=True, comments=True)  # fmt: skip
    records = Records(place)
    yield study_site(records, staged(records)), records
    records.close()


def post(site, path, body) -> tuple[int, dict]:
    sent = body if isinstance(body, bytes) else json.dumps(body).encode()
    answer = asked(site, "POST", path, JSON, body=sent)
    return answer.status, json.loads(answer.body)


def test_a_participant_goes_through_all_steps(study):
    site, records = study
    assert json.loads(asked(site, path="/consent").body)["kind"] == "consent"
    _, joined = post(site, "/join", {})
    link, kinds = joined["link"], []
    while (told := json.loads(asked(site, path=f"{link}/step").body))["kind"] != "done":
        kinds.append(told["kind"])
        assert not {"right", "correct", "best"} & set(told)
        given = {"step": told["step"], "action": 1, "confidence": 4, "comment": "=1"}
        status, following = post(site, f"{link}/answer", given)
        assert status == 200
        assert post(site, f"{link}/answer", given) == (200, following)
    assert kinds == ["practice", "lesson", "test", "test", "test", "comments"]
    kept = records.answers()
    assert [row["confidence"] for row in kept if row["kind"] == "test"] == [4, 4, 4]
    assert kept[-1]["comment"] == "=1"
    assert all(row["comment"] is None for row in kept[:-1])


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b"1", b'{"step": 1}', b'{"step": 99}', b'{"step": "1"}', b"\xff",
     b'{"step": 1, "action": 9, "confidence": 1}', b'{"step": 1, "action": 1, "confidence": 6}',
     b'{"step": 1, "action": true, "confidence": 1}', b"[" * 9000,
     b'{"step": 6, "comment": 3}', b'{"step": 6, "comment": "' + b"x" * 4001 + b'"}'],
)  # fmt: skip
def test_answers_that_break_a_rule_are_not_kept(study, body):
    site, records = study
    link = post(site, "/join", {})[1]["link"]
    status, told = post(site, f"{link}/answer", body)
    assert status == 422
    assert "\n" not in told["error"]
    assert len(records.answers()) == 1


def test_sizes_types_and_links_are_checked(study):
    site, _ = study
    link = post(site, "/join", {})[1]["link"]
    assert asked(site, "POST", f"{link}/answer", JSON, body=b" " * 17_000).status == 413
    assert asked(site, "POST", f"{link}/answer", body=b"{}").status == 415
    assert asked(site, "POST", "/join", body=b"{}").status == 415
    for other in ("x" * 22, "../../etc", "' OR 1=1", "%00" * 8):
        assert asked(site, path=f"/p/{other}/step").status == 404
        assert asked(site, "POST", f"/p/{other}/answer", JSON, body=b"{}").status == 404
    assert asked(site, path="/p/" + "x" * 22).status == 303


def test_titles_are_text(study):
    page = asked(study[0]).body
    assert "<script>x" not in page
    assert page.count("<script") == 1
