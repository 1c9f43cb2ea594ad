"""Explain a policy: a lesson as a page to send; the use case behind `didact explain`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from didact.app.policies import read_policy
from didact.bec.classes import equivalence_class
from didact.bec.halfspaces import Scope, scope_states
from didact.bec.rationalise import NearestReward, Rationalisation, nearest_reward, rationalise
from didact.errors import InvalidParameter
from didact.files.json import require_writable, write_text
from didact.files.kinds import PAGE
from didact.inputs import counted
from didact.mdp import Family, Task
from didact.planning.solve import Arithmetic
from didact.report.page.family import family_page
from didact.report.page.lesson import Audience, lesson_page
from didact.report.page.scene import scene_of
from didact.report.page.words import policy_story
from didact.report.page.writing import EXACT_UP_TO
from didact.teaching import Lesson, teach
from didact.teaching.lesson import verified_lesson
from didact.worlds.opening import open_task

IfNotOptimal = Literal["stop", "nearest"]


@dataclass(frozen=True, eq=False)
class Explained:
    """A task, the lesson for it and its page; or why there is none.

    policy: whether a reward explains the given policy; None where the task's own was taken.
    nearest: what is taught instead of a policy that no reward explains. lesson, page: None where
    there is nothing to teach and the user chose to stop. story: paragraphs about the policy.
    """

    task: Task
    lesson: Lesson | None
    verified: str | None
    policy: Rationalisation | None
    nearest: NearestReward | None
    story: tuple[str, ...]
    page: str | None

    @property
    def is_taught(self) -> bool:
        """Whether nothing stays open; never where no reward explains the policy."""
        return self.lesson is not None and self.lesson.is_complete

    def document(self) -> dict[str, Any]:
        """The same for machines; the page itself is a file."""
        return {
            "task": self.task.name,
            "policy": None if self.policy is None else self.policy.document(),
            "nearest": None if self.nearest is None else self.nearest.document(),
            "story": list(self.story),
            "verified": self.verified,
            "lesson": None if self.lesson is None else self.lesson.document(),
        }


def explain_source(
    source: str,
    parameters: Mapping[str, Any] | None = None,
    *,
    policy: str = "optimal",
    if_not_optimal: IfNotOptimal = "stop",
    scope: Scope = "reachable",
    arithmetic: Arithmetic = "auto",
    pair: tuple[int, int] | None = None,
    audience: Audience = "experts",
    command: str | None = None,
    out: str | None = None,
    **settings: Any,
) -> Explained:
    """The page of a lesson for the task that `source` names, and for a policy where one is given.

    policy: 'optimal' for the task's own weights, else as `read_policy` takes it. settings go to
    `teach`; demonstrations are whole, to be watched to their end. arithmetic 'auto' is exact up to
    EXACT_UP_TO states times features. audience: for whom the page is. out: write the page
    there; the place is tried before the work.
    """
    if out is not None:
        require_writable(out, PAGE, [source, policy])
    task = open_task(source, parameters)
    if pair is not None:
        _require_pair(task, pair)
    if arithmetic == "auto" and task.mdp.n_states * task.mdp.n_features > EXACT_UP_TO:
        arithmetic = "float"
    reward = _Reward(task)
    if policy != "optimal":
        given = read_policy(policy, task)
        how: dict[str, Any] = {"scope": scope, "arithmetic": arithmetic}
        reward = _reward_of(task, policy, given, or_nearest=if_not_optimal == "nearest", **how)
    if reward.task is None:
        return Explained(task, None, None, reward.found, None, reward.story, None)
    task = reward.task
    bec = equivalence_class(task, scope=scope, arithmetic=arithmetic)
    own = None if reward.given is None else _own_actions(bec.plan.optimal, reward.given)
    lesson = _best_lesson(task, bec, {"trim": False, "taken": own, **settings})
    if own is not None:
        story = (*reward.story, *_ties(task, bec, own, lesson))
        reward = replace(reward, story=story)
    verified = verified_lesson(task, lesson)
    shown: dict[str, Any] = {"command": command, "story": reward.story, "pair": pair}
    page = lesson_page(task, lesson, bec=bec, verified=verified, audience=audience, **shown)
    if out is not None:
        write_text(page, out, kind=PAGE)
    return Explained(task, lesson, verified, reward.found, reward.nearest, reward.story, page)


@dataclass(frozen=True, eq=False)
class _Reward:
    """The task with the reward that is taught, None where none explains the policy; and why.

    given: the policy's probabilities (S, A); None where the task's own was taken.
    """

    task: Task | None
    given: Any = None
    found: Rationalisation | None = None
    nearest: NearestReward | None = None
    story: tuple[str, ...] = ()


def _reward_of(task: Task, policy: str, given: Any, *, or_nearest: bool, **how: Any) -> _Reward:
    """The reward that explains a policy, or the nearest one where that is wanted."""
    found, nearest = rationalise(task.mdp, given, **how), None
    if not found.explains and or_nearest:
        nearest = nearest_reward(task.mdp, given, **how)
    story = tuple(policy_story(task, policy, found, nearest, scene_of(task)))
    weights = found.weights if nearest is None else nearest.weights
    if weights is None:
        return _Reward(None, given, found, nearest, story)
    name = f"{task.name}, {policy}" if nearest is None else f"{task.name}, nearest to {policy}"
    seen = task.observations
    taught = Task(task.mdp, list(weights), name=name, layout=task.layout, observations=seen)
    return _Reward(taught, given, found, nearest, story)


def _own_actions(optimal: Any, policy: Any) -> Any:
    """The actions (S, A) that demonstrations may take: the policy's own, where those are optimal.

    Where none of them is, which only happens under the nearest reward, every optimal one.
    """
    own = optimal & (np.asarray(policy) > 0)
    return np.where(own.any(axis=1)[:, None], own, optimal)


def _best_lesson(task: Task, bec: Any, settings: Mapping[str, Any]) -> Lesson:
    """The lesson that the settings ask for; where it shows nothing, all that can be shown.

    A demonstration that states no facet of the class may still exclude rewards. The teacher
    `scot-redundant` picks it, and the page tells what stays open.
    """
    lesson = teach(task, bec=bec, **settings)
    if lesson.is_complete or lesson.demonstrations or settings.get("teacher", "scot") != "scot":
        return lesson
    return teach(task, bec=bec, **{**settings, "teacher": "scot-redundant"})


def _ties(task: Task, bec: Any, own: Any, lesson: Lesson) -> Iterator[str]:
    """Where the reward holds other actions for as good as the policy's own."""
    counts = scope_states(task.mdp, bec.scope) & (bec.plan.optimal & ~own).any(axis=1)
    n = int(counts.sum())
    if not n:
        return
    open_words = "" if lesson.is_complete else " That they are as good it cannot show."
    yield (
        f"Under this reward other actions are exactly as good in {counted(n, 'situation')}. Every "
        f"step that is shown is the policy's own.{open_words}"
    )


