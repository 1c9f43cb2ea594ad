"""Pages from templates: Python gathers facts, the templates beside this file lay them out.

Every template escapes what it is given (autoescape) and refuses what it was not given
(StrictUndefined). Only what the package itself made stands in a page as it is: style, script,
figures. Jinja is imported with the first page, so that nothing else waits for it.

A page that is opened as a file may not import ES modules. So every module is put behind those it
imports, without its `import` and `export`; what stays is one module script. A studio or a notebook
imports the same files as they are. Written for the package's own modules: imports by name from
the same folder, exports of declarations; anything else is refused, as are two modules with the same
name at their top.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from didact.inputs import counted, shown_name
from didact.report.page.scene import LONGEST_TEXT, amount, number, points

if TYPE_CHECKING:
    from jinja2 import Environment

IMPORT = re.compile(r'^import \{ (\w+(?:, \w+)*) \} from "\./([\w-]+\.js)";\n', re.MULTILINE)
DECLARED = r"(?:async )?(?:function|class|const|let) (\w+)"
EXPORT = re.compile(rf"^export (?={DECLARED})", re.MULTILINE)
TOP_NAME = re.compile(rf"^(?:export )?{DECLARED}", re.MULTILINE)
LEFT_OVER = re.compile(r"^\s*(?:import|export)\b.*|\bimport\(.*|</script.*|<!--.*", re.M | re.I)


def inlined(entry: str, read: Callable[[str], str]) -> str:
    """The modules that an entry needs, and itself, as one script; read(name): a module's text."""
    found, owner = with_imported(entry, read), dict[str, str]()
    for module, text in found.items():
        for match in TOP_NAME.finditer(text):
            other = owner.setdefault(match[1], module)
            if other != module:
                raise ValueError(f"{module}: {match[1]} is the name of something in {other} too")
    return "\n".join(_plain(name, text) for name, text in found.items())


def with_imported(entry: str, read: Callable[[str], str]) -> Mapping[str, str]:
    """The texts of the modules that an entry needs by name, each behind those it imports."""
    found: dict[str, str] = {}
    _visit(entry, read, found)
    return found


def _visit(name: str, read: Callable[[str], str], found: dict[str, str]) -> None:
    """Add a module behind those that it imports."""
    if name in found:
        return
    text = read(name)
    for match in IMPORT.finditer(text):
        _visit(match[2], read, found)
        exported = {export[1] for export in EXPORT.finditer(found[match[2]])}
        missing = set(match[1].split(", ")) - exported
        if missing:
            raise ValueError(f"{name}: {match[2]} exports no {', '.join(sorted(missing))}")
    found[name] = text


def _plain(name: str, text: str) -> str:
    """A module without imports and exports."""
    plain = EXPORT.sub("", IMPORT.sub("", text))
    left = LEFT_OVER.search(plain)
    if left:
        raise ValueError(f"{name}: cannot stand in a page: {left[0].strip()}")
    return plain


TEMPLATES, STATIC = (Path(__file__).parent / name for name in ("templates", "static"))


def render(name: str, **facts: Any) -> str:
    """The page or the piece of a page that a template makes of facts."""
    page = environment().get_template(name).render(facts)
    return page.lstrip().replace("&#34;", "&quot;").replace("&#39;", "&#x27;")


@cache
def environment() -> Environment:
    """Where templates come from and what they may use."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    made = Environment(
        autoescape=True,
        auto_reload=False,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=StrictUndefined,
        loader=FileSystemLoader(TEMPLATES),
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
