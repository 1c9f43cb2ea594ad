"""The sentences of a lesson page: the verdict, why it is so, what is assumed.

Where a policy was given, they also tell where the reward comes from.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

from didact.bec.rationalise import ActionComparison, NearestReward, Rationalisation
from didact.inputs import counted, shown_name
from didact.mdp import MDP, Task
from didact.mdp.naming import action_words
from didact.report.page.facts import BeliefFacts, Facts
from didact.report.page.scene import Scene, amount, state_in_words
from didact.report.words.lessons import (
    cost_words,
    invisible_sentences,
    n_starts,
    probability_words,
)
from didact.teaching import Lesson
from didact.teaching.lesson import FEWEST, checked_line
from didact.teaching.teach import USUAL_TEACHER

USUAL = {
    "teacher": USUAL_TEACHER,
    "horizon": None,
    "cost": "demonstrations",
    "scope": "reachable",
    "rollouts": None,
    "starts": None,
    "budget": None,
    "closed": False,
    "trim": True,
    "seed": 0,
    "min_probability": 0.001,
}
"""Settings of a lesson that need not be said."""
MAX_WEIGHTS = 6
SMALL_NUMBERS = ("No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine")


def verdict_words(facts: Facts) -> str:
    """The verdict in one line, for people who see nothing else."""
    lesson = facts.lesson
    n = len(lesson.demonstrations)
    longest = max((len(d) for d in lesson.demonstrations), default=1)
    what = counted(n, "state-action pair" if longest == 1 else "demonstration")
    named = what if n >= len(SMALL_NUMBERS) else SMALL_NUMBERS[n] + what[len(str(n)) :]
    steps = "" if longest == 1 else f" of {counted(longest, 'step')}"
    size = steps if n == 1 else f" ({lesson.n_pairs} steps in all)" if steps else ""
    if lesson.is_complete and n == 0:
        return "Nothing needs to be shown: every reward leads to the same behaviour."
    if lesson.is_complete:
        return f"{named}{size} {'is' if n == 1 else 'are'} enough."
    if lesson.status == "undecided" and not lesson.uncovered:
        up_to = counted(lesson.n_close_calls, "close call")
        is_enough = f"{named}{size} {'is' if n == 1 else 'are'} enough"
        return f"{is_enough}, up to {up_to} that floating point cannot decide."
    left = f"{n_open(facts)} of {counted(len(facts.said), 'constraint')}"
    if n == 0:
        stay = "stays" if n_open(facts) == 1 else "stay"
        return f"Not taught: no demonstration helps, {left} {stay} open."
    return f"Partly taught: {named.lower()}{size} {'leaves' if n == 1 else 'leave'} {left} open."


def n_open(facts: Facts) -> int:
    """How many constraints stay open."""
    return len(facts.said) - facts.n_covered


def proof_words(facts: Facts, verified: str | None) -> tuple[str, str]:
    """The proof's status in two or three words, and in a sentence."""
    if verified is not None:
        return "Proof verified", f"An independent checker accepted the proof: {verified}."
    if facts.lesson.proof is not None:
        return (
            "Proved",
            "Decided in exact rational arithmetic, with a proof in the lesson file; the "
            "independent checker was not run for this page.",
        )
    return (
        "Numerical, not proved",
        "Computed in floating point with error bounds; there is no exact proof. "
        "Exact arithmetic gives one.",
    )


def bound_words(lesson: Lesson, bec: Any, verified: str | None) -> str:
    """What a complete lesson costs, and what every lesson costs at least; else empty.

    bec: the class, by which the proof of a lesson from a file is checked, unless it was: then
    verified is what the checker said.
    """
    if not lesson.is_complete or lesson.lower_bound is None or not lesson.demonstrations:
        return ""
    likely = probability_words(lesson)
    if verified is not None:
        fewest = FEWEST in verified
    elif lesson.bec is None and lesson.proof is not None:
        fewest = FEWEST in checked_line(bec, lesson.document())
    else:
        fewest = lesson.is_fewest
    words = [cost_words(lesson, fewest=fewest), *([] if likely is None else [likely])]
    return " ".join(f"{sentence[0].upper()}{sentence[1:]}." for sentence in words)


