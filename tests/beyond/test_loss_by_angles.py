"""Good-enough lessons of tiny models with two features, against every direction of weights.

With two features weights are angles. Policies change only where two of them have the same return,
so one direction between any two such angles stands for all; nothing is sampled.
"""

from itertools import combinations, pairwise

import numpy as np
import pytest

import didact
from didact.bec.classes import shown_pairs
from didact.teaching.loss.space import weight_space
from tests import effort
from tests.all_policies import counts_and_losses

SHARES = ("0%", "1%", "10%", "60%")


def model(seed):
    return didact.make(
        "garnet", n_states=3, n_actions=2 + seed % 2, n_features=2, branching=1 + seed % 2,
        seed=seed,
    )  # fmt: skip


def directions(bec):
    """One direction inside each class of policies and of rows, (n, 2)."""
    counts, _ = counts_and_losses(bec.task)
    apart = np.concatenate([(counts[:, None] - counts[None]).reshape(-1, 2), bec.rows.normals])
    apart = apart[np.linalg.norm(apart, axis=1) > 1e-9]
    angles = np.arctan2(apart[:, 1], apart[:, 0]) + np.pi / 2
    angles = np.unique(np.round(np.concatenate([angles, angles + np.pi]) % (2 * np.pi), 9))
    following = np.append(angles[1:], angles[:1] + 2 * np.pi)
    middles = ((angles + following) / 2)[following - angles > 1e-6]
    return np.column_stack([np.cos(middles), np.sin(middles)])


class Every:
    """What every set of pairs may cost, by every direction."""

    def __init__(self, bec):
        self.bec = bec
        self.weights = directions(bec)
        self.lost = weight_space(bec).losses.of(self.weights)
        self.pairs = [tuple(pair) for pair in np.argwhere(bec.plan.optimal).tolist()]

    def half_spaces(self, chosen):
        shown = shown_pairs(self.bec.members, [didact.Demonstration([pair]) for pair in chosen])
        rows = self.bec.rows.normals[self.bec.rows.stated_by(shown)]
        fits = (self.weights @ rows.T >= -1e-9).all(axis=1)
        return self.lost.losses[fits].max(initial=0.0)

    def planner(self, chosen):
        fits = np.all([self.lost.optimal[:, s, a] for s, a in chosen], axis=0)
        return self.lost.losses[fits].max(initial=0.0) if chosen else self.lost.losses.max()

    def fewest(self, bound, *kinds):
        for size in range(len(self.pairs) + 1):
            for chosen in combinations(self.pairs, size):
                if all(kind(chosen) <= bound + 1e-7 for kind in kinds):
                    return size
        return None


def compared(seed, share):
    """The sizes of `teach` and of all subsets, for half-spaces and for both kinds of learners."""
    task = model(seed)
    bec = didact.equivalence_class(task)
    if bec.cone.equalities or not bec.cone.n_facets:
        return None
    every = Every(bec)
    found = []
    for learner, kinds in (
        ("half-spaces", [every.half_spaces]),
        ("both", [every.half_spaces, every.planner]),
    ):
        settings = {"teacher": "exact", "horizon": 1, "loss": share, "learner_model": learner}
        lesson = didact.teach_within(task, bec=bec, starts="all", order="teacher", **settings)
        found.append((lesson, every.fewest(lesson.loss_bound, *kinds)))
    return found


def check_models(seeds):
    """How many lessons were compared; those that a search found for planners may be too small."""
    n_compared, n_small = 0, 0
    for seed in seeds:
        for share in SHARES:
            found = compared(seed, share)
            if found is None:
                continue
            (half, fewest), (both, least) = found
            assert half.loss_status == "enumerated", (seed, share)
            assert len(half.demonstrations) == half.lower_bound == fewest, (seed, share)
            assert both.lower_bound <= least, (seed, share)
            assert len(both.demonstrations) <= least, (seed, share)
            n_small += len(both.demonstrations) < least
            n_compared += 1
    assert n_small <= n_compared // 50
    return n_compared


def test_lessons_of_tiny_models_are_the_smallest_of_all_subsets():
    assert check_models(range(effort.number(6, 25))) >= effort.number(9, 50)


@pytest.mark.slow
@pytest.mark.parametrize("chunk", range(10))
def test_hundreds_of_tiny_models(chunk):
    assert check_models(range(25 + 40 * chunk, 65 + 40 * chunk)) >= 60


@pytest.mark.parametrize("seed", range(12))
def test_more_shown_never_costs_more_and_everything_shown_nothing(seed):
    bec = didact.equivalence_class(model(seed))
    if not bec.cone.n_facets:
        return
    every = Every(bec)
    for kind in (every.half_spaces, every.planner):
        losses = [kind(tuple(every.pairs[:n])) for n in range(len(every.pairs) + 1)]
        assert all(after <= before + 1e-9 for before, after in pairwise(losses))
    assert every.half_spaces(tuple(every.pairs)) == pytest.approx(0.0, abs=1e-9)
