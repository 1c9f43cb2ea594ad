"""The independent checker on lessons of several kinds: true proofs pass, no false one does."""

import json
import random
import re
from fractions import Fraction
from itertools import pairwise

import pytest

import didact
from didact.errors import InvalidInput, ProofFailed
from didact.mdp import MDP, Task, Transitions
from didact.mdp.files import task_document, task_from_document
from didact.teaching.lesson import as_read, verify
from tests.laws.test_exams import world
from tests.laws.test_family_classes import small_family
from tests.test_proofcheck import (
    Solved,
    changed,
    cone_multipliers,
    dot,
    is_true,
    message_of,
    primitive,
    random_task,
)

KINDS = ["demonstrations", "comparisons", "preferences", "corrections", "rankings"]
TEXTS = {"words", "gains", "task", "cost", "lower_bound", "candidates", "guarantee", "volumes"}
OF_FACETS = ("normal", "statement", "equality")
STEPS = (
    "fewest",
    "items",
    "counts",
    "optimal",
    "scope",
    "multipliers",
    "generators",
    "claim",
    "weights",
)
STEPS += (
    "row",
    "status",
    "settings",
    "arithmetic",
    "witness",
    "loss",
    "uncovered",
    "hardest",
    "horizon",
    "facets",
    "closed",
    "probabilities",
)
STEPS += ("n_demonstrations", "n_pairs", "n_facets", "n_equalities")
STEPS += (
    "demonstrations",
    "budget",
    "starts",
    "cannot read",
    "carries no proof",
    "members",
    "a lesson of a task",
)


def counted(solved, way):
    """Whether a walk has ended, and what it counts; None where it cannot happen."""
    total, weight = [Fraction(0)] * solved.k, Fraction(1)
    for step, (s, a) in enumerate(way):
        if (s, a) not in solved.chances or (step and s not in solved.chances[tuple(way[step - 1])]):
            return None
        total = [x + weight * y for x, y in zip(total, solved.phi[s][a], strict=True)]
        weight *= solved.discount
    after = solved.chances[s, a]
    ended = set(after) <= solved.terminal
    for t, p in after.items() if ended else ():
        total = [x + weight * p * y for x, y in zip(total, solved.phi[t][0], strict=True)]
    return ended, total


def rows_of(solved, item, scope):
    """The rows of an item by brute force; None where it is no item of the task, or not true."""
    if isinstance(item, list):
        shown = {"scope": scope, "demonstrations": [item], "claim": "open"}
        if not is_true(solved, shown, only_shown=True):
            return None
        return [solved.row(s, a, b) for s, a in item for b in range(solved.m)]
    if item["kind"] == "comparison":
        rows = [solved.row(item["state"], item["better"], item["other"])]
    else:
        ways = item["ways"] if item["kind"] == "ranking" else [item["better"], item["other"]]
        found = [counted(solved, way) for way in ways]
        if None in found:
            return None
        rows = []
        for (way, (ended, more)), (other, (also, less)) in pairwise(zip(ways, found, strict=True)):
            if ended != also or way[0][0] != other[0][0] or not (ended or len(way) == len(other)):
                return None
            rows.append([x - y for x, y in zip(more, less, strict=True)])
    return rows if all(dot(row, solved.weights) >= 0 for row in rows) else None


def holds(solved, lesson):
    """What brute force says of a lesson, taking only items, claim, scope and witness from it."""
    proof = lesson["proof"]
    said = [rows_of(solved, item, proof["scope"]) for item in lesson["items"]]
    if None in said:
        return False
    rays = [*dict.fromkeys(primitive(row) for rows in said for row in rows)]
    rays = [ray for ray in rays if ray is not None]
    worths = [dot(row, solved.weights) for rows in said for row in rows]
    if "hardest" in lesson and lesson["hardest"] is not None:
        assert Fraction(lesson["hardest"]) == min(x for x in worths if x > 0)
    if proof["claim"] == "open":
        weights = [Fraction(x) for x in proof["weights"]]
        s, a, b = proof["row"]
        fits = all(dot(ray, weights) >= 0 for ray in rays) and a in solved.optimal[s]
        return fits and dot(solved.row(s, a, b), weights) < 0
    return all(cone_multipliers(d, rays) is not None for d in solved.policy_rows(proof["scope"]))


def files(task, **options):
    """A task and its lesson as they come out of their files, without words and counts."""
    lesson = didact.teach_mixed(task, feedback=KINDS, starts="all", **options).document()
    plain = {name: value for name, value in lesson.items() if name not in TEXTS}
    plain["facets"] = [{name: facet[name] for name in OF_FACETS} for facet in plain["facets"]]
    return as_read(task_document(task)), as_read(plain)


@pytest.mark.parametrize("kinds", [KINDS[:1], KINDS[1:2], KINDS[2:], KINDS])
def test_lessons_of_all_kinds_are_proved_and_one_item_less_is_refused(kinds):
    n_open = 0
    for what in [world(seed) for seed in range(6)] + [small_family(seed) for seed in (0, 5)]:
        lesson = didact.teach_mixed(what, feedback=kinds)
        line = verify(what, lesson.document())
        n_open += not lesson.is_complete
        shown = f"{len(lesson.items)} items ({lesson.n_pairs} pairs)"
        claim = f"{shown} teach" if lesson.is_complete else f"open: {shown}"
        assert claim in line
        for item in range(len(lesson.items) if lesson.is_complete else 0):
            document = lesson.document()
            for place in (document, document["proof"]):
                place["items"] = place["items"][:item] + place["items"][item + 1 :]
            with pytest.raises(ProofFailed):
                verify(what, document)
    assert bool(n_open) == (kinds == KINDS[2:]), "some ways never meet, or depend on chance"


