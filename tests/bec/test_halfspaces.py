"""The matrix form of the BEC against dense inverses, the paper's numbers and the exact class."""

from fractions import Fraction

import numpy as np
import pytest

import didact
from didact.bec.classes import equivalence_class
from didact.bec.directions import TOLERANCE
from didact.bec.halfspaces import as_row, demonstrated_pairs, rows_from_counts, scope_states
from didact.bec.linear import dot, primitive
from didact.errors import InvalidModel, InvalidParameter, Unsupported
from didact.mdp import MDP, Demonstration, Task, Transitions
from didact.planning import exact_successor_features, float_successor_features, solve
from didact.worlds import make

ARITHMETICS = ["exact", "float"]


def on_path_counterexample() -> Task:
    """s0: a -> (1,0), b -> s1; s1: c -> 0, d -> (0,1). The policy never visits s1."""
    rows = [(0, 0, 2, 1), (0, 1, 1, 1), (1, 0, 3, 1), (1, 1, 4, 1)]
    features = [[0, 0], [0, 0], [1, 0], [0, 0], [0, 1]]
    moves = Transitions.from_rows(rows, 5, 2)
    return Task(MDP(moves, features, "0.9", start=0, terminal=[2, 3, 4]), [1, -1])


def rows_of(task: Task, arithmetic: str = "exact", scope: str = "reachable"):
    return equivalence_class(task, arithmetic=arithmetic, scope=scope).rows


def test_six_cell_rows_are_these_primitive_vectors():
    rows = rows_of(make("six-cell"))
    assert set(rows.exact) == {(1, -10), (-1, 0), (2539, -1000), (1, -1)}
    assert rows.arithmetic == "exact"
    assert (rows.error_bound, rows.spread, rows.n_lost) == (0.0, 0.0, 0)


@pytest.mark.parametrize("arithmetic", ARITHMETICS)
def test_every_statement_is_listed_once_in_order_and_knows_its_row(arithmetic):
    task = make("uvm-failure")
    plan = solve(task.mdp, task.true_weights)
    rows = rows_of(task, arithmetic)
    expected = [
        [s, a, b]
        for s in range(task.mdp.n_states)
        for a in plan.optimal_actions(s)
        for b in range(task.mdp.n_actions)
        if a != b
    ]
    assert rows.statements.tolist() == expected
    pairs = float_successor_features(task.mdp, plan.policy).pairs
    for (s, a, b), row in zip(expected, rows.number.tolist(), strict=True):
        difference = pairs[s, a] - pairs[s, b]
        if row < 0:
            assert np.abs(difference).max() < 1e-12
        else:
            unit = difference / np.linalg.norm(difference)
            np.testing.assert_allclose(rows.normals[row], unit, atol=1e-12)
    assert sorted(set(rows.number.tolist()) - {-1}) == list(range(rows.n_rows))
    for row in range(rows.n_rows):
        assert rows.number[expected.index(list(rows.statement_of(row)))] == row


@pytest.mark.parametrize("arithmetic", ARITHMETICS)
def test_actions_with_equal_counts_give_no_row(arithmetic):
    """In the corner of an empty grid up and left both stay: a zero row, not noise."""
    rows = rows_of(make("random-grid", size=2, n_features=1), arithmetic)
    assert rows.n_rows == 0
    assert rows.normals.shape == (0, 1)
    assert (rows.number == -1).all()
    assert len(rows.statements)


@pytest.mark.parametrize("arithmetic", ARITHMETICS)
def test_a_row_and_its_negative_are_two_rows(arithmetic):
    rows = rows_of(make("uvm-failure"), arithmetic)
    cosines = rows.normals @ rows.normals.T
    assert (cosines < -1 + 1e-12).sum() == 2


@pytest.mark.parametrize("arithmetic", ARITHMETICS)
def test_reachable_scope_has_the_rows_of_states_off_the_path(arithmetic):
    rows = rows_of(on_path_counterexample(), arithmetic)
    assert rows.statements.tolist() == [[0, 0, 1], [1, 0, 1]]
    np.testing.assert_allclose(rows.normals, [[1, 0], [0, -1]])


