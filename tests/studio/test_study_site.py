"""The site of a study: steps in order, answers checked and kept, nothing told that is right."""

import asyncio
import json
import sqlite3

import pytest

pytest.importorskip("starlette", reason="the studio is an extra")

from didact import make
from didact.mdp.naming import action_words
from didact.report.page.neutral import neutral_world
from didact.studies.people.records import Records
from didact.studies.people.study import init_study
from didact.studio.study_site import study_site
from didact.studio.study_stage import staged, tutorial_item
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


# ---------------------------------------------------------------- the whole procedure


@pytest.fixture
def whole(tmp_path):
    """A study with every kind of step, and its site."""
    place = str(tmp_path / "whole.sqlite")
    (tmp_path / "likert.txt").write_text("# none\n\nI knew.\n", encoding="utf-8")
    init_study(place, "random-grid", {"size": 6, "n_features": 2}, n_questions=3, n_practice=1,
               n_paths=1, n_rounds=1, conditions=("exact", "none"),
               likert=str(tmp_path / "likert.txt"), procedure={
                   "tutorial": True, "tries": 2, "attention": True, "path_steps": 2, "code": "C-1",
                   "return_link": "https://x.test/?of={id}"})  # fmt: skip
    records = Records(place)
    yield study_site(records, staged(records)), records
    records.close()


def stepped(site, link) -> dict:
    return json.loads(asked(site, path=f"{link}/step").body)


def path_of(site, link, told) -> list[list[int]]:
    """A path that goes on to the right until it ends."""
    path, here = [], told
    while len(path) < told["steps"] and not here["ends"]:
        path.append([here["state"], 3])
        where = f"{link}/world/{told['member']}/{here['next'][3]}"
        here = json.loads(asked(site, path=where).body)
    return path


def answers_for(site, link, told) -> dict:
    details = {"gate": [1, 1, 0], "likert": [2], "lesson": {"watched": []}}
    detail = path_of(site, link, told) if told["kind"] == "path" else details.get(told["kind"])
    return {"step": told["step"], "action": 1, "detail": detail}


def test_the_whole_procedure_step_by_step(whole):
    site, records = whole
    link, kinds = joined(site), []
    while (told := stepped(site, link))["kind"] not in ("done", "excluded"):
        kinds.append(told["kind"])
        status, reply = post(site, f"{link}/answer", answers_for(site, link, told))
        assert status == 200, (told["kind"], reply)
    assert kinds == ["intro", "tutorial", "tutorial", "gate", "practice", "lesson", "test",
                     "attention", "test", "test", "path", "again", "retest", "retest",
                     "likert"]  # fmt: skip
    assert (told["code"], told["link"]) == ("C-1", "https://x.test/?of=")
    again = Records(records.path, read_only=True)
    assert len(again.answers()) == 16
    again.close()


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("Taxi-v4", ("north", "south", "west", "east")),
        ("random-grid", ("up", "down", "left", "right")),
        ("garnet", None),
    ],
)
def test_the_tutorial_speaks_of_the_actions_of_the_study(name, options):
    task = make(name)
    first = action_words(task, 0)
    for number, right in enumerate(("right", "down")):
        item = tutorial_item(neutral_world(task), number)
        assert ("up", "down", "left", "right")[item.right] == right
        assert item.options == (options or ("up", "down", "left", "right"))
        assert (first in item.question) == (options is None)


def test_who_fails_the_comprehension_questions_is_excluded(whole):
    site, records = whole
    link = joined(site)
    for _ in range(3):
        told = stepped(site, link)
        assert post(site, f"{link}/answer", {"step": told["step"], "action": 0})[0] == 200
    for wrong in ([1, 0, 0], [0, 0, 0]):
        told = stepped(site, link)
        assert told["kind"] == "gate"
        assert not any("right" in item for item in told["items"])
        given = {"step": told["step"], "detail": wrong}
        assert post(site, f"{link}/answer", given)[0] == 200
    told = stepped(site, link)
    assert told["kind"] == "excluded"
    assert not told.get("code")
    assert told["debriefing"]
    assert post(site, f"{link}/answer", {"step": 6, "action": 1})[0] == 422
    assert records.participants()[0]["gates"] == (0, 0)


