"""The BFGS update, for climbs that have slopes but no second derivatives."""

from __future__ import annotations

import numpy as np

from didact.numerics.exact import Floats


def bfgs_update(inverse: Floats | None, step: Floats, bend: Floats, least: float) -> Floats | None:
    """The inverse (k, k) of minus the Hessian, as a climb knows it after a step (k,).

    bend: how much the slope fell along the step, (k,). It is left as it is where step.bend is not
    above `least`: the slope did not fall, or rounding decides whether it did. inverse: None where
    nothing is known yet; then the first bend gives its scale. The updated one maps bend to step.
    """
    product = float(step @ bend)
    if not product > least:
        return inverse
    if inverse is None:
        inverse = np.eye(step.size) * (product / float(bend @ bend))
    moved = inverse @ bend
    crossed = np.outer(moved, step)
    stretch = (product + float(bend @ moved)) / product
    return np.asarray(inverse + (stretch * np.outer(step, step) - crossed - crossed.T) / product)
