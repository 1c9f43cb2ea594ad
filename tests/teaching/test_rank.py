"""Teaching difficulty: against brute force, known worlds, and rows that fail."""

import itertools
import sys
from importlib import import_module

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from didact.bec.classes import equivalence_class
from didact.bec.halfspaces import demonstrated_pairs, scope_states
from didact.errors import InvalidParameter
from didact.mdp import Demonstration
from didact.teaching import check, teach
from didact.teaching.covers.candidates import Starts, as_starts
from didact.teaching.rank import (
    BENCHMARKS,
    Benchmark,
    Difficulty,
    benchmarks,
    fewest_demonstrations,
    rank,
)
from didact.worlds import gridworld, make
from tests.models import tasks


@given(tasks(max_states=3, max_actions=2))
def test_pairs_are_as_few_as_brute_force(task):
    (row,) = rank([task])
    assert row.error is None
    bec = equivalence_class(task)
    inside = scope_states(task.mdp, "reachable")
    pairs = [tuple(p) for p in np.argwhere(bec.plan.optimal & inside[:, None]).tolist()]
    fewest = next(
        size
        for size in range(len(pairs) + 1)
        for part in itertools.combinations(pairs, size)
        if check(task, [[pair] for pair in part], bec=bec).teaches
    )
    assert (row.n_pairs, row.fewest_pairs) == (fewest, fewest)
    assert (row.n_facets, row.n_equalities) == (bec.cone.n_facets, len(bec.cone.equalities))


@given(tasks())
def test_a_row_is_what_teaching_says(task):
    (row,) = rank([task])
    lesson = teach(task, teacher="exact")
    assert row.status == lesson.status
    assert row.n_demonstrations == len(lesson.demonstrations)
    n_elements = row.n_facets + row.n_equalities
    assert row.share == (1 if not n_elements else 1 - len(lesson.uncovered) / n_elements)
    assert (row.share == 1) == (row.status == "complete")
    if row.status == "complete":
        assert row.fewest_demonstrations <= row.n_demonstrations
        assert row.fewest_demonstrations >= (row.n_demonstrations > 0)
    else:
        assert row.fewest_demonstrations is None
        assert row.loss > 0


def test_the_hardest_come_first_and_failures_last():
    rows = rank(["six-cell", "no-such-world", make("random-grid", size=5, n_features=4), "chain"])
    assert [row.name for row in rows] == [
        "chain", "random-grid 5x5, seed 0", "six-cell", "no-such-world",
    ]  # fmt: skip
    assert "no world is called 'no-such-world'" in rows[-1].error
    assert rows[-1].n_pairs is None


def test_what_episodes_cannot_show_is_hardest():
    """From one corner optimal play never meets the other feature."""
    corner = gridworld(
        ["S.G", "aab"], weights={"S": -1, ".": -1, "G": 0, "a": -1, "b": -9}, terminal="G",
        start="S", name="corner",
    )  # fmt: skip
    rows = rank({"easy": make("random-grid"), "cannot": corner})
    assert [row.name for row in rows] == ["cannot", "easy"]
    assert (rows[0].status, rows[0].fewest_demonstrations) == ("partial", None)
    assert 0 < rows[0].share < 1


def test_a_failure_of_any_kind_is_a_row(monkeypatch):
    def too_large():
        raise MemoryError

    rows = rank({"large": too_large, "blackjack": lambda: rank_name("Blackjack-v1")})
    assert [row.error.split(";")[0][:40] for row in rows] == [
        "there is not enough memory for it",
        "Blackjack-v1 draws random numbers in its",
    ]
    monkeypatch.setitem(sys.modules, "minigrid", None)
    (row,) = rank(["MiniGrid-Empty-5x5-v0"])
    assert "pip install 'didact[minigrid]'" in row.error


def rank_name(name):
    from didact.teaching.rank import open_named

    return open_named(name)


def test_bugs_are_not_hidden():
    def broken():
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        rank([broken])


