"""Runs in phases: all of one end before the next begins, with one thread or several."""

import pytest

from didact.learners.chains.threads import run_all
from didact.stages import listening


@pytest.mark.parametrize("threads", [1, 3])
def test_phases_follow_each_other_and_progress_rises_to_the_total(threads):
    ended, told = [], []

    def run(name, n):
        for _ in range(n):
            yield 2
        ended.append(name)

    def phases():
        yield [run("a", 3), run("b", 1)]
        assert sorted(ended) == ["a", "b"]
        yield [run("c", 2), run("d", 4), run("e", 0)]

    run_all(phases(), 20, threads=threads, progress=lambda done, total: told.append((done, total)))
    assert sorted(ended) == list("abcde")
    done = [part for part, _ in told]
    assert done == sorted(done)
    assert told[-1] == (20, 20)


@pytest.mark.parametrize("threads", [1, 2])
def test_an_error_ends_all(threads):
    def fails():
        yield 1
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        run_all([[fails(), iter([1])], []], 3, threads=threads, progress=None)


def test_who_listens_hears_of_steps_and_of_mixing():
    told, rounds = [], iter(["", "R-hat 1.01"])
    with listening(told.append):
        phases = [[iter([2, 3])], [iter([5])]]
        run_all(phases, 9, threads=1, progress=None, say=lambda: next(rounds))
    assert told == [
        "learning: 2 of 9 steps",
        "learning: 5 of 9 steps",
        "learning: 9 of 9 steps; R-hat 1.01",
    ]
