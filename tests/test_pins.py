"""Results that a change of code alone must not move (tests/pins.py records them)."""

import json

import pytest

from tests.pins import FILE, QUICK, pins, result

RECORDED = json.loads(FILE.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", QUICK)
def test_quick_pins(name):
    assert result(name) == RECORDED[name]


@pytest.mark.parametrize("name", sorted({*RECORDED} - {*QUICK}))
def test_other_pins(name):
    assert result(name) == RECORDED[name]


def test_every_pin_is_recorded():
    assert {*pins()} == {*RECORDED}
    assert {*QUICK} <= {*RECORDED}
