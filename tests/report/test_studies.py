"""The page of studies: whole, escaped, and the same whenever the same trials were run."""

from dataclasses import dataclass

from didact.report.studies import StudyReport, index_page
from didact.studies import setting
from didact.studies.study import Study
from didact.studies.summary import (
    Claim,
    Column,
    Figure,
    Finding,
    Printed,
    Summary,
    Table,
    TableCell,
    estimate,
)
from tests.report.drawn import HOSTILE
from tests.report.reading import read

TEXTS = [f"{HOSTILE} {place}" for place in (
    "title", "table", "rows", "column", "row", "text", "printed", "claim", "source", "evidence",
    "remark", "departure", "value", "from", "reason", "made", "by", "seconds",
)]  # fmt: skip


@dataclass(frozen=True)
class Settings:
    """A setting whose value and source would break a careless page."""

    trials: int = setting(3, source="test")
    seed: int = setting(0, source="test")
    word: str = setting(TEXTS[12], source=TEXTS[13])


def report(**changes) -> StudyReport:
    title, table, rows, column, row, text, printed, claim, source, evidence, remark = TEXTS[:11]
    cells = (
        TableCell(row, column, text),
        TableCell(row, "number", estimate([1.0, 2.0]), Printed("s", row, "n", printed, 4, "x")),
    )
    summary = Summary(
        tables=(Table(table, rows, (Column(column), Column("number")), cells),),
        figures=(Figure("drawn", "a figure", ()), Figure("not-drawn", "another", ())),
        findings=tuple(
            Finding(Claim("s", "k", claim, source), holds, evidence)
            for holds in (True, False, None)
        ),
        remarks=(remark,),
    )
    study = Study("own", Settings(), dict, dict, title=title, departures=(TEXTS[11],))
    told = {"seconds": {TEXTS[17]: [0.1, 0.2]}, "failed": {10: "second", 9: TEXTS[14]}} | changes
    return StudyReport(study, Settings(), summary, {0: {}}, runs=(), total=3, **told)


def test_names_and_reasons_are_text():
    page = index_page([report()], {TEXTS[15]: TEXTS[16]}, {})
    reader = read(page)
    assert "script" not in [tag for tag, _ in reader.tags]
    assert "img" not in [tag for tag, _ in reader.tags]
    said = "".join(reader.texts)
    assert [text for text in TEXTS if text not in said] == []


def test_what_holds_is_told_apart():
    page = index_page([report()], {}, {})
    assert "1 of 3 claims hold" in page
    for kind in ("good", "bad", "soft"):
        assert page.count(f'<td class="{kind}">') == 1
    assert page.index("Trial 9 was left out") < page.index("Trial 10 was left out")


def test_figures_stand_where_they_were_drawn():
    page = index_page([report()], {}, {"drawn": "<svg role='img'><path/></svg>"})
    assert page.count("<figure") == 1
    assert '<figure tabindex="0"><svg role=' in page


def test_nothing_to_say_leaves_nothing_empty():
    page = index_page([report(seconds={}, failed={})], {}, {})
    assert "Seconds" not in page
    assert "left out" not in page
