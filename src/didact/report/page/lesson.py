"""A lesson as one HTML file: pictures inline, nothing loaded, readable on a phone and by ear.

Here the facts of each section are put together; `templates/lesson.html.jinja` lays them out.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from didact import __version__
from didact.bec.classes import EquivalenceClass
from didact.files.json import write_text
from didact.files.kinds import PAGE
from didact.inputs import choice, counted, shown_name
from didact.mdp import Demonstration, Task
from didact.mdp.naming import action_words
from didact.report.page.facts import Facts, LessonPoint, gather
from didact.report.page.halfspaces import (
    PlanePicture,
    SlicePicture,
    half_space_picture,
    likely_pairs,
)
from didact.report.page.neutral import neutral_world
from didact.report.page.plain import plain_words
from didact.report.page.player import Frame, Player, box_of, frame_of, frames, player
from didact.report.page.scene import Picture, Scene, amount, number, scene_of, state_in_words
from didact.report.page.templates import render
from didact.report.page.words import (
    assumptions,
    bound_words,
    differences,
    example_words,
    half_space_words,
    hardest_sentence,
    loss_words,
    proof_words,
    python_command,
    task_words,
    verdict_words,
    weights_words,
    why_words,
)
from didact.report.page.world import (
    Astray,
    astray_box,
    astray_picture,
    legend,
    neutral_legend,
    world_box,
    world_picture,
)
from didact.teaching import Lesson

WIDTH, HEIGHT = 360.0, 200.0
LEFT, RIGHT, TOP, BOTTOM = 44.0, 14.0, 26.0, 34.0
MAX_LABELS = 11


@dataclass(frozen=True)
class CoverageChart:
    """Values over 0, 1, 2 ... demonstrations: a line of steps, a dot at each.

    kind: of colour. left, right, base, ceiling: the sides of the axes. ticks: numbers below, with
    their places. most: the value at the ceiling, in words.
    """

    frame: Picture
    title: str
    kind: str
    left: float
    right: float
    base: float
    ceiling: float
    most: str
    line: str
    dots: tuple[tuple[float, float], ...]
    ticks: tuple[tuple[float, int], ...]


def coverage_charts(
    curve: Sequence[LessonPoint], total: int
) -> tuple[CoverageChart, CoverageChart]:
    """Two small charts over one axis: how many of the constraints, and what can still be lost."""
    told = "; ".join(
        f"after {point.n}: {point.covered} of {total} covered, loss {amount(point.loss)}"
        for point in curve
    )
    view = (0.0, 0.0, WIDTH, HEIGHT)
    covered = Picture("covered", view, f"Constraints covered, of {total}", told, "chart")
    loss = Picture("losses", view, "Largest loss found that is still possible", told, "chart")
    counts, losses = [float(point.covered) for point in curve], [point.loss for point in curve]
    most = float(max(total, 1))
    return (
        _steps(covered, counts, most, f"constraints covered (of {total})", "good"),
        _steps(loss, losses, max([*losses, 1e-12]), "largest loss still found", "risk"),
    )


def _steps(
    frame: Picture, values: Sequence[float], most: float, title: str, kind: str
) -> CoverageChart:
    n = max(len(values) - 1, 1)

    def x(i: float) -> float:
        return LEFT + i / n * (WIDTH - LEFT - RIGHT)

    def y(value: float) -> float:
        return HEIGHT - BOTTOM - value / most * (HEIGHT - TOP - BOTTOM)

    dots = tuple((x(i), y(value)) for i, value in enumerate(values))
    every = max(1, -(-len(values) // MAX_LABELS))
    return CoverageChart(
        frame=frame,
        title=title,
        kind=kind,
        left=x(0),
        right=x(n),
        base=y(0),
        ceiling=y(most),
        most=amount(most) if most > 1e-12 else "",
        line=_line(dots),
        dots=dots,
        ticks=tuple((x(i), i) for i in range(0, len(values), every)),
    )


def _line(dots: Sequence[tuple[float, float]]) -> str:
    """The path along the dots: across, then up or down."""
    (first_x, first_y), *others = dots
    steps = "".join(f"H{number(x)}V{number(y)}" for x, y in others)
    return f"M{number(first_x)} {number(first_y)}{steps}"


REASONS = {
    "budget": "a demonstration could show it, but not within the budget",
    "left out": "a demonstration could show it, but the teacher left it out",
    "not sampled": "a demonstration could show it, but none of those that were sampled does",
    "not reachable": "no optimal demonstration from these starts can show it",
}
MAX_DIFFERENCES = 8


@dataclass(frozen=True)
class Gap:
    """A constraint that stays open: what would show it, where, and why nothing does."""

    words: str
    action: str
    other: str
    place: str
    reason: str


@dataclass(frozen=True)
class WrongReward:
    """A wrong reward that still fits: what it costs and where it would choose wrongly.

    differences: where, what the teacher does, what the believer would do. n_more: left out of them.
    """

    weights: str
    loss: str
    n_states: int
    drawing: Astray | None
    differences: tuple[tuple[str, str, str], ...]
    n_more: int


def gaps(facts: Facts, scene: Scene | None) -> tuple[Gap, ...]:
    """The constraints that stay open."""
    task = facts.task
    return tuple(
        Gap(
            words=entry.words,
            action=action_words(task, entry.action),
            other=action_words(task, entry.other),
            place=shown_name(state_in_words(task.mdp, entry.state, scene), 90),
            reason=REASONS.get(entry.reason, entry.reason),
        )
        for entry in facts.lesson.uncovered
    )


def wrong_reward(facts: Facts, scene: Scene | None) -> WrongReward | None:
    """The lesson's witness, where it has one."""
    belief = facts.witness
    if belief is None:
        return None
    n_states = len(belief.astray)
    drawn = scene is not None and scene.kind == "grid"
    return WrongReward(
        weights=weights_words(facts.task.mdp, belief.weights),
        loss=loss_words(belief),
        n_states=n_states,
        drawing=astray_picture(facts, belief, scene) if drawn and scene is not None else None,
        differences=tuple(differences(facts, belief, scene, MAX_DIFFERENCES)),
        n_more=max(n_states - MAX_DIFFERENCES, 0),
    )


