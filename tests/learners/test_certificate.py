"""Certificates against brute force over policies in fractions, and their proofs."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import didact
from didact.errors import InvalidParameter
from didact.learners.certificate import certify
from didact.learners.evidence import as_evidence
from didact.mdp import MDP
from didact.mdp.model import deciding_states, idle_states
from tests.effort import examples
from tests.models import tasks
from tests.oracles import Plain, optimal_sets

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
@examples(40, 2622)
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
@examples(25, 400)
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
    from didact.learners import certificate

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
    with pytest.raises(InvalidParameter, match="confidence must be a") as raised:
        certify(as_evidence(two_ways("0"), []), [1.0], confidence)
    assert "\n" not in str(raised.value)


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
