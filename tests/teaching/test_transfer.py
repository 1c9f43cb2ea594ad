"""Transfer against joint families: a lesson determines a world when it also teaches both."""

from functools import cache

import numpy as np
import pytest

import didact
from didact import Family, Task, make
from didact.bec.linear import dot, primitive
from didact.errors import InvalidInput
from didact.mdp.files import family_document
from didact.proofcheck import check_proof
from didact.teaching.transfer import curve_sizes
from tests.decisions import decisions, unit
from tests.effort import chunks

ZERO = [0, 0]
BOTH = decisions([[unit(2, 0), ZERO], [unit(2, 1), ZERO]], [1, 2])
"""Rows e1 and e2."""
SUM = decisions([[[1, 1], ZERO]], [1, 2])
"""Row e1 + e2, which follows from them."""
GAP = decisions([[unit(2, 1), unit(2, 0)]], [1, 2])
"""Row e2 - e1, which does not."""


def small_family(seed, members, **more):
    given = {"size": 3, "n_features": 3, "discount": "0.9", "slip": seed % 2 and "1/10"}
    given |= {"seed": 100 * seed, "weights_seed": seed, **more}
    return make("random-grid", members=members, **given)


def test_what_follows_and_what_does_not():
    lesson = didact.teach(BOTH, horizon=1)
    found = didact.transfer(lesson, Family([SUM, GAP, BOTH], names=["sum", "gap", "same"]))
    assert [world.determined for world in found.worlds] == [True, False, True]
    assert (found.n_determined, found.share, found.arithmetic) == (2, 2 / 3, "exact")
    gap = found.worlds[1]
    assert (gap.missing, gap.loss) == ((0, 0, 1), found.worst_loss)
    first, second = gap.witness
    assert first >= 0
    assert second >= 0, "it fits e1 and e2"
    assert second < first, "and breaks e2 - e1"
    assert found.worst_loss == pytest.approx(1.0), "2 is better than 1"
    assert repr(found) == (
        "Transfer('decisions', 2 of 3 unseen worlds determined, a learner may lose 1, exact)"
    )


@pytest.mark.parametrize("seed", chunks(2, 12))
@pytest.mark.parametrize("arithmetic", ["exact", "float"])
def test_determined_means_that_the_lesson_teaches_both_together(seed, arithmetic):
    """The joint family's own proof, and the independent checker, decide the same."""
    seen, unseen = small_family(seed, 1 + seed % 4), small_family(seed + 1000, 5, weights_seed=seed)
    lesson = didact.teach(seen, teacher="exact", horizon=1, arithmetic=arithmetic)
    found = didact.transfer(lesson, unseen, arithmetic=arithmetic)
    assert found.arithmetic == arithmetic
    bec = lesson.bec if arithmetic == "exact" else didact.equivalence_class(seen)
    for task, world in zip(unseen, found.worlds, strict=True):
        both = Family([*seen, task], names=[*map(str, range(len(seen) + 1))])
        verdict = didact.check(both, lesson.demonstrations, arithmetic="exact")
        said = check_proof(family_document(both), verdict.proof)
        assert world.determined == verdict.teaches == said.startswith("proved:")
        if world.determined:
            continue
        witness = primitive(world.witness)
        shown = {(d.member, *pair) for d in lesson.demonstrations for pair in d}
        for row, number in zip(bec.rows.statements, bec.rows.number, strict=True):
            member, state, action = known_place(bec, row)
            if number >= 0 and (member, state, action) in shown and arithmetic == "exact":
                assert dot(bec.rows.exact[number], witness) >= 0
        state, action, other = world.missing
        pairs = didact.successor_features(task.mdp, didact.solve(task.mdp, task.weights)).pairs
        weights = np.array([float(w) for w in world.witness])
        assert (pairs[state, action] - pairs[state, other]) @ weights < 0
        plan = didact.solve(task.mdp, [float(w) for w in world.witness])
        worst = didact.evaluate(task, plan).worst_policy_loss
        assert world.loss == pytest.approx(worst, abs=1e-9)


def known_place(bec, statement):
    from didact.bec.classes import member_with

    member = member_with(bec.members, int(statement[0]))
    return member.number, int(statement[0]) - member.first, int(statement[1])


@cache
def seen_and_unseen(seed):
    return small_family(seed, 6), small_family(seed + 1000, 7, weights_seed=seed)


@cache
def transfer_of_the_first(seed, n_members):
    seen, unseen = seen_and_unseen(seed)
    return didact.transfer(didact.teach(Family(seen.members[:n_members]), horizon=1), unseen)


