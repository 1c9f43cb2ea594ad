"""The cheapest mix of feedback for a family, against brute force that shares nothing with it."""

import itertools
import json
import random
from fractions import Fraction

import pytest

import didact
from didact.errors import InvalidInput
from didact.mdp.files import family_document
from didact.teaching.lesson import verify
from tests.effort import number
from tests.laws.test_family_classes import small_family
from tests.teaching.covers.instances import cheapest_by_force
from tests.test_proofcheck import SolvedFamily, cone_multipliers, primitive

KINDS = ("demonstrations", "comparisons", "preferences")


def offered(family, prices):
    """{(member, rows): price} of all single steps and comparisons of a family."""
    solved = SolvedFamily(family_document(family))
    found = {}
    for i, part in enumerate(solved.members):
        shown = [(s, a) for s in part.live for a in part.optimal[s]]
        for s, a in shown:
            rows = {b: primitive(part.row(s, a, b)) for b in range(part.m) if b != a}
            said = [("demonstrations", frozenset(rows.values()) - {None})]
            said += [("comparisons", frozenset({row} - {None})) for row in rows.values()]
            for kind, stated in said:
                if stated and kind in prices:
                    least = min(found.get((i, stated), 99), prices[kind])
                    found[i, stated] = least
    return solved, found


def cheapest(family, prices, visits):
    """The least price of items and visits from which all rows follow, by trying all sets."""
    solved, found = offered(family, prices)
    wanted, items = list(solved.policy_rows("all")), list(found.items())

    def teaches(chosen):
        rays = list(dict.fromkeys(ray for i in chosen for ray in items[i][0][1]))
        return all(cone_multipliers(row, rays) is not None for row in wanted)

    def visited(chosen):
        return sum(visits[m] for m in {items[i][0][0] for i in chosen})

    return cheapest_by_force(len(items), [price for _, price in items], teaches, visited)


def families():
    """Families of 2x2 worlds with few different items, so that all sets can be tried."""
    for seed in (36, *range(1, 200)):
        family = small_family(seed, n_members=1 + seed % 3)
        if 1 < len(offered(family, dict.fromkeys(KINDS, 1))[1]) <= 13:
            yield seed, family


def test_no_mix_for_a_family_is_cheaper_with_or_without_visits():
    n_tied, kinds = 0, set()
    for seed, family in itertools.islice(families(), number(6, 60)):
        rng = random.Random(seed)
        prices = {
            "demonstrations": Fraction(rng.choice(["1", "2", "3/2"])),
            "comparisons": Fraction(rng.choice(["1", "2", "1/2"])),
        }
        visits = {m: seed % 2 * rng.choice([0, 1, 3]) for m in range(len(family))}
        bec = didact.equivalence_class(family)
        given = {"horizon": 1, "starts": "all", "bec": bec, "member_cost": visits}
        lesson = didact.teach_mixed(family, feedback=list(prices), cost=prices, **given)
        n_tied += bool(lesson.n_equalities)
        kinds |= {frozenset(type(item) for item in lesson.items)}
        assert lesson.is_fewest, seed
        assert lesson.cost == cheapest(family, prices, visits), seed
        assert didact.check(family, lesson, bec=bec).teaches
    assert n_tied
    assert len(kinds) == 3, "demonstrations, comparisons, and both"


@pytest.mark.parametrize("seed", range(6))
def test_more_kinds_never_make_the_lesson_of_a_family_dearer(seed):
    family = small_family(seed)
    bec = didact.equivalence_class(family)
    visits = {0: seed % 3, 1: 1}
    found = {}
    for chosen in (c for size in (1, 2, 3) for c in itertools.combinations(KINDS, size)):
        given = {"horizon": 1, "starts": "all", "bec": bec, "member_cost": visits}
        lesson = didact.teach_mixed(family, feedback=chosen, **given)
        assert lesson.is_complete == didact.check(family, lesson, bec=bec).teaches
        found[frozenset(chosen)] = lesson
    for few, many in itertools.permutations(found, 2):
        if few < many and found[few].is_complete:
            assert found[many].is_complete
            assert found[many].cost <= found[few].cost


@pytest.mark.parametrize("seed", range(8))
def test_a_family_of_one_has_the_tasks_mix(seed):
    family = small_family(seed, n_members=1)
    for kinds in (KINDS[1:], KINDS[2:], KINDS):
        alone, lesson = (didact.teach_mixed(what, feedback=kinds) for what in (family[0], family))
        assert all(item.member == 0 for item in lesson.items)
        assert [lesson.why(i) for i in range(len(lesson.items))] == [
            alone.why(i) for i in range(len(alone.items))
        ]
        for name in ("status", "gains", "cost", "lower_bound", "hardest", "witness", "loss"):
            assert getattr(lesson, name) == getattr(alone, name), name
        plain = [without_member(item.document()) for item in lesson.items]
        assert plain == [item.document() for item in alone.items]


