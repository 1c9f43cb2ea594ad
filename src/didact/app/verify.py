"""Have a proof checked by the checker that shares nothing with what made it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from didact.errors import ProofFailed
from didact.mdp import Family, Task
from didact.proofcheck import ProofError
from didact.stages import stage
from didact.teaching.lesson import check_document

NEEDS_EXACT = (
    "a proof needs exact arithmetic, and floats prove nothing; use --arithmetic exact or leave "
    "--proof out"
)


def verify(task: Task | Family, document: Mapping[str, Any]) -> str:
    """The line of the independent checker on a proof or lesson; raises ProofFailed."""
    stage("checking the proof")
    try:
        return check_document(task, document)
    except ProofError as error:
        raise ProofFailed(f"the proof failed: {error}") from None
