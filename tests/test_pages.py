"""Pages that a change of code alone must not change (tests/pages.py records them)."""

import json

import pytest

from tests.pages import FILE, QUICK, pages, recorded

RECORDED = json.loads(FILE.read_text(encoding="utf-8"))


def check(name: str) -> None:
    """The text first: its differences can be read."""
    now = recorded(pages()[name]())
    assert now["text"] == RECORDED[name]["text"]
    assert now["digest"] == RECORDED[name]["digest"]


@pytest.mark.parametrize("name", QUICK)
def test_quick_pages(name):
    check(name)


@pytest.mark.parametrize("name", sorted({*RECORDED} - {*QUICK}))
def test_other_pages(name):
    check(name)


def test_every_page_is_recorded():
    assert {*pages()} == {*RECORDED}
