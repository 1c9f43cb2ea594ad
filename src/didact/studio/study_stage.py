"""What participants of a study see: lessons to play, questions with pictures, the instructions.

Nothing here tells the reward: worlds are drawn by `report.page.neutral`, and what is right is known
to the file of the study alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from itertools import groupby
from typing import Any

from didact.mdp import Demonstration, Family, Task
from didact.mdp.naming import action_words
from didact.report.page.lesson import demonstrations_piece
from didact.report.page.neutral import NeutralWorld, joined, neutral_world
from didact.report.page.scene import state_in_words
from didact.studies.people.answers import (
    ATTENTION,
    TUTORIAL,
    Item,
    Kept,
    chosen_in,
    comprehension,
)
from didact.studies.people.conditions import Place, members_of
from didact.studies.people.design import ATTENTIVE, Design
from didact.studies.people.learners import NextDemonstration, next_demonstration
from didact.studies.people.records import Records
from didact.worlds.grids import gridworld

INSTRUCTIONS = (
    "In this study there is a small world in which somebody acts. Some things in it are good and "
    "others are bad. Nobody tells you which: that is what the study is about, and it stays the "
    "same from the beginning to the end.",
    "You may see demonstrations by somebody who knows what is good and always does what is best "
    "in the long run. Afterwards you are asked what is best in other places. Choose what is "
    "best in this world, as far as you can tell; where you cannot tell, guess.",
)
SEVERAL = (
    "There are {} such worlds, of which this is one. They look different, but the same things are "
    "good and bad in all of them."
)
CERTAIN = "Every action does what it says."


@dataclass(frozen=True, eq=False)
class Staged:
    """All that participants of a study can see, drawn once or when it is first asked for.

    lessons: of each condition, parts of [world, HTML]; the world is named where there are several.
    asked: of each place that is asked about, what a page is told: words, actions, picture, legend,
    and how moves go astray. worlds: the members, drawn without their reward.
    """

    design: Design
    subject: Task | Family
    members: Sequence[Task]
    worlds: Sequence[NeutralWorld]
    lessons: Mapping[str, Sequence[tuple[str, str]]]
    asked: Mapping[Place, Mapping[str, Any]]
    _looked: dict[Place, dict[str, Any]] = field(default_factory=dict)

    def look(self, member: int, state: int) -> Mapping[str, Any]:
        """A state as a path goes through it: what a page is told, and where each action leads."""
        task = self.members[member]
        found = self._looked.get((member, state))
        if found is None:
            actions = range(task.mdp.n_actions)
            found = {
                **_situation(self.worlds, member, state),
                "state": state,
                "ends": bool(task.mdp.terminal[state]),
                "next": [meant_successor(self.worlds[member], state, action) for action in actions],
            }
            if len(self._looked) < 5000:
                self._looked[member, state] = found
        return found

    def is_path(self, member: int, path: Sequence[Sequence[int]]) -> bool:
        """Whether a path goes on as moves are meant, and ends with the episode or at its length."""
        mdp, after = self.members[member].mdp, None
        for state, action in path:
            if state >= mdp.n_states or mdp.terminal[state] or after not in (None, state):
                return False
            after = meant_successor(self.worlds[member], state, action)
        ends = after is not None and bool(mdp.terminal[after])
        return ends or len(path) == self.design.procedure.path_steps

    def next_for(self, answers: Sequence[Kept]) -> NextDemonstration:
        """What the closed loop shows next after these answers; nothing that it has shown before."""
        seen = [chosen_in(each) for each in answers if each.kind == "again"]
        earlier = [index for index in seen if index is not None]
        return next_demonstration(self.subject, self.design, answers, earlier)

    def again(self, index: int) -> tuple[tuple[str, str], ...]:
        """A demonstration of the closed loop, as a lesson of its own."""
        return _lesson_parts(self.members, [self.design.pool[index]])

    def step(self, kind: str, place: Place, item: int) -> dict[str, Any]:
        """What a page is told of a step besides its number; item: how many of its kind came before.

        Never what is right, but in the tutorial.
        """
        design, does = self.design, self.design.procedure
        if kind in ("practice", "test", "retest"):
            return {**self.asked[place], "confidence": does.confidence}
        if kind == "path":
            return {**self.look(*place), "member": place[0], "steps": does.path_steps}
        if kind == "intro":
            world = self.worlds[0]
            told = {"picture": world.picture(), "legend": world.legend}
            return {**told, "words": self.instructions()}
        if kind == "tutorial":
            asked = tutorial_item(self.worlds[0], item)
            return {**tutorial_picture(item), **_as_document(asked), "right": asked.right}
        if kind == "gate":
            items = [_as_document(each) for each in comprehension(design.slips)]
            return {"items": items, "again": item > 0, "words": self.instructions()}
        if kind == "attention":
            return {"option": ATTENTION[ATTENTIVE], "options": ATTENTION}
        if kind == "likert":
            return {"items": does.likert, "points": does.points}
        return {}

    def instructions(self) -> list[str]:
        """What participants read before the first question, paragraph by paragraph."""
        n = len(self.members)
        return [*INSTRUCTIONS, *([SEVERAL.format(n)] if n > 1 else []), self.rules()]

    def rules(self) -> str:
        """How actions go astray in the worlds of the study, each sentence once."""
        told = [world.rules or CERTAIN for world in self.worlds]
        return (
            " ".join(dict.fromkeys(told))
            if len(set(told)) < 3
            else (
                "Chance plays a part in some worlds: the same action can lead to different places."
            )
        )


def _as_document(item: Any) -> dict[str, Any]:
    return {"question": item.question, "options": item.options, "because": item.because}


WAYS = ((0, -1), (0, 1), (-1, 0), (1, 0))
"""Up, down, left and right, in the order of the tutorial's options."""
MAX_NAMED = 12
"""Actions of a study that a sentence names."""


