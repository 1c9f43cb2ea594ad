import logging
import sys
from fractions import Fraction

import numpy as np
import pytest

import didact
from didact.bec import classes
from didact.bec.classes import demonstration_class, equivalence_class, expected_seconds
from didact.errors import InvalidInput, InvalidModel, InvalidParameter
from didact.mdp import MDP, Task, Transitions
from didact.planning import evaluate, solve
from didact.worlds import make
from tests.effort import number


def facet_statements(cone) -> set[frozenset[tuple[int, ...]]]:
    """Every facet as the set of statements that state it."""
    stating: dict[int, list[tuple[int, ...]]] = {}
    for statement, row in zip(cone.rows.statements.tolist(), cone.rows.number, strict=True):
        stating.setdefault(int(row), []).append(tuple(statement))
    return {frozenset(s for row in members for s in stating[row]) for members in cone.facets}


def equality_statements(cone) -> set[tuple[int, ...]]:
    chosen = set(cone.equalities)
    return {
        tuple(statement)
        for statement, row in zip(cone.rows.statements.tolist(), cone.rows.number, strict=True)
        if int(row) in chosen
    }


def sixty_grids() -> list[Task]:
    """Plain, slippery and with terminals; two in five have weights -1, 0 and 1, so ties."""
    found = []
    for seed in range(60):
        slip, terminals = ("0.2" if seed % 4 == 3 else 0), seed % 2
        task = make("random-grid", size=3 + seed % 4, n_features=2 + seed % 4, slip=slip,
                    terminals=terminals, seed=seed)  # fmt: skip
        if seed % 5 < 2:
            weights = np.random.default_rng(seed).integers(-1, 2, task.mdp.n_features)
            task = Task(task.mdp, weights)
        found.append(task)
    return found


def test_floats_find_the_facets_of_exact_arithmetic_on_sixty_grids():
    """The same statements; what floats cannot decide is kept, and counted."""
    n_undecided = n_tied = 0
    for task in sixty_grids()[: number(30, 60)]:
        exact = equivalence_class(task, arithmetic="exact").cone
        floats = equivalence_class(task, arithmetic="float").cone
        left, right = facet_statements(exact), facet_statements(floats)
        assert left <= right
        assert len(right - left) <= floats.n_unknown
        assert equality_statements(exact) == equality_statements(floats)
        assert len(exact.lineality) == len(floats.lineality)
        assert (exact.rank, len(exact.unidentifiable)) == (floats.rank, len(floats.unidentifiable))
        assert floats.contains(task.true_weights) == "inside"
        assert exact.contains(task.true_weights) == "inside"
        n_undecided += floats.n_unknown > 0
        n_tied += len(exact.lineality) > 0
    assert n_undecided <= 3
    assert n_tied >= number(5, 10)


def test_worlds_of_the_papers_kind_have_about_seventeen_facets():
    n_facets = []
    for seed in range(number(10, 20)):
        task = make("random-grid", size=9, n_features=8, seed=seed)
        cone = equivalence_class(task).cone
        assert cone.is_proved
        assert cone.contains(task.true_weights) == "inside"
        n_facets.append(cone.n_facets)
    assert 14 <= np.mean(n_facets) <= 20


def test_on_path_rows_alone_would_allow_a_loss():
    """MATH: (.1, 5) satisfies the rows on the path and loses 1.71; the class excludes it."""
    rows = [(0, 0, 2, 1), (0, 1, 1, 1), (1, 0, 3, 1), (1, 1, 4, 1)]
    features = [[0, 0], [0, 0], [1, 0], [0, 0], [0, 1]]
    moves = Transitions.from_rows(rows, 5, 2)
    task = Task(MDP(moves, features, "0.9", start=0, terminal=[2, 3, 4]), [1, -1])
    bec = equivalence_class(task)
    on_path = demonstration_class(bec, [[(0, 0)]])
    assert on_path.contains(["0.1", 5]) == "inside"
    assert bec.cone.contains(["0.1", 5]) == "outside"
    assert evaluate(task, ["0.1", 5]).policy_loss == pytest.approx(1.71, abs=1e-12)


def test_proposition_one_is_false_on_the_boundary_and_true_inside():
    task = make("six-cell")
    cone = equivalence_class(task).cone
    for weights, loss in (((0, -1), 3.607), ((-1, "-2.539"), 0.560)):
        assert cone.contains(weights) == "boundary"
        assert evaluate(task, list(weights)).policy_loss == pytest.approx(loss, abs=5e-4)
    assert cone.contains((-1, -3)) == "inside"
    assert evaluate(task, [-1, -3]).worst_policy_loss == 0
    assert evaluate(task, list(cone.exact_center())).worst_policy_loss == 0


