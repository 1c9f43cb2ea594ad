"""The studio as a static folder: chosen worlds with their answers computed, and no server.

One page holds style, scripts and answers, so that it opens as a file, below any path of a web
server, and asks for nothing after it was loaded. Beside it is a page for each lesson, which leads
back. A world cannot be changed there: the page says so. What the page asks is recorded by the very
functions that answer the studio.
"""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from didact.errors import InvalidParameter, Unsupported
from didact.files.folders import make_folder
from didact.files.json import require_writable, write_text
from didact.files.kinds import PAGE, require_kind
from didact.mdp import Family, Task
from didact.planning import solve
from didact.report.page.templates import inlined, render
from didact.studio.boards import viewed
from didact.studio.playing import asked_exam, exam_of, quiz, score
from didact.studio.questions import PRESETS, QUESTIONS
from didact.studio.site import assets
from didact.studio.worlds import read_subject

MAX_BYTES = 30 * 2**20
"""Of a site: what a link of a class may load."""
MAX_NAME = 60
"""Letters of a lesson's file name: a world may have a name of any length."""
QUIZZES = 3
TRIMMED, SCOPES = {"demonstrations": False, "pairs": True}, ("reachable", "all")
"""For each cost whether demonstrations are cut, as the page asks for them."""
USUAL = {"cost": "demonstrations", "scope": "reachable", "loss": "0%", "trim": False}
Subject = Mapping[str, Any]
Answers = dict[str, Any]