Audience = Literal["experts", "people"]
MAX_DEMONSTRATIONS, MAX_PAIRS = 30, 10
LONGEST_CODE = 4000
TALLEST_FRAME = 640
"""Of a page in a notebook, in pixels."""


def lesson_page(
    task: Task,
    lesson: Lesson,
    *,
    bec: EquivalenceClass | None = None,
    verified: str | None = None,
    command: str | None = None,
    story: Sequence[str] = (),
    pair: tuple[int, int] | None = None,
    audience: Audience = "experts",
) -> str:
    """The page of a lesson for its task, as HTML.

    bec: the task's class, when it is at hand. verified: what the independent checker said of the
    proof. command: the command line that makes the page. story: paragraphs about where the reward
    comes from. pair: the two features of the half-space picture; by default the most telling ones.
    audience: 'experts', or 'people' who watch it: plain words, the mathematics folded away.
    """
    choice(audience, "audience", get_args(Audience))
    for_people = audience == "people"
    return _laid_out(
        gather(task, lesson, bec),
        layout="document.html.jinja",
        verified=verified,
        code=python_command(lesson) if command is None else command,
        story=story,
        pair=pair,
        for_people=for_people,
    )


def lesson_piece(facts: Facts, *, verified: str | None = None) -> str:
    """The parts of a lesson's page below its world, for a page that shows the world itself."""
    return _laid_out(facts, layout="piece.html.jinja", verified=verified, code="")


