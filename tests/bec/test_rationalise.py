"""Rewards that explain a policy, against brute force, linear programs and plain fractions."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from didact.bec.halfspaces import scope_states
from didact.bec.rationalise import _kept, _least_loss, nearest_reward, rationalise
from didact.errors import InvalidParameter, Unsupported
from didact.mdp import MDP, Task
from didact.planning import as_policy, solve
from didact.worlds import from_gymnasium, make
from tests.effort import chunks, number
from tests.models import tasks
from tests.oracles import Plain, optimal_sets, policy_sums


def counts_of(plain: Plain, taken: list[list[int]]) -> list[list[list[Fraction]]]:
    """mu(s, a) of the policy that is uniform over the taken actions, in plain fractions."""
    uniform = [{a: Fraction(1, len(actions)) for a in actions} for actions in taken]
    after = policy_sums(plain, uniform, plain.phi)
    return [
        [
            [
                phi + plain.discount * sum(p * after[t][i] for t, p in plain.row(s, a).items())
                for i, phi in enumerate(plain.phi[s][a])
            ]
            for a in range(plain.n_actions)
        ]
        for s in range(plain.n_states)
    ]


def statements(plain: Plain, taken: list[list[int]], inside: list[bool]):
    """Every comparison (s, a, b) in scope, with its normal."""
    mu = counts_of(plain, taken)
    for s in range(plain.n_states):
        if not plain.terminal[s] and inside[s]:
            for a in taken[s]:
                for b in range(plain.n_actions):
                    if b != a:
                        yield (s, a, b), [x - y for x, y in zip(mu[s][a], mu[s][b], strict=True)]


def dot(left, right) -> Fraction:
    return sum((Fraction(x) * Fraction(y) for x, y in zip(left, right, strict=True)), Fraction(0))


def taken_by(mdp: MDP, policy) -> list[list[int]]:
    return [np.flatnonzero(row).tolist() for row in as_policy(mdp, policy) > 0]


@st.composite
def policies(draw, task: Task):
    """Some actions of each state, equally likely: often one, sometimes several."""
    mdp = task.mdp
    table = np.zeros((mdp.n_states, mdp.n_actions))
    for state in range(mdp.n_states):
        chosen = draw(st.sets(st.integers(0, mdp.n_actions - 1), min_size=1, max_size=2))
        table[state, sorted(chosen)] = 1 / len(chosen)
    return table


@given(st.data())
def test_the_answer_is_right_and_its_evidence_checks(data):
    task = data.draw(tasks())
    policy = data.draw(policies(task))
    mdp, plain = task.mdp, Plain(task.mdp)
    scope = data.draw(st.sampled_from(["reachable", "all"]))
    inside = scope_states(mdp, scope).tolist()
    found = rationalise(mdp, policy, scope=scope, arithmetic="exact")
    taken = taken_by(mdp, policy)
    rows = dict(statements(plain, taken, inside))
    telling = {key: row for key, row in rows.items() if any(row)}
    assert found.n_statements == len(rows)
    total = [Fraction(0)] * mdp.n_features
    for entry in found.certificate:
        normal = rows[entry.state, entry.action, entry.other]
        assert entry.multiplier > 0
        total = [t + entry.multiplier * x for t, x in zip(total, normal, strict=True)]
    assert not any(total), "the certificate must cancel in every feature"
    if found.kind == "any":
        assert not telling
        return
    if found.kind == "none":
        assert found.weights is None
        listed = [rows[e.state, e.action, e.other] for e in found.certificate]
        for row in telling.values():
            assert any(parallel(row, other) for other in listed), "every row must be in the proof"
        assert telling
        return
    assert found.weights is not None
    _, optimal = optimal_sets(plain, list(found.weights))
    reached = [s for s in range(mdp.n_states) if inside[s] and not mdp.terminal[s]]
    assert all(set(taken[s]) <= set(optimal[s]) for s in reached)
    tied = [s for s in reached if set(optimal[s]) != set(taken[s])]
    assert list(found.tied_states) == tied
    slack = {key: dot(row, found.weights) for key, row in telling.items()}
    assert max(slack.values()) > 0
    assert found.margin > 0
    listed = [rows[e.state, e.action, e.other] for e in found.certificate]
    for key, value in slack.items():
        forced = any(parallel(telling[key], other) for other in listed)
        assert (value == 0) == forced
    others = [value for (s, _, b), value in slack.items() if b not in taken[s]]
    assert (found.kind == "tied") == (0 in others), "several actions of the policy are no tie"
    assert found.kind != "tied" or found.tied_states


def parallel(left, right) -> bool:
    """The same direction: equal up to a positive factor."""
    at = next(i for i, x in enumerate(left) if x)
    if not right[at]:
        return False
    factor = left[at] / right[at]
    return factor > 0 and all(x == factor * y for x, y in zip(left, right, strict=True))


@given(st.data())
def test_it_finds_a_reward_exactly_when_there_is_one(data):
    """Two features: every edge of a cone in the plane is perpendicular to one of its rows."""
    task = data.draw(tasks(max_features=2))
    policy = data.draw(policies(task))
    mdp = task.mdp
    inside = scope_states(mdp, "reachable").tolist()
    rows = [row for _, row in statements(Plain(mdp), taken_by(mdp, policy), inside) if any(row)]
    found = rationalise(mdp, policy, arithmetic="exact")
    if not rows:
        assert found.kind == "any"
        return
    if mdp.n_features == 1:
        candidates = [(Fraction(1),), (Fraction(-1),)]
    else:
        edges = [e for x, y in rows for e in ((-y, x), (y, -x))] + [tuple(r) for r in rows]
        candidates = [*edges, *((a + c, b + d) for a, b in edges for c, d in edges)]
    fitting = [w for w in candidates if all(dot(row, w) >= 0 for row in rows)]
    assert found.explains == any(dot(row, w) > 0 for w in fitting for row in rows)
    strictly = any(all(dot(row, w) > 0 for row in rows) for w in fitting)
    assert (found.kind == "unique") == strictly


@given(st.data())
def test_a_policy_that_is_optimal_is_explained(data):
    task = data.draw(tasks(max_states=4))
    plan = solve(task.mdp, task.true_weights, arithmetic="exact")
    found = rationalise(task.mdp, plan, scope="all", arithmetic="exact")
    indifferent = bool((plan.optimal | task.mdp.terminal[:, None]).all())
    assert found.explains or indifferent


@given(st.data())
def test_only_which_actions_are_taken_counts(data):
    task = data.draw(tasks(max_states=4))
    policy = data.draw(policies(task))
    share, n = st.sampled_from([1.0, 2.0, 5.0]), policy.size
    shares = np.array(data.draw(st.lists(share, min_size=n, max_size=n)))
    uneven = policy * shares.reshape(policy.shape)
    uneven /= uneven.sum(axis=1, keepdims=True)
    one, two = (rationalise(task.mdp, p, arithmetic="exact") for p in (policy, uneven))
    assert (one.kind, one.weights) == (two.kind, two.weights)


@pytest.mark.parametrize("seed", chunks(3, 6))
def test_floats_and_fractions_agree(seed):
    task = make("random-grid", size=5, n_features=4, seed=seed, slip="0.1" if seed % 2 else 0)
    mdp, rng = task.mdp, np.random.default_rng(seed)
    own = solve(mdp, task.true_weights).policy
    drawn = np.eye(mdp.n_actions)[rng.integers(0, mdp.n_actions, mdp.n_states)]
    for policy in (own, drawn):
        exact, floats = (rationalise(mdp, policy, arithmetic=a) for a in ("exact", "float"))
        assert exact.kind == floats.kind
        assert floats.certificate == ()
        assert not floats.is_proved
        assert exact.tied_states == floats.tied_states
        if exact.weights is not None:
            one, two = (solve(mdp, list(f.weights)).optimal for f in (exact, floats))
            assert np.array_equal(one, two)
            assert (one | ~(policy > 0)).all()
            assert exact.margin >= floats.margin / 2 - 1e-9


def test_the_margin_is_nearly_the_largest():
    """The weights keep half of the best margin of a linear program over the rows."""
    task = make("random-grid", size=4, n_features=3, seed=2)
    plan = solve(task.mdp, task.true_weights)
    found = rationalise(task.mdp, plan, arithmetic="exact")
    inside = scope_states(task.mdp, "reachable").tolist()
    rows = np.array([
        [float(x) for x in row]
        for _, row in statements(Plain(task.mdp), taken_by(task.mdp, plan), inside) if any(row)
    ])  # fmt: skip
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    best = linprog(
        [0, 0, 0, -1],
        A_ub=np.column_stack([-rows, np.ones(len(rows))]),
        b_ub=np.zeros(len(rows)),
        bounds=[(-1, 1)] * 3 + [(None, None)],
    ).x
    largest = (rows @ best[:3]).min() / np.linalg.norm(best[:3])
    assert found.margin >= largest / 2


def test_a_contradiction_is_told_in_words_and_cancels():
    """Two cells: moving over in both says that each is better than the other."""
    moves = [[[1, 0], [0, 1]], [[0, 1], [1, 0]]]
    mdp = MDP(moves, [[1, 0], [0, 1]], "0.9", feature_names=["sand", "grass"])
    found = rationalise(mdp, lambda state: 1)
    assert (found.kind, found.weights, found.is_proved) == ("none", None, True)
    words = {entry.words for entry in found.contradiction}
    assert words == {
        "one step on sand is worth at least one step on grass",
        "one step on grass is worth at least one step on sand",
    }
    document = found.document()
    assert document["format"] == "didact.rationalisation/1"
    assert document["weights"] is None
    assert [entry[:3] for entry in document["certificate"]] == [[0, 1, 0], [1, 1, 0]]


def test_staying_in_the_better_cell_is_explained():
    moves = [[[1, 0], [0, 1]], [[0, 1], [1, 0]]]
    found = rationalise(MDP(moves, [[1, 0], [0, 1]], "0.9"), lambda state: 1 - state)
    assert found.kind == "unique"
    assert found.weights is not None
    assert found.weights[1] > found.weights[0]


def test_features_that_tell_nothing_apart_explain_everything():
    mdp = MDP([[[1, 0], [0, 1]], [[0, 1], [1, 0]]], [[1], [1]], "0.5")
    assert rationalise(mdp, lambda state: 0).kind == "any"


def test_bad_arithmetic_is_refused():
    with pytest.raises(InvalidParameter, match="arithmetic must be"):
        rationalise(make("six-cell").mdp, lambda state: 0, arithmetic="fast")


# The nearest reward


@pytest.mark.parametrize("name", ["six-cell", "chain", "uvm-failure"])
def test_an_optimal_policy_keeps_everything(name):
    task = make(name)
    near = nearest_reward(task.mdp, solve(task.mdp, task.true_weights))
    assert near.kept == pytest.approx(1.0)
    assert near.differs == ()


@pytest.mark.parametrize("seed", chunks(4, 8))
def test_no_other_reward_lets_the_policy_keep_more(seed):
    rng = np.random.default_rng(seed)
    task = make("garnet", n_states=8, n_actions=3, n_features=3, terminals=seed % 3, seed=seed)
    mdp = task.mdp
    policy = np.eye(3)[rng.integers(0, 3, 8)]
    policy[mdp.terminal] = 0
    inside = scope_states(mdp, "reachable")
    best = _kept(mdp, policy, inside, _least_loss(mdp, policy, inside).tolist())
    shares = [_kept(mdp, policy, inside, w) for w in rng.normal(size=(number(40, 300), 3)).tolist()]
    assert max(shares) <= best + 1e-9
    near = nearest_reward(mdp, policy)
    assert near.kept <= best + 1e-9
    optimal = solve(mdp, list(near.weights)).optimal
    expected = [s for s in np.flatnonzero(inside) if not optimal[s, policy[s].argmax()]]
    assert list(near.differs) == expected


def test_acting_at_random_has_no_nearest_reward():
    task = make("six-cell")
    even = np.where(task.mdp.terminal[:, None], 0.0, 0.25 * np.ones((1, 4)))
    with pytest.raises(Unsupported, match="the same features as acting at random"):
        nearest_reward(task.mdp, even)


def test_taxi_is_explained_by_simple_weights():
    task = from_gymnasium("Taxi-v4")
    plan = solve(task.mdp, task.true_weights)
    found = rationalise(task.mdp, plan)
    assert found.kind == "unique"
    assert np.array_equal(solve(task.mdp, list(found.weights)).optimal, plan.optimal)
    assert all(weight.denominator <= 10 for weight in found.weights)
