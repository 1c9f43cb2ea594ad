"""The web site of a study with people: a consent page, and one step after the other.

A participant has a link with a secret; whoever opens it again goes on where they were. Every answer
is on the disk before the page is told so. The right answers never leave the server.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from didact.app.study import Staged
from didact.errors import InvalidInput
from didact.files.json import parse_json
from didact.inputs import whole_number
from didact.report.page.templates import render
from didact.studies.people.records import Participant, Records
from didact.studio.bodies import read_body
from didact.studio.site import asset, refusal

LARGEST_ANSWER = 16 * 1024
LONGEST_COMMENT = 4000
_SECRET = re.compile(r"[A-Za-z0-9_-]{16,40}")


def study_site(records: Records, stage: Staged) -> Starlette:
    """The application of a study; stage: what its participants can see."""
    lock = asyncio.Lock()

    async def front(request: Request) -> Response:
        return _page(stage)

    async def join(request: Request) -> Response:
        await read_body(request, LARGEST_ANSWER)
        async with lock:
            joined = records.join()
            records.answer(joined, 0, {})
        return JSONResponse({"link": f"/p/{joined.secret}"})

    async def visit(request: Request) -> Response:
        return _page(stage) if _known(request) else RedirectResponse("/", 303)

    async def step(request: Request) -> Response:
        person = _known(request)
        if person is None:
            raise HTTPException(404, "this link is of no participant")
        return JSONResponse(shown_step(stage, person))

    async def answer(request: Request) -> Response:
        person = _known(request)
        if person is None:
            raise HTTPException(404, "this link is of no participant")
        given = read_answer(await read_body(request, LARGEST_ANSWER), stage, person)
        async with lock:
            records.answer(person, given.pop("step"), given)
        return JSONResponse(shown_step(stage, _again(person)))

    def _again(person: Participant) -> Participant:
        found = records.find(person.secret)
        if found is None:
            raise HTTPException(404, "this link is of no participant")
        return found

    def _known(request: Request) -> Participant | None:
        secret = request.path_params["secret"]
        return records.find(secret) if _SECRET.fullmatch(secret) else None

    return Starlette(
        routes=[
            Route("/", front, methods=["GET"]),
            Route("/consent", _consent(stage), methods=["GET"]),
            Route("/join", join, methods=["POST"]),
            Route("/static/{name}", asset, methods=["GET"]),
            Route("/p/{secret}", visit, methods=["GET"]),
            Route("/p/{secret}/step", step, methods=["GET"]),
            Route("/p/{secret}/answer", answer, methods=["POST"]),
        ],
        exception_handlers={HTTPException: refusal},
    )


def _page(stage: Staged) -> Response:
    return Response(render("study.html.jinja", title=stage.design.title), media_type="text/html")


def _consent(stage: Staged) -> Any:
    async def consent(request: Request) -> Response:
        return JSONResponse({"kind": "consent", "words": stage.design.consent})

    return consent


def shown_step(stage: Staged, person: Participant) -> dict[str, Any]:
    """The step that a participant is at; never what is right."""
    design = stage.design
    steps = design.order_of(person.number)
    if person.n_done >= len(steps):
        return {
            "kind": "done",
            "words": "Thank you. Your answers are kept; you may close this page.",
        }
    kind, state = steps[person.n_done]
    told: dict[str, Any] = {"kind": kind, "step": person.n_done, "of": len(steps)}
    if kind == "lesson":
        return {**told, "html": stage.lessons[person.condition]}
    if kind in ("practice", "test"):
        cell = stage.cells.get(state)
        return {
            **told,
            "place": stage.places[state],
            "actions": list(stage.actions),
            "picture": stage.picture,
            "cell": None if cell is None else [*cell, *(stage.size or (1, 1))],
            "confidence": design.confidence,
        }
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
    checked: dict[str, Any] = {"step": step}
    if steps[step][0] in ("practice", "test"):
        checked["action"] = whole_number(given.get("action"), "action", 0, design.n_actions - 1)
        if design.confidence:
            checked["confidence"] = whole_number(given.get("confidence"), "confidence", 1, 5)
    if steps[step][0] == "comments":
        comment = given.get("comment", "")
        if not isinstance(comment, str) or len(comment) > LONGEST_COMMENT:
            raise InvalidInput(f"a comment must be a text of at most {LONGEST_COMMENT} signs")
        checked["comment"] = comment
    return checked
