"""One representation from every way to give transitions; exact rows; floats close to them."""

import random
import tracemalloc
from collections import defaultdict
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import sparse

from didact.errors import InvalidInput
from didact.mdp.transitions import MAX_ROWS, Transitions

Entry = tuple[int, int, int, Fraction]


@st.composite
def entries_of_models(draw: st.DrawFn) -> tuple[int, int, list[Entry]]:
    """Sizes and shuffled entries, with repeats and zeros; probabilities are multiples of 1/100."""
    n_states, n_actions = draw(st.integers(1, 5)), draw(st.integers(1, 3))
    entries: list[Entry] = []
    for state in range(n_states):
        if draw(st.integers(0, 4)) == 0:
            continue
        for action in range(n_actions):
            cuts = draw(st.lists(st.integers(0, 100), max_size=5).map(sorted))
            parts = np.diff([0, *cuts, 100]).tolist()
            targets = st.integers(0, n_states - 1)
            entries += [(state, action, draw(targets), Fraction(p, 100)) for p in parts]
    return n_states, n_actions, draw(st.permutations(entries))


def expected_rows(entries: list[Entry]) -> dict[tuple[int, int], dict[int, Fraction]]:
    """The oracle: dictionaries of sums."""
    rows: dict[tuple[int, int], dict[int, Fraction]] = defaultdict(lambda: defaultdict(Fraction))
    for state, action, target, share in entries:
        if share:
            rows[state, action][target] += share
    return {pair: dict(row) for pair, row in rows.items()}


def rows_of(transitions: Transitions) -> dict[tuple[int, int], dict[int, Fraction]]:
    palette, codes = transitions.exact()
    rows = {}
    for row in range(transitions.n_states * transitions.n_actions):
        part = slice(transitions.offsets[row], transitions.offsets[row + 1])
        targets = transitions.successors[part].tolist()
        assert targets == sorted(set(targets))
        if targets:
            shares = [palette[c] for c in codes[part]]
            pair = divmod(row, transitions.n_actions)
            rows[pair] = dict(zip(targets, shares, strict=True))
    return rows


def require_sound(transitions: Transitions) -> None:
    """Exact rows sum to exactly 1, and floats differ from them by rounding alone."""
    palette, codes = transitions.exact()
    floats = transitions.probabilities.floats
    assert (floats > 0).all()
    for low, high in zip(transitions.offsets, transitions.offsets[1:], strict=False):
        row = [palette[c] for c in codes[low:high]]
        assert not row or sum(row) == 1
        bound = (2 * len(row) + 8) * Fraction("1.2e-16")
        for exact, nearest in zip(row, floats[low:high].tolist(), strict=True):
            assert abs(Fraction(nearest) - exact) <= bound * exact


def csr_of(n_states: int, n_actions: int, entries: list[Entry]) -> Any:
    """A CSR matrix with unsorted and repeated entries, as SciPy never makes by itself."""
    by_row = sorted(entries, key=lambda e: e[0] * n_actions + e[1])
    lengths = np.zeros(n_states * n_actions + 1, dtype=np.int64)
    for state, action, _, _ in entries:
        lengths[state * n_actions + action + 1] += 1
    return sparse.csr_array(
        (
            np.array([float(e[3]) for e in by_row]),
            np.array([e[2] for e in by_row], dtype=np.int64),
            np.cumsum(lengths),
        ),
        shape=(n_states * n_actions, n_states),
    )


