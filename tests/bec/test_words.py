import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from didact.bec.classes import demonstration_class, equivalence_class
from didact.bec.words import describe, describe_half_space, half_space_words
from didact.errors import InvalidInput, InvalidNumber, InvalidParameter
from didact.teaching import teach
from didact.worlds import from_gymnasium, make
from tests.bec.test_cone import task_of_rows

TWO = ("white", "grey")
THREE = ("white", "sand", "grey")
COSTS, GAINS, MIXED = (-1, -10), (1, 2), (1, -1)

ENTRIES = st.one_of(
    st.integers(-6, 6),
    st.fractions(min_value=-1000, max_value=1000, max_denominator=1000),
    st.sampled_from([Fraction(1, 10**9), -Fraction(1, 10**9), Fraction(9996, 10000)]),
)


@st.composite
def half_spaces(draw):
    n_features = draw(st.integers(1, 8))
    vector = st.lists(ENTRIES, min_size=n_features, max_size=n_features)
    return draw(vector), draw(st.none() | vector)


def weights_around(normal, seed, count=40):
    """Random weights, half of them exactly on the hyperplane when there is one."""
    rng = np.random.default_rng(seed)
    for index in range(count):
        weights = [Fraction(int(value)) for value in rng.integers(-9, 10, len(normal))]
        if index % 2 and any(normal):
            pivot = next(i for i, value in enumerate(normal) if value)
            rest = sum(
                n * w for i, (n, w) in enumerate(zip(normal, weights, strict=True)) if i != pivot
            )
            weights[pivot] = -rest / Fraction(normal[pivot])
        yield weights


def dot(normal, weights):
    return sum(n * w for n, w in zip(normal, weights, strict=True))


@pytest.mark.parametrize(
    ("normal", "weights", "expected"),
    [
        ((2.539, -1), None, "2.54 steps on white are worth at least one step on grey"),
        ((2.539, -1), COSTS, "one step on grey costs at least 2.54 times a step on white"),
        ((2.539, -1), GAINS, "one step on grey is worth at most 2.54 times a step on white"),
        ((2.539, -1), MIXED, "2.54 steps on white are worth at least one step on grey"),
        ((1, -2.539), None, "one step on white is worth at least 2.54 steps on grey"),
        ((1, -2.539), COSTS, "one step on white costs at most 2.54 times a step on grey"),
        ((1, -2.539), GAINS, "one step on white is worth at least 2.54 times a step on grey"),
        ((3, -3), None, "one step on white is worth at least one step on grey"),
        ((3, -3), COSTS, "one step on grey costs at least as much as a step on white"),
        ((-3, 3), GAINS, "one step on grey is worth at least as much as a step on white"),
        ((-1, 0), None, "a step on white is never a gain"),
        ((-1, 0), COSTS, "a step on white is never a gain"),
        ((0, 7), GAINS, "a step on grey is never a loss"),
        ((1, 2), None, "2 steps on grey and 1 on white together are never a loss"),
        ((-1, -2), MIXED, "2 steps on grey and 1 on white together are never a gain"),
        ((0, 0), None, "every reward agrees"),
        ((1, -1e-9), None, "one step on white is worth at least 1e-9 steps on grey"),
        ((1, -1e-9), COSTS, "one step on grey costs at least 1e9 times a step on white"),
        ((10004, -10000), None, "1.0004 steps on white are worth at least one step on grey"),
        ((0, -3), (0, 0), "a step on grey is never a gain"),
        ((2, -1), (0, -1), "2 steps on white are worth at least one step on grey"),
    ],
)
def test_two_features(normal, weights, expected):
    assert describe_half_space(normal, TWO, weights=weights) == expected