def without_member(document):
    if isinstance(document, list):
        return document[1]
    return {name: value for name, value in document.items() if name != "member"}


def test_near_ties_teach_a_family_with_as_many_as_its_rank():
    """Fewer than one for each facet, from whichever members."""
    family = didact.make("random-grid", size=2, n_features=4, seed=39, members=2)
    bec = didact.equivalence_class(family)
    usual = didact.teach_mixed(family, feedback=["comparisons"], bec=bec)
    given = {"feedback": ["comparisons", "preferences"], "bec": bec, "over_teach": True}
    few = didact.teach_mixed(family, **given)
    assert len(few.items) == bec.cone.rank == few.lower_bound < len(usual.items)
    assert few.hardest < usual.hardest
    assert didact.check(family, few, bec=bec).teaches
    assert verify(family, few.document()).startswith(f"proved: {len(few.items)} items (")


@pytest.mark.slow
def test_near_ties_of_a_family_keep_to_margins_budgets_and_visits():
    family = didact.make("random-grid", size=3, n_features=4, seed=6, members=3)
    given = {"feedback": ["comparisons", "preferences"], "over_teach": True}
    few, usual = (
        didact.teach_mixed(family, **given),
        didact.teach_mixed(family, feedback=given["feedback"]),
    )
    visits = dict.fromkeys({item.member for item in few.items}, 9)
    assert didact.teach_mixed(family, **given, member_cost=visits).cost <= len(few.items) + 9 * len(
        visits
    )
    assert len(didact.teach_mixed(family, **given, margin=100).items) == len(usual.items)
    short = didact.teach_mixed(family, **given, budget=len(few.items) - 1)
    assert (short.status, len(short.items)) == ("partial", len(few.items) - 1)
    assert verify(family, short.document()).startswith("proved open")


def test_files_keep_members_and_wrong_ones_are_refused(tmp_path):
    family = small_family(5)
    lesson = didact.teach_mixed(family, feedback=KINDS, cost={"demonstrations": 3})
    assert {type(item) for item in lesson.items} == {didact.Comparison}
    path = tmp_path / "mix.json"
    lesson.save(path)
    again = didact.load_lesson(path)
    assert again.document() == lesson.document()
    assert again.items == lesson.items
    assert again.is_of_family
    assert didact.check(family, path).teaches
    document = lesson.document()
    for member, words in ((9, "of one of 3 members"), (None, "of one of 3 members")):
        items = [{**without_member(item), "member": member} for item in document["items"]]
        items = [{k: v for k, v in item.items() if v is not None} for item in items]
        path.write_text(json.dumps({**document, "items": items}))
        with pytest.raises(InvalidInput, match=words):
            didact.load_lesson(path)


def test_pages_draw_every_world_that_something_is_said_or_asked_of(tmp_path):
    family = didact.make("random-grid", size=3, n_features=4, seed=2, members=3)
    lesson = didact.teach_mixed(family, feedback=["comparisons", "preferences"])
    lesson.report(tmp_path / "mix.html", task=family)
    with pytest.raises(InvalidInput, match="must be a Family"):
        lesson.report(tmp_path / "mix.html", task=family[0])
    exam = didact.exam(family)
    exam.report(tmp_path / "exam.html", task=family)
    for name, said in (("mix", lesson.items), ("exam", exam.questions)):
        page = (tmp_path / f"{name}.html").read_text()
        members = {each.member for each in said}
        assert len(members) > 1
        for member in range(3):
            assert page.count(f'id="world-{member}"') == (member in members)
            assert (f'href="#world-{member}"' in page) == (member in members)
        assert page.count('id="hatch"') == 1


def test_what_is_not_of_a_member_is_refused():
    family = small_family(5)
    item = didact.Comparison(0, 1, 2)
    with pytest.raises(InvalidInput, match=r"items\[0\] must say whose it is"):
        didact.check(family, [item])
    with pytest.raises(InvalidInput, match="is of member 1 of a family, and this is one task"):
        didact.check(family[0], [didact.Comparison(0, 1, 2, member=1)])
    with pytest.raises(InvalidInput, match=r"member must be .* 0 .* 2"):
        didact.check(family, [didact.Comparison(0, 1, 2, member=3)])
    way = [[0, 0]]
    with pytest.raises(InvalidInput, match="must be of one member; it names"):
        didact.Preference(didact.Demonstration(way, 0), didact.Demonstration(way, 1))
    assert didact.Preference(didact.Demonstration(way, 1), way).member == 1
