"""Good-enough lessons of families, against all sets of pairs and all policies of tiny models.

In a family weights stand for one reward in all members: what is lost is the most in any member, as
a share of its own spread, or as an amount. For every policy that loses too much in its member a
linear program asks whether some weights that fit the pairs shown make it the best.
"""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

import didact
from didact.bec.classes import shown_pairs
from didact.errors import InvalidParameter, Unsupported
from didact.teaching import build
from didact.teaching.loss.search import remaining_loss
from didact.teaching.loss.space import weight_space
from tests.all_policies import counts_and_losses, largest_loss

BOUNDS = ("1%", "100%", 1.0)


def family(seed, n_members=2):
    """Tiny models of two or four states, some uncertain, with features of quarters."""
    rng = np.random.default_rng(seed)
    weights = rng.integers(-6, 7, 3) + np.array([0.5, 0.25, 0.125])
    models = [model(rng, 4 - 2 * (i % 2), 2 + i % 2, sure=i % 2) for i in range(n_members)]
    return didact.Family([didact.Task(mdp, weights) for mdp in models])


def model(rng, n_states, n_actions, *, sure):
    moves = np.zeros((n_states, n_actions, n_states))
    for row in moves.reshape(-1, n_states):
        first, second = rng.choice(n_states, 2, replace=False)
        row[first], row[second] = (1.0, 0.0) if sure else (0.75, 0.25)
    return didact.MDP(moves, rng.integers(-8, 9, (n_states, 3)) / 4, 0.5)


class Every:
    """What every set of pairs of a family may cost, by every policy of every member."""

    def __init__(self, bec):
        self.bec = bec
        self.counted = [counts_and_losses(member.task) for member in bec.members]
        self.spreads = [spread_of(member.task) for member in bec.members]
        self.pairs = [
            (member.number, s, a)
            for member in bec.members
            for s, a in np.argwhere(member.plan.optimal).tolist()
        ]

    def lost_after(self, chosen, bound, enough=np.inf):
        """The most that is lost by weights that fit; what is enough, where it is more."""
        shown = [didact.Demonstration([(s, a)], member) for member, s, a in chosen]
        rows = self.bec.rows
        stated = rows.normals[rows.stated_by(shown_pairs(self.bec.members, shown))]
        most = 0.0
        for (counts, losses), spread in zip(self.counted, self.spreads, strict=True):
            told = losses / (spread if isinstance(bound, str) else 1.0)
            most = max(most, largest_loss(counts, told, stated))
            if most > enough:
                break
        return most

    def can_be_fewer(self, n, bound, most):
        """Whether fewer than n pairs lose so little: then n - 1 do, for more never lose more."""
        enough = most + 1e-7
        return any(
            self.lost_after(chosen, bound, enough) <= enough
            for chosen in combinations(self.pairs, n - 1)
        )


def least_losses(weights, counts, losses):
    """For each of the weights the least loss of a policy that is best for them."""
    values = weights @ counts.T
    best = values >= values.max(axis=1, keepdims=True) - 1e-9
    return np.where(best, losses, np.inf).min(axis=1)


def spread_of(task):
    mdp = task.mdp
    uniform = np.full((mdp.n_states, mdp.n_actions), 1 / mdp.n_actions)
    return didact.evaluate(task, uniform).policy_loss


def check_families(seeds):
    """How many lessons were compared, and how many are smaller than the exact one."""
    n_compared, n_smaller = 0, 0
    for seed in seeds:
        members = family(seed, 2 + seed % 2)
        bec = didact.equivalence_class(members)
        if bec.cone.equalities or not bec.cone.n_facets:
            continue
        exact = didact.teach(members, bec=bec, teacher="exact", horizon=1, starts=all_of(bec))
        every = Every(bec)
        for bound in BOUNDS:
            how = {
                "horizon": 1,
                "starts": all_of(bec),
                "loss": bound,
                "learner_model": "half-spaces",
            }
            lesson = didact.teach_within(members, bec=bec, teacher="exact", order="teacher", **how)
            assert lesson.loss_status == "enumerated", (seed, bound)
            n = len(lesson.demonstrations)
            assert n == lesson.lower_bound, (seed, bound)
            assert not n or not every.can_be_fewer(n, bound, lesson.loss_bound), (seed, bound)
            lost = every.lost_after([(d.member, *d.pairs[0]) for d in lesson.demonstrations], bound)
            assert lesson.within.worst == pytest.approx(lost, abs=1e-7), (seed, bound)
            n_compared, n_smaller = n_compared + 1, n_smaller + (n < len(exact.demonstrations))
    return n_compared, n_smaller


