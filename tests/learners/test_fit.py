"""How well a recording fits: against values of all policies in fractions, draw by draw."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from didact.errors import InvalidParameter
from didact.learners import learn
from didact.learners.belief import point_belief
from didact.learners.fit import fit_of
from didact.planning import rollout
from didact.worlds import make
from tests.effort import examples
from tests.models import tasks
from tests.oracles import Plain, optimal_sets


@examples(20, 40)
@given(tasks(max_states=4, discounts=("0", "1/2", "0.9")), st.integers(0, 2**31))
def test_fit_is_what_brute_force_says_of_the_weights(task, seed):
    mdp, rng = task.mdp, np.random.default_rng(seed)
    anything = np.full((mdp.n_states, mdp.n_actions), 1 / mdp.n_actions)
    shown = tuple(rollout(mdp, anything, horizon=4, rng=rng) for _ in range(3))
    weights = [Fraction(int(n), 4) for n in rng.integers(-8, 9, mdp.n_features)]
    q, best = optimal_sets(Plain(mdp), weights)
    belief = point_belief(mdp, "own", shown, np.array([float(w) for w in weights]), confidence=3.0)
    found = fit_of(belief)
    shares = [[math.exp(3 * float(v - max(row))) for v in row] for row in q]
    shares = [[x / sum(row) for x in row] for row in shares]
    pairs = [pair for demonstration in shown for pair in demonstration]
    assert found.n_steps == len(pairs)
    assert found.log_likelihood == pytest.approx(sum(math.log(shares[s][a]) for s, a in pairs))
    assert found.wrong == sum(a not in best[s] for s, a in pairs)
    slips = sum(sum(x for b, x in enumerate(shares[s]) if b not in best[s]) for s, _ in pairs)
    assert found.expected_wrong == pytest.approx(slips, abs=1e-9)
    astray = [sum(x for b, x in enumerate(shares[s]) if b not in best[s]) for s, _ in pairs]
    tail = sum(
        math.prod(x if slip else 1 - x for x, slip in zip(astray, slips_of, strict=True))
        for slips_of in product((0, 1), repeat=len(pairs))
        if sum(slips_of) >= found.wrong
    )
    assert found.p_value == pytest.approx(tail, abs=1e-9)
    doubted = [
        (i, step)
        for i, demonstration in enumerate(shown)
        for step, (s, a) in enumerate(demonstration)
        if shares[s][a] < 0.05
    ]
    assert [(d.demonstration, d.step) for d in found.doubted] == doubted
    for d in found.doubted:
        assert d.probability == pytest.approx(shares[d.state][d.action])
        assert shares[d.state][d.likelier] == pytest.approx(max(shares[d.state]))


def test_draws_are_averaged_and_a_planted_step_is_not_believed():
    task = make("six-cell")
    right = [(2, 1), (5, 2), (4, 2), (3, 0)]
    belief = learn(task.mdp, [right] * 5 + [[(4, 3)]], n_steps=200, n_chains=2, confidence=20.0)
    found = fit_of(belief)
    assert [(d.demonstration, d.step, d.likelier) for d in found.doubted] == [(5, 0, 2)]
    one_by_one = [
        fit_of(point_belief(task.mdp, "own", belief.demonstrations, w, confidence=20.0))
        for w in belief.samples_flat
    ]
    assert found.wrong == pytest.approx(np.mean([f.wrong for f in one_by_one]))
    assert found.expected_wrong == pytest.approx(np.mean([f.expected_wrong for f in one_by_one]))
    assert belief.fit() == found
    assert found.to_dict()["doubted"][0]["demonstration"] == 5


def test_who_has_no_confidence_is_refused():
    task = make("six-cell")
    with pytest.raises(InvalidParameter, match="has no confidence"):
        fit_of(point_belief(task.mdp, "own", (), np.array([-1.0, -2.0])))
