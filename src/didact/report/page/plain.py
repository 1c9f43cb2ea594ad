"""A reward and a lesson in plain words, for people who are to watch: what it likes and avoids.

Every sentence is decided in exact arithmetic, and true of the reward that is taught. "It would
rather take 20 steps on white than one on grey" says that twenty steps in a row, each discounted,
cost less than one. What a demonstration shows is said the same way, rounded to the safe side.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from math import ceil, floor
from typing import Any

from didact.bec.words import HalfSpaceWords, Term, half_space_words
from didact.inputs import counted, shown_name
from didact.mdp import Task
from didact.mdp.naming import action_words, event_words
from didact.report.page.facts import Facts, Said
from didact.report.page.neutral import joined, slips
from didact.report.page.scene import Scene, amount, state_in_words
from didact.report.page.world import PAYS

MAX_COUNTED = 1000
"""Steps are counted up to so many."""
MAX_NAMED = 8
MAX_WEIGHED = 3
"""Comparisons of more features than this are not spelled out."""

PHRASE = re.compile(r"(?:an?|the) |[a-z]+ing\b")
SMALL = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


# The words for a feature


def unit(task: Task, feature: int, n: int = 1) -> str:
    """'one step on grey', '20 moves', 'delivering the passenger', 'two units of speed'.

    A name that is a phrase of its own, such as 'a wrong turn' or 'opening the door', is one event.
    """
    mdp, many = task.mdp, n != 1
    name = shown_name(mdp.feature_name(feature))
    number = SMALL[n] if n < len(SMALL) else f"{n:,}"
    event = event_words(task.name, name)
    if event is not None:
        return f"{number} {event[1]}" if many else event[0]
    if PHRASE.match(name):
        return f"{number} times {name}" if many else name
    pays = PAYS.fullmatch(name)
    if pays:
        what = "nothing" if pays[1] == "0" else pays[1].replace("-", "−")
        return f"{number} {'steps that pay' if many else 'step that pays'} {what}"
    if mdp.has_action_features:
        return f"{number} {'units' if many else 'unit'} of {name}"
    return f"{number} {'steps' if many else 'step'} on {name}"


def one_of(task: Task, feature: int) -> str:
    """'a step on grey', 'a move', 'delivering the passenger'."""
    words = unit(task, feature)
    return f"a {words.removeprefix('one ')}" if words.startswith("one ") else words


# What the reward itself says


def wishes(task: Task) -> list[str]:
    """What the task's reward likes and avoids, and what it would rather do, at most ten lines."""
    weights = task.true_weights.fractions()
    ranked = sorted(range(len(weights)), key=lambda i: (-abs(weights[i]), i))
    good = [i for i in ranked if weights[i] > 0]
    bad = [i for i in ranked if weights[i] < 0]
    if not good and not bad:
        return ["It has no wishes: whatever happens is the same to it."]
    same = [i for i in ranked if weights[i] == 0]
    avoids = "It avoids, the worst first:" if len(bad) > 1 else "It avoids"
    lines = [*_listed(task, good, "It likes"), *_listed(task, bad, avoids)]
    lines += _listed(task, same, "It does not care about")
    lines += [_rather(task, *pair) for pair in (*_neighbours(bad), *_neighbours(good))]
    if good and bad:
        lines.append(_bears(task, good[0], bad[-1]))
    return lines


def _listed(task: Task, features: Sequence[int], begin: str) -> list[str]:
    if not features:
        return []
    named = [one_of(task, i) for i in features[:MAX_NAMED]]
    more = f" and {len(features) - MAX_NAMED} more" if len(features) > MAX_NAMED else ""
    return [f"{begin} {', '.join(named)}{more}."]


def _neighbours(ranked: Sequence[int]) -> list[tuple[int, int]]:
    """The strongest and the weakest against the next one; a few are enough."""
    pairs = list(pairwise(ranked))
    return pairs if len(pairs) <= 3 else [*pairs[:2], pairs[-1]]