@given(entries_of_models())
def test_every_way_to_give_transitions_gives_the_same(model: tuple[int, int, list[Entry]]) -> None:
    n_states, n_actions, entries = model
    expected = expected_rows(entries)
    dense = [
        [
            [expected.get((s, a), {}).get(t, Fraction(0)) for t in range(n_states)]
            for a in range(n_actions)
        ]
        for s in range(n_states)
    ]
    csr = csr_of(n_states, n_actions, entries)
    coo = sparse.coo_array(
        (
            [float(e[3]) for e in entries],
            ([e[0] * n_actions + e[1] for e in entries], [e[2] for e in entries]),
        ),
        shape=(n_states * n_actions, n_states),
    )
    ways = [
        Transitions.from_rows(entries, n_states, n_actions),
        Transitions.from_rows([[s, a, t, str(p)] for s, a, t, p in entries], n_states, n_actions),
        Transitions.from_rows([(s, a, t, float(p)) for s, a, t, p in entries], n_states, n_actions),
        Transitions.from_dense(dense),
        Transitions.from_dense(np.array(dense, dtype=float)),
        Transitions.from_sparse(csr),
        Transitions.from_sparse(coo),
        Transitions.from_sparse(
            sparse.csc_matrix(np.array(dense, dtype=float).reshape(-1, n_states))
        ),
        Transitions.from_arrays(n_states, n_actions, csr.indptr, csr.indices, csr.data),
        Transitions.from_arrays(
            n_states, n_actions, csr.indptr.tolist(), csr.indices.tolist(), csr.data.tolist()
        ),
    ]
    for transitions in ways:
        assert (transitions.n_states, transitions.n_actions) == (n_states, n_actions)
        assert rows_of(transitions) == expected
        require_sound(transitions)
        assert transitions.n_entries == sum(map(len, expected.values()))
        assert transitions.is_deterministic() == all(len(row) == 1 for row in expected.values())
        assert {(s, a) for s, a in np.argwhere(~transitions.is_empty()).tolist()} == set(expected)
        assert np.allclose(
            transitions.matrix().toarray(), np.array(dense, float).reshape(-1, n_states), atol=1e-15
        )


ROUNDED = st.sampled_from([0.1, 0.2, 0.3, 0.7, 0.05, 1 / 3, 1 / 7, 2 / 3, 1e-9, 1e-300])
LOOSE = st.floats(1 - 9e-10, 1 + 9e-10) | st.integers(-12, 12).map(lambda n: 1 + n * 2.0**-52)


@given(
    st.lists(ROUNDED | st.floats(1e-12, 1.0), min_size=1, max_size=40),
    st.integers(1, 4),
    LOOSE,
    st.randoms(use_true_random=False),
)
@example([0.5, 0.5], 1, 1 + 1.5e-15, random.Random(0))
@example([0.01], 100, 1.0, random.Random(0))
def test_float_rows_are_divided_and_stay_close_to_the_exact_ones(
    shares: list[float], repeats: int, looseness: float, order: random.Random
) -> None:
    total = sum(shares) * repeats / looseness
    values = [s / total for s in shares for _ in range(repeats)]
    targets = [t for t in range(len(shares)) for _ in range(repeats)]
    mixed = list(zip(targets, values, strict=True))
    order.shuffle(mixed)
    n_states = len(shares)
    rows = [(0, 0, target, value) for target, value in mixed]
    by_rows = Transitions.from_rows(rows, n_states, 1)
    by_arrays = Transitions.from_arrays(
        n_states,
        1,
        [0] + [len(mixed)] * n_states,
        np.array([t for t, _ in mixed]),
        np.array([v for _, v in mixed]),
    )
    decimals = expected_rows([(0, 0, t, Fraction(repr(v))) for t, v in mixed])[0, 0]
    whole = sum(decimals.values())
    expected = {(0, 0): {t: share / whole for t, share in decimals.items()}}
    for transitions in (by_rows, by_arrays):
        require_sound(transitions)
        assert rows_of(transitions) == expected


def test_a_row_off_by_a_few_roundings_is_divided() -> None:
    transitions = Transitions.from_dense(np.array([[[0.5, 0.5 + 1.5e-15]], [[1, 0]]]))
    require_sound(transitions)


def test_many_repeats_add_up_without_rounding() -> None:
    assert sum([0.0007] * 1000) != 0.7
    targets = np.array([0] * 1000 + [1, 0])
    values = np.array([0.0007] * 1000 + [0.3, 1.0])
    transitions = Transitions.from_arrays(2, 1, [0, 1001, 1002], targets, values)
    assert rows_of(transitions)[0, 0] == {0: Fraction(7, 10), 1: Fraction(3, 10)}
    assert transitions.probabilities.floats.tolist() == [0.7, 0.3, 1.0]


