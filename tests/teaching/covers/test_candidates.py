"""Candidates: without repetition, with draws that keep their meaning, and within their limits."""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np
import pytest

import didact
from didact.errors import InvalidInput, InvalidParameter
from didact.teaching.covers import candidates
from tests.decisions import decisions, unit
from tests.laws.test_family_classes import small_family


@pytest.mark.parametrize("bits", [np.random.PCG64, np.random.MT19937])
@pytest.mark.parametrize("seed", range(4))
def test_sure_steps_take_the_draws_that_uncertain_ones_would(seed, bits):
    """Walked one by one, with two draws for each step of each walk."""
    task = didact.make("random-grid", size=4, n_features=3, seed=seed)
    plan, starts, each = didact.solve(task), np.arange(16), 5
    rng = np.random.Generator(bits(seed))
    states, lines = np.repeat(starts, each).tolist(), [[] for _ in range(16 * each)]
    for _ in range(7):
        draws = rng.random(2 * len(states)).tolist()
        for i, state in enumerate(states):
            actions = plan.optimal_actions(state)
            action = actions[int(draws[i] * len(actions))]
            lines[i].append(state * 4 + action)
            states[i] = int(task.mdp.transitions.successors[state * 4 + action])
    again = np.random.Generator(bits(seed))
    found = candidates._sample(task.mdp, plan, starts, each, 7, again)
    assert found.tolist() == [list(line) for line in dict.fromkeys(map(tuple, lines))]
    assert again.random() == rng.random()


def test_too_many_steps_are_refused_before_they_are_walked():
    task = didact.make("random-grid", size=4, n_features=3, seed=0)
    with pytest.raises(InvalidParameter, match="give a shorter horizon or fewer starts"):
        didact.teach(task, horizon=10**7)


def two_shops():
    """The same three decisions in two members."""
    states = [[unit(3, i), [0, 0, 0]] for i in range(3)]
    return didact.Family([decisions(states, [1, 2, 3])] * 2, names=["near", "far"])


def test_a_member_may_cost_more():
    family = two_shops()
    lesson = didact.teach(family, teacher="exact", horizon=1, member_cost={"near": "1/2"})
    assert {d.member for d in lesson.demonstrations} == {1}
    assert lesson.cost == lesson.lower_bound == 3
    both = {"near": "1/2", 1: 2}
    lesson = didact.teach(family, teacher="exact", horizon=1, member_cost=both)
    assert {d.member for d in lesson.demonstrations} == {0}
    assert lesson.cost == lesson.lower_bound == Fraction(7, 2), "one visit, three demonstrations"
    assert lesson.settings["member_cost"] == [[0, 0.5], [1, 2]]


def test_only_members_with_starts_show_anything():
    lesson = didact.teach(two_shops(), horizon=1, starts={"far": [0, 2], "near": [1]})
    assert {(d.member, d[0][0]) for d in lesson.demonstrations} == {(1, 0), (1, 2), (0, 1)}
    assert lesson.settings["starts"] == [[0, [1]], [1, [0, 2]]]
    part = didact.teach(two_shops(), horizon=1, starts={"far": [0, 2]})
    assert part.status == "partial"
    assert [gap.reason for gap in part.uncovered] == ["not reachable"]


def test_a_cost_function_is_told_the_member():
    lesson = didact.teach(
        two_shops(), teacher="exact", horizon=1, cost=lambda d: 5 if d.member == 0 else 2
    )
    assert lesson.cost == 6


def test_closing_stays_within_members():
    family = small_family(3)
    lesson = didact.teach(family, horizon=1, closed=True)
    assert lesson.closed
    assert didact.check(family, lesson).closed


def test_a_budget_is_for_the_whole_family():
    lesson = didact.teach(two_shops(), horizon=1, budget=2)
    assert len(lesson.demonstrations) == 2
    assert [gap.reason for gap in lesson.uncovered] == ["budget"]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"starts": [0]}, "starts of a family must be a table {member: states}"),
        ({"starts": {}}, "at least one member"),
        ({"starts": {"none": [0]}}, "starts: member must be a member's name"),
        ({"starts": {0: [77]}}, "starts"),
        ({"cost": {0: 1}}, "cost must be"),
        ({"member_cost": [3]}, "member_cost must be a table"),
        ({"member_cost": "x"}, "member_cost of member 0"),
        ({"member_cost": {0: -1}}, "must not be negative"),
        ({"member_cost": {5: 1}}, "member_cost: member must be"),
        ({"horizon": 0}, "horizon"),
        ({"bec": 3}, "bec must be an EquivalenceClass"),
    ],
)
def test_what_a_family_does_not_take_is_refused_in_one_line(given, words):
    with pytest.raises(InvalidInput, match=re.escape(words)):
        didact.teach(two_shops(), **given)


def test_what_only_a_family_takes_is_refused_for_a_task():
    task = didact.make("six-cell")
    with pytest.raises(InvalidInput, match="member_cost is for families"):
        didact.teach(task, member_cost={0: 1})
    with pytest.raises(InvalidInput, match="starts by member are for families"):
        didact.teach(task, starts={0: [1]})
    shown = didact.teach(didact.Family([task])).demonstrations
    with pytest.raises(InvalidInput, match="is of member 0 of a family"):
        didact.check(task, shown)


@pytest.mark.parametrize(
    ("shown", "words"),
    [
        ([[[0, 0]]], "must say whose it is"),
        ([didact.Demonstration([(0, 0)])], "must say whose it is"),
        ([(7, [(0, 0)])], "demonstration 1: member must be"),
        ([(0, [(0, 0)]), ("far", [(9, 0)])], "demonstration 2, step 1: state"),
        ([(0, 3)], "demonstration 1: a demonstration must be"),
    ],
)
def test_demonstrations_of_a_family_say_whose_they_are(shown, words):
    with pytest.raises(InvalidInput, match=re.escape(words)):
        didact.check(two_shops(), shown)


def test_wrong_steps_are_told_with_their_member():
    family = two_shops()
    verdict = didact.check(family, [("far", [(1, 1)]), (0, [(1, 0)])])
    (wrong,) = verdict.wrong
    assert (wrong.demonstration, wrong.state, wrong.action, wrong.better) == (0, 1, 1, 0)
    assert wrong.contradicted_by == ((0, 1, 0),)


def test_a_lesson_shows_whose_each_step_is():
    lesson = didact.teach(two_shops(), horizon=1)
    assert lesson.to_records()[0]["member"] == 0
    assert repr(lesson.demonstrations[0]).endswith("member=0)")
    assert lesson.document()["format"] == "didact.lesson/1"
    assert lesson._repr_html_().startswith("<")
