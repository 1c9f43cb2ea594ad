"""The lesson page as text: what it says is true, whole, safe and readable by ear."""

import re
from fractions import Fraction
from functools import cache
from html import unescape

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from didact import Task, equivalence_class, evaluate, from_gymnasium, make, teach
from didact.bec.classes import EquivalenceClass
from didact.bec.halfspaces import demonstrated_pairs
from didact.errors import InvalidModel, InvalidParameter
from didact.report.page.facts import gather
from didact.report.page.lesson import lesson_fragment, lesson_page, task_fragment
from didact.report.page.player import frames
from didact.report.page.scene import amount, number, scene_of
from didact.report.page.templates import static_text
from didact.report.page.words import verdict_words
from didact.teaching import load_lesson
from tests.models import tasks
from tests.report.drawn import HOSTILE, WORLDS, hostile
from tests.report.reading import read, read_fragment


@cache
def known_of(name: str) -> EquivalenceClass:
    """The class of a world, which several tests teach."""
    return equivalence_class(WORLDS[name]())


def world(name: str) -> Task:
    try:
        return known_of(name).task
    except InvalidParameter:
        pytest.skip("the world has no such parameter")


@pytest.mark.parametrize("name", WORLDS)
@pytest.mark.parametrize("budget", [None, 1])
def test_pages_hold_together_and_tell_every_step(name, budget):
    task = world(name)
    lesson = teach(task, budget=budget, bec=known_of(name))
    page = lesson_page(task, lesson, command=f"didact explain '{HOSTILE}'")
    reader = read(page)
    assert len(page) < 400_000
    spoken = [of.get("data-say", "") for tag, of in reader.tags if tag == "li"]
    scene = scene_of(task)
    for demonstration in lesson.demonstrations:
        shown = frames(task, demonstration, scene)
        told = [pair for f in shown if f.action is not None
                for pair in [(f.state, f.action)] * (f.last - f.first + 1)]  # fmt: skip
        assert told == list(demonstration)
    n_chips = sum(len(frames(task, d, scene)) for d in lesson.demonstrations)
    assert sum(1 for text in spoken if text) == n_chips
    assert "<img" not in page
    assert page.count("<script") == 1


@given(tasks())
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_any_task_has_a_page(task):
    """Ties, terminals, restricted starts, degenerate features: all of it can be drawn."""
    bec = equivalence_class(task)
    lesson = teach(task, bec=bec)
    read(lesson_page(task, lesson, bec=bec))
    read_fragment(task_fragment(task))


@given(tasks())
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_the_facts_are_true(task):
    bec = equivalence_class(task, arithmetic="exact")
    lesson = teach(task, bec=bec)
    facts = gather(task, lesson, bec)
    exact, shown = bec.rows.exact, lesson.demonstrations
    for said in facts.said:
        if said.step is not None:
            state, action = shown[said.demonstration][said.step]
            rows = demonstrated_pairs(task.mdp, [[(state, action)]])
            members = facets_with(bec, said.statement)
            assert set(bec.rows.stated_by(rows).tolist()) & members
    assert facts.n_covered == len(facts.said) - len(lesson.uncovered)
    for i, belief in enumerate(facts.ruled_out):
        gained = facts.curve[i + 1].covered - facts.curve[i].covered
        assert gained == lesson.gains[i]
        assert (belief is not None) == (gained > 0)
        if belief is None:
            continue
        before = bec.rows.stated_by(demonstrated_pairs(task.mdp, shown[:i]))
        after = bec.rows.stated_by(demonstrated_pairs(task.mdp, shown[: i + 1]))
        assert all(dot(exact[row], belief.weights) >= 0 for row in before)
        assert any(dot(exact[row], belief.weights) < 0 for row in after)
        worst = evaluate(task, list(belief.weights), plan=bec.plan).worst_policy_loss
        assert belief.loss == pytest.approx(worst, rel=1e-6, abs=1e-9)
    losses = [point.loss for point in facts.curve]
    assert losses == sorted(losses, reverse=True)
    assert not lesson.is_complete or losses[-1] == 0