@pytest.mark.parametrize("as_given", [float, str, Fraction])
def test_rounded_thirds_are_thirds(as_given: Any) -> None:
    third = as_given("0.3333333333333333")
    transitions = Transitions.from_dense([[[third] * 3], [[1, 0, 0]], [[0, 0, 1]]])
    assert rows_of(transitions)[0, 0] == {t: Fraction(1, 3) for t in range(3)}
    require_sound(transitions)


def test_tenths_are_tenths() -> None:
    transitions = Transitions.from_dense([[[0.1, 0.2, 0.7]], [[1, 0, 0]], [[0, 0, 1]]])
    assert rows_of(transitions)[0, 0] == {0: Fraction(1, 10), 1: Fraction(1, 5), 2: Fraction(7, 10)}


def test_repeated_floats_add_up_as_decimals() -> None:
    assert 0.1 + 0.2 != 0.3
    matrix = sparse.coo_array(([0.1, 0.2, 0.7], ([0, 0, 0], [0, 0, 1])), shape=(2, 2))
    assert rows_of(Transitions.from_sparse(matrix)) == {
        (0, 0): {0: Fraction(3, 10), 1: Fraction(7, 10)}
    }
    assert matrix.nnz == 3


def test_arrays_are_frozen_and_nothing_is_shared() -> None:
    offsets, targets, values = np.array([0, 2, 3]), np.array([0, 1, 1]), np.array([0.25, 0.75, 1.0])
    dense = np.array([[[0.25, 0.75]], [[0, 1.0]]])
    matrix = sparse.csr_array(dense[:, 0, :])
    made = [
        Transitions.from_arrays(2, 1, offsets, targets, values),
        Transitions.from_dense(dense),
        Transitions.from_sparse(matrix),
    ]
    before = [rows_of(t) for t in made]
    offsets[:], targets[:], values[:], dense[:], matrix.data[:] = 0, 0, 9, 9, 9
    assert [rows_of(t) for t in made] == before
    for transitions in made:
        assert transitions.probabilities.floats.tolist() == [0.25, 0.75, 1.0]
        for array in (
            *(transitions.offsets, transitions.successors, transitions.probabilities.floats),
            *(transitions.exact()[1], transitions.matrix().data, transitions.matrix().indptr),
        ):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 0


def test_types_of_arrays_and_sizes() -> None:
    transitions = Transitions.from_rows([[0, 0, 0, 1]], np.int64(1), np.int32(1))
    assert transitions.offsets.dtype == np.int64
    assert transitions.successors.dtype == np.uint32
    assert transitions.probabilities.floats.dtype == np.float64
    assert type(transitions.n_states) is int
    assert type(transitions.n_actions) is int


def test_an_empty_table_and_empty_rows_are_terminal_rows() -> None:
    transitions = Transitions.from_rows([], 2, 3)
    assert transitions.is_empty().all()
    assert transitions.exact()[1].size == 0
    assert transitions.n_entries == 0
    assert transitions.matrix().shape == (6, 2)


DENSE = np.array([[[0.5, 0.5]], [[0.0, 1.0]]])
DEEP: Any = [1]
for _ in range(500):
    DEEP = [DEEP]