def test_greedy_rows_have_bounds_too():
    exact, greedy = (rank(["random-grid"], exact=choice)[0] for choice in (True, False))
    assert greedy.fewest_pairs <= exact.n_pairs <= greedy.n_pairs
    assert (exact.n_pairs, exact.fewest_pairs) == (11, 11)
    assert (exact.n_demonstrations, exact.fewest_demonstrations) == (10, 10)


def test_the_built_in_list_is_ranked():
    told = []
    rows = rank(progress=told.append)
    assert told == [benchmark.name for benchmark in BENCHMARKS]
    assert {row.name for row in rows} == set(told)
    assert all(row.error is None for row in rows)
    by_name = {row.name: row for row in rows}
    assert by_name["six-cell"].n_pairs == 1
    assert by_name["FrozenLake 4x4 slippery"].status == "partial"
    assert by_name["Taxi"].longest == 18
    assert isinstance(rows[0], Difficulty)


def test_without_minigrid_the_list_is_shorter(monkeypatch):
    monkeypatch.setattr(import_module("didact.teaching.rank"), "find_spec", lambda name: None)
    assert [b for b in BENCHMARKS if b not in benchmarks()] == list(BENCHMARKS[-3:])


def test_rows_are_plain_data():
    (row,) = rank([Benchmark("a", "six-cell", {"discount": "0.5"})])
    assert row.document()["name"] == "a"
    assert row.document()["n_states"] == 6


@pytest.mark.parametrize("tasks", ["six-cell", 3, [4], make("six-cell")])
def test_what_is_no_list_of_tasks_is_refused(tasks):
    with pytest.raises(InvalidParameter, match="must be a"):
        rank(tasks)


@pytest.mark.parametrize("limit", [0, -1, "long", None])
def test_the_time_limit_must_be_positive(limit):
    with pytest.raises(InvalidParameter, match="time_limit must be positive"):
        rank(["six-cell"], time_limit=limit)


def test_families_are_ranked_like_tasks(tmp_path):
    """A family of one has its task's row; a family's file is opened by its name."""
    import didact

    task = didact.make("random-grid", size=3, n_features=3)
    family = didact.Family([task], name="one")
    path = tmp_path / "family.json"
    didact.make("random-grid", size=3, n_features=3, members=4).save(path)
    rows = {row.name: row for row in didact.rank({"task": task, "one": family, "4": str(path)})}
    plain = {"name", "seconds"}
    one, alone = (
        {k: v for k, v in rows[name].document().items() if k not in plain}
        for name in ("one", "task")
    )
    assert one == alone
    assert (rows["4"].n_states, rows["4"].status) == (36, "complete")
    bec = didact.equivalence_class(didact.load_family(path))
    pairs = didact.teach(bec.family, teacher="exact", horizon=1, starts="all", bec=bec)
    assert rows["4"].n_pairs == rows["4"].fewest_pairs == len(pairs.demonstrations)


def test_the_ranking_is_a_list_with_rows_for_a_table():
    pandas = pytest.importorskip("pandas")
    rows = rank(["six-cell", "nowhere-v9"])
    assert isinstance(rows, list)
    assert rows == list(rows)
    frame = pandas.DataFrame(rows.to_records())
    assert frame["name"].tolist() == ["six-cell", "nowhere-v9"]
    assert frame["n_pairs"][0] == rows[0].n_pairs == 1
    html = rows._repr_html_()
    assert ">six-cell</td>" in html
    assert "nowhere-v9: " in html


def all_demonstrations(mdp, plan, starts, horizon):
    """Every way to follow the optimal policy for at most `horizon` steps, to the end of each."""
    moves = mdp.transitions
    found, open_ones = [], [((), int(s)) for s in starts]
    while open_ones:
        path, state = open_ones.pop()
        if mdp.terminal[state] or len(path) == horizon:
            found.append(path)
            continue
        for action in plan.optimal_actions(state):
            row = state * mdp.n_actions + action
            for after in moves.successors[moves.offsets[row] : moves.offsets[row + 1]].tolist():
                open_ones.append(((*path, (state, action)), after))
    return sorted(set(found))


