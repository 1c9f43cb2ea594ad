"""The design of a study with people: its worlds, its conditions, and every question, fixed once.

Everything that a participant will see is settled when the study is made, so that serving it needs
no computation, and all of a condition see the same. Participants are assigned in blocks: each block
holds every condition once, in an order that the seed decides, so that groups never differ by more
than one. A world alone is treated as a family of one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from didact.errors import InvalidFile, InvalidInput, InvalidParameter, Unsupported
from didact.inputs import (
    as_text,
    choice,
    counted,
    flag,
    reason_of,
    shown,
    whole_in,
    whole_number,
)
from didact.mdp import Demonstration, Family, Task, as_demonstrations
from didact.planning import solve
from didact.random import require_seed, stream
from didact.studies.people.conditions import (
    CONDITIONS,
    MAX_WALKS,
    NOWHERE,
    Place,
    Shown,
    drawn_places,
    going_places,
    members_of,
    places_in,
    shown_to,
    walks_apart,
)

Step = tuple[str, Place]
"""The kind of a step, and the place that it is about."""

MAX_QUESTIONS = 60
MAX_TITLE = 200
MAX_TEXT = 20_000
MAX_ITEM = 300
MAX_ITEMS = 40
MAX_ROUNDS = 10
ASKING = ("practice", "test", "retest")
"""Steps in which one action is asked for."""
UNREADABLE = (
    *(AttributeError, IndexError, KeyError, OverflowError, RecursionError),
    *(TypeError, ValueError),
)
"""What is raised where a document is not of a design."""
CONSENT = (
    "You will see a small world and somebody who moves in it, and then say what you would do. "
    "Your answers are kept without your name. You may stop at any time by closing the page. "
    "Do you agree to take part?"
)
DEBRIEFING = (
    "This study compares ways to choose demonstrations. Groups saw different demonstrations of the "
    "same world, or none, and all were asked the same questions. If you saw few or none, many "
    "questions could not be answered with certainty: that was intended, and says nothing about you."
)
CODE = re.compile(r"[A-Za-z0-9_-]{0,40}")
"""A completion code."""
RETEST = 2
"""Questions after each demonstration of the closed loop."""
RETEST_WORDS = f" ({RETEST} of them for each round of the closed loop)"
N_TUTORIAL = 2
"""Questions of the tutorial; `answers` has their words."""
N_ATTENTION = 5
"""Options of the attention item."""
ATTENTIVE = 1
"""The option that the attention item asks for, from 0."""


@dataclass(frozen=True)
class Procedure:
    """How a study is run around its lessons and questions; kept in its file.

    consent, debriefing: texts at the beginning and at the end. tutorial: instructions and questions
    with feedback in a world of their own. tries: how often the comprehension questions may be tried
    before the participant is excluded; 0 for none. attention: whether an attention item stands in
    the middle of the test. confidence: whether participants are asked how sure they are. likert:
    statements to agree with, on a scale of so many points. comments: whether a free text is asked
    for. watch_seconds: how long the page of the demonstrations stays open at least. path_steps:
    the steps of a path that is asked for, unless the episode ends before. code: the completion
    code. return_link: where participants go at the end; {id} stands for their id.
    """

    consent: str = CONSENT
    debriefing: str = DEBRIEFING
    tutorial: bool = False
    tries: int = 0
    attention: bool = False
    confidence: bool = False
    likert: tuple[str, ...] = ()
    points: int = 7
    comments: bool = False
    watch_seconds: int = 0
    path_steps: int = 8
    code: str = ""
    return_link: str = ""

    def require_sound(self) -> None:
        """Refuse texts that are too long, numbers out of range, links that lead elsewhere."""
        _require_text(self.consent, "consent", MAX_TEXT)
        _require_text(self.debriefing, "debriefing", MAX_TEXT)
        for name in ("tutorial", "attention", "confidence", "comments"):
            flag(getattr(self, name), name)
        whole_number(self.tries, "tries", 0, 10)
        whole_number(self.points, "points", 2, 11)
        whole_number(self.watch_seconds, "watch_seconds", 0, 3600)
        whole_number(self.path_steps, "path_steps", 1, 100)
        if len(self.likert) > MAX_ITEMS:
            raise InvalidParameter(
                f"likert must have at most {MAX_ITEMS} statements; it has {len(self.likert)}"
            )
        for i, item in enumerate(self.likert):
            _require_text(item, f"likert[{i}]", MAX_ITEM)
        if not CODE.fullmatch(as_text(self.code, "code")):
            raise InvalidParameter(
                f"code must be at most 40 letters, digits, - and _; it is {shown(self.code)}"
            )
        link = as_text(self.return_link, "return_link")
        is_link = link.startswith("https://") and link.isprintable() and not set(link) & set(' "<>')
        if link and not (is_link and len(link) <= 1000):
            raise InvalidParameter(
                f"return_link must begin with https:// and have no spaces; it is {shown(link)}"
            )


@dataclass(frozen=True)
class Design:
    """A study, as its file keeps it.

    members: the names of its worlds. unseen: those that no condition shows and the test is about,
    where some are set apart. shown: for each condition the demonstrations. practice, test: places
    asked about, before and after the lesson; no condition shows a place of the test. paths: where
    whole paths are asked for. retest: places asked about after each round of the closed loop.
    pool: demonstrations for it, none of which shows a place of test or retest. right: the optimal
    actions of each of those places; with paths, of all places where some action is not. n_actions:
    of each member. slips: whether an action can have several outcomes.
    """

    title: str
    members: tuple[str, ...]
    unseen: tuple[int, ...]
    conditions: tuple[str, ...]
    seed: int
    shown: Mapping[str, Sequence[Demonstration]]
    practice: tuple[Place, ...]
    test: tuple[Place, ...]
    paths: tuple[Place, ...]
    retest: tuple[tuple[Place, ...], ...]
    pool: Shown
    right: Mapping[Place, Sequence[int]]
    n_actions: tuple[int, ...]
    slips: bool
    procedure: Procedure

    def document(self) -> dict[str, Any]:
        """As JSON."""
        return {
            **asdict(self),
            "shown": {name: _as_lists(lesson) for name, lesson in self.shown.items()},
            "pool": _as_lists(self.pool),
            "right": [[place, list(best)] for place, best in self.right.items()],
        }

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> Design:
        """The design of a document that `document` made; of any other, one line."""
        try:
            made = cls._read(document)
        except InvalidInput:
            raise
        except UNREADABLE as error:
            raise InvalidFile(f"it is no design of a study: {reason_of(error, 80)}") from None
        made.require_sound()
        return made

    @classmethod
    def _read(cls, document: Mapping[str, Any]) -> Design:
        listed = {
            name: tuple(document[name]) for name in ("members", "unseen", "conditions", "n_actions")
        }
        return cls(
            **{
                **document,
                **listed,
                **{name: _as_places(document[name]) for name in ("practice", "test", "paths")},
                "retest": tuple(map(_as_places, document["retest"])),
                "shown": {name: _as_shown(lesson) for name, lesson in document["shown"].items()},
                "pool": _as_shown(document["pool"]),
                "procedure": Procedure(
                    **{**document["procedure"], "likert": tuple(document["procedure"]["likert"])}
                ),
                "right": {(m, s): best for (m, s), best in document["right"]},
            }
        )

    def require_sound(self) -> None:
        """Refuse what no study can be: texts that are too long, places that do not exist."""
        _require_text(self.title, "title", MAX_TITLE)
        if not self.title.isprintable():
            raise InvalidParameter(f"title must be one line; it is {shown(self.title)}")
        self.procedure.require_sound()
        require_seed(self.seed)
        flag(self.slips, "slips")
        for i, name in enumerate(self.members):
            as_text(name, f"members[{i}]")
        if not 0 < len(self.members) == len(self.n_actions):
            raise InvalidParameter("n_actions must be of each member")
        for i, n in enumerate(self.n_actions):
            whole_number(n, f"n_actions[{i}]", 1)
        for i, member in enumerate(self.unseen):
            whole_number(member, f"unseen[{i}]", 0, len(self.members) - 1)
        require_conditions(self.conditions)
        if not all(isinstance(part, dict) for part in (self.shown, self.right)):
            raise InvalidParameter("shown and right must be tables")
        if set(self.shown) != set(self.conditions):
            raise InvalidParameter("shown must be of each condition")
        for name in self.conditions:
            for each in self.shown[name]:
                self._require_shown(each)
        whole_number(len(self.pool), "pool", 0, MAX_WALKS)
        for each in self.pool:
            self._require_shown(each)
        self._require_places()

    def _require_shown(self, each: Demonstration) -> None:
        member = whole_number(each.member or 0, "member", 0, len(self.members) - 1)
        for state, action in each:
            whole_number(state, "state", 0)
            whole_number(action, "action", 0, self.n_actions[member] - 1)

    def _require_places(self) -> None:
        whole_number(len(self.test), "questions", 1, MAX_QUESTIONS)
        whole_number(len(self.practice), "practice", 0, MAX_QUESTIONS)
        whole_number(len(self.paths), "paths", 0, MAX_QUESTIONS)
        whole_number(len(self.retest), "rounds", 0, MAX_ROUNDS)
        for places in self.retest:
            whole_number(len(places), "retest", 1, MAX_QUESTIONS)
        for member, state in (*self.asked, *self.paths, *self.right):
            whole_number(member, "member", 0, len(self.members) - 1)
            whole_number(state, "state", 0)
        for member, state in self.asked:
            if (member, state) not in self.right:
                raise InvalidParameter(f"right must name actions for state {state}")
        for (member, state), best in self.right.items():
            if not isinstance(best, list | tuple) or not best:
                raise InvalidParameter(f"right must name actions for state {state}")
            for action in best:
                whole_number(action, "action", 0, self.n_actions[member] - 1)

    @property
    def asked(self) -> tuple[Place, ...]:
        """All places of which one action is asked for."""
        return (*self.practice, *self.test, *(at for places in self.retest for at in places))

    def is_right(self, place: Place, action: int) -> bool:
        """Whether an action is optimal; where all are, `right` does not name the place."""
        best = self.right.get(place)
        return best is None or action in best

    def condition_of(self, number: int) -> str:
        """The condition of participant `number`, from 0."""
        block, place = divmod(number, len(self.conditions))
        order = stream(self.seed, "block", block).permutation(len(self.conditions))
        return self.conditions[int(order[place])]

    def steps(self, number: int, gates: Sequence[int] = (1,)) -> list[Step]:
        """The steps of a participant: kind, and the place it is about.

        gates: for each try of the comprehension questions so far whether it was right. After the
        last wrong one nothing follows: the participant is excluded. Questions of the test have an
        order of their own.
        """
        does = self.procedure
        told = ["intro"] if does.tutorial or does.tries else []
        told += ["tutorial"] * N_TUTORIAL if does.tutorial else []
        steps = [(kind, NOWHERE) for kind in ("consent", *told)]
        if does.tries:
            has_passed = 1 in gates
            n_tries = len(gates) + (not has_passed and len(gates) < does.tries)
            steps += [("gate", NOWHERE)] * n_tries
            if not has_passed and len(gates) == does.tries:
                return steps
        order = stream(self.seed, "order", number).permutation(len(self.test)).tolist()
        test = [("test", self.test[i]) for i in order]
        if does.attention:
            test.insert(len(test) // 2, ("attention", NOWHERE))
        return [
            *steps,
            *(("practice", place) for place in self.practice),
            ("lesson", NOWHERE),
            *test,
            *(("path", place) for place in self.paths),
            *(
                step
                for places in self.retest
                for step in (("again", NOWHERE), *(("retest", place) for place in places))
            ),
            *([("likert", NOWHERE)] if does.likert else []),
            *([("comments", NOWHERE)] if does.comments else []),
        ]


def _as_lists(shown: Sequence[Demonstration]) -> list[Any]:
    return [[each.member, list(each)] for each in shown]


def _as_shown(lists: Any) -> Shown:
    return tuple(Demonstration(pairs, member) for member, pairs in lists)


def _as_places(pairs: Any) -> tuple[Place, ...]:
    return tuple((member, state) for member, state in pairs)


def require_same(subject: Task | Family, design: Design) -> None:
    """Refuse a design of another world: states and actions must exist, walks be possible."""
    members = members_of(subject)
    names = subject.names if isinstance(subject, Family) else (subject.name,)
    if tuple(names) != design.members:
        raise InvalidFile("the design is of other worlds")
    for task, n_actions in zip(members, design.n_actions, strict=True):
        whole_number(n_actions, "n_actions", task.mdp.n_actions, task.mdp.n_actions)
    for member, state in (*design.right, *design.paths):
        whole_number(state, "state", 0, members[member].mdp.n_states - 1)
    for lesson in (*design.shown.values(), design.pool):
        for each in lesson:
            as_demonstrations([Demonstration(each)], members[each.member or 0])


def design_study(
    subject: Task | Family,
    *,
    conditions: Sequence[str] = ("exact", "random", "none"),
    n_questions: int = 12,
    n_practice: int = 2,
    n_paths: int = 0,
    n_rounds: int = 0,
    unseen: Sequence[str | int] = (),
    seed: int = 0,
    title: str | None = None,
    procedure: Procedure | None = None,
) -> Design:
    """A study of a world or a family: lessons of all conditions, questions that none of them shows.

    conditions: of CONDITIONS. n_questions: of the test. n_practice: before the lesson. n_paths: how
    many whole paths are asked for. n_rounds: of the closed loop, each a demonstration chosen from
    the participant's answers and RETEST questions. unseen: members of a family, by name or number,
    that are not shown: then the test is about them.
    """
    require_conditions(conditions)
    if "loss" in conditions and isinstance(subject, Family):
        raise Unsupported("condition 'loss' is for one world; name another for a family")
    whole_number(n_questions, "n_questions", 1, MAX_QUESTIONS)
    for name, n in (("n_practice", n_practice), ("n_paths", n_paths)):
        whole_number(n, name, 0, MAX_QUESTIONS)
    whole_number(n_rounds, "n_rounds", 0, MAX_ROUNDS)
    apart = _apart(subject, unseen)
    shown = {name: _shown(name, subject, apart, seed) for name in conditions}
    right = _askable(subject)
    seen = places_in(each for lesson in shown.values() for each in lesson)
    free = [place for place in right if place not in seen and (not apart or place[0] in apart)]
    n_wanted = n_questions + n_rounds * RETEST
    drawn = drawn_places(free, n_wanted, seed, "questions")
    if len(drawn) < n_wanted:
        raise Unsupported(
            f"{counted(n_wanted, 'question')}{RETEST_WORDS if n_rounds else ''} need as many "
            f"states that no condition shows; there are {len(free)}. Take a larger world, fewer "
            "questions or fewer conditions"
        )
    test, left = drawn[:n_questions], drawn[n_questions:]
    rest = [place for place in right if place not in drawn and place[0] not in apart]
    practice = drawn_places(rest, n_practice, seed, "practice")
    starts = [place for place in free if place not in drawn] or list(drawn)
    asked = (*practice, *drawn)
    made = Design(
        title=title or f"A study of {subject.name}",
        members=subject.names if isinstance(subject, Family) else (subject.name,),
        unseen=apart,
        conditions=tuple(conditions),
        seed=seed,
        shown=shown,
        practice=practice,
        test=test,
        paths=drawn_places(starts, n_paths, seed, "paths"),
        retest=tuple(left[i : i + RETEST] for i in range(0, len(left), RETEST)),
        pool=walks_apart(subject, apart, drawn, seed) if n_rounds else (),
        right=right if n_paths else {place: right[place] for place in asked},
        n_actions=tuple(task.mdp.n_actions for task in members_of(subject)),
        slips=not all(task.mdp.is_deterministic() for task in members_of(subject)),
        procedure=procedure or Procedure(),
    )
    if len(made.paths) < n_paths:
        raise Unsupported(
            f"{counted(n_paths, 'path')} need as many states to begin in; there are {len(starts)}"
        )
    made.require_sound()
    return made


def _require_text(value: Any, name: str, longest: int) -> None:
    text = as_text(value, name)
    if not text.strip():
        raise InvalidParameter(f"{name} must say something; it is empty")
    if len(text) > longest:
        raise InvalidParameter(
            f"{name} must have at most {longest} characters; it has {len(text)}. Shorten it"
        )


def require_conditions(conditions: Sequence[str]) -> None:
    """Refuse conditions that are unknown, named twice, or fewer than two."""
    for i, name in enumerate(conditions):
        choice(name, "condition", tuple(CONDITIONS))
        if name in conditions[:i]:
            raise InvalidParameter(f"conditions must be different; {name!r} is named twice")
    if len(conditions) < 2:
        raise InvalidParameter("conditions must be at least two, to compare; name another")


def _apart(subject: Task | Family, unseen: Sequence[str | int]) -> tuple[int, ...]:
    """The numbers of the members that are set apart for the test."""
    if not unseen:
        return ()
    if not isinstance(subject, Family):
        raise InvalidParameter("unseen members are of a family; leave them out for one world")
    numbers = [
        each if number is None or each in subject.names else number
        for each in unseen
        for number in [whole_in(each) if isinstance(each, str) else None]
    ]
    apart = tuple(sorted({subject.number(member, "unseen") for member in numbers}))
    if len(apart) == len(subject):
        raise InvalidParameter("unseen must leave a member to show; it names all of them")
    return apart


def _shown(
    condition: str, subject: Task | Family, apart: Sequence[int], seed: int
) -> tuple[Demonstration, ...]:
    """What a condition shows, of members that are not set apart; by the family's own numbers."""
    if not isinstance(subject, Family) or not apart:
        return shown_to(condition, subject, seed)
    kept = [member for member in range(len(subject)) if member not in apart]
    names = [subject.names[member] for member in kept]
    taught = Family([subject[member] for member in kept], names=names, name=subject.name)
    return tuple(
        Demonstration(each, kept[each.member or 0]) for each in shown_to(condition, taught, seed)
    )


def _askable(subject: Task | Family) -> dict[Place, list[int]]:
    """The optimal actions of every place that a start leads to and where something is wrong."""
    optimal = [solve(task.mdp, task.true_weights).optimal for task in members_of(subject)]
    return {
        (member, state): np.flatnonzero(optimal[member][state]).tolist()
        for member, state in going_places(subject)
        if not optimal[member][state].all()
    }
