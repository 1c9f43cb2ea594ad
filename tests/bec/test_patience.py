"""Long exact work is told, followed, and can be left with the numerical class in hand."""

import logging

import pytest

import didact
from didact.bec import patience
from didact.bec.patience import expected_seconds

FAMILY = didact.make("random-grid", size=3, n_features=3, members=3)
WORLDS = [FAMILY, FAMILY[0]]


@pytest.fixture
def everything_is_long(monkeypatch, caplog):
    monkeypatch.setattr(patience, "LONG", 0.0)
    caplog.set_level(logging.INFO, logger="didact")
    return caplog


def interrupting(monkeypatch):
    """Somebody presses Ctrl-C when the first rows are certified."""

    def every_tenth():
        def tell(done, total):
            raise KeyboardInterrupt

        return tell

    monkeypatch.setattr(patience, "_every_tenth", every_tenth)


@pytest.mark.parametrize("world", WORLDS)
def test_it_is_told_before_and_followed_to_the_end(everything_is_long, world):
    known = didact.equivalence_class(world)
    assert known.arithmetic == "exact"
    first, *others = [record.getMessage() for record in everything_is_long.records]
    assert first.startswith(f"certificates for {known.rows.n_rows} rows of 3 features will take")
    assert "Ctrl-C" in first
    assert others[-1].endswith("have their certificates (100%)")


@pytest.mark.parametrize("world", WORLDS)
def test_who_interrupts_has_the_numerical_class(everything_is_long, monkeypatch, world):
    exact = didact.equivalence_class(world, arithmetic="exact")
    interrupting(monkeypatch)
    known = didact.equivalence_class(world)
    assert known.arithmetic == "float"
    assert known.cone.n_facets == exact.cone.n_facets
    assert all(part.counts is None for part in known.parts)
    last = everything_is_long.records[-1].getMessage()
    assert last == "interrupted: the class is numerical, not proved"
    lesson = didact.teach(world, known=known, horizon=1)
    assert lesson.is_complete
    assert lesson.proof is None


@pytest.mark.parametrize("world", WORLDS)
def test_who_asks_for_exactness_is_not_told_and_gets_no_less(
    everything_is_long, monkeypatch, world
):
    interrupting(monkeypatch)
    assert didact.equivalence_class(world, arithmetic="exact").arithmetic == "exact"
    assert not everything_is_long.records


def test_small_work_is_not_told(caplog):
    caplog.set_level(logging.INFO, logger="didact")
    known = didact.equivalence_class(FAMILY)
    assert expected_seconds(known.rows) < 1
    assert not [r for r in caplog.records if "certificates" in r.getMessage()]


def test_more_rows_and_features_take_longer():
    few, many, wide = (
        didact.equivalence_class(
            didact.make("random-grid", size=size, n_features=k), arithmetic="float"
        ).rows
        for size, k in ((5, 4), (9, 4), (9, 40))
    )
    assert expected_seconds(few) < expected_seconds(many) < expected_seconds(wide)