def all_of(bec):
    return {
        member.number: np.flatnonzero(~member.task.mdp.terminal).tolist() for member in bec.members
    }


def test_lessons_of_tiny_families_are_the_smallest_of_all_subsets():
    n_compared, n_smaller = check_families((4, 6))
    assert n_compared == 6
    assert n_smaller >= 2


def test_what_may_be_lost_after_any_pairs_is_lost_in_some_member():
    seen = set()
    for seed in (0, 4, 8):
        bec = didact.equivalence_class(family(seed))
        every, rng = Every(bec), np.random.default_rng(seed)
        for size in (1, 2, 3):
            chosen = [every.pairs[i] for i in rng.permutation(len(every.pairs))[:size]]
            shown = [didact.Demonstration([(s, a)], member) for member, s, a in chosen]
            worst, _ = remaining_loss(bec, shown)
            assert worst.status == "enumerated"
            assert worst.loss == pytest.approx(every.lost_after(chosen, "%"), abs=1e-7)
            seen.add(worst.member)
    assert seen >= {0, 1}


@pytest.mark.slow
@pytest.mark.parametrize("chunk", range(10))
def test_more_tiny_families(chunk):
    n_compared, _ = check_families(range(10 + 8 * chunk, 18 + 8 * chunk))
    assert n_compared >= 12


def grids(*seeds, size=3):
    tasks = [didact.make("random-grid", size=size, n_features=4, seed=seed) for seed in seeds]
    weights = tasks[0].true_weights
    return [
        didact.Task(task.mdp, weights, name=f"{s}") for s, task in zip(seeds, tasks, strict=True)
    ]


@pytest.mark.parametrize("learner", ["half-spaces", "both"])
@pytest.mark.parametrize("loss", ["1%", 0.1])
def test_a_family_of_one_has_the_lesson_of_its_task(loss, learner):
    for seed in range(1 if learner == "both" else 3):
        task = didact.make("random-grid", size=3, n_features=3, seed=seed)
        alone, one = (
            didact.teach_within(what, teacher="exact", horizon=1, loss=loss, learner_model=learner)
            for what in (task, didact.Family([task]))
        )
        assert [d.pairs for d in one.demonstrations] == [d.pairs for d in alone.demonstrations]
        assert {d.member for d in one.demonstrations} == {0}
        assert (one.lower_bound, one.cost) == (alone.lower_bound, alone.cost)
        assert one.within.statuses == alone.within.statuses
        assert one.within.n_cells == alone.within.n_cells
        assert one.within.share == pytest.approx(alone.within.share)
        spreads = (one.within.spread, alone.within.spread)
        assert one.within.worst / spreads[0] == pytest.approx(alone.within.worst / spreads[1])


def test_duplicates_and_the_order_of_members_change_nothing():
    tasks = grids(1, 2, 3)
    settings = {"teacher": "exact", "horizon": 1, "loss": "1%", "learner_model": "half-spaces"}
    found = [
        didact.teach_within(didact.Family([tasks[i] for i in order]), **settings)
        for order in ((0, 1, 2), (2, 0, 1, 2))
    ]
    assert len({(len(lesson.demonstrations), lesson.lower_bound) for lesson in found}) == 1
    assert {lesson.loss_status for lesson in found} == {"enumerated"}
    for lesson in found:
        left, _ = remaining_loss(found[0].bec, moved(lesson, found[0].bec))
        assert left.loss <= 0.01 + 1e-9


def moved(lesson, bec):
    """The demonstrations of a lesson as those of another order of the same members."""
    names = [member.task.name for member in bec.members]
    own = [member.task.name for member in lesson.bec.members]
    return [
        didact.Demonstration(d.pairs, names.index(own[d.member])) for d in lesson.demonstrations
    ]


