"""ES modules in one script: a page that loads nothing carries them inside.

A page that is opened as a file may not import others. So every module is put behind those it
imports, without its `import` and `export`; what stays is one module script. A studio or a notebook
imports the same files as they are. Written for the package's own modules: imports by name from
the same folder, exports of declarations; anything else is refused, as are two modules with the same
name at their top.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

IMPORT = re.compile(r'^import \{ (\w+(?:, \w+)*) \} from "\./([\w-]+\.js)";\n', re.MULTILINE)
DECLARED = r"(?:async )?(?:function|class|const|let) (\w+)"
EXPORT = re.compile(rf"^export (?={DECLARED})", re.MULTILINE)
TOP_NAME = re.compile(rf"^(?:export )?{DECLARED}", re.MULTILINE)
LEFT_OVER = re.compile(r"^\s*(?:import|export)\b.*|\bimport\(.*|</script.*|<!--.*", re.M | re.I)


def inlined(entry: str, read: Callable[[str], str]) -> str:
    """The modules that an entry needs, and itself, as one script; read(name): a module's text."""
    found = with_imported(entry, read)
    _require_different_names(found)
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
        missing = set(match[1].split(", ")) - _exported(found[match[2]])
        if missing:
            raise ValueError(f"{name}: {match[2]} exports no {', '.join(sorted(missing))}")
    found[name] = text


def _exported(text: str) -> set[str]:
    return {match[1] for match in EXPORT.finditer(text)}


def _require_different_names(found: Mapping[str, str]) -> None:
    owner: dict[str, str] = {}
    for module, text in found.items():
        for match in TOP_NAME.finditer(text):
            other = owner.setdefault(match[1], module)
            if other != module:
                raise ValueError(f"{module}: {match[1]} is the name of something in {other} too")


def _plain(name: str, text: str) -> str:
    """A module without imports and exports."""
    plain = EXPORT.sub("", IMPORT.sub("", text))
    left = LEFT_OVER.search(plain)
    if left:
        raise ValueError(f"{name}: cannot stand in a page: {left[0].strip()}")
    return plain
