"""Compiled templates: the same page from a kept one, and nothing kept is trusted by its name."""

import importlib.util
import marshal
import sys

import pytest
from jinja2 import DictLoader, Environment, TemplateSyntaxError

from didact.report.page.bytecode import PythonCache


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    return tmp_path


def rendered(folder, text="<p>{{ x }}</p>", *, options="a", autoescape=True) -> str:
    made = Environment(
        loader=DictLoader({"t": text}),
        autoescape=autoescape,
        bytecode_cache=PythonCache(str(folder), options),
    )
    return made.get_template("t").render(x="<b>")


def kept(folder):
    return list(folder.rglob("*.pyc"))


def test_a_template_is_compiled_once(folder, monkeypatch):
    first = rendered(folder)
    [path] = kept(folder)
    assert path.parent.name == "__pycache__"
    assert sys.implementation.cache_tag in path.name
    with monkeypatch.context() as patched:
        patched.setattr(Environment, "compile", None)
        assert rendered(folder) == first == "<p>&lt;b&gt;</p>"


def test_another_text_or_other_options_are_compiled_again(folder):
    rendered(folder)
    assert rendered(folder, "<i>{{ x }}</i>") == "<i>&lt;b&gt;</i>"
    assert rendered(folder, "<i>{{ x }}</i>", options="b", autoescape=False) == "<i><b></i>"
    assert rendered(folder, "<i>{{ x }}</i>", options="a") == "<i>&lt;b&gt;</i>"


@pytest.mark.parametrize(
    "harm", [lambda _: b"", lambda whole: whole[:-9], lambda whole: b"x" + whole]
)
def test_a_broken_file_is_made_again(folder, harm):
    rendered(folder)
    [path] = kept(folder)
    whole = path.read_bytes()
    path.write_bytes(harm(whole))
    assert rendered(folder) == "<p>&lt;b&gt;</p>"
    assert path.read_bytes() == whole


def test_the_file_is_a_head_and_code(folder):
    rendered(folder)
    [path] = kept(folder)
    whole = path.read_bytes()
    assert whole.startswith(importlib.util.MAGIC_NUMBER)
    assert marshal.loads(whole[len(importlib.util.MAGIC_NUMBER) + 32 :]).co_name == "<module>"
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_nothing_is_written_where_python_may_not(folder, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert rendered(folder) == "<p>&lt;b&gt;</p>"
    assert not kept(folder)


def test_a_folder_that_cannot_be_written_costs_nothing(folder):
    (folder / "__pycache__").write_text("a file where the folder would be")
    assert rendered(folder) == "<p>&lt;b&gt;</p>"


def test_the_prefix_of_python_counts(folder, monkeypatch):
    monkeypatch.setattr(sys, "pycache_prefix", str(folder / "elsewhere"))
    rendered(folder / "templates")
    [path] = kept(folder)
    assert path.is_relative_to(folder / "elsewhere")


def test_mistakes_are_still_told(folder):
    with pytest.raises(TemplateSyntaxError):
        rendered(folder, "{% if %}")
    assert not kept(folder)
