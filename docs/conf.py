"""Sphinx: Markdown pages through MyST, the Furo theme; the pages of the gallery beside them."""

import importlib.util
from pathlib import Path

from didact import __version__

project = "didact"
author = "The didact developers"
copyright = "2026, The didact developers"
version = release = __version__

extensions = ["myst_parser"]
exclude_patterns = ["_build"]
myst_heading_anchors = 3
python_maximum_signature_line_length = 88

html_theme = "furo"
html_title = "didact"


def setup(app):
    """Write the pages that the gallery links to, once the others are there."""
    app.connect("build-finished", _write_gallery)


def _write_gallery(app, error):
    if error is not None or app.builder.format != "html":
        return
    spec = importlib.util.spec_from_file_location(
        "make_gallery", Path(__file__).with_name("make_gallery.py")
    )
    gallery = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(gallery)
    gallery.write_pages(Path(app.outdir) / "gallery")
