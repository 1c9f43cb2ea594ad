"""Families: one reward, checked to be one; and their short names."""

import copy
import pickle
import re
from fractions import Fraction

import numpy as np
import pytest

import didact
from didact.errors import InvalidInput
from didact.mdp import Demonstration
from didact.mdp.family import disjoint_union, sink_of


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
    with pytest.raises(InvalidInput, match=re.escape(words)):
        didact.Family(given, names=names)


@pytest.mark.parametrize("member", [2, -1, "other", True, None, 0.0])
def test_there_is_no_such_member(member):
    with pytest.raises(InvalidInput, match="number from 0 to 1"):
        didact.Family([task(), task()]).number(member)


def values_of(mdp, policy, weights):
    """The values of a policy (S, A) by a dense solve, a terminal state paying once."""
    n, m = mdp.n_states, mdp.n_actions
    moves = np.zeros((n * m, n))
    for row in range(n * m):
        for entry in range(mdp.transitions.offsets[row], mdp.transitions.offsets[row + 1]):
            probability = mdp.transitions.probabilities.floats[entry]
            moves[row, mdp.transitions.successors[entry]] += probability
    paid = mdp.features.floats @ weights
    paid = np.repeat(paid[:, None], m, axis=1) if paid.ndim == 1 else paid
    taken = np.where(mdp.terminal[:, None], 1 / m, policy)
    chain = np.einsum("sa,sat->st", policy, moves.reshape(n, m, n))
    chain[mdp.terminal] = 0
    return np.linalg.solve(np.eye(n) - mdp.discount * chain, (taken * paid).sum(axis=1))


@pytest.mark.parametrize("discounts", [("0.9", "0.9"), ("0.9", "1/2"), ("0.3", "0.9")])
def test_values_in_the_disjoint_union_are_those_of_the_members(discounts):
    ended = didact.gridworld(["abt"], {"a": 1, "b": -2, "t": 3}, terminal="t", discount="0.9")
    other = didact.make("garnet", n_states=4, n_actions=4, n_features=3, seed=1).mdp
    by_action = np.repeat(other.features.floats[:, None], 4, axis=1)
    by_action[:, 1, 0] += 2
    ended, other = (
        didact.Task(
            didact.MDP(mdp.transitions, phi, discount, start=mdp.start, terminal=mdp.terminal),
            ended.true_weights,
            name=name,
        )
        for mdp, phi, discount, name in (
            (ended.mdp, ended.mdp.features, discounts[0], "ended"),
            (other, by_action, discounts[1], "other"),
        )
    )
    family = didact.Family([ended, other])
    union = disjoint_union(family)
    rng, weights = np.random.default_rng(0), rng_weights()
    policies = [rng.dirichlet(np.ones(4), size=task.mdp.n_states) for task in family]
    whole = np.ones((union.task.mdp.n_states, 4)) / 4
    whole[: union.first[-1]] = np.concatenate(policies)
    found = values_of(union.task.mdp, whole, weights)
    expected = [values_of(t.mdp, p, weights) for t, p in zip(family, policies, strict=True)]
    assert found[: union.first[-1]] == pytest.approx(np.concatenate(expected))
    assert (sink_of(union.task.mdp) is None) == (discounts[0] == discounts[1])
    shown = Demonstration([(2, 3), (0, 1)], member=1)
    assert union.parted(union.joined(shown)) == shown
    assert union.task.mdp.state_name(3) == "other: state 0"


def rng_weights():
    return np.random.default_rng(1).normal(size=3)


def test_members_of_other_actions_make_no_union():
    three = didact.make("garnet", n_states=4, n_actions=3, n_features=2, seed=1)
    given = task()
    family = didact.Family([given, didact.Task(three.mdp, given.true_weights, name="three")])
    with pytest.raises(InvalidInput, match="as many actions as the first, 2"):
        disjoint_union(family)
