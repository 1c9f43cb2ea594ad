"""The reference of the Python names, from their docstrings: `python docs/generate_api.py`.

Names are those of `didact.__all__`, by the package they come from, and of `didact.plots`,
`didact.studies` and `didact.paper`; a test compares the file with them.
A docstring says the result, then has a line `name: what it is` for each parameter at the left
margin (lines that go on are indented). What follows a line `Options of birl, draws from the
posterior:` are options of that learner, teacher or strategy.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import didact
from didact import paper, plots, studies

PAGE = Path(__file__).with_name("api.md")
INTRODUCTION = """\
# The Python names

This page is generated from docstrings; write it anew with `python docs/generate_api.py`. The same
text is shown by `help(didact.teach)`. S states, A actions, k features. Numbers are read exactly:
0.1 is one tenth.
"""
TITLES = {
    "didact.mdp": "Models, tasks and demonstrations",
    "didact.worlds": "Worlds",
    "didact.planning": "Planning",
    "didact.bec": "Classes of rewards, and proofs",
    "didact.teaching": "Teaching",
    "didact.learners": "Learning",
    "didact.active": "Asking",
    "didact.auditing": "Exams and audits",
    "didact.studies": "Studies",
    "didact.errors": "Errors",
}
MODULES = {
    plots: "Figures: didact.plots",
    studies: "Own studies: didact.studies",
    paper: "The paper: didact.paper",
}
"""Modules whose names are not in `didact` itself."""
WIDTH = 88
ENTRY = re.compile(r"(\w+): (.*)")
OPTIONS = re.compile(r"Options of ([\w-]+(?:(?:, | and )[\w-]+)*)[,:]")
SHARED = re.compile(r"those of ([\w-]+)(?: except (\w+))?, and:$")


@dataclass
class Part:
    """A part of a docstring: text, or what it says of parameters, below a heading if options."""

    text: str = ""
    heading: str = ""
    entries: dict[str, str] = field(default_factory=dict)


# --- reading docstrings --------------------------------------------------------------------------


def parts_of(value: Any) -> list[Part]:
    """The docstring of a function or class in parts; the first has its first line."""
    names = parameters_of(value)
    parts: list[Part] = []
    heading = ""
    for paragraph in re.split(r"\n\n+", inspect.getdoc(value) or ""):
        lines = paragraph.split("\n")
        entry = ENTRY.match(lines[0])
        if OPTIONS.match(paragraph):
            heading = " ".join(lines)
            parts.append(Part(heading=heading))
        elif entry and heading:
            parts[-1].entries = _entries(lines)
        elif entry and entry[1] in names:
            parts.append(Part(entries=_entries(lines)))
        else:
            parts.append(Part(text=paragraph))
    return parts


def _entries(lines: Iterable[str]) -> dict[str, str]:
    entries: dict[str, str] = {}
    for line in lines:
        found = ENTRY.match(line)
        if found:
            entries[found[1]] = found[2]
        else:
            entries[next(reversed(entries))] += " " + line.strip()
    return entries


def parameters_of(value: Any) -> dict[str, inspect.Parameter]:
    """The parameters that a caller gives, by name."""
    if inspect.isclass(value) and issubclass(value, BaseException):
        return {}
    found = inspect.signature(value).parameters.values()
    return {p.name: p for p in found if p.name not in ("self", "cls") and p.name[0] != "_"}


def described(value: Any) -> set[str]:
    """The parameters that the docstring has a line for."""
    return {name for part in parts_of(value) if not part.heading for name in part.entries}


def options_in(value: Any) -> dict[str, set[str]]:
    """The options that a docstring lists, by whose they are."""
    found: dict[str, set[str]] = {}
    for part in parts_of(value):
        if owners := OPTIONS.match(part.heading):
            shared = SHARED.search(part.heading)
            names = {*part.entries, *(found[shared[1]] - {shared[2]} if shared else ())}
            found |= dict.fromkeys(re.split(r", | and ", owners[1]), names)
    return found


def members_of(value: type) -> dict[str, tuple[Any, bool]]:
    """The function of every property and method of a class, and whether it is called."""
    found = {}
    bases = (base for base in reversed(value.__mro__) if base.__module__.startswith("didact."))
    for name, member in ((n, m) for base in bases for n, m in vars(base).items()):
        wrapped = [getattr(member, place, None) for place in ("fget", "func", "__func__")]
        function = next((w for w in wrapped if w is not None), member)
        if name[0] != "_" and inspect.isfunction(function):
            called = inspect.isfunction(member) or isinstance(member, classmethod | staticmethod)
            found[name] = (function, called)
    return found


# --- writing the page ----------------------------------------------------------------------------


def api_reference() -> str:
    """The text of docs/api.md."""
    sections = [INTRODUCTION]
    for room, title in TITLES.items():
        names = [name for name in didact.__all__ if _package(didact._ROOM_OF[name]) == room]
        sections += [f"## {title}\n", *(_section(f"didact.{name}") for name in names)]
    for module, title in MODULES.items():
        names = [name for name in module.__all__ if name not in didact.__all__]
        sections += [f"## {title}\n", *(_section(f"{module.__name__}.{name}") for name in names)]
    return "\n".join(sections)


def _package(module: str) -> str:
    """'didact.learners' of 'didact.learners.chains.birl'."""
    return ".".join(module.split(".")[:2])


def _section(place: str) -> str:
    room, _, name = place.rpartition(".")
    value = getattr(import_module(room), name)
    kind = "class" if inspect.isclass(value) else "function"
    title = place.removeprefix("didact.")
    call = " ".join(_call(place, value).split())  # a directive takes one line; Sphinx folds it
    lines = [f"### {title}", "", f"```{{py:{kind}}} {call}", "```", ""]
    for part in parts_of(value):
        lines += [*_written(part), ""]
    members = [*_members(value)] if kind == "class" else []
    lines += ["It has:", "", *members, ""] if members else []
    return "\n".join(lines)


def _call(name: str, value: Any) -> str:
    """The call with names and defaults, folded where it is long."""
    words = [*_words(value)]
    lines = [f"{name}("]
    for number, word in enumerate(words, 1):
        piece = f"{word}, " if number < len(words) else word
        if len(lines[-1] + piece) > WIDTH:
            lines.append("    ")
        lines[-1] += piece
    return "\n".join(line.rstrip() for line in lines) + ")"


def _words(value: Any) -> Iterator[str]:
    marks = {inspect.Parameter.VAR_KEYWORD: "**", inspect.Parameter.VAR_POSITIONAL: "*"}
    named_only = False
    for name, parameter in parameters_of(value).items():
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and not named_only:
            named_only = True
            yield "*"
        given = parameter.default is not inspect.Parameter.empty
        value = parameter.default
        text = value.__name__ if inspect.isfunction(value) else repr(value)
        text = "..." if type(value) is object else text  # no address in memory
        default = f"={text}" if given else ""
        yield marks.get(parameter.kind, "") + name + default


def _written(part: Part) -> Iterator[str]:
    if part.heading:
        yield f"**{_escaped(part.heading)}**"
        yield ""
    if part.text.startswith(">>>"):
        yield f"```pycon\n{part.text}\n```"
    elif part.text:
        yield _escaped(part.text)
    yield from (f"- `{name}`: {_escaped(text)}" for name, text in part.entries.items())


def _members(value: type) -> Iterator[str]:
    """Properties and methods, one line each; below a method a line for each parameter."""
    for name, (function, called) in members_of(value).items():
        first, *others = parts_of(function)
        call = " ".join(_call(f".{name}", function).split()) if called else f".{name}"
        yield f"- `{call}`: {_escaped(' '.join(first.text.split()))}"
        for part in others:
            yield from (f"  - `{name}`: {_escaped(text)}" for name, text in part.entries.items())


def _escaped(text: str) -> str:
    """Text in which Markdown sees nothing but code between backticks; public names are links."""
    pieces = re.split(r"(`[^`]*`)", text)
    return "".join(_linked(p) if p[:1] == "`" else re.sub(r"([*<|])", r"\\\1", p) for p in pieces)


def _linked(code: str) -> str:
    """A link to the section of a public name, other code as it is."""
    name = code.strip("`").removeprefix("didact.")
    return f"{{py:obj}}`{name} <didact.{name}>`" if name in didact.__all__ else code


if __name__ == "__main__":
    PAGE.write_text(api_reference(), encoding="utf-8")