@pytest.mark.parametrize(
    ("normal", "weights", "expected"),
    [
        ((2.539, -1), None, "2.54 steps on white are worth exactly one step on grey"),
        ((2.539, -1), COSTS, "one step on grey costs exactly 2.54 times a step on white"),
        ((-2, 1), GAINS, "one step on grey is worth exactly 2 times a step on white"),
        ((1, -1), COSTS, "one step on grey costs exactly as much as a step on white"),
        ((0, -1), None, "a step on grey is worth exactly nothing"),
        ((-1, -1), None, "1 step on white and 1 on grey together are worth exactly nothing"),
    ],
)
def test_equalities(normal, weights, expected):
    assert describe_half_space(normal, TWO, equality=True, weights=weights) == expected


def test_three_features():
    assert describe_half_space((2.54, 1, -3), THREE) == (
        "2.54 steps on white and 1 on sand together are worth at least 3 steps on grey"
    )
    assert describe_half_space((2.54, 1, -3), THREE, weights=(-1, -2, -3)) == (
        "3 steps on grey cost at least 2.54 steps on white and 1 on sand"
    )
    assert describe_half_space((-2.54, -1, 3), THREE, weights=(-1, -2, -3)) == (
        "2.54 steps on white and 1 on sand together cost at least 3 steps on grey"
    )


def test_one_feature_and_none():
    assert describe_half_space([5], ["goal"]) == "a step on goal is never a loss"
    assert describe_half_space([], []) == "every reward agrees"


def test_other_kinds_and_missing_names():
    assert describe_half_space((2, 1, -3), THREE, kind="action") == (
        "2 uses of white and 1 of sand together are worth at least 3 uses of grey"
    )
    assert describe_half_space((-1, 4), None, kind="feature") == (
        "4 units of feature 1 are worth at least one unit of feature 0"
    )


def test_long_sides_end_in_a_count():
    said = describe_half_space([9, 8, 7, 6, 5, 4, 3, 2, -1], None)
    assert said.startswith("9 steps on feature 0, 8 on feature 1, ")
    assert " 5 on feature 4 and 3 more together are worth at least one step on feature 8" in said
    assert "more" not in describe_half_space([9, 8, 7, 6, 5, -1], None)


def test_amounts_far_apart_are_scaled_to_the_largest_and_never_to_zero():
    said = describe_half_space([-9, 8e5, 7, 1e-7], ["a", "b", "c", "d"])
    assert said == (
        "1 step on b, 8.75e-6 on c and 1.25e-13 on d together are worth at least 1.12e-5 steps on a"
    )


def test_every_kind_of_number_says_the_same():
    expected = "2.5 steps on white are worth at least one step on grey"
    for normal in [
        (5, -2),
        (2.5, -1.0),
        (Fraction(5, 2), -1),
        np.array([5.0, -2.0]),
        ("2.5", "-1"),
    ]:
        assert describe_half_space(normal, TWO) == expected
    huge = (5 * 10**6000, -2 * 10**6000)
    assert describe_half_space(huge, TWO) == expected


def worth(terms, weights):
    return sum((term.amount * Fraction(weights[term.feature]) for term in terms), Fraction(0))


def holds(words, weights):
    """Whether weights satisfy what is said: the sides' difference has the sign that it claims."""
    surplus = worth(words.left, weights) - worth(words.right, weights)
    surplus = -surplus if words.measure == "cost" else surplus
    signs = {"exactly": surplus == 0, "at least": surplus >= 0, "at most": surplus <= 0}
    return signs[words.relation]


@given(half_spaces(), st.booleans(), st.integers(0, 2**32))
def test_the_comparison_holds_for_exactly_the_weights_of_the_half_space(case, equality, seed):
    normal, true_weights = case
    words = half_space_words(normal, None, equality=equality, weights=true_weights)
    assert words.sentence()
    for weights in weights_around(normal, seed):
        value = dot(normal, weights)
        assert holds(words, weights) == (value == 0 if equality else value >= 0)


