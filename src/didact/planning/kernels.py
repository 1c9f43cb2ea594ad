"""Inner loops of the planners on flat arrays: row s*A + a, no checks, no allocation.

`successor` is the one next state of a row (its own state where the row is empty), `ends` marks
terminal states. `allowed` masks actions. Terminal states are worth their reward.
"""

from __future__ import annotations

from typing import Any

from didact.numerics.compiled import kernel


@kernel
def walk_functional_graph(
    n_states: int,
    n_columns: int,
    following: Any,
    ends: Any,
    payments: Any,
    discount: float,
    values: Any,
    seen: Any,
    path: Any,
) -> None:
    """values[s] = payments[s] + discount * values[following[s]], all columns, in O(S).

    Walks each path until it meets a solved state, a terminal one or itself; a cycle of length n
    is one equation: value = sum(discount^i * payment_i) / (1 - discount^n).
    `seen` and `path` are workspace of S entries; `seen` must come in as zeros.
    """
    for root in range(n_states):
        if seen[root] != 0:
            continue
        length = 0
        state = root
        while seen[state] == 0 and ends[state] == 0:
            seen[state] = 1
            path[length] = state
            length += 1
            state = following[state]
        if seen[state] == 0:
            seen[state] = 2
            for c in range(n_columns):
                values[state * n_columns + c] = payments[state * n_columns + c]
        elif seen[state] == 1:
            first = length - 1
            while path[first] != state:
                first -= 1
            power = discount ** (length - first)
            for c in range(n_columns):
                total = 0.0
                for i in range(length - 1, first - 1, -1):
                    total = payments[path[i] * n_columns + c] + discount * total
                values[state * n_columns + c] = total / (1.0 - power)
            seen[state] = 2
        for i in range(length - 1, -1, -1):
            state = path[i]
            if seen[state] == 1:
                after = following[state]
                for c in range(n_columns):
                    values[state * n_columns + c] = (
                        payments[state * n_columns + c] + discount * values[after * n_columns + c]
                    )
                seen[state] = 2


@kernel
def improve_deterministic(
    n_states: int,
    n_actions: int,
    successor: Any,
    ends: Any,
    allowed: Any,
    rewards: Any,
    discount: float,
    values: Any,
    policy: Any,
    tolerance: float,
) -> int:
    """Switch every state to its best action if that is better by the tolerance; count switches."""
    switched = 0
    for state in range(n_states):
        if ends[state] != 0:
            continue
        row = state * n_actions
        own = policy[state]
        best = rewards[row + own] + discount * values[successor[row + own]] + tolerance
        choice = own
        for action in range(n_actions):
            if allowed[row + action] != 0:
                value = rewards[row + action] + discount * values[successor[row + action]]
                if value > best:
                    best = value
                    choice = action
        if choice != own:
            policy[state] = choice
            switched += 1
    return switched


@kernel
def iterate_policies_deterministic(
    n_states: int,
    n_actions: int,
    successor: Any,
    ends: Any,
    allowed: Any,
    rewards: Any,
    discount: float,
    tolerance: float,
    most: int,
    policy: Any,
    values: Any,
    payments: Any,
    following: Any,
    seen: Any,
    path: Any,
) -> int:
    """Policy iteration with exact evaluation; the number of rounds, or -1 after `most` of them."""
    for state in range(n_states):
        if ends[state] != 0:
            payments[state] = rewards[state * n_actions]
    for rounds in range(most):
        for state in range(n_states):
            seen[state] = 0
            if ends[state] == 0:
                row = state * n_actions + policy[state]
                payments[state] = rewards[row]
                following[state] = successor[row]
        walk_functional_graph(n_states, 1, following, ends, payments, discount, values, seen, path)
        switched = improve_deterministic(
            n_states,
            n_actions,
            successor,
            ends,
            allowed,
            rewards,
            discount,
            values,
            policy,
            tolerance,
        )
        if switched == 0:
            return rounds + 1
    return -1


