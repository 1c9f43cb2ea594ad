"""An MDP is checked once: starts, terminals, features, discount and names, each in one line."""

import copy
import pickle
import random
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from didact.errors import InvalidInput
from didact.mdp import MDP, Task, Transitions
from didact.mdp.model import as_weights, deciding_states, idle_states
from didact.planning import as_policy, evaluate, solve

CHAIN = np.array([[[0, 1, 0], [1, 0, 0]], [[0, 0, 1], [1, 0, 0]], [[0, 0, 0], [0, 0, 0]]], float)
FEATURES = [[1, 0], [0, 1], [0.5, 0.5]]
DEEP: Any = [1]
for _ in range(500):
    DEEP = [DEEP]


def chain(**changes: Any) -> MDP:
    """Three states, two actions, the last state terminal; parts can be changed."""
    parts: dict[str, Any] = {
        "transitions": CHAIN,
        "features": FEATURES,
        "discount": 0.9,
        "terminal": [2],
    }
    parts.update(changes)
    return MDP(**parts)


def test_three_states_by_hand() -> None:
    mdp = chain(state_names=["a", "b", "end"], feature_names=["left", "right"])
    assert (mdp.n_states, mdp.n_actions, mdp.n_features) == (3, 2, 2)
    assert mdp.exact_discount == Fraction(9, 10)
    assert mdp.discount == 0.9
    assert mdp.terminal.tolist() == [False, False, True]
    assert mdp.start.fractions() == [Fraction(1, 3)] * 3
    assert mdp.start.floats.tolist() == [1 / 3] * 3
    assert mdp.features.fractions() == [1, 0, 0, 1, Fraction(1, 2), Fraction(1, 2)]
    assert mdp.is_deterministic()
    assert not mdp.has_action_features
    assert (mdp.state_name(2), mdp.action_name(1), mdp.feature_name(0)) == ("end", "1", "left")
    assert chain().feature_name(1) == "feature 1"
    assert "3 states, 2 actions, 2 features, discount 9/10, 1 terminal" in repr(mdp)


def test_transitions_may_be_dense_sparse_or_ready() -> None:
    ways: list[Any] = [
        CHAIN,
        CHAIN.tolist(),
        sparse.csr_matrix(CHAIN.reshape(6, 3)),
        sparse.coo_array(CHAIN.reshape(6, 3)),
        Transitions.from_dense(CHAIN),
        [[[str(p) for p in row] for row in rows] for rows in CHAIN.tolist()],
    ]
    for transitions in ways:
        mdp = chain(transitions=transitions)
        assert mdp.transitions.matrix().toarray().tolist() == CHAIN.reshape(6, 3).tolist()


@pytest.mark.parametrize(
    ("discount", "exact"),
    [
        (0, Fraction(0)),
        (0.95, Fraction(19, 20)),
        ("19/20", Fraction(19, 20)),
        (Decimal("0.95"), Fraction(19, 20)),
        (np.float64(0.95), Fraction(19, 20)),
        (np.float32(0.95), Fraction(19, 20)),
        (np.array(0.95), Fraction(19, 20)),
        ("0.9999999999999999", 1 - Fraction(1, 10**16)),
        (Fraction(1, 3), Fraction(1, 3)),
    ],
)
def test_discounts_keep_their_value(discount: object, exact: Fraction) -> None:
    mdp = chain(discount=discount)
    assert mdp.exact_discount == exact
    assert mdp.discount == float(exact) < 1.0


@pytest.mark.parametrize(
    "terminal",
    [
        *([2], (2,), {2}, frozenset({2}), 2, np.int64(2), range(2, 3), [2, 2], [np.int32(2)]),
        *(np.array([2]), np.array(2), [False, False, True], np.array([False, False, True])),
    ],
    ids=repr,
)
def test_terminals_as_numbers_or_as_a_mask(terminal: object) -> None:
    assert chain(terminal=terminal).terminal.tolist() == [False, False, True]