def test_scope_all_adds_what_cannot_be_reached():
    task = on_path_counterexample()
    started = Task(MDP(task.mdp.transitions, task.mdp.features, "0.9", start=1,
                       terminal=[2, 3, 4]), [1, -1])  # fmt: skip
    assert scope_states(started.mdp, "reachable").tolist() == [False, True, False, False, False]
    assert scope_states(started.mdp, "all").tolist() == [True, True, False, False, False]
    assert rows_of(started).exact == ((0, -1),)
    assert rows_of(started, scope="all").exact == ((1, 0), (0, -1))


def test_terminal_states_state_nothing():
    task = make("six-cell")
    assert 0 not in rows_of(task, scope="all").statements[:, 0]


def test_scope_is_one_of_two():
    with pytest.raises(InvalidParameter, match="scope must be 'reachable' or 'all'; it is 'path'"):
        scope_states(make("six-cell").mdp, "path")


@pytest.mark.parametrize("arithmetic", ARITHMETICS)
def test_shown_pairs_state_a_part_of_the_rows(arithmetic):
    task = make("six-cell")
    bec = equivalence_class(task, arithmetic=arithmetic)
    shown = demonstrated_pairs(task.mdp, [Demonstration([(2, 1), (5, 2)])], bec.plan)
    part = bec.rows.shown_part(shown)
    assert part.statements.tolist() == [
        [s, a, b] for s, a in [(2, 1), (5, 2)] for b in range(4) if a != b
    ]
    stated = bec.rows.stated_by(shown)
    assert stated.tolist() == sorted(set(stated.tolist()))
    np.testing.assert_array_equal(part.normals, bec.rows.normals[stated])
    for statement, row in zip(part.statements.tolist(), part.number.tolist(), strict=True):
        whole = bec.rows.number[bec.rows.statements.tolist().index(statement)]
        assert (row < 0) == (whole < 0)
        if row >= 0:
            assert stated[row] == whole
    if arithmetic == "exact":
        assert part.exact == tuple(bec.rows.exact[row] for row in stated)


@pytest.mark.parametrize("arithmetic", ARITHMETICS)
def test_nothing_shown_states_nothing(arithmetic):
    bec = equivalence_class(make("six-cell"), arithmetic=arithmetic)
    part = bec.rows.shown_part(np.zeros((6, 4), dtype=bool))
    assert part.n_rows == len(part.statements) == len(part.number) == 0
    assert part.normals.shape == (0, 2)


def test_only_optimal_actions_may_be_shown():
    task = make("six-cell")
    plan = solve(task.mdp, task.true_weights)
    with pytest.raises(
        InvalidModel, match=r"demonstration 2, step 1 must show an optimal action; up in state 2"
    ):
        demonstrated_pairs(task.mdp, [Demonstration([(3, 0)]), Demonstration([(2, 0)])], plan)
    assert demonstrated_pairs(task.mdp, [Demonstration([(2, 0)])]).sum() == 1


def test_pairs_are_shown_once_however_often():
    mdp = make("six-cell").mdp
    shown = demonstrated_pairs(mdp, [Demonstration([(3, 0), (3, 0)]), Demonstration([(3, 0)])])
    assert np.argwhere(shown).tolist() == [[3, 0]]


def test_exact_rows_are_coprime_and_distinct():
    rows = rows_of(make("random-grid", seed=1))
    assert len(set(rows.exact)) == len(rows.exact)
    assert all(np.gcd.reduce(np.array(row, dtype=object)) == 1 for row in rows.exact)
    lengths = np.linalg.norm(rows.normals, axis=1)
    np.testing.assert_allclose(lengths, 1, atol=1e-12)


