"""What lessons may cost, by asking every policy of a tiny model whether it fits."""

from itertools import product

import numpy as np
from scipy.optimize import linprog

from didact.planning import evaluate, solve, successor_features


def counts_and_losses(task):
    """Feature counts from the start, and losses, of all deterministic policies, each point once."""
    mdp, plan, start = task.mdp, solve(task), task.mdp.start.floats
    found = {}
    for policy in product(range(mdp.n_actions), repeat=mdp.n_states):
        counts = start @ successor_features(mdp, np.array(policy)).states
        loss = evaluate(task, np.array(policy), plan=plan).policy_loss
        found.setdefault(tuple(np.round(counts, 9)), (counts, loss))
    return [np.array(part) for part in zip(*found.values(), strict=True)]


def largest_loss(counts, losses, rows):
    """The largest loss of a point that is best, by some room, for weights in the cone."""
    for number in np.argsort(-losses):
        ahead = np.delete(counts[number] - counts, number, axis=0)
        stacked = np.concatenate([ahead, rows])
        found = linprog(
            [*np.zeros(counts.shape[1]), -1.0],
            A_ub=np.column_stack([-stacked, np.ones(len(stacked))]),
            b_ub=np.zeros(len(stacked)),
            bounds=[(-1, 1)] * counts.shape[1] + [(None, 1)],
        )
        if found.status == 0 and found.x[-1] > 1e-9:
            return losses[number]
    return 0.0