def test_terminal_conventions_change_the_class():
    for convention, ratio in (("once", "2.539"), ("silent", "2.71"), ("self-loop", "1")):
        cone = equivalence_class(make("six-cell", terminal=convention)).cone
        assert cone.contains((-1, f"-{ratio}")) == "boundary"


@pytest.mark.parametrize("arithmetic", ["auto", "exact", "float"])
def test_constant_rewards_may_be_real_and_no_rows_at_all_is_a_class(arithmetic):
    """With one feature everywhere no action matters: every weight is in the class."""
    task = make("random-grid", size=3, n_features=1)
    bec = equivalence_class(task, arithmetic=arithmetic)
    assert bec.rows.n_rows == 0
    assert bec.cone.contains([-3]) == "inside"
    assert np.abs(bec.cone.center()).tolist() == [1.0]


@pytest.mark.parametrize("arithmetic", ["exact", "float"])
def test_zero_weights_tie_everything(arithmetic):
    task = Task(make("six-cell").mdp, [0, 0])
    cone = equivalence_class(task, arithmetic=arithmetic).cone
    assert cone.n_facets == 0
    assert len(cone.lineality) == 2
    assert cone.contains([0, 0]) == "inside"
    assert cone.contains([0, "0.001"]) == "outside"


def test_auto_is_exact_while_affordable(monkeypatch):
    task = make("random-grid", size=4, n_features=3)
    assert equivalence_class(task).arithmetic == "exact"
    assert equivalence_class(task).counts is not None
    monkeypatch.setattr(classes, "EXACT_ENTRIES", 10)
    bec = equivalence_class(task)
    assert bec.arithmetic == "float"
    assert bec.counts is None
    assert not bec.cone.is_proved


def test_a_plan_at_hand_is_used():
    task = make("six-cell")
    plan = solve(task.mdp, task.true_weights, arithmetic="exact")
    assert equivalence_class(task, plan=plan).plan is plan


def test_exact_arithmetic_refuses_a_plan_that_is_not_proved():
    task = make("uvm-failure")
    plan = solve(task.mdp, task.true_weights, arithmetic="float")
    with pytest.raises(InvalidParameter, match="leaves 3 comparisons open"):
        equivalence_class(task, arithmetic="exact", plan=plan)
    assert equivalence_class(task, plan=plan).arithmetic == "float"


def test_arithmetic_is_one_of_three():
    with pytest.raises(InvalidParameter, match="must be 'auto', 'float' or 'exact'; it is 'fast'"):
        equivalence_class(make("six-cell"), arithmetic="fast")


def test_scope_is_one_of_two():
    with pytest.raises(InvalidParameter, match="scope must be 'reachable' or 'all'"):
        equivalence_class(make("six-cell"), scope="path")


# Demonstrations


@pytest.mark.parametrize("arithmetic", ["exact", "float"])
def test_demonstrations_state_their_own_rows(arithmetic):
    bec = equivalence_class(make("six-cell"), arithmetic=arithmetic)
    cone = demonstration_class(bec, [[(5, 2), (4, 2), (3, 0)]])
    assert cone.rows.statements[:, 0].tolist() == [3] * 3 + [4] * 3 + [5] * 3
    assert cone.contains((-1, -10)) == "inside"
    assert cone.contains((-1, -2)) == "inside"
    assert bec.cone.contains((-1, -2)) == "outside"


@pytest.mark.parametrize("arithmetic", ["exact", "float"])
def test_one_of_two_tied_actions_gives_an_inequality_both_an_equality(arithmetic):
    bec = equivalence_class(make("uvm-failure"), arithmetic=arithmetic)
    one, both = (demonstration_class(bec, d) for d in ([[(8, 0)]], [[(8, 0)], [(8, 2)]]))
    assert one.equalities == ()
    assert len(both.equalities) == 2
    assert len(both.lineality) == 1


@pytest.mark.parametrize(
    ("demonstrations", "error", "message"),
    [
        ([[(2, 0)]], InvalidModel, r"demonstration 1, step 1 must show an optimal action"),
        ([[(0, 0)]], InvalidModel, "state 0 .*is terminal"),
        ([[(9, 0)]], InvalidInput, r"demonstration 1, step 1: state"),
        ([[]], InvalidModel, "must show at least one"),
        (7, InvalidModel, "demonstrations must be a list"),
    ],
)
def test_bad_demonstrations_are_refused_in_one_line(demonstrations, error, message):
    bec = equivalence_class(make("six-cell"))
    with pytest.raises(error, match=message):
        demonstration_class(bec, demonstrations)