@given(tasks(max_states=4, max_actions=2), st.integers(1, 3))
def test_no_complete_lesson_has_fewer(task, horizon):
    bec = equivalence_class(task)
    starts = as_starts(task.mdp, None)
    bound = fewest_demonstrations(bec, [Starts(bec.members[0], starts, horizon)], time_limit=3600)
    everything = all_demonstrations(task.mdp, bec.plan, starts, horizon)
    if check(task, [], bec=bec).teaches:
        assert bound == 0
        return
    assert bound >= 1
    by_start = [all_demonstrations(task.mdp, bec.plan, [s], horizon) for s in starts]
    if check(task, everything, bec=bec).teaches:
        assert bound == next(
            size
            for size in range(1, len(by_start) + 1)
            for part in itertools.combinations(by_start, size)
            if check(task, [d for shown in part for d in shown], bec=bec).teaches
        )
    if len(everything) > 14 or not check(task, everything, bec=bec).teaches:
        return
    fewest = next(
        size
        for size in range(1, len(everything) + 1)
        for part in itertools.combinations(everything, size)
        if check(task, part, bec=bec).teaches
    )
    assert bound <= fewest


@pytest.mark.parametrize("seed", range(4))
def test_it_is_the_smallest_cover_by_starts_at_every_horizon(seed):
    """Each start shows all that can follow it; the bound falls as the horizon grows."""
    bec = equivalence_class(make("random-grid", size=4, n_features=4, seed=seed))
    starts = as_starts(bec.task.mdp, None)
    bounds = []
    for horizon in (1, 2, 3, 4):
        shown = [
            {pair for d in all_demonstrations(bec.task.mdp, bec.plan, [s], horizon) for pair in d}
            for s in starts
        ]
        states = [facets_shown(bec, [Demonstration([pair]) for pair in pairs]) for pairs in shown]
        fewest = next(
            size
            for size in range(1, len(states) + 1)
            for part in itertools.combinations(states, size)
            if len(set().union(*part)) == bec.cone.n_facets
        )
        bounds.append(
            fewest_demonstrations(bec, [Starts(bec.members[0], starts, horizon)], time_limit=3600)
        )
        assert bounds[-1] == fewest
    assert bounds == sorted(bounds, reverse=True)


def facets_shown(bec, demonstrations):
    """The facets that demonstrations state, by their rows."""
    assert not bec.cone.equalities
    rows = set(bec.rows.stated_by(demonstrated_pairs(bec.task.mdp, demonstrations)).tolist())
    return {i for i, members in enumerate(bec.cone.facets) if rows & set(members)}


def test_it_proves_the_minimum_of_a_paper_world():
    bec = equivalence_class(make("random-grid"))
    starts = as_starts(bec.task.mdp, None)
    assert fewest_demonstrations(bec, [Starts(bec.members[0], starts, 20)], time_limit=3600) == 10


def test_too_many_starts_give_the_trivial_bound(monkeypatch):
    monkeypatch.setattr(import_module("didact.teaching.rank"), "MAX_ENTRIES", 10)
    bec = equivalence_class(make("random-grid"))
    starts = as_starts(bec.task.mdp, None)
    assert fewest_demonstrations(bec, [Starts(bec.members[0], starts, 20)], time_limit=3600) == 1


def test_a_familys_bound_is_that_of_its_members_together():
    """Members of single steps: the bound is the smallest lesson of pairs from their starts."""
    for seed in range(6):
        family = make("random-grid", size=2, n_features=3, seed=10 * seed, members=3)
        bec = equivalence_class(family)
        offers = [Starts(member, as_starts(member.task.mdp, None), 1) for member in bec.members]
        lesson = teach(family, teacher="exact", horizon=1, bec=bec)
        assert fewest_demonstrations(bec, offers, time_limit=3600) == lesson.lower_bound
        assert len(lesson.demonstrations) == lesson.lower_bound
