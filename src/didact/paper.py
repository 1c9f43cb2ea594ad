"""Brown and Niekum (AAAI 2019) in didact: its settings, its printed numbers and its claims.

docs/paper.md has a row for every definition, theorem, algorithm, table, figure and parameter.
`learn(..., preset='paper')` and `teach(..., preset='paper')` use the settings of this module.
"""

from __future__ import annotations

from typing import Any

from didact.errors import InvalidParameter
from didact.inputs import shown
from didact.learners.chains.options import published_chain
from didact.studies.paper.common import CLAIMS, PRINTED
from didact.studies.study import BUILT_IN, find_study
from didact.studies.summary import Claim, Printed

__all__ = ["claims", "printed", "published_chain", "settings"]


def settings(study: str) -> Any:
    """The settings of one of the paper's studies: a frozen dataclass, each field with its source.

    study: 'example', 'table1', 'features', 'uvm-failure', 'active', 'chain' or 'balls'.
    """
    return find_study(_of_the_paper(study)).settings


def printed(study: str) -> tuple[Printed, ...]:
    """The numbers that the paper prints for a study, to compare with; none for most figures.

    study: as for `settings`.
    """
    name = _of_the_paper(study)
    return tuple(number for number in PRINTED if number.study == name)


def claims(study: str) -> tuple[Claim, ...]:
    """The claims of the paper that a study checks, each with its place.

    study: as for `settings`.
    """
    name = _of_the_paper(study)
    return tuple(claim for claim in CLAIMS.values() if claim.study == name)


def _of_the_paper(study: str) -> str:
    if study not in BUILT_IN:
        raise InvalidParameter(
            f"study must be one of the paper's, {', '.join(BUILT_IN)}; it is {shown(study)}"
        )
    return study
