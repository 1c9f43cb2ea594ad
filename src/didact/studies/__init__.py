"""Studies: the paper's tables and figures, and a user's own, as settings, trials and summaries."""

from didact.studies.run import StudyRun as StudyRun
from didact.studies.run import run_study as run_study
from didact.studies.study import Study as Study
from didact.studies.study import find_study as find_study
from didact.studies.study import register_study as register_study
from didact.studies.study import setting as setting
from didact.studies.study import studies as studies
from didact.studies.summary import Bars as Bars
from didact.studies.summary import Column as Column
from didact.studies.summary import Estimate as Estimate
from didact.studies.summary import Figure as Figure
from didact.studies.summary import Lines as Lines
from didact.studies.summary import Series as Series
from didact.studies.summary import Summary as Summary
from didact.studies.summary import Table as Table
from didact.studies.summary import TableCell as TableCell
from didact.studies.summary import estimate as estimate

__all__ = [
    "Bars",
    "Column",
    "Estimate",
    "Figure",
    "Lines",
    "Series",
    "Study",
    "StudyRun",
    "Summary",
    "Table",
    "TableCell",
    "estimate",
    "find_study",
    "register_study",
    "run_study",
    "setting",
    "studies",
]