def test_demonstrations_stay_in_scope():
    rows = [(0, 0, 1, 1), (0, 1, 0, 1), (2, 0, 1, 1), (2, 1, 2, 1)]
    mdp = MDP(Transitions.from_rows(rows, 3, 2), [[-1], [0], [-1]], "0.9", start=0, terminal=[1])
    bec = equivalence_class(Task(mdp, [1]))
    with pytest.raises(InvalidParameter, match="state 2 cannot be reached from the start"):
        demonstration_class(bec, [[(2, 0)]])
    everywhere = equivalence_class(Task(mdp, [1]), scope="all")
    assert demonstration_class(everywhere, [[(2, 0)]]).n_facets == 1


@pytest.mark.parametrize("most", [20_000, 0])
@pytest.mark.parametrize("seed", range(3))
def test_exact_classes_have_the_optimal_actions_of_exact_plans(seed, most, monkeypatch):
    """Also where nothing that floats leave open is settled at first."""
    monkeypatch.setattr(sys.modules["didact.planning.solve"], "EXACT_STATES", most)
    task = make("random-grid", size=4, n_features=3, seed=seed)
    plan = solve(task, arithmetic="exact")
    bec = equivalence_class(task, arithmetic="exact")
    assert bec.plan.is_proved
    assert np.array_equal(bec.plan.optimal, plan.optimal)
    assert bec.plan.values == pytest.approx(plan.values, abs=1e-12)
    given = equivalence_class(task, arithmetic="exact", plan=plan)
    assert (bec.rows.exact, bec.cone.facets) == (given.rows.exact, given.cone.facets)
    assert plan.exact_values == tuple(map(Fraction, plan.exact_values))
    assert [float(value) for value in plan.exact_values] == plan.values.tolist()


# Long exact work is announced

FAMILY = didact.make("random-grid", size=3, n_features=3, members=3)
WORLDS = [FAMILY, FAMILY[0]]


@pytest.fixture
def everything_is_long(monkeypatch, caplog):
    monkeypatch.setattr(classes, "LONG", 0.0)
    caplog.set_level(logging.INFO, logger="didact")
    return caplog


@pytest.mark.parametrize("world", WORLDS)
def test_it_is_told_before(everything_is_long, world):
    bec = didact.equivalence_class(world)
    assert bec.arithmetic == "exact"
    (told,) = [record.getMessage() for record in everything_is_long.records]
    assert told.startswith(f"certificates for {bec.rows.n_rows} rows of 3 features will take")
    assert "arithmetic='float'" in told


@pytest.mark.parametrize("world", WORLDS)
def test_who_asks_for_exactness_is_not_told(everything_is_long, world):
    assert didact.equivalence_class(world, arithmetic="exact").arithmetic == "exact"
    assert not everything_is_long.records


def test_small_work_is_not_told(caplog):
    caplog.set_level(logging.INFO, logger="didact")
    bec = didact.equivalence_class(FAMILY)
    assert expected_seconds(bec.rows) < 1
    assert not [r for r in caplog.records if "certificates" in r.getMessage()]


def test_more_rows_and_features_take_longer():
    few, many, wide = (
        didact.equivalence_class(
            didact.make("random-grid", size=size, n_features=k), arithmetic="float"
        ).rows
        for size, k in ((5, 4), (9, 4), (9, 40))
    )
    assert expected_seconds(few) < expected_seconds(many) < expected_seconds(wide)


def test_the_class_of_demonstrations_of_a_task_is_that_of_its_class():
    """Corollary 1 for the paper's example: -w0 >= 0 and w0 - w1 >= 0 of the lower row alone."""
    task = make("six-cell")
    short, long = [[(5, 2), (4, 2), (3, 0)]], [[(2, 1), (5, 2), (4, 2), (3, 0)]]
    cone = demonstration_class(task, short)
    assert cone.equals(demonstration_class(equivalence_class(task), short))
    for weights, position in [([-1, -1], "boundary"), ([-1, -2], "inside"), ([-2, -1], "outside")]:
        assert cone.contains(weights) == position
    bec = equivalence_class(task)
    assert bec.cone.is_subset(cone)
    assert not cone.is_subset(bec.cone)
    assert demonstration_class(task, long, scope="all").equals(bec.cone)


def test_the_class_of_demonstrations_refuses_another_scope_and_suboptimal_actions():
    bec = equivalence_class(make("six-cell"))
    with pytest.raises(InvalidParameter, match="scope is that of the class"):
        demonstration_class(bec, [[(5, 2)]], scope="all")
    with pytest.raises(InvalidModel, match="must show an optimal action"):
        demonstration_class(make("six-cell"), [[(2, 2)]])
