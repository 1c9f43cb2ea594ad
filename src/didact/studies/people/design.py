"""The design of a study with people: its world, its conditions, and every question, fixed once.

Everything that a participant will see is settled when the study is made, so that serving it needs
no computation, and all of a condition see the same. Participants are assigned in blocks: each block
holds every condition once, in an order that the seed decides, so that groups never differ by more
than one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from didact.errors import InvalidParameter, Unsupported
from didact.inputs import choice, counted, whole_number
from didact.mdp import Demonstration, Task
from didact.planning import reachable_states, solve
from didact.random import stream
from didact.studies.people.conditions import CONDITIONS, shown_to

MOST_QUESTIONS = 60
CONSENT = (
    "You will see a small world and somebody who moves in it, and then say what you would do. "
    "Your answers are kept without your name. You may stop at any time by closing the page. "
    "Do you agree to take part?"
)


@dataclass(frozen=True)
class Design:
    """A study, as its file keeps it.

    shown: for each condition the demonstrations. practice, test: states asked about, before and
    after the lesson; no condition shows a state of the test. right: the optimal actions of each of
    those states. confidence, comments: whether participants are asked how sure they are, and for a
    free text at the end.
    """

    title: str
    consent: str
    conditions: tuple[str, ...]
    seed: int
    shown: Mapping[str, Sequence[Sequence[tuple[int, int]]]]
    practice: tuple[int, ...]
    test: tuple[int, ...]
    right: Mapping[int, Sequence[int]]
    n_actions: int
    confidence: bool
    comments: bool

    def document(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self)

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> Design:
        """The design of a document that `document` made."""
        return cls(
            **{
                **document,
                "conditions": tuple(document["conditions"]),
                "practice": tuple(document["practice"]),
                "test": tuple(document["test"]),
                "right": {int(state): best for state, best in document["right"].items()},
            }
        )

    def demonstrations(self, condition: str) -> list[Demonstration]:
        """What a condition is shown."""
        return [Demonstration([(s, a) for s, a in each]) for each in self.shown[condition]]

    def condition_of(self, number: int) -> str:
        """The condition of participant `number`, from 0."""
        block, place = divmod(number, len(self.conditions))
        order = stream(self.seed, "block", block).permutation(len(self.conditions))
        return self.conditions[int(order[place])]

    def steps(self) -> list[tuple[str, int]]:
        """What a participant does, one after the other: kind of step, and the state it is about."""
        return [
            ("consent", -1),
            *(("practice", state) for state in self.practice),
            ("lesson", -1),
            *(("test", state) for state in self.test),
            *([("comments", -1)] if self.comments else []),
        ]

    def order_of(self, number: int) -> list[tuple[str, int]]:
        """The steps of one participant: questions of the test in an order of their own."""
        order = stream(self.seed, "order", number).permutation(len(self.test)).tolist()
        shuffled = iter([self.test[i] for i in order])
        return [(kind, next(shuffled) if kind == "test" else at) for kind, at in self.steps()]


def design_study(
    task: Task,
    *,
    conditions: Sequence[str] = ("exact", "random", "none"),
    n_questions: int = 12,
    n_practice: int = 2,
    seed: int = 0,
    title: str | None = None,
    consent: str = CONSENT,
    confidence: bool = False,
    comments: bool = False,
) -> Design:
    """A study of a task: lessons of all conditions, and questions that none of them shows.

    conditions: of CONDITIONS. n_questions: of the test. n_practice: before the lesson.
    """
    for i, name in enumerate(conditions):
        choice(name, "condition", tuple(CONDITIONS))
        if name in conditions[:i]:
            raise InvalidParameter(f"conditions must be different; {name!r} is named twice")
    if len(conditions) < 2:
        raise InvalidParameter("conditions must be at least two, to compare; name another")
    whole_number(n_questions, "n_questions", 1, MOST_QUESTIONS)
    whole_number(n_practice, "n_practice", 0, MOST_QUESTIONS)
    shown = {name: shown_to(name, task, seed) for name in conditions}
    optimal = solve(task.mdp, task.true_weights).optimal
    seen = {state for lesson in shown.values() for each in lesson for state, _ in each}
    askable = reachable_states(task.mdp) & ~task.mdp.terminal & ~optimal.all(axis=1)
    unseen = [s for s in np.flatnonzero(askable).tolist() if s not in seen]
    if len(unseen) < n_questions:
        raise Unsupported(
            f"{counted(n_questions, 'question')} need as many states that no condition shows; "
            f"there are {len(unseen)}. Take a larger world, fewer questions or fewer conditions"
        )
    drawn = stream(seed, "questions").permutation(len(unseen))[:n_questions].tolist()
    test = tuple(unseen[i] for i in drawn)
    rest = [s for s in np.flatnonzero(askable).tolist() if s not in test]
    practised = stream(seed, "practice").permutation(len(rest))[:n_practice].tolist()
    practice = tuple(rest[i] for i in practised)
    return Design(
        title=title or f"A study of {task.name}",
        consent=consent,
        conditions=tuple(conditions),
        seed=seed,
        shown={name: [list(each) for each in lesson] for name, lesson in shown.items()},
        practice=practice,
        test=test,
        right={s: np.flatnonzero(optimal[s]).tolist() for s in (*practice, *test)},
        n_actions=task.mdp.n_actions,
        confidence=confidence,
        comments=comments,
    )
