"""Other feedback than demonstrations: what each kind says, and the traps in it."""

import itertools
import random
from fractions import Fraction

import pytest

import didact
from didact.bec.linear import primitive
from didact.errors import InvalidModel
from didact.mdp import MDP, Task, Transitions
from didact.mdp.items import read_item
from didact.teaching.feedback.halfspaces import item_differences, margin
from didact.teaching.witness import ExactHalfspaces
from tests.beyond.test_exams import ways
from tests.decisions import decisions
from tests.effort import chunks, number
from tests.laws.test_exams import world
from tests.oracles import Plain, optimal_sets, policy_sums
from tests.test_proofcheck import cone_multipliers


def test_unequal_lengths_would_tell_rewards_apart_that_behave_alike():
    """k = 1, no terminal: nothing is at stake, yet 1 step against 3 separates +1 from -1."""
    task = Task(MDP([[[1], [1]]], [[1]], "0.9"), [1])
    assert didact.equivalence_class(task).rows.n_rows == 0
    short, long = [[0, 0]], [[0, 0]] * 3
    with pytest.raises(InvalidModel, match="trajectories that go on must have the same length"):
        didact.check(task, [didact.Preference(long, short)])
    assert didact.check(task, [didact.Preference(long, [[0, 1]] * 3)]).teaches


def stops(task):
    """Every stop of every walk of three steps from every state."""
    moves = task.mdp.transitions
    for start in range(task.mdp.n_states):
        for actions in itertools.product(range(task.mdp.n_actions), repeat=3):
            state, way = start, []
            for action in actions:
                if task.mdp.terminal[state]:
                    break
                way.append((state, action))
                row = state * task.mdp.n_actions + action
                state = int(moves.successors[moves.offsets[row]])
            for after in range(len(way)):
                yield didact.Stop(way, after, off_is_worth_nothing=True)


def test_stops_imply_no_row_with_a_positive_entry_and_fit_a_constant_reward():
    """With features >= 0 all entries of stops are <= 0, so the reward -1 everywhere fits all."""
    task = didact.make("six-cell")
    bec = didact.equivalence_class(task)
    rows = {primitive(row) for stop in stops(task) for row in item_differences(bec, stop)}
    assert rows
    assert all(max(row) <= 0 for row in rows)
    assert all(sum(-entry for entry in row) >= 0 for row in rows)
    true = [stop for stop in stops(task) if margin(bec, item_differences(bec, stop)[0]) >= 0]
    assert true
    found = didact.check(task, true[:40], bec=bec)
    assert not found.teaches
    assert found.missing_words == "one step on grey costs at least 2.54 times a step on white"


def test_a_stop_must_say_that_being_off_is_worth_nothing():
    with pytest.raises(InvalidModel, match="say that it is worth 0"):
        didact.Stop([[0, 0]], 0)


def test_that_an_action_is_wrong_is_no_convex_set_and_is_refused():
    """(1, 0, .5) and (0, 1, .5) make the third action wrong, their mean makes it best."""
    payments = [[[1, 0, 0], [0, 1, 0], [0, 0, 1]]]
    for weights, best in (([1, 0, "0.5"], 0), ([0, 1, "0.5"], 1)):
        plan = didact.solve(decisions(payments, weights), arithmetic="exact")
        assert plan.optimal_actions(0) == [best]
    mean = didact.solve(decisions(payments, ["0.5", "0.5", "0.5"]), arithmetic="exact")
    assert 2 in mean.optimal_actions(0)
    with pytest.raises(InvalidModel, match="says nothing alone"):
        read_item({"kind": "wrong", "state": 0, "action": 2})
    with pytest.raises(InvalidModel, match="Say which action is better"):
        didact.check(decisions(payments, [1, 0, "0.5"]), [{"kind": "wrong", "state": 0}])


def test_a_comparison_can_be_any_facet():
    """One comparison for each facet, and two for each tie, teach exactly the class."""
    for seed in range(number(10, 20)):
        bec = didact.equivalence_class(world(seed))
        rows = [*bec.cone.facet_rows(), *bec.cone.equalities]
        items = [didact.Comparison(*bec.rows.statement_of(row)) for row in rows]
        if not items:
            continue
        assert didact.check(bec.task, items, bec=bec).teaches, seed
        for left_out in range(bec.cone.n_facets):
            rest = items[:left_out] + items[left_out + 1 :]
            if rest:
                found = didact.check(bec.task, rest, bec=bec)
                assert not found.teaches, seed
                assert bec.cone.contains(found.witness) == "outside"


