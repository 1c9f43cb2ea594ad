"""Plain words say the truth: each sentence is read back and decided by brute force in fractions."""

import re
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from didact import MDP, Task, equivalence_class, from_gymnasium, make
from didact.report.page.neutral import slips
from didact.report.page.plain import (
    MAX_COUNTED,
    SMALL,
    shown_words,
    steps_below,
    steps_borne,
    unit,
    wishes,
)
from didact.report.page.scene import scene_of

COLOURS = ["white", "grey", "red", "blue"]
weights_of = st.lists(st.fractions(-10, 10, max_denominator=20), min_size=2, max_size=4)
discounts = st.sampled_from([Fraction(0), Fraction(1, 2), Fraction(9, 10), Fraction(19, 20)])


def task_with(weights, discount="0.9") -> Task:
    k = len(weights)
    moves = [[[int(t == a) for t in range(k)] for a in range(k)] for _ in range(k)]
    features = [[int(i == j) for j in range(k)] for i in range(k)]
    return Task(MDP(moves, features, discount, feature_names=COLOURS[:k]), list(weights))


def in_a_row(weight: Fraction, n: int, discount: Fraction) -> Fraction:
    return sum((weight * discount**t for t in range(n)), Fraction(0))


def read(text: str) -> tuple[int, Fraction | int]:
    """Which feature, and how often: 'two steps on grey'; -1 for any number."""
    if text.startswith("any number of steps on "):
        return COLOURS.index(text.removeprefix("any number of steps on ")), -1
    number, _, name = re.fullmatch(r"(?:at least )?([\d,]+|\w+) (steps?) on (\w+)", text).groups()
    n = SMALL.index(number) if number in SMALL else int(number.replace(",", ""))
    return COLOURS.index(name), n


@given(weights_of, discounts)
def test_what_it_would_rather_do_is_what_it_would_do(weights, discount):
    task = task_with(weights, discount)
    for line in wishes(task):
        rather = re.fullmatch(r"It would rather (take|have) (.*) than (.*)\.", line)
        first = re.fullmatch(r"For (.*) it would first take (?:up to )?(.*)\.", line)
        same = re.fullmatch(r"One (.*) is as (?:good|bad) to it as one (.*)\.", line)
        if rather:
            (chosen, n), (left, m) = read(rather[2]), read(rather[3])
            places = chosen, left
            counts = [n if n != -1 else 60, m if m != -1 else 60]
            worth = [in_a_row(weights[i], c, discount) for i, c in zip(places, counts, strict=True)]
            assert worth[0] > worth[1]
        elif first:
            (good, one), (bad, n) = read(first[1]), read(first[2])
            assert one == 1
            assert discount**n * weights[good] + in_a_row(weights[bad], n, discount) > 0
            if n < MAX_COUNTED:
                more = in_a_row(weights[bad], n + 1, discount)
                assert discount ** (n + 1) * weights[good] + more <= 0
        elif same:
            pair = [COLOURS.index(text.removeprefix("step on ")) for text in same.groups()]
            assert weights[pair[0]] == weights[pair[1]]
        else:
            assert line.startswith(
                ("It likes", "It avoids", "It does not care", "It has no", "One")
            )


@given(
    st.fractions("1/20", 10, max_denominator=20),
    st.fractions("1/20", 10, max_denominator=20),
    discounts,
)
def test_steps_are_counted_to_the_last_one(each, whole, discount):
    n = steps_below(each, whole, discount)
    if n is None:
        assert all(in_a_row(each, m, discount) < whole for m in (1, 5, 50))
    elif n < MAX_COUNTED:
        assert in_a_row(each, n, discount) < whole <= in_a_row(each, n + 1, discount)
    borne = steps_borne(whole, each, discount)
    assert borne == 0 or discount**borne * whole > in_a_row(each, borne, discount)


@given(st.lists(st.integers(-6, 6), min_size=2, max_size=3), st.data())
def test_what_is_shown_holds_for_the_reward(weights, data):
    """Whole numbers of steps, weighed against each other as the sentence says."""
    normal = data.draw(st.lists(st.integers(-7, 7), min_size=len(weights), max_size=len(weights)))
    if sum(n * w for n, w in zip(normal, weights, strict=True)) < 0:
        normal = [-n for n in normal]
    line = shown_words(task_with(weights), normal, equality=False)
    rather = re.fullmatch(r"It would rather (?:take|have) (.*) than (.*)\.", line)
    together = re.fullmatch(r"To it (.*) is no (worse|better) than (.*) together\.", line)
    alone = re.fullmatch(r"One (step on \w+) is never (bad|good) for it\.", line)
    if rather:
        (chosen, n), (left, m) = map(read, rather.groups())
        assert n * weights[chosen] >= m * weights[left]
    elif together:
        (one, n), (other, m) = read(together[1]), read(together[3])
        surplus = n * weights[one] - m * weights[other]
        assert surplus >= 0 if together[2] == "worse" else surplus <= 0
    elif alone:
        weight = weights[COLOURS.index(alone[1].removeprefix("step on "))]
        assert weight >= 0 if alone[2] == "bad" else weight <= 0
    else:
        assert line.startswith(("It likes", "Nothing", "About", *(n.capitalize() for n in SMALL)))


def test_the_six_cells_in_plain_words():
    task = make("six-cell")
    bec = equivalence_class(task)
    lines = [
        shown_words(task, bec.rows.exact[row], equality=False) for row in bec.cone.facet_rows()
    ]
    assert "It would rather take two steps on white than one step on grey." in lines
    assert wishes(task)[0] == "It avoids, the worst first: a step on grey, a step on white."
    one = Task(task.mdp, [0, -1], name="one", layout=task.layout)
    assert "It avoids a step on grey." in wishes(one)


@pytest.mark.parametrize(
    ("n", "words"),
    [(1, "one step that pays −100"), (3, "three steps that pay −100"),
     (1000, "1,000 steps that pay −100")],
)  # fmt: skip
def test_rewards_of_environments_are_said_as_pay(n, words):
    cliff = from_gymnasium("CliffWalking-v1")
    unknown = Task(cliff.mdp, cliff.true_weights, name="my cliff", layout=cliff.layout)
    assert unit(unknown, 0, n) == words


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("Taxi-v4", "For delivering the passenger it would first take up to 13 moves."),
        ("CliffWalking-v1", "It avoids, the worst first: falling off the cliff, a step."),
        ("FrozenLake-v1", "It likes reaching the goal."),
    ],
)
def test_known_environments_bring_their_words(name, sentence):
    assert sentence in wishes(from_gymnasium(name))


def test_own_worlds_give_phrases_by_the_names_of_features():
    mdp = MDP([[[1]]], [[[1, 0]]], "0.5", feature_names=["opening the door", "a wrong turn"])
    task = Task(mdp, [3, -1])
    assert unit(task, 0) == "opening the door"
    assert unit(task, 1, 3) == "three times a wrong turn"


def test_slips_are_told_as_the_environment_has_them():
    lake = from_gymnasium("FrozenLake-v1", map_name="8x8")
    assert slips(lake, scene_of(lake)) == (
        "It slips: of its moves 1 in 3 go where it wants and 2 in 3 go to one side or the other "
        "instead."
    )
    sure = from_gymnasium("FrozenLake-v1", is_slippery=False)
    assert slips(sure, scene_of(sure)) == ""
    garnet = make("garnet")
    assert slips(garnet, None).startswith("Chance plays a part")
