"""How long exact results will be, before the work that makes them is begun.

By Cramer's rule the successor features of a dense component have its determinant below the
fraction line, and that is about as long as the denominators of its rows together: rows that are
equal count once, since they add no rank. Chains and small cycles are quick to solve, so that their
results are measured instead. What is longer than `MOST_DIGITS` could not be written into a proof.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from didact.errors import Unsupported
from didact.numerics.texts import MOST_DIGITS
from didact.planning.derived import actions_by_state

if TYPE_CHECKING:
    from didact.mdp import MDP
    from didact.planning.rationals import Followed
    from didact.planning.solve import Plan
    from didact.planning.successor import ExactSuccessorFeatures

DIGITS_PER_BIT = math.log10(2)
FEW = 8
"""So many distinct probabilities have a common denominator that is no longer than it looks."""
PROOF_PER_COUNT = 2
"""A proof's multipliers divide rows by rows, and are twice as long as the counts behind them."""


def expected_digits(mdp: MDP, plan: Plan) -> int:
    """About how many digits a proof about the policy needs, by its largest dense component."""
    from didact.planning.rationals import Followed, exact_model

    return followed_digits(Followed.of(exact_model(mdp), actions_by_state(plan.optimal)))


def followed_digits(policy: Followed) -> int:
    """`expected_digits` of a policy in the exact model."""
    followed, longest = policy.rows, 0
    for component in policy.components:
        if len(component) == 1:
            continue
        inside = set(component)
        own = [[(t, w) for t, w in followed[s] if t in inside] for s in component]
        if not all(len(row) == 1 for row in own):
            rows = {_as_integers(sorted(row, key=_state)) for row in own}
            longest = max(longest, sum(_denominator_bits(row) for row in rows))
    return int(longest * DIGITS_PER_BIT * PROOF_PER_COUNT)


def _state(entry: tuple[int, Any]) -> int:
    return entry[0]


def _as_integers(row: Iterable[tuple[int, Any]]) -> tuple[tuple[int, int, int], ...]:
    return tuple((target, int(weight.p), int(weight.q)) for target, weight in row)


def _denominator_bits(row: tuple[tuple[int, int, int], ...]) -> int:
    return math.lcm(*(below for _, _, below in row)).bit_length() - 1


def multiplier_digits(mdp: MDP) -> int:
    """About how many digits more the multipliers of a proof have.

    They weigh at most one row for each feature against another, and every row brings along the
    denominators of its own action.
    """
    if "denominator_bits" not in mdp._derived:
        mdp._derived["denominator_bits"] = _longest_denominator(mdp)
    return int((mdp.n_features + 1) * mdp._derived["denominator_bits"] * DIGITS_PER_BIT)


def _longest_denominator(mdp: MDP) -> int:
    """Bits of the longest common denominator of a row; of all rows where numbers are few."""
    from didact.planning.rationals import exact_model

    distinct, _ = mdp.transitions.probabilities.exact()
    if len(distinct) <= FEW:
        return math.lcm(*(number.denominator for number in distinct)).bit_length() - 1
    return max(_denominator_bits(_as_integers(row)) for row in exact_model(mdp).rows)


def require_writable(n_digits: int) -> None:
    """Refuse exact work whose results could not be written down."""
    if n_digits > MOST_DIGITS:
        raise Unsupported(
            f"exact numbers must have at most {MOST_DIGITS:,} digits; here they would have about "
            f"{n_digits:,}. Round the task's numbers, or use arithmetic='float'"
        )


def require_writable_counts(counts: ExactSuccessorFeatures, more: int) -> None:
    """Refuse counts that could not be written down with so many digits more.

    The common denominator of a state's counts is the longest of them or longer; only where that is
    too long each is looked at.
    """
    bits = max((below.bit_length() for _, below in counts.whole), default=0)
    if int(bits * DIGITS_PER_BIT * PROOF_PER_COUNT) + more > MOST_DIGITS:
        require_writable(digits_with(counts) + more)


def digits_with(counts: ExactSuccessorFeatures) -> int:
    """About how many digits a proof needs that holds these counts."""
    longest = max((count.q.bit_length() for count in counts.states.flat), default=0)
    return int(longest * DIGITS_PER_BIT * PROOF_PER_COUNT)
