"""Numbers in arrays of other libraries, to every public function that takes numbers.

Each is read as the same numbers in lists are, to the last digit, or is refused in one line: one
tenth stays one tenth in 32 bits, and what is masked is not read from below its mask.
"""

from __future__ import annotations

import array
import warnings
from decimal import Decimal
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
import scipy.sparse

import didact
from didact.planning.policies import as_policy


class Tensor:
    """An array of another library: it can only be turned into one of NumPy."""

    def __init__(self, values, dtype=np.float64):
        self.values = np.array(values, dtype=dtype)

    def __array__(self, dtype=None, copy=None):
        return self.values if dtype is None else self.values.astype(dtype)


class Elsewhere:
    """A tensor on another device."""

    def __array__(self, dtype=None, copy=None):
        raise TypeError("can't convert device type tensor to numpy;\nuse .cpu() first")


def pandas():
    return pytest.importorskip("pandas")


def frame(values, dtype=None):
    """A frame or a series by the number of axes, with names that are no numbers of rows."""
    table = np.array(values, dtype=dtype)
    if table.ndim == 1:
        return pandas().Series(table, index=[f"row {i}" for i in range(len(table))])
    if table.ndim == 2:
        names = [f"column {i}" for i in range(table.shape[1])]
        return pandas().DataFrame(table, columns=names)
    return None


def labelled(values):
    return pytest.importorskip("xarray").DataArray(np.array(values))


def masked(values):
    """Nothing is masked."""
    return np.ma.masked_array(np.array(values), mask=False)


def matrix(values):
    return np.asmatrix(np.array(values)) if np.ndim(values) == 2 else None


def strided(values):
    """Every second entry of an array that is twice as long in each direction."""
    table = np.array(values)
    wide = np.full([2 * n for n in table.shape], 7, dtype=table.dtype)
    every_second = (slice(None, None, 2),) * table.ndim
    wide[every_second] = table
    return wide[every_second]


def read_only(values):
    table = np.array(values)
    table.setflags(write=False)
    return table


def buffer(values):
    table = np.array(values)
    return array.array(table.dtype.char, table.tolist()) if table.ndim == 1 else memoryview(table)


def of_rows(values):
    """A list of short arrays, as people collect them in a loop."""
    table = np.array(values, dtype=np.float32)
    return list(table) if table.ndim > 1 else None


def sparse(kind):
    def made(values):
        return getattr(scipy.sparse, kind)(np.array(values)) if np.ndim(values) == 2 else None

    return made


NUMBERS = {
    "lists of NumPy's numbers": lambda v: _each(v, np.float64),
    "lists of short numbers": lambda v: _each(v, np.float32),
    "texts": lambda v: _each(v, str),
    "decimals": lambda v: _each(v, lambda x: Decimal(str(x))),
    "an array": np.array,
    "columns first": lambda v: np.array(v, order="F"),
    "strided": strided,
    "read-only": read_only,
    "backwards": lambda v: np.array(v)[::-1].copy()[::-1],
    "big-endian": lambda v: np.array(v, dtype=">f8"),
    "32 bits": lambda v: np.array(v, dtype=np.float32),
    "32 bits, big-endian": lambda v: np.array(v, dtype=">f4"),
    "16 bits": lambda v: np.array(v, dtype=np.float16),
    "long floats": lambda v: np.array(v, dtype=np.longdouble),
    "fractions": lambda v: np.array(_each(v, lambda x: Fraction(str(x))), dtype=object),
    "a matrix": matrix,
    "a matrix of fractions": lambda v: None if np.ndim(v) != 2 else np.asmatrix(
        np.array(_each(v, lambda x: Fraction(str(x))), dtype=object)
    ),
    "a matrix of 32 bits": lambda v: None if np.ndim(v) != 2 else matrix(v).astype(np.float32),
    "nothing masked": masked,
    "a tensor": Tensor,
    "a tensor of 32 bits": lambda v: Tensor(v, np.float32),
    "a tensor of 16 bits": lambda v: Tensor(v, np.float16),
    "a list of tensors": lambda v: [Tensor(row, np.float32) for row in v],
    "a list of rows that are not masked": lambda v: [masked(row) for row in v],
    "a list of rows": of_rows,
    "a list of series": lambda v: (
        [frame(row, np.float32) for row in v] if np.ndim(v) == 2 else None
    ),
    "a frame": frame,
    "a frame of 32 bits": lambda v: frame(v, np.float32),
    "a frame of texts": lambda v: frame(_each(v, str)),
    "nullable": lambda v: pandas().Series(v, dtype="Float64") if np.ndim(v) == 1 else None,
    "labelled": labelled,
    "a buffer": buffer,
    **{kind: sparse(kind) for kind in (
        "bsr_array", "coo_array", "csc_array", "csr_array", "dia_array", "dok_array", "lil_array",
        "bsr_matrix", "coo_matrix", "csc_matrix", "csr_matrix", "dia_matrix", "dok_matrix",
        "lil_matrix",
    )},
}  # fmt: skip
"""What holds the same numbers in another way; None where it cannot hold so many axes."""

