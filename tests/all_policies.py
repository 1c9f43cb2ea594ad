"""What lessons may cost, by asking every policy of a tiny model whether it fits."""

from fractions import Fraction
from itertools import product

import numpy as np
from scipy.optimize import linprog
from scipy.spatial import ConvexHull

from tests.oracles import Plain, policy_sums
from tests.test_proofcheck import cone_multipliers


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


class EveryPolicy:
    """All deterministic policies of a task in fractions, those that lose most first.

    A policy is optimal for w where no row mu(s) - mu(s, a) of its own is negative. Its losses, its
    rows and whether weights fit (Farkas' lemma) are found without code of the package.
    """

    def __init__(self, task):
        plain, weights = Plain(task.mdp), task.true_weights.fractions()
        start = task.mdp.start.fractions()
        self.states, self.n_actions = self._reached(plain, start), plain.n_actions
        found = {}
        choices = [range(plain.n_actions) if s in self.states else [0] for s in range(len(start))]
        for choice in product(*choices):
            mu = policy_sums(plain, [{a: Fraction(1)} for a in choice], plain.phi)
            total = [sum(p * x[i] for p, x in zip(start, mu, strict=True)) for i in range(plain.k)]
            worth = sum(w * x for w, x in zip(weights, total, strict=True))
            pairs = product(self.states, range(plain.n_actions))
            rows = {(s, a): self._row(plain, mu, s, a) for s, a in pairs}
            found.setdefault(tuple(tuple(mu[s]) for s in self.states), (worth, rows))
        best = max(worth for worth, _ in found.values())
        losses = [(best - worth, rows) for worth, rows in found.values()]
        self.policies = sorted(losses, key=lambda policy: -policy[0])

    def _reached(self, plain, start):
        reached, ahead = set(), [s for s, p in enumerate(start) if p]
        while ahead:
            state = ahead.pop()
            if state not in reached and not plain.terminal[state]:
                reached.add(state)
                ahead += [t for a in range(plain.n_actions) for t in plain.row(state, a)]
        return sorted(reached)

    def _row(self, plain, mu, state, action):
        after = plain.row(state, action).items()
        ahead = [sum((p * mu[t][i] for t, p in after), Fraction(0)) for i in range(plain.k)]
        paid = plain.phi[state][action]
        return [m - x - plain.discount * y for m, x, y in zip(mu[state], paid, ahead, strict=True)]

    def most_within(self, rows):
        """The largest loss of a policy that is optimal inside the cone of rows that hold.

        Rows whose negative follows from the others are equal to zero there, the others above it.
        """
        ties = {r for r in rows if cone_multipliers([-x for x in r], list(rows)) is not None}
        return self.worst(strict=[r for r in rows if r not in ties], equal=ties)

    def worst(self, best=(), others=(), strict=(), equal=()):
        """The largest loss of a policy that is optimal for some weights; None where none are.

        Weights: for which pairs `best` are optimal and `others` not, r.w > 0 for rows `strict` and
        r.w = 0 for `equal`. 0 is among them, where nothing is strict.
        """
        for loss, rows in self.policies:
            above = [*strict, *(rows[pair] for pair in others)]
            zero = [*equal, *(rows[pair] for pair in best)]
            if fits_some(rows.values(), zero, above):
                return loss
        return None


def fits_some(weak, equal, strict):
    """Whether some w has r.w >= 0, = 0 and > 0 for these rows: else they add up to 0 > 0."""
    if not strict:
        return True
    rays = {(*row, 0) for row in weak if any(row)}
    rays |= {(*(sign * x for x in row), 0) for row in equal for sign in (1, -1) if any(row)}
    rays |= {(*row, 1) for row in strict}
    return cone_multipliers((*[0] * len(strict[0]), 1), sorted(rays)) is None
