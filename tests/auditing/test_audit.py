"""Audits of agents in every form, against losses and sets that are found in another way."""

import json
import random
from fractions import Fraction

import numpy as np
import pytest

import didact
from didact.auditing.audit import acts_rightly
from didact.errors import InvalidFile, InvalidInput, InvalidParameter
from didact.numerics.intervals import binomial_interval
from tests.beyond.test_exams import near_tie, tied_world
from tests.effort import chunks
from tests.laws.test_exams import agents, world
from tests.oracles import Plain, optimal_sets, policy_sums, reward_payments


def plain_loss(task, policy):
    """What a policy of one action in each state loses from the start, in fractions."""
    plain = Plain(task.mdp)
    weights = list(task.true_weights.fractions())
    q, _ = optimal_sets(plain, weights)
    follow = [{int(a): Fraction(1)} for a in policy]
    values = policy_sums(plain, follow, reward_payments(plain, weights))
    start = task.mdp.start.fractions()
    return sum(p * (max(q[s]) - values[s][0]) for s, p in enumerate(start) if not plain.terminal[s])


@pytest.mark.parametrize("seed", chunks(8, 25))
def test_weights_pass_when_all_that_they_hold_best_is_best(seed):
    task = world(seed)
    _, right = optimal_sets(Plain(task.mdp), list(task.true_weights.fractions()))
    reached = didact.reachable_states(task.mdp)
    for weights in agents(task, random.Random(f"audit {seed}"), 4):
        _, sets = optimal_sets(Plain(task.mdp), list(weights))
        found = didact.audit(task, list(map(str, weights)))
        counted = [s for s in range(task.mdp.n_states) if reached[s]]
        assert found.passed == all(set(sets[s]) <= set(right[s]) for s in counted)
        assert found.same == all(sets[s] == right[s] for s in counted)
        assert found.verdict in ("pass", "fail")
        if found.passed:
            assert found.loss == 0
        else:
            where = found.situation
            assert where.action in sets[where.state]
            assert where.action not in right[where.state]
            assert where.cost > 0


@pytest.mark.parametrize("seed", chunks(8, 25))
def test_a_policy_loses_what_fractions_say_and_at_most_the_bound(seed):
    task, rng = world(seed), random.Random(f"policy {seed}")
    policy = [rng.randrange(task.mdp.n_actions) for _ in range(task.mdp.n_states)]
    loss = plain_loss(task, policy)
    for form in (lambda state: policy[state], _Agent(policy), np.eye(task.mdp.n_actions)[policy]):
        found = didact.audit(task, form)
        assert found.loss == pytest.approx(float(loss), abs=1e-9)
        assert found.loss <= found.loss_bound + 1e-9
        assert found.passed == (loss == 0)
        largest = found.loss_bound * (1 - float(task.mdp.exact_discount))
        within = Fraction(largest).limit_denominator(10**6) + Fraction(1, 1000)
        assert didact.audit(task, form, within=within).passed


class _Agent:
    """As Stable-Baselines3 has them."""

    def __init__(self, policy):
        self.policy, self.seen = policy, []

    def predict(self, observation, deterministic=False):
        assert deterministic
        self.seen.append(int(observation))
        return np.array(self.policy[int(observation)]), None


def test_an_agent_is_asked_along_its_own_answers_only():
    task = near_tie()
    agent = _Agent([0, 1, 0, 0, 0])
    found = didact.audit(task, agent)
    assert (found.verdict, agent.seen, found.n_asked) == ("pass", [0], 1)
    lost = _Agent([1, 1, 0, 0, 0])
    found = didact.audit(task, lost)
    assert (found.verdict, lost.seen) == ("fail", [0, 1])
    assert found.loss == pytest.approx(0.5031)


def test_small_gaps_along_its_own_answers_bound_the_loss():
    task = near_tie()
    within = Fraction(1, 2)
    agent = [1, 1, 0, 0, 0]
    found = didact.audit(task, lambda s: agent[s], within=within)
    assert found.passed
    assert found.loss <= found.loss_bound <= float(within / (1 - Fraction(9, 10)))
    assert "loses at most 5" in found.statement


def test_weights_that_lose_nothing_pass_where_an_exam_fails_them():
    task = tied_world()
    for weights in ([1, 0, "0.5"], [0, 1, "0.5"]):
        found = didact.audit(task, weights)
        assert (found.verdict, found.same, found.loss) == ("pass", False, 0)
    found = didact.audit(task, ["0.5", "0.5", "0.5"])
    assert (found.verdict, found.situation.state) == ("fail", 0)
    assert found.loss == pytest.approx(0.36)
    assert didact.audit(task, [2, 2, 1]).same


def test_a_policy_may_take_any_best_action_with_any_chance():
    task = tied_world()
    mixed = np.array([[1, 0], [0.3, 0.7], [1, 0], [1, 0], [1, 0]])
    assert didact.audit(task, mixed).passed
    assert didact.audit(task, lambda s: mixed[s]).passed
    assert didact.audit(task, lambda s: mixed[s].astype(np.float32)).passed


