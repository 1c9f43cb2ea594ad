"""A lesson as the studio shows it: the verdict, its parts, and what the checker says of it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from string import ascii_letters, digits
from typing import Any

import numpy as np

from didact.bec.classes import EquivalenceClass, equivalence_class
from didact.bec.cone import WeightBound, weight_bounds
from didact.bec.halfspaces import Scope, demonstrated_pairs
from didact.errors import InvalidParameter, Unsupported
from didact.inputs import choice, counted, flag, shown, whole_number
from didact.mdp import Demonstration, Family, Task
from didact.mdp.files import family_document, task_document
from didact.mdp.naming import action_words
from didact.mdp.task import is_grid
from didact.planning import Plan, rollout, solve
from didact.report.page.facts import gather
from didact.report.page.family import family_page, frontier_page
from didact.report.page.halfspaces import half_spaces_drawn, likely_pairs
from didact.report.page.lesson import lesson_page, lesson_piece
from didact.report.page.scene import amount, scene_of, state_in_words
from didact.report.page.words import proof_words, verdict_words, weights_words
from didact.report.page.world import feature_label, task_drawn, task_picture
from didact.report.page.writing import EXACT_UP_TO
from didact.report.words.lessons import status_words
from didact.stages import stage
from didact.studio.worlds import WALL, Painting, painting_in
from didact.teaching import Lesson, check, frontier, teach, teach_within
from didact.teaching.lesson import FEWEST, verified_lesson

TEACHERS = ("exact", "scot")
COSTS = ("demonstrations", "pairs")
SCOPES = ("reachable", "all")
LOSSES = ("0%", "1%", "5%", "10%", "20%")
"""What a learner may lose after a lesson that is good enough; 0%: nothing is left open."""
LOSS_TIME = 20.0
"""Seconds to look for such a lesson."""
SETTINGS = {"teacher", "cost", "scope", "horizon", "loss", "trim"}


def read_settings(given: Any) -> dict[str, Any]:
    """Settings of `teach` that a page may choose, checked."""
    if not isinstance(given, dict) or not {*given} <= SETTINGS:
        raise InvalidParameter(
            f"settings must be a table of {', '.join(sorted(SETTINGS))}; it is {shown(given)}"
        )
    horizon = given.get("horizon")
    return {
        "teacher": choice(given.get("teacher", TEACHERS[0]), "teacher", TEACHERS),
        "cost": choice(given.get("cost", "demonstrations"), "cost", COSTS),
        "scope": choice(given.get("scope", "reachable"), "scope", SCOPES),
        "horizon": None if horizon is None else whole_number(horizon, "horizon", 1, 1000),
        "loss": choice(given.get("loss", "0%"), "loss", LOSSES),
        "trim": flag(given.get("trim", False), "trim"),  # people are shown whole walks
    }


def lesson_with(
    subject: Task | Family, bec: EquivalenceClass, settings: Mapping[str, Any]
) -> Lesson:
    """The lesson of `teach`, or of `teach_within` where something may be lost.

    Whole walks that go round in circles up to the horizon are cut: they have no end to show.
    """
    rest = {name: settings[name] for name in ("teacher", "cost", "horizon", "trim")}
    if settings["loss"] == LOSSES[0]:
        lesson = teach(subject, bec=bec, **rest)
    else:
        lesson = teach_within(subject, settings["loss"], bec=bec, time_limit=LOSS_TIME, **rest)
    if settings["trim"] or all(len({*shown}) == len(shown) for shown in lesson.demonstrations):
        return lesson
    return lesson_with(subject, bec, {**settings, "trim": True})


@lru_cache(maxsize=1)  # the cone and the games ask about one task again and again
def class_for(task: Task, scope: Scope) -> EquivalenceClass:
    """The class of a task; exact while that does not take long."""
    exact = task.mdp.n_states * task.mdp.n_features <= EXACT_UP_TO
    return equivalence_class(task, scope=scope, arithmetic="exact" if exact else "float")


def lesson_for(task: Task, settings: Mapping[str, Any]) -> tuple[EquivalenceClass, Lesson]:
    """The class of a task and a lesson for it."""
    bec = class_for(task, settings["scope"])
    return bec, lesson_with(task, bec, settings)


def taught(subject: Task | Family, question: Mapping[str, Any]) -> dict[str, Any]:
    """The verdict in words and numbers, the lesson's parts as HTML, and its document."""
    settings = read_settings(question.get("settings", {}))
    if isinstance(subject, Family):
        return _family_taught(subject, settings)
    bec, lesson = lesson_for(subject, settings)
    verified = verified_lesson(subject, lesson)
    facts = gather(subject, lesson, bec)
    proof, sentence = proof_words(facts, verified)
    return {
        **_lesson_facts(lesson, verified),
        "words": verdict_words(facts),
        "proof": proof,
        "proof_sentence": sentence,
        "numbers": [
            *_sizes(lesson),
            f"{facts.n_covered} of {counted(len(facts.said), 'constraint')}",
        ],
        "loss_bound": lesson.loss_bound,
        "loss_status": lesson.loss_status,
        "html": lesson_piece(facts, verified=verified),
    }


