"""The answers of participants: what each kind of step takes, and how it is kept.

One function says how an answer is kept; the reader of a study's file asks it again about every row,
so that nothing can stand there that no page can have sent. Who comes from a recruiting platform has
an id in the link.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from didact.errors import InvalidInput, InvalidParameter
from didact.files.json import parse_json, plain_numbers
from didact.inputs import finite_number, shown, whole_number
from didact.studies.people.design import ASKING, ATTENTIVE, N_ATTENTION, Design, Step

MAX_COMMENT = 4000
MAX_SECONDS = 1e6
"""What a step may take; a page that was open for longer says so much."""
MAX_WATCHED = 1000
"""Demonstrations in a watch log."""
KEPT = (
    "kind",
    "member",
    "state",
    "action",
    "correct",
    "confidence",
    "comment",
    "seconds",
    "detail",
)
"""What is kept of an answer, besides whose it is, its step and when it came."""


@dataclass(frozen=True)
class Item:
    """A question of the instructions: options, the right one, and why it is right."""

    question: str
    options: tuple[str, ...]
    right: int
    because: str = ""


TUTORIAL = (
    Item(
        "In this example the walker wants to reach the double ring, and water costs more than "
        "grass. The walker stands in row 1, column 1. What is best?",
        ("up", "down", "left", "right"),
        3,
        "the double ring lies to the right, and there is no water on that way.",
    ),
    Item(
        "Now the walker stands in row 1, column 3. What is best?",
        ("up", "down", "left", "right"),
        1,
        "the double ring is just below.",
    ),
)
"""Questions with feedback, about a world of their own: they teach nothing about the study's."""
ATTENTION = (
    "strongly disagree",
    "disagree",
    "neither agree nor disagree",
    "agree",
    "strongly agree",
)


def comprehension(slips: bool) -> tuple[Item, ...]:
    """The questions about the instructions that must be answered to go on."""
    return (
        Item(
            "What are you asked to choose?",
            (
                "What I would like to do myself",
                "What is best in this world, as far as I can tell",
                "Anything, as quickly as possible",
            ),
            1,
        ),
        Item(
            "Does it change during the study what is good and what is bad?",
            ("Yes, from question to question", "No, it stays the same"),
            1,
        ),
        Item(
            "Does a chosen action always do what it says?",
            ("Yes, always", "No, sometimes something else happens"),
            int(slips),
        ),
    )


class Kept(NamedTuple):
    """An answer as far as the next steps depend on it."""

    kind: str
    member: int | None
    state: int | None
    action: int | None
    correct: int | None
    detail: str | None
    at: float


@dataclass(frozen=True)
class Participant:
    """Somebody who takes part: number from 0, secret, condition, the answers so far, their id."""

    number: int
    secret: str
    condition: str
    kept: tuple[Kept, ...] = ()
    person: str | None = None

    @property
    def n_done(self) -> int:
        """How many steps are done."""
        return len(self.kept)

    @property
    def gates(self) -> tuple[int, ...]:
        """For each try of the comprehension questions whether it was right."""
        return gates_in(self.kept)


def gates_in(answers: Sequence[Kept]) -> tuple[int, ...]:
    """For each try of the comprehension questions whether it was right."""
    return tuple(int(each.correct or 0) for each in answers if each.kind == "gate")


def as_kept(design: Design, step: Step, given: Mapping[str, Any]) -> tuple[Any, ...]:
    """The values of KEPT for what a page sends; what it cannot have sent is refused."""
    (kind, place), does = step, design.procedure
    action = correct = confidence = comment = None
    if kind in ASKING:
        action = whole_number(given.get("action"), "action", 0, design.n_actions[place[0]] - 1)
        correct = int(design.is_right(place, action))
        if does.confidence:
            confidence = whole_number(given.get("confidence"), "confidence", 1, 5)
    elif kind == "tutorial":
        item = TUTORIAL[whole_number(given.get("item", 0), "item", 0, len(TUTORIAL) - 1)]
        action = whole_number(given.get("action"), "action", 0, len(item.options) - 1)
        correct = int(action == item.right)
    elif kind == "attention":
        action = whole_number(given.get("action"), "action", 0, N_ATTENTION - 1)
        correct = int(action == ATTENTIVE)
    elif kind == "comments":
        comment = given.get("comment", "")
        if not isinstance(comment, str) or len(comment) > MAX_COMMENT:
            raise InvalidInput(f"a comment must be a text of at most {MAX_COMMENT} signs")
    detail = _as_detail(design, step, given.get("detail"))
    if kind == "gate":
        right = [item.right for item in comprehension(design.slips)]
        correct = int(detail == right)
    if kind == "path":
        correct = int(all(design.is_right((place[0], at), does_) for at, does_ in detail))
    told = place if kind in (*ASKING, "path") else (None, None)
    seconds = given.get("seconds")
    if seconds is not None:
        seconds = float(min(max(finite_number(seconds, "seconds", -math.inf), 0.0), MAX_SECONDS))
    text = None if detail is None else json.dumps(detail, separators=(",", ":"))
    return kind, *told, action, correct, confidence, comment, seconds, text


