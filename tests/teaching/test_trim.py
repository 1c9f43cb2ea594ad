"""Trimmed lessons against whole ones, and against every shorter one."""

from itertools import pairwise

import numpy as np
import pytest

import didact
from didact.bec.classes import demonstration_rows
from didact.errors import InvalidInput
from didact.teaching.covers.candidates import Candidates, offers_of, starts_of
from didact.teaching.covers.problem import Problem, cover_elements, offered_candidates
from didact.teaching.loss.search import remaining_loss
from didact.teaching.trim import (
    all_closed,
    earliest_candidate,
    needs_of,
    window,
    with_beginnings,
)
from tests.effort import chunks


def grid(seed, **more):
    return didact.make("random-grid", size=5, n_features=4, seed=seed, **more)


def shorter(demonstration, starts):
    """The demonstration without its last step, and without what precedes a later start."""
    pairs = list(demonstration)
    yield pairs[:-1]
    yield from (pairs[i:] for i in range(1, len(pairs)) if pairs[i][0] in starts)


def without(lesson, number, pairs):
    """The demonstrations of a lesson, one of them replaced."""
    shown = [didact.Demonstration(list(d)) for d in lesson.demonstrations]
    shown[number : number + 1] = [didact.Demonstration(pairs)] if pairs else []
    return shown


def is_run(task, demonstration, optimal):
    """Whether every step is optimal and leads to the next one."""
    offsets, successors = task.mdp.transitions.offsets, task.mdp.transitions.successors
    leads = [
        t in successors[offsets[s * 4 + a] : offsets[s * 4 + a + 1]]
        for (s, a), (t, _) in pairwise(demonstration)
    ]
    return all(leads) and all(optimal[pair] for pair in demonstration)


@pytest.mark.parametrize("teacher", ["scot", "exact"])
@pytest.mark.parametrize("seed", chunks(3, 6))
def test_a_trimmed_lesson_teaches_the_same_with_as_many_demonstrations(seed, teacher):
    task = grid(seed)
    lesson = didact.teach(task, teacher=teacher)
    whole = didact.teach(task, teacher=teacher, trim=False)
    assert didact.check(task, lesson.demonstrations).teaches
    assert (lesson.status, lesson.gains, lesson.cost) == (whole.status, whole.gains, whole.cost)
    assert lesson.lower_bound == whole.lower_bound
    if teacher != "exact":  # its generated walks are gone on with where they are not trimmed
        assert lesson.closed == whole.closed
    assert lesson.n_pairs <= whole.n_pairs // (1 if whole.closed else 5)
    assert all(is_run(task, d, lesson.bec.plan.optimal) for d in lesson.demonstrations)


@pytest.mark.parametrize("seed", [1, 4, 6, 7])
def test_no_end_can_be_cut_from_the_last_demonstration(seed):
    task = grid(seed)
    lesson = didact.teach(task)
    assert not lesson.closed
    last = len(lesson.demonstrations) - 1
    starts = set(range(task.mdp.n_states))
    for pairs in shorter(lesson.demonstrations[last], starts):
        assert not didact.check(task, without(lesson, last, pairs)).teaches


@pytest.mark.parametrize("seed", chunks(4, 8))
def test_beginnings_are_cut_only_at_allowed_starts(seed):
    task = grid(seed)
    starts = np.random.default_rng(seed).permutation(25)[:6].tolist()
    lesson = didact.teach(task, starts=starts)
    whole = didact.teach(task, starts=starts, trim=False)
    assert lesson.status == whole.status
    assert all(d.pairs[0][0] in starts for d in lesson.demonstrations)


@pytest.mark.parametrize("seed", chunks(3, 6))
def test_a_partial_lesson_leaves_the_same_half_spaces(seed):
    task = grid(seed)
    lesson = didact.teach(task, budget=2)
    whole = didact.teach(task, budget=2, trim=False)
    assert lesson.n_pairs < whole.n_pairs
    drawn = np.random.default_rng(seed).standard_normal((4000, 4))
    bec = lesson.bec
    fits = []
    for shown in (lesson, whole):
        rows = demonstration_rows(bec, shown.demonstrations)
        fits.append((drawn @ rows.normals.T >= 0).all(axis=1))
    assert (fits[0] == fits[1]).all()
    assert fits[0].any()


