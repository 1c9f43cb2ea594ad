"""What a lesson leaves open: constraints that nothing shows, and a wrong reward that still fits."""

from __future__ import annotations

from dataclasses import dataclass

from didact.inputs import shown_name
from didact.mdp.naming import action_words
from didact.report.page.facts import Facts
from didact.report.page.scene import Scene, state_in_words
from didact.report.page.words import differences, loss_words, weights_words
from didact.report.page.world import Astray, astray_picture

REASONS = {
    "budget": "a demonstration could show it, but not within the budget",
    "left out": "a demonstration could show it, but the teacher left it out",
    "not sampled": "a demonstration could show it, but none of those that were sampled does",
    "not reachable": "no optimal demonstration from these starts can show it",
}
MOST_DIFFERENCES = 8


@dataclass(frozen=True)
class Gap:
    """A constraint that stays open: what would show it, where, and why nothing does."""

    words: str
    action: str
    other: str
    place: str
    reason: str


@dataclass(frozen=True)
class WrongReward:
    """A wrong reward that still fits: what it costs and where it would choose wrongly.

    differences: where, what the teacher does, what the believer would do. n_more: left out of them.
    """

    weights: str
    loss: str
    n_states: int
    drawing: Astray | None
    differences: tuple[tuple[str, str, str], ...]
    n_more: int


def gaps(facts: Facts, scene: Scene | None) -> tuple[Gap, ...]:
    """The constraints that stay open."""
    task = facts.task
    return tuple(
        Gap(
            words=entry.words,
            action=action_words(task, entry.action),
            other=action_words(task, entry.other),
            place=shown_name(state_in_words(task.mdp, entry.state, scene), 90),
            reason=REASONS.get(entry.reason, entry.reason),
        )
        for entry in facts.lesson.uncovered
    )


def wrong_reward(facts: Facts, scene: Scene | None) -> WrongReward | None:
    """The lesson's witness, where it has one."""
    belief = facts.witness
    if belief is None:
        return None
    n_states = len(belief.astray)
    drawn = scene is not None and scene.kind == "grid"
    return WrongReward(
        weights=weights_words(facts.task.mdp, belief.weights),
        loss=loss_words(belief),
        n_states=n_states,
        drawing=astray_picture(facts, belief, scene) if drawn and scene is not None else None,
        differences=tuple(differences(facts, belief, scene, MOST_DIFFERENCES)),
        n_more=max(n_states - MOST_DIFFERENCES, 0),
    )
