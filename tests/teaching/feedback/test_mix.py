"""The cheapest mix against brute force, and what more kinds and other prices do to it.

Near-tie preferences: as few as the rank, true, complete, and harder than any facet.
"""

import itertools
import json
import random
from fractions import Fraction

import numpy as np
import pytest

import didact
from didact.bec.linear import primitive
from didact.errors import InvalidInput, InvalidParameter, Unsupported
from didact.mdp import Preference
from didact.mdp.files import task_document
from didact.teaching.feedback.halfspaces import item_differences, margin
from didact.teaching.feedback.mix import _corners, fewest_halfspaces
from tests.effort import chunks, number
from tests.laws.test_exams import world
from tests.teaching.covers.instances import cheapest_by_force
from tests.test_proofcheck import Solved, cone_multipliers

SEEDS = [seed for seed in range(60) if 0 < didact.equivalence_class(world(seed)).rows.n_rows <= 8]


def said_by(bec, solved, item):
    """The directions that an item states, by an exact solver of the tests' own for pairs."""
    if isinstance(item, didact.Demonstration):
        return set(solved.demonstrated_rows([[list(pair) for pair in item]]))
    return {primitive(row) for row in item_differences(bec, item)} - {
        (0,) * bec.rows.normals.shape[1]
    }


def cheapest(bec, prices):
    """The least price of single steps and comparisons that imply every row, by trying all."""
    solved = Solved(task_document(bec.task))
    reached = didact.reachable_states(bec.task.mdp)
    items = {}
    for s in solved.live:
        if not reached[s]:
            continue
        for a in solved.optimal[s]:
            if "demonstrations" in prices:
                rows = frozenset(said_by(bec, solved, didact.Demonstration([(s, a)])))
                items[rows] = min(items.get(rows, 99), prices["demonstrations"])
            for b in set(range(bec.task.mdp.n_actions)) - {a}:
                if "comparisons" in prices:
                    rows = frozenset(said_by(bec, solved, didact.Comparison(s, a, b)))
                    items[rows] = min(items.get(rows, 99), prices["comparisons"])
    useful = [(rows, price) for rows, price in items.items() if rows]
    wanted = list(solved.policy_rows("reachable"))

    def teaches(chosen):
        rays = list(dict.fromkeys(ray for i in chosen for ray in useful[i][0]))
        return all(cone_multipliers(row, rays) is not None for row in wanted)

    return cheapest_by_force(len(useful), [price for _, price in useful], teaches)


@pytest.mark.parametrize("seed", SEEDS[:14])
def test_no_mix_is_cheaper(seed):
    task, rng = world(seed), random.Random(seed)
    bec = didact.equivalence_class(task)
    prices = {
        "demonstrations": Fraction(rng.choice(["1", "2", "3/2"])),
        "comparisons": Fraction(rng.choice(["1", "2", "1/2"])),
    }
    lesson = didact.teach_mixed(
        task, feedback=list(prices), cost=prices, horizon=1, starts="all", bec=bec
    )
    assert lesson.is_complete
    assert lesson.is_fewest
    assert lesson.cost == cheapest(bec, prices)
    assert didact.check(task, lesson, bec=bec).teaches


@pytest.mark.parametrize("seed", chunks(8, 30))
def test_more_kinds_never_make_a_lesson_dearer(seed):
    task = world(seed)
    bec = didact.equivalence_class(task)
    kinds = ("demonstrations", "comparisons", ("preferences", "corrections")[seed % 2], "rankings")
    found = {}
    for size in (1, 2, 4):
        for chosen in itertools.combinations(kinds, size):
            lesson = didact.teach_mixed(task, feedback=chosen, horizon=1, starts="all", bec=bec)
            assert lesson.is_complete == didact.check(task, lesson, bec=bec).teaches
            found[frozenset(chosen)] = lesson
    for few, many in itertools.permutations(found, 2):
        if few < many and found[few].is_complete:
            assert found[many].is_complete
            assert found[many].cost <= found[few].cost


def test_rankings_say_ties_and_what_is_worse_at_once():
    task = didact.make("uvm-failure")
    bec = didact.equivalence_class(task)
    prices = {"preferences": "1/2", "rankings": 1}
    pairs = didact.teach_mixed(task, feedback=["preferences"], cost={"preferences": "1/2"}, bec=bec)
    ranked = didact.teach_mixed(task, feedback=["rankings"], bec=bec)
    assert ranked.is_complete
    assert all(isinstance(item, didact.RankedTrajectories) for item in ranked.items)
    assert ranked.is_fewest
    assert len(ranked.items) < len(pairs.items)
    assert max(len(item.ways) for item in ranked.items) > 2
    both = didact.teach_mixed(task, feedback=list(prices), cost=prices, bec=bec)
    assert both.cost <= min(pairs.cost, ranked.cost)