def test_a_closed_lesson_stays_closed_with_less_to_show():
    sizes = []
    for seed in range(8):
        task = grid(seed)
        lesson = didact.teach(task, closed=True)
        whole = didact.teach(task, closed=True, trim=False)
        assert lesson.closed == whole.closed
        assert lesson.status == whole.status
        shown = [{pair for d in one.demonstrations for pair in d} for one in (lesson, whole)]
        assert shown[0] <= shown[1]
        sizes.append((lesson.n_pairs, whole.n_pairs))
    assert all(now <= before for now, before in sizes)
    assert any(now < before for now, before in sizes)


def test_a_lesson_that_is_closed_without_being_asked_stays_so():
    task = didact.make("six-cell")
    lesson = didact.teach(task)
    assert lesson.closed
    assert list(lesson.demonstrations[0]) == [(2, 1), (5, 2), (4, 2), (3, 0)]


@pytest.mark.parametrize("seed", chunks(2, 4))
def test_where_steps_cost_no_lesson_of_beginnings_costs_less(seed):
    task = grid(seed)
    single = didact.teach(task, teacher="exact", horizon=1)
    steps = didact.teach(task, teacher="exact", cost="pairs")
    assert steps.cost == steps.n_pairs == steps.lower_bound
    assert steps.n_pairs <= single.n_pairs  # every start is allowed: single steps are beginnings
    assert didact.check(task, steps.demonstrations).teaches
    asked = didact.teach(task, teacher="exact", cost=lambda d: 3 + len(d))
    assert asked.cost == sum(3 + len(d) for d in asked.demonstrations)
    assert asked.lower_bound == (asked.cost if asked.candidates == "all" else None)


def test_a_table_of_costs_by_start_keeps_the_starts_it_paid_for():
    task = grid(3)
    table = {s: 1 + s % 3 for s in range(25)}
    lesson = didact.teach(task, cost=table, teacher="exact")
    whole = didact.teach(task, cost=table, teacher="exact", trim=False)
    assert lesson.cost == sum(table[d.pairs[0][0]] for d in lesson.demonstrations) == whole.cost


def test_families_are_trimmed_member_by_member():
    family = didact.Family([grid(1, weights_seed=4), grid(2, weights_seed=4)])
    lesson, whole = didact.teach(family), didact.teach(family, trim=False)
    assert lesson.status == whole.status == "complete"
    assert lesson.gains == whole.gains
    assert [d.member for d in lesson.demonstrations] == [d.member for d in whole.demonstrations]
    assert lesson.n_pairs < whole.n_pairs


@pytest.mark.parametrize("learner", [pytest.param("half-spaces", marks=pytest.mark.slow), "both"])
def test_a_lesson_within_a_bound_may_still_cost_what_it_promised(learner):
    task = grid(2)
    settings = {"teacher": "exact", "loss": "5%", "learner_model": learner}
    lesson = didact.teach_within(task, **settings)
    whole = didact.teach_within(task, trim=False, **settings)
    assert len(lesson.demonstrations) == len(whole.demonstrations)
    assert lesson.n_pairs < whole.n_pairs
    found = remaining_loss(lesson.bec, lesson.demonstrations)
    assert found[0].status == "enumerated"
    assert found[0].loss <= lesson.loss_bound + 1e-9
    if learner == "both":
        assert found[1].loss <= lesson.loss_bound + 1e-9


def test_slippery_worlds_are_cut_to_runs_that_can_happen():
    task = grid(1, slip="1/5")
    lesson = didact.teach(task)
    whole = didact.teach(task, trim=False)
    assert lesson.status == whole.status
    assert all(is_run(task, d, lesson.bec.plan.optimal) for d in lesson.demonstrations)


def shortest(line, says, wanted, begins):
    """The same as `window` by trying every part."""
    parts = [
        (j - i, i)
        for i in {0, *begins}
        for j in range(i + 1, len(line) + 1)
        if not wanted & ~sum({says.get(pair, 0) for pair in line[i:j]})
    ]
    return min(parts)[0]


@pytest.mark.parametrize("seed", chunks(30, 60))
def test_windows_are_the_shortest(seed):
    rng = np.random.default_rng(seed)
    line = rng.integers(0, 6, size=rng.integers(1, 12)).tolist()
    says = {pair: 1 << pair for pair in range(0, 6, 2)}
    wanted = sum({says.get(pair, 0) for pair in line[: rng.integers(1, len(line) + 1)]})
    begins = rng.permutation(len(line))[: rng.integers(0, len(line) + 1)].tolist()
    if not wanted:
        return
    found = window(line, says, wanted, begins)
    assert found.start in {0, *begins}
    assert not wanted & ~sum({says.get(pair, 0) for pair in line[found]})
    assert found.stop - found.start == shortest(line, says, wanted, begins)