def frontier_of(subject: Task | Family, question: Mapping[str, Any]) -> dict[str, Any]:
    """What more demonstrations are worth: the cheapest lessons within bounds of loss, as HTML."""
    if isinstance(subject, Family):
        raise Unsupported("a frontier is of one world; open a member of the family alone")
    settings = read_settings(question.get("settings", {}))
    bec = class_for(subject, settings["scope"])
    rest = {name: settings[name] for name in ("teacher", "cost", "horizon")}
    found = frontier(
        subject,
        bec=bec,
        time_limit=LOSS_TIME,
        progress=lambda loss: stage(f"a lesson after which {loss} may be lost"),
        **rest,
    )
    return {"html": frontier_page(found, layout="piece.html.jinja"), "points": found.to_records()}


def _lesson_facts(lesson: Lesson, verified: str | None) -> dict[str, Any]:
    """What is told of every lesson, for a task or a family."""
    return {
        "status": lesson.status,
        "is_complete": lesson.is_complete,
        "verified": verified,
        "is_fewest": FEWEST in (verified or ""),
        "demonstrations": [[list(pair) for pair in shown] for shown in lesson.demonstrations],
    }


def _sizes(lesson: Lesson) -> list[str]:
    return [counted(len(lesson.demonstrations), "demonstration"), counted(lesson.n_pairs, "step")]


def _family_taught(family: Family, settings: Mapping[str, Any]) -> dict[str, Any]:
    bec = equivalence_class(family, scope=settings["scope"], arithmetic="auto")
    lesson = lesson_with(family, bec, settings)
    verified = verified_lesson(family, lesson)
    pieces = family_page(family, lesson, bec=bec, verified=verified, layout="piece.html.jinja")
    return {
        **_lesson_facts(lesson, verified),
        "words": f"{_sizes(lesson)[0]}: {status_words(lesson)}.",
        "proof": "Numerical, not proved" if lesson.proof is None else "Proof verified",
        "proof_sentence": verified or "",
        "numbers": [counted(len(family.members), "world"), *_sizes(lesson)],
        "html": pieces,
    }


MAX_SHOWN, MAX_STEPS = 60, 2_000
"""Demonstrations that a page may send, and their steps in all."""
MAX_NORMALS = 400
"""Half-spaces of three weights that are drawn on a sphere."""


def as_task(subject: Task | Family) -> Task:
    """The task; families have no one picture."""
    if isinstance(subject, Family):
        raise Unsupported("this view is of one world; open a member of the family alone")
    return subject