def test_corrections_are_preferences_of_their_own_price():
    task = didact.make("six-cell")
    kinds, prices = ["preferences", "corrections"], {"preferences": 2, "corrections": 1}
    lesson = didact.teach_mixed(task, feedback=kinds, cost=prices)
    assert [item.correction for item in lesson.items] == [True] * len(lesson.items)
    assert lesson.cost == didact.teach_mixed(task, feedback=["corrections"]).cost
    found = didact.select(task, lesson.items, method="exact", cost={"corrections": 3})
    assert found.cost == 3 * lesson.cost


def test_demonstrations_alone_are_as_many_as_the_exact_teacher_needs():
    for seed in range(number(10, 20)):
        task = world(seed)
        alone = didact.teach_mixed(task, feedback=["demonstrations"], horizon=1, starts="all")
        exact = didact.teach(task, teacher="exact", horizon=1, starts="all")
        assert alone.cost == exact.cost
        assert alone.lower_bound == exact.lower_bound


def test_cheap_comparisons_replace_a_walk_and_dear_ones_do_not():
    task = didact.make("six-cell")
    kinds = ("demonstrations", "comparisons")
    cheap = didact.teach_mixed(task, feedback=kinds, cost={"comparisons": "1/4"})
    assert (cheap.cost, [type(item) for item in cheap.items]) == (
        Fraction(1, 2),
        [didact.Comparison, didact.Comparison],
    )
    dear = didact.teach_mixed(task, feedback=kinds, cost={"comparisons": 2})
    assert (dear.cost, [type(item) for item in dear.items]) == (1, [didact.Demonstration])
    assert dear.why(0).startswith("It says that a step on white is never a gain; that")
    values = didact.solve(task, arithmetic="exact").action_values
    gaps = [values[c.state, c.better] - values[c.state, c.other] for c in cheap.items]
    assert float(cheap.hardest) == pytest.approx(min(gaps))
    assert "2 items" in repr(cheap)


def test_what_preferences_cannot_show_stays_open():
    task = didact.make("random-grid", size=9, seed=0, n_features=8)
    lesson = didact.teach_mixed(task, feedback=["preferences"])
    assert lesson.status == "partial"
    assert len(lesson.uncovered) == 3
    assert lesson.loss is not None
    assert lesson.lower_bound is None
    both = didact.teach_mixed(task, feedback=["preferences", "comparisons"])
    assert both.is_fewest
    assert both.cost == 13


def test_a_mix_is_saved_and_its_items_can_be_checked(tmp_path):
    task = didact.make("six-cell")
    lesson = didact.teach_mixed(task, feedback=["comparisons", "preferences"])
    lesson.save(tmp_path / "lesson.json")
    document = json.loads((tmp_path / "lesson.json").read_text())
    assert document["format"] == "didact.lesson/1"
    assert didact.check(task, document["items"]).teaches
    assert document == json.loads(json.dumps(lesson.document()))


def test_learners_take_a_mix_for_what_it_says():
    task = didact.make("six-cell")
    lesson = didact.teach_mixed(task, feedback=["comparisons"])
    belief = didact.learn(task, lesson, learner="ml-irl")
    assert belief.feedback == lesson.items
    assert didact.evaluate(task, belief.policy()).policy_loss == 0.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"feedback": ["comparison"]}, "did you mean 'comparisons'"),
        ({"feedback": []}, "must name at least one kind"),
        ({"feedback": ["comparisons"], "teacher": "uvm"}, "leave teacher 'uvm' out"),
        ({"feedback": ["comparisons"], "closed": True}, "closed is for demonstrations"),
        ({"feedback": ["comparisons"], "loss": "1%"}, "loss is for demonstrations"),
        ({"feedback": ["comparisons"], "cost": "pairs"}, "must be a table"),
        ({"feedback": ["comparisons"], "cost": {"preferences": 1}}, "cost: kind must be"),
        ({"feedback": ["comparisons"], "cost": {"comparisons": 0}}, "must be positive"),
    ],
)
def test_what_cannot_be_mixed_is_refused(options, message):
    with pytest.raises(InvalidInput, match=message):
        didact.teach_mixed(didact.make("six-cell"), **options)


def test_floats_do_not_mix():
    task = didact.make("six-cell")
    with pytest.raises(Unsupported, match="exact arithmetic"):
        didact.teach_mixed(task, feedback=["comparisons"], arithmetic="float")


# Over-teaching


def smallest_facet_margin(bec) -> Fraction:
    """The least that some action of a facet's rows costs under the true weights, of all facets."""
    plan = bec.plan
    found = []
    for facet in bec.cone.facets:
        hit = np.isin(bec.rows.number, list(facet))
        worths = [
            plan.action_values[s, a] - plan.action_values[s, b]
            for s, a, b in bec.rows.statements[hit].tolist()
        ]
        found.append(max(worths))
    return min(found)