def test_beginnings_end_where_something_new_is_said():
    bec = didact.equivalence_class(grid(1))
    candidates = Candidates.of([[0, 4, 4, 9], [0, 4]], 4, 4)
    found = with_beginnings(cover_elements(bec), candidates, all_pairs=True)
    assert [row[row >= 0].tolist() for row in found.pairs] == [[0], [0, 4], [0, 4, 4, 9]]


def test_what_is_no_yes_or_no_is_refused():
    with pytest.raises(InvalidInput, match="trim must be True or False"):
        didact.teach(grid(1), trim="yes")


@pytest.mark.parametrize("seed", chunks(2, 4))
def test_demonstrations_of_a_family_are_closed_by_definition(seed):
    tasks = [grid(seed), didact.make("random-grid", size=3, n_features=4, seed=seed)]
    tasks = [didact.Task(task.mdp, tasks[0].true_weights.floats) for task in tasks]
    bec, rng = didact.equivalence_class(didact.Family(tasks)), np.random.default_rng(seed)
    seen = set()
    for size in (*range(0, 40, 5), *[None] * 4):
        lines = []
        for member in bec.members:
            pairs = np.argwhere(member.plan.optimal)
            kept = pairs if size is None else rng.permutation(pairs)[:size]
            if size is not None or rng.random() < 0.7:
                lines.append([(member.first + s) * 4 + a for s, a in kept.tolist()])
        shown = [didact.Demonstration(
                     [divmod(p - bec.members[m].first * 4, 4) for p in line], m)
                 for m, line in enumerate(lines) if line and len(lines) == 2]  # fmt: skip
        if len(lines) == 2:
            found = all_closed(bec.members, shown)
            assert found == is_closed_by_definition(bec, shown)
            seen.add(found)
    assert seen == {True, False}


def is_closed_by_definition(bec, shown):
    """All optimal actions of every state shown, and every state that may follow, are shown."""
    for member in bec.members:
        mdp, moves = member.task.mdp, member.task.mdp.transitions
        pairs = {pair for d in shown if d.member == member.number for pair in d}
        states = {s for s, _ in pairs}
        for s in states:
            for a in member.plan.optimal_actions(s):
                row = s * mdp.n_actions + a
                after = moves.successors[moves.offsets[row] : moves.offsets[row + 1]].tolist()
                if (s, a) not in pairs or not all(t in states or mdp.terminal[t] for t in after):
                    return False
    return True


def by_hand(problem, says, number, wanted, before, taken):
    def end(line):
        said = 0
        for step, pair in enumerate(line):
            said |= says.get(pair, 0) & wanted
            if said == wanted:
                return step + 1
        return len(line) + 1

    lines = problem.candidates.pairs.tolist()
    best = (end(lines[number]), -1)
    for other, line in enumerate(lines):
        said = problem.masks.get(other, 0) & ~before
        if other not in taken and said == wanted and end(line) < end(lines[number]):
            best = min(best, (end(line), other)) if best[1] >= 0 else (end(line), other)
    return number if best[1] < 0 else best[1]


def test_the_earliest_candidate_is_that_of_brute_force():
    n_changed = 0
    for seed in range(6):
        task = didact.make("random-grid", size=5, n_features=4, seed=seed)
        bec = didact.equivalence_class(task, arithmetic="float")
        elements = cover_elements(bec)
        offers = offers_of(bec, starts_of(task, None), None)
        candidates, _ = offered_candidates(elements, offers, rollouts=None, seed=0)
        problem = Problem(elements, candidates, [1] * len(candidates))
        says = needs_of(elements).coverage
        before, taken = 0, set()
        for number in list(problem.masks)[:40]:
            wanted = problem.masks[number] & ~before
            if wanted:
                found = earliest_candidate(problem, says, number, before, taken)
                assert found == by_hand(problem, says, number, wanted, before, taken)
                n_changed += found != number
                taken.add(found)
            before |= wanted if number % 3 == 0 else 0
    assert n_changed > 2