def read_demonstrations(given: Any, task: Task) -> list[Demonstration]:
    """Demonstrations as lists of [state, action], each a state and an action of the task."""
    if not isinstance(given, list) or len(given) > MAX_SHOWN:
        raise InvalidParameter(
            f"demonstrations must be a list of at most {MAX_SHOWN}; it is {shown(given)}"
        )
    steps = sum(len(each) for each in given if isinstance(each, list))
    if steps > MAX_STEPS or not all(isinstance(each, list) and each for each in given):
        raise InvalidParameter(
            f"demonstrations must be lists of [state, action], {MAX_STEPS} in all; it is "
            f"{shown(given)}"
        )
    return [Demonstration([_pair(pair, task) for pair in each]) for each in given]


def _pair(pair: Any, task: Task) -> tuple[int, int]:
    if not isinstance(pair, list) or len(pair) != 2:
        raise InvalidParameter(f"a step must be [state, action]; it is {shown(pair)}")
    state = whole_number(pair[0], "state", 0, task.mdp.n_states - 1)
    return state, whole_number(pair[1], "action", 0, task.mdp.n_actions - 1)


def fitted(subject: Task | Family, question: Mapping[str, Any]) -> dict[str, Any]:
    """What the demonstrations of a question leave open, in words, numbers and pictures."""
    task = as_task(subject)
    bec = class_for(task, read_settings(question.get("settings", {}))["scope"])
    given = read_demonstrations(question.get("demonstrations"), task)
    verdict = check(task, given, bec=bec)
    right = [segment.shown for segment in verdict.segments]
    n_said = verdict.n_facets + verdict.n_equalities
    return {
        "teaches": verdict.teaches,
        "n_said": n_said,
        "n_open": verdict.n_open,
        "missing": verdict.missing_words,
        "wrong": [wrong.to_dict() for wrong in verdict.wrong],
        "loss": verdict.loss,
        "proof": None if verdict.proof is None else "proved",
        "believer": _believer(task, verdict.witness),
        **_cone(bec, right, verdict.witness, question),
    }


def _believer(task: Task, witness: Sequence[Fraction] | None) -> dict[str, Any] | None:
    """A learner that still fits and is wrong: its reward in words, and what it would do."""
    if witness is None:
        return None
    plan = solve(task.mdp, list(witness), arithmetic="float")
    true = solve(task.mdp, task.true_weights, arithmetic="float")
    astray = (plan.optimal & ~true.optimal).any(axis=1)
    return {
        "words": weights_words(task.mdp, witness),
        "n_astray": int(astray.sum()),
        "choice": _astray_words(task, plan, true, int(astray.argmax())),
        "picture": _believed(task, plan, int(astray.argmax())),
    }


def _astray_words(task: Task, plan: Plan, true: Plan, state: int) -> str:
    """What a believer takes for best in a state, and what is best there."""
    believed, best = (
        " or ".join(action_words(task, action) for action in each.optimal_actions(state))
        for each in (plan, true)
    )
    place = state_in_words(task.mdp, state, scene_of(task, plan))
    return f"In {place}, it would choose {believed}; best is {best}."


def _believed(task: Task, plan: Plan, state: int) -> str | None:
    """What a believer would do, drawn where it goes wrong first; None without a picture."""
    if is_grid(task):
        return task_drawn(task, plan)[0]
    from didact.studio.boards import situation_picture

    return situation_picture(task, plan, state)


def _cone(
    bec: EquivalenceClass,
    right: Sequence[Demonstration],
    witness: Sequence[Fraction] | None,
    question: Mapping[str, Any],
) -> dict[str, Any]:
    """The rewards that fit: a picture of two weights, bounds of all, half-spaces of three."""
    mdp = bec.task.mdp
    k = mdp.n_features
    pair, unit = _chosen(bec, question)
    rows = bec.rows
    stated = rows.stated_by(demonstrated_pairs(mdp, right)).tolist() if right else []
    picture = None
    if k > 1:
        picture = half_spaces_drawn(bec, right, pair=pair, witness=witness)
    bounds = None
    if unit is not None and k > 1 and rows.exact is not None:
        sign = 1 if bec.task.weights[unit] > 0 else -1
        exact = [rows.exact[row] for row in stated]
        bounds = [_bar(*ends) for ends in weight_bounds(exact, k, unit, sign)]
    return {
        "names": [mdp.feature_name(i) for i in range(k)],
        "labels": [feature_label(bec.task, i) for i in range(k)],
        "weights": bec.task.weights.tolist(),
        "pair": pair,
        "unit": unit,
        "bounds": bounds,
        "picture": picture,
        "normals": rows.normals[stated][:MAX_NORMALS].tolist() if k == 3 else None,
    }


