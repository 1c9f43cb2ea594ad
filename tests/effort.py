"""How many examples a law is tried on: some every day, all of them with the slow tests.

`make test` leaves the slow tests out (-m "not slow") and takes the smaller numbers; whoever runs
them, as `make test-all`, takes the larger ones.
"""

from hypothesis import settings

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


def examples(some: int, all_of_them: int) -> settings:
    """The same for examples that hypothesis draws."""
    return settings(max_examples=number(some, all_of_them))
