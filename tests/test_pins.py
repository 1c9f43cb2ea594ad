"""Results that a change of code alone must not move (tests/pins.py records them)."""

import json

import pytest

from tests.pins import FILE, QUICK, agree, pins, result

RECORDED = json.loads(FILE.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", QUICK)
def test_quick_pins(name):
    assert agree(result(name), RECORDED[name])


@pytest.mark.parametrize("name", sorted({*RECORDED} - {*QUICK}))
def test_other_pins(name):
    assert agree(result(name), RECORDED[name])


def test_every_pin_is_recorded():
    assert {*pins()} == {*RECORDED}
    assert {*QUICK} <= {*RECORDED}


def test_numbers_agree_within_the_tolerance_and_nothing_else_does():
    recorded = {"n": 4000, "mean": [0.5, -1.25], "digest": "ab"}
    assert agree({**recorded, "mean": [0.500001, -1.25]}, recorded)
    for moved in ({"mean": [0.5001, -1.25]}, {"n": 4001}, {"digest": "ac"}, {"mean": [0.5]}):
        assert not agree({**recorded, **moved}, recorded)