def tutorial_item(world: NeutralWorld, item: int) -> Item:
    """A question of the tutorial, its moves called as in the world of the study.

    Where that has no such moves, the question names its actions instead.
    """
    task, scene, asked = world.task, world.scene, TUTORIAL[item]
    names = [action_words(task, action) for action in range(task.mdp.n_actions)]
    arrows = [] if scene is None else list(scene.arrows)
    if all(way in arrows for way in WAYS):
        return replace(asked, options=tuple(names[arrows.index(way)] for way in WAYS))
    if len(names) > MAX_NAMED:
        return asked
    told = f"{asked.question} In the study the actions are others: {joined(names)}."
    return replace(asked, question=told)


@cache
def tutorial_picture(item: int) -> Mapping[str, Any]:
    """The world of the tutorial's question, drawn with the walker in it."""
    example = gridworld(
        rows=("ggg", "gwE", "ggg"),
        weights={"g": -1, "w": -5, "E": 0},
        terminal="E",
        names={"g": "grass", "w": "water", "E": "end"},
    )
    drawn = neutral_world(example)
    return {"picture": drawn.picture((0, 2)[item]), "legend": drawn.legend}


def staged(records: Records) -> Staged:
    """What participants see, from the file of a study."""
    subject, design = records.subject(), records.design
    members = members_of(subject)
    worlds = [neutral_world(task) for task in members]
    return Staged(
        design=design,
        subject=subject,
        members=members,
        worlds=worlds,
        lessons={name: _lesson_parts(members, design.shown[name]) for name in design.conditions},
        asked={place: _situation(worlds, *place) for place in design.asked},
    )


@lru_cache(maxsize=100_000)
def meant_successor(world: NeutralWorld, state: int, action: int) -> int:
    """Where an action leads when it goes as it is meant: where it points, else most likely."""
    task, scene = world.task, world.scene
    moves, row = task.mdp.transitions, state * task.mdp.n_actions + action
    first, last = int(moves.offsets[row]), int(moves.offsets[row + 1])
    successors = moves.successors[first:last].tolist()
    if not successors:
        return state
    direction = None if scene is None else scene.arrows[action]
    if scene is not None and direction is not None and len(successors) > 1:
        at = scene.cell(state)
        pointed = at[0] + direction[1], at[1] + direction[0]
        for successor in successors:
            if scene.cell(successor) == pointed:
                return int(successor)
        if state in successors:  # against a wall
            return state
    chances = moves.probabilities.floats[first:last].tolist()
    return int(successors[chances.index(max(chances))])


def _world_words(n_worlds: int, member: int) -> str:
    """What participants call a world; nothing where it is the only one."""
    return f"world {member + 1}" if n_worlds > 1 else ""


def _lesson_parts(
    members: Sequence[Task], shown: Sequence[Demonstration]
) -> tuple[tuple[str, str], ...]:
    """Demonstrations to play, those in one world after each other as one part."""
    parts, first = [], 1
    for member, run in groupby(shown, key=lambda each: each.member or 0):
        own = list(run)
        html = demonstrations_piece(members[member], own, first=first)
        parts.append((_world_words(len(members), member), html))
        first += len(own)
    return tuple(parts)


def _situation(worlds: Sequence[NeutralWorld], member: int, state: int) -> dict[str, Any]:
    """What a page is told to ask about a state of a member."""
    drawn = worlds[member]
    world, words = (
        _world_words(len(worlds), member),
        state_in_words(drawn.task.mdp, state, drawn.scene),
    )
    return {
        "place": f"{world}, {words}" if world else words,
        "actions": [action_words(drawn.task, i) for i in range(drawn.task.mdp.n_actions)],
        "picture": drawn.picture(state),
        "legend": drawn.legend,
        "rules": drawn.rules,
    }
