"""Modules of widgets: one script each, with the style kept inside."""

import re

import pytest

from didact.widgets.modules import OWN, module_text, widget_module, widget_style

ENTRIES = sorted(path.name for path in OWN.glob("*_widget.js"))


def test_there_are_three():
    assert ENTRIES == ["cone_widget.js", "player_widget.js", "world_widget.js"]


@pytest.mark.parametrize("entry", ENTRIES)
def test_a_notebook_needs_nothing_else(entry):
    module = widget_module(entry)
    assert not re.search(r"^import ", module, re.MULTILINE)
    assert module.count("export default { render };") == 1
    assert "http" not in module


def test_they_share_the_modules_of_pages_and_studio():
    assert module_text("player.js") in widget_module("player_widget.js").replace(
        "function player", "export function player"
    ).replace("function stepsIn", "export function stepsIn")


def test_the_style_stays_inside():
    style = widget_style()
    assert ":root" not in style
    assert not re.search(r"^body ", style, re.MULTILINE)