def hardest_sentence(lesson: Lesson) -> str:
    """The smallest difference in return that a step shown rests on; else empty."""
    if lesson.hardest is None:
        return ""
    what = "at some step shown another action is worse by no more than that"
    return f"The hardest question is a difference of {amount(float(lesson.hardest))}: {what}."


def half_space_words(facts: Facts) -> str:
    """How to read the pictures of the rewards that still fit."""
    two = facts.task.mdp.n_features == 2
    lead = (
        "With two features this is the whole truth: a reward is a direction. "
        if two
        else "A slice: two weights vary, the others keep their true values. "
    )
    cross = " The dashed line with the cross is the wrong reward above."
    return (
        f"{lead}Every demonstration cuts away rewards; the darker, the more demonstrations a "
        "reward fits. The outline holds all rewards with the same behaviour. ★ is the true one."
        f"{cross if two and facts.witness is not None else ''}"
    )


def task_words(mdp: MDP) -> str:
    """The sizes of a model in one line."""
    return (
        f"{counted(mdp.n_states, 'state')}, {counted(mdp.n_actions, 'action')}, "
        f"{counted(mdp.n_features, 'feature')}, discount {float(mdp.exact_discount):g}"
    )


def why_words(facts: Facts) -> str:
    """Why so few demonstrations say everything, in numbers."""
    rows, bec = facts.bec.rows, facts.bec
    n_choices = facts.n_choices
    if not facts.said:
        return (
            f"In {counted(n_choices, 'state')} no choice between actions says anything "
            "about the reward in these features."
        )
    text = (
        f"The policy chooses in {counted(n_choices, 'state')}. Each choice against each "
        f"other action says something about the reward: {len(rows.statements):,} comparisons, "
        f"{counted(rows.n_rows, 'different statement')}. "
    )
    few = f"{len(facts.said)} of them" if len(facts.said) > 1 else "a single one"
    if rows.n_rows > len(facts.said):
        text += f"All of them follow from just {few}"
    else:
        text += "None of them follows from the others"
    equalities = len(bec.cone.equalities)
    if equalities:
        text += f" ({counted(equalities, 'exact balance')} among them)"
    n = len(facts.lesson.demonstrations)
    if facts.lesson.is_complete and n == 1:
        return text + ", and one demonstration shows them all."
    return text + "."


def weights_words(mdp: MDP, weights: Sequence[Any]) -> str:
    """Weights by name, those that are not 0 first and at most six."""
    entries = [(i, float(w)) for i, w in enumerate(weights)]
    telling = [entry for entry in entries if entry[1]] or entries[:1]
    parts = [f"{shown_name(mdp.feature_name(i))}: {amount(w)}" for i, w in telling[:MAX_WEIGHTS]]
    if len(telling) > MAX_WEIGHTS:
        parts.append(f"{len(telling) - MAX_WEIGHTS} more")
    elif len(telling) < len(entries):
        parts.append("all others: 0" if len(entries) > len(telling) + 1 else "the other: 0")
    return ", ".join(parts)


def example_words(facts: Facts, number: int, scene: Scene | None) -> tuple[str, str] | None:
    """A reward that a demonstration rules out, and what a learner who holds it would do."""
    belief = facts.ruled_out[number]
    if belief is None:
        return None
    task, mdp = facts.task, facts.task.mdp
    path = [state for state, _ in facts.lesson.demonstrations[number]]
    where = next((s for s in path if belief.wrong[s].any()), None)
    told = ""
    if where is not None:
        wrong = [action_words(task, int(a)) for a in belief.wrong[where].nonzero()[0][:3]]
        place = shown_name(state_in_words(mdp, where, scene), 90)
        told = f" It would choose {' or '.join(wrong)} in {place}."
    return weights_words(mdp, belief.weights), f"{loss_words(belief)}{told}"


def loss_words(belief: BeliefFacts) -> str:
    """What believing a wrong reward may cost."""
    if belief.loss <= 0:
        return "Believing it costs nothing from these starts, but the behaviour differs elsewhere."
    return f"Believing it may cost {amount(belief.loss)}."


