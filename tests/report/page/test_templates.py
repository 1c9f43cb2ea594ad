"""Templates and modules of pages: nothing unescaped, nothing loaded, nothing left over."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from jinja2 import Environment, UndefinedError, nodes

from didact.report import page
from didact.report.page.templates import environment, inlined, render, static_text
from tests.report.drawn import HOSTILE

FOLDER = Path(page.__file__).parent / "templates"
NAMES = sorted(path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*.jinja"))


def test_all_templates_are_found():
    assert environment().list_templates() == NAMES
    assert "lesson.html.jinja" in NAMES


@pytest.mark.parametrize("name", NAMES)
def test_templates_escape_everything(name):
    """On for the environment, and no template switches it off or calls a text safe."""
    template = environment().get_template(name)
    assert template.environment.autoescape is True
    assert template.environment.undefined.__name__ == "StrictUndefined"
    tree = environment().parse((FOLDER / name).read_text(encoding="utf-8"))
    assert not list(tree.find_all((nodes.EvalContextModifier, nodes.MarkSafe)))
    assert "safe" not in [each.name for each in tree.find_all(nodes.Filter)]


def test_a_template_without_escaping_is_noticed(monkeypatch):
    """The test above sees the switch, the filter and another environment."""
    for text in ("{% autoescape false %}{{ x }}{% endautoescape %}", "{{ x|safe }}"):
        tree = environment().parse(text)
        unsafe = [each.name for each in tree.find_all(nodes.Filter)] == ["safe"]
        assert unsafe or list(tree.find_all(nodes.EvalContextModifier))
    assert Environment().autoescape is not True


def test_names_are_text_in_elements_and_in_attributes():
    made = environment().from_string('<p title="{{ x }}">{{ x }}</p>{{ x|line(30) }}')
    text = made.render(x=HOSTILE)
    assert "<script" not in text
    assert "<img" not in text
    assert text.count('"') == 2


def test_only_the_packages_own_style_and_script_stand_as_they_are():
    assert environment().from_string('{{ style("page.css") }}').render().startswith(":root {")
    script = environment().from_string('{{ script("lesson.js") }}').render()
    assert "=>" in script


def test_nothing_else_is_called_markup():
    """One place in the package takes text out of the escaping, and who asks it is known."""
    package = Path(page.__file__).parents[2]
    users = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if re.search(r"\bMarkup\(|\bas_it_is\(", path.read_text(encoding="utf-8"))
    }
    assert users == {"report/page/templates.py", "report/studies.py"}


def test_what_is_missing_is_refused():
    with pytest.raises(UndefinedError):
        environment().from_string("{{ nothing }}").render()
    with pytest.raises(UndefinedError):
        render("frame.html.jinja", title="x", page="y", sandbox="")


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ("a\n<b>\x00'\"", "a &lt;b&gt; &#x27;&quot;"),
        ("\u202egnp.exe \u2028 \x1b[31m", " gnp.exe    [31m"),
        ("x" * 1000, "x" * 399 + "…"),
        (12, "12"),
    ],
)
def test_texts_are_one_safe_line(given, line):
    made = environment().from_string("{{ given|line }}").render(given=given)
    assert made.replace("&#34;", "&quot;").replace("&#39;", "&#x27;") == line


def test_a_page_in_a_frame_cannot_leave_it():
    frame = render("frame.html.jinja", title=HOSTILE, page=HOSTILE, sandbox="", height=1)
    assert frame.count("<") == 2
    assert frame.count('"') == 2 * 4


def test_jinja_waits_for_the_first_page():
    code = (
        "import sys, didact.cli.explain, didact.report.page.lesson\n"
        "from didact.cli import main\n"
        "try:\n    main(['explain', '--help'])\n"
        "except SystemExit:\n    assert 'jinja2' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)


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
