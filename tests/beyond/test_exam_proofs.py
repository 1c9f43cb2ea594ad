"""The independent checker on exams: true proofs pass, and no change makes a false one pass."""

import json
import random
from fractions import Fraction

import numpy as np
import pytest

import didact
from didact.errors import ProofFailed
from didact.mdp.files import task_document, task_from_document
from didact.teaching.lesson import as_read, verify
from tests.beyond.test_feedback_proofs import counted
from tests.effort import chunks, number
from tests.laws.test_exams import world
from tests.laws.test_family_classes import small_family
from tests.test_proofcheck import (
    Solved,
    changed,
    cone_multipliers,
    dot,
    message_of,
    primitive,
    random_task,
    six_cells,
)

TEXTS = {"place", "labels", "words", "says", "angle", "statement", "conditions", "task", "rows"}
STEPS = ("questions", "counts", "optimal", "scope", "multipliers", "agents", "claim", "settings")
STEPS += ("generators", "fewest")
STEPS += ("ask", "arithmetic", "lower_bound", "open", "closed", "n_close_calls", "cannot read")


def files(task, ask="comparisons"):
    """A task and its exam as they come out of their files."""
    return as_read(task_document(task)), as_read(didact.exam(task, ask=ask).document())


def without_texts(exam):
    """The exam without what is there for readers, which nothing is concluded from."""
    questions = [{k: v for k, v in q.items() if k not in TEXTS} for q in exam["questions"]]
    proof = {k: v for k, v in exam["proof"].items() if k not in TEXTS}
    plain = {k: v for k, v in exam.items() if k not in TEXTS}
    return {**plain, "questions": questions, "proof": proof}


def decides(solved, questions) -> bool:
    """By brute force: keys are right, every row follows, and no question may be left out."""
    rays, ties = [], []
    for x in questions:
        s, (a, b) = x["state"], x["options"]
        row = solved.row(s, a, b) if x["kind"] == "comparison" else between(solved, s, a, b)
        if row is None:
            return False
        worth = dot(row, solved.weights)
        if x["key"] != ("first" if worth > 0 else "second" if worth < 0 else "equal"):
            return False
        first, second = (a, b) if x["kind"] == "comparison" else (a[0][1], b[0][1])
        if (second if worth < 0 else first) not in solved.optimal[s]:
            return False
        direction = primitive([-y for y in row] if worth < 0 else row)
        if direction is None:
            return False
        (rays if worth else ties).append(direction)
    return follows(solved, rays, ties)


def between(solved, s, first, second):
    """What two walks differ by, if to all agents with our optimal sets that says the same."""
    (ended, more), (also, less) = (counted(solved, way) or (None, None) for way in (first, second))
    if more is None or less is None or first[0][0] != s or second[0][0] != s:
        return None
    sure = all(len(solved.chances[t, a]) == 1 for way in (first, second) for t, a in way)
    best = all(a in solved.optimal[t] for way in (first, second) for t, a in way[1:])
    ends = [*solved.chances[tuple(first[-1])]], [*solved.chances[tuple(second[-1])]]
    meet = (ended and also) or (ends[0] == ends[1] and len(first) == len(second))
    return [x - y for x, y in zip(more, less, strict=True)] if sure and best and meet else None


def decides_by_actions(solved, questions) -> bool:
    """By brute force: keys are all best actions, the states are closed, and every row follows."""
    asked = {x["state"] for x in questions}
    rays, ties = [], []
    for x in questions:
        s, best = x["state"], solved.optimal[x["state"]]
        if x["key"] != best or not best:
            return False
        if not {t for a in best for t in solved.chances[s, a]} <= asked | solved.terminal:
            return False
        for a, b in ((a, b) for a in best for b in range(solved.m)):
            direction = primitive(solved.row(s, a, b))
            if direction is not None:
                (ties if b in best else rays).append(direction)
    return follows(solved, rays, ties)


def follows(solved, rays, ties) -> bool:
    both = [*rays, *ties, *(tuple(-x for x in tie) for tie in ties)]
    return all(cone_multipliers(row, both) is not None for row in solved.policy_rows("reachable"))


@pytest.mark.parametrize("name", ["six-cell", "uvm-failure", "Taxi-v4"])
def test_exams_are_proved_to_decide(name):
    task = didact.make(name)
    made = didact.exam(task)
    line = verify(task, made.document())
    assert line.startswith(f"proved: {len(made)} questions decide ")
    assert "proved fewest: no such exam has fewer than" in line