def test_a_belief_passes_in_a_share_of_its_draws():
    task = didact.make("six-cell")
    rng = np.random.default_rng(0)
    draws = rng.normal([-1, -3], [0.2, 1.0], size=(4, 100, 2))
    belief = _belief(task, draws)
    bec = didact.equivalence_class(task)
    one_by_one = [didact.audit(task, list(w), bec=bec).passed for w in draws.reshape(-1, 2)]
    found = didact.audit(task, belief)
    assert (found.verdict, found.agent) == ("undecided", "belief")
    assert found.share["share"] == pytest.approx(np.mean(one_by_one))
    assert found.share["low"] < found.share["share"] < found.share["high"]
    assert acts_rightly(bec, draws.reshape(-1, 2)).tolist() == one_by_one
    assert 0.2 < found.share["share"] < 0.9


def test_draws_of_chains_that_disagree_are_said_to_be_such():
    task = didact.make("six-cell")
    draws = np.random.default_rng(0).normal([-1, -3], [0.2, 1.0], size=(4, 400, 2))
    assert "not mixed" not in didact.audit(task, _belief(task, draws)).reason
    apart = draws + np.arange(4.0)[:, None, None]
    assert didact.audit(task, _belief(task, apart)).reason.endswith("of chains that have not mixed")


def test_draws_on_the_boundary_are_planned_exactly():
    bec = didact.equivalence_class(didact.make("six-cell"))
    edge = np.array([[-1.0, -2.539], [-1.0, -2.5390000001], [-1.0, -2.538]])
    assert acts_rightly(bec, edge).tolist() == [False, True, False]


def _belief(task, draws):
    n_chains, n_draws, _ = draws.shape
    return didact.Belief(
        mdp=task.mdp,
        learner="by hand",
        demonstrations=(),
        samples=draws,
        log_posterior=np.zeros((n_chains, n_draws)),
        map_weights=draws[0, 0],
        map_log_posterior=0.0,
        best_by_chain=np.zeros(n_chains),
        acceptance=np.ones(n_chains),
        confidence=None,
        certificate=None,
        settings={},
    )


def test_a_point_belief_is_judged_by_its_weights():
    task = didact.make("six-cell")
    assert didact.audit(task, _belief(task, np.array([[[-1.0, -10.0]]]))).passed
    assert didact.audit(task, _belief(task, np.array([[[-1.0, -2.0]]]))).verdict == "fail"


@pytest.mark.parametrize(("successes", "trials"), [(0, 10), (3, 10), (10, 10), (57, 60)])
def test_the_interval_is_clopper_and_pearsons(successes, trials):
    from scipy.stats import binomtest

    wanted = binomtest(successes, trials).proportion_ci(0.95, method="exact")
    assert binomial_interval(successes, trials, 0.95) == pytest.approx((wanted.low, wanted.high))


def test_a_file_of_answers_is_graded(tmp_path):
    task = didact.make("six-cell")
    questions = didact.exam(task)
    right = [q.key for q in questions.questions]
    for document in (right, {"answers": right}, {str(i): a for i, a in enumerate(right)}):
        path = tmp_path / "answers.json"
        path.write_text(json.dumps(document))
        assert didact.audit(task, path).passed
        assert didact.audit(task, path, exam=questions).passed
    path.write_text('"first"')
    with pytest.raises(InvalidFile, match="must hold a list of answers"):
        didact.audit(task, path)


def test_a_family_takes_weights():
    family = didact.Family(
        [near_tie(), tied_world().__class__(tied_world().mdp, [1, "0.5", "0.49"])]
    )
    assert didact.audit(family, [1, "0.5", "0.49"]).same
    found = didact.audit(family, [1, "0.5", 10])
    assert (found.verdict, found.situation.member in (0, 1)) == ("fail", True)
    with pytest.raises(InvalidParameter, match="a family takes weights"):
        didact.audit(family, lambda state: 0)


def _fails(state):
    raise RuntimeError("out of order")


@pytest.mark.parametrize(
    ("agent", "options", "message"),
    [
        (_fails, {}, "the agent in state 0 failed: RuntimeError: out of order"),
        (lambda state: 9, {}, "must be an action from 0 to 1; it is 9"),
        ([1, 2], {}, "a policy must be weights"),
        ([1, 1, 1], {"within": -1}, "within must not be negative"),
        ([1, 1, 1], {"exam": 3}, "exam must be an Exam"),
        ([1, 1, 1], {"bec": 3}, "bec must be an EquivalenceClass"),
        ([[1], [2, 3]], {}, "a policy must be a table"),
    ],
)
def test_what_is_no_agent_is_refused(agent, options, message):
    with pytest.raises(InvalidInput, match=message):
        didact.audit(near_tie(), agent, **options)
