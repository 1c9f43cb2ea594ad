"""The notebook of the examples runs from top to bottom and gives the kinds of output it stores."""

import warnings
from pathlib import Path

import pytest

nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")
for package in ("ipykernel", "pandas", "matplotlib", "anywidget"):
    pytest.importorskip(package)

TOUR = Path(__file__).parents[2] / "examples" / "tour.ipynb"


def results(notebook) -> list[list[dict]]:
    """What every code cell shows, by kind; streams of workers and progress left out."""
    return [
        [output["data"] for output in cell.outputs if output.output_type != "stream"]
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


def test_the_tour_runs_and_gives_what_it_stores(tmp_path):
    notebook = nbformat.read(TOUR, as_version=4)
    stored = results(notebook)
    assert all(len(shown) == 1 for shown in stored)
    client = nbclient.NotebookClient(notebook, timeout=None, kernel_name="python3")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        client.execute(cwd=str(tmp_path))
    made = results(notebook)
    for (old,), (new,) in zip(stored, made, strict=True):
        assert set(old) == set(new)
        exact = "posterior" not in str(old) and "0x" not in old["text/plain"]
        if exact and old["text/plain"][0] in "(V":  # tuples and verdicts: no digits of samplers
            assert old["text/plain"] == new["text/plain"]
    texts = [shown["text/plain"] for (shown,) in made]
    assert texts[5].startswith("(0.0, 'partial'")  # UVM stops with no volume and an open half-space
    assert texts[6] == "(3, 3, True)"
    assert made[0][0]["text/html"].startswith("<iframe")
    assert [number for number, (shown,) in enumerate(made) if "image/png" in shown] == [1, 8]
