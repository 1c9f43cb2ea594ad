"""The web site of a study with people: a consent page, and one step after the other.

A participant has a link with a secret; whoever opens it again goes on where they were. Every answer
is on the disk before the page is told so. The right answers never leave the server.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from didact.errors import InvalidFile, InvalidInput, InvalidParameter
from didact.files.json import parse_json
from didact.inputs import whole_number
from didact.report.page.templates import render
from didact.studies.people.records import (
    MAX_COMMENT,
    MAX_PARTICIPANTS,
    SECRET,
    WAIT,
    Full,
    Participant,
    Records,
)
from didact.studio.site import asset, read_body, refusal
from didact.studio.study_stage import Staged

LARGEST_ANSWER = 16 * 1024
Kept = TypeVar("Kept")


def study_site(records: Records, stage: Staged, *, most: int = MAX_PARTICIPANTS) -> Starlette:
    """The application of a study; stage: what its participants can see; most: how many they are."""
    pages = _Pages(records, stage, most)
    return Starlette(
        routes=[
            Route("/", pages.front, methods=["GET"]),
            Route("/consent", pages.consent, methods=["GET"]),
            Route("/join", pages.join, methods=["POST"]),
            Route("/static/{name}", asset, methods=["GET"]),
            Route("/p/{secret}", pages.visit, methods=["GET"]),
            Route("/p/{secret}/step", pages.step, methods=["GET"]),
            Route("/p/{secret}/answer", pages.answer, methods=["POST"]),
        ],
        exception_handlers={HTTPException: refusal},
    )


class _Pages:
    """What is answered to participants; answers are kept one after the other.

    The file is read and written in threads: where another program locks it, nobody else waits, and
    who waits is told after a few seconds to try again, which the page does by itself.
    """

    def __init__(self, records: Records, stage: Staged, most: int):
        self._records, self._stage, self._most = records, stage, most
        self._lock = asyncio.Lock()
        page = render("study.html.jinja", title=stage.design.title)
        self._page = Response(page, media_type="text/html")

    async def front(self, request: Request) -> Response:
        """The page of who has not joined yet."""
        return self._page

    async def consent(self, request: Request) -> Response:
        """What one agrees to, with a token: whoever agrees twice with it joins once."""
        words, token = self._stage.design.consent, secrets.token_urlsafe(16)
        return JSONResponse({"kind": "consent", "words": words, "token": token})

    async def join(self, request: Request) -> Response:
        """A new participant, who has agreed."""
        token = read_token(await read_body(request, LARGEST_ANSWER))

        def joined() -> Participant:
            person = self._records.join(token, most=self._most)
            self._records.answer(person, 0, {})
            return person

        return JSONResponse({"link": f"/p/{(await self._written(joined)).secret}"})

    async def visit(self, request: Request) -> Response:
        """The page of a participant; others begin at the front."""
        return self._page if await self._found(request) else RedirectResponse("/", 303)

    async def step(self, request: Request) -> Response:
        """Where a participant is."""
        return JSONResponse(shown_step(self._stage, await self._known(request)))

    async def answer(self, request: Request) -> Response:
        """Keep an answer; then where the participant is."""
        person = await self._known(request)
        given = read_answer(await read_body(request, LARGEST_ANSWER), self._stage, person)
        step = given.pop("step")
        await self._written(lambda: self._records.answer(person, step, given))
        return JSONResponse(shown_step(self._stage, await self._known(request)))

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


def read_token(body: bytes) -> str:
    """The token of the page that was agreed to; refused by 422 where there is none."""
    try:
        given = parse_json(body.decode("utf-8"))
    except (ValueError, RecursionError):
        given = None
    token = given.get("token") if isinstance(given, dict) else None
    if not isinstance(token, str) or not SECRET.fullmatch(token):
        raise HTTPException(422, "send the token of the page that you agreed to")
    return token


def shown_step(stage: Staged, person: Participant) -> dict[str, Any]:
    """The step that a participant is at; never what is right."""
    design = stage.design
    steps = design.order_of(person.number)
    if person.n_done >= len(steps):
        return {
            "kind": "done",
            "words": "Thank you. Your answers are kept; you may close this page.",
        }
    kind, place = steps[person.n_done]
    told: dict[str, Any] = {"kind": kind, "step": person.n_done, "of": len(steps)}
    if kind == "lesson":
        return {**told, "parts": stage.lessons[person.condition]}
    if kind in ("practice", "test"):
        return {**told, **stage.asked[place], "confidence": design.confidence}
    return told


def read_answer(body: bytes, stage: Staged, person: Participant) -> dict[str, Any]:
    """An answer as it may be kept; refused by 422 where it breaks a rule."""
    try:
        given = parse_json(body.decode("utf-8"))
        if not isinstance(given, dict):
            raise InvalidInput("an answer must be an object")
        return _checked(given, stage, person)
    except (ValueError, RecursionError) as error:
        told = str(error) if isinstance(error, InvalidInput) else "an answer must be JSON"
        raise HTTPException(422, told) from None


def _checked(given: Mapping[str, Any], stage: Staged, person: Participant) -> dict[str, Any]:
    design = stage.design
    steps = design.order_of(person.number)
    step = whole_number(given.get("step"), "step", 0, len(steps) - 1)
    kind, (member, _) = steps[step]
    checked: dict[str, Any] = {"step": step}
    if kind in ("practice", "test"):
        most = design.n_actions[member] - 1
        checked["action"] = whole_number(given.get("action"), "action", 0, most)
        if design.confidence:
            checked["confidence"] = whole_number(given.get("confidence"), "confidence", 1, 5)
    if kind == "comments":
        comment = given.get("comment", "")
        if not isinstance(comment, str) or len(comment) > MAX_COMMENT:
            raise InvalidInput(f"a comment must be a text of at most {MAX_COMMENT} signs")
        checked["comment"] = comment
    return checked
