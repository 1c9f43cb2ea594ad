"""Pages from templates: Python gathers facts, the templates beside this file lay them out.

Every template escapes what it is given (autoescape) and refuses what it was not given
(StrictUndefined). Only what the package itself made stands in a page as it is: style, script,
figures. Jinja is imported with the first page, so that nothing else waits for it.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from didact.inputs import counted, shown_name
from didact.report.page.modules import inlined
from didact.report.page.svg import LONGEST_TEXT, amount, number, points

if TYPE_CHECKING:
    from jinja2 import Environment

HERE = Path(__file__).parent
TEMPLATES, STATIC = HERE / "templates", HERE / "static"
OPTIONS: dict[str, Any] = {
    "autoescape": True,
    "auto_reload": False,
    "trim_blocks": True,
    "lstrip_blocks": True,
    "keep_trailing_newline": True,
}


def render(name: str, **facts: Any) -> str:
    """The page or the piece of a page that a template makes of facts."""
    page = environment().get_template(name).render(facts)
    return page.lstrip().replace("&#34;", "&quot;").replace("&#39;", "&#x27;")


@cache
def environment() -> Environment:
    """Where templates come from and what they may use."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    from didact.report.page.bytecode import PythonCache

    made = Environment(
        **OPTIONS,
        undefined=StrictUndefined,
        loader=FileSystemLoader(TEMPLATES),
        bytecode_cache=PythonCache(os.fspath(HERE), repr(OPTIONS)),
    )
    made.filters |= {"amount": amount, "line": _line, "number": number, "points": points}
    made.globals |= {"counted": counted, "script": _script, "style": _style}
    return made


def _line(text: Any, longest: int = LONGEST_TEXT) -> str:
    """One line of printable signs, cut where it is too long."""
    return shown_name(str(text), longest)


def static_text(name: str) -> str:
    """A style sheet or a module of the package."""
    return (STATIC / name).read_text(encoding="utf-8")


def as_it_is(markup: str) -> Any:
    """Markup that the package itself made, style or script: it stands in a page unescaped."""
    from markupsafe import Markup

    return Markup(markup)


@cache
def _style(name: str) -> Any:
    return as_it_is(static_text(name))


@cache
def _script(name: str) -> Any:
    """A module and all that it imports as one script."""
    return as_it_is(inlined(name, static_text))