def test_what_is_lost_is_lost_in_some_member_and_never_rises_towards_the_truth():
    bec = didact.equivalence_class(didact.Family(grids(1, 2, 3)))
    space = weight_space(bec)
    drawn = np.random.default_rng(0).standard_normal((60, 4))
    lost = space.losses.of(drawn)
    alone = [weight_space(didact.equivalence_class(member.task)) for member in bec.members]
    shares = [single.losses.of(drawn).losses / single.spread for single in alone]
    assert lost.losses == pytest.approx(np.max(shares, axis=0), abs=1e-12)
    amounts = weight_space(bec, shares=False).losses.of(drawn).losses
    assert amounts == pytest.approx(np.max([s.losses.of(drawn).losses for s in alone], axis=0))
    along = [space.losses.of(drawn + step * space.truth).losses for step in (0.0, 0.2, 1.0, 5.0)]
    assert (np.diff(along, axis=0) <= 1e-9).all()


def test_a_member_with_nothing_to_lose_has_no_share():
    task = didact.make("random-grid", size=3, n_features=2, seed=0)
    flat = didact.MDP(np.ones((1, 2, 1)), [[1, 0]], 0.9)
    settings = {"teacher": "exact", "horizon": 1, "loss": "5%", "learner_model": "half-spaces"}
    alone = didact.teach_within(task, **settings)
    both = didact.teach_within(
        didact.Family([task, didact.Task(flat, task.true_weights)]), **settings
    )
    assert (both.lower_bound, both.loss_status) == (alone.lower_bound, "enumerated")
    assert both.within.worst == pytest.approx(alone.within.worst / alone.within.spread, abs=1e-9)


def test_the_frontier_of_a_family_is_of_one_kind_of_loss():
    members = didact.Family(grids(1, 2))
    settings = {"horizon": 1, "learner_model": "half-spaces"}
    found = didact.frontier(members, losses=["50%", "1%"], **settings)
    sizes = [len(point.lesson.demonstrations) for point in found.points]
    assert sizes == sorted(sizes)
    assert {point.spread for point in found.points} == {1.0}
    assert found.points[-1].worst == 0.0
    with pytest.raises(InvalidParameter, match="all percentages or all amounts"):
        didact.frontier(members, losses=["1%", 0.5], **settings)
    with pytest.raises(Unsupported, match="of one world"):
        found.report("frontier.html")


@pytest.mark.parametrize("loss", ["2%", 0.02])
def test_witnesses_of_lower_bounds_hold(loss, monkeypatch):
    """Each loses too much in some member, whatever the tie, and no other candidate excludes it."""
    n_witnesses, problems = 0, []
    made = build.LessonEvidence

    def spied(settings, problem, *rest):
        problems.append(problem)
        return made(settings, problem, *rest)

    monkeypatch.setattr(build, "LessonEvidence", spied)
    for seed in range(2):
        members = family(seed)
        bec = didact.equivalence_class(members)
        how = {"horizon": 1, "starts": all_of(bec), "loss": loss}
        lesson = didact.teach_within(members, bec=bec, teacher="exact", **how)
        for witness in lesson.within.witnesses:
            weights = np.array([[float(w) for w in witness.weights]])
            unit = [spread_of(task) if loss == "2%" else 1.0 for task in members]
            lost = [least_losses(weights, *counts_and_losses(task))[0] for task in members]
            assert max(x / u for x, u in zip(lost, unit, strict=True)) > 0.02
            candidates = problems[-1].candidates
            for number in range(len(candidates)):
                if number not in witness.excluded_by:
                    assert fits(bec, candidates[number], witness)
            n_witnesses += 1
    assert n_witnesses >= 4


def fits(bec, demonstration, witness):
    """Whether weights fit a demonstration of one pair, in fractions."""
    member, ((state, action),) = bec.members[demonstration.member], demonstration.pairs
    if witness.learner == "planner":
        plan = didact.solve(member.task.mdp, witness.weights, arithmetic="exact")
        return plan.optimal[state, action]
    counts = [[Fraction(str(x)) for x in row] for row in member.counts.pairs[state]]
    worth = [sum(x * w for x, w in zip(row, witness.weights, strict=True)) for row in counts]
    return worth[action] == max(worth)