def _require_pair(task: Task, pair: tuple[int, int]) -> None:
    k = task.mdp.n_features
    if len(set(pair)) != 2 or not all(0 <= feature < k for feature in pair):
        raise InvalidParameter(
            f"--pair must name two different features from 0 to {k - 1}; it is {pair[0]},{pair[1]}"
        )


@dataclass(frozen=True, eq=False)
class ExplainedFamily:
    """A family, the lesson for it and its page."""

    family: Family
    lesson: Lesson
    verified: str | None
    page: str

    @property
    def is_taught(self) -> bool:
        """Whether nothing stays open."""
        return self.lesson.is_complete

    def document(self) -> dict[str, Any]:
        """The same for machines; the page itself is a file."""
        lesson = self.lesson.document()
        return {"family": self.family.name, "verified": self.verified, "lesson": lesson}


def explain_family(
    family: Family,
    *,
    scope: Scope = "reachable",
    arithmetic: Arithmetic = "auto",
    command: str | None = None,
    out: str | None = None,
    **settings: Any,
) -> ExplainedFamily:
    """The page of a lesson for a family; settings go to `teach`, out as for `explain_source`."""
    if out is not None:
        require_writable(out, PAGE)
    bec = equivalence_class(family, scope=scope, arithmetic=arithmetic)
    lesson = teach(family, bec=bec, **{"trim": False, **settings})
    verified = verified_lesson(family, lesson)
    page = family_page(family, lesson, bec=bec, verified=verified, command=command)
    if out is not None:
        write_text(page, out, kind=PAGE)
    return ExplainedFamily(family, lesson, verified, page)
