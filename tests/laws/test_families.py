"""Lessons of families against brute force: a solver and cones that share nothing with didact's."""

import itertools
import random

import pytest

import didact
from didact.mdp.files import family_document
from didact.proofcheck import check_proof
from tests.effort import chunks, number
from tests.laws.test_family_classes import small_family
from tests.test_proofcheck import SolvedFamily, cone_multipliers


def fewest_pairs(family):
    """The size of the smallest complete set of single pairs, by trying all."""
    solved = SolvedFamily(family_document(family))
    wanted = list(solved.policy_rows("all"))
    said = set()
    for i, member in enumerate(solved.members):
        for s in member.live:
            for a in member.optimal[s]:
                said.add(frozenset(solved.demonstrated_rows([[i, [[s, a]]]])))
    useful = [x for x in said if x and not any(x < y for y in said)]
    for size in range(len(useful) + 1):
        for chosen in itertools.combinations(useful, size):
            rays = list(dict.fromkeys(ray for rows in chosen for ray in rows))
            if all(cone_multipliers(row, rays) is not None for row in wanted):
                return size
    raise AssertionError("all pairs together are complete")


def brute_force_agrees(seeds):
    """How many of the families have ties."""
    n_tied = 0
    for seed in seeds:
        family = small_family(seed, n_members=1 + seed % 3)
        lesson = didact.teach(family, teacher="exact", horizon=1)
        n_tied += bool(lesson.n_equalities)
        assert lesson.is_complete
        assert len(lesson.demonstrations) == lesson.lower_bound == fewest_pairs(family), seed
        line = check_proof(family_document(family), lesson.document())
        assert line.startswith(f"proved: {len(lesson.demonstrations)} demonstrations")
        assert didact.check(family, lesson, bec=lesson.bec).teaches
    return n_tied


def test_the_minimum_of_small_families_is_that_of_brute_force():
    n = number(15, 30)
    assert brute_force_agrees(range(n)) >= n / 3


@pytest.mark.slow
def test_the_minimum_of_many_small_families_is_that_of_brute_force():
    assert brute_force_agrees(range(30, 430)) >= 130


@pytest.mark.parametrize("seed", chunks(4, 12))
@pytest.mark.parametrize("teacher", ["scot", "exact", "scot-redundant", "random", "uvm"])
def test_a_family_of_one_has_the_tasks_lesson(seed, teacher):
    family = small_family(seed, n_members=1)
    options = {"n_samples": 500} if teacher == "uvm" else {}
    for horizon, closed in ((1, False), (None, True)):
        settings = {"teacher": teacher, "horizon": horizon, "closed": closed, **options}
        lesson, alone = (didact.teach(what, **settings) for what in (family, family[0]))
        assert [d.pairs for d in lesson.demonstrations] == [d.pairs for d in alone.demonstrations]
        assert all(d.member == 0 for d in lesson.demonstrations)
        for name in ("status", "gains", "cost", "closed", "witness", "loss", "lower_bound"):
            assert getattr(lesson, name) == getattr(alone, name), name
        assert check_proof(family_document(family), lesson.document()).startswith("proved")


@pytest.mark.parametrize("seed", range(12))
def test_order_and_repeats_of_members_do_not_change_the_minimum(seed):
    family = small_family(seed)
    cost = didact.teach(family, teacher="exact", horizon=1).cost
    for members in (family.members[::-1], family.members * 2):
        other = didact.Family(members)
        lesson = didact.teach(other, teacher="exact", horizon=1)
        assert (lesson.status, lesson.cost) == ("complete", cost)


@pytest.mark.parametrize("seed", range(12))
def test_partial_lessons_have_a_witness_that_the_checker_confirms(seed):
    family, rng = small_family(seed), random.Random(seed)
    lesson = didact.teach(family, teacher="random", n=rng.randint(1, 3), horizon=1, seed=seed)
    line = check_proof(family_document(family), lesson.document())
    assert line.startswith("proved: " if lesson.is_complete else "proved open: ")
    verdict = didact.check(family, lesson)
    assert verdict.teaches == lesson.is_complete
    if not lesson.is_complete:
        assert lesson.loss >= 0
        assert lesson.bec.cone.contains(lesson.witness) != "inside"
        assert lesson.uncovered[0].member is not None
        member, state, action, _ = verdict.missing
        assert action in lesson.bec.members[member].plan.optimal_actions(state)


@pytest.mark.parametrize("seed", range(8))
def test_floats_teach_the_same_where_nothing_is_close(seed):
    family = small_family(seed)
    exact = didact.teach(family, teacher="exact", horizon=1)
    floats = didact.teach(family, teacher="exact", horizon=1, arithmetic="float")
    assert floats.proof is None
    assert floats.status == ("undecided" if exact.n_equalities else "complete")
    assert floats.cost == exact.cost
