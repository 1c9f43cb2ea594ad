"""The class of a family against the classes of its members, in exact arithmetic."""

import itertools
import random
from functools import cache

import numpy as np
import pytest

import didact
from didact.errors import InvalidInput
from tests.decisions import decisions, unit
from tests.effort import chunks


@cache
def small_family(seed, n_members=3):
    """2x2 grids with one of two or three features a cell, their own discounts; often ties."""
    rng = random.Random(seed)
    k = rng.choice([2, 3])
    weights = [rng.choice([-2, -1, 0, 1, 1, 3]) for _ in range(k)]
    if seed % 3 == 0:
        weights[1] = weights[0]
    members = []
    for _ in range(n_members):
        world = didact.make("random-grid", size=2, n_features=k, seed=rng.randrange(10**6))
        mdp = didact.MDP(
            world.mdp.transitions, world.mdp.features, rng.choice(["1/2", "9/10", "3/4"])
        )
        members.append(didact.Task(mdp, weights))
    return didact.Family(members)


@cache
def small_class(seed):
    return didact.equivalence_class(small_family(seed))


@cache
def small_cones(seed):
    """Those of the members alone."""
    return [didact.equivalence_class(task).cone for task in small_family(seed)]


@pytest.mark.parametrize("seed", chunks(12, 40))
def test_weights_are_in_the_class_when_they_are_in_every_members_class(seed):
    family = small_family(seed)
    bec, alone = small_class(seed), small_cones(seed)
    assert bec.cone.contains(family.true_weights) == "inside"
    for weights in itertools.product([-2, -1, 0, 1, 3], repeat=family.n_features):
        places = {cone.contains(weights) for cone in alone}
        worst = next(p for p in ("outside", "boundary", "inside") if p in places)
        assert bec.cone.contains(weights) == worst


@pytest.mark.parametrize("seed", chunks(12, 20))
def test_facets_come_from_members_facets_and_certificates_hold(seed):
    bec = small_class(seed)
    exact = bec.rows.exact
    own = set()
    for cone in small_cones(seed):
        rows = [*cone.equalities, *(row for facet in cone.facets for row in facet)]
        own |= {cone.rows.exact[row] for row in rows}
    assert all(any(exact[row] in own for row in facet) for facet in bec.cone.facets)
    told = {*bec.cone.equalities, *bec.cone.multipliers}
    told |= {row for facet in bec.cone.facets for row in facet}
    assert told == set(range(bec.rows.n_rows))
    for row, found in bec.cone.multipliers.items():
        terms = [
            c * np.array(exact[i], dtype=object)
            for i, c in zip(found.indices, found.numerators, strict=True)
        ]
        assert list(sum(terms)) == [found.denominator * x for x in exact[row]]


@pytest.mark.parametrize("seed", chunks(12, 20))
def test_order_and_repeats_of_members_change_nothing(seed):
    family, bec = small_family(seed), small_class(seed)
    for members in (family.members[::-1], family.members * 2):
        other = didact.equivalence_class(didact.Family(members))
        assert set(other.rows.exact) == set(bec.rows.exact)
        assert other.cone.n_facets == bec.cone.n_facets
        assert other.cone.equals(bec.cone)
        assert {
            frozenset(other.rows.exact[row] for row in facet) for facet in other.cone.facets
        } == {frozenset(bec.rows.exact[row] for row in facet) for facet in bec.cone.facets}


@pytest.mark.parametrize("seed", range(20))
def test_a_family_of_one_has_the_tasks_class(seed):
    family = small_family(seed, n_members=1)
    bec, alone = didact.equivalence_class(family), didact.equivalence_class(family[0])
    assert bec.rows.exact == alone.rows.exact
    assert bec.cone.facets == alone.cone.facets
    assert bec.cone.equalities == alone.cone.equalities
    assert bec.cone.multipliers == alone.cone.multipliers
    assert [bec.statement_of(row)[1:] for row in bec.cone.facet_rows()] == [
        alone.statement_of(row) for row in alone.cone.facet_rows()
    ]


@pytest.mark.parametrize("seed", range(12))
def test_floats_find_the_same_facets(seed):
    family, bec = small_family(seed), small_class(seed)
    floats = didact.equivalence_class(family, arithmetic="float")
    assert floats.arithmetic == "float"
    assert (floats.n_close_calls > 0) == bool(bec.cone.equalities), "floats prove no tie"
    assert floats.rows.n_rows == bec.rows.n_rows
    assert (floats.cone.facets, floats.cone.equalities) == (
        bec.cone.facets,
        bec.cone.equalities,
    )
    np.testing.assert_array_equal(floats.rows.number, bec.rows.number)
    np.testing.assert_array_equal(floats.rows.statements, bec.rows.statements)


def test_members_of_any_size_and_discount_stand_together():
    long = didact.make("six-cell")
    weights = long.true_weights
    other = decisions([[unit(2, 0), [0, 0]], [unit(2, 1), [0, 0], unit(2, 0)]], [-1, -10])
    family = didact.Family([long, didact.Task(other.mdp, weights)], names=["grid", "shop"])
    bec = didact.equivalence_class(family, scope="all")
    assert bec.optimal.shape == (8, 4)
    assert not bec.optimal[6:, 3].any(), "the shop has three actions"
    records = bec.to_records()
    assert {record["member"] for record in records} <= {0, 1}
    assert all(record["state"] < family[record["member"]].mdp.n_states for record in records)
    assert repr(bec).startswith("EquivalenceClass('family', all, Cone(")


def test_features_are_measured_alike_in_all_members():
    """A feature that is tiny in one member only is no smaller than its largest size."""
    first = decisions([[unit(2, 0), unit(2, 1)]], [2, 1])
    second = decisions([[[1, 0], [0, "1e-6"]]], [2, 1])
    bec = didact.equivalence_class(didact.Family([first, second]), arithmetic="float")
    assert bec.rows.scales is None
    assert bec.cone.contains([2, 1]) == "inside"


def test_a_plan_is_of_one_task():
    family = small_family(0)
    with pytest.raises(InvalidInput, match="plan is of one task"):
        didact.equivalence_class(family, plan=didact.solve(family[0]))