def _rather(task: Task, stronger: int, weaker: int) -> str:
    """Two features that are both good or both bad, against each other."""
    weights = task.true_weights.fractions()
    n = steps_below(abs(weights[weaker]), abs(weights[stronger]), task.mdp.exact_discount)
    one, is_bad = unit(task, stronger), weights[stronger] < 0
    if n == 0:
        return (
            f"{_sentence(unit(task, weaker))} is as {'bad' if is_bad else 'good'} to it as {one}."
        )
    some = _many(task, weaker, n)
    return f"It would rather {f'take {some} than {one}' if is_bad else f'have {one} than {some}'}."


def _bears(task: Task, good: int, bad: int) -> str:
    weights = task.true_weights.fractions()
    n = steps_borne(weights[good], -weights[bad], task.mdp.exact_discount)
    if n == 0:
        return f"{_sentence(unit(task, good))} is not worth {unit(task, bad)} before it."
    most = "" if n == MAX_COUNTED else "up to "
    return f"For {unit(task, good)} it would first take {most}{_many(task, bad, n)}."


def _many(task: Task, feature: int, n: int | None) -> str:
    if n is None:
        return f"any number of {unit(task, feature, 2).removeprefix('two ')}"
    least = "at least " if n == MAX_COUNTED else ""
    return f"{least}{unit(task, feature, n)}"


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def steps_below(each: Fraction, whole: Fraction, discount: Fraction) -> int | None:
    """The most steps in a row whose discounted sum stays below a whole; None: any number.

    At most MAX_COUNTED are counted.
    """
    if each < whole * (1 - discount) or (discount and each == whole * (1 - discount)):
        return None
    total, now = Fraction(0), each
    for n in range(MAX_COUNTED):
        total += now
        if total >= whole:
            return n
        now *= discount
    return MAX_COUNTED


def steps_borne(gain: Fraction, each: Fraction, discount: Fraction) -> int:
    """The most steps of a cost after which a gain still outweighs them, up to MAX_COUNTED."""
    spent, now = Fraction(0), Fraction(1)
    for n in range(MAX_COUNTED):
        spent += now * each
        now *= discount
        if now * gain <= spent:
            return n
    return MAX_COUNTED


# What a demonstration shows


def shown_words(task: Task, normal: Sequence[Any], *, equality: bool) -> str:
    """What normal.w >= 0 (or = 0) says, in words that hold for every reward inside it."""
    mdp = task.mdp
    said = half_space_words(
        normal,
        [mdp.feature_name(i) for i in range(mdp.n_features)],
        equality=equality,
        weights=task.true_weights.fractions(),
    )
    if not said.left:
        return "Nothing: every reward agrees."
    if len(said.left) + len(said.right) > MAX_WEIGHED:
        named = [shown_name(term.name) for term in (*said.left, *said.right)[:MAX_NAMED]]
        return f"It shows how {joined(named)} weigh against each other."
    if not said.right:
        return _against_nothing(task, said)
    if said.as_ratio and said.relation != "exactly":
        return _ratio(task, said)
    return _sides(task, said)


def _against_nothing(task: Task, said: HalfSpaceWords) -> str:
    what, single = _sentence(_side(task, said.left)), len(said.left) == 1
    verb = "is" if single else "together are"
    if said.relation == "exactly":
        return f"{what} {verb} neither good nor bad for it."
    return f"{what} {verb} never {'bad' if said.relation == 'at least' else 'good'} for it."


def _ratio(task: Task, said: HalfSpaceWords) -> str:
    """One of a feature against a whole number of another, as a choice where that is one."""
    one, ratio = unit(task, said.left[0].feature), said.right[0].amount
    other = said.right[0].feature
    if said.relation == "at most":
        better = "no worse" if said.measure == "cost" else "no better"
        return f"To it {one} is {better} than {unit(task, other, ceil(ratio))} together."
    some = unit(task, other, floor(ratio))
    if said.measure == "cost":
        return f"It would rather take {some} than {one}."
    return f"It would rather have {one} than {some}."


