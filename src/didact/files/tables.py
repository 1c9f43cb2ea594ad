"""Tables for other programs, CSV and Markdown, in which texts that others wrote stay texts.

Every export of texts that people typed or that files named goes through here: a spreadsheet
computes a cell that begins with '=', and Markdown makes HTML, links and columns of what looks so.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from typing import Any

FORMULA = re.compile(r"^(?=[\s\0]*[=+@-]\s*\S)", re.MULTILINE)
"""The beginning of a line that a spreadsheet may take for a formula, also after blanks."""


def csv_text(rows: Iterable[Sequence[Any]]) -> str:
    """Rows as CSV; texts that a spreadsheet would compute begin with an apostrophe."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(map(csv_cell, row) for row in rows)
    return out.getvalue()


def csv_cell(value: Any) -> Any:
    """A text so that no spreadsheet computes any line of it; numbers as they are.

    Line ends become \\n, which is quoted: a lone \\r would begin a new row in some programs.
    """
    if not isinstance(value, str):
        return value
    lines = value.splitlines()
    return FORMULA.sub("'", "\n".join(lines) if lines else value)


def markdown_text(text: str) -> str:
    """A text on one line of Markdown, without columns, HTML and links of its own."""
    line = " ".join(text.splitlines())
    return line.replace("|", "\\|").replace("<", "\\<").replace("](", "]\\(")
