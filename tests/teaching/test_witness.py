"""The hardest question of a lesson, against action values by brute force in fractions."""

import json
from fractions import Fraction

import numpy as np
import pytest

import didact
from didact.errors import InvalidFile
from tests.effort import number
from tests.laws.test_exams import world
from tests.laws.test_family_classes import small_family
from tests.oracles import Plain, optimal_sets


def least_gap(task, pairs):
    """The smallest positive difference to another action at the pairs shown, by all policies."""
    values, _ = optimal_sets(Plain(task.mdp), task.true_weights.fractions())
    gaps = [values[s][a] - other for s, a in pairs for other in values[s]]
    assert min(gaps, default=0) >= 0
    return min((gap for gap in gaps if gap), default=None)


def test_the_hardest_step_of_a_lesson_is_that_of_brute_force():
    n_idle = 0
    for seed in range(number(12, 24)):
        task = world(seed)
        lesson = didact.teach(task, starts="all", horizon=1 + seed % 3)
        wanted = least_gap(task, [pair for shown in lesson.demonstrations for pair in shown])
        assert lesson.hardest == wanted, seed
        n_idle += wanted is None
        floats = didact.teach(task, starts="all", horizon=1 + seed % 3, arithmetic="float")
        if wanted is not None and floats.demonstrations == lesson.demonstrations:
            assert isinstance(lesson.hardest, Fraction)
            assert np.isclose(floats.hardest, float(wanted))
    assert 0 < n_idle < number(12, 24)


def test_in_a_family_the_hardest_step_of_any_member_counts():
    for seed in range(number(3, 6)):
        family = small_family(seed)
        lesson = didact.teach(family)
        own = [least_gap(family[shown.member], shown) for shown in lesson.demonstrations]
        assert lesson.hardest == min((gap for gap in own if gap is not None), default=None), seed


def test_near_ties_are_told_apart_where_floats_do_not():
    """The gaps are 1 + 1e-30 and 1; as floats both are 1."""
    payments = [[["1.000000000000000000000000000001", 0], [0, 0]], [[0, 1], [0, 0]]]
    task = didact.Task(didact.MDP([[[1, 0], [1, 0]], [[0, 1], [0, 1]]], payments, 0), [1, 1])
    lesson = didact.teach(task, horizon=1)
    assert len(lesson.demonstrations) == 2
    assert lesson.hardest == 1


def test_files_keep_it_and_others_are_refused(tmp_path):
    task = didact.make("six-cell")
    lesson = didact.teach(task)
    lesson.save(tmp_path / "lesson.json")
    assert didact.load_lesson(tmp_path / "lesson.json").hardest == lesson.hardest
    document = json.loads((tmp_path / "lesson.json").read_text())
    assert Fraction(str(document.pop("hardest"))) == lesson.hardest
    (tmp_path / "without.json").write_text(json.dumps(document))
    with pytest.raises(InvalidFile, match="hardest"):
        didact.load_lesson(tmp_path / "without.json")
    rough = didact.teach(task, arithmetic="float")
    rough.save(tmp_path / "rough.json")
    assert didact.load_lesson(tmp_path / "rough.json").document() == rough.document()