def _as_detail(design: Design, step: Step, given: Any) -> Any:
    """What else belongs to an answer, by its kind; None where nothing does."""
    kind, place = step
    if kind == "gate":
        items = comprehension(design.slips)
        return [
            whole_number(each, f"answer {i + 1}", 0, len(items[i].options) - 1)
            for i, each in enumerate(_as_list(given, "the answers", len(items)))
        ]
    if kind == "likert":
        does = design.procedure
        return [
            whole_number(each, f"answer {i + 1}", 1, does.points)
            for i, each in enumerate(_as_list(given, "the answers", len(does.likert)))
        ]
    if kind == "path":
        return _as_path(design, place, given)
    if kind in ("lesson", "again"):
        return _as_watched(design, kind, given)
    return None


def _as_list(given: Any, name: str, length: int) -> Sequence[Any]:
    if not isinstance(given, list) or len(given) != length:
        raise InvalidInput(f"{name} must be a list of {length}; they are {shown(given)}")
    return given


def _as_path(design: Design, place: tuple[int, int], given: Any) -> list[list[int]]:
    longest = design.procedure.path_steps
    if not isinstance(given, list) or not 1 <= len(given) <= longest:
        raise InvalidInput(f"a path must be a list of 1 to {longest} steps")
    path = []
    for i, pair in enumerate(given):
        state, action = _as_list(pair, f"step {i + 1}", 2)
        whole_number(state, f"state {i + 1}", 0)
        whole_number(action, f"action {i + 1}", 0, design.n_actions[place[0]] - 1)
        path.append([state, action])
    if path[0][0] != place[1]:
        raise InvalidInput(f"a path must begin in state {place[1]}")
    return path


def _as_watched(design: Design, kind: str, given: Any) -> dict[str, Any]:
    """The watch log: of each demonstration how often it was played, how far, and for how long.

    Of the closed loop also which demonstration it was, and why.
    """
    given = {} if given is None else given
    if not isinstance(given, dict) or not set(given) <= {"watched", "chosen", "weights", "regret"}:
        raise InvalidInput("what was watched must be an object")
    watched = given.get("watched", [])
    if not isinstance(watched, list) or len(watched) > MAX_WATCHED:
        raise InvalidInput(f"watched must be a list of at most {MAX_WATCHED}")
    log = []
    for i, entry in enumerate(watched):
        number, plays, step, seconds = _as_list(entry, f"watched[{i}]", 4)
        for name, value in (("number", number), ("plays", plays), ("step", step)):
            whole_number(value, name, 0, 10**6)
        spent = min(max(finite_number(seconds, "seconds", -math.inf), 0.0), MAX_SECONDS)
        log.append([number, plays, step, float(spent)])
    if kind == "lesson":
        return {"watched": log}
    chosen = given.get("chosen")
    if chosen is not None:
        whole_number(chosen, "chosen", 0, len(design.pool) - 1)
    weights = [float(finite_number(w, "a weight", -math.inf)) for w in given.get("weights", [])]
    regret = float(finite_number(given.get("regret", 0.0), "regret", 0.0))
    return {"watched": log, "chosen": chosen, "weights": weights, "regret": regret}


def chosen_in(answer: Kept) -> int | None:
    """The demonstration of the pool that the closed loop had chosen; None where it chose none."""
    chosen = json.loads(answer.detail or "{}").get("chosen")
    return None if chosen is None else int(chosen)


def given_in(row: Mapping[str, Any], item: int) -> dict[str, Any]:
    """What a page must have sent for a row to be there; item: of the tutorial."""
    detail = row["detail"]
    if detail is not None:
        if not isinstance(detail, str):
            raise InvalidInput(f"its detail cannot be {shown(detail)}")
        detail = plain_numbers(parse_json(detail))
    names = ("action", "confidence", "comment", "seconds")
    return {**{name: row[name] for name in names}, "detail": detail, "item": item}


IDS = re.compile(r"[A-Za-z0-9_.:@-]{1,100}")
PLATFORMS: Mapping[str, tuple[str, str, str]] = {
    "prolific": ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID"),
    "mturk": ("workerId", "hitId", "assignmentId"),
    "sona": ("survey_code", "", ""),
}
"""Names in a link of the person, the study and the session, by platform."""
NOT_ACCEPTED = "ASSIGNMENT_ID_NOT_AVAILABLE"
"""What MTurk sends in a preview."""


class PlatformIds(NamedTuple):
    """Who somebody is on a recruiting platform."""

    platform: str | None = None
    person: str | None = None
    study: str | None = None
    session: str | None = None

    def require_sound(self) -> None:
        """Refuse ids that no link of a platform has."""
        if self.platform is None:
            if any(self):
                raise InvalidInput("ids must name their platform")
            return
        if self.platform not in PLATFORMS or self.person is None:
            raise InvalidInput(f"platform cannot be {shown(self.platform)}")
        for value in self[1:]:
            if value is not None and not (isinstance(value, str) and IDS.fullmatch(value)):
                raise InvalidInput(f"an id cannot be {shown(value)}")


def ids_in_link(query: Mapping[str, Any]) -> PlatformIds:
    """The ids in a link's query; an id that the platform did not fill in is refused."""
    for platform, names in PLATFORMS.items():
        person, *others = (query.get(name) if name else None for name in names)
        if person is None:
            continue
        if NOT_ACCEPTED in others:
            raise InvalidParameter("accept the HIT first; this is its preview")
        ids = PlatformIds(platform, person, *(each or None for each in others))
        try:
            ids.require_sound()
        except InvalidInput:
            raise InvalidParameter(
                f"{names[0]} in the link must be an id of {platform}; it is "
                f"{shown(person)}. Open the study from the platform's own page"
            ) from None
        return ids
    return PlatformIds()
