"""What participants of a study see, drawn once: lessons to play, questions with their pictures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from didact.mdp import Demonstration, Task
from didact.mdp.naming import action_words
from didact.report.page.lesson import demonstrations_piece
from didact.report.page.neutral import neutral_world
from didact.report.page.scene import state_in_words
from didact.studies.people.design import Design, Place, members_of
from didact.studies.people.records import Records


@dataclass(frozen=True, eq=False)
class Staged:
    """All that participants of a study can see, drawn once: no page needs to compute anything.

    lessons: of each condition, parts of [world, HTML]; the world is named where there are several.
    asked: of each place that is asked about, what a page is told: words, actions, picture, legend,
    and how moves go astray.
    """

    design: Design
    lessons: Mapping[str, Sequence[tuple[str, str]]]
    asked: Mapping[Place, Mapping[str, Any]]


def staged(records: Records) -> Staged:
    """What participants see, from the file of a study."""
    members, design = members_of(records.subject()), records.design
    places = (*design.practice, *design.test)
    asked = {member: _asking(members, member) for member, _ in places}
    return Staged(
        design=design,
        lessons={name: _lesson_parts(members, design.shown[name]) for name in design.conditions},
        asked={(member, state): asked[member](state) for member, state in places},
    )


def _world_words(members: Sequence[Task], member: int) -> str:
    """What participants call a world; nothing where it is the only one."""
    return f"world {member + 1}" if len(members) > 1 else ""


def _lesson_parts(
    members: Sequence[Task], shown: Sequence[Demonstration]
) -> tuple[tuple[str, str], ...]:
    """Demonstrations to play, those in one world after each other as one part."""
    parts, first = [], 1
    for member, run in groupby(shown, key=lambda each: each.member or 0):
        own = list(run)
        html = demonstrations_piece(members[member], own, first=first)
        parts.append((_world_words(members, member), html))
        first += len(own)
    return tuple(parts)


def _asking(members: Sequence[Task], member: int) -> Callable[[int], dict[str, Any]]:
    """What a page is told to ask about a state of a member; nothing in it tells the reward."""
    task = members[member]
    drawn = neutral_world(task)
    world = _world_words(members, member)
    actions = [action_words(task, action) for action in range(task.mdp.n_actions)]

    def of(state: int) -> dict[str, Any]:
        words = state_in_words(task.mdp, state, drawn.scene)
        return {
            "place": f"{world}, {words}" if world else words,
            "actions": actions,
            "picture": drawn.picture(state),
            "legend": drawn.legend,
            "rules": drawn.rules,
        }

    return of
