"""Exact counts where every step is sure and states pay, in whole numbers.

mu(s) = phi(s) + discount * mean of mu over the states that the policy's actions lead to. Each
state's counts are whole numbers over one denominator, without common divisor, so that hardly any
fraction is made: in grid worlds the numbers are short. Only cycles are solved in fractions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from flint import fmpq, fmpq_mat

from didact.planning.rationals import ExactModel, Followed, solve_component

Whole = tuple[tuple[int, ...], int]
"""Whole numbers without common divisor, and what they are divided by."""


def whole_counts(model: ExactModel, followed: Followed) -> list[Whole]:
    """The counts of each state under a policy, where `model.successors` are sure."""
    after = model.successors
    if after is None:
        raise AssertionError("steps must be sure")
    known: dict[int, Whole] = {}
    discount = int(model.discount.p), int(model.discount.q)
    for component in followed.components:
        state = component[0]
        targets = [after[state * model.n_actions + action] for action in followed.policy[state]]
        if len(component) > 1 or state in targets:
            _solve_cyclic(model, followed, component, known)
        else:
            known[state] = _counted(
                model.whole_features[state], discount, [known[target] for target in targets]
            )
    return [known[state] for state in range(model.n_states)]


def _counted(payment: Whole, discount: tuple[int, int], after: Sequence[Whole]) -> Whole:
    """A payment plus the discounted mean of some counts."""
    above, below = discount
    numbers, common = after[0]
    if len(after) > 1:
        common = math.lcm(*[denominator for _, denominator in after])
        scaled = [[common // bottom * entry for entry in top] for top, bottom in after]
        numbers = tuple(map(sum, zip(*scaled, strict=True)))
    paid, paid_below = payment
    denominator = math.lcm(below * len(after) * common, paid_below)
    factor, share = (
        above * (denominator // (below * len(after) * common)),
        denominator // paid_below,
    )
    return lowest(
        [factor * n + share * p if p else factor * n for n, p in zip(numbers, paid, strict=True)],
        denominator,
    )


def lowest(numbers: Sequence[int], denominator: int) -> Whole:
    """The same numbers over the least denominator."""
    divisor = math.gcd(denominator, *numbers)
    if divisor == 1:
        return tuple(numbers), denominator
    return tuple([number // divisor for number in numbers]), denominator // divisor


def _solve_cyclic(
    model: ExactModel, followed: Followed, component: list[int], known: dict[int, Whole]
) -> None:
    """Solve a component with a cycle in fractions, all states after it being known."""
    solved: dict[int, list[Any] | None] = {
        target: as_fractions(known[target])
        for state in component
        for target, _ in followed.rows[state]
        if target in known
    }
    payments = {
        state * model.n_actions + action: model.features[state]
        for state in component
        for action in followed.policy[state]
    }
    solve_component(model, followed, payments, component, solved)
    for state in component:
        found = solved[state]
        assert found is not None
        known[state] = as_whole(found)


def as_whole(fractions: Sequence[Any]) -> Whole:
    """Rationals as whole numbers over their least common denominator."""
    above, below = fmpq_mat(1, len(fractions), fractions).numer_denom()
    return tuple(map(int, above.entries())), int(below)


def as_fractions(whole: Whole) -> list[Any]:
    """The rationals that whole numbers over a denominator stand for."""
    numbers, denominator = whole
    return [fmpq(number, denominator) for number in numbers]
