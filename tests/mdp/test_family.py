"""Families: one reward, checked to be one; and their short names."""

import copy
import pickle
from fractions import Fraction

import pytest

import didact
from didact.errors import InvalidInput


def task(weights=(1, "1/3"), n_states=2, discount="0.9", name="task"):
    moves = didact.Transitions.from_rows(
        [(s, a, (s + a) % n_states, 1) for s in range(n_states) for a in range(2)], n_states, 2
    )
    features = [[int(s == 0), int(s > 0)][: len(weights)] for s in range(n_states)]
    return didact.Task(didact.MDP(moves, features, discount), list(weights), name=name)


def test_members_may_differ_in_all_but_the_reward():
    family = didact.Family([task(), task(n_states=5, discount="0.5")], names=["small", "large"])
    assert len(family) == 2
    assert [member.mdp.n_states for member in family] == [2, 5]
    assert family["large"] is family[1] is family.members[1]
    assert list(family.true_weights.fractions()) == [1, Fraction(1, 3)]
    assert repr(family) == "Family('family', 2 members, 7 states, 2 features)"


def test_names_are_the_tasks_own_where_those_differ():
    assert didact.Family([task(name="a"), task(name="b")]).names == ("a", "b")
    assert didact.Family([task(name="a"), task(name="a")]).names == ("0", "1")


def test_a_family_is_copied_whole():
    family = didact.Family([task(), task(n_states=3)], names=["x", "y"], name="two")
    for other in (copy.deepcopy(family), pickle.loads(pickle.dumps(family))):
        assert (other.names, other.name) == (("x", "y"), "two")
        assert other[1].mdp.n_states == 3


@pytest.mark.parametrize(
    ("given", "names", "words"),
    [
        ([], None, "at least one member"),
        (task(), None, "Put it into a list"),
        ([task(), 3], None, "members[1] must be a Task"),
        ([task(), task((1,))], None, "as many features as the first, 2; members[1] has 1"),
        ([task(), task((1, 0.3333333333333333))], None, "weights[1] of members[1]"),
        ([task(), task((3, 1))], None, "weights[0] of members[1] is 3, and 1 of members[0]"),
        ([task(), task()], ["a"], "names must have one for each of 2 members; it has 1"),
        ([task(), task()], ["a", "a"], "names[1] is 'a' again"),
        ([task(), task()], ["a", 1], "names[1] must be a string"),
        ([task()], "a", "names must be a list"),
    ],
)
def test_a_wrong_family_is_refused_in_one_line(given, names, words):
    with pytest.raises(InvalidInput) as caught:
        didact.Family(given, names=names)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("member", [2, -1, "other", True, None, 0.0])
def test_there_is_no_such_member(member):
    with pytest.raises(InvalidInput, match="number from 0 to 1"):
        didact.Family([task(), task()]).number(member)