WHOLE = {
    "an array": np.array,
    "8 bits": lambda v: np.array(v, dtype=np.int8),
    "unsigned": lambda v: np.array(v, dtype=np.uint64),
    "big-endian": lambda v: np.array(v, dtype=">i4"),
    "columns first": lambda v: np.array(v, order="F"),
    "strided": strided,
    "read-only": read_only,
    "nothing masked": masked,
    "a tensor": lambda v: Tensor(v, np.int64),
    "a series": lambda v: frame(v) if np.ndim(v) == 1 else None,
    "labelled": labelled,
    "a buffer": buffer,
    "NumPy's numbers": lambda v: _each(v, np.int32),
}

MOVES = [
    [[0.0, 1.0, 0.0], [0.5, 0.25, 0.25]],
    [[0.25, 0.0, 0.75], [0.0, 0.0, 1.0]],
    [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]],
]
FEATURES = [[0.1, 0.3], [-0.7, 0.2], [0.0, 0.9]]
BY_ACTION = [[[0.1, 0.3], [0.2, 0.4]], [[-0.7, 0.2], [0.6, 0.0]], [[0.0, 0.9], [0.0, 0.9]]]
WEIGHTS = [0.7, -0.1]
PROBABILITIES = [[0.25, 0.75], [0.5, 0.5], [0.0, 1.0]]


def _each(values, of):
    return [_each(v, of) for v in values] if isinstance(values, list) else of(values)


def model(**changed):
    given = {"transitions": MOVES, "features": FEATURES, "discount": 0.9, "terminal": [2]}
    return didact.MDP(**(given | changed))


@cache
def task():
    return didact.Task(model(), WEIGHTS)


@cache
def bec():
    return didact.equivalence_class(task())


@cache
def belief():
    return didact.learn(model(), [[(0, 1)]], n_steps=30, n_chains=2, thin=1)


def told(mdp):
    palette, codes = mdp.transitions.exact()
    return (
        mdp.transitions.offsets.tolist(), mdp.transitions.successors.tolist(),
        [palette[c] for c in codes.tolist()], mdp.features.fractions(), mdp.exact_discount,
        mdp.start.fractions(), mdp.terminal.tolist(),
    )  # fmt: skip


def arrays(**changed):
    given = {
        "offsets": [0, 1, 4, 6, 7, 7, 7], "successors": [1, 0, 1, 2, 0, 2, 2],
        "probabilities": [1.0, 0.5, 0.25, 0.25, 0.25, 0.75, 1.0],
    }  # fmt: skip
    return told(model(transitions=didact.Transitions.from_arrays(3, 2, **(given | changed))))


TAKE_NUMBERS = {
    "MDP(transitions)": (MOVES, lambda v: told(model(transitions=v))),
    "MDP(features)": (FEATURES, lambda v: told(model(features=v))),
    "MDP(features of actions)": (BY_ACTION, lambda v: told(model(features=v))),
    "MDP(start)": ([0.125, 0.375, 0.5], lambda v: told(model(start=v))),
    "from_arrays(probabilities)": (
        [1.0, 0.5, 0.25, 0.25, 0.25, 0.75, 1.0], lambda v: arrays(probabilities=v),
    ),
    "from_dense": (MOVES, lambda v: told(model(transitions=didact.Transitions.from_dense(v)))),
    "Task": (WEIGHTS, lambda v: didact.Task(model(), v).true_weights.fractions()),
    "solve": (WEIGHTS, lambda v: didact.solve(model(), v).action_values.tolist()),
    "contains": (WEIGHTS, lambda v: bec().cone.contains(v)),
    "evaluate(weights)": (WEIGHTS, lambda v: vars(didact.evaluate(task(), v))),
    "evaluate(probabilities)": (PROBABILITIES, lambda v: vars(didact.evaluate(task(), v))),
    "successor_features": (
        PROBABILITIES, lambda v: didact.successor_features(model(), v).pairs.tolist(),
    ),
    "rollout": (
        PROBABILITIES, lambda v: didact.rollout(
            model(), v, horizon=9, seed=np.random.default_rng(5), start=0
        ),
    ),
    "risk(weights)": (WEIGHTS, lambda v: vars(belief().risk(v))),
    "risk(probabilities)": (PROBABILITIES, lambda v: vars(belief().risk(v))),
}  # fmt: skip
"""A function of numbers, and what it is given in lists."""

