"""The design of a study with people: its worlds, its conditions, and every question, fixed once.

Everything that a participant will see is settled when the study is made, so that serving it needs
no computation, and all of a condition see the same. Participants are assigned in blocks: each block
holds every condition once, in an order that the seed decides, so that groups never differ by more
than one. A world alone is treated as a family of one.

Conditions: `exact` is the minimum lesson; all other groups are shown as many demonstrations, of the
same lengths where they can be. `scot` is the greedy lesson in its own order. `loss` shows the
minimum lesson in the order of loss: last those without which least is lost. `highlights` walks from
the states where most is at stake, the largest gap between the best and the worst action (Amir and
Amir, HIGHLIGHTS, AAMAS 2018). `random` walks from random states. In a family walks are of any
member, as lessons are; `loss` is for one world.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from didact.bec.classes import EquivalenceClass, equivalence_class
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
from didact.numerics.exact import Floats
from didact.planning import reachable_states, rollout, solve
from didact.random import require_seed, stream
from didact.teaching import teach

Place = tuple[int, int]
"""A member's number, 0 for a world alone, and a state of it."""

NOWHERE: Place = (-1, -1)
"""Of a step that is about no state."""


def members_of(subject: Task | Family) -> tuple[Task, ...]:
    """The worlds of a study, one or several."""
    return subject.members if isinstance(subject, Family) else (subject,)


def going_places(subject: Task | Family) -> list[Place]:
    """All places that a start leads to and where the episode goes on."""
    return [
        (member, state)
        for member, task in enumerate(members_of(subject))
        for state in np.flatnonzero(reachable_states(task.mdp) & ~task.mdp.terminal).tolist()
    ]


def places_in(shown: Iterable[Demonstration]) -> set[Place]:
    """The places that demonstrations show."""
    return {(each.member or 0, state) for each in shown for state, _ in each}


Shown = tuple[Demonstration, ...]


def shown_to(condition: str, subject: Task | Family, seed: int) -> Shown:
    """The demonstrations of a condition, in the order to show them."""
    bec = equivalence_class(subject)
    return CONDITIONS[condition](subject, bec, seed)


def _exact(subject: Task | Family, bec: EquivalenceClass, seed: int) -> Shown:
    return teach(subject, teacher="exact", bec=bec).demonstrations


def _scot(subject: Task | Family, bec: EquivalenceClass, seed: int) -> Shown:
    return teach(subject, teacher="scot", bec=bec).demonstrations


def _by_loss(subject: Task | Family, bec: EquivalenceClass, seed: int) -> Shown:
    return teach(subject, teacher="exact", bec=bec, order="loss", seed=seed).demonstrations


def _random(subject: Task | Family, bec: EquivalenceClass, seed: int) -> Shown:
    rng = stream(seed, "random walks")
    places = going_places(subject)
    starts = [places[int(rng.integers(len(places)))] for _ in _exact(subject, bec, seed)]
    return _walks(subject, bec, starts, seed)


def _highlights(subject: Task | Family, bec: EquivalenceClass, seed: int) -> Shown:
    """From the states with the largest gaps, none that an earlier walk has shown."""
    gaps = [_gaps(task) for task in members_of(subject)]
    walks: list[Demonstration] = []
    for length in map(len, _exact(subject, bec, seed)):
        member = int(np.argmax([each.max() for each in gaps]))
        if not np.isfinite(gaps[member].max()):
            break
        walk = _walk(subject, (member, int(np.argmax(gaps[member]))), length, seed)
        gaps[member][[state for state, _ in walk]] = -np.inf
        walks.append(walk)
    return tuple(walks)


def _gaps(task: Task) -> Floats:
    """What is at stake in each state (S,); nothing where nobody comes or nothing is done."""
    values = solve(task.mdp, task.true_weights).action_values
    counts = reachable_states(task.mdp) & ~task.mdp.terminal
    return np.where(counts, values.max(axis=1) - values.min(axis=1), -np.inf)