@pytest.mark.parametrize("terminal", [(), [], None, np.array([], dtype=int), set()], ids=repr)
def test_no_terminals(terminal: object) -> None:
    loops = np.ones((1, 1, 1))
    if terminal is None:
        mdp = MDP(loops, [[1]], 0.5)
    else:
        mdp = MDP(loops, [[1]], 0.5, terminal=terminal)
    assert mdp.terminal.tolist() == [False]


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        ("uniform", ["1/3"] * 3),
        (1, [0, 1, 0]),
        (np.int64(1), [0, 1, 0]),
        ({1: 1}, [0, 1, 0]),
        ({0: "1/3", 1: Fraction(2, 3)}, ["1/3", "2/3", 0]),
        ([[0, 0.1], [1, "0.9"]], ["1/10", "9/10", 0]),
        (((0, 0.1), (1, 0.9)), ["1/10", "9/10", 0]),
        ([[0, 0.1], [0, 0.2], [2, 0.7]], ["3/10", 0, "7/10"]),
        ([0.1, 0.9, 0], ["1/10", "9/10", 0]),
        (["1/3", "1/3", "1/3"], ["1/3"] * 3),
        (np.array([0.25, 0.75, 0]), ["1/4", "3/4", 0]),
        ([0.3333333333333333] * 3, ["1/3"] * 3),
        ([1, 0, 0], [1, 0, 0]),
    ],
    ids=repr,
)
def test_starts(start: object, expected: list[Any]) -> None:
    mdp = chain(start=start)
    exact = [Fraction(e) for e in expected]
    assert mdp.start.fractions() == exact
    assert mdp.start.floats.tolist() == [float(e) for e in exact]


@given(st.lists(st.floats(0, 1), min_size=2, max_size=30), st.randoms(use_true_random=False))
def test_start_distributions_sum_to_exactly_one(shares: list[float], rng: random.Random) -> None:
    shares[0] += 0.5
    shares = [s if s > 1e-300 else 0.0 for s in shares]
    total = sum(shares)
    start = [s / total * rng.uniform(1 - 1e-10, 1 + 1e-10) for s in shares]
    loops = np.eye(len(start))[:, None, :]
    given_as = rng.choice([start, np.array(start), dict(enumerate(start)), list(enumerate(start))])
    mdp = MDP(loops, np.ones((len(start), 1)), 0.5, start=given_as)
    assert sum(mdp.start.fractions()) == 1
    decimals = [Fraction(repr(s)) for s in start]
    assert mdp.start.fractions() == [d / sum(decimals) for d in decimals]
    for nearest, exact in zip(mdp.start.floats.tolist(), mdp.start.fractions(), strict=True):
        assert abs(Fraction(nearest) - exact) <= exact * Fraction("1.2e-16")


def test_features_of_state_and_action() -> None:
    features = np.arange(12.0).reshape(3, 2, 2)
    features[2] = 1
    mdp = chain(features=features)
    assert mdp.has_action_features
    assert mdp.n_features == 2
    assert mdp.features.fractions()[:4] == [0, 1, 2, 3]


def test_nothing_is_shared_with_the_caller() -> None:
    transitions, features = CHAIN.copy(), np.array(FEATURES)
    start, terminal = np.array([0.5, 0.5, 0]), np.array([False, False, True])
    names = ["a", "b", "c"]
    mdp = chain(
        transitions=transitions,
        features=features,
        start=start,
        terminal=terminal,
        state_names=names,
    )
    for array in (transitions, features, start):
        array[...] = 7
    terminal[...] = True
    names[0] = "z"
    assert mdp.transitions.matrix().toarray().tolist() == CHAIN.reshape(6, 3).tolist()
    assert mdp.features.floats.tolist() == FEATURES
    assert mdp.start.floats.tolist() == [0.5, 0.5, 0]
    assert mdp.terminal.tolist() == [False, False, True]
    assert mdp.state_names == ("a", "b", "c")


@pytest.mark.parametrize("start", ["uniform", [1, 0, 0], {0: "1/3", 1: "2/3"}], ids=repr)
def test_everything_is_frozen(start: object) -> None:
    mdp = chain(start=start)
    for array in (mdp.terminal, mdp.start.floats, mdp.start.exact()[1], mdp.features.floats):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    for name in ("terminal", "features", "exact_discount", "start", "new"):
        with pytest.raises(AttributeError):
            setattr(mdp, name, 0)


