"""The paper's random worlds in numbers, and what a loose stop makes of them."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest

import didact
from didact.random import stream
from didact.studies.paper import precision
from tests.effort import number

FILE = Path(__file__).parents[2] / "examples" / "rounding_noise.py"


@pytest.fixture(scope="module")
def example():
    spec = spec_from_file_location("rounding_noise", FILE)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


MEANS = {8: [16.375, 14.375, 14.375, 60.75], 20: [16.35, 14.65, 14.65, 60.95]}
"""Of the first worlds: facets, and pairs of the lessons of three teachers."""


def test_random_worlds_have_these_means():
    found = []
    for seed in range(number(8, 20)):
        task = didact.make("random-grid", seed=seed)
        bec = didact.equivalence_class(task, arithmetic="exact")
        lessons = [
            didact.teach(task, horizon=1, teacher=teacher, bec=bec)
            for teacher in ("scot", "exact", "scot-redundant")
        ]
        assert all(lesson.is_complete for lesson in lessons)
        assert lessons[1].lower_bound == lessons[1].cost
        found.append([bec.cone.n_facets, *(lesson.n_pairs for lesson in lessons)])
    assert np.mean(found, axis=0).tolist() == MEANS[len(found)]


@pytest.mark.parametrize(("seed", "exact", "iterated"), [(1, 14, 16), (6, 14, 9)])
def test_noise_lengthens_a_lesson_or_breaks_it(example, monkeypatch, seed, exact, iterated):
    """Noise is more to cover; or there is so much that real facets seem to follow from it."""
    monkeypatch.setattr(example, "SAMPLES", ())  # nothing here is found by volumes
    task = didact.make("random-grid", seed=seed)
    bec = didact.equivalence_class(task)
    assert didact.teach(task, horizon=1, bec=bec).n_pairs == exact
    noisy = example.iterated(task, bec, in_place=True)
    assert noisy["pairs, greedy"] == iterated
    assert noisy["worlds that exclude true weights"]
    assert noisy["greedy lessons that teach"] == (iterated > exact)


def test_without_rounding_the_plain_program_finds_the_exact_class():
    """The noise is the stop's: with zeros told from noise, the same program finds what we find."""
    task = didact.make("random-grid", seed=1)
    bec = didact.equivalence_class(task)
    solved = precision.Precision(values=1e-13, counts=1e-13, merge=1e-9, skip=1e-9)
    noisy = precision.published_way(task, solved)
    assert len(noisy.kept) == bec.cone.n_facets == 16
    assert len(noisy.lesson) == 14
    assert (noisy.normals @ task.weights > 0).all()
    assert len(precision.redundant_lesson(noisy.normals, noisy.stated)) == len(
        didact.teach(task, teacher="scot-redundant", horizon=1, bec=bec).demonstrations
    )


@pytest.mark.parametrize(("seed", "longer"), [(0, True), (1, False)])
def test_skipping_short_rows_lets_volumes_go_on_where_noise_is_short(seed, longer):
    """Rows of pure noise end UVM after two pairs; some of them are shorter than 1e-6."""
    lengths = []
    for rule in (precision.ITERATED, precision.SKIPPED_BELOW_6):
        rows = precision.noisy_rows(didact.make("random-grid", seed=seed), rule)
        lesson = precision.volume_lesson(*rows, n_samples=10_000, rng=stream(0, "uvm"))
        lengths.append(len(lesson))
    assert lengths[0] == 2
    assert (lengths[1] > 2) == longer


@pytest.mark.slow
def test_the_table_has_a_column_for_each_way(example, capsys):
    example.main(1)
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split() == ["fractions", "in", "place", "at", "once"]
    assert lines[3].split() == ["pairs,", "greedy", "11.00", "14.00", "12.00"]