@pytest.mark.parametrize("name", ["grid", "garnet", "balls"])
def test_the_largest_loss_found_never_rises(name):
    """What fits more demonstrations fits fewer of them too."""
    task = world(name)
    facts = gather(task, teach(task, teacher="scot", bec=known_of(name)))
    losses = [point.loss for point in facts.curve]
    found = [0.0 if belief is None else belief.loss for belief in facts.ruled_out]
    opposite = evaluate(task, (-task.weights).tolist()).worst_policy_loss
    assert losses[-1] == 0
    assert losses[1:-1] == [max(found[n:]) for n in range(1, len(found))]
    assert losses[0] == pytest.approx(max([opposite, *found]))
    assert len(losses) > 3


def facets_with(bec, statement) -> set[int]:
    """The rows of the facet or equality whose first row a statement names."""
    places = (bec.rows.statements == np.array(statement)).all(axis=1)
    row = int(bec.rows.number[np.flatnonzero(places)[0]])
    return next((set(f) for f in bec.cone.facets if row in f), {row})


def dot(left, right) -> Fraction:
    return sum((Fraction(x) * Fraction(y) for x, y in zip(left, right, strict=True)), Fraction(0))


@pytest.mark.parametrize(
    ("name", "verdict"),
    [
        ("taxi", "One demonstration of 18 steps is enough."),
        ("cliff", "One demonstration of 13 steps is enough."),
        ("lake", "Partly taught: one demonstration of 7 steps leaves 1 of 2 constraints open."),
        ("one", "Nothing needs to be shown: every reward leads to the same behaviour."),
        ("two-choices", "One state-action pair is enough."),
    ],
)
def test_the_verdict_stands_in_one_line(name, verdict):
    task = world(name)
    horizon = 1 if name == "two-choices" else None
    lesson = teach(task, teacher="scot", horizon=horizon, trim=False, bec=known_of(name))
    assert verdict_words(gather(task, lesson)) == verdict
    assert f'<p class="verdict">{verdict}</p>' in lesson_page(task, lesson)


def test_taxi_says_why_one_is_enough():
    task = world("taxi")
    page = lesson_page(task, teach(task, bec=known_of("taxi")))
    assert (
        "The policy chooses in 400 states. Each choice against each other action says "
        "something about the reward: 2,800 comparisons, 19 different statements. All of them "
        "follow from just 2 of them, and one demonstration shows them all."
    ) in page
    assert "delivering the passenger is worth at least 20 moves" in page


def test_frozen_lake_lists_what_cannot_be_shown():
    task = from_gymnasium("FrozenLake-v1")
    lesson = teach(task)
    page = lesson_page(task, lesson)
    assert lesson.uncovered[0].words in page
    assert "no optimal demonstration from these starts can show it" in page
    assert "A wrong reward that still fits" in page
    assert amount(lesson.loss) in page


def test_the_proof_status_is_told_apart():
    task = make("six-cell")
    exact, floats = teach(task), teach(task, arithmetic="float")
    assert "Proof verified" in lesson_page(task, exact, verified="proved: fine")
    assert "Proof verified" not in lesson_page(task, exact)
    assert "Decided in exact rational arithmetic" in lesson_page(task, exact)
    assert "Numerical, not proved" in lesson_page(task, floats)


def test_a_lesson_that_floats_cannot_decide_says_so():
    task = make("chain")
    lesson = teach(task, arithmetic="float")
    assert lesson.status == "undecided"
    page = lesson_page(task, lesson)
    assert "≈ Undecided" in page
    assert "Nothing but 1 close call that floating point cannot decide" in page
    assert "Partial" not in page
    read(page)