def test_true_weights_satisfy_every_row():
    task = make("random-grid", seed=2)
    weights = as_row(task.true_weights.fractions())
    assert min(dot(row, weights) for row in rows_of(task).exact) >= 0


def test_float_rows_are_the_exact_rows():
    for seed in range(10):
        task = make("random-grid", seed=seed, terminals=seed % 3)
        exact, floats = rows_of(task), rows_of(task, "float")
        np.testing.assert_array_equal(exact.statements, floats.statements)
        np.testing.assert_array_equal(exact.number, floats.number)
        turned = np.linalg.norm(exact.normals - floats.normals, axis=1).max()
        assert turned <= floats.error_bound + 1e-15
        assert floats.error_bound < TOLERANCE
        assert floats.spread <= 2 * floats.error_bound
        assert floats.n_lost == 0
        assert floats.exact is None
        assert floats.arithmetic == "float"


def short_row_task(size: Fraction) -> Task:
    """Two states: one where actions differ by (1, 0), one where they differ by (0, size)."""
    rows = [(s, a, 2, 1) for s in (0, 1) for a in (0, 1)]
    phi = [[[1, 0], [0, 0]], [[0, size], [0, 0]], [[0, 0], [0, 0]]]
    return Task(MDP(Transitions.from_rows(rows, 3, 2), phi, "0.9", terminal=[2]), [1, 1])


@pytest.mark.parametrize("digits", range(3, 21))
def test_short_rows_are_kept_or_counted_in_floats_and_kept_exactly(digits):
    """A row too short for floats is lost, and said to be; or its action ties, unproved."""
    task = short_row_task(Fraction(1, 10**digits))
    assert rows_of(task).exact == ((1, 0), (0, 1))
    bec = equivalence_class(task, arithmetic="float")
    if bec.plan.is_proved:
        assert bec.rows.n_lost == 0
        np.testing.assert_allclose(bec.rows.normals, np.eye(2), atol=1e-12)
    assert (bec.n_close_calls == 0) == (digits < 9)


@pytest.mark.parametrize("digits", range(5, 13))
def test_near_directions_are_told_apart_exactly_and_merged_in_the_open_in_floats(digits):
    gap = Fraction(1, 10**digits)
    rows = [(s, a, 2, 1) for s in (0, 1) for a in (0, 1)]
    phi = [[[1, 0], [0, 0]], [[1, gap], [0, 0]], [[0, 1], [0, 1]]]
    task = Task(MDP(Transitions.from_rows(rows, 3, 2), phi, 0, terminal=[2]), [1, 1])
    assert rows_of(task).exact == ((1, 0), (10**digits, 1))
    floats = rows_of(task, "float")
    assert floats.n_rows == 2 or floats.spread == pytest.approx(float(gap), rel=1e-3)
    assert (floats.n_rows == 2) == (digits < 9)


def test_features_of_pairs_count_in_rows():
    rows = rows_of(short_row_task(Fraction(1, 3)))
    assert rows.exact == ((1, 0), (0, 1))


def test_rows_from_counts_takes_either_arithmetic():
    task = make("six-cell")
    plan = solve(task.mdp, task.true_weights)
    shown = plan.optimal
    exact = rows_from_counts(exact_successor_features(task.mdp, plan), shown)
    floats = rows_from_counts(float_successor_features(task.mdp, plan.policy), shown)
    np.testing.assert_allclose(exact.normals, floats.normals, atol=1e-12)


def test_as_row_keeps_the_direction():
    assert as_row([Fraction(1, 2), Fraction(-1, 3), 0]) == (3, -2, 0)
    assert as_row([-4, 6]) == (-2, 3)


def test_rows_of_sure_steps_are_differences_of_pairs():
    for discount in ("0", "1/2", "0.95"):
        for terminals in (0, 2):
            task = make("random-grid", size=4, n_features=3, discount=discount, terminals=terminals)
            bec = equivalence_class(task, arithmetic="exact")
            pairs = exact_successor_features(task.mdp, bec.plan).pairs
            for (s, a, b), number in zip(bec.rows.statements, bec.rows.number, strict=True):
                row = primitive(pairs[s, a] - pairs[s, b])
                assert row == (bec.rows.exact[number] if number >= 0 else (0, 0, 0))