def _laid_out(
    facts: Facts,
    *,
    layout: str,
    verified: str | None,
    code: str,
    story: Sequence[str] = (),
    pair: tuple[int, int] | None = None,
    for_people: bool = False,
) -> str:
    task, lesson = facts.task, facts.lesson
    scene = scene_of(task, facts.bec.plan)
    shown = [frames(task, each, scene) for each in lesson.demonstrations[:MAX_DEMONSTRATIONS]]
    plain = plain_words(facts, scene) if for_people else None
    told = verdict_words(facts) if plain is None else plain.title
    named = legend(task, scene)
    return render(
        "people.html.jinja" if for_people else "lesson.html.jinja",
        layout=layout,
        title=f"{shown_name(task.name, 80)}: {told}",
        plain=plain,
        coloured=any(letter for letter, *_ in named.entries),
        facts=facts,
        scene=scene,
        ground=None if scene is None else _ground(facts, scene, shown),
        verdict=_verdict(facts, verified),
        story=story,
        world=None if scene is None else _world(facts, scene, is_solved=not for_people),
        legend=named,
        kinds=neutral_legend(task, scene),
        why=why_words(facts),
        cards=tuple(_cards(facts, scene, shown)),
        charts=coverage_charts(facts.curve, len(facts.said)),
        gaps=gaps(facts, scene),
        wrong_reward=wrong_reward(facts, scene),
        half_spaces=_half_spaces(facts, pair),
        assumptions=assumptions(facts),
        code=code[:LONGEST_CODE],
        version=__version__,
    )


def write_page(path: str | os.PathLike[str], task: Task, lesson: Lesson, **options: Any) -> None:
    """Write the page of a lesson; the file appears whole or not at all."""
    write_text(lesson_page(task, lesson, **options), path, kind=PAGE)


def lesson_fragment(task: Task, lesson: Lesson, **options: Any) -> str:
    """The page in a frame of its own, for a notebook."""
    page = lesson_page(task, lesson, **options)
    return _frame(f"Lesson for {task.name}", page, "allow-scripts", TALLEST_FRAME)


def task_fragment(task: Task) -> str:
    """A task drawn in a frame of its own, for a notebook: the world, its features, its reward."""
    scene = scene_of(task)
    facts: dict[str, Any] = {"scene": scene, "ground": None, "world": None}
    height = 150 + 30 * min(task.mdp.n_features, 12)
    if scene is not None:
        box = scene.box_around([0], whole=30, most=30)
        facts |= {"ground": scene.ground([box]), "world": world_picture(task, None, scene, box)}
        height += 380
    page = render(
        "task.html.jinja",
        title=shown_name(task.name, 80),
        sizes=task_words(task.mdp),
        legend=legend(task, scene),
        **facts,
    )
    return _frame(task.name, page, "", min(height, TALLEST_FRAME))


def demonstrations_piece(task: Task, shown: Sequence[Demonstration], *, first: int = 1) -> str:
    """Demonstrations to play, without a word about what they show; numbered from `first` on.

    The world is drawn without its reward: see `neutral`.
    """
    world = neutral_world(task)
    scene = world.scene
    moments = [frames(task, each, scene) for each in shown]
    players = [
        player(each, scene, number=i + first, n_steps=len(shown[i]), telling={})
        for i, each in enumerate(moments)
    ]
    boxes = [] if scene is None else [box_of(each, scene) for each in moments]
    ground = scene.ground(boxes) if scene is not None and boxes else None
    return render(
        "demonstrations.html.jinja", scene=scene, ground=ground, players=players, world=world
    )


def _frame(title: str, page: str, sandbox: str, height: int) -> str:
    facts = {"title": title, "page": page, "sandbox": sandbox, "height": height}
    return render("frame.html.jinja", **facts).rstrip("\n")


def _ground(facts: Facts, scene: Scene, shown: Sequence[Sequence[Frame]]) -> Any:
    """The ground of every picture of the page at once."""
    boxes = [world_box(facts, scene), *(box_of(each, scene) for each in shown)]
    if facts.witness is not None:
        boxes.append(astray_box(facts.witness, scene))
    return scene.ground(boxes)


