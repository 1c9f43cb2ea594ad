"""ES modules in one script: in order, whole, and only what can be put together without harm."""

import re
from pathlib import Path

import pytest

from didact.report import page
from didact.report.page.modules import inlined
from didact.report.page.templates import static_text

STATIC = Path(page.__file__).parent / "static"
MODULES = sorted(path.name for path in STATIC.glob("*.js"))


def joined(**modules: str) -> str:
    return inlined("entry.js", lambda name: modules[name.removesuffix(".js")])


def test_what_is_imported_comes_first_and_once():
    script = joined(
        entry='import { b } from "./b.js";\nimport { c, d } from "./c.js";\nb(c, d);\n',
        b='import { c } from "./c.js";\nexport function b() { return c; }\n',
        c="export const c = 1;\nexport async function d() {}\n",
    )
    assert script == (
        "const c = 1;\nasync function d() {}\n\nfunction b() { return c; }\n\nb(c, d);\n"
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('import b from "./b.js";\n', "entry.js: cannot stand in a page: import b from"),
        ('import { b as c } from "./b.js";\n', "cannot stand in a page"),
        ('import { b } from "https://example.org/b.js";\n', "cannot stand in a page"),
        ('const b = await import("./b.js");\n', "cannot stand in a page"),
        ("export default 1;\n", "cannot stand in a page: export default 1;"),
        ("export { b };\n", "cannot stand in a page"),
        ('const a = "</SCRIPT>";\n', "cannot stand in a page: </SCRIPT>"),
        ('const a = "<!-- b";\n', "cannot stand in a page"),
        ('import { c } from "./b.js";\n', "entry.js: b.js exports no c"),
        (
            'import { b } from "./b.js";\nconst hidden = 1;\n',
            "entry.js: hidden is the name of something in b.js too",
        ),
    ],
)
def test_what_cannot_be_put_together_is_refused(text, reason):
    with pytest.raises(ValueError, match=re.escape(reason)):
        joined(entry=text, b="export const b = 1;\nfunction hidden() {}\n")


@pytest.mark.parametrize("name", MODULES)
def test_the_packages_modules_can_stand_in_a_page(name):
    script = inlined(name, static_text)
    assert not re.search(r"^\s*(?:import|export)\b", script, re.MULTILINE)
    assert "http" not in script


def test_the_page_has_them_all():
    """Every line of their modules that is no import or export stands in a page's script."""
    script = "".join(inlined(entry, static_text) for entry in ("lesson.js", "frontier.js"))
    for name in ("coverage.js", "frontier.js", "halfspaces.js", "lesson.js", "player.js"):
        for line in static_text(name).splitlines():
            assert line.startswith("import ") or line.removeprefix("export ") in script