def parsed(sentence, n_features):
    """The row that an English sentence states, read back from the text alone."""
    row = np.zeros(n_features)

    def add(text, factor):
        for part in re.split(r", | and ", text):
            amount, feature = re.fullmatch(
                r"(\S+) (?:steps? )?on feature (\d+)",
                part.replace("one ", "1 ").replace("a ", "1 "),
            ).groups()
            row[int(feature)] += factor * float(amount)

    against_zero = re.fullmatch(r"(.*?) (?:is|together are) (never a loss|never a gain)", sentence)
    if against_zero:
        add(against_zero[1], 1.0 if against_zero[2] == "never a loss" else -1.0)
        return row
    left, verb, relation, right = re.fullmatch(
        r"(.*?)(?: together)? (is worth|are worth|costs?) (at least|at most) (.*)", sentence
    ).groups()
    sign = (-1.0 if verb.startswith("cost") else 1.0) * (1.0 if relation == "at least" else -1.0)
    times = re.fullmatch(r"(?:(\S+) times|as much as) (.*)", right)
    add(left, sign)
    add(times[2] if times else right, -sign * float((times and times[1]) or 1))
    return row


@given(half_spaces())
def test_the_sentence_read_back_is_the_half_space_to_three_digits(case):
    normal, true_weights = case
    normal = normal[:5]
    if not any(normal):
        return
    if true_weights is not None:
        true_weights = true_weights[:5]
    said = describe_half_space(normal, None, weights=true_weights)
    row = parsed(said, len(normal))
    exact = np.array([float(value) for value in normal])
    assert (np.sign(row) == np.sign(exact)).all()
    pivot = int(np.argmax(np.abs(exact)))
    ratios = exact / abs(exact[pivot])
    np.testing.assert_allclose(row / abs(row[pivot]), ratios, rtol=0.0101, atol=0)


@given(half_spaces(), st.fractions(min_value=Fraction(1, 1000), max_value=1000))
def test_positive_multiples_say_the_same(case, factor):
    normal, true_weights = case
    if factor == 0:
        return
    scaled = [value * factor for value in normal]
    assert describe_half_space(scaled, None, weights=true_weights) == describe_half_space(
        normal, None, weights=true_weights
    )


def test_bad_input_is_refused():
    with pytest.raises(InvalidParameter, match="names must name each of the 2 features"):
        describe_half_space((1, -1), ("white",))
    with pytest.raises(InvalidParameter, match="weights must have 2 entries"):
        describe_half_space((1, -1), TWO, weights=(1,))
    with pytest.raises(InvalidParameter, match="kind"):
        describe_half_space((1, -1), TWO, kind="cell")
    with pytest.raises(InvalidNumber, match=r"normal\[1\]"):
        describe_half_space((1, float("nan")), TWO)


# Whole classes


def sentences(name: str, arithmetic: str = "exact", **options) -> list[str]:
    task = make(name, **options)
    bec = equivalence_class(task, arithmetic=arithmetic)
    return describe(bec.cone, task.mdp.feature_names)


@pytest.mark.parametrize("arithmetic", ["exact", "float"])
def test_six_cell_says_what_the_paper_prints(arithmetic):
    assert sentences("six-cell", arithmetic) == [
        "a step on white is never a gain",
        "one step on grey costs at least 2.54 times a step on white",
    ]


def test_equalities_come_first_and_once():
    assert sentences("uvm-failure") == [
        "one step on white costs exactly as much as a step on grey",
        "a step on white is never a gain",
        "one step on red costs at least as much as a step on grey",
    ]


def test_float_arithmetic_says_as_many_things():
    said = sentences("uvm-failure", "float")
    assert len(said) == 3
    assert "exactly as much as" in said[0]
    assert said[1] == "a step on white is never a gain"


@pytest.mark.parametrize("arithmetic", ["exact", "float"])
def test_equalities_that_follow_from_others_are_left_out(arithmetic):
    """w0 = w1, w1 = w2, w0 = w2: two say it all, and w0 = w1 = w2 is said with few features."""
    rows = [(1, 1, -2), (1, -1, 0), (0, 1, -1), (1, 0, -1), (0, 0, 1)]
    bec = equivalence_class(task_of_rows(rows, (1, 1, 1)), arithmetic=arithmetic)
    assert len(bec.cone.equalities) == 8
    said = describe(bec.cone)
    assert len(said) == 3
    assert sum("exactly" in sentence for sentence in said) == 2
    assert not any("together" in sentence for sentence in said)
    assert said[-1] == "a step on feature 2 is never a loss"