def _chosen(
    bec: EquivalenceClass, question: Mapping[str, Any]
) -> tuple[tuple[int, int] | None, int | None]:
    """The two weights of the picture, and the weight that is the unit; None where none can be."""
    k, weights = bec.task.mdp.n_features, bec.task.weights
    unit = question.get("unit")
    if unit is not None and weights[whole_number(unit, "unit", 0, k - 1)] == 0:
        raise InvalidParameter("the unit must be a feature whose weight is not 0; take another")
    if unit is None:
        unit = int(np.argmax(np.abs(weights))) if np.any(weights) else None
    pair = question.get("pair")
    if pair is None:
        return likely_pairs(bec, 1)[0] if k > 2 else None, unit
    if not isinstance(pair, list) or len(pair) != 2 or pair[0] == pair[1]:
        raise InvalidParameter(f"pair must be two different features; it is {shown(pair)}")
    first, second = (whole_number(entry, "pair", 0, k - 1) for entry in pair)
    return (first, second), unit


def _bar(low: WeightBound, high: WeightBound) -> dict[str, Any]:
    """A bar: its ends as floats (None without end), as text, and whether both are proved."""
    return {
        "low": None if low.value is None else float(low.value),
        "high": None if high.value is None else float(high.value),
        "words": f"{_told(low)} to {_told(high)}",
        "proved": low.is_proved and high.is_proved,
    }


def _told(bound: WeightBound) -> str:
    if bound.value is None:
        return "any"
    if isinstance(bound.value, Fraction) and bound.value.denominator < 100:
        return str(bound.value)
    return amount(float(bound.value))


def rolled(subject: Task | Family, question: Mapping[str, Any]) -> dict[str, Any]:
    """A demonstration that a teacher can give: what is best from a state on, so many steps."""
    task = as_task(subject)
    state = whole_number(question.get("state"), "state", 0, task.mdp.n_states - 1)
    length = whole_number(question.get("length", 1), "length", 1, 200)
    if task.mdp.terminal[state]:
        raise InvalidParameter("a demonstration must start where the episode does not end")
    plan = solve(task.mdp, task.true_weights)
    best = plan.optimal.argmax(axis=1)
    found = rollout(task.mdp, best, horizon=length, seed=np.random.default_rng(0), start=state)
    begins = state_in_words(task.mdp, state, scene_of(task, plan))
    words = f"{counted(len(found), 'step')} from {begins}"
    return {"demonstration": [list(pair) for pair in found], "words": words}


SIGNS = ascii_letters + digits
DEFAULTS = {
    "cost": "demonstrations",
    "scope": "reachable",
    "horizon": None,
    "loss": "0%",
    "trim": True,
}
"""Of the library and the command line, so that code and command need not say them."""


def exported(subject: Task | Family, question: Mapping[str, Any]) -> dict[str, Any]:
    """Texts by name: task, lesson with its proof, page, picture where there is one, and code."""
    settings = read_settings(question.get("settings", {}))
    picture = None
    if isinstance(subject, Family):
        bec = equivalence_class(subject, scope=settings["scope"], arithmetic="auto")
        lesson = lesson_with(subject, bec, settings)
    else:
        bec, lesson = lesson_for(subject, settings)
    settings["trim"] = lesson.settings["trim"]
    command, verified = command_code(question, settings), verified_lesson(subject, lesson)
    if isinstance(subject, Family):
        page, whole = family_page(subject, lesson, verified=verified), family_document(subject)
    else:
        page = lesson_page(subject, lesson, bec=bec, verified=verified, command=command)
        whole = task_document(subject)
        if is_grid(subject):
            painted = painting_in(question).features if "painting" in question else ()
            colours = [each.colour for each in painted]
            picture = task_picture(subject, bec.plan, colours=colours)
    return {
        "task": json.dumps(whole, ensure_ascii=False),
        "lesson": json.dumps(lesson.document(), ensure_ascii=False),
        "page": page,
        "picture": picture,
        "python": python_code(question, settings),
        "command": command,
    }