def _sides(task: Task, said: HalfSpaceWords) -> str:
    left, right = _side(task, said.left), _side(task, said.right)
    if said.relation == "exactly":
        return f"To it {left} and {right} are worth exactly the same."
    if said.measure == "cost":
        left, right = right, left
    return f"It likes {left} at least as well as {right}."


def _side(task: Task, terms: Sequence[Term]) -> str:
    """'about 2.5 steps on white and one step on sand'."""
    return joined([_some(task, term) for term in terms])


def _some(task: Task, term: Term) -> str:
    if term.amount.denominator == 1 and term.amount <= MAX_COUNTED:
        return unit(task, term.feature, int(term.amount))
    many = unit(task, term.feature, 2).removeprefix("two ")
    return f"about {amount(float(term.amount))} {many}"


WHO = "A program acts in this world, and always does what is best by its own likes and dislikes."
MAX_SAID = 6
"""Sentences for each demonstration; the others are in the mathematics."""


def plain_words(facts: Facts, scene: Scene | None) -> dict[str, Any]:
    """All plain words of the page of a lesson.

    title: what to do. intro: what this is, two sentences. slips: how moves go astray, or empty.
    wishes: what the program likes. shows: for each demonstration what it shows, at most six. open:
    where a watcher may still guess wrongly, or empty.
    """
    n = len(facts.lesson.demonstrations)
    return {
        "title": _title(facts),
        "intro": f"{WHO} {_what_they_do(facts)}",
        "slips": slips(facts.task, scene),
        "wishes": wishes(facts.task),
        "shows": [_shows(facts, facts.stated_first_by(i)) for i in range(n)],
        "open": _open(facts, scene),
    }


def _title(facts: Facts) -> str:
    shown = facts.lesson.demonstrations
    if not shown:
        return "There is nothing to watch."
    if len(shown) == 1:
        return f"Watch one demonstration of {counted(len(shown[0]), 'step')}."
    return f"Watch {len(shown)} demonstrations, {counted(facts.lesson.n_pairs, 'step')} in all."


def _what_they_do(facts: Facts) -> str:
    n = len(facts.lesson.demonstrations)
    if n == 0:
        told = "its likes make no difference" if facts.lesson.is_complete else "nothing helps here"
        return f"No demonstration is needed: {told}."
    they = "The demonstration below was" if n == 1 else "The demonstrations below were"
    if facts.lesson.is_complete:
        return f"{they} chosen to show, with nothing else, what it does wherever it may come."
    return f"{they} chosen to show as much of it as possible; what stays open is told below."


def _shows(facts: Facts, said: Sequence[Said]) -> list[str]:
    rows, seen = facts.bec.rows, []
    for entry in said:
        normal = rows.normals[entry.row].tolist() if rows.exact is None else rows.exact[entry.row]
        seen.append(shown_words(facts.task, normal, equality=entry.equality))
    return list(dict.fromkeys(seen))[:MAX_SAID]


def _open(facts: Facts, scene: Scene | None) -> str:
    if facts.lesson.is_complete or facts.witness is None:
        return ""
    astray = facts.witness.astray
    if not astray:
        return "Someone who watched all this may still be wrong about what it likes."
    seen = {state for shown in facts.lesson.demonstrations for state, _ in shown}
    task, state = facts.task, next((s for s in astray if s not in seen), astray[0])
    right = " or ".join(action_words(task, a) for a in facts.bec.plan.optimal_actions(state))
    wrong = " or ".join(action_words(task, int(a)) for a in facts.witness.wrong[state].nonzero()[0])
    where = shown_name(state_in_words(task.mdp, state, scene), 90)
    return (
        "Someone who watched all this may still guess wrongly in "
        f"{counted(len(astray), 'state')}. One of them: in {where} it does {right}, and not "
        f"{wrong}."
    )
