"""Answers as choices: their likelihoods and slopes against brute force and finite differences."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import didact
from didact.errors import InvalidModel, InvalidParameter, Unsupported
from didact.learners import load_belief
from didact.learners.chains.scores import Scorer, score, score_each, shown_in
from didact.learners.evidence import (
    Likelihood,
    ShownFeatures,
    as_answers,
    as_evidence,
    certify,
    softmax,
    softmax_log_likelihood,
    trajectory_features,
)
from didact.learners.points.max_entropy import Dual, SoftPlan
from didact.mdp import MDP, Comparison, Demonstration, Preference, RankedTrajectories, Stop
from didact.mdp.items import as_items
from didact.mdp.model import deciding_states, idle_states
from didact.planning import solve
from tests.effort import number
from tests.models import tasks
from tests.oracles import Plain, optimal_sets

CONFIDENCE = 3.0


def walk(mdp, rng, start: int, length: int) -> Demonstration:
    """A random walk of so many steps, or until it ends."""
    pairs, state = [], start
    for _ in range(length):
        action = int(rng.integers(mdp.n_actions))
        pairs.append((state, action))
        row = state * mdp.n_actions + action
        moves = mdp.transitions
        state = int(rng.choice(moves.successors[moves.offsets[row] : moves.offsets[row + 1]]))
        if mdp.terminal[state]:
            break
    return Demonstration(pairs)


def some_items(mdp, seed: int) -> list:
    """A few items of all kinds that a model takes."""
    rng = np.random.default_rng(seed)
    alive = np.flatnonzero(~mdp.terminal)
    found: list = []
    for _ in range(3):
        start = int(rng.choice(alive))
        if mdp.n_actions > 1:
            found.append(Comparison(start, *rng.permutation(mdp.n_actions)[:2].tolist()))
        ways = [walk(mdp, rng, start, 2) for _ in range(3)]
        found.append(Stop(ways[0], 1 if len(ways[0]) > 1 else 0, off_is_worth_nothing=True))
        for item in (RankedTrajectories(ways), Preference(ways[0], ways[1], bool(seed % 2))):
            try:
                as_items([item], mdp)
            except InvalidModel:
                continue
            found.append(item)
    return found


def plain_worth(mdp, way: Demonstration, weights, first: int = 0) -> float:
    """What a trajectory counts times the weights, by its definition and in fractions."""
    exact, plain = [Fraction(repr(float(w))) for w in weights], Plain(mdp)
    total = Fraction(0)
    for step, (state, action) in enumerate(way):
        if step >= first:
            total += plain.discount**step * plain.reward(state, action, exact)
    ends = plain.row(*way[-1])
    if all(mdp.terminal[target] for target in ends):
        for target, share in ends.items():
            total += plain.discount ** len(way) * share * plain.reward(target, 0, exact)
    return float(total)


def plain_log_likelihood(mdp, items, weights, confidence: float) -> float:
    """The sum over items of the log of what somebody of that confidence says, by definition."""
    q, _ = optimal_sets(Plain(mdp), [Fraction(repr(float(w))) for w in weights])
    total = 0.0
    for item in items:
        if isinstance(item, Comparison):
            worths = [float(q[item.state][item.better]), float(q[item.state][item.other])]
        elif isinstance(item, Stop):
            worths = [0.0, plain_worth(mdp, item.way, weights, item.after)]
        else:
            ways = item.ways if isinstance(item, RankedTrajectories) else (item.better, item.other)
            worths = [plain_worth(mdp, way, weights) for way in ways]
        for i in range(len(worths) - 1):
            total += confidence * worths[i]
            total -= math.log(sum(math.exp(confidence * worth) for worth in worths[i:]))
    return total


@given(tasks(discounts=("0", "1/2", "0.9")), st.integers(0, 99))
def test_likelihoods_are_those_of_the_definition(task, seed):
    items = some_items(task.mdp, seed)
    evidence = as_evidence(task.mdp, items)
    wanted = plain_log_likelihood(task.mdp, items, task.weights, CONFIDENCE)
    value, slope = Likelihood(evidence, CONFIDENCE)(task.weights)
    assert value == pytest.approx(wanted, abs=1e-9)
    assert np.isfinite(slope).all()
    kernel, scored = Scorer(evidence), np.empty(1)
    weights, shown = task.weights[None].copy(), shown_in(evidence, CONFIDENCE)
    for run in (score_each, score_each.compiled):
        run(kernel.model, kernel.workspace(), shown, weights, scored)
        assert scored[0] == pytest.approx(wanted, abs=1e-9)


@given(tasks(discounts=("0", "1/2", "0.9")), st.integers(0, 99))
def test_slopes_are_those_of_finite_differences(task, seed):
    mdp = task.mdp
    evidence = as_evidence(mdp, [*some_items(mdp, seed), [(int((~mdp.terminal).argmax()), 0)]])
    weights = np.random.default_rng(seed).standard_normal(mdp.n_features)
    function = Likelihood(evidence, CONFIDENCE)
    value, slope = function(weights)
    for i, unit in enumerate(np.eye(weights.size)):
        up, down = function(weights + 1e-6 * unit), function(weights - 1e-6 * unit)
        assume(np.allclose(up[1], down[1], atol=1e-2))
        assert slope[i] == pytest.approx((up[0] - down[0]) / 2e-6, abs=1e-4)
    kernel = Scorer(evidence)
    at = score(kernel.model, kernel.workspace(), shown_in(evidence, CONFIDENCE), weights)
    assert at == pytest.approx(value, abs=1e-9)


@pytest.mark.parametrize("slip", ["0", "1/4"])
def test_the_kernel_gives_the_same_likelihood(slip):
    task = didact.make("random-grid", size=4, n_features=3, seed=1, slip=slip)
    evidence = as_evidence(task.mdp, some_items(task.mdp, 3))
    kernel = Scorer(evidence)
    weights = np.array([0.3, -0.5, 0.8])
    found = score(kernel.model, kernel.workspace(), shown_in(evidence, CONFIDENCE), weights)
    assert found == pytest.approx(Likelihood(evidence, CONFIDENCE)(weights)[0], abs=1e-9)


@pytest.mark.parametrize("m", [2, 3, 4])
def test_the_orders_of_some_trajectories_are_all_that_can_be_said(m):
    """Their probabilities sum to 1, so that rankings have a likelihood and no mere score."""
    task = didact.make("random-grid", size=4, n_features=3, seed=1)
    rng = np.random.default_rng(0)
    ways = [walk(task.mdp, rng, 5, 3) for _ in range(m)]
    total = sum(
        math.exp(
            Likelihood(as_evidence(task.mdp, [RankedTrajectories(order)]), 2.0)(task.weights)[0]
        )
        for order in itertools.permutations(ways)
    )
    assert total == pytest.approx(1.0)


def test_corrections_say_what_preferences_say_and_rankings_of_two_too():
    task = didact.make("random-grid", size=4, n_features=3, seed=1)
    ways = [(5, 1), (9, 3)], [(5, 3), (6, 1)]
    said = [Preference(*ways), Preference(*ways, correction=True), RankedTrajectories(ways)]
    values = [Likelihood(as_evidence(task.mdp, [item]), 2.0)(task.weights)[0] for item in said]
    assert values == [values[0]] * 3


def test_a_terminal_state_counts_once():
    task = didact.make("six-cell")
    mdp = task.mdp
    ending = next(
        (s, a)
        for s in range(mdp.n_states)
        for a in range(mdp.n_actions)
        if not mdp.terminal[s] and Plain(mdp).row(s, a).keys() <= {int(mdp.terminal.argmax())}
    )
    features, end = mdp.features.floats, int(mdp.terminal.argmax())
    wanted = features[ending[0]] + mdp.discount * features[end]
    assert trajectory_features(mdp, Demonstration([ending])) == pytest.approx(wanted)


@given(tasks(discounts=("0", "1/2", "0.9")), st.integers(0, 99))
def test_maximum_entropy_compares_actions_by_its_own_policy(task, seed):
    """P(a rather than b) = p(a) / (p(a) + p(b)), and the slope is that of finite differences."""
    mdp, items = task.mdp, some_items(task.mdp, seed)
    weights = np.random.default_rng(seed).standard_normal(mdp.n_features)
    compared = [item for item in items if isinstance(item, Comparison)]
    policy = SoftPlan(mdp, weights).policy
    wanted = sum(
        math.log(policy[c.state, c.better] / policy[c.state, [c.better, c.other]].sum())
        for c in compared
    )
    assert Dual(as_evidence(mdp, compared))(weights)[0] == pytest.approx(wanted, abs=1e-8)
    function = Dual(as_evidence(mdp, items), penalty=0.1)
    _, slope = function(weights)
    for i, unit in enumerate(np.eye(weights.size)):
        rise = function(weights + 1e-5 * unit)[0] - function(weights - 1e-5 * unit)[0]
        assert slope[i] == pytest.approx(rise / 2e-5, abs=1e-4)


@pytest.mark.parametrize("learner", ["ml-irl", "max-entropy", "birl"])
def test_noisy_comparisons_lead_to_the_weights(learner):
    """Somebody who errs as often as they should compares many pairs of actions.

    On such grids w + t 1 has the same differences for every t, so weights are seen less their mean.
    """
    task = didact.make("random-grid", size=4, n_features=3, seed=2)
    mdp, confidence, truth = task.mdp, 4.0, np.array([0.6, -0.64, 0.48])
    soft = learner == "max-entropy"
    values = (
        SoftPlan(mdp, confidence * truth).action_values
        if soft
        else confidence * solve(mdp, truth).action_values
    )
    rng = np.random.default_rng(0)
    said = []
    for _ in range(number(500, 1000)):
        state, (a, b) = int(rng.integers(mdp.n_states)), rng.permutation(4)[:2].tolist()
        right = rng.random() < 1.0 / (1.0 + math.exp(values[state, b] - values[state, a]))
        said.append(Comparison(state, *((a, b) if right else (b, a))))
    options = {"ml-irl": {"confidence": 4.0, "n_starts": 2}, "birl": {"confidence": 4.0}}
    belief = didact.learn(task, said, learner=learner, **options.get(learner, {}))
    found = belief.map_weights - belief.map_weights.mean()
    wanted = (confidence if soft else 1.0) * (truth - truth.mean())
    assert found == pytest.approx(wanted, abs=0.15 * np.linalg.norm(wanted))
    assert belief.feedback == tuple(said)


def test_preferences_beside_demonstrations_narrow_a_belief(tmp_path):
    task = didact.make("random-grid", size=4, n_features=3, seed=2)
    rng = np.random.default_rng(0)
    ways = walk(task.mdp, rng, 5, 4), walk(task.mdp, rng, 5, 4)
    better = max(ways, key=lambda way: plain_worth(task.mdp, way, task.weights))
    other = next(way for way in ways if way is not better)
    alone = didact.learn(task, [[(0, 1)]], confidence=20.0)
    both = didact.learn(task, [[(0, 1)], Preference(better, other)], confidence=20.0)
    row = trajectory_features(task.mdp, better) - trajectory_features(task.mdp, other)
    assert (both.samples_flat @ row < 0).mean() < (alone.samples_flat @ row < 0).mean()
    assert both.is_mixed
    path = tmp_path / "belief.npz"
    both.save(path)
    again = load_belief(path, task.mdp)
    assert again.feedback == both.feedback
    assert again.fit().log_likelihood == both.fit().log_likelihood
    assert "1 answer" in str(both)


def test_a_certificate_needs_answers_that_are_true():
    task = didact.make("random-grid", size=4, n_features=3, seed=2)
    plan = solve(task)
    state = next(s for s in range(16) if plan.optimal[s].sum() == 1)
    best = int(plan.optimal[state].argmax())
    other = (best + 1) % 4
    right, wrong = Comparison(state, best, other), Comparison(state, other, best)
    assert certify(as_evidence(task.mdp, [right] * 9), task.weights, 1e-3).holds is True
    judged = certify(as_evidence(task.mdp, [right, wrong]), task.weights, 1.0)
    assert judged.holds is False
    assert "not true" in judged.reason
    same = Preference([(5, 1)], [(5, 1)])
    assert certify(as_evidence(task.mdp, [same] * 3), task.weights, 1.0).holds is True


def test_only_wrong_is_refused_with_the_reason():
    task = didact.make("random-grid", size=4, n_features=3, seed=2)
    with pytest.raises(InvalidModel, match="Say which action is better"):
        didact.learn(task, [{"kind": "wrong", "state": 3, "action": 1}])


@pytest.mark.parametrize("learner", ["policy-matching", "bio-irl"])
def test_learners_from_demonstrations_alone_say_so(learner):
    task = didact.make("random-grid", size=4, n_features=3, seed=2)
    with pytest.raises(Unsupported, match="birl, ml-irl or max-entropy"):
        didact.learn(task, [Comparison(0, 1, 2)], learner=learner)


def test_own_learners_are_given_answers_where_they_ask_for_them():
    def counting(evidence, rng):
        return np.full(evidence.mdp.n_features, float(len(evidence.answers)))

    task = didact.make("random-grid", size=4, n_features=3, seed=2)
    didact.register_learner("counts-answers")(counting)
    with pytest.raises(Unsupported):
        didact.learn(task, [Comparison(0, 1, 2)], learner="counts-answers")
    counting.takes_feedback = True
    belief = didact.learn(task, [Comparison(0, 1, 2)], learner="counts-answers")
    assert belief.map_weights.tolist() == [1.0, 1.0, 1.0]
    assert belief.feedback == (Comparison(0, 1, 2),)


def test_nothing_said_is_nothing():
    task = didact.make("random-grid", size=4, n_features=3, seed=2)
    assert len(as_answers(task.mdp, [])) == 0
    assert as_evidence(task.mdp, []).is_empty


DISCOUNTS = ("0", "1/2", "0.9", "0.95")
CONFIDENCE = 3.0


@st.composite
def shown_tasks(draw: st.DrawFn):
    """A task and some pairs of it, repeated ones too."""
    task = draw(tasks(discounts=DISCOUNTS))
    alive = [s for s in range(task.mdp.n_states) if not task.mdp.terminal[s]]
    pair = st.tuples(st.sampled_from(alive), st.integers(0, task.mdp.n_actions - 1))
    return task, as_evidence(task.mdp, [[p] for p in draw(st.lists(pair, max_size=6))])


@given(shown_tasks(), st.integers(0, 2**32 - 1))
def test_the_slope_is_that_of_finite_differences(shown, seed):
    """At random weights, which lie on no border but with probability 0."""
    task, evidence = shown
    weights = np.random.default_rng(seed).standard_normal(task.mdp.n_features)
    function = Likelihood(evidence, CONFIDENCE)
    _, slope = function(weights)
    step = 1e-6
    for i, unit in enumerate(np.eye(weights.size)):
        up, down = function(weights + step * unit), function(weights - step * unit)
        assume(np.allclose(up[1], down[1], atol=1e-2))
        assert slope[i] == pytest.approx((up[0] - down[0]) / (2 * step), abs=1e-4)


@given(shown_tasks())
def test_the_value_is_that_of_brute_force(shown):
    """At weights with ties as well: any optimal policy gives the same value."""
    task, evidence = shown
    q, _ = optimal_sets(Plain(task.mdp), [Fraction(repr(w)) for w in task.weights.tolist()])
    wanted = softmax_log_likelihood(evidence, np.array(q, dtype=float), CONFIDENCE)
    value, slope = Likelihood(evidence, CONFIDENCE)(task.weights)
    assert value == pytest.approx(wanted, abs=1e-9)
    assert np.isfinite(slope).all()


@given(shown_tasks(), st.integers(0, 2**32 - 1))
def test_on_a_border_too_the_features_support_the_action_values(shown, seed):
    """mu.w = Q*_w, and mu.u <= Q*_u for all other weights u: mu is a slope of Q* at w."""
    task, evidence = shown
    weights, plain = task.weights, Plain(task.mdp)
    mu = ShownFeatures(evidence)(weights)
    others = np.random.default_rng(seed).integers(-9, 10, size=(3, weights.size)) / 4
    for other in (weights, *others):
        q, _ = optimal_sets(plain, [Fraction(repr(float(w))) for w in other])
        best = np.array(q, dtype=float)[evidence.states]
        assert (mu @ other <= best + 1e-9).all()
        if other is weights:
            assert np.allclose(mu @ other, best, atol=1e-9)


WORLDS = {
    "grid": {"size": 6, "n_features": 4},
    "slippery": {"size": 5, "n_features": 4, "slip": "1/4"},
    "patient": {"size": 6, "n_features": 4, "discount": "0.99"},
}


def random_evidence(mdp: MDP, rng: np.random.Generator):
    states = rng.integers(0, mdp.n_states, size=12)
    actions = rng.integers(0, mdp.n_actions, size=12)
    return as_evidence(
        mdp, [[pair] for pair in zip(states.tolist(), actions.tolist(), strict=True)]
    )


@pytest.mark.parametrize("name", WORLDS)
@pytest.mark.parametrize("step", [1e-9, 0.01, 1.0])
def test_what_came_before_does_not_matter(name, step):
    """Along a walk of weights, values and slopes are those of a fresh start."""
    task = didact.make("random-grid", seed=3, **WORLDS[name])
    rng = np.random.default_rng(1)
    evidence = random_evidence(task.mdp, rng)
    function = Likelihood(evidence, 100.0)
    weights = rng.standard_normal(4)
    for _ in range(40):
        weights = weights + step * rng.standard_normal(4)
        weights /= np.linalg.norm(weights)
        value, slope = function(weights)
        afresh, fresh_slope = Likelihood(evidence, 100.0)(weights)
        assert value == pytest.approx(afresh, abs=1e-10 * (1 + abs(afresh)))
        assert np.allclose(slope, fresh_slope, rtol=1e-9, atol=1e-7)
        plan = didact.solve(task.mdp, weights)
        wanted = softmax_log_likelihood(evidence, plan.action_values, 100.0)
        assert value == pytest.approx(wanted, abs=1e-9 * (1 + abs(wanted)))


@pytest.mark.parametrize("name", WORLDS)
@pytest.mark.parametrize("seed", range(5))
def test_from_both_sides_of_a_border_the_value_is_the_same(name, seed):
    """Weights just across a border of two policies, reached from either side."""
    task = didact.make("random-grid", seed=3, **WORLDS[name])
    rng = np.random.default_rng(seed)
    evidence = random_evidence(task.mdp, rng)
    one, two = rng.standard_normal((2, 4))
    here, there = ShownFeatures(evidence), ShownFeatures(evidence)
    here(one)
    there(two)
    first, last = one, two
    while np.linalg.norm(last - first) > 1e-9:
        middle = (first + last) / 2
        fresh = ShownFeatures(evidence)
        fresh(middle)
        if np.array_equal(fresh._plan.policy, here._plan.policy):
            first = middle
        else:
            last = middle
    for at in (first, last):
        values = []
        for features, side in ((here, one), (there, two)):
            features(side)
            values.append(Likelihood(evidence, 100.0, features)(at)[0])
        assert values[0] == pytest.approx(values[1], abs=1e-10 * (1 + abs(values[0])))


def test_ties_in_the_way_do_not_matter():
    """Whole-number weights have many tied policies; whichever was kept, the value is one."""
    task = didact.make("random-grid", size=6, n_features=4, seed=0)
    rng = np.random.default_rng(0)
    evidence = random_evidence(task.mdp, rng)
    function = Likelihood(evidence, 100.0)
    for _ in range(100):
        function(rng.standard_normal(4))
        weights = rng.integers(-1, 2, size=4).astype(float)
        afresh, _ = Likelihood(evidence, 100.0)(weights)
        assert function(weights)[0] == pytest.approx(afresh, abs=1e-9)


def test_larger_slippery_models_agree_with_the_planner():
    task = didact.make("random-grid", size=20, n_features=5, slip="1/5", seed=0)
    rng = np.random.default_rng(0)
    evidence = random_evidence(task.mdp, rng)
    for _ in range(3):
        weights = rng.standard_normal(5)
        plan = didact.solve(task.mdp, weights, arithmetic="float")
        wanted = softmax_log_likelihood(evidence, plan.action_values, 10.0)
        value, _ = Likelihood(evidence, 10.0)(weights)
        assert value == pytest.approx(wanted, abs=1e-8)


def test_shown_features_are_successor_features_of_an_optimal_policy():
    task = didact.make("random-grid", size=4, n_features=3, slip="1/4", seed=1)
    evidence = random_evidence(task.mdp, np.random.default_rng(0))
    features = ShownFeatures(evidence)
    found = features(task.weights)
    whole = didact.successor_features(task.mdp, didact.solve(task.mdp, task.weights))
    assert np.allclose(found, whole.pairs[evidence.states], atol=1e-12)
    assert features.n_solves == 1


def test_large_confidences_do_not_overflow():
    task = didact.make("random-grid", size=4, n_features=3, seed=1)
    evidence = random_evidence(task.mdp, np.random.default_rng(0))
    value, slope = Likelihood(evidence, 1e12)(np.ones(3))
    assert np.isfinite(value)
    assert np.isfinite(slope).all()
    shares, logs = softmax(np.array([[0.0, 1e5, -1e5]]), 1e6)
    assert shares.tolist() == [[0.0, 1.0, 0.0]]
    assert logs[0, 1] == 0.0


def test_nothing_shown_has_likelihood_one():
    task = didact.make("six-cell")
    value, slope = Likelihood(as_evidence(task.mdp, []), 100.0)(task.weights)
    assert (value, slope.tolist()) == (0.0, [0.0] * task.mdp.n_features)


def test_a_closed_form():
    """Two ends that pay w and 0 after one step: log p = -log(1 + exp(-c g w)), whatever w is."""
    moves = np.zeros((3, 2, 3))
    moves[0, 0, 1] = moves[0, 1, 2] = 1.0
    mdp = MDP(moves, [[0], [1], [0]], "0.9", terminal=[1, 2])
    evidence = as_evidence(mdp, [[(0, 0)]])
    for w in (-2.0, 0.0, 0.3):
        value, slope = Likelihood(evidence, 2.0)(np.array([w]))
        assert value == pytest.approx(-math.log1p(math.exp(-1.8 * w)))
        assert slope[0] == pytest.approx(1.8 / (1.0 + math.exp(1.8 * w)))


DISCOUNTS = ("0", "1/2", "0.9", "0.95")


def shown_sets(mdp, data) -> dict[int, list[int]]:
    """Some states, each with some of its actions."""
    alive = [s for s in range(mdp.n_states) if deciding_states(mdp)[s]]
    states = data.draw(st.lists(st.sampled_from(alive), unique=True))
    action = st.integers(0, mdp.n_actions - 1)
    return {s: data.draw(st.lists(action, min_size=1, unique=True)) for s in states}


def pairs_of(shown: dict[int, list[int]]) -> list[list[tuple[int, int]]]:
    return [[(s, a)] for s, actions in shown.items() for a in actions]


@given(tasks(discounts=DISCOUNTS), st.data())
def test_holds_exactly_when_the_shown_sets_are_the_optimal_ones(task, data):
    weights = task.weights
    _, optimal = optimal_sets(Plain(task.mdp), [Fraction(repr(w)) for w in weights.tolist()])
    right = data.draw(st.booleans())
    alive = [s for s, best in enumerate(optimal) if best and not idle_states(task.mdp)[s]]
    shown = {s: optimal[s] for s in alive} if right else shown_sets(task.mdp, data)
    confidence = data.draw(st.sampled_from([0.0, 1.0, 100.0, 1e6]))
    answer = certify(as_evidence(task.mdp, pairs_of(shown)), weights, confidence)
    assert answer.holds == all(sorted(actions) == optimal[s] for s, actions in shown.items())
    if answer.by_likelihood:
        assert answer.holds
    assert str(answer).endswith(".")
    assert "\n" not in str(answer)


@given(tasks(discounts=DISCOUNTS), st.data())
def test_the_likelihood_is_that_of_the_exact_action_values(task, data):
    q, _ = optimal_sets(Plain(task.mdp), [Fraction(repr(w)) for w in task.weights.tolist()])
    shown = shown_sets(task.mdp, data)
    wanted = 0.0
    for state, actions in shown.items():
        top = max(q[state])
        total = sum(math.exp(2.0 * float(v - top)) for v in q[state])
        wanted += sum(2.0 * float(q[state][a] - top) - math.log(total) for a in actions)
    answer = certify(as_evidence(task.mdp, pairs_of(shown)), task.weights, 2.0)
    assert answer.log_likelihood == pytest.approx(wanted, abs=1e-9)
    assert answer.by_likelihood == (wanted > -math.log(2.0)) or abs(wanted + math.log(2)) < 1e-9


def two_ways(reward: str) -> MDP:
    """State 0: two actions to two ends, of which the second pays `reward` times weight 0."""
    moves = np.zeros((3, 2, 3))
    moves[0, 0, 1] = moves[0, 1, 2] = 1.0
    return MDP(moves, [[0], [1], [reward]], "0.9", terminal=[1, 2])


def test_a_likelihood_above_one_half_is_a_proof():
    evidence = as_evidence(two_ways("0"), [[(0, 0)]])
    weak, strong = certify(evidence, [1.0], 0.5), certify(evidence, [1.0], 100.0)
    assert (weak.by_likelihood, weak.holds) == (True, True)
    assert strong.log_likelihood > weak.log_likelihood > -math.log(2.0)
    assert "above 1/2" in strong.reason
    many = as_evidence(two_ways("0"), [[(0, 0)]] * 20)
    assert not certify(many, [1.0], 0.5).by_likelihood
    assert certify(many, [1.0], 0.5).holds


def test_two_shown_actions_are_certified_by_the_plan_alone():
    for reward, holds in (("1", True), ("0.1", False)):
        evidence = as_evidence(two_ways(reward), [[(0, 0)], [(0, 1)]])
        answer = certify(evidence, [1.0], 100.0)
        assert (answer.by_likelihood, answer.holds) == (False, holds)
        assert answer.log_likelihood <= -math.log(4.0) + 1e-12


def test_decimals_are_read_as_decimals():
    """3 * 0.1 - 0.3 is a tie, although it is not one in floats."""
    moves = np.zeros((3, 2, 3))
    moves[0, 0, 1] = moves[0, 1, 2] = 1.0
    mdp = MDP(moves, [[0, 0], [3, 0], [0, 1]], "1/2", terminal=[1, 2])
    evidence = as_evidence(mdp, [[(0, 0)], [(0, 1)]])
    assert certify(evidence, [0.1, 0.3], 100.0).holds
    assert not certify(evidence, [0.1, 0.30000000000000004], 100.0).holds


def test_reasons_name_the_place():
    evidence = as_evidence(two_ways("0"), [[(0, 1)]])
    assert "action 1 in state 0 is worse than the best there by 0.9" in str(
        certify(evidence, [1.0], 1.0)
    )
    tied = as_evidence(two_ways("1"), [[(0, 1)]])
    assert certify(tied, [1.0], 1.0).holds is False
    assert "action 0 in state 0 is as good as what was shown there" in str(
        certify(tied, [1.0], 1.0)
    )


def test_open_where_the_plan_is_not_proved(monkeypatch):
    """Without exact arithmetic a tie stays open, and what the bound settles is still decided."""
    from didact.learners import evidence as certificate

    monkeypatch.setattr(
        certificate, "solve", lambda mdp, w: didact.solve(mdp, w, arithmetic="float")
    )
    tied = as_evidence(two_ways("1"), [[(0, 1)], [(0, 0)]])
    assert certify(tied, [1.0], 1.0).holds is None
    assert "is open" in str(certify(tied, [1.0], 1.0))
    assert certify(as_evidence(two_ways("0.5"), [[(0, 1)]]), [1.0], 1.0).holds is False
    assert certify(as_evidence(two_ways("0.5"), [[(0, 0)]] * 9), [1.0], 1.0).holds is True


def test_nothing_shown_is_explained_by_anything():
    answer = certify(as_evidence(two_ways("0"), []), [-3.0], 100.0)
    assert (answer.holds, answer.log_likelihood) == (True, 0.0)
    assert "nothing was shown" in str(answer)


@pytest.mark.parametrize("confidence", [-1, math.nan, math.inf, "much", None, True, [1.0], 10**400])
def test_a_bad_confidence_is_told_in_one_line(confidence):
    with pytest.raises(InvalidParameter, match="confidence must be a"):
        certify(as_evidence(two_ways("0"), []), [1.0], confidence)


def test_closed_lessons_and_a_certificate_leave_nothing_to_lose():
    """Weights inside the class of a complete closed lesson: random ones that hold lose nothing."""
    rng, held = np.random.default_rng(0), 0
    for seed in range(12):
        task = didact.make("random-grid", size=3, n_features=2, seed=seed)
        lesson = didact.teach(task, horizon=1, closed=True, scope="all")
        evidence = as_evidence(task.mdp, lesson.demonstrations)
        for _ in range(20):
            weights = rng.standard_normal(2)
            if certify(evidence, weights, 100.0).holds:
                held += 1
                assert didact.evaluate(task, weights).worst_policy_loss == 0
    assert held > 20