@kernel
def backup(
    n_states: int,
    n_actions: int,
    offsets: Any,
    successors: Any,
    probabilities: Any,
    ends: Any,
    allowed: Any,
    rewards: Any,
    discount: float,
    values: Any,
    policy: Any,
    tolerance: float,
) -> float:
    """One Gauss-Seidel Bellman sweep in place with greedy choice; the largest change."""
    largest = 0.0
    for state in range(n_states):
        row = state * n_actions
        if ends[state] != 0:
            best = rewards[row]
        else:
            own = policy[state]
            best = 0.0
            for i in range(offsets[row + own], offsets[row + own + 1]):
                best += probabilities[i] * values[successors[i]]
            best = rewards[row + own] + discount * best
            choice = own
            bar = best + tolerance
            for action in range(n_actions):
                if allowed[row + action] != 0 and action != own:
                    value = 0.0
                    for i in range(offsets[row + action], offsets[row + action + 1]):
                        value += probabilities[i] * values[successors[i]]
                    value = rewards[row + action] + discount * value
                    if value > bar:
                        bar = value
                        best = value
                        choice = action
            policy[state] = choice
        change = best - values[state]
        values[state] = best
        if change < 0.0:
            change = -change
        if change > largest:
            largest = change
    return largest


@kernel
def back_up_values(
    n_states: int,
    n_actions: int,
    offsets: Any,
    successors: Any,
    probabilities: Any,
    allowed: Any,
    rewards: Any,
    discount: float,
    values: Any,
    action_values: Any,
) -> float:
    """One Bellman backup: Q[row] = R[row] + discount * E[V(next)]; empty rows are worth R.

    Returns the residual: the largest |max over allowed actions of Q - V|.
    """
    largest = 0.0
    for state in range(n_states):
        best = -1e308
        for row in range(state * n_actions, (state + 1) * n_actions):
            total = 0.0
            for i in range(offsets[row], offsets[row + 1]):
                total += probabilities[i] * values[successors[i]]
            total = rewards[row] + discount * total
            action_values[row] = total
            if allowed[row] != 0 and total > best:
                best = total
        change = best - values[state]
        if change < 0.0:
            change = -change
        if change > largest:
            largest = change
    return largest


@kernel
def take_policy(
    n_states: int,
    n_actions: int,
    offsets: Any,
    successors: Any,
    probabilities: Any,
    ends: Any,
    rewards: Any,
    discount: float,
    policy: Any,
    chosen_offsets: Any,
    chosen_successors: Any,
    chosen_probabilities: Any,
    payments: Any,
) -> None:
    """Copy the rows that a policy chooses side by side, times the discount; and what they pay."""
    count = 0
    for state in range(n_states):
        chosen_offsets[state] = count
        row = state * n_actions
        if ends[state] == 0:
            row += policy[state]
            for i in range(offsets[row], offsets[row + 1]):
                chosen_successors[count] = successors[i]
                chosen_probabilities[count] = discount * probabilities[i]
                count += 1
        payments[state] = rewards[row]
    chosen_offsets[n_states] = count


@kernel
def residual_of(
    n_states: int, offsets: Any, successors: Any, weights: Any, payments: Any, values: Any, r: Any
) -> float:
    """r = payments - (I - W) values, W the discounted policy rows; its squared length."""
    norm = 0.0
    for state in range(n_states):
        total = payments[state] - values[state]
        for i in range(offsets[state], offsets[state + 1]):
            total += weights[i] * values[successors[i]]
        r[state] = total
        norm += total * total
    return norm


