"""The generator inside of kernels, plain and compiled, against NumPy's own."""

import numpy as np
import pytest

from didact.numerics.compiled import kernel
from didact.numerics.pcg64 import Stream, after, draw, four, skipping, stream_of


@kernel
def first_of_rows(stream: Stream, columns, draws):
    """The first draws of each row, as many as there are columns."""
    step, row = four(stream.step), four(stream.row)
    high, low = after(stream.state[0], stream.state[1], step)
    for at in range(0, len(draws), columns):
        one, other = high, low
        for column in range(columns):
            draws[at + column] = draw(one, other)
            one, other = after(one, other, step)
        high, low = after(high, low, row)


@pytest.mark.parametrize("run", [first_of_rows.run_plain, first_of_rows.compiled])
@pytest.mark.parametrize("row", [3, 7, 64, 1001, 10**6, 2**40 + 1])
def test_draws_are_those_of_numpy(row, run):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        rng.random(seed)
        found, expected = np.empty(15), []
        run(stream_of(rng, row), 3, found)
        for _ in range(5):
            expected += rng.random(3).tolist()
            rng.bit_generator.advance(row - 3)
        assert found.tolist() == expected


@pytest.mark.parametrize("run", [first_of_rows.run_plain, first_of_rows.compiled])
@pytest.mark.parametrize("state", [0, 1, 2**64 - 1, 2**64, 2**127, 2**128 - 1])
@pytest.mark.parametrize("more", [1, 2**64 - 1, 2**64 + 1, 2**128 - 1])
def test_states_at_the_ends_of_words_carry_as_numpys_do(state, more, run):
    rng = np.random.default_rng(0)
    rng.bit_generator.state |= {"state": {"state": state, "inc": more}}
    found, expected = np.empty(40), np.random.Generator(np.random.PCG64())
    run(stream_of(rng, 1), 1, found)
    expected.bit_generator.state = rng.bit_generator.state
    assert found.tolist() == expected.random(40).tolist()


def test_other_generators_have_no_stream():
    """Nor one that keeps half of a draw for the next small number, which leaving out would lose."""
    rng = np.random.default_rng(0)
    rng.integers(2**32, dtype=np.uint32)
    assert stream_of(rng, 2) is None
    assert stream_of(np.random.Generator(np.random.MT19937(0)), 2) is None
    assert stream_of(np.random.Generator(np.random.PCG64DXSM(0)), 2) is None


@pytest.mark.parametrize("bits", [np.random.PCG64, np.random.MT19937])
@pytest.mark.parametrize("halves", [0, 1])
def test_draws_that_are_left_out_are_those_that_would_have_come(bits: type, halves: int) -> None:
    """Also where half of a draw is left of a number of 32 bits, which stays for the next such."""
    drawn, left_out = (np.random.Generator(bits(3)) for _ in range(2))
    for rng in (drawn, left_out):
        rng.integers(2**32, size=halves, dtype=np.uint32)
    drawn.random(7)
    skipping(left_out)(7)
    assert drawn.random() == left_out.random()
    small = [int(rng.integers(2**32, dtype=np.uint32)) for rng in (drawn, left_out)]
    assert small[0] == small[1]
