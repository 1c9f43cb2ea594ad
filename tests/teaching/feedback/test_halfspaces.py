"""Imperfect recordings against brute force in fractions: planted wrong steps, and what is left."""

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from didact.bec.classes import demonstration_class, equivalence_class
from didact.mdp import Demonstration
from didact.planning import rollout
from didact.teaching import check
from didact.teaching.feedback.halfspaces import Segment, right_segments
from didact.worlds import make
from tests.models import tasks
from tests.oracles import Plain, optimal_sets


def values_by_brute_force(task):
    """Q*(s, a) of every pair in fractions, from all policies."""
    values, _ = optimal_sets(Plain(task.mdp), task.true_weights.fractions())
    return values


def recorded(task, rng, n):
    """Episodes in which each step is planted at random, right or wrong, and whether it is wrong."""
    mdp, q = task.mdp, values_by_brute_force(task)
    anything = np.full((mdp.n_states, mdp.n_actions), 1 / mdp.n_actions)
    shown = [rollout(mdp, anything, horizon=int(rng.integers(1, 7)), seed=rng) for _ in range(n)]
    return shown, {
        (i, step): max(q[s]) - q[s][a]
        for i, demonstration in enumerate(shown)
        for step, (s, a) in enumerate(demonstration)
        if q[s][a] < max(q[s])
    }


@given(tasks(max_states=4), st.integers(0, 2**31), st.integers(0, 5))
def test_every_wrong_step_is_found_and_none_invented(task, seed, n):
    shown, wrong = recorded(task, np.random.default_rng(seed), n)
    bec = equivalence_class(task)
    verdict = check(task, shown, bec=bec)
    assert {(w.demonstration, w.step): w.exact_gap for w in verdict.wrong} == wrong
    for found in verdict.wrong:
        assert (found.state, found.action) == shown[found.demonstration][found.step]
        assert found.gap == float(found.exact_gap)
        assert bec.plan.optimal[found.state, found.better]
    right = {
        (i, step): pair
        for i, demonstration in enumerate(shown)
        for step, pair in enumerate(demonstration)
        if (i, step) not in wrong
    }
    in_segments = [
        ((s.demonstration, s.step + at), pair)
        for s in verdict.segments
        for at, pair in enumerate(s.shown)
    ]
    assert in_segments == list(right.items())
    for segment in verdict.segments:
        before = (segment.demonstration, segment.step - 1)
        after = (segment.demonstration, segment.step + len(segment.shown))
        assert before not in right
        assert after not in right
    assert verdict.n_steps == sum(map(len, shown))


@given(tasks(max_states=4), st.integers(0, 2**31), st.integers(1, 5))
def test_right_steps_teach_what_their_pairs_teach_one_by_one(task, seed, n):
    shown, wrong = recorded(task, np.random.default_rng(seed), n)
    bec = equivalence_class(task)
    pairs = [
        [pair]
        for i, demonstration in enumerate(shown)
        for step, pair in enumerate(demonstration)
        if (i, step) not in wrong
    ]
    verdict, direct = check(task, shown, bec=bec), check(task, pairs, bec=bec)
    assert verdict.right_teaches == direct.teaches
    assert verdict.right_teaches == demonstration_class(bec, pairs).equals(bec.cone)
    assert verdict.teaches == (direct.teaches and not wrong)
    for name in ("witness", "loss", "missing", "closed", "n_open", "arithmetic"):
        assert getattr(verdict, name) == getattr(direct, name)
    assert (verdict.proof is None) == (direct.proof is None)
    floats = check(task, shown, arithmetic="float")
    assert {(w.demonstration, w.step) for w in floats.wrong} <= set(wrong)
    assert all(w.exact_gap is None for w in floats.wrong)


def test_segments_of_a_recording_by_hand():
    """Down, left, left, up around the grey cell is right; walking over it is not."""
    task = make("six-cell")
    shown = [Demonstration([(2, 2), (1, 2)]), Demonstration([(2, 1), (5, 0), (2, 1), (5, 2)])]
    bec = equivalence_class(task)
    assert right_segments(bec, shown, [7, 9]) == (
        Segment(7, 1, Demonstration([(1, 2)])),
        Segment(9, 0, Demonstration([(2, 1)])),
        Segment(9, 2, Demonstration([(2, 1), (5, 2)])),
    )
    whole = Demonstration([(2, 1), (5, 2)])
    assert right_segments(bec, [whole])[0].shown is whole
    verdict = check(task, shown, bec=bec)
    assert [(w.demonstration, w.step, w.better) for w in verdict.wrong] == [(0, 0, 1), (1, 1, 2)]
    assert repr(verdict).startswith("Verdict(does not teach: ")
    told = verdict.to_dict()
    assert told["segments"][0] == {"demonstration": 0, "step": 1, "n_steps": 1}
    assert Fraction(told["wrong"][0]["exact_gap"]) == verdict.wrong[0].exact_gap
