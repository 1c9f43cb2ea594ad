"""Settings are data with a source."""

import re
from dataclasses import dataclass

import pytest

from didact.errors import InvalidParameter
from didact.studies.study import (
    departures,
    fingerprint,
    origins,
    require_settings,
    setting,
    with_changes,
)


@dataclass(frozen=True)
class Small:
    trials: int = setting(20, source="Table 1, caption")
    samples: tuple[int, ...] = setting((10, 100), source="appendix")
    rate: float = setting(0.5, source="ours", paper=0.25)
    label: str = setting("a", source="ours", paper=None)
    exact: bool = setting(True, source="ours", paper=None)
    seed: int = setting(0, source="ours", paper=None)


def test_departures_name_the_value_the_papers_and_the_place():
    assert departures(Small()) == ["rate is 0.5, not 0.25 (ours)"]
    changed = Small(trials=3, samples=(10,), label="b", seed=7, rate=0.25)
    assert departures(changed) == [
        "trials is 3, not 20 (Table 1, caption)",
        "samples is 10, not 10, 100 (appendix)",
    ]


def test_every_setting_has_an_origin():
    assert origins(Small())[0] == ("trials", 20, "Table 1, caption")
    assert [name for name, _, _ in origins(Small())] == [
        "trials", "samples", "rate", "label", "exact", "seed",
    ]  # fmt: skip


def test_fingerprints_are_equal_just_when_settings_are():
    texts = {fingerprint(s) for s in (Small(), Small(trials=3), Small(samples=(10,)))}
    assert len(texts) == 3
    assert fingerprint(Small()) == fingerprint(Small(trials=20))


def test_changes_keep_the_kind():
    changed = with_changes(
        Small(), {"trials": 4, "samples": 7, "rate": "0.125", "label": 5, "exact": False}
    )
    assert changed == Small(4, (7,), 0.125, "5", False)
    assert type(changed.rate) is float
    assert with_changes(Small(), {"samples": ("3", "4")}).samples == (3, 4)
    assert with_changes(Small(), {}) == Small()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"speed": 1}, "there is no setting 'speed' (did you mean 'seed'?); there are trials"),
        ({"trials": 0}, "trials, a whole number from 1 to 1,000,000; it is 0"),
        ({"trials": "many"}, "the setting 'trials' must be a number like 20; it is 'many'"),
        ({"trials": 2.5}, "'trials' must be a number like 20"),
        ({"trials": True}, "'trials' must be a number like 20"),
        ({"seed": -1}, "seed, a whole number from 0"),
        ({"rate": "x"}, "'rate' must be a number like 0.5"),
        ({"rate": True}, "'rate' must be a number like 0.5"),
        ({"exact": 1}, "'exact' must be true or false"),
        ({"samples": ("a",)}, "'samples' must be a number like 10"),
        ({"rate": "nan"}, "'rate' must be text, a finite number"),
        ({"trials": 10**9}, "trials, a whole number from 1 to 1,000,000"),
    ],
)
def test_bad_changes_are_told_in_one_line(changes, message):
    with pytest.raises(InvalidParameter, match=re.escape(message)):
        with_changes(Small(), changes)


def test_settings_must_be_plain():
    @dataclass(frozen=True)
    class Odd:
        trials: int = 1
        seed: int = 0
        thing: object = None

    require_settings(Odd())
    with pytest.raises(InvalidParameter, match="the setting 'thing' must be text"):
        require_settings(Odd(thing=[1, 2]))
    with pytest.raises(InvalidParameter, match="must be an instance of a dataclass"):
        require_settings({"trials": 1})

    @dataclass(frozen=True)
    class NoSeed:
        trials: int = 1

    with pytest.raises(InvalidParameter, match="must have seed"):
        require_settings(NoSeed())
