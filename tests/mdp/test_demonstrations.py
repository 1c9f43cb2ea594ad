"""Demonstrations are tuples of plain pairs, checked against their MDP."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from didact.errors import InvalidInput
from didact.inputs import shown
from didact.mdp import MDP, Demonstration, as_demonstrations

PAIRS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=6)


def chain() -> MDP:
    """States 0 and 1, terminal 2; two actions."""
    moves = np.zeros((3, 2, 3))
    moves[0, :, 1] = moves[1, :, 2] = 1
    return MDP(moves, np.eye(3), 0.5, terminal=[2])


@given(PAIRS)
def test_equal_pairs_are_equal_demonstrations_however_given(pairs: list[tuple[int, int]]) -> None:
    ways = [
        Demonstration(pairs),
        Demonstration([list(p) for p in pairs]),
        Demonstration(np.array(pairs)),
        Demonstration(iter(pairs)),
        Demonstration(np.array(pairs, dtype=np.uint8)),
        Demonstration(Demonstration(pairs)),
    ]
    assert len(set(ways)) == 1
    for demonstration in ways:
        assert demonstration.pairs == tuple(pairs)
        assert list(demonstration) == pairs
        assert len(demonstration) == len(pairs)
        assert demonstration[-1] == pairs[-1]
        assert all(type(n) is int for pair in demonstration for n in pair)
        assert demonstration != Demonstration([*pairs, (0, 0)])


def test_a_demonstration_is_frozen() -> None:
    with pytest.raises(AttributeError):
        Demonstration([(0, 1)]).pairs = ()  # type: ignore[misc]


def test_lists_and_demonstrations_are_taken_alike() -> None:
    given_as: list[Any] = [Demonstration([(0, 1)]), [[0, 1], [1, 0]], ((1, 1),), np.array([[0, 0]])]
    assert as_demonstrations(given_as, chain()) == tuple(map(Demonstration, given_as))
    assert as_demonstrations([], chain()) == ()


@pytest.mark.parametrize(
    ("pairs", "place", "value"),
    [
        ([], "at least one", "pair"),
        ([[0]], "step 1", "[0]"),
        ([[0, 1], [0, 1, 2]], "step 2", "[0, 1, 2]"),
        ([1, 2], "step 1", "1"),
        ([[0, 0.0]], "step 1: action", "0.0"),
        ([[True, 0]], "step 1: state", "True"),
        ([[0, -1]], "step 1: action", "-1"),
        ([["0", 0]], "step 1: state", "'0'"),
        (["01"], "step 1", "'01'"),
        ("01", "a demonstration", "'01'"),
        (5, "a demonstration", "5"),
        (None, "a demonstration", "None"),
        ({0: 1}, "a demonstration", "{0: 1}"),
        (np.array(3), "a demonstration", "3"),
        ([[10**10_000, 0]], "step 1: state", "very long int"),
        ([[0, 2**62]], "step 1: action", "4611686018427387904"),
    ],
    ids=shown,
)
def test_bad_pairs_are_refused_in_one_line(pairs: Any, place: str, value: str) -> None:
    for build in (Demonstration, lambda p: as_demonstrations([[[0, 0]], p], chain())):
        with pytest.raises(InvalidInput) as caught:
            build(pairs)
        message = str(caught.value)
        assert place in message
        assert value in message
        assert "\n" not in message
    assert message.startswith("demonstration 2: ")


@pytest.mark.parametrize(
    ("given_as", "place", "value"),
    [
        ([[[3, 0]]], "demonstration 1, step 1: state", "3"),
        ([[[0, 0]], [[0, 1], [0, 2]]], "demonstration 2, step 2: action", "2"),
        ([[[0, 0], [1, 0], [2, 0]]], "demonstration 1, step 3: state 2 is terminal", "remove it"),
        (5, "demonstrations", "5"),
        (None, "demonstrations", "None"),
        ("[[0, 1]]", "demonstrations", "'[[0, 1]]'"),
        ({"a": 1}, "demonstrations", "{'a': 1}"),
        (Demonstration([(0, 1)]), "demonstrations", "Wrap it in a list"),
    ],
    ids=shown,
)
def test_demonstrations_must_fit_the_model(given_as: Any, place: str, value: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        as_demonstrations(given_as, chain())
    assert place in str(caught.value)
    assert value in str(caught.value)