def test_exams_of_families_are_proved_too():
    grids = [didact.make("random-grid", size=3, n_features=3, seed=s) for s in range(3)]
    weights = grids[0].true_weights
    family = didact.Family([didact.Task(g.mdp, weights, name=str(i)) for i, g in enumerate(grids)])
    made = didact.exam(family)
    assert "questions decide" in verify(family, made.document())
    document = made.document()
    document["questions"][0]["member"] = 1 - document["questions"][0]["member"] % 2
    with pytest.raises(ProofFailed):
        verify(family, document)


@pytest.mark.parametrize("seed", chunks(6, 12))
def test_random_exams_are_proved_and_a_question_less_is_refused(seed):
    task = world(seed)
    file, exam = files(task)
    assert message_of(file, exam) is None
    solved = Solved(file)
    for left in range(len(exam["questions"])):
        fewer = {**exam, "questions": exam["questions"][:left] + exam["questions"][left + 1 :]}
        assert message_of(file, fewer) is not None
        assert not decides(solved, fewer["questions"])


def three_ends():
    """State 0 earns e1 or nothing, state 1 e2 or nothing, state 2 e1 or e2; w = (2, 1)."""
    transitions = np.zeros((6, 2, 6))
    for state, ends in enumerate([(3, 5), (4, 5), (3, 4)]):
        transitions[state, [0, 1], ends] = 1
    features = [[0, 0], [0, 0], [0, 0], [1, 0], [0, 1], [0, 0]]
    start = {state: "1/3" for state in range(3)}
    mdp = didact.MDP(transitions, features, discount="1/2", start=start, terminal=[3, 4, 5])
    return didact.Task(mdp, [2, 1])


def test_a_worse_action_is_never_taken_away():
    """e1 - e2 is the first row less the second: agents (1, 2) answer so, and are wrong in 2."""
    file, exam = files(three_ends(), "actions")
    assert [x["state"] for x in exam["questions"]] == [1, 2]
    exam["questions"][1] |= {"state": 0, "costs": [0, 1]}
    exam["proof"] |= {
        "generators": [[1, 1], [0, 1]],
        "multipliers": [[[0, "1"]], [[1, "1"]], [[0, "1"], [1, "-1"]]],
    }
    assert not decides_by_actions(Solved(file), exam["questions"])
    assert message_of(file, exam) == "multipliers[2] < 0"


def test_rows_that_nobody_is_asked_about_prove_nothing():
    file, exam = files(three_ends(), "actions")
    proof = exam["proof"]
    unasked = {**exam, "questions": [exam["questions"][0]]}
    assert not decides_by_actions(Solved(file), unasked["questions"])
    assert message_of(file, unasked) == "generators[1][0] must be a whole number below 1, not 1"
    worse = {**proof, "generators": [[0, 1], [1, 2]]}  # the rows of the second action
    assert message_of(file, {**exam, "proof": worse}) == "generators[1]: there is no such row"


def test_items_that_nobody_is_asked_about_prove_nothing():
    file, exam = files(three_ends(), "actions")
    item = {"kind": "comparison", "state": 2, "better": 0, "other": 1}
    fewer = {**exam, "questions": [exam["questions"][0]]}
    assert not decides_by_actions(Solved(file), fewer["questions"])
    for generators in ([[0, 0], [0, 0]], [[0, 0], [1, 1]], [[1, 1], [0, 0]]):
        forged = {**exam["proof"], "items": [item, item], "generators": generators}
        assert message_of(file, {**fewer, "proof": forged}) is not None
    forged = {**exam["proof"], "items": [{**item, "state": s} for s in (1, 2)]}
    forged["generators"] = [[0, 0], [1, 0]]
    assert message_of(file, {**fewer, "proof": forged}).startswith("generators[1][0] must be")


@pytest.mark.parametrize("kind", ["comparison", "preference", None])
def test_an_exam_of_actions_asks_for_actions(kind):
    file, exam = files(three_ends(), "actions")
    first, second = exam["questions"]
    changed_one = [first, {**second, "kind": kind} if kind else [1]]
    assert message_of(file, {**exam, "questions": changed_one}) == "questions[1] must be of actions"


def test_a_state_that_is_asked_twice_is_one_question_too_many():
    file, exam = files(three_ends(), "actions")
    twice = {**exam, "questions": [*exam["questions"], exam["questions"][1]], "lower_bound": 3}
    assert message_of(file, exam) is None
    assert message_of(file, twice) == "questions: a state is asked twice"


@pytest.mark.parametrize("ask", ["actions", "preferences"])
def test_exams_of_other_kinds_are_proved_and_a_question_less_is_refused(ask):
    oracle = decides_by_actions if ask == "actions" else decides
    n_proved = 0
    for seed in range(10):
        file, exam = files(world(seed), ask)
        assert (exam["proof"] is None) == bool(exam["open"])
        if exam["proof"] is None:
            continue
        assert message_of(file, exam) is None
        solved = Solved(file)
        assert oracle(solved, exam["questions"])
        n_proved += len(exam["questions"]) > 0
        for left in range(len(exam["questions"])):
            kept = exam["questions"][:left] + exam["questions"][left + 1 :]
            assert message_of(file, {**exam, "questions": kept}) is not None
            assert not oracle(solved, kept)
    assert n_proved >= 4
    family = small_family(0)
    assert "questions decide" in verify(family, didact.exam(family, ask=ask).document())