TAKE_WHOLE_NUMBERS = {
    "MDP(terminal)": ([2], lambda v: told(model(terminal=v))),
    "from_arrays(offsets)": ([0, 1, 4, 6, 7, 7, 7], lambda v: arrays(offsets=v)),
    "from_arrays(successors)": ([1, 0, 1, 2, 0, 2, 2], lambda v: arrays(successors=v)),
    "evaluate(actions)": ([1, 0, 0], lambda v: vars(didact.evaluate(task(), v))),
    "Demonstration": ([[0, 1], [1, 0]], lambda v: didact.Demonstration(v)),
    "check": ([[[0, 1], [1, 0]]], lambda v: vars(didact.check(task(), v))),
    "learn": (
        [[[0, 1], [1, 0]]],
        lambda v: didact.learn(model(), v, n_steps=20, n_chains=1).samples.tolist(),
    ),
    "prove": ([[[0, 1], [1, 1]]], lambda v: didact.prove(bec(), v)),
    "select": ([[[0, 1], [1, 0]]], lambda v: didact.select(task(), v).document()),
    "teach(starts)": ([0, 1], lambda v: didact.teach(task(), starts=v).document()),
    "ask(states)": ([0, 1], lambda v: asked(v).document()),
}


def asked(states):
    where = didact.AskSettings(states=states)
    return didact.ask(task(), "random", n_queries=2, settings=where, n_steps=20, n_chains=1)


MASKS = {
    "MDP(terminal)": ([False, False, True], lambda v: told(model(terminal=v))),
    "reachable_states": (
        [[True, False], [False, True], [False, False]],
        lambda v: didact.reachable_states(model(start=0), v).tolist(),
    ),
    "reachable_pairs": (
        [[True, False], [False, True], [False, False]],
        lambda v: didact.reachable_pairs(model(start=0), v).tolist(),
    ),
    "reachable_pairs(starts)": (
        [False, True, False],
        lambda v: didact.reachable_pairs(model(), bec().plan.optimal, starts=v).tolist(),
    ),
}


def without_times(answer):
    """The answer as something that can be compared."""
    if isinstance(answer, dict):
        return {k: without_times(v) for k, v in answer.items() if k != "seconds"}
    return answer.tolist() if isinstance(answer, np.ndarray) else answer


TO_LISTS = {}
"""What each function answers to lists; it is asked once, and the others are compared with that."""