def refuses(seeds, n_changes):
    """How many of the changed lessons are refused; those that are not are still true."""
    refused = accepted = 0
    for seed in seeds:
        kinds = {"cost": {"demonstrations": 9}} if seed % 2 else {}
        file, lesson = files(task_from_document(random_task(seed)), **kinds)
        solved = Solved(file)
        assert message_of(file, lesson) is None
        assert holds(solved, lesson)
        forged = list(changed(lesson))
        chosen = random.Random(seed).sample(forged, min(n_changes, len(forged)))
        for key, false in chosen:
            if json.dumps(false, default=str) == json.dumps(lesson):
                continue
            message = message_of(file, false)
            if message is not None:
                refused += 1
                assert "\n" not in message
                assert message.startswith(STEPS), message
            else:
                accepted += 1
                free = ("proof", "settings", "loss", "hardest", "uncovered", "witness", "facets")
                assert key in free or key not in false, key  # what is not said is not false
                assert holds(solved, false), false
    assert accepted, "harmless changes exist and must not be refused"
    return refused


def test_forged_mixes_are_refused_or_still_true():
    assert refuses((1, 4, 9, 15), 70) > 150


@pytest.mark.slow
def test_a_thousand_forged_mixes_are_refused_or_still_true():
    assert refuses(range(40), 300) > 1000


def test_rankings_stops_and_corrections_are_proved_too():
    task = didact.make("six-cell")
    ways = [[[2, 1], [5, 2], [4, 2], [3, 0]], [[2, 2], [1, 2]]]
    items = [
        didact.RankedTrajectories(ways),
        didact.Preference(*ways, correction=True),
        didact.Stop(ways[1], 1, off_is_worth_nothing=True),
        didact.Demonstration([[3, 0]]),
    ]
    verdict = didact.check(task, items)
    assert "items leave" in verify(task, verdict.proof) or verdict.teaches
    forged = as_read(verdict.proof)
    forged["items"] = [
        {**item, "after": 9} if "after" in item else item for item in forged["items"]
    ]
    assert "stops nothing" in message_of(as_read(task_document(task)), forged)


@pytest.mark.parametrize("after", [0, 1])
def test_a_stop_alone_can_teach_and_is_proved_by_what_would_have_followed(after):
    """Staying pays -1 and ending nothing: whoever stops it holds the feature to be no gain."""
    moves = Transitions.from_rows([(0, 0, 1, 1), (0, 1, 0, 1)], 2, 2)
    task = Task(MDP(moves, [[1], [0]], "1/2", start={0: 1}, terminal=[1]), [-1])
    verdict = didact.check(task, [didact.Stop([[0, 1]] * 2, after, off_is_worth_nothing=True)])
    assert verdict.teaches
    assert verify(task, verdict.proof).startswith("proved: 1 items (0 pairs) teach")
    share = Fraction(verdict.proof["multipliers"][0][0][1])
    assert share == 1 / (Fraction(3, 2) if after == 0 else Fraction(1, 2))


def test_demonstrations_among_items_stay_in_scope_and_comparisons_need_not():
    """State 2 has the moves of state 0 and is never reached: what is said of it is true."""
    rows = [(s, a, t, 1) for s in (0, 2) for a, t in ((0, 1), (1, s))]
    mdp = MDP(Transitions.from_rows(rows, 3, 2), [[1], [0], [1]], "1/2", start={0: 1}, terminal=[1])
    task = Task(mdp, [-1])
    verdict = didact.check(task, [didact.Comparison(2, 0, 1)])
    assert verify(task, verdict.proof).startswith("proved: 1 items (0 pairs) teach")
    with pytest.raises(InvalidInput, match="must stay in scope 'reachable'; state 2"):
        didact.check(task, [didact.Comparison(0, 0, 1), [(2, 0)]])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"kind": "wrong"}, "items[0] has no kind of its own"),
        ({"member": 1}, "items[0] must have no member"),
        ({"state": 0}, "items[0]: state 0 is terminal"),
        ({"better": 3, "other": 2}, "items[0]: the weights break it"),
    ],
)
def test_messages_name_the_item(change, words):
    task = didact.make("six-cell")
    document = didact.teach_mixed(task, feedback=["comparisons"]).document()
    assert {"better": 2, "other": 3}.items() <= document["items"][0].items()
    for place in (document, document["proof"]):
        place["items"] = [{**place["items"][0], **change}, *place["items"][1:]]
    with pytest.raises(ProofFailed, match=re.escape(words)):
        verify(task, document)


@pytest.mark.parametrize(
    ("better", "other"),
    [
        ([[2, 1], [5, 2]], [[2, 2]]),  # as long as each other, or both ended
        ([[2, 1]], [[5, 2]]),  # from one start
        ([[2, 1], [5, 2], [4, 2], [3, 0]], [[2, 2], [1, 3]]),  # one has ended
    ],
)
def test_trajectories_that_cannot_be_compared_are_refused(better, other):
    """What they say may be true, but it would fix the zero of the reward."""
    task = didact.make("six-cell")
    proof = dict(didact.teach_mixed(task, feedback=["comparisons"]).proof)
    proof["items"] = [*proof["items"], {"kind": "preference", "better": better, "other": other}]
    with pytest.raises(ProofFailed, match=r"items\[2\]: trajectories must begin together"):
        verify(task, proof)


def test_a_family_s_lesson_is_none_of_a_task():
    family = didact.Family([didact.make("six-cell")])
    with pytest.raises(ProofFailed, match="optimal must be a list of 6, not None"):
        verify(family[0], didact.teach(family).document())
    with pytest.raises(ProofFailed, match="optimal must be a list of 6, not None"):
        verify(family[0], didact.teach_mixed(family, feedback=KINDS).document())
