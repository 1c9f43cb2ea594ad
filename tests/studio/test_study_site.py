"""The site of a study: steps in order, answers checked and kept, nothing told that is right."""

import asyncio
import json
import sqlite3

import pytest

pytest.importorskip("starlette", reason="the studio is an extra")

from didact.studies.people.records import Records
from didact.studies.people.study import init_study
from didact.studio.study_site import study_site
from didact.studio.study_stage import staged
from tests.studio.asgi import ask, asked

JSON = [("Content-Type", "application/json")]


@pytest.fixture
def study(tmp_path):
    place = str(tmp_path / "study.sqlite")
    init_study(place, "random-grid", {"size": 6, "n_features": 2}, n_questions=3, n_practice=1,
               title="<script>x</script>",
               procedure={"confidence": True, "comments": True})  # fmt: skip
    records = Records(place)
    yield study_site(records, staged(records)), records
    records.close()


def post(site, path, body) -> tuple[int, dict]:
    sent = body if isinstance(body, bytes) else json.dumps(body).encode()
    answer = asked(site, "POST", path, JSON, body=sent)
    return answer.status, json.loads(answer.body)


def joined(site) -> str:
    """The link of a new participant."""
    token = json.loads(asked(site, path="/consent").body)["token"]
    return post(site, "/join", {"token": token})[1]["link"]


def test_a_participant_goes_through_all_steps(study):
    site, records = study
    assert json.loads(asked(site, path="/consent").body)["kind"] == "consent"
    link, kinds = joined(site), []
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
    link = joined(site)
    status, told = post(site, f"{link}/answer", body)
    assert status == 422
    assert "\n" not in told["error"]
    assert len(records.answers()) == 1


def test_sizes_types_and_links_are_checked(study):
    site, _ = study
    link = joined(site)
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


def test_who_agrees_twice_with_one_page_joins_once(study):
    site, records = study
    token = json.loads(asked(site, path="/consent").body)["token"]
    assert json.loads(asked(site, path="/consent").body)["token"] != token

    async def twice():
        body = json.dumps({"token": token}).encode()
        return await asyncio.gather(*(ask(site, "POST", "/join", JSON, body=body) for _ in "12"))

    one, other = asyncio.run(twice())
    assert (one.status, one.body) == (other.status, other.body) == (200, one.body)
    assert len(records.participants()) == 1
    for body in ({}, {"token": 1}, {"token": "x"}, [], {"token": "' OR 1=1 --" * 2}):
        assert post(site, "/join", body)[0] == 422
    assert len(records.participants()) == 1


def test_only_so_many_join(study):
    records = study[1]
    site = study_site(records, staged(records), most=2)
    for _ in range(2):
        assert joined(site)
    token = json.loads(asked(site, path="/consent").body)["token"]
    status, told = post(site, "/join", {"token": token})
    assert (status, told["error"]) == (403, "this study has all its participants; thank you")
    assert len(records.participants()) == 2
    records.delete(0)
    assert joined(site)


def test_a_lock_of_another_program_makes_nobody_else_wait(study, monkeypatch):
    """Whoever writes is told to try again; pages that only read are answered meanwhile."""
    site, records = study
    link = joined(site)
    monkeypatch.setattr("didact.studio.study_site.WAIT", 0.05)
    records._database.execute("PRAGMA busy_timeout=50")
    other = sqlite3.connect(records.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    answered = []

    async def all_at_once():
        body = json.dumps({"step": 1, "action": 1, "confidence": 1}).encode()

        async def wait(kind, *request, **options):
            answer = await ask(site, *request, **options)
            answered.append((kind, answer.status))

        await asyncio.gather(
            *(wait("write", "POST", f"{link}/answer", JSON, body=body) for _ in range(20)),
            wait("read", path="/"),
            wait("read", path="/consent"),
            wait("read", path=f"{link}/step"),
        )

    asyncio.run(all_at_once())
    assert {status for kind, status in answered if kind == "read"} == {200}
    assert {status for kind, status in answered if kind == "write"} == {503}
    assert [kind for kind, _ in answered[:3]] == ["read"] * 3
    other.execute("ROLLBACK")
    other.close()
    given = {"step": 1, "action": 1, "confidence": 1}
    assert post(site, f"{link}/answer", given)[0] == 200


def test_what_cannot_be_kept_is_no_traceback(study, monkeypatch):
    site, records = study
    link = joined(site)

    def full(*_, **__):
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(records, "_add", full)
    status, told = post(site, f"{link}/answer", {"step": 1, "action": 1, "confidence": 1})
    assert (status, told["error"]) == (503, "the study cannot be reached now; try again")
    records.delete(0)
    assert post(site, f"{link}/answer", {"step": 1, "action": 1, "confidence": 1})[0] == 404
