"""Learn from demonstrations in a file: the use case behind `didact learn`."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from didact.errors import NotMixed
from didact.files.json import require_writable
from didact.files.kinds import archive_kind
from didact.inputs import plain_document
from didact.learners import Belief, learn
from didact.learners.files import BELIEF_FORMAT
from didact.learners.learn import find_learner, option_names
from didact.learners.risk import Fit
from didact.mdp import Task
from didact.mdp.recordings.formats import given_items
from didact.planning import Evaluation, evaluate
from didact.worlds.opening import open_task

MEASURES = ("policy_loss", "worst_policy_loss", "wrong_actions", "worst_wrong_actions")


@dataclass(frozen=True, eq=False)
class Learned:
    """A task, what a learner believes of it, and how the most likely weights' policy fares."""

    task: Task
    belief: Belief
    evaluation: Evaluation
    fit: Fit | None = None

    def document(self) -> dict[str, Any]:
        """The same for machines; what does not exist, as R-hat of a point, is null."""
        told = self.belief.to_dict()
        settings = told.pop("settings")
        evaluation: dict[str, Any] = plain_document(
            {name: getattr(self.evaluation, name) for name in MEASURES}
        )
        fit = None if self.fit is None else plain_document(self.fit.to_dict())
        return {
            "task": self.task.name,
            **told,
            "evaluation": evaluation,
            "fit": fit,
            "settings": settings,
        }


def learn_source(
    source: str,
    path: str,
    parameters: Mapping[str, Any] | None = None,
    *,
    learner: str = "birl",
    out: str | None = None,
    progress: Callable[[int, int], None] | None = None,
    seed: int = 0,
    options: Mapping[str, Any] | None = None,
) -> Learned:
    """What a learner makes of the demonstrations in a file, for the task that `source` names.

    out: where to save the belief; whether that can be written is tried before the learner runs.
    progress: called with steps done and in all, where the learner tells them.
    """
    given = dict(options or {})
    find_learner(learner, given)
    names = option_names(learner)
    task = open_task(source, parameters)
    shown = given_items(path, task)
    if out is not None:
        require_writable(out, archive_kind(BELIEF_FORMAT), [source, path])
    if progress is not None and names is not None and "progress" in names:
        given["progress"] = progress
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotMixed)
        belief = learn(task.mdp, shown, learner=learner, seed=seed, **given)
    if out is not None:
        belief.save(out)
    fit = None if belief.confidence is None else belief.fit()
    return Learned(task, belief, evaluate(task, belief.policy()), fit)