def require_few_and_true(task, bec, lesson) -> None:
    assert lesson.is_complete
    assert all(isinstance(item, Preference) for item in lesson.items)
    verdict = didact.check(task, list(lesson.items), bec=bec)
    assert verdict.teaches
    margins = [margin(bec, item_differences(bec, item)[0]) for item in lesson.items]
    assert min(margins) > 0
    assert lesson.hardest == verdict.hardest == min(margins)
    assert float(lesson.hardest) <= smallest_facet_margin(bec) + 1e-12


@pytest.mark.parametrize("seed", [3, pytest.param(2, marks=pytest.mark.slow)])
def test_as_many_near_ties_as_the_rank_are_enough(seed):
    task = didact.make("random-grid", size=5, n_features=4, seed=seed)
    bec = didact.equivalence_class(task)
    usual = didact.teach_mixed(task, feedback=["comparisons", "preferences"], bec=bec)
    lesson = didact.teach_mixed(
        task, feedback=["comparisons", "preferences"], over_teach=True, bec=bec
    )
    require_few_and_true(task, bec, lesson)
    assert len(lesson.items) == bec.cone.rank == lesson.lower_bound < len(usual.items)
    assert not lesson.is_fewest  # no certificate allows rows outside of the class
    assert lesson.hardest < usual.hardest
    assert "narrows" in " ".join(map(lesson.why, range(len(lesson.items))))
    assert sum(lesson.gains) == bec.cone.n_facets


def test_margins_are_kept_and_where_none_is_found_the_usual_lesson_stays_or_it_is_refused():
    task = didact.make("random-grid", size=4, n_features=4, seed=0)
    bec = didact.equivalence_class(task)
    usual = didact.teach_mixed(task, feedback=["preferences"], bec=bec)
    for least in ("1e-6", usual.hardest / 2, usual.hardest, 2 * usual.hardest, 1, 5):
        options = {"feedback": ["preferences"], "over_teach": True, "margin": least}
        try:
            lesson = didact.teach_mixed(task, **options, bec=bec)
        except Unsupported:
            assert Fraction(least) > usual.hardest
            continue
        assert lesson.hardest >= Fraction(least)
        if lesson.items == usual.items:  # the bound is on any half-spaces, and is not reached
            assert not lesson.is_fewest
    with pytest.raises(Unsupported, match="the usual one rests on a difference of"):
        didact.teach_mixed(task, **{**options, "margin": 5}, bec=bec)


def test_what_cannot_be_over_taught_is_refused():
    task = didact.make("six-cell")
    with pytest.raises(InvalidParameter, match="needs 'preferences'"):
        didact.teach_mixed(task, feedback=["comparisons"], over_teach=True)
    with pytest.raises(InvalidParameter, match="no option 'over_teach'"):
        didact.teach(task, over_teach=True)
    with pytest.raises(InvalidParameter, match="margin is for over_teach"):
        didact.teach_mixed(task, feedback=["preferences"], margin="0.1")
    with pytest.raises(InvalidParameter, match="must not be negative"):
        didact.teach_mixed(task, feedback=["preferences"], over_teach=True, margin=-1)


@pytest.mark.parametrize("name", ["six-cell", "uvm-failure"])
def test_over_teaching_never_costs_more(name):
    """Also with ties, which need their own items, and where trajectories end."""
    task = didact.make(name)
    bec = didact.equivalence_class(task)
    usual = didact.teach_mixed(task, feedback=["comparisons", "preferences"], bec=bec)
    lesson = didact.teach_mixed(
        task, feedback=["comparisons", "preferences"], over_teach=True, bec=bec
    )
    assert lesson.cost <= usual.cost
    assert lesson.cost >= lesson.lower_bound == fewest_halfspaces(bec)
    assert didact.check(task, list(lesson.items), bec=bec).teaches


@pytest.mark.parametrize("d", [1, 2, 3, 7])
def test_corners_sum_to_nothing_and_are_equally_far(d):
    corners = _corners(d, np.random.default_rng(0))
    assert corners.shape == (d, d - 1)
    assert np.allclose(corners.sum(axis=0), 0.0)
    assert np.allclose(corners @ corners.T, (d * np.eye(d) - 1.0) / max(d - 1, 1), atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_seven_near_ties_teach_grids_of_eight_features(seed):
    """9x9, k = 8: as many as the rank in 8 of 8 worlds."""
    task = didact.make("random-grid", size=9, n_features=8, seed=seed)
    bec = didact.equivalence_class(task)
    lesson = didact.teach_mixed(task, feedback=["preferences"], over_teach=True, bec=bec)
    require_few_and_true(task, bec, lesson)
    assert len(lesson.items) == 7 == bec.cone.rank
