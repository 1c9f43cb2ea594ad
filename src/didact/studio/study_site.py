"""The web site of a study with people: a consent page, and one step after the other.

A participant has a link with a secret; whoever opens it again goes on where they were. Every answer
is on the disk before the page is told so. The right answers never leave the server.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import secrets
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from didact.errors import InvalidFile, InvalidInput, InvalidParameter
from didact.files.json import parse_json, plain_numbers
from didact.inputs import whole_number
from didact.report.page.templates import render
from didact.studies.people.answers import Participant, PlatformIds, as_kept, ids_in_link
from didact.studies.people.design import Design
from didact.studies.people.learners import NextDemonstration
from didact.studies.people.records import MAX_PARTICIPANTS, SECRET, WAIT, Full, Records
from didact.studio.site import asset, read_body, refusal
from didact.studio.study_stage import Staged

LARGEST_ANSWER = 16 * 1024
NUMBER = re.compile(r"[0-9]{1,9}")
"""Of a member or a state in an address."""
Kept = TypeVar("Kept")


def study_site(
    records: Records,
    stage: Staged,
    *,
    most: int = MAX_PARTICIPANTS,
    shared_computers: bool = False,
) -> Starlette:
    """The application of a study.

    stage: what its participants can see. most: how many they are. shared_computers: browsers do not
    remember who took part, because several people use them.
    """
    pages = _Pages(records, stage, most, "" if shared_computers else name_of(stage.design))
    return Starlette(
        routes=[
            Route("/", pages.front, methods=["GET"]),
            Route("/consent", pages.consent, methods=["GET"]),
            Route("/join", pages.join, methods=["POST"]),
            Route("/static/{name}", asset, methods=["GET"]),
            Route("/p/{secret}", pages.visit, methods=["GET"]),
            Route("/p/{secret}/step", pages.step, methods=["GET"]),
            Route("/p/{secret}/world/{member}/{state}", pages.look, methods=["GET"]),
            Route("/p/{secret}/answer", pages.answer, methods=["POST"]),
        ],
        exception_handlers={HTTPException: refusal},
    )


def name_of(design: Design) -> str:
    """A name under which a browser remembers that it took part in this very study."""
    return hashlib.sha256(json.dumps(design.document()).encode()).hexdigest()[:16]


class _Pages:
    """What is answered to participants; answers are kept one after the other.

    The file is read and written in threads: where another program locks it, nobody else waits, and
    who waits is told after a few seconds to try again, which the page does by itself.
    """

    def __init__(self, records: Records, stage: Staged, most: int, remembered: str):
        self._records, self._stage, self._most = records, stage, most
        self._lock, self._choosing = asyncio.Lock(), asyncio.Lock()
        self._loop: dict[tuple[str, int], NextDemonstration] = {}
        page = render("study.html.jinja", title=stage.design.title, remembered=remembered)
        self._page = Response(page, media_type="text/html")

    async def front(self, request: Request) -> Response:
        """The page of who has not joined yet."""
        return self._page

    async def consent(self, request: Request) -> Response:
        """What one agrees to, with a token: whoever agrees twice with it joins once."""
        words, token = self._stage.design.procedure.consent, secrets.token_urlsafe(16)
        return JSONResponse({"kind": "consent", "words": words, "token": token})

    async def join(self, request: Request) -> Response:
        """A new participant, who has agreed; who joined before is led to where they were."""
        token, ids = read_agreement(await read_body(request, LARGEST_ANSWER))

        def joined() -> Participant:
            person = self._records.join(token, ids, most=self._most)
            if not person.n_done:
                self._records.answer(person, 0, {})
            return person

        return JSONResponse({"link": f"/p/{(await self._written(joined)).secret}"})

    async def visit(self, request: Request) -> Response:
        """The page of a participant; others begin at the front."""
        return self._page if await self._found(request) else RedirectResponse("/", 303)

    async def step(self, request: Request) -> Response:
        """Where a participant is."""
        return await self._shown(await self._known(request))

    async def look(self, request: Request) -> Response:
        """A state that a path leads to, with where each action leads from there."""
        await self._known(request)
        named = [request.path_params[name] for name in ("member", "state")]
        if not self._stage.design.paths or not all(map(NUMBER.fullmatch, named)):
            raise HTTPException(404, "there is no such state")
        member, state = map(int, named)
        members = self._stage.members
        if member >= len(members) or state >= members[member].mdp.n_states:
            raise HTTPException(404, "there is no such state")
        return JSONResponse(await asyncio.to_thread(self._stage.look, member, state))

    async def answer(self, request: Request) -> Response:
        """Keep an answer; then where the participant is."""
        person = await self._known(request)
        given = read_answer(await read_body(request, LARGEST_ANSWER), self._stage, person)
        step = given.pop("step")
        if step == person.n_done and kind_of(self._stage.design, person) == "again":
            found = await self._chosen(person)
            why = {"chosen": found.chosen, "weights": [*found.weights], "regret": found.regret}
            given["detail"] = {**(given.get("detail") or {}), **why}
        return await self._shown(
            await self._written(lambda: self._records.answer(person, step, given))
        )

    async def _shown(self, person: Participant) -> Response:
        chosen = None
        if kind_of(self._stage.design, person) == "again":
            chosen = (await self._chosen(person)).chosen
        return JSONResponse(await asyncio.to_thread(shown_step, self._stage, person, chosen))

    async def _chosen(self, person: Participant) -> NextDemonstration:
        """What the closed loop shows next; computed once, the same whenever it is asked again."""
        key = person.secret, person.n_done
        async with self._choosing:  # one at a time: threads are left for reading and writing
            if key not in self._loop:
                if len(self._loop) > 1000:
                    self._loop.clear()
                self._loop[key] = await _in_thread(lambda: self._stage.next_for(person.kept))
            return self._loop[key]

    async def _found(self, request: Request) -> Participant | None:
        secret = request.path_params["secret"]
        if not SECRET.fullmatch(secret):
            return None
        return await _in_thread(lambda: self._records.find(secret))

    async def _known(self, request: Request) -> Participant:
        found = await self._found(request)
        if found is None:
            raise HTTPException(404, "this link is of no participant")
        return found

    async def _written(self, work: Callable[[], Kept]) -> Kept:
        """What writing gives, one after the other; refused by 503 after waiting a few seconds."""
        try:
            async with asyncio.timeout(WAIT):
                await self._lock.acquire()
        except TimeoutError:
            raise HTTPException(503, "the study is busy; try again") from None
        try:
            return await _in_thread(work)
        finally:
            self._lock.release()


async def _in_thread(work: Callable[[], Kept]) -> Kept:
    """What work gives that reads or writes the file; what goes wrong with it is no traceback."""
    try:
        return await asyncio.to_thread(work)
    except Full as error:
        raise HTTPException(403, str(error)) from None
    except InvalidFile:
        raise HTTPException(503, "the study cannot be reached now; try again") from None
    except InvalidParameter as error:
        raise HTTPException(404, str(error)) from None


def read_object(body: bytes) -> dict[str, Any]:
    """The object in a body; refused by 422 where there is none."""
    try:
        given = plain_numbers(parse_json(body.decode("utf-8")))
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict):
        raise HTTPException(422, "send an object as JSON")
    return given


def read_agreement(body: bytes) -> tuple[str, PlatformIds]:
    """The token of the page that was agreed to, and the ids in its link; refused by 422."""
    given = read_object(body)
    token, query = given.get("token"), given.get("query", {})
    if not isinstance(token, str) or not SECRET.fullmatch(token):
        raise HTTPException(422, "send the token of the page that you agreed to")
    try:
        return token, ids_in_link(query if isinstance(query, dict) else {})
    except InvalidInput as error:
        raise HTTPException(422, str(error)) from None


def shown_step(stage: Staged, person: Participant, chosen: int | None = None) -> dict[str, Any]:
    """The step that a participant is at; never what is right. chosen: by the closed loop."""
    steps = stage.design.steps(person.number, person.gates)
    if person.n_done >= len(steps):
        return _ending(stage.design, person)
    kind, place = steps[person.n_done]
    item = [each for each, _ in steps[: person.n_done]].count(kind)
    told: dict[str, Any] = {"kind": kind, "step": person.n_done, "of": len(steps)}
    if kind == "lesson":
        parts = stage.lessons[person.condition]
        return {**told, "parts": parts, "seconds": seconds_left(stage, person)}
    if kind == "again":
        return {**told, "parts": [] if chosen is None else stage.again(chosen)}
    return {**told, **stage.step(kind, place, item)}


def kind_of(design: Design, person: Participant) -> str | None:
    """The kind of the step that a participant is at; None after the last one."""
    steps = design.steps(person.number, person.gates)
    return steps[person.n_done][0] if person.n_done < len(steps) else None


def _ending(design: Design, person: Participant) -> dict[str, Any]:
    """The last page: debriefing, completion code and the way back; no code for who was excluded."""
    does, gates = design.procedure, person.gates
    told = {"debriefing": does.debriefing}
    if does.tries and 1 not in gates:
        return {
            **told,
            "kind": "excluded",
            "words": "Some answers about the instructions were not right, so the study ends here "
            "for you. Thank you for your time. If you came from a recruiting platform, please "
            "return the study there.",
        }
    link = does.return_link.replace("{id}", quote(person.person or "", safe=""))
    words = "Thank you. Your answers are kept; you may close this page."
    return {**told, "kind": "done", "words": words, "code": does.code, "link": link}


def seconds_left(stage: Staged, person: Participant) -> float:
    """For how long the demonstrations must still be watched; where there are any."""
    if not stage.lessons[person.condition] or not person.kept:
        return 0.0
    passed = time.time() - person.kept[-1].at
    return max(0.0, stage.design.procedure.watch_seconds - passed)


def read_answer(body: bytes, stage: Staged, person: Participant) -> dict[str, Any]:
    """An answer as it may be kept; refused by 422 where it breaks a rule."""
    given = read_object(body)
    try:
        return _checked(given, stage, person)
    except (ValueError, RecursionError) as error:
        told = str(error) if isinstance(error, InvalidInput) else "an answer must be JSON"
        raise HTTPException(422, told) from None


TAKEN = ("action", "confidence", "comment", "seconds", "detail")
"""What a page may send of an answer, besides its step."""


def _checked(given: Mapping[str, Any], stage: Staged, person: Participant) -> dict[str, Any]:
    steps = stage.design.steps(person.number, person.gates)
    step = whole_number(given.get("step"), "step", 0, len(steps) - 1)
    (kind, (member, _)), answer = steps[step], {key: given[key] for key in TAKEN if key in given}
    if kind in ("lesson", "again") and isinstance(answer.get("detail"), dict):
        answer["detail"] = {"watched": answer["detail"].get("watched", [])}
    as_kept(stage.design, steps[step], answer)
    if kind == "path" and not stage.is_path(member, answer["detail"]):
        raise InvalidInput("the steps of a path must follow each other to its end")
    if kind == "lesson" and step == person.n_done and seconds_left(stage, person) > 0:
        raise InvalidInput("watch the demonstrations a little longer")
    return {"step": step, **answer}