def python_code(question: Mapping[str, Any], settings: Mapping[str, Any]) -> str:
    """Python that makes the same world and the same lesson."""
    if "painting" in question:
        made = f"task = {_gridworld(painting_in(question))}"
    elif "world" in question:
        options = dict(question.get("parameters", {}))
        made = f"task = didact.make({_call([repr(question['world'])], options)})"
    else:
        is_family = str(question["task"].get("format", "")).startswith("didact.family")
        made = f'task = didact.load_{"family" if is_family else "task"}("task.json")'
    wish = _call(["task"], {"teacher": settings["teacher"], **_changed(settings)})
    call = "teach_within" if "loss" in _changed(settings) else "teach"
    return f"import didact\n\n{made}\nlesson = didact.{call}({wish})\nprint(lesson)\n"


def command_code(question: Mapping[str, Any], settings: Mapping[str, Any]) -> str:
    """The command that makes the same lesson; a painted world comes from its file."""
    words = ["didact", "teach"]
    if "world" in question:
        words.append(question["world"])
        for name, value in question.get("parameters", {}).items():
            words += ["-p", f"{name}={value}"]
    else:
        words.append("task.json")
    words += ["--teacher", settings["teacher"]]
    for name, value in _changed(settings).items():
        words += ["--no-trim"] if name == "trim" else [f"--{name}", str(value)]
    return shlex.join([*words, "--out", "lesson.json"])


def _changed(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {name: settings[name] for name in DEFAULTS if settings[name] != DEFAULTS[name]}


def _call(first: list[str], options: Mapping[str, Any]) -> str:
    return ", ".join([*first, *(f"{name}={_written(value)}" for name, value in options.items())])


def _written(value: Any) -> str:
    """A value as Python writes it; exact numbers stay texts."""
    return repr(value) if isinstance(value, bool | int | str) or value is None else repr(str(value))


def _gridworld(painting: Painting) -> str:
    """A call of `gridworld`: a letter for each kind of ground, end and start that goes together."""
    letters: dict[tuple[str, bool, bool], str] = {}
    rows = []
    for number, row in enumerate(painting.rows):
        signs = []
        for column, sign in enumerate(row):
            cell = number * painting.n_columns + column
            kind = (sign, cell in painting.ends, cell in painting.starts)
            if sign != WALL and kind not in letters:
                if len(letters) == len(SIGNS):
                    raise Unsupported("this world has more kinds of cells than there are letters")
                letters[kind] = SIGNS[len(letters)]
            signs.append(sign if sign == WALL else letters[kind])
        rows.append("".join(signs))
    used = sorted(letters, key=lambda kind: (kind[0], kind[1:]))
    ground = {letters[kind]: painting.features[ord(kind[0]) - ord("a")] for kind in used}
    options: dict[str, str] = {
        "names": repr({letter: each.name for letter, each in ground.items()}),
        "terminal": repr("".join(letters[kind] for kind in used if kind[1])),
        "start": repr("".join(letters[kind] for kind in used if kind[2]) or None),
        "slip": repr(painting.slip),
        "discount": repr(painting.discount),
        "name": repr(painting.name),
    }
    lines = [
        f"    {rows!r},",
        f"    { ({letter: each.weight for letter, each in ground.items()})!r},",
        *(f"    {name}={value}," for name, value in options.items()),
    ]
    return "didact.gridworld(\n" + "\n".join(lines) + "\n)"