def test_items_whose_rows_lie_in_the_class_need_one_row_for_each_facet():
    """And half-spaces that imply the class number at least its rank, and one more with ties."""
    for seed in range(number(12, 25)):
        bec = didact.equivalence_class(world(seed))
        rows, wanted = list(bec.rows.exact), list(bec.rows.exact)
        if not 0 < len(rows) <= 9:
            continue
        fewest = next(
            size
            for size in range(len(rows) + 1)
            for chosen in itertools.combinations(rows, size)
            if all(cone_multipliers(row, list(chosen)) is not None for row in wanted)
        )
        assert fewest >= bec.cone.n_facets
        assert fewest >= bec.cone.rank + bool(bec.cone.equalities)


def test_near_ties_that_say_more_than_the_class_can_do_with_fewer_and_are_harder():
    """Three facets, one preference nearly tied on each side of the weights: two rows do."""
    payments = [[[1, 0], [0, 0]], [[0, 1], [0, 0]], [[3, -1], [0, 0]]]
    task = decisions(payments, [1, 2])
    bec = didact.equivalence_class(task)
    assert bec.cone.rank == 2
    tight = Task(
        MDP(
            Transitions.from_rows([(0, a, 0, 1) for a in range(4)], 1, 4),
            [[[201, -100], [0, 0], [-199, 100], [0, 0]]],
            0,
        ),
        [1, 2],
    )
    counted = didact.equivalence_class(tight, arithmetic="exact").counts.pairs[0]
    both = [list(counted[0] - counted[1]), list(counted[2] - counted[3])]
    assert [margin(bec, row) for row in both] == [1, 1]
    rays = [primitive(row) for row in both]
    assert all(cone_multipliers(row, rays) is not None for row in bec.rows.exact)


def walk(task, rng, state, n):
    """A random walk of n steps, or to the end; the first of the possible states comes next."""
    moves, way = task.mdp.transitions, []
    while len(way) < n and not task.mdp.terminal[state]:
        action = rng.randrange(task.mdp.n_actions)
        way.append((state, action))
        row = state * task.mdp.n_actions + action
        state = int(moves.successors[moves.offsets[row]])
    return way


CERTAIN = [seed for seed in range(60) if world(seed).mdp.is_deterministic()]
"""Worlds in which a walk tells whether it ended."""


@pytest.mark.parametrize("seed", CERTAIN)
def test_a_preference_says_what_the_returns_of_both_ways_say(seed):
    """Against returns counted step by step in fractions, for weights of any kind."""
    task, rng = world(seed), random.Random(seed)
    bec = didact.equivalence_class(task)
    plain = Plain(task.mdp)
    for _ in range(10):
        first, second = (walk(task, rng, 0, 3) for _ in range(2))
        try:
            item = didact.Preference(first, second)
            didact.check(task, [item], bec=bec)
        except InvalidModel:
            continue
        (difference,) = item_differences(bec, item)
        weights = [Fraction(rng.randint(-3, 3)) for _ in range(plain.k)]
        worth = [_return(plain, way, weights) for way in (first, second)]
        said = sum(
            (Fraction(int(x.p), int(x.q)) * w for x, w in zip(difference, weights, strict=True)),
            Fraction(0),
        )
        assert said == worth[0] - worth[1]


def _return(plain, way, weights):
    total = sum(plain.discount**t * plain.reward(s, a, weights) for t, (s, a) in enumerate(way))
    (end,) = plain.row(*way[-1])
    if plain.terminal[end]:
        total += plain.discount ** len(way) * plain.reward(end, 0, weights)
    return total


def test_a_comparison_has_the_best_policy_after_both_actions():
    for seed in range(10):
        task = world(seed)
        plain = Plain(task.mdp)
        if plain.n_states * plain.n_actions > 10:
            continue
        bec = didact.equivalence_class(task)
        weights = list(task.true_weights.fractions())
        q, sets = optimal_sets(plain, weights)
        uniform = [{a: Fraction(1, len(best)) for a in best} for best in sets]
        payments = [
            [list(plain.phi[s][a]) for a in range(plain.n_actions)] for s in range(plain.n_states)
        ]
        counts = policy_sums(plain, [p or {0: Fraction(1)} for p in uniform], payments)
        for s in range(plain.n_states):
            if plain.terminal[s] or plain.n_actions < 2:
                continue
            item = didact.Comparison(s, 0, 1)
            mu = [
                [
                    plain.phi[s][a][i]
                    + plain.discount * sum(p * counts[t][i] for t, p in plain.row(s, a).items())
                    for i in range(plain.k)
                ]
                for a in (0, 1)
            ]
            (row,) = item_differences(bec, item)
            assert [Fraction(int(x.p), int(x.q)) for x in row] == [
                x - y for x, y in zip(*mu, strict=True)
            ]
            assert margin(bec, row) == q[s][0] - q[s][1]


