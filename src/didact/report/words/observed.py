"""A lesson in a simulator in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from didact.auditing.simulators import SimulatorAudit
from didact.bec.observed.result import MANY, Observed, nearest_to_observed
from didact.inputs import counted, in_one_line, plain_document, shown_name
from didact.teaching.clips.lesson import ClipLesson, LeftOpen
from didact.teaching.clips.replan import replanned_words
from didact.worlds.simulators.batches import as_rows

MAX_LISTED, MAX_SHORT = 20, 5
"""Clips that are told one by one: with all details, and without."""
ACTIONS = {
    "Acrobot": ("torque -1", "no torque", "torque 1"),
    "CartPole": ("push left", "push right"),
    "LunarLander": ("coast", "left engine", "main engine", "right engine"),
    "MountainCar": ("push left", "coast", "push right"),
}
"""Names of the actions of Gymnasium's environments, which have none themselves."""
CLIP_PARTS = ("episode", "first", "last", "observations", "actions")
"""What machines are told of a clip."""


def lesson_lines(lesson: ClipLesson, *, details: bool = False) -> Iterator[str]:
    """The lesson: what to show, what it says and what stays open.

    details: also what the certificate assumes, how it was measured, and all open states.
    """
    seen = lesson.seen
    most = MAX_LISTED if details else MAX_SHORT
    shown = f"{counted(len(lesson.clips), 'clip')}, {counted(lesson.n_steps, 'step')}"
    yield f"{shown_name(seen.setting.simulator.name)}: {shown}"
    for number, clip in enumerate(lesson.clips[:most], start=1):
        yield f"  {number}. {clip.words}"
    if len(lesson.clips) > most:
        yield f"  and {len(lesson.clips) - most} more"
    yield f"  they teach: {taught_words(lesson)}"
    yield f"  {lesson.statement(assumptions=details)}"
    told = lesson.certificate
    if told is not None and told.replanned is not None:
        yield f"  {replanned_words(told.replanned, seen.setting.feature_names)}"
    for left in lesson.left_open[: 3 if details else 1]:
        yield f"  open: {open_words(seen, left)}"
    for line in (*seen_lines(seen), *(measured_lines(seen) if details else ())):
        yield f"  {line}"
    if details and not seen.setting.alternatives.n_actions:
        wide = "without end" if not np.isfinite(lesson.width) else f"{lesson.width:.2g}"
        yield f"  width of the class: {wide}, against 1 along the truth; larger steps make it wider"
    if not details:
        yield "  --details: what this assumes, errors, how states are restored"


def weights_words(seen: Observed, weights: Any) -> str:
    """Weights by the names of their features."""
    names = seen.setting.feature_names
    return ", ".join(f"{shown_name(n)} {w:.3g}" for n, w in zip(names, weights, strict=True))


def taught_words(lesson: ClipLesson) -> str:
    """The weights that are taught, each with the interval of all that fit."""
    if lesson.is_empty:
        return "nothing"
    rows = zip(lesson.seen.setting.feature_names, lesson.weights, lesson.weight_bounds, strict=True)
    told = ", ".join(f"{shown_name(n)} {w + 0.0:.3g} [{a:.2g}, {b:.2g}]" for n, w, (a, b) in rows)
    return f"{told} (in brackets: all weights of length 1 that fit the clips)"


def open_words(seen: Observed, left: LeftOpen) -> str:
    """An open state: what else may be better there, by how much, and for which reward."""
    course = f", held for {left.held} steps," if left.held > 1 else ""
    return (
        f"in {numbers_words(left.observation)} action {done_words(seen, left.other)}{course} may "
        f"be worth {left.worth:.3g} more than {done_words(seen, left.own)}, under the weights "
        f"{weights_words(seen, left.weights)}"
    )


def done_words(seen: Observed, action: Any) -> str:
    """An action by its name, where the simulator has names (`action_names`), else in digits."""
    simulator = seen.setting.simulator
    known, version, _ = simulator.name.partition("-v")
    usual = ACTIONS.get(known, ()) if version else ()
    names = getattr(getattr(simulator, "env", None), "action_names", usual)
    is_one = np.ndim(action) == 0 and np.issubdtype(np.asarray(action).dtype, np.integer)
    if is_one and 0 <= int(action) < len(names):
        return shown_name(str(names[int(action)]))
    return numbers_words(action)


def truth_words(lesson: ClipLesson) -> str:
    """Whether the taught reward contradicts the true one, and why it does not where it differs."""
    seen = lesson.seen
    true = seen.setting.weights
    taught = lesson.weights * np.linalg.norm(true)
    right = ~seen.mistaken
    other = (seen.rows @ taught < -seen.setting.tolerance).any(axis=1) & right
    n = counted(int(right.sum()), "observed state")
    if lesson.is_empty:
        return "The clips say nothing of the reward, so nothing contradicts the true one."
    if other.any():
        return (
            f"The two contradict each other: in {int(other.sum())} of {n} without a mistake the "
            "taught reward prefers another action than the policy's."
        )
    agreed = (
        "That they differ is no contradiction: under both the policy's action is best, up to the "
        f"tolerance, in all {n} without a mistake."
    )
    replanned = None if lesson.certificate is None else lesson.certificate.replanned
    if replanned is None or replanned.keeps_return:
        return agreed
    told = replanned_words(replanned, seen.setting.feature_names)
    return f"{agreed} Elsewhere they may contradict each other: {told}."


