"""The page that collects the reports of studies: one file, pictures inside, opens offline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from didact.report.figures.svg import figure_svg
from didact.report.studies.reports import (
    VERDICTS,
    StudyReport,
    cell_text,
    departures_title,
    runs_line,
    times_table,
)
from didact.studies.settings import origins, told
from didact.studies.summary import Cell, Column, Finding, Table

STYLE = """
:root { color-scheme: light dark; --ink: #1c1c1c; --soft: #666; --line: #d9d9d9; --back: #fff;
  --good: #00663f; --bad: #a33b00; --tint: #f6f6f4; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8e8e8; --soft: #a5a5a5; --line: #3b3b3b;
  --back: #161616; --good: #62d0a0; --bad: #ff9d66; --tint: #202020; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 70rem; padding: 1.5rem 1rem 4rem; color: var(--ink);
  background: var(--back); font: 16px/1.5 system-ui, -apple-system, 'Segoe UI', sans-serif; }
h1 { font-size: 1.6rem; } h2 { margin-top: 3rem; border-top: 2px solid var(--line);
  padding-top: 1.2rem; font-size: 1.3rem; } h3 { font-size: 1rem; margin: 1.6rem 0 .4rem; }
a { color: inherit; } nav ul { padding-left: 1.2rem; }
figure { margin: 1rem 0; overflow-x: auto; }
figure svg { max-width: 100%; min-width: 34rem; height: auto; border-radius: 6px; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .7rem; border-bottom: 1px solid var(--line); text-align: right;
  vertical-align: top; } th:first-child, td:first-child, .words td, .words th { text-align: left; }
table:not(.words) td { white-space: nowrap; } td small { color: var(--soft); display: block; }
.good { color: var(--good); font-weight: 600; }
.bad { color: var(--bad); font-weight: 600; } .soft { color: var(--soft); }
details { background: var(--tint); padding: .5rem .9rem; border-radius: 6px; margin-top: 1rem; }
summary { cursor: pointer; font-weight: 600; }
"""


TITLE = (
    "The paper's experiments, reproduced",
    "Machine Teaching for Inverse Reinforcement Learning (Brown and Niekum, 2019), run by didact.",
)
OWN_TITLE = ("Studies", "Run by didact.")


def index_page(reports: Sequence[StudyReport], made: Mapping[str, str]) -> str:
    """All reports on one page, with how they were made at the end."""
    title, about = TITLE if all(r.is_the_papers for r in reports) else OWN_TITLE
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{title}</title><style>{STYLE}</style></head><body>",
        f'<h1>{title}</h1><p class="soft">{about}</p>',
        _contents(reports),
        *(_section(report) for report in reports),
        "<h2>How this was made</h2>",
        "<ul>",
        *(f"<li>{escape(name)}: <code>{escape(text)}</code></li>" for name, text in made.items()),
        "</ul></body></html>",
    ]
    return "\n".join(parts) + "\n"


def _contents(reports: Sequence[StudyReport]) -> str:
    lines = []
    for report in reports:
        found = report.findings
        holds = sum(each.holds is True for each in found)
        claims = f" - {holds} of {len(found)} claims hold" if found else ""
        title = escape(report.study.title or report.study.name)
        lines.append(f'<li><a href="#{report.study.name}">{title}</a>{claims}</li>')
    return f"<nav><ul>{''.join(lines)}</ul></nav>"


def _section(report: StudyReport) -> str:
    name = report.study.name
    parts = [
        f'<section><h2 id="{name}">{escape(report.study.title or name)}</h2>',
        f"<p>{len(report.records)} of {report.total} trials. {escape(runs_line(report))}</p>",
    ]
    for number, reason in sorted(report.failed.items()):
        parts.append(f'<p class="bad">Trial {number} was left out: {escape(reason)}</p>')
    parts += [f"<figure>{figure_svg(figure)}</figure>" for figure in report.summary.figures]
    parts += [_table(table) for table in report.summary.tables]
    if any(cell.printed for table in report.summary.tables for cell in table.cells):
        parts.append(f'<p class="soft">{escape(VERDICTS.replace("*", ""))}</p>')
    parts += [f"<p>{escape(remark)}</p>" for remark in report.summary.remarks]
    if report.findings:
        parts.append(_findings(report.findings))
    if report.seconds:
        times = "".join(f"<figure>{figure_svg(f)}</figure>" for f in report.time_figures)
        parts.append(
            f"<details><summary>Seconds</summary>{times}{_table(times_table(report))}</details>"
        )
    parts.append(_settings(report))
    files = [f"{name}.{kind}" for kind in ("md", "csv", "jsonl")] + [f"{name}-times.md"]
    links = ", ".join(f'<a href="{file}">{file}</a>' for file in files)
    return "\n".join([*parts, f'<p class="soft">Files: {links}</p></section>'])


def _table(table: Table) -> str:
    head = "".join(
        f"<th>{escape(n)}</th>" for n in (table.rows_are, *(c.name for c in table.columns))
    )
    body = []
    for row in table.rows:
        cells = "".join(_cell(table.cell(row, column.name), column) for column in table.columns)
        body.append(f"<tr><td>{escape(row)}</td>{cells}</tr>")
    return (
        f'<h3>{escape(table.title)}</h3><div class="wide"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(body)}</tbody></table></div>"
    )


def _cell(cell: Cell | None, column: Column) -> str:
    text = escape(cell_text(cell, column))
    ours, _, paper = text.partition(" (paper ")
    note = f"<small>paper {paper.removesuffix(')')}</small>" if paper else ""
    return f"<td>{ours}{note}</td>"


def _findings(findings: Sequence[Finding]) -> str:
    rows = []
    for found in findings:
        kind = {True: "good", False: "bad", None: "soft"}[found.holds]
        source = f'<small class="soft">{escape(found.claim.source)}</small>'
        rows.append(
            f"<tr><td>{escape(found.claim.words)}{source}</td>"
            f'<td class="{kind}">{found.verdict}</td><td>{escape(found.evidence)}</td></tr>'
        )
    return (
        '<h3>What the paper says</h3><div class="wide"><table class="words"><thead><tr>'
        "<th>the paper</th><th>here</th><th>numbers</th></tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _settings(report: StudyReport) -> str:
    rows = "".join(
        f"<tr><td>{escape(name)}</td><td>{escape(told(value))}</td><td>{escape(source)}</td></tr>"
        for name, value, source in origins(report.settings)
    )
    lines = "".join(f"<li>{escape(line)}</li>" for line in report.departures)
    title = departures_title(report)
    departs = f"<h3>{title}</h3><ul>{lines}</ul>" if lines else ""
    return (
        f"<details><summary>Settings; {title.lower()}</summary>"
        '<div class="wide"><table class="words"><thead><tr><th>setting</th><th>value</th>'
        f"<th>from</th></tr></thead><tbody>{rows}</tbody></table></div>{departs}</details>"
    )
