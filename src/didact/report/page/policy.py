"""Where the reward of a lesson comes from when a policy was given: the story on its page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from didact.bec.rationalise import ActionComparison, NearestReward, Rationalisation
from didact.inputs import counted, shown_name
from didact.mdp import MDP, Task
from didact.mdp.naming import action_words
from didact.report.page.scene import Scene, state_in_words
from didact.report.page.svg import amount
from didact.report.page.words import weights_words

MOST_COMPARISONS = 4


def policy_story(
    task: Task,
    name: str,
    found: Rationalisation,
    nearest: NearestReward | None = None,
    scene: Scene | None = None,
) -> list[str]:
    """Paragraphs: whether a reward explains the policy, with the proof in words, and which."""
    policy = f"The policy {shown_name(name, 60)}"
    if found.kind == "any":
        return [f"{policy} is optimal for every reward: these features tell no actions apart."]
    if found.weights is not None:
        return list(_explained(task.mdp, policy, found))
    lines = [
        f"{policy} is not optimal for any reward in these features.",
        *_proof(task, found, scene),
    ]
    if nearest is not None:
        n_differs = len(nearest.differs)
        lines.append(
            f"What is taught instead is the nearest reward: under it the policy keeps "
            f"{nearest.kept:.0%} of what can be gained over acting at random, and chooses wrongly "
            f"in {n_differs} of {counted(nearest.n_states, 'situation')}."
        )
    return lines


def _explained(mdp: MDP, policy: str, found: Rationalisation) -> Iterator[str]:
    assert found.weights is not None
    sure = "" if found.is_proved else " (numerically, not proved)"
    yield (
        f"{policy} is optimal for a reward in these features{sure}. Of all such rewards the one "
        f"that leaves the most room was taken: {weights_words(mdp, found.weights)}. "
        "It need not be the reward that the policy was made with; all that fit the lesson lead to "
        "the same behaviour."
    )
    if found.tied_states:
        yield (
            f"In {counted(len(found.tied_states), 'situation')} other actions are exactly as good "
            "for every such reward; the lesson counts them as right too."
        )


def _proof(task: Task, found: Rationalisation, scene: Scene | None) -> Iterator[str]:
    if not found.is_proved:
        yield "This was found numerically; exact arithmetic would prove it."
        return
    said = [
        f"choosing {_choice(task, entry, scene)} says that {entry.words}"
        for entry in found.contradiction[:MOST_COMPARISONS]
    ]
    left = len(found.contradiction) - len(said)
    more = f"; and so on, {left} more" if left > 0 else ""
    yield (
        f"For example: {'; '.join(said)}{more}. These multiples of them cancel in every feature: "
        f"{', '.join(_multiples(found.contradiction[:MOST_COMPARISONS]))}"
        f"{', ...' if left > 0 else ''}. So none of these choices can be better than its "
        "alternative unless another one is worse."
    )
    yield (
        f"In the same way all {counted(found.n_rows, 'different statement')} that the policy makes "
        "about the reward add up to nothing with positive multiples, so only rewards under which "
        "all actions are equally good make it optimal."
    )


def _multiples(entries: Sequence[ActionComparison]) -> list[str]:
    """The multipliers for people; as shares of the largest where that is beyond floats."""
    largest = max((entry.multiplier for entry in entries), default=Fraction(1))
    scale = largest if largest > 10**100 else Fraction(1)
    return [amount(float(entry.multiplier / scale)) for entry in entries]


def _choice(task: Task, entry: ActionComparison, scene: Scene | None) -> str:
    place = shown_name(state_in_words(task.mdp, entry.state, scene), 60)
    action, other = (action_words(task, a) for a in (entry.action, entry.other))
    return f"{action} rather than {other} in {place}"