def assert_read(function, plain, other, place):
    """The same answer as to lists, or one line."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if function not in TO_LISTS:
            TO_LISTS[function] = repr(without_times(function(plain)))
        assert repr(without_times(function(other))) == TO_LISTS[function], place


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_are_read_to_the_last_digit(name):
    n_read = 0
    for place, (plain, function) in TAKE_NUMBERS.items():
        other = NUMBERS[name](plain)
        if other is not None:
            assert_read(function, plain, other, place)
            n_read += 1
    assert n_read >= 2


@pytest.mark.parametrize("name", WHOLE)
def test_whole_numbers_are_read(name):
    for place, (plain, function) in TAKE_WHOLE_NUMBERS.items():
        other = WHOLE[name](plain)
        if other is not None:
            assert_read(function, plain, other, place)


@pytest.mark.parametrize("place", MASKS)
def test_masks_are_read(place):
    plain, function = MASKS[place]
    start = np.array(plain)
    for other in (start.copy(order="F"), strided(plain), Tensor(plain, bool), labelled(plain)):
        assert_read(function, start, other, place)
    assert_read(function, start, frame(plain), place)


@pytest.mark.parametrize("kind", [name for name in NUMBERS if name.endswith(("array", "matrix"))])
def test_transitions_in_every_sparse_format(kind):
    rows = np.array(MOVES).reshape(6, 3)
    if "_" in kind:
        assert told(model(transitions=getattr(scipy.sparse, kind)(rows))) == told(model())


SHORT = np.array([[1, 2, 4], [3, 3, 1], [5, 1, 1]], dtype=np.float32)


def test_probabilities_of_a_network_need_not_sum_to_one_in_64_bits():
    """A softmax in 32 bits is off by some 1e-8; what is off by more is no distribution."""
    mdp = didact.make("garnet", n_states=3, n_actions=3).mdp
    table = SHORT / SHORT.sum(axis=1, keepdims=True)
    assert np.abs(table.astype(float).sum(axis=1) - 1).max() > 1e-9
    expected = np.array([[1, 2, 4], [3, 3, 1], [5, 1, 1]]) / 7
    for policy in (table, Tensor(table, np.float32), frame(table), lambda state: table[state]):
        np.testing.assert_allclose(as_policy(mdp, policy), expected, rtol=1e-6)
        np.testing.assert_allclose(as_policy(mdp, policy).sum(axis=1), 1, rtol=1e-15)
    for wrong in (table.astype(float), table * np.float32(1.00001)):
        with pytest.raises(
            didact.InvalidInput, match=r"policy\[\d\] must be a distribution.* sums"
        ):
            as_policy(mdp, wrong)


def test_one_number_without_a_shape_is_read_to_the_last_digit():
    for given in (np.array(0.9, dtype=np.float32), Tensor(0.9, np.float32), np.float16(0.9)):
        assert model(discount=given).exact_discount == Fraction(9, 10)
    reward = {"a": Tensor(0.1, np.float32), "b": np.array(0.3, dtype=np.float16)}
    weights = didact.gridworld(["ab"], weights=reward).true_weights
    assert weights.fractions() == [Fraction(1, 10), Fraction(3, 10)]


def test_names_can_be_an_index():
    index = pandas().Index(["a", "b"])
    assert model(feature_names=index).feature_names == ("a", "b")


def hidden(values):
    """The last entry is masked, and a good number lies below."""
    table = np.ma.masked_array(np.array(values), mask=False)
    table[(-1,) * table.ndim] = np.ma.masked
    return table


@pytest.mark.parametrize("place", [*TAKE_NUMBERS, *TAKE_WHOLE_NUMBERS])
def test_what_is_masked_or_elsewhere_is_refused_in_one_line(place):
    plain, function = {**TAKE_NUMBERS, **TAKE_WHOLE_NUMBERS}[place]
    for other in (hidden(plain), Elsewhere(), np.array(plain) + 0j, np.array(plain, dtype="M8[s]")
                  if place in TAKE_WHOLE_NUMBERS else np.array("x")):  # fmt: skip
        with pytest.raises(didact.DidactError) as refusal:
            function(other)
        assert str(refusal.value).isprintable()
        assert len(str(refusal.value)) < 300


@pytest.mark.parametrize("missing", ["NA", "NaT", None, "nan"])
def test_what_is_missing_is_refused_in_one_line(missing):
    gap = getattr(pandas(), str(missing), missing)
    column = pandas().Series([0.1, gap], dtype=object)
    with pytest.raises(didact.InvalidInput, match=r"weights\[1\] must be a"):
        didact.Task(model(), column)


def test_a_frame_of_demonstrations_is_refused():
    """Its columns may stand in any order."""
    shown = pandas().DataFrame({"action": [1, 0], "state": [0, 1]})
    with pytest.raises(didact.InvalidInput, match=r"must be \[state, action\]"):
        didact.Demonstration(shown)
    assert len(didact.Demonstration(shown[["state", "action"]].to_numpy())) == 2


def test_a_sparse_matrix_is_not_written_out_beyond_all_memory():
    wide = scipy.sparse.coo_array((10**6, 10**6))
    with pytest.raises(didact.InvalidInput, match="at most 268435456 entries"):
        didact.Task(model(), wide)


def test_rows_that_are_masked_are_refused_inside_of_lists():
    with pytest.raises(didact.InvalidInput, match="must have a value; it is masked"):
        model(features=[[0.1, 0.3], hidden([0.7, 0.2]), [0.0, 0.9]])
    with pytest.raises(didact.InvalidInput, match="must have a value; it is masked"):
        as_policy(model(), [[0.5, 0.5], hidden([0.5, 0.5]), [0.5, 0.5]])


ANSWERS = {
    "ragged": lambda state: [[1, 2], [3]],
    "words after numbers": lambda state: "x" if state else [0.5, 0.5],
    "infinite": lambda state: float("inf"),
    "masked": lambda state: np.ma.masked_array([0.5, 0.5], mask=[False, True]),
    "elsewhere": lambda state: Elsewhere(),
    "nothing": lambda state: None,
    "nothing after numbers": lambda state: None if state else [0.5, 0.5],
    "truths": lambda state: [True, False],
}


@pytest.mark.parametrize("name", ANSWERS)
def test_what_a_policy_answers_is_refused_in_one_line(name):
    with pytest.raises(didact.DidactError) as refusal:
        didact.evaluate(task(), ANSWERS[name])
    assert str(refusal.value).isprintable()
