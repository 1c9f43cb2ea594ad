"""How many models a law is tried on: some in the quick tests, all of them with the slow ones.

`make test` leaves the slow tests out (-m "not slow") and takes the smaller numbers; `make test-all`
takes the larger ones. How many examples Hypothesis draws is in the profiles of `conftest.py`.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import product
from typing import Any

import pytest

_all_of_them = True


def take_some_only() -> None:
    """From now on laws are tried on the smaller number of examples."""
    global _all_of_them
    _all_of_them = False


def takes_all() -> bool:
    """Whether the slow tests are run, and with them every example."""
    return _all_of_them


def number(some: int, all_of_them: int) -> int:
    """How many examples to try: some, or all of them with the slow tests."""
    assert some <= all_of_them
    return all_of_them if _all_of_them else some


def chunks(some: int, all_of_them: int) -> list[Any]:
    """Numbers from 0 on for `parametrize`: some, and the others as slow tests."""
    others = (pytest.param(n, marks=pytest.mark.slow) for n in range(some, all_of_them))
    return [*range(some), *others]


def crossed(*kinds: Collection[Any], one_in: int) -> list[Any]:
    """All combinations for `parametrize`: one in so many quick, the others as slow tests.

    Each meets each of another kind in the quick tests, where the third kind has `one_in` or more.
    """
    return [
        pytest.param(
            *(entry for _, entry in entries),
            marks=[pytest.mark.slow] if sum(place for place, _ in entries) % one_in else [],
        )
        for entries in product(*map(enumerate, kinds))
    ]


def try_each(
    check: Callable[[int], Mapping[str, bool]], numbers: Sequence[int], shares: Mapping[str, float]
) -> None:
    """Check every model by its number; of each kind there must be at least its share of them."""
    counts: Counter[str] = Counter()
    for number in numbers:
        try:
            counts.update({kind: int(is_so) for kind, is_so in check(number).items()})
        except Exception as error:
            error.add_note(f"model {number}")
            raise
    for kind, share in shares.items():
        assert counts[kind] >= share * len(numbers), (kind, counts)
