"""Studies: the paper's tables and figures, and a user's own, as settings, trials and summaries."""

from didact.studies.registry import find_study as find_study
from didact.studies.registry import register_study as register_study
from didact.studies.registry import studies as studies
from didact.studies.study import Study as Study
from didact.studies.study import setting as setting

__all__ = ["Study", "find_study", "register_study", "setting", "studies"]
