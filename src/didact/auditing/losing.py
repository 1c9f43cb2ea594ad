"""Agents that may be wrong as long as it costs little: losses compared with a bound.

The loss of weights, of a policy or of an agent that is asked is a number, and is compared with the
bound. Ties are broken as badly as can be. Of a belief, the share of draws is said that lose at most
the bound.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from didact.auditing.result import Audit
from didact.bec.classes import EquivalenceClass
from didact.bec.families import Known
from didact.errors import Unsupported
from didact.numerics.exact import Floats
from didact.planning import evaluate, solve
from didact.teaching.loss.fan import Fan, fan_of
from didact.teaching.loss.goal import read_loss
from didact.teaching.within import SURELY


class Allowed(NamedTuple):
    """A bound on the loss from the start, in units of return, and the fan of the task."""

    bound: float
    fan: Fan

    @property
    def limit(self) -> float:
        """What is above it surely loses more than the bound."""
        return self.bound + SURELY * max(self.fan.spread, self.bound)

    @property
    def statement(self) -> str:
        """What a pass says."""
        of = f"the agent loses at most {self.words(self.bound)} from the start, however it breaks "
        return of + "ties; percentages are of V* less V of the uniformly random policy"

    def words(self, loss: float) -> str:
        """A loss as an amount and as a share."""
        if not self.fan.spread > 0.0:
            return f"{loss:.4g}"
        return f"{loss:.4g} ({100 * loss / self.fan.spread:.3g}%)"


def allowed_loss(known: Known, loss: Any) -> Allowed:
    """The bound that was asked for, checked."""
    amount, is_share = read_loss(loss)
    if not isinstance(known, EquivalenceClass):
        raise Unsupported("a bound on the loss is for one task; audit a member, or leave loss out")
    fan = fan_of(known)
    return Allowed(amount * (fan.spread if is_share else 1.0), fan)


def judged_by_loss(found: Audit, policy: Any, allowed: Allowed) -> Audit:
    """An audit of a policy or of weights, judged by what is lost instead of by wrong actions."""
    known, loss = allowed.fan.class_of_task, found.loss
    assert loss is not None
    found = replace(found, statement=allowed.statement)
    if found.verdict == "undecided":
        return found
    if found.passed:
        return replace(found, reason=f"{found.reason}, so that it loses nothing")
    room = evaluate(known.task, policy, plan=known.plan).error_bound
    told = f"it loses {allowed.words(loss)}"
    if loss + room <= allowed.limit:
        return replace(found, verdict="pass", reason=told)
    if loss - room > allowed.limit:
        return replace(found, reason=told)
    return replace(found, verdict="undecided", reason=f"{told}, too close to the bound to call")


def loses_little(allowed: Allowed, draws: Floats) -> NDArray[np.bool_]:
    """Whether each of the weights (n, k) loses at most the bound, (n,), ties broken for the worst.

    Draws of a lattice tie exactly. Close calls are planned one by one, exactly where they need it.
    """
    fan, lost = allowed.fan, allowed.fan.losses.of(draws)
    little = np.asarray(lost.losses <= allowed.limit)
    most: dict[bytes, float] = {}
    for i in np.flatnonzero(little).tolist():
        optimal = lost.optimal[i]
        if lost.close[i]:
            optimal = solve(fan.task.mdp, draws[i], arithmetic="exact").optimal
        key = np.packbits(optimal).tobytes()
        if key not in most:
            most[key] = fan.most_among(optimal)
        little[i] = most[key] <= allowed.limit
    return little