def test_feedback_that_is_not_true_is_named_with_what_it_misses():
    task = ways([[2, 1], [3, 4], [], [], []], [[0], [0], [3], [2], [1]], [1])
    right, false = didact.Comparison(1, 0, 1), didact.Comparison(0, 1, 0)
    found = didact.check(task, [right, false])
    assert not found.teaches
    assert found.right_teaches
    (wrong,) = found.wrong_items
    assert wrong.item == 1
    assert wrong.exact_gap == Fraction(9, 10) * 3 - Fraction(81, 100) * 2
    assert "action 1 rather than action 0" in wrong.words
    assert found.hardest == Fraction(9, 10)


def test_the_hardest_margin_is_the_smallest_difference_that_is_said():
    task = ways([[2, 1], [3, 4], [], [], []], [[0], [0], [3], [2], [1]], [1])
    items = [didact.Comparison(1, 0, 1), [[0, 0]]]
    found = didact.check(task, items)
    assert found.teaches
    assert found.hardest == min(Fraction(9, 10), Fraction(27, 10) - Fraction(81, 50))


def test_a_ranking_of_m_states_its_m_less_one_neighbours():
    task = didact.make("six-cell")
    bec = didact.equivalence_class(task)
    ranked = [[(2, 1), (5, 2)], [(2, 2), (1, 2)], [(2, 0), (2, 2)], [(2, 3), (2, 3)]]
    rows = item_differences(bec, didact.RankedTrajectories(ranked))
    neighbours = [
        item_differences(bec, didact.Preference(first, second))[0]
        for first, second in itertools.pairwise(ranked)
    ]
    assert rows == neighbours
    assert len(rows) == len(ranked) - 1


@pytest.mark.parametrize("seed", chunks(6, 12))
def test_a_stop_says_that_what_would_have_followed_is_worth_at_most_nothing(seed):
    """Minus the discounted counts from the step on that was not let pass; all of them at once."""
    task, rng = world(seed), random.Random(seed)
    bec, plain = didact.equivalence_class(task), Plain(task.mdp)
    way = walk(task, rng, 0, 3)
    for after in range(len(way)):
        stop = didact.Stop(way, after, off_is_worth_nothing=True)
        (row,) = item_differences(bec, stop)
        for feature in range(plain.k):
            weights = [Fraction(int(j == feature)) for j in range(plain.k)]
            whole = sum(
                plain.discount**t * plain.reward(s, a, weights)
                for t, (s, a) in enumerate(way)
                if t >= after
            )
            ends = plain.row(*way[-1])
            if all(plain.terminal[end] for end in ends):
                last = plain.discount ** len(way)
                whole += last * sum(
                    share * plain.reward(end, 0, weights) for end, share in ends.items()
                )
            assert Fraction(int(row[feature].p), int(row[feature].q)) == -whole


def test_answers_are_not_strict():
    """Of two sides that are worth the same either may be called better, and both together tie."""
    task = decisions([[[2, 0], [0, 1]]], [1, 2])
    bec = didact.equivalence_class(task)
    both = [didact.Comparison(0, 0, 1), didact.Comparison(0, 1, 0)]
    for item in both:
        found = didact.check(task, [item], bec=bec)
        assert not found.wrong_items
        assert not found.teaches
    assert didact.check(task, both, bec=bec).teaches


@pytest.mark.slow
def test_near_ties_in_one_world_determine_worlds_that_its_class_does_not():
    """9x9, k = 8: what says more than the behaviour of one member says more of the others."""
    tasks = [didact.make("random-grid", size=9, n_features=8, seed=s) for s in range(11)]
    shared = [didact.Task(task.mdp, tasks[0].true_weights) for task in tasks]
    bec = didact.equivalence_class(shared[0])
    lesson = didact.teach_mixed(shared[0], feedback=["preferences"], over_teach=True, bec=bec)
    assert len(lesson.items) == bec.cone.rank
    taught = ExactHalfspaces([primitive(item_differences(bec, x)[0]) for x in lesson.items])
    own = ExactHalfspaces(list(bec.rows.exact))
    determined = {"near ties": 0, "class": 0}
    for task in shared[1:]:
        unseen = didact.equivalence_class(task)
        rows = [unseen.rows.exact[row] for row in unseen.cone.facet_rows()]
        determined["near ties"] += all(taught.follows(row) for row in rows)
        determined["class"] += all(own.follows(row) for row in rows)
    assert determined["class"] == 0
    assert determined["near ties"] >= 5