def _world(facts: Facts, scene: Scene, *, is_solved: bool) -> Any:
    """The world, with its optimal actions unless people are to find out by watching."""
    plan = facts.bec.plan if is_solved else None
    return world_picture(facts.task, plan, scene, world_box(facts, scene))


@dataclass(frozen=True)
class VerdictWords:
    """The verdict in a line, what supports it, and the numbers below it: value and name."""

    words: str
    proof: str
    proof_sentence: str
    is_verified: bool
    numbers: tuple[tuple[str, str], ...]
    bound: str
    hardest: str


def _verdict(facts: Facts, verified: str | None) -> VerdictWords:
    lesson = facts.lesson
    proof, sentence = proof_words(facts, verified)
    loss = 0.0 if lesson.is_complete else facts.curve[-1].loss
    return VerdictWords(
        words=verdict_words(facts),
        proof=proof,
        proof_sentence=sentence,
        is_verified=verified is not None,
        numbers=(
            _apart(len(lesson.demonstrations), "demonstration"),
            _apart(lesson.n_pairs, "step"),
            (f"{facts.n_covered} / {len(facts.said)}", "constraints covered"),
            (amount(loss), "loss still possible" if lesson.is_complete else "loss still found"),
        ),
        bound=bound_words(lesson, facts.bec, verified),
        hardest=hardest_sentence(lesson),
    )


def _apart(n: int, thing: str) -> tuple[str, str]:
    """The number and what is counted, apart."""
    many, _, things = counted(n, thing).partition(" ")
    return many, things


@dataclass(frozen=True)
class Card:
    """A demonstration and what it shows: sentences, each with its step and moment where it has one.

    why: what it is for where it shows nothing new. example: a reward that it rules out, and what
    that would do.
    """

    title: str
    player: Player
    said: tuple[tuple[str, int | None, int], ...]
    why: str
    example: tuple[str, str] | None


def _cards(facts: Facts, scene: Scene | None, shown: Sequence[Sequence[Frame]]) -> Iterator[Card]:
    for i, moments in enumerate(shown):
        n_steps = len(facts.lesson.demonstrations[i])
        said = facts.stated_first_by(i)
        telling: dict[int, str] = {}
        for entry in said:
            if entry.step is not None:
                before = telling.get(entry.step)
                telling[entry.step] = entry.words if before is None else f"{before}; {entry.words}"
        yield Card(
            title=f"Demonstration {i + 1} · {counted(n_steps, 'step')}",
            player=player(moments, scene, number=i + 1, n_steps=n_steps, telling=telling),
            said=tuple(
                (e.words, e.step, 0 if e.step is None else frame_of(moments, e.step)) for e in said
            ),
            why="" if said else facts.lesson.why(i),
            example=example_words(facts, i, scene) if said else None,
        )


@dataclass(frozen=True)
class HalfSpaces:
    """Pictures of the rewards that still fit: one of the plane, or slices to choose from."""

    words: str
    plane: PlanePicture | None
    slices: tuple[SlicePicture, ...]


def _half_spaces(facts: Facts, pair: tuple[int, int] | None) -> HalfSpaces | None:
    """None where there is nothing to draw: one feature, or nothing that is said."""
    bec, shown = facts.bec, facts.lesson.demonstrations
    if facts.task.mdp.n_features == 1 or not facts.said:
        return None
    witness = None if facts.witness is None else facts.witness.weights
    if facts.task.mdp.n_features == 2:
        pairs = [(0, 1)]
    else:
        pairs = [pair] if pair is not None else likely_pairs(bec, MAX_PAIRS)
    pictures = [half_space_picture(bec, shown, pair=each, witness=witness) for each in pairs]
    return HalfSpaces(
        words=half_space_words(facts),
        plane=next((each for each in pictures if isinstance(each, PlanePicture)), None),
        slices=tuple(each for each in pictures if isinstance(each, SlicePicture)),
    )