def differences(
    facts: Facts, belief: BeliefFacts, scene: Scene | None, most: int
) -> Iterator[tuple[str, str, str]]:
    """State, what the teacher does, what the believer would do; at most so many rows."""
    task, mdp, plan = facts.task, facts.task.mdp, facts.bec.plan
    for state in belief.astray[:most]:
        right = ", ".join(action_words(task, a) for a in plan.optimal_actions(state))
        wrong = ", ".join(action_words(task, int(a)) for a in belief.wrong[state].nonzero()[0])
        yield shown_name(state_in_words(mdp, state, scene), 90), right, wrong


def assumptions(facts: Facts) -> Iterator[str]:
    """What the verdict takes for granted."""
    lesson, mdp = facts.lesson, facts.task.mdp
    yield (
        f"The reward is a weighted sum of {counted(mdp.n_features, 'feature')}"
        " that the learner knows, and so are the moves of the world; only the weights are unknown."
    )
    yield f"Rewards are discounted by {float(mdp.exact_discount):g} a step."
    own = "the world's own" if lesson.settings.get("starts") is None else "the given"
    n = n_starts(facts.task, lesson)
    starts = f"{own} start" if n == 1 else f"one of {own} {n} starts"
    yield f"Demonstrations begin in {starts} and are optimal."
    if facts.bec.scope == "reachable":
        yield "Behaviour counts in every situation that some policy can reach from the start."
    else:
        yield "Behaviour counts in every situation, also where the start does not lead."
    if lesson.closed:
        yield "The learner may plan for itself: the lesson is closed."
    else:
        yield (
            "The learner compares each shown action with going on as the teacher does; for a "
            "learner that plans every alternative by itself the lesson would have to be closed."
        )
    if not mdp.is_deterministic():
        yield "Moves are random; what is shown are sampled episodes that can really happen."
    yield from invisible_sentences(facts.bec)


def python_command(lesson: Lesson) -> str:
    """How to make the lesson again in Python, from its settings."""
    given = [
        f"{name}={value!r}"
        for name, value in lesson.settings.items()
        if name != "arithmetic"
        and (name, value) != ("min_probability", None)
        and (name not in USUAL or USUAL[name] != value)
    ]
    call = ", ".join(["task", *given])
    verb = "teach_within" if "loss" in lesson.settings else "teach"
    return f'lesson = didact.{verb}({call})\nlesson.report("lesson.html")'


MAX_COMPARISONS = 4


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
            f"in {n_differs} of {counted(nearest.n_states, 'state')}."
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
            f"In {counted(len(found.tied_states), 'state')} other actions are exactly as good "
            "for every such reward; the lesson counts them as right too."
        )


def _proof(task: Task, found: Rationalisation, scene: Scene | None) -> Iterator[str]:
    if not found.is_proved:
        yield "This was found numerically; exact arithmetic would prove it."
        return
    said = [
        f"choosing {_comparison(task, entry, scene)} says that {entry.words}"
        for entry in found.contradiction[:MAX_COMPARISONS]
    ]
    left = len(found.contradiction) - len(said)
    more = f"; and so on, {left} more" if left > 0 else ""
    yield (
        f"For example: {'; '.join(said)}{more}. These multiples of them cancel in every feature: "
        f"{', '.join(_multiples(found.contradiction[:MAX_COMPARISONS]))}"
        f"{', ...' if left > 0 else ''}. So none of these choices can be better than its "
        "alternative unless another one is worse."
    )
    yield (
        f"In the same way all {counted(found.n_rows, 'different statement')} that the policy makes "
        "about the reward cancel with positive multipliers, so only rewards under which "
        "all actions are equally good make it optimal."
    )


def _multiples(entries: Sequence[ActionComparison]) -> list[str]:
    """The multipliers for people; as shares of the largest where that is beyond floats."""
    largest = max((entry.multiplier for entry in entries), default=Fraction(1))
    scale = largest if largest > 10**100 else Fraction(1)
    return [amount(float(entry.multiplier / scale)) for entry in entries]


def _comparison(task: Task, entry: ActionComparison, scene: Scene | None) -> str:
    place = shown_name(state_in_words(task.mdp, entry.state, scene), 60)
    action, other = (action_words(task, a) for a in (entry.action, entry.other))
    return f"{action} rather than {other} in {place}"