def _walks(
    subject: Task | Family, bec: EquivalenceClass, starts: Sequence[Place], seed: int
) -> Shown:
    lengths = map(len, _exact(subject, bec, seed))
    pairs = zip(starts, lengths, strict=True)
    return tuple(_walk(subject, start, length, seed) for start, length in pairs)


def _walk(subject: Task | Family, start: Place, length: int, seed: int) -> Demonstration:
    member, state = start
    task = members_of(subject)[member]
    best = solve(task.mdp, task.true_weights).optimal.argmax(axis=1)
    rng = stream(seed, "walk", *start)
    walk = rollout(task.mdp, best, horizon=length, rng=rng, start=state)
    return Demonstration(walk, member if isinstance(subject, Family) else None)


def _nothing(subject: Task | Family, bec: EquivalenceClass, seed: int) -> Shown:
    return ()


CONDITIONS: dict[str, Callable[[Task | Family, EquivalenceClass, int], Shown]] = {
    "exact": _exact,
    "scot": _scot,
    "loss": _by_loss,
    "random": _random,
    "highlights": _highlights,
    "none": _nothing,
}
"""What may be shown, by name."""


MOST_QUESTIONS = 60
MAX_TITLE = 200
MAX_CONSENT = 20_000
ASKING = ("practice", "test")
"""Steps in which a question is asked."""
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


@dataclass(frozen=True)
class Design:
    """A study, as its file keeps it.

    members: the names of its worlds. unseen: those that no condition shows and the test is about,
    where some are set apart. shown: for each condition the demonstrations. practice, test: places
    asked about, before and after the lesson; no condition shows a place of the test. right: the
    optimal actions of each of those places. n_actions: of each member. confidence, comments:
    whether participants are asked how sure they are, and for a free text at the end.
    """

    title: str
    consent: str
    members: tuple[str, ...]
    unseen: tuple[int, ...]
    conditions: tuple[str, ...]
    seed: int
    shown: Mapping[str, Sequence[Demonstration]]
    practice: tuple[Place, ...]
    test: tuple[Place, ...]
    right: Mapping[Place, Sequence[int]]
    n_actions: tuple[int, ...]
    confidence: bool
    comments: bool

    def document(self) -> dict[str, Any]:
        """As JSON."""
        return {
            **asdict(self),
            "shown": {
                name: [[each.member, list(each)] for each in lesson]
                for name, lesson in self.shown.items()
            },
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
                **{name: tuple((m, s) for m, s in document[name]) for name in ("practice", "test")},
                "shown": {
                    name: tuple(Demonstration(pairs, member) for member, pairs in lesson)
                    for name, lesson in document["shown"].items()
                },
                "right": {(m, s): best for (m, s), best in document["right"]},
            }
        )

    def require_sound(self) -> None:
        """Refuse what no study can be: texts that are too long, places that do not exist."""
        _require_text(self.title, "title", MAX_TITLE)
        if not self.title.isprintable():
            raise InvalidParameter(f"title must be one line; it is {shown(self.title)}")
        _require_text(self.consent, "consent", MAX_CONSENT)
        require_seed(self.seed)
        flag(self.confidence, "confidence"), flag(self.comments, "comments")
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
        self._require_places()

    def _require_shown(self, each: Demonstration) -> None:
        member = whole_number(each.member or 0, "member", 0, len(self.members) - 1)
        for state, action in each:
            whole_number(state, "state", 0)
            whole_number(action, "action", 0, self.n_actions[member] - 1)

    def _require_places(self) -> None:
        whole_number(len(self.test), "questions", 1, MOST_QUESTIONS)
        whole_number(len(self.practice), "practice", 0, MOST_QUESTIONS)
        for member, state in (*self.practice, *self.test):
            whole_number(member, "member", 0, len(self.members) - 1)
            whole_number(state, "state", 0)
            best = self.right.get((member, state))
            if not isinstance(best, list | tuple) or not best:
                raise InvalidParameter(f"right must name actions for state {state}")
            for action in best:
                whole_number(action, "action", 0, self.n_actions[member] - 1)

    def condition_of(self, number: int) -> str:
        """The condition of participant `number`, from 0."""
        block, place = divmod(number, len(self.conditions))
        order = stream(self.seed, "block", block).permutation(len(self.conditions))
        return self.conditions[int(order[place])]

    def steps(self) -> list[tuple[str, Place]]:
        """What a participant does, one after the other: kind of step, and the place it is about."""
        return [
            ("consent", NOWHERE),
            *(("practice", place) for place in self.practice),
            ("lesson", NOWHERE),
            *(("test", place) for place in self.test),
            *([("comments", NOWHERE)] if self.comments else []),
        ]

    def order_of(self, number: int) -> list[tuple[str, Place]]:
        """The steps of one participant: questions of the test in an order of their own."""
        order = stream(self.seed, "order", number).permutation(len(self.test)).tolist()
        shuffled = iter([self.test[i] for i in order])
        return [(kind, next(shuffled) if kind == "test" else at) for kind, at in self.steps()]


