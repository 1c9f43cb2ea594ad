"""Sphinx: Markdown pages through MyST, the Furo theme."""

from didact import __version__

project = "didact"
author = "The didact developers"
copyright = "2026, The didact developers"
version = release = __version__

extensions = ["myst_parser"]
exclude_patterns = ["_build"]
myst_heading_anchors = 3

html_theme = "furo"
html_title = "didact"
