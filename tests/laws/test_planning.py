"""What must hold of every plan, on thousands of random models, against brute force in fractions."""

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from didact.mdp import MDP, Task, Transitions
from didact.planning import evaluate, reachable_states, solve, successor_features
from tests.models import tasks
from tests.oracles import Plain, best_values, optimal_sets, policy_sums


def as_mask(sets: list[list[int]], n_actions: int) -> np.ndarray:
    return np.array([[a in chosen for a in range(n_actions)] for chosen in sets])


@given(tasks())
def test_exact_plan_is_what_brute_force_finds(task: Task):
    plain = Plain(task.mdp)
    q, optimal = optimal_sets(plain, task.true_weights.fractions())
    plan = solve(task.mdp, task.true_weights, arithmetic="exact")
    assert (plan.optimal == as_mask(optimal, task.mdp.n_actions)).all()
    for s in range(plain.n_states):
        assert plan.exact_values[s] == max(q[s])
    np.testing.assert_allclose(
        plan.action_values, np.array(q, dtype=float), rtol=1e-15, atol=1e-300
    )


@given(tasks())
def test_float_bound_is_never_wrong_and_auto_agrees_with_exact(task: Task):
    exact = solve(task.mdp, task.true_weights, arithmetic="exact")
    quick = solve(task.mdp, task.true_weights, arithmetic="float")
    assert np.abs(quick.action_values - exact.action_values).max() <= quick.error_bound * (
        1 + 1e-12
    )
    assert (quick.optimal | ~exact.optimal).all(), "an optimal action was ruled out in floats"
    settled = solve(task.mdp, task.true_weights)
    assert settled.is_proved
    assert (settled.optimal == exact.optimal).all()


@given(tasks())
def test_counts_times_weights_are_action_values_exactly(task: Task):
    plan = solve(task.mdp, task.true_weights, arithmetic="exact")
    counts = successor_features(task.mdp, plan, arithmetic="exact")
    weights = [Fraction(w) for w in task.true_weights.fractions()]
    for s in range(task.mdp.n_states):
        total = sum(
            Fraction(int(c.p), int(c.q)) * w for c, w in zip(counts.states[s], weights, strict=True)
        )
        assert total == plan.exact_values[s]
    plain = Plain(task.mdp)
    policy = [
        {a: Fraction(1, len(acts)) for a in acts}
        for acts in map(plan.optimal_actions, range(plain.n_states))
    ]
    oracle = policy_sums(plain, policy, plain.phi)
    assert [[Fraction(int(c.p), int(c.q)) for c in row] for row in counts.states] == oracle
    quick = successor_features(task.mdp, plan)
    assert np.abs(quick.states - np.array(oracle, dtype=float)).max() <= quick.error_bound * (
        1 + 1e-12
    )
    pairs = np.array(
        [[[float(Fraction(int(c.p), int(c.q))) for c in a] for a in s] for s in counts.pairs]
    )
    assert np.abs(quick.pairs - pairs).max() <= quick.error_bound * (1 + 1e-12)


@given(tasks(terminals=False))
def test_constant_feature_counts_one_over_one_minus_discount(task: Task):
    mdp = task.mdp
    steady = MDP(mdp.transitions, np.ones((mdp.n_states, 1)), mdp.exact_discount)
    plan = solve(steady, [0])
    counts = successor_features(steady, plan, arithmetic="exact")
    expected = 1 / (1 - mdp.exact_discount)
    assert all(Fraction(int(c.p), int(c.q)) == expected for c in counts.pairs.ravel())


@given(tasks(), st.randoms(use_true_random=False))
def test_renaming_states_actions_and_features_renames_the_answer(task: Task, random):
    mdp = task.mdp
    orders = [list(range(n)) for n in (mdp.n_states, mdp.n_actions, mdp.n_features)]
    for order in orders:
        random.shuffle(order)
    by_state, by_action, by_feature = (np.argsort(order) for order in orders)
    plain = Plain(mdp)
    rows = [
        (orders[0][s], orders[1][a], orders[0][t], p)
        for s in range(mdp.n_states)
        for a in range(mdp.n_actions)
        for t, p in plain.row(s, a).items()
    ]
    features = np.array(plain.phi, dtype=object)[by_state][:, by_action][:, :, by_feature]
    renamed = MDP(
        Transitions.from_rows(rows, mdp.n_states, mdp.n_actions),
        features,
        mdp.exact_discount,
        terminal=mdp.terminal[by_state],
    )
    weights = np.array(task.true_weights.fractions(), dtype=object)[by_feature]
    plan, other = solve(mdp, task.true_weights), solve(renamed, weights)
    assert (other.optimal == plan.optimal[by_state][:, by_action]).all()


@given(tasks(max_states=4), st.lists(st.sampled_from([0, 1, -1, "1/2"]), min_size=3, max_size=3))
def test_loss_is_what_brute_force_over_tie_breaks_finds(task: Task, other: list):
    mdp, plain = task.mdp, Plain(task.mdp)
    guess = [Fraction(x) for x in other[: mdp.n_features]]
    q, optimal = optimal_sets(plain, task.true_weights.fractions())
    _, learned = optimal_sets(plain, guess)
    gaps = [
        [[max(q[s]) - v] if optimal[s] else [Fraction(0)] for v in q[s]]
        for s in range(mdp.n_states)
    ]
    uniform = policy_sums(
        plain, [{a: Fraction(1, len(acts)) for a in acts} for acts in learned], gaps
    )
    worst = best_values(plain, gaps, learned)
    result = evaluate(task, guess)
    start = mdp.start.fractions()
    loss = float(sum(p * v[0] for p, v in zip(start, uniform, strict=True)))
    worst_loss = float(sum(p * v for p, v in zip(start, worst, strict=True)))
    np.testing.assert_allclose(result.policy_loss, loss, rtol=1e-9, atol=result.error_bound)
    assert abs(result.worst_policy_loss - worst_loss) <= result.error_bound + 1e-15 * worst_loss
    assert (result.policy_loss == 0) == (loss == 0)
    assert (result.worst_policy_loss == 0) == (worst_loss == 0)
    alive = [s for s in range(mdp.n_states) if not plain.terminal[s]]
    wrong = [Fraction(sum(a not in optimal[s] for a in learned[s]), len(learned[s])) for s in alive]
    assert abs(result.wrong_actions - float(sum(wrong) / len(alive))) < 1e-12


@given(tasks())
def test_reachable_states_are_the_transitive_closure(task: Task):
    mdp, plain = task.mdp, Plain(task.mdp)
    reached = {s for s, p in enumerate(mdp.start.fractions()) if p}
    while True:
        wider = reached | {
            t for s in reached for a in range(mdp.n_actions) for t in plain.row(s, a)
        }
        if wider == reached:
            break
        reached = wider
    assert set(np.flatnonzero(reachable_states(mdp)).tolist()) == reached
