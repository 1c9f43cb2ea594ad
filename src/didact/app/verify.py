"""Have a proof checked by the checker that shares nothing with what made it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from didact.errors import ProofFailed
from didact.mdp import Family, Task
from didact.mdp.family_files import family_document
from didact.mdp.files import task_document
from didact.proofcheck import ProofError, check_proof
from didact.stages import stage

NEEDS_EXACT = (
    "a proof needs exact arithmetic, and floats prove nothing; use --arithmetic exact or leave "
    "--proof out"
)


def verify(task: Task | Family, document: Mapping[str, Any]) -> str:
    """The line of the independent checker on a proof or lesson; raises ProofFailed."""
    stage("checking the proof")
    try:
        whole = family_document(task) if isinstance(task, Family) else task_document(task)
        return check_proof(_as_read(whole), _as_read(document))
    except ProofError as error:
        raise ProofFailed(f"the proof failed: {error}") from None


def _as_read(document: Mapping[str, Any]) -> Any:
    """The object as it comes out of a file, decimals as text."""
    return json.loads(json.dumps(dict(document), default=str), parse_float=str)