def require_same(subject: Task | Family, design: Design) -> None:
    """Refuse a design of another world: states and actions must exist, walks be possible."""
    members = members_of(subject)
    names = subject.names if isinstance(subject, Family) else (subject.name,)
    if tuple(names) != design.members:
        raise InvalidFile("the design is of other worlds")
    for task, n_actions in zip(members, design.n_actions, strict=True):
        whole_number(n_actions, "n_actions", task.mdp.n_actions, task.mdp.n_actions)
    for member, state in (*design.practice, *design.test):
        whole_number(state, "state", 0, members[member].mdp.n_states - 1)
    for lesson in design.shown.values():
        for each in lesson:
            as_demonstrations([Demonstration(each)], members[each.member or 0])


def design_study(
    subject: Task | Family,
    *,
    conditions: Sequence[str] = ("exact", "random", "none"),
    n_questions: int = 12,
    n_practice: int = 2,
    unseen: Sequence[str | int] = (),
    seed: int = 0,
    title: str | None = None,
    consent: str = CONSENT,
    confidence: bool = False,
    comments: bool = False,
) -> Design:
    """A study of a world or a family: lessons of all conditions, questions that none of them shows.

    conditions: of CONDITIONS. n_questions: of the test. n_practice: before the lesson. unseen:
    members of a family, by name or number, that are not shown: then the test is about them.
    """
    require_conditions(conditions)
    if "loss" in conditions and isinstance(subject, Family):
        raise Unsupported("condition 'loss' is for one world; name another for a family")
    whole_number(n_questions, "n_questions", 1, MOST_QUESTIONS)
    whole_number(n_practice, "n_practice", 0, MOST_QUESTIONS)
    apart = _apart(subject, unseen)
    shown = {name: _shown(name, subject, apart, seed) for name in conditions}
    right = _askable(subject)
    seen = places_in(each for lesson in shown.values() for each in lesson)
    free = [place for place in right if place not in seen and (not apart or place[0] in apart)]
    test = _drawn(free, n_questions, seed, "questions")
    if len(test) < n_questions:
        raise Unsupported(
            f"{counted(n_questions, 'question')} need as many states that no condition shows; "
            f"there are {len(free)}. Take a larger world, fewer questions or fewer conditions"
        )
    rest = [place for place in right if place not in test and place[0] not in apart]
    practice = _drawn(rest, n_practice, seed, "practice")
    made = Design(
        title=title or f"A study of {subject.name}",
        consent=consent,
        members=subject.names if isinstance(subject, Family) else (subject.name,),
        unseen=apart,
        conditions=tuple(conditions),
        seed=seed,
        shown=shown,
        practice=practice,
        test=test,
        right={place: right[place] for place in (*practice, *test)},
        n_actions=tuple(task.mdp.n_actions for task in members_of(subject)),
        confidence=confidence,
        comments=comments,
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


def _drawn(places: Sequence[Place], n: int, seed: int, name: str) -> tuple[Place, ...]:
    """So many of the places, in a random order."""
    order = stream(seed, name).permutation(len(places))[:n].tolist()
    return tuple(places[i] for i in order)
