"""What the studio lets one take home: files, a page, a picture, and code that does the same."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from string import ascii_letters, digits
from typing import Any

from didact.app.lessons import lesson_for, read_settings, teach_settings
from didact.app.painting import WALL, Ground, Painting
from didact.app.subjects import painting_in
from didact.app.teach import lesson_with
from didact.app.verify import verify
from didact.bec.classes import equivalence_class
from didact.errors import Unsupported
from didact.mdp import Family, Task
from didact.mdp.files import family_document, task_document
from didact.report.page.family import family_page
from didact.report.page.lesson import lesson_page
from didact.report.page.world import task_picture

SIGNS = ascii_letters + digits
DEFAULTS = {"cost": "demonstrations", "scope": "reachable", "horizon": None, "loss": "0%"}


def exported(subject: Task | Family, question: Mapping[str, Any]) -> dict[str, Any]:
    """Texts by name: task, lesson with its proof, page, picture where there is one, and code."""
    settings = read_settings(question.get("settings", {}))
    command = command_code(question, settings)
    if isinstance(subject, Family):
        whole_class = equivalence_class(subject, scope=settings["scope"], arithmetic="auto")
        lesson = lesson_with(subject, known=whole_class, **teach_settings(settings))
        verified = None if lesson.proof is None else verify(subject, lesson.document())
        page = family_page(subject, lesson, verified=verified)
        whole, picture = family_document(subject), None
    else:
        known, lesson = lesson_for(subject, settings)
        verified = None if lesson.proof is None else verify(subject, lesson.document())
        page = lesson_page(subject, lesson, known=known, verified=verified, command=command)
        whole = task_document(subject)
        picture = None
        if subject.layout is not None:
            colours = [each.colour for each in _painted(question)]
            picture = task_picture(subject, known.plan, colours=colours)
    return {
        "task": json.dumps(whole, ensure_ascii=False),
        "lesson": json.dumps(lesson.document(), ensure_ascii=False),
        "page": page,
        "picture": picture,
        "python": python_code(question, settings),
        "command": command,
    }


def _painted(question: Mapping[str, Any]) -> Sequence[Ground]:
    """The kinds of ground of a painting; none of other worlds."""
    return painting_in(question).features if "painting" in question else ()


def python_code(question: Mapping[str, Any], settings: Mapping[str, Any]) -> str:
    """Python that makes the same world and the same lesson."""
    if "painting" in question:
        made = f"task = {_gridworld(painting_in(question))}"
    elif "world" in question:
        options = dict(question.get("parameters", {}))
        made = f"task = didact.make({_call([repr(question['world'])], options)})"
    else:
        made = 'task = didact.load_task("task.json")'
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
        words += [f"--{name}", str(value)]
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