def test_copies_and_pickles_are_the_same_model() -> None:
    values = np.array([0.1, 0.2, 0.7 + 1e-12, 1.0, 1.0, 1.0])
    loose = Transitions.from_arrays(3, 2, [0, 3, 4, 5, 6, 6, 6], [1, 1, 0, 0, 2, 0], values)
    mdp = chain(start={0: "1/3", 1: "2/3"}, transitions=loose)
    for other in (copy.deepcopy(mdp), pickle.loads(pickle.dumps(mdp))):
        assert other.start.fractions() == mdp.start.fractions()
        assert other.transitions.exact()[0] == mdp.transitions.exact()[0]
        assert other.features.fractions() == mdp.features.fractions()
        assert not other.is_deterministic()


UNEQUAL = np.zeros((3, 2, 1))
UNEQUAL[2, 1] = 1

BAD: dict[str, tuple[dict[str, Any], str, str]] = {
    "discount one": ({"discount": 1}, "discount", "1"),
    "discount one point zero": ({"discount": 1.0}, "discount", "1.0"),
    "discount negative": ({"discount": -0.1}, "discount", "-0.1"),
    "discount large": ({"discount": 1.5}, "discount", "1.5"),
    "discount huge": ({"discount": 10**400}, "discount", "1e308"),
    "discount endless": ({"discount": 10**10_000}, "discount", "digits"),
    "discount rounds to one": (
        {"discount": "0.99999999999999999999"},
        "discount must stay less than 1 as a float",
        "0.99999999999999999999",
    ),
    "discount nan": ({"discount": float("nan")}, "discount", "nan"),
    "discount inf": ({"discount": float("inf")}, "discount", "inf"),
    "discount none": ({"discount": None}, "discount", "None"),
    "discount bool": ({"discount": False}, "discount", "False"),
    "discount text": ({"discount": "high"}, "discount", "'high'"),
    "discount list": ({"discount": [0.9]}, "discount", "[0.9]"),
    "discount ragged": ({"discount": [[1], [1, 2]]}, "discount", "[[1], [1, 2]]"),
    "discount array": ({"discount": np.array([0.9])}, "discount", "array([0.9])"),
    "discount tiny": ({"discount": "1e-400"}, "discount", "2.3e-308"),
    "row missing": (
        {"terminal": []},
        "transitions[2, 0]",
        "sums to 0. If the episode ends in state 2, name it in terminal",
    ),
    "row surplus": (
        {"terminal": [1, 2]},
        "transitions[1, 0] must be empty",
        "take 1 out of terminal",
    ),
    "terminal outside": ({"terminal": [3]}, "terminal[0]", "3"),
    "terminal negative": ({"terminal": [-1]}, "terminal[0]", "-1"),
    "terminal float": ({"terminal": [2.0]}, "terminal[0]", "2.0"),
    "terminal mixed": ({"terminal": [2, True]}, "terminal[1]", "True"),
    "terminal text": ({"terminal": ["2"]}, "terminal[0]", "'2'"),
    "terminal string": ({"terminal": "end"}, "terminal", "'end'"),
    "terminal none": ({"terminal": None}, "terminal", "None"),
    "terminal true": ({"terminal": True}, "terminal", "True"),
    "terminal ragged": ({"terminal": [[2], [1, 2]]}, "terminal[0]", "[2]"),
    "terminal square": ({"terminal": np.array([[2]])}, "terminal", "[[2]]"),
    "terminal mask": ({"terminal": [True, False]}, "terminal as a mask", "(2,)"),
    "terminal huge": ({"terminal": [10**10_000]}, "terminal[0]", "very long int"),
    "all terminal": (
        {"terminal": [0, 1, 2], "transitions": CHAIN * 0},
        "at least one state must not be terminal",
        "all",
    ),
    "all terminal with a start": (
        {"terminal": [0, 1, 2], "transitions": CHAIN * 0, "start": 0},
        "at least one state must not be terminal",
        "all",
    ),
    "start on terminals": ({"start": 2}, "start must reach", "[2]"),
    "start on terminals in an array": ({"start": [0, 0, 1.0]}, "start must reach", "[2]"),
    "start sum": ({"start": [0.5, 0.4, 0]}, "start must be a distribution", "0.9"),
    "start sum just off": ({"start": [0.5, 0.50000001, 0]}, "distribution", "1.00000001"),
    "start empty": ({"start": []}, "start must be a distribution", "0"),
    "start of nothing": ({"start": {}}, "start must be a distribution", "0"),
    "start negative": ({"start": [1.5, -0.5, 0]}, "start[1]", "-0.5"),
    "start pair negative": ({"start": {0: 2, 1: -1}}, "start[1]: probability", "-1"),
    "start nan": ({"start": [float("nan"), 1, 0]}, "start[0]", "nan"),
    "start inf": ({"start": {0: float("inf")}}, "start[0]: probability", "inf"),
    "start short": ({"start": [0.5, 0.5]}, "start as an array", "(2,)"),
    "start square": ({"start": np.eye(3)}, "start as an array", "(3, 3)"),
    "start outside": ({"start": 3}, "start[0]: state", "3"),
    "start key": ({"start": {"a": 1}}, "start[0]: state", "'a'"),
    "start ragged": ({"start": [[0, 1], [1]]}, "start[1]", "[1]"),
    "start nested": ({"start": [[0, [1, 2]]]}, "start[0]: probability", "[1, 2]"),
    "start mixed": ({"start": [[0, 1], 1]}, "start", "different lengths"),
    "start deep": ({"start": DEEP}, "start[0]", "[[[["),
    "start text": ({"start": "anywhere"}, "start", "'anywhere'"),
    "start none": ({"start": None}, "start", "None"),
    "start bool": ({"start": True}, "start", "True"),
    "start float": ({"start": 1.5}, "start", "1.5"),
    "features short": ({"features": FEATURES[:2]}, "features must have the shape (3, k)", "(2, 2)"),
    "features flat": ({"features": [1, 2, 3]}, "features", "(3,)"),
    "features without columns": ({"features": [[], [], []]}, "features", "(3, 0)"),
    "features scalar": ({"features": 1}, "features", "()"),
    "features none": ({"features": None}, "features", "None"),
    "features of other actions": ({"features": np.ones((3, 5, 1))}, "(3, 2, k)", "(3, 5, 1)"),
    "features of four dimensions": (
        {"features": np.ones((3, 2, 3, 1))},
        "features",
        "(3, 2, 3, 1)",
    ),
    "features ragged": ({"features": [[1], [1, 2], [1]]}, "features", "different lengths"),
    "features deep": ({"features": DEEP}, "features", "different lengths"),
    "features nan": ({"features": [[1], [float("nan")], [1]]}, "features[1, 0]", "nan"),
    "features text": ({"features": [["x"], [1], [1]]}, "features[0, 0]", "'x'"),
    "features bool": ({"features": [[True], [1], [1]]}, "features[0, 0]", "True"),
    "features differ at the end": ({"features": UNEQUAL}, "features[2]", "same for all actions"),
    "features differ exactly": (
        {"features": [[[1], [1]], [[1], [1]], [["0.1"], ["0.10000000000000000001"]]]},
        "features[2]",
        "same for all actions",
    ),
    "state names short": ({"state_names": ["a"]}, "state_names must have 3", "1"),
    "state names string": ({"state_names": "abc"}, "state_names", "'abc'"),
    "state names number": ({"state_names": 3}, "state_names", "3"),
    "state names set": ({"state_names": {"a", "b", "c"}}, "state_names", "{"),
    "state names types": ({"state_names": ["a", 1, "c"]}, "state_names[1]", "1"),
    "state names surrogate": ({"state_names": ["a", "b", "\ud800"]}, "state_names[2]", "ud800"),
    "action names long": ({"action_names": ["a", "b", "c"]}, "action_names must have 2", "3"),
    "feature names": ({"feature_names": [None, None]}, "feature_names[0]", "None"),
    "names in a zero-dimensional array": ({"state_names": np.array("abc")}, "state_names", "'abc'"),
    "transitions none": ({"transitions": None}, "transitions", "None"),
    "transitions text": ({"transitions": "slip"}, "transitions", "'slip'"),
    "transitions ragged": ({"transitions": [[[1]], [[1, 0]]]}, "transitions", "different lengths"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_models_are_refused_in_one_line(name: str) -> None:
    changes, place, value = BAD[name]
    with pytest.raises(InvalidInput) as caught:
        chain(**changes)
    message = str(caught.value)
    assert place in message
    assert value in message
    assert "\n" not in message
    assert len(message) < 250


def test_weights_have_one_entry_for_each_feature() -> None:
    assert as_weights(["1/3", -0.1], 2).fractions() == [Fraction(1, 3), Fraction(-1, 10)]
    for wrong in ([1], [1, 2, 3], 1, [[1, 2]], None, "12", [1, None], [[1], [1, 2]]):
        with pytest.raises(InvalidInput, match="weights"):
            as_weights(wrong, 2)


N, A = 5, 2


@st.composite
def models(draw):
    """Deterministic moves, many of which stay; a few starts; features of pairs."""
    stay = st.integers(0, 2 * N).map(lambda t: t if t < N else None)
    targets = [[draw(stay) for _ in range(A)] for _ in range(N)]
    moves = np.zeros((N, A, N))
    for state, row in enumerate(targets):
        for action, target in enumerate(row):
            moves[state, action, state if target is None else target] = 1
    starts = draw(st.sets(st.integers(0, N - 1), min_size=1, max_size=2))
    phi = np.array([[[draw(st.integers(0, 1))] for _ in range(A)] for _ in range(N)])
    return MDP(moves, phi, 0.5, start=[(s, 1 / len(starts)) for s in starts]), moves, starts, phi


@given(models())
def test_idle_is_where_nothing_starts_leads_leaves_or_matters(given_model):
    mdp, moves, starts, phi = given_model
    for state in range(N):
        others = [s for s in range(N) if s != state]
        wanted = (
            state not in starts
            and all(moves[state, a, state] == 1 for a in range(A))
            and not moves[others][:, :, state].any()
            and (phi[state] == phi[state, 0]).all()
        )
        assert idle_states(mdp)[state] == wanted
        assert deciding_states(mdp)[state] == (not wanted and not mdp.terminal[state])


def padded():
    """Two states that matter, two numbers that never come up; action 1 is right."""
    moves = np.zeros((4, 2, 4))
    moves[0, :, 0] = moves[0, 1] = 0
    moves[0, 0, 0] = moves[0, 1, 2] = moves[2, :, 2] = 1
    moves[1, :, 1] = moves[3, :, 3] = 1
    return Task(MDP(moves, [[0], [0], [1], [0]], 0.5, start=0), [1])


def test_shares_of_wrong_actions_do_not_count_them():
    wrong = evaluate(padded(), [[1, 0], [1, 0], [1, 0], [1, 0]])
    assert (wrong.wrong_actions, wrong.worst_wrong_actions) == (0.5, 0.5)


def test_policies_are_not_asked_there():
    asked = []
    assert as_policy(padded().mdp, lambda s: asked.append(s) or 1)[0].tolist() == [0, 1]
    assert asked == [0, 2]
    shares = as_policy(padded().mdp, lambda s: [0.25, 0.75])
    assert shares.tolist() == [[0.25, 0.75], [0.5, 0.5], [0.25, 0.75], [0.5, 0.5]]


@pytest.mark.parametrize("arithmetic", ["float", "exact", "auto"])
def test_what_is_tied_there_is_no_close_comparison(arithmetic):
    plan = solve(padded(), arithmetic=arithmetic)
    assert plan.optimal.tolist() == [[False, True], [True, True], [True, True], [True, True]]
    assert plan.n_close == (2 if arithmetic == "exact" else 1)
    assert plan.is_proved == (arithmetic != "float")
