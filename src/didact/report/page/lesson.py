"""A lesson as one HTML file: pictures inline, nothing loaded, readable on a phone and by ear.

Here the facts of each section are put together; `templates/lesson.html.jinja` lays them out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal, get_args

from didact import __version__
from didact.bec.classes import EquivalenceClass
from didact.inputs import choice, counted, shown_name
from didact.mdp import Demonstration, Task
from didact.mdp.naming import action_words
from didact.report.page.facts import Facts, LessonPoint, gather
from didact.report.page.halfspaces import (
    half_space_picture,
    likely_pairs,
)
from didact.report.page.neutral import neutral_world
from didact.report.page.plain import plain_words
from didact.report.page.player import Frame, box_of, frame_of, frames, player
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


def coverage_charts(
    curve: Sequence[LessonPoint], total: int
) -> tuple[dict[str, Any], dict[str, Any]]:
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
) -> dict[str, Any]:
    """Values over 0, 1, 2 ... demonstrations: a line of steps, a dot at each.

    kind: of colour. The sides of the axes are left, right, base and ceiling; ticks stand below.
    """
    n = max(len(values) - 1, 1)

    def x(i: float) -> float:
        return LEFT + i / n * (WIDTH - LEFT - RIGHT)

    def y(value: float) -> float:
        return HEIGHT - BOTTOM - value / most * (HEIGHT - TOP - BOTTOM)

    dots = tuple((x(i), y(value)) for i, value in enumerate(values))
    every = max(1, -(-len(values) // MAX_LABELS))
    start, *others = dots
    steps = "".join(f"H{number(across)}V{number(down)}" for across, down in others)
    return {
        "frame": frame,
        "title": title,
        "kind": kind,
        "left": x(0),
        "right": x(n),
        "base": y(0),
        "ceiling": y(most),
        "most": amount(most) if most > 1e-12 else "",
        "line": f"M{number(start[0])} {number(start[1])}{steps}",
        "dots": dots,
        "ticks": [(x(i), i) for i in range(0, len(values), every)],
    }


REASONS = {
    "budget": "a demonstration could show it, but not within the budget",
    "left out": "a demonstration could show it, but the teacher left it out",
    "not sampled": "a demonstration could show it, but none of those that were sampled does",
    "not reachable": "no optimal demonstration from these starts can show it",
}
MAX_DIFFERENCES = 8


def gaps(facts: Facts, scene: Scene | None) -> list[dict[str, str]]:
    """The constraints that stay open: what would show each, where, and why nothing does."""
    task = facts.task
    return [
        {
            "words": entry.words,
            "action": action_words(task, entry.action),
            "other": action_words(task, entry.other),
            "place": shown_name(state_in_words(task.mdp, entry.state, scene), 90),
            "reason": REASONS.get(entry.reason, entry.reason),
        }
        for entry in facts.lesson.uncovered
    ]


def wrong_reward(facts: Facts, scene: Scene | None) -> dict[str, Any] | None:
    """The lesson's witness where it has one: what it costs and where it would choose wrongly."""
    belief = facts.witness
    if belief is None:
        return None
    n_states = len(belief.astray)
    is_drawn = scene is not None and scene.kind == "grid"
    return {
        "weights": weights_words(facts.task.mdp, belief.weights),
        "loss": loss_words(belief),
        "n_states": n_states,
        "drawing": astray_picture(facts, belief, scene) if is_drawn and scene else None,
        "differences": list(differences(facts, belief, scene, MAX_DIFFERENCES)),
        "n_more": max(n_states - MAX_DIFFERENCES, 0),
    }


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
    told = verdict_words(facts) if plain is None else plain["title"]
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
        cards=list(_cards(facts, scene, shown)),
        charts=coverage_charts(facts.curve, len(facts.said)),
        gaps=gaps(facts, scene),
        wrong_reward=wrong_reward(facts, scene),
        half_spaces=_half_spaces(facts, pair),
        assumptions=assumptions(facts),
        code=code[:LONGEST_CODE],
        version=__version__,
    )


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


def _verdict(facts: Facts, verified: str | None) -> dict[str, Any]:
    """The verdict in a line, what supports it, and the numbers below it: value and name."""
    lesson = facts.lesson
    proof, sentence = proof_words(facts, verified)
    loss = 0.0 if lesson.is_complete else facts.curve[-1].loss
    return {
        "words": verdict_words(facts),
        "proof": proof,
        "proof_sentence": sentence,
        "is_verified": verified is not None,
        "numbers": (
            _apart(len(lesson.demonstrations), "demonstration"),
            _apart(lesson.n_pairs, "step"),
            (f"{facts.n_covered} / {len(facts.said)}", "constraints covered"),
            (amount(loss), "loss still possible" if lesson.is_complete else "loss still found"),
        ),
        "bound": bound_words(lesson, facts.bec, verified),
        "hardest": hardest_sentence(lesson),
    }


def _apart(n: int, thing: str) -> tuple[str, str]:
    """The number and what is counted, apart."""
    many, _, things = counted(n, thing).partition(" ")
    return many, things


def _cards(
    facts: Facts, scene: Scene | None, shown: Sequence[Sequence[Frame]]
) -> Iterator[dict[str, Any]]:
    """Each demonstration and what it shows: sentences, with step and moment where they have one.

    why: what it is for where it shows nothing new. example: a reward that it rules out, and what
    that would do.
    """
    for i, moments in enumerate(shown):
        n_steps = len(facts.lesson.demonstrations[i])
        said = facts.stated_first_by(i)
        telling: dict[int, str] = {}
        for entry in said:
            if entry.step is not None:
                before = telling.get(entry.step)
                telling[entry.step] = entry.words if before is None else f"{before}; {entry.words}"
        yield {
            "title": f"Demonstration {i + 1} · {counted(n_steps, 'step')}",
            "player": player(moments, scene, number=i + 1, n_steps=n_steps, telling=telling),
            "said": [
                (e.words, e.step, 0 if e.step is None else frame_of(moments, e.step)) for e in said
            ],
            "why": "" if said else facts.lesson.why(i),
            "example": example_words(facts, i, scene) if said else None,
        }


def _half_spaces(facts: Facts, pair: tuple[int, int] | None) -> dict[str, Any] | None:
    """Pictures of the rewards that still fit: one of the plane, or slices to choose from.

    None where there is nothing to draw: one feature, or nothing that is said.
    """
    bec, shown = facts.bec, facts.lesson.demonstrations
    if facts.task.mdp.n_features == 1 or not facts.said:
        return None
    witness = None if facts.witness is None else facts.witness.weights
    told: dict[str, Any] = {"words": half_space_words(facts), "plane": None, "slices": []}
    if facts.task.mdp.n_features == 2:
        return told | {"plane": half_space_picture(bec, shown, witness=witness)}
    pairs = [pair] if pair is not None else likely_pairs(bec, MAX_PAIRS)
    return told | {"slices": [half_space_picture(bec, shown, pair=each) for each in pairs]}
