"""UVM, Uncertainty Volume Minimization (Cakmak and Lopes): the older, volume-based teacher.

It adds the demonstration that lowers the estimated volume of the class most, and stops when none
does. The volume of a class with an equality is zero, so it can stop with false certainty: whether
the lesson is complete is decided by the proof, not by the volume.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from didact.errors import InvalidParameter
from didact.inputs import is_number, shown
from didact.teaching.covers.problem import Picks, Problem
from didact.teaching.methods.volume_greedy import minimise_volume


def minimise_uncertainty(
    problem: Problem,
    rng: np.random.Generator,
    n_samples: int = 100_000,
    threshold: float = 0.0,
    region: Literal["box", "sphere"] = "box",
) -> Picks:
    """The appendix's algorithm with n_samples points of the box [-1,1]^k or of the sphere."""
    if not is_number(threshold):
        raise InvalidParameter(f"threshold must be a number; it is {shown(threshold)}")
    offsets, members = problem.stated
    found = minimise_volume(
        problem.known.rows.normals,
        offsets,
        members,
        n_samples=n_samples,
        rng=rng,
        region=region,
        threshold=threshold,
        budget=problem.budget,
    )
    return Picks(found.picks, volumes=found.volumes)