BAD = {
    "row sum": (lambda: Transitions.from_dense(DENSE * 0.9), "transitions[0, 0]", "0.9"),
    "row sum just off": (
        lambda: Transitions.from_dense([[[0.5, 0.50000001]], [[0, 1]]]),
        "transitions[0, 0]",
        "1.00000001",
    ),
    "exact row sum": (lambda: Transitions.from_rows([[0, 0, 0, "1/3"]], 1, 1), "[0, 0]", "0.3333"),
    "sum overflows": (lambda: Transitions.from_dense([[[1e308, 1e308]]] * 2), "[0, 0]", "inf"),
    "negative": (
        lambda: Transitions.from_dense([[[0.0, 1.0]], [[1.5, -0.5]]]),
        "transitions[1, 0, 1]",
        "-0.5",
    ),
    "negative string": (lambda: Transitions.from_rows([[0, 0, 0, "-1"]], 1, 1), "[0, 0, 0]", "-1"),
    "nan array": (lambda: Transitions.from_dense(DENSE * np.nan), "transitions[0, 0, 0]", "nan"),
    "nan list": (lambda: Transitions.from_dense([[[float("nan")]]]), "[0, 0, 0]", "nan"),
    "inf sparse": (
        lambda: Transitions.from_sparse(sparse.csr_array(np.array([[np.inf]]))),
        "transitions.data[0]",
        "inf",
    ),
    "nan rows": (
        lambda: Transitions.from_rows([[0, 0, 0, float("nan")]], 1, 1),
        "transitions[0]: probability",
        "nan",
    ),
    "bool": (lambda: Transitions.from_rows([[0, 0, 0, True]], 1, 1), "transitions[0]", "True"),
    "two dimensions": (lambda: Transitions.from_dense(np.eye(2)), "shape", "(2, 2)"),
    "not square": (lambda: Transitions.from_dense(np.ones((2, 1, 3))), "shape", "(2, 1, 3)"),
    "no states": (lambda: Transitions.from_dense(np.ones((0, 1, 0))), "n_states", "0"),
    "no actions": (lambda: Transitions.from_dense(np.ones((2, 0, 2))), "n_actions", "0"),
    "scalar": (lambda: Transitions.from_dense(1.0), "shape", "()"),
    "nothing": (lambda: Transitions.from_dense(None), "transitions", "None"),
    "ragged": (lambda: Transitions.from_dense([[[1.0]], [[1.0, 2.0]]]), "transitions", "lengths"),
    "deep": (lambda: Transitions.from_dense(DEEP), "transitions", "lengths"),
    "sparse shape": (
        lambda: Transitions.from_sparse(sparse.csr_array((3, 2))),
        "states*actions, states",
        "(3, 2)",
    ),
    "sparse without columns": (
        lambda: Transitions.from_sparse(sparse.csr_array((3, 0))),
        "states",
        "0",
    ),
    "sparse without rows": (
        lambda: Transitions.from_sparse(sparse.csr_array((0, 3))),
        "n_actions",
        "0",
    ),
    "sparse vector": (
        lambda: Transitions.from_sparse(sparse.coo_array(np.ones(3))),
        "states*actions",
        "(3,)",
    ),
    "offsets too few": (lambda: Transitions.from_arrays(2, 1, [0, 1], [0], [1.0]), "2 rows", "1"),
    "offsets fall": (
        lambda: Transitions.from_arrays(2, 1, [0, 2, 1], [0], [1.0]),
        "offsets",
        "fall",
    ),
    "offsets start late": (
        lambda: Transitions.from_arrays(1, 1, [1, 2], [0, 0], [0.5, 0.5]),
        "offsets",
        "from 1",
    ),
    "offsets end late": (lambda: Transitions.from_arrays(1, 1, [0, 3], [0], [1.0]), "offsets", "3"),
    "offsets floats": (
        lambda: Transitions.from_arrays(1, 1, [0.0, 1.0], [0], [1]),
        "offsets",
        "0.0",
    ),
    "offsets ragged": (
        lambda: Transitions.from_arrays(1, 1, [[0], [0, 1]], [0], [1]),
        "offsets",
        "",
    ),
    "successor floats": (
        lambda: Transitions.from_arrays(1, 1, [0, 1], [0.5], [1]),
        "successors",
        "0.5",
    ),
    "successor outside": (
        lambda: Transitions.from_arrays(1, 1, [0, 1], [1], [1]),
        "next states",
        "1",
    ),
    "successor negative": (lambda: Transitions.from_arrays(1, 1, [0, 1], [-1], [1]), "next", "-1"),
    "successor huge": (
        lambda: Transitions.from_arrays(1, 1, [0, 1], np.array([2**64 - 1], dtype=np.uint64), [1]),
        "next states",
        "18446744073709551615",
    ),
    "fewer probabilities": (
        lambda: Transitions.from_arrays(1, 1, [0, 2], [0, 0], [1.0]),
        "probabilities",
        "(1,)",
    ),
    "probabilities in a square": (
        lambda: Transitions.from_arrays(1, 1, [0, 1], [0], [[1.0]]),
        "probabilities",
        "(1, 1)",
    ),
    "short row": (lambda: Transitions.from_rows([[0, 0, 0]], 1, 1), "transitions[0]", "[0, 0, 0]"),
    "row of text": (lambda: Transitions.from_rows(["0001"], 1, 1), "transitions[0]", "'0001'"),
    "row is a number": (lambda: Transitions.from_rows([7], 1, 1), "transitions[0]", "7"),
    "row is an array": (
        lambda: Transitions.from_rows([np.zeros((9, 9))], 1, 1),
        "transitions[0]",
        "array",
    ),
    "state outside": (lambda: Transitions.from_rows([[1, 0, 0, 1]], 1, 1), "[0]: state", "1"),
    "state negative": (lambda: Transitions.from_rows([[-1, 0, 0, 1]], 1, 1), "[0]: state", "-1"),
    "state float": (lambda: Transitions.from_rows([[0.0, 0, 0, 1]], 1, 1), "[0]: state", "0.0"),
    "state bool": (lambda: Transitions.from_rows([[False, 0, 0, 1]], 1, 1), "[0]: state", "False"),
    "action outside": (lambda: Transitions.from_rows([[0, 1, 0, 1]], 1, 1), "[0]: action", "1"),
    "next state outside": (lambda: Transitions.from_rows([[0, 0, 9, 1]], 1, 1), "next state", "9"),
    "state of many digits": (
        lambda: Transitions.from_rows([[10**10_000, 0, 0, 1]], 1, 1),
        "[0]: state",
        "very long int",
    ),
    "sizes float": (lambda: Transitions.from_rows([], 2.0, 1), "n_states", "2.0"),
    "sizes bool": (lambda: Transitions.from_rows([], 1, True), "n_actions", "True"),
    "sizes negative": (lambda: Transitions.from_rows([], -1, 1), "n_states", "-1"),
    "sizes overflow": (
        lambda: Transitions.from_rows([], np.int32(2**17), np.int32(2**17)),
        str(MAX_ROWS),
        "131072 * 131072",
    ),
    "sizes of many digits": (
        lambda: Transitions.from_rows([], 10**10_000, 1),
        str(MAX_ROWS),
        "long",
    ),
    "endless digits": (
        lambda: Transitions.from_rows(
            [[0, 0, 0, Fraction(1, 3**1900)], [0, 0, 0, 1 - Fraction(1, 7**1000)]], 1, 1
        ),
        "transitions[0]: probability",
        "2.3e-308",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_transitions_are_refused_in_one_line(name: str) -> None:
    build, place, value = BAD[name]
    with pytest.raises(InvalidInput) as caught:
        build()
    message = str(caught.value)
    assert place in message
    assert value in message
    assert "\n" not in message
    assert len(message) < 250


def test_a_row_whose_exact_sum_grows_out_of_hand_is_refused() -> None:
    primes = [p for p in range(1000, 4000) if all(p % d for d in range(2, 64))]
    shares = [Fraction(1, p) for p in primes]
    last = Fraction(round((1 - sum(shares)) * 10**12), 10**12)
    rows = [[0, 0, t, share] for t, share in enumerate([*shares, last])]
    with pytest.raises(
        InvalidInput, match="a probability must be a fraction with at most 1000 digits"
    ):
        Transitions.from_rows(rows, len(rows), 1)


@pytest.mark.parametrize(
    ("n_states", "n_actions"),
    [(10**12, 1), (1, 10**12), (10**7, 10**7), (10**400, 2), (MAX_ROWS, 2)],
)
def test_sizes_are_checked_before_memory_is_taken(n_states: int, n_actions: int) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(InvalidInput, match=f"must be at most {MAX_ROWS}"):
            Transitions.from_rows([], n_states, n_actions)
        with pytest.raises(InvalidInput, match=f"must be at most {MAX_ROWS}"):
            Transitions.from_arrays(n_states, n_actions, [], [], [])
        assert tracemalloc.get_traced_memory()[1] < 200_000
    finally:
        tracemalloc.stop()


def test_a_sparse_matrix_of_huge_shape_is_refused_before_memory_is_taken() -> None:
    matrix = sparse.coo_array(([1.0], ([0], [0])), shape=(10**9, 10**9))
    tracemalloc.start()
    try:
        with pytest.raises(InvalidInput, match=f"must be at most {MAX_ROWS}"):
            Transitions.from_sparse(matrix)
        assert tracemalloc.get_traced_memory()[1] < 200_000
    finally:
        tracemalloc.stop()