def numbers_words(given: Any) -> str:
    """An observation or an action in a few digits."""
    flat = as_rows([given])[0]
    told = [f"{value:.3g}" for value in flat[:8].tolist()]
    if np.ndim(given) == 0 and len(told) == 1:
        return told[0]
    return f"({', '.join(told)}{', ...' if flat.size > 8 else ''})"


def seen_lines(seen: Observed) -> Iterator[str]:
    """What was seen of the policy: its return, its states and its mistakes."""
    setting = seen.setting
    if seen.episode_return is not None:
        yield (
            f"the agent's mean return of an episode: {seen.episode_return:.6g} (far below what it "
            "had in training? then look at its normalisation and wrappers)"
        )
    yield from map(in_one_line, seen.notes)
    n_wrong = int(seen.mistaken.sum())
    yield (
        f"seen: {counted(len(seen.rows), 'state')} of {counted(seen.n_rollouts, 'rollout')}, "
        f"{n_wrong} in which another action is better by more than {setting.tolerance:.3g}"
    )
    if _errs_often(seen):
        near = nearest_to_observed(seen)
        yield (
            f"nearest weights to the policy: {weights_words(seen, near.weights)}; by these it errs "
            f"in {near.mistaken:.0%} of states, and no reward explains {near.unexplained:.0%}"
        )


def _errs_often(seen: Observed) -> bool:
    """Whether the policy seems to follow another reward."""
    return bool(seen.mistaken.mean() > MANY)


def measured_lines(seen: Observed) -> Iterator[str]:
    """How it was measured, and how far it can be trusted."""
    setting = seen.setting
    yield (
        f"measured: {seen.n_steps:,} simulator steps, branches of at most {setting.horizon}; "
        f"states restored {setting.simulator.restoring}"
    )
    noise = "not measured" if seen.jitter is None else f"{seen.jitter:.2g}"
    yield (
        f"errors: reward minus weights . features at most {seen.residual:.2g} on "
        f"{setting.rewards.n:,} steps, after the horizon at most {seen.tail:.2g} return, noise of "
        f"states {noise}"
    )
    if not setting.alternatives.n_actions:
        yield f"actions: steps of {numbers_words(setting.alternatives.width)} around the policy's"


def audit_lines(audit: SimulatorAudit, other: SimulatorAudit | None = None) -> Iterator[str]:
    """What an agent does in a simulator, its worst states, and how another agent compares."""
    yield f"{shown_name(audit.seen.setting.simulator.name)}: {audit.status}"
    yield f"  {audit.statement}"
    for situation in audit.worst:
        yield (
            f"  in {numbers_words(situation.observation)} action {numbers_words(situation.better)} "
            f"gains {situation.gain:.3g} over {numbers_words(situation.own)}"
        )
    if other is None:
        return
    low, high = other.mistaken_share
    difference = audit.compared_with(other)
    is_clear = abs(difference.mean) > 2 * difference.error
    verdict = "no clear difference" if not is_clear else "more" if difference.mean > 0 else "less"
    yield (
        f"  the other agent: {other.status}, {low:.1%} to {high:.1%} of its states, "
        f"{other.episode_return} an episode"
    )
    yield (
        f"  the first agent's return less the other's, in episodes of the same seeds: "
        f"{difference} ({verdict})"
    )


def audit_document(audit: SimulatorAudit, other: SimulatorAudit | None = None) -> dict[str, Any]:
    """The same for machines."""
    found: dict[str, Any] = plain_document(
        {
            "simulator": audit.seen.setting.simulator.name,
            "status": audit.status,
            "loss": audit.loss,
            "mistaken_share": audit.mistaken_share,
            "gain": audit.gain._asdict(),
            "episode_return": audit.episode_return._asdict(),
            "worst": [vars(situation) for situation in audit.worst],
            "statement": audit.statement,
        }
    )
    if other is not None:
        found |= {"other": audit_document(other)}
        found |= {"difference": audit.compared_with(other)._asdict()}
    return found


def lesson_document(lesson: ClipLesson) -> dict[str, Any]:
    """The same for machines."""
    seen, told = lesson.seen, lesson.certificate
    near = nearest_to_observed(seen)._asdict() if _errs_often(seen) else None
    certificate = None if told is None else {**vars(told), "holds": told.holds}
    if told is not None and certificate is not None:
        del certificate["is_empty"]  # said of the lesson
        if told.replanned is not None:
            reached = {**vars(told.replanned), "keeps_return": told.replanned.keeps_return}
            certificate["replanned"] = reached
    document: dict[str, Any] = plain_document(
        {
            "simulator": seen.setting.simulator.name,
            "restoring": seen.setting.simulator.restoring,
            "discount": seen.setting.discount,
            "tolerance": seen.setting.tolerance,
            "horizon": seen.setting.horizon,
            "n_states": len(seen.rows),
            "n_mistaken": int(seen.mistaken.sum()),
            "nearest": near,
            "n_steps": seen.n_steps,
            "episode_return": seen.episode_return,
            "residual": seen.residual,
            "tail": seen.tail,
            "notes": seen.notes,
            "jitter": seen.jitter,
            "true_weights": seen.setting.weights,
            "weights": lesson.weights,
            "feature_names": seen.setting.feature_names,
            "clips": [{name: getattr(clip, name) for name in CLIP_PARTS} for clip in lesson.clips],
            "is_empty": lesson.is_empty,
            "weight_bounds": lesson.weight_bounds,
            "certificate": certificate,
            "left_open": [
                {name: part for name, part in vars(left).items() if name != "held"}
                for left in lesson.left_open
            ],
            "statement": lesson.statement(),
        }
    )
    return document