def dense(mdp, policy: np.ndarray) -> np.ndarray:
    """(T_pi - T_a) (I - discount T_pi)^-1 Phi, with dense matrices from the transition table."""
    n_states, n_actions = mdp.n_states, mdp.n_actions
    table = mdp.transitions.matrix().toarray().reshape(n_states, n_actions, n_states)
    moves = table.transpose(1, 0, 2)
    followed = np.einsum("sa,ast->st", policy, moves)
    inverse = np.linalg.inv(np.eye(n_states) - mdp.discount * followed)
    return np.stack([(followed - each) @ inverse @ mdp.features.floats for each in moves])


@pytest.mark.parametrize("name", ["six-cell", "chain", "random-grid", "FrozenLake-v1"])
def test_it_is_the_printed_product_of_matrices(name):
    task = didact.make(name)
    if task.mdp.has_action_features:
        task = didact.make("garnet")
    plan = didact.solve(task.mdp, task.true_weights)
    np.testing.assert_allclose(
        didact.ng_russell(task), dense(task.mdp, plan.policy), rtol=0, atol=1e-9
    )


def test_the_example_has_the_papers_constraints():
    """2.539 w0 - w1 >= 0 and -w0 >= 0 are all that is not redundant (the appendix's example)."""
    task = didact.make("six-cell")
    normals = didact.ng_russell(task).reshape(-1, 2)
    for weights, fits in [([-1, -2.54], True), ([-1, -2.53], False), ([0.01, -9], False)]:
        assert (normals @ weights >= -1e-12).all() == fits


@pytest.mark.parametrize("seed", range(5))
def test_weights_fit_all_rows_exactly_where_the_policy_is_optimal(seed):
    task = didact.make("random-grid", size=4, n_features=3, seed=seed)
    policy = didact.solve(task.mdp, task.true_weights).policy
    normals = didact.ng_russell(task, policy).reshape(-1, 3)
    drawn = np.random.default_rng(seed).normal(size=(60, 3))
    fits = [(normals @ weights >= -1e-9).all() for weights in [*drawn, task.weights]]
    optimal = []
    for weights in [*drawn, task.weights]:
        values = didact.solve(task.mdp, weights).action_values
        gap = values.max(axis=1) - np.where(policy > 0, values, np.inf).min(axis=1)
        optimal.append(gap.max() < 1e-9)
    assert fits == optimal
    assert fits[-1]


def test_what_it_refuses():
    task = didact.make("six-cell")
    with pytest.raises(Unsupported, match="give a policy"):
        didact.ng_russell(task.mdp)
    paid = didact.MDP([[[1], [1]]], features=[[[1], [0]]], discount=0.5)
    with pytest.raises(Unsupported, match="rewards of states"):
        didact.ng_russell(paid, [0])


def test_balanced_rows_say_of_balanced_weights_what_rows_say_of_weights():
    """One feature is a thousand times the others: without its own unit it would hide them."""
    task = make("random-grid", size=4, n_features=3, seed=1)
    units = np.array([1.0, 1000.0, 1.0])
    wide = MDP(task.mdp.transitions, task.mdp.features.floats * units, "0.9")
    rows = rows_of(Task(wide, task.weights / units), "float")
    weights = np.array([0.3, -2.0, 1.7])
    lengths = np.linalg.norm(rows.normals / rows.scales, axis=1)
    np.testing.assert_allclose(np.linalg.norm(rows.balanced, axis=1), 1.0)
    said = lengths * (rows.balanced @ rows.balanced_weights(weights))
    np.testing.assert_allclose(said, rows.normals @ weights, atol=1e-12)
    np.testing.assert_allclose(rows.unbalanced_weights(rows.balanced_weights(weights)), weights)