def test_an_exam_of_actions_that_is_not_closed_has_no_proof():
    task = didact.make("six-cell")
    assert didact.exam(task, ask="actions", closed=False).proof is None
    document = didact.exam(task, ask="actions").document()
    document["questions"] = [q for q in document["questions"] if q["state"] != 3]  # the way's end
    with pytest.raises(ProofFailed, match="and is not asked"):
        verify(task, document)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"options": [0, 1, 3, 2]}, "is not a whole state in scope"),
        ({"state": 0}, "is not a whole state in scope"),
        ({"key": [0, 1]}, "key must be"),
        ({"costs": [0, 0, 0, 0]}, "costs must be"),
    ],
)
def test_forged_questions_about_actions_are_named(change, words):
    task = didact.make("six-cell")
    document = didact.exam(task, ask="actions").document()
    document["questions"][0] |= change
    with pytest.raises(ProofFailed, match=rf"questions\[0\].*{words}"):
        verify(task, document)
    fresh = didact.exam(task, ask="actions").document()
    with pytest.raises(ProofFailed, match="lower_bound must be a whole number below 5"):
        verify(task, {**fresh, "lower_bound": len(fresh["questions"]) + 1})


@pytest.mark.parametrize(
    ("ways", "words"),
    [
        ([[[2, 1]], [[2, 2]]], "do not meet"),
        ([[[2, 1], [5, 0]], [[2, 2], [1, 3]]], "leaves the best policy"),
        ([[[5, 2], [4, 2]], [[5, 0], [2, 1]]], "leaves the best policy"),
    ],
)
def test_trajectories_whose_answer_is_no_matter_of_behaviour_are_refused(ways, words):
    """An agent that is aligned might answer otherwise; the last ones begin elsewhere."""
    task = didact.make("six-cell")
    document = didact.exam(task, ask="preferences").document()
    document["questions"][0] |= {"state": 2, "options": ways}
    with pytest.raises(ProofFailed, match=rf"questions\[0\]: .*{words}"):
        verify(task, document)


@pytest.mark.parametrize(
    ("seed", "ask"),
    [
        *((seed, "comparisons") for seed in (1, 4, 9)),
        (4, "actions"),
        (None, "preferences"),
    ],
)
def test_every_forged_exam_is_refused_or_still_decides(seed, ask):
    task = task_from_document(six_cells() if seed is None else random_task(seed))
    file, exam = files(task, ask)
    exam = without_texts(exam)
    solved = Solved(file)
    oracle = decides_by_actions if ask == "actions" else decides
    assert message_of(file, exam) is None
    refused = accepted = 0
    forged = list(changed(exam))
    few = random.Random(1).sample(forged, number(min(120, len(forged)), len(forged)))
    for key, false in few:
        if json.dumps(false, default=str) == json.dumps(exam):
            continue
        message = message_of(file, false)
        if message is None:
            harmless = {"lower_bound"} if ask == "actions" else set()
            assert key in {"questions", "proof", "settings", *harmless}, (key, false)
            accepted += 1
            assert oracle(solved, false["questions"]), false
        else:
            refused += 1
            assert "\n" not in message
            assert message.startswith((*STEPS, "members", "carries no proof")), message
    assert refused > len(few) / 2
    assert accepted > 0, "harmless changes exist and must not be refused"


def test_an_exam_of_another_task_or_without_its_key_is_refused():
    task = didact.make("six-cell")
    other = didact.Task(task.mdp, [Fraction(-2), Fraction(-1)])
    with pytest.raises(ProofFailed):
        verify(other, didact.exam(task).document())
    with pytest.raises(ProofFailed, match="carries no proof"):
        verify(task, didact.exam(task).document(key=False))
    with pytest.raises(ProofFailed, match="carries no proof"):
        verify(task, didact.exam(task, ask="actions", closed=False).document())


def test_a_question_too_many_is_refused():
    """Asked twice, with agents and a bound to match: no agent fails one of the two alone."""
    file, exam = files(didact.make("six-cell"))
    proof = exam["proof"]
    twice = {
        **exam,
        "questions": [*exam["questions"], exam["questions"][0]],
        "lower_bound": len(exam["questions"]) + 1,
        "proof": {**proof, "agents": [*proof["agents"], proof["agents"][0]]},
    }
    assert message_of(file, twice).startswith("agents[0] must fail question 0 alone")