def test_the_command_and_the_story_are_text():
    task = make("six-cell")
    page = lesson_page(task, teach(task), command=HOSTILE, story=[HOSTILE])
    assert HOSTILE not in page
    assert page.count("&lt;script&gt;hacked=1&lt;/script&gt;") == 2


def test_without_a_command_python_makes_it_again():
    task = make("six-cell")
    page = unescape(lesson_page(task, teach(task, horizon=1, budget=2)))
    assert "didact.teach(task, teacher='exact', horizon=1, budget=2)" in page


def test_a_loaded_lesson_has_the_same_page(tmp_path):
    task = make("ball-sorting")
    lesson = teach(task)
    lesson.save(tmp_path / "lesson.json")
    assert lesson_page(task, load_lesson(tmp_path / "lesson.json")) == lesson_page(task, lesson)


def test_another_tasks_lesson_is_refused():
    lesson = teach(make("ball-sorting"))
    with pytest.raises(InvalidModel):
        lesson_page(make("six-cell"), lesson)


def test_another_tasks_class_is_refused():
    task, other = make("six-cell"), make("six-cell")
    with pytest.raises(InvalidParameter, match="the class of this very task"):
        lesson_page(task, teach(task), bec=equivalence_class(other))


def test_a_page_is_written_whole(tmp_path):
    task = make("six-cell")
    teach(task).report(tmp_path / "lesson.html")
    assert (tmp_path / "lesson.html").read_text().endswith("</html>\n")
    assert [path.name for path in tmp_path.iterdir()] == ["lesson.html"]


def test_a_large_world_is_drawn_where_it_matters():
    task = make("random-grid", size=70, n_features=8, seed=0)
    lesson = teach(task, arithmetic="float", budget=3)
    page = lesson_page(task, lesson)
    read(page)
    assert len(page.encode()) < 300_000
    assert "a part of the world" in page


def test_many_demonstrations_are_cut_and_counted():
    task = make("random-grid", size=12, n_features=20, seed=0)
    lesson = teach(task, horizon=1, arithmetic="float")
    page = lesson_page(task, lesson)
    n = len(lesson.demonstrations)
    assert n > 30
    assert f"And {n - 30} more, in the lesson file." in page
    assert page.count('class="demo with-picture') == 30


def test_a_notebook_shows_pages_in_frames():
    task = hostile()
    lesson = teach(task)
    for fragment in (lesson_fragment(task, lesson), task_fragment(task)):
        read_fragment(fragment)
        assert "allow-same-origin" not in fragment


# Numbers and texts


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (1, "1"), (-0.5, "−0.5"), (1234.5, "1,234"), (1e-9, "1×10^-9"), (2 / 3, "0.667")],
)
def test_amounts_are_short(value, text):
    assert amount(value) == text


def test_coordinates_are_short():
    assert [number(x) for x in (1.0, 0.125, -3.999, 2.10)] == ["1", "0.12", "-4", "2.1"]


# Colours


def variables(scheme: str) -> dict[str, str]:
    css = static_text("page.css")
    light, dark = re.findall(r":root \{(.*?)\}", css, re.S)
    found = dict(re.findall(r"--([\w-]+): (#\w{6})", light))
    return (
        {**found, **dict(re.findall(r"--([\w-]+): (#\w{6})", dark))} if scheme == "dark" else found
    )


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everything_can_be_read(scheme):
    """Contrast of WCAG AA: 4.5 for text, 3 for lines and signs."""
    colours = variables(scheme)
    for ground in ("paper", "card"):
        for ink in ("ink", "soft", "accent", "risk"):
            assert contrast(colours[ink], colours[ground]) >= 4.5, (ink, ground)
    for ground in ("accent-soft", "risk-soft", "plain", *(f"f{i}" for i in range(12))):
        assert contrast(colours["ink"], colours[ground]) >= 4.5, ground
        assert contrast(colours["trail"], colours[ground]) >= 3, ground
    assert contrast(colours["paper"], colours["accent"]) >= 3