def test_a_person_of_a_platform_is_one_participant(whole):
    site, records = whole
    links = []
    for query in ({"PROLIFIC_PID": "p1", "STUDY_ID": "s"}, {"PROLIFIC_PID": "p1"},
                  {"PROLIFIC_PID": "p2"}, {"workerId": "p1"}, {}, {}):  # fmt: skip
        token = json.loads(asked(site, path="/consent").body)["token"]
        status, told = post(site, "/join", {"token": token, "query": query})
        assert status == 200
        links.append(told["link"])
    assert links[0] == links[1]
    assert len(set(links)) == 5
    token = json.loads(asked(site, path="/consent").body)["token"]
    bad = {"token": token, "query": {"PROLIFIC_PID": "{{%PROLIFIC_PID%}}"}}
    status, told = post(site, "/join", bad)
    assert status == 422
    assert "must be an id of prolific" in told["error"]
    assert [p["person"] for p in records.participants()] == ["p1", "p2", "p1", None, None]


def test_demonstrations_are_watched_for_so_long_at_least(tmp_path, monkeypatch):
    place = str(tmp_path / "slow.sqlite")
    init_study(place, "random-grid", {"size": 6, "n_features": 2}, n_questions=3, n_practice=0,
               conditions=("exact", "scot"), procedure={"watch_seconds": 600})  # fmt: skip
    records = Records(place)
    site = study_site(records, staged(records))
    link = joined(site)
    assert 590 < stepped(site, link)["seconds"] <= 600
    status, told = post(site, f"{link}/answer", {"step": 1})
    assert (status, told["error"]) == (422, "watch the demonstrations a little longer")
    import time

    later = time.time() + 601
    monkeypatch.setattr("didact.studio.study_site.time.time", lambda: later)
    assert post(site, f"{link}/answer", {"step": 1})[0] == 200
    records.close()


def test_paths_must_follow_the_moves_of_the_world(whole):
    site, records = whole
    link = joined(site)
    while (told := stepped(site, link))["kind"] != "path":
        post(site, f"{link}/answer", answers_for(site, link, told))
    n_kept, right = len(records.answers()), path_of(site, link, told)
    leaps = [[right[0][0], right[0][1]], [(right[1][0] + 7) % 36, 3]]
    for path in (leaps, right[:1], [*right, *right], [[99, 0], [99, 0]], [], "x", [[1]], None):
        given = {"step": told["step"], "detail": path}
        assert post(site, f"{link}/answer", given)[0] == 422, path
    assert len(records.answers()) == n_kept
    for where in ("9/0", "0/999", "0/-1", "x/0", "0/" + "9" * 5000, "0/\u0663", "0/1.0"):
        assert asked(site, path=f"{link}/world/{where}").status == 404
    assert asked(site, path="/p/" + "x" * 22 + "/world/0/0").status == 404


BODIES = [b"", b"{", b"[]", b'"x"', b"\xff", b"[" * 9000, b'{"step": 1e999}', b'{"step": 1.5}',
          b'{"step": null}', b'{"token": 1}']  # fmt: skip
VALUES = (None, -1, 10**30, 1.5, True, "x", "<script>", [], [[]], [[1, 2, 3, 4]], {},
          {"watched": 1}, {"watched": [[1, 1, 1, 1e400]]},
          {"chosen": 0, "weights": [1], "regret": 1})  # fmt: skip


def test_hostile_answers_to_every_kind_of_step_are_refused(whole):
    """No answer of the server is an error of its own, and nothing is kept that cannot be read."""
    site, records = whole
    link, n_tried = joined(site), 0
    while (told := stepped(site, link))["kind"] != "done":
        step = told["step"]
        names = ("action", "detail", "confidence", "seconds")
        pairs = [{"step": step, name: value} for name in names for value in VALUES]
        hostile = [*BODIES, *(json.dumps(pair).encode() for pair in pairs)]
        for body in hostile:
            if stepped(site, link)["step" if told["kind"] != "done" else "kind"] != step:
                break  # it was an answer after all
            status, reply = post(site, f"{link}/answer", body)
            assert status in (200, 422), (told["kind"], body, status)
            assert "Traceback" not in json.dumps(reply)
            n_tried += 1
        if stepped(site, link).get("step") == step:
            post(site, f"{link}/answer", answers_for(site, link, told))
    assert n_tried > 100
    again = Records(records.path, read_only=True)
    again.close()
