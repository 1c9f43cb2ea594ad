"""The notebook of the examples runs from top to bottom, and every result in it shows itself."""

import warnings
from pathlib import Path

import pytest

nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")
pytest.importorskip("ipykernel")
pytest.importorskip("pandas")

TOUR = Path(__file__).parents[2] / "examples" / "tour.ipynb"


def test_the_tour_runs_and_shows_html(tmp_path):
    notebook = nbformat.read(TOUR, as_version=4)
    client = nbclient.NotebookClient(notebook, timeout=None, kernel_name="python3")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        client.execute(cwd=str(tmp_path))
    shown = [
        output["data"]
        for cell in notebook.cells
        if cell.cell_type == "code"
        for output in cell.outputs
        if output.output_type == "execute_result"
    ]
    assert len(shown) == sum(cell.cell_type == "code" for cell in notebook.cells)
    assert all("text/html" in data and len(data["text/plain"]) < 2_000 for data in shown)
    html = [data["text/html"] for data in shown]
    assert html[0].startswith("<iframe")
    assert "Lesson for six-cell" in html[1]
    assert "They teach it." in html[3]
    assert html[4].count("<svg") == 2
