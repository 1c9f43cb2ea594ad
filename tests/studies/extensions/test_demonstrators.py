"""The study of people who show or do: its records, its measures against plain ones, bad files."""

from __future__ import annotations

import json

import numpy as np
import pytest

from didact.errors import InvalidInput
from didact.studies import find_study
from didact.studies.extensions.demonstrators import (
    GRID,
    PeopleSettings,
    area,
    bounded,
    calibrated,
    summarise,
)

SMALL = PeopleSettings(simulated=2, draws=30)


def test_simulated_people_are_told_apart_and_trials_repeat() -> None:
    study = find_study("people")
    record = study.trial(SMALL, 0)
    assert record == study.trial(SMALL, 0)
    summary = summarise(SMALL, [record])
    (table,) = summary.tables
    first = next(cell for cell in table.cells if cell.column == "AUC, people")
    assert first.ours.mean > 0.7
    assert any("simulated" in remark for remark in summary.remarks)


def test_a_file_of_people_is_read(tmp_path) -> None:
    steps = [[2, 0, 3], [2, 1, 3], [2, 2, 3], [2, 3, 3], [2, 4, 3]]
    shown = {"dangerous": ["c"], "steps": steps}
    people = [{"condition": c, "demonstrations": [shown]} for c in ("showing", "doing")]
    path = tmp_path / "people.json"
    path.write_text(json.dumps({**GRID, "people": people}))
    settings = PeopleSettings(file=str(path), draws=20)
    rows = find_study("people").trial(settings, 0)["trajectories"]
    assert [row["showing"] for row in rows] == [True, False]
    assert rows[0]["posterior"] == rows[1]["posterior"] < 0
    for broken in (
        {**GRID, "people": people[:1]},
        {**GRID, "people": [{}]},
        {"people": people},
        {**GRID, "people": [{**people[0], "demonstrations": [{"dangerous": ["z"], "steps": []}]}]},
    ):
        path.write_text(json.dumps(broken))
        with pytest.raises(InvalidInput):
            find_study("people").trial(settings, 0)


def test_measures_are_what_they_say() -> None:
    rng = np.random.default_rng(0)
    scores, labels = rng.normal(size=40).round(1), (np.arange(40) % 2).astype(float)
    pairs = [(a, b) for a in scores[labels == 1] for b in scores[labels == 0]]
    plain = sum((a > b) + (a == b) / 2 for a, b in pairs) / len(pairs)
    assert area(scores, labels) == pytest.approx(plain)
    assert bounded(np.array([-100.0, 0.0, 100.0])) == pytest.approx([-np.log(4), 0, np.log(4)])
    informed = labels + rng.normal(size=40) * 0.5
    chances = calibrated(informed, labels)
    assert chances[labels == 1].mean() > 0.6 > 0.4 > chances[labels == 0].mean()
    changed = labels.copy()
    changed[0] = 1 - changed[0]
    assert calibrated(informed, changed)[0] == pytest.approx(chances[0])  # not from its own label
