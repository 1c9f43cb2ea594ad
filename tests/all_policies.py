"""What lessons may cost, by asking every policy of a tiny model whether it fits."""

from itertools import product

import numpy as np
from scipy.optimize import linprog
from scipy.spatial import ConvexHull


def counts_and_losses(task):
    """Feature counts from the start, and losses, of all policies: the corners, each once.

    Whatever is best for some weights is so at a corner, and what it loses least is lost there.
    """
    mdp = task.mdp
    policies = np.array(list(product(range(mdp.n_actions), repeat=mdp.n_states)))
    states, discount = np.arange(mdp.n_states), float(mdp.discount)
    moves, paid = _moves(mdp)[states, policies], _paid(mdp)[states, policies]
    after = np.linalg.solve(np.eye(mdp.n_states) - discount * moves, paid)
    counts = mdp.start.floats @ after
    _, kept = np.unique(np.round(counts, 9), axis=0, return_index=True)
    points = _corners(counts[np.sort(kept)])
    worths = points @ task.weights
    return points, worths.max() - worths


def _corners(points):
    """Those points that are no mean of others."""
    aside = points - points[0]
    _, sizes, basis = np.linalg.svd(aside, full_matrices=False)
    flat = aside @ basis[sizes > 1e-9].T
    if flat.shape[1] < 2:
        ends = {int(flat.sum(axis=1).argmin()), int(flat.sum(axis=1).argmax())}
        return points[sorted(ends)]
    return points[np.sort(ConvexHull(flat).vertices)]


def _moves(mdp):
    """Where actions lead (S, A, S), from terminal states nowhere."""
    rows = mdp.transitions
    table = np.zeros((mdp.n_states * mdp.n_actions, mdp.n_states))
    numbers = np.repeat(np.arange(len(table)), np.diff(rows.offsets))
    table[numbers, rows.successors] = rows.probabilities.floats
    table = table.reshape(mdp.n_states, mdp.n_actions, -1)
    table[mdp.terminal] = 0.0
    return table


def _paid(mdp):
    features = mdp.features.floats
    return features if features.ndim == 3 else np.repeat(features[:, None], mdp.n_actions, axis=1)


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