@kernel
def solve_policy(
    n_states: int,
    offsets: Any,
    successors: Any,
    weights: Any,
    payments: Any,
    reduction: float,
    most: int,
    values: Any,
    r: Any,
    shadow: Any,
    p: Any,
    v: Any,
    s: Any,
    t: Any,
) -> int:
    """BiCGSTAB on (I - W) values = payments until the residual is `reduction` times the first.

    r to t are workspace. Returns the number of steps, or -1 when the recurrence broke down or the
    residual did not shrink enough in `most` steps.
    """
    norm = residual_of(n_states, offsets, successors, weights, payments, values, r)
    for i in range(n_states):
        shadow[i] = r[i]
        p[i] = r[i]
    target = norm * reduction * reduction
    rho = norm
    for step in range(most):
        if norm <= target or norm == 0.0:
            return step
        slope = 0.0
        for state in range(n_states):
            total = p[state]
            for i in range(offsets[state], offsets[state + 1]):
                total -= weights[i] * p[successors[i]]
            v[state] = total
            slope += shadow[state] * total
        if slope == 0.0 or rho == 0.0:
            return -1
        alpha = rho / slope
        for i in range(n_states):
            s[i] = r[i] - alpha * v[i]
        ts = 0.0
        tt = 0.0
        for state in range(n_states):
            total = s[state]
            for i in range(offsets[state], offsets[state + 1]):
                total -= weights[i] * s[successors[i]]
            t[state] = total
            ts += total * s[state]
            tt += total * total
        omega = ts / tt if tt > 0.0 else 0.0
        norm = 0.0
        following = 0.0
        for i in range(n_states):
            values[i] += alpha * p[i] + omega * s[i]
            r[i] = s[i] - omega * t[i]
            norm += r[i] * r[i]
            following += shadow[i] * r[i]
        if not norm < 1e300 or (omega == 0.0 and norm > target):
            return -1
        if omega != 0.0:
            beta = following / rho * (alpha / omega)
            for i in range(n_states):
                p[i] = r[i] + beta * (p[i] - omega * v[i])
        rho = following
    return most if norm <= target else -1


@kernel
def iterate_policies(
    n_states: int,
    n_actions: int,
    offsets: Any,
    successors: Any,
    probabilities: Any,
    ends: Any,
    allowed: Any,
    rewards: Any,
    discount: float,
    tolerance: float,
    unit: float,
    most: int,
    policy: Any,
    values: Any,
    chosen_offsets: Any,
    chosen_successors: Any,
    chosen_probabilities: Any,
    payments: Any,
    r: Any,
    shadow: Any,
    p: Any,
    v: Any,
    s: Any,
    t: Any,
) -> int:
    """Greedy sweeps and inexact evaluations in turn, until a sweep changes nothing that counts.

    Ends when a sweep changes values by at most 16 units of the largest one, or does not get
    smaller any more and is below 1e-12 of it. The number of rounds, or -1 after `most` of them.
    """
    best = 1e308
    stalled = 0
    for rounds in range(most):
        change = backup(
            n_states, n_actions, offsets, successors, probabilities, ends, allowed, rewards,
            discount, values, policy, tolerance,
        )  # fmt: skip
        reach = 0.0
        for state in range(n_states):
            if values[state] > reach:
                reach = values[state]
            elif -values[state] > reach:
                reach = -values[state]
        if change < 0.5 * best:
            best = change
            stalled = 0
        else:
            stalled += 1
        if change <= 16.0 * unit * reach or (stalled >= 8 and change <= 1e-12 * reach):
            return rounds + 1
        take_policy(
            n_states, n_actions, offsets, successors, probabilities, ends, rewards, discount,
            policy, chosen_offsets, chosen_successors, chosen_probabilities, payments,
        )  # fmt: skip
        steps = solve_policy(
            n_states, chosen_offsets, chosen_successors, chosen_probabilities, payments,
            0.05 if stalled < 8 else 1e-12, 200,
            values, r, shadow, p, v, s, t,
        )  # fmt: skip
        if steps < 0:
            for state in range(n_states):
                if not (-1e300 < values[state] < 1e300):
                    values[state] = 0.0
            for _ in range(20):
                backup(
                    n_states, n_actions, offsets, successors, probabilities, ends, allowed,
                    rewards, discount, values, policy, tolerance,
                )  # fmt: skip
    return -1