def export_site(
    folder: str | os.PathLike[str],
    subjects: Sequence[tuple[str, Subject]] = (),
    *,
    progress: Callable[[str], None] = lambda name: None,
) -> list[Path]:
    """Write the site of worlds, each with the name of its button; the files that it has.

    subjects: as questions of the studio name worlds; by default the studio's presets.
    """
    place = Path(folder)
    chosen = list(subjects or PRESETS)
    if len({words for words, _ in chosen}) < len(chosen):
        raise InvalidParameter("the worlds of a site must have different names; two are the same")
    lessons = [
        place / "lessons" / f"{name or 'world'}-{i}.html"
        for i, (words, _) in enumerate(chosen, 1)
        for name in (re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")[:MAX_NAME],)
    ]
    index = place / "index.html"
    for path in (index, *lessons):  # all of them before the work, and before a folder is made
        require_kind(path, PAGE)
    make_folder(place / "lessons")
    require_writable(index, PAGE)
    table: dict[str, Answers] = {}
    pages: dict[Path, str] = {}
    for path, (words, subject) in zip(lessons, chosen, strict=True):
        progress(words)
        answers = table[canonical(subject)] = dict(recorded(subject))
        page = answers[_key("export", {"settings": USUAL})]["page"]
        pages[path] = _linked(page, subject)
    pages[index] = _index(chosen, table)
    size = sum(len(text.encode()) for text in pages.values())
    if size > MAX_BYTES:
        raise Unsupported(
            f"the site would have {size >> 20} MiB; at most {MAX_BYTES >> 20} are written. "
            "Choose fewer or smaller worlds"
        )
    for path, text in pages.items():
        write_text(text, path, kind=PAGE)
    return list(pages)


def canonical(value: Any) -> str:
    """JSON with sorted names and no blanks, as `recorded.js` writes it."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _key(kind: str, question: Mapping[str, Any]) -> str:
    return f"{kind} {canonical(question)}"


def recorded(subject: Subject) -> Iterator[tuple[str, Any]]:
    """What the page may ask about a world, and the answers."""
    made = read_subject(subject)

    def asked(kind: str, **question: Any) -> tuple[str, Any]:
        return _key(kind, question), QUESTIONS[kind]({**subject, **question})

    if "painting" in subject:
        yield asked("look")
    else:
        yield from _views(made)
    for cost, trim in TRIMMED.items():
        for scope in SCOPES:
            yield asked("teach", settings={**USUAL, "cost": cost, "scope": scope, "trim": trim})
    yield asked("export", settings=USUAL)
    if isinstance(made, Task):
        yield from _cones(asked)
        yield from _games(made)


def _views(made: Task | Family) -> Iterator[tuple[str, Any]]:
    """The boards: one picture of each situation, with what is best and without."""
    for member in range(len(made) if isinstance(made, Family) else 1):
        for secret in (False, True):
            wish = {"member": member, "secret": secret}
            first = viewed(made, wish)
            yield _key("view", wish), first
            seen = set()
            for state, place in enumerate(first["states"]):
                if place and tuple(place[1:]) not in seen:
                    seen.add(tuple(place[1:]))
                    told = viewed(made, {**wish, "at": state})
                    yield _key("view", {**wish, "at": state}), told


def _cones(asked: Callable[..., tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """What still fits after each demonstration of the lesson, by the usual pair and unit."""
    shown = asked("teach", settings=USUAL)[1]["demonstrations"]
    for n in range(len(shown) + 1):
        given = {"demonstrations": shown[:n], "settings": USUAL}
        key, told = asked("fit", **given)
        yield key, told
        named = {"unit": told["unit"] or 0}
        if told["pair"] is not None and len(told["names"]) > 2:
            named["pair"] = list(told["pair"])
        yield _key("fit", {**given, **named}), told


def _games(task: Task) -> Iterator[tuple[str, Any]]:
    """Lessons to watch with their questions, and exams; what the page needs to grade them."""
    optimal = solve(task.mdp, task.true_weights)
    for seed in range(1, QUIZZES + 1):
        wish = {"seed": seed, "n": 8, "settings": USUAL}
        told = quiz(task, wish)
        yield _key("quiz", wish), told
        best = {state: optimal.optimal_actions(state) for state in told["states"]}
        learners = {"birl": 0.0, "random": 0.0}
        if told["states"] and told["demonstrations"]:
            answers = [[state, actions[0]] for state, actions in best.items()]
            given = {"demonstrations": told["demonstrations"], "answers": answers, "seed": seed}
            found = score(task, given)
            learners = {name: found[name] for name in learners}
        yield f"solution {seed}", {"optimal": best, **learners}
    for kind in ("comparisons", "actions"):
        wish = {"ask": kind, "settings": USUAL}
        yield _key("exam", wish), asked_exam(task, wish)
        made = exam_of(task, wish)
        keys = [list(q.key) if isinstance(q.key, tuple) else q.key for q in made.questions]
        says = [q.says for q in made.questions]
        yield f"key {kind}", {"key": keys, "says": says, "statement": made.statement}


def _linked(page: str, subject: Subject) -> str:
    """A lesson's page with a link to its world in the site."""
    code = base64.urlsafe_b64encode(json.dumps(subject, ensure_ascii=False).encode())
    link = f"../index.html#{code.decode().rstrip('=')}"
    words = f'<footer><p><a href="{link}">Open this world in the studio</a></p>'
    return page.replace("<footer>", words, 1)


def _index(chosen: Sequence[tuple[str, Subject]], table: Mapping[str, Answers]) -> str:
    """The page with its scripts and all answers inside."""
    page = render(
        "studio.html.jinja",
        first=json.dumps(chosen[0][1]),
        presets=json.dumps([list(each) for each in chosen]),
        modules=[],
        is_static=True,
    )
    answers = json.dumps(table, ensure_ascii=False).replace("<", "\\u003c")
    # The last marks are the template's: before them stand names of worlds, which may be marks too.
    before, _, rest = page.rpartition("/*answers*/")
    between, _, after = rest.rpartition("/*script*/")
    return "".join((before, answers, between, inlined("studio.js", _module), after))


def _module(name: str) -> str:
    """A module of the studio; what asks the server asks the page's own answers instead."""
    return assets()["recorded.js" if name == "ask.js" else name][1].decode()