@pytest.mark.parametrize("arithmetic", ["exact", "float"])
def test_a_facet_speaks_by_its_plainest_row(arithmetic):
    """Modulo w0 = w1 the rows (2, 1, -1) and (3, 0, -1) are one facet; the latter is plainer."""
    rows = [(1, -1, 0), (2, 1, -1), (3, 0, -1)]
    bec = equivalence_class(task_of_rows(rows, (1, 1, 1)), arithmetic=arithmetic)
    assert bec.cone.n_facets == 1
    assert describe(bec.cone, ["a", "b", "c"]) == [
        "one step on a is worth exactly as much as a step on b",
        "one step on c is worth at most 3 times a step on a",
    ]


def test_what_is_said_holds_for_the_true_weights_and_not_beyond():
    task = make("random-grid", seed=3)
    bec = equivalence_class(task)
    assert len(describe(bec.cone)) == bec.cone.n_facets + len(bec.cone.lineality)
    for members, witness in zip(bec.cone.facets, bec.cone.witnesses, strict=True):
        words = half_space_words(bec.rows.exact[members[0]], None, weights=task.weights)
        assert holds(words, task.true_weights.fractions())
        assert not holds(words, witness)


def test_noise_in_floats_names_no_feature():
    for sentence in sentences("random-grid", "float", seed=0, size=9):
        assert "e-" not in sentence


def test_nothing_shown_says_nothing():
    bec = equivalence_class(make("six-cell"))
    assert describe(demonstration_class(bec, [])) == []


def test_actions_are_used_not_stepped_on():
    bec = equivalence_class(task_of_rows([(1, -2)], (3, 1)))
    assert describe(bec.cone, ["push", "pull"], kind="action") == [
        "one use of push is worth at least 2 times a use of pull"
    ]


def test_names_must_be_as_many_as_features():
    bec = equivalence_class(make("six-cell"))
    with pytest.raises(InvalidParameter, match="names must name each of the 2 features"):
        describe(bec.cone, ["white"])


def test_tasks_classes_and_lessons_are_described_as_their_cones():
    task = make("six-cell")
    bec, lesson = equivalence_class(task), teach(task)
    said = describe(bec.cone, task.mdp.feature_names)
    assert describe(bec) == describe(task) == said
    assert sorted(describe(lesson)) == sorted(said)
    garnet = make("garnet", seed=1)
    kind = "feature" if garnet.mdp.has_action_features else "state"
    names = [garnet.mdp.feature_name(i) for i in range(garnet.mdp.n_features)]
    assert describe(garnet) == describe(equivalence_class(garnet).cone, names, kind=kind)
    with pytest.raises(InvalidInput, match="cone must be a Cone, a Task, its class or a lesson"):
        describe(3)


@pytest.mark.parametrize(
    ("normal", "weights", "said"),
    [
        ((20, -1), None, "20 moves are worth at least a delivery"),
        ((-1, 1.5), None, "1.5 deliveries are worth at least a move"),
        ((1, 1), None, "a move and a delivery together are never a loss"),
        ((-2, 1), (-1, -3), "a delivery costs at most 2 times a move"),
        ((1, 0), None, "a move is never a loss"),
    ],
)
def test_events_are_counted_by_their_own_words(normal, weights, said):
    names = [("a move", "moves"), ("a delivery", "deliveries")]
    assert describe_half_space(normal, names, kind="feature", weights=weights) == said


def test_a_known_environment_speaks_of_its_events():
    assert (
        describe(from_gymnasium("Taxi-v4"))[0]
        == "delivering the passenger is worth at least 20 moves"
    )


@pytest.mark.parametrize("name", [("a", "b", "c"), ("a",), ("a", 5), (5, "a"), 5, None])
def test_what_is_no_name_is_refused_in_one_line(name):
    with pytest.raises(InvalidParameter, match="a name must be a str"):
        describe_half_space((1, -1), [name, "b"])
