"""A stream depends on the seed and its names, and on nothing else."""

import hashlib
import json
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from didact.errors import InvalidParameter
from didact.random import as_generator, stream

NAMES = st.lists(st.text(alphabet="ab1-", min_size=1, max_size=3) | st.integers(0, 20), max_size=3)


def numbers(rng: np.random.Generator) -> list[int]:
    return rng.integers(2**63, size=4).tolist()


@given(st.integers(0, 2**70), NAMES)
def test_a_stream_can_be_made_again(seed: int, names: list[str | int]) -> None:
    assert numbers(stream(seed, *names)) == numbers(stream(seed, *names))


@given(st.integers(0, 2**33), st.integers(0, 2**33), NAMES, NAMES)
def test_other_seeds_or_names_make_other_streams(
    seed: int, other_seed: int, names: list[str | int], other_names: list[str | int]
) -> None:
    same = seed == other_seed and list(map(str, names)) == list(map(str, other_names))
    assert (numbers(stream(seed, *names)) == numbers(stream(other_seed, *other_names))) == same


def test_where_one_name_ends_and_the_next_begins_matters() -> None:
    made = [("ab",), ("a", "b"), ("b", "a"), ("a", "", "b"), (1, 2), (12,)]
    assert len({tuple(numbers(stream(0, *names))) for names in made}) == len(made)


def test_streams_do_not_disturb_each_other() -> None:
    first, second = stream(0, "first"), stream(0, "second")
    alone = numbers(stream(0, "second"))
    numbers(first)
    assert numbers(second) == alone


def test_a_stream_is_the_same_in_every_process() -> None:
    code = (
        "from didact.random import stream\n"
        "print(stream(7, 'uvm', 3).integers(2**63, size=4).tolist())"
    )
    printed = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": ":".join(p for p in sys.path if p), "PYTHONHASHSEED": "1"},
    ).stdout
    assert json.loads(printed) == numbers(stream(7, "uvm", 3))


def test_published_numbers_of_a_stream() -> None:
    assert numbers(stream(0, "table1", "uvm", 3)) == [
        5646682255574469631,
        5742953088190535746,
        3538935540708882599,
        847915238399474512,
    ]


def test_a_seed_is_the_stream_of_its_names() -> None:
    assert numbers(as_generator(5, "world")) == numbers(stream(5, "world"))
    assert numbers(as_generator(np.int64(5), "world")) == numbers(stream(5, "world"))


def test_a_generator_is_used_as_it_is() -> None:
    rng = np.random.default_rng(1)
    assert as_generator(rng, "world") is rng


def test_no_seed_is_a_fresh_generator() -> None:
    assert numbers(as_generator(None)) != numbers(as_generator(None))


@pytest.mark.parametrize("seed", [-1, 1.0, "1", True, np.float64(1), np.bool_(True), [1], object()])
def test_a_bad_seed_is_refused_in_one_line(seed: object) -> None:
    with pytest.raises(InvalidParameter, match="seed must be None, a whole number from 0"):
        as_generator(seed)  # type: ignore[arg-type]


@given(st.integers(0, 2**64), NAMES)
def test_a_stream_is_that_of_its_words(seed: int, names: list[str | int]) -> None:
    digest = hashlib.sha256(repr(tuple(names)).encode()).digest()
    words = [int.from_bytes(digest[i : i + 4], "little") for i in range(0, 32, 4)]
    assert numbers(stream(seed, *names)) == numbers(np.random.default_rng([seed, *words]))