@pytest.mark.parametrize("seed", chunks(2, 4))
@pytest.mark.parametrize("arithmetic", ["exact", "float"])
def test_the_curve_is_what_complete_lessons_for_the_first_members_determine(seed, arithmetic):
    seen, unseen = seen_and_unseen(seed)
    lesson = didact.teach(seen, horizon=1, arithmetic=arithmetic)
    curve = didact.transfer(lesson, unseen, arithmetic=arithmetic).curve
    assert [point.n_members for point in curve] == [1, 2, 5, 6]
    for point in curve:
        own = transfer_of_the_first(seed, point.n_members)
        assert point.n_determined == own.n_determined
        assert (point.low, point.high) == own.interval
    shares = [point.share for point in curve]
    assert shares == sorted(shares)


def test_a_lesson_from_a_file_says_as_much(tmp_path):
    seen, unseen = small_family(0, 4), small_family(1000, 6, weights_seed=0)
    for arithmetic in ("exact", "float"):
        lesson = didact.teach(seen, horizon=1, arithmetic=arithmetic)
        lesson.save(tmp_path / "lesson.json")
        again = didact.load_lesson(tmp_path / "lesson.json")
        there, here = didact.transfer(again, unseen), didact.transfer(lesson, unseen)
        assert [w.determined for w in there.worlds] == [w.determined for w in here.worlds]
        assert (there.curve, there.arithmetic) == ((), arithmetic)
        assert didact.transfer(again, unseen, of=seen).curve == here.curve


def test_intervals_are_clopper_pearsons_and_only_of_draws():
    from scipy.stats import binomtest

    lesson = didact.teach(BOTH, horizon=1)
    found = didact.transfer(lesson, Family([SUM, GAP, BOTH]))
    exact = binomtest(2, 3).proportion_ci(0.95, method="exact")
    assert found.interval == pytest.approx((exact.low, exact.high))
    chosen = didact.transfer(lesson, [SUM, GAP], drawn=False)
    assert chosen.interval is None
    assert [(point.low, point.high) for point in chosen.curve] == [(None, None)]


def test_nothing_to_say_determines_what_has_nothing_to_say():
    quiet = decisions([[ZERO, ZERO]], [1, 2])
    lesson = didact.teach(quiet, horizon=1)
    found = didact.transfer(lesson, [quiet, SUM])
    assert [world.determined for world in found.worlds] == [True, False]


def test_partial_lessons_say_what_they_show(tmp_path):
    lesson = didact.teach(BOTH, horizon=1, budget=1)
    only = decisions([[unit(2, lesson.demonstrations[0][0][0]), ZERO]], [1, 2])
    assert [w.determined for w in didact.transfer(lesson, [only, BOTH]).worlds] == [True, False]
    lesson.save(tmp_path / "lesson.json")
    again = didact.load_lesson(tmp_path / "lesson.json")
    with pytest.raises(InvalidInput, match="give of="):
        didact.transfer(again, [only])
    found = didact.transfer(again, [only, BOTH], of=BOTH)
    assert [w.determined for w in found.worlds] == [True, False]


@pytest.mark.parametrize(
    ("unseen", "more", "words"),
    [
        (Task(SUM.mdp, [-1, -2]), {}, "contradict it"),
        (decisions([[[1, 0, 0], [0, 0, 0]]], [1, 2, 3]), {}, "must have 2 features"),
        ([], {}, "at least one member"),
        (SUM, {"of": Family([BOTH])}, "of must be a task"),
        (SUM, {"drawn": 1}, "drawn"),
        ("sum", {}, "unseen"),
    ],
)
def test_refusals_are_one_line(unseen, more, words):
    with pytest.raises(InvalidInput, match=words):
        didact.transfer(didact.teach(BOTH, horizon=1), unseen, **more)


def test_sizes_of_a_curve():
    assert curve_sizes(1) == [1]
    assert curve_sizes(5) == [1, 2, 5]
    assert curve_sizes(300) == [1, 2, 5, 10, 20, 50, 100, 200, 300]


def test_documents_and_records_are_plain():
    import json

    found = didact.transfer(didact.teach(BOTH, horizon=1), [SUM, GAP])
    document = json.loads(json.dumps(found.to_dict()))
    assert document["format"] == "didact.transfer/1"
    assert (document["n_unseen"], document["n_determined"], document["share"]) == (2, 1, 0.5)
    assert document["worlds"][1]["witness"] == [str(w) for w in found.worlds[1].witness]
    assert document["curve"][0]["n_determined"] == 1
    assert repr(found.worlds[1]) == "UnseenWorld('1', open, a learner may lose 1)"
    assert "1 of 2 unseen worlds determined" in found._repr_html_()
