"""Lessons that survive lies, and attacks on lessons, against all subsets by brute force."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from itertools import combinations, combinations_with_replacement

import numpy as np
import pytest

import didact
from didact.bec.classes import shown_pairs
from didact.errors import DidactError, InvalidInput
from didact.mdp import Demonstration, Task
from didact.proofcheck import ProofError, check_proof
from didact.teaching import attack, check, teach, teach_robust
from didact.teaching.lesson import check_document
from didact.teaching.loss.search import remaining_loss
from didact.teaching.loss.space import weight_space
from didact.teaching.robust import fewest_excluding
from tests.effort import chunks, number


def tied_world(seed: int) -> Task:
    """A small grid whose whole weights tie actions."""
    rng = random.Random(seed)
    rows = ["".join(rng.choice("abc") for _ in range(3)) for _ in range(3)]
    rows[0] = "abc"
    weights = {letter: rng.randint(-2, 2) for letter in "abc"}
    return didact.gridworld(rows, weights, discount="0.9", name=f"tied {seed}")


def worlds(n: int) -> list[Task]:
    return [
        didact.make("random-grid", size=3, n_features=3, seed=seed)
        if seed % 2
        else tied_world(seed)
        for seed in range(n)
    ]


def least_to_drop(
    shown: list[Demonstration], is_wrong: Callable[[list[Demonstration]], bool]
) -> int:
    """The fewest demonstrations without which the others leave a learner wrong: all subsets.

    What is shown twice says nothing more, so each set of different ones is tried once.
    """
    tried: dict[frozenset[object], bool] = {}
    for size in range(len(shown) + 1):
        for dropped in combinations(range(len(shown)), size):
            kept = [d for i, d in enumerate(shown) if i not in dropped]
            key = frozenset(tuple(d) for d in kept)
            if key not in tried:
                tried[key] = is_wrong(kept)
            if tried[key]:
                return size
    return len(shown) + 1


def test_the_fewest_that_exclude_a_wrong_reward_are_those_of_all_subsets() -> None:
    tried = 0
    for task in worlds(number(8, 40)):
        bec = didact.equivalence_class(task, arithmetic="exact")
        pairs = [
            Demonstration([(s, a)])
            for s in range(task.mdp.n_states)
            for a in bec.plan.optimal_actions(s)
        ]
        rng = random.Random(task.name)
        shown = [rng.choice(pairs) for _ in range(9)]
        lesson = teach(task, horizon=1)
        shown = (list(lesson.demonstrations) + shown)[:11]
        if bec.cone.n_facets + len(bec.cone.equalities):
            least = least_to_drop(shown, lambda kept, task=task: not check(task, kept).teaches)
            assert len(fewest_excluding(bec, shown)) == least
            tried += 1
    assert tried


def cheapest_by_force(task: Task, demand: int, most: int) -> int | None:
    """The fewest single steps, repeats allowed, without any demand - 1 of which all is taught."""
    bec = didact.equivalence_class(task, arithmetic="exact")
    useful = [
        Demonstration([(s, a)])
        for s in range(task.mdp.n_states)
        for a in bec.plan.optimal_actions(s)
    ]
    for size in range(most + 1):
        for chosen in combinations_with_replacement(useful, size):
            if len(fewest_excluding(bec, chosen)) >= demand:
                return size
    return None


def test_robust_lessons_are_the_cheapest_of_all() -> None:
    tried = 0
    for seed in range(number(12, 40)):
        task = tied_world(seed)
        bec = didact.equivalence_class(task, arithmetic="exact")
        if not bec.cone.n_facets + len(bec.cone.equalities):
            continue
        lesson = teach_robust(task, 1, detect=True, horizon=1)
        assert len(fewest_excluding(bec, lesson.demonstrations)) >= 2
        assert lesson.lower_bound is not None
        assert lesson.lower_bound <= lesson.cost
        if lesson.cost <= 4:
            assert cheapest_by_force(task, 2, lesson.cost) == lesson.cost
            tried += 1
    assert tried


def attacked_world(seed: int) -> Task:
    """Worlds of several kinds, every third with ties."""
    if seed % 3 == 0:
        return tied_world(seed)
    if seed % 3 == 1:
        return didact.make("random-grid", size=4 + seed % 2, n_features=4, seed=seed)
    return didact.make("garnet", n_states=8, n_actions=3, n_features=4, seed=seed)


@pytest.mark.parametrize("seed", chunks(5, 50))
def test_no_random_attack_of_so_many_lies_succeeds(seed: int) -> None:
    """Half of the 200 attacks draw a reward; half drop as many again, which any reward may do."""
    rng = random.Random(seed)
    task, lies = attacked_world(seed), 1 + seed % 2
    lesson = teach_robust(task, lies, horizon=1 + seed % 4)
    bec, shown = lesson.bec, lesson.demonstrations
    rows = bec.rows.normals
    said = [set(bec.rows.stated_by(shown_pairs(bec.members, [d])).tolist()) for d in shown]
    assert attack(task, lesson).survives >= lies
    for _ in range(100):
        forged = rng.sample(range(len(said)), lies) if said else []
        kept = [each for i, each in enumerate(said) if i not in forged]
        weights = task.weights + 10 ** rng.uniform(-4, 1) * _direction(rng, len(task.weights))
        worths = rows @ weights
        is_wrong = (worths < -1e-9).any()
        excluding = sum(any(worths[row] < -1e-9 for row in each) for each in kept)
        assert not is_wrong or excluding > lies  # the learner drops it: more than it forgives
    for _ in range(100):  # the forged fit a wrong reward, which the learner forgives as many others
        gone = rng.sample(range(len(shown)), 2 * lies) if shown else []
        assert check(task, [d for i, d in enumerate(shown) if i not in gone], bec=bec).teaches


def _direction(rng, k):
    return np.array([rng.gauss(0, 1) for _ in range(k)])


def test_single_steps_cost_three_times_as_much_and_the_checker_agrees() -> None:
    task = didact.make("random-grid", size=9, seed=0)
    plain = teach(task, teacher="exact", horizon=1)
    for lies, detect, times in ((1, False, 3), (1, True, 2), (2, False, 5), (0, False, 1)):
        lesson = teach_robust(task, lies, detect=detect, horizon=1)
        assert lesson.cost == lesson.lower_bound == times * plain.cost
        assert lesson.is_fewest
    assert "lies" in lesson.settings


def test_forged_demands_are_refused() -> None:
    task = didact.make("random-grid", size=4, n_features=3, seed=1)
    lesson = teach_robust(task, 1, horizon=3)
    document = json.loads(json.dumps(lesson.document(), default=str))
    assert "with 3 that exclude" in check_document(task, document)
    own = json.loads(json.dumps(didact.mdp.files.task_document(task), default=str))

    def refused(change) -> bool:
        forged = json.loads(json.dumps(document))
        change(forged)
        try:
            check_proof(own, forged)
        except ProofError:
            return True
        return False

    part = document["proof"]["fewest"]
    for demand in (0, 1, 2, 4, 5, "3", None, [3]):
        assert refused(lambda f, d=demand: f["proof"]["fewest"].update(demand=d)), demand
    bound = int(part["bound"])

    def raised(f) -> None:
        f["proof"]["fewest"].update(demand=6, bound=2 * bound)
        f.update(lower_bound=2 * bound)
        f["settings"].update(lies=5, detect=True)

    assert refused(raised)
    assert refused(lambda f: f["settings"].update(lies=2))
    assert refused(lambda f: f["settings"].update(detect=True))
    assert refused(lambda f: f["proof"]["fewest"].update(member_cost=[[0, 1]]))

    def dropped(f) -> None:
        f["demonstrations"].pop()
        f["proof"]["demonstrations"].pop()

    assert refused(dropped)


@pytest.mark.parametrize("seed", range(3))
def test_attacks_that_cost_a_loss_are_those_of_all_subsets(seed: int) -> None:
    task = didact.make("random-grid", size=3, n_features=3, seed=seed)
    lesson = teach_robust(task, 1, detect=True, horizon=2)
    shown = list(lesson.demonstrations)[:8]
    bec = lesson.bec
    for share in (0.01, 0.2):
        try:
            found = attack(task, shown, loss=f"{100 * share}%")
        except InvalidInput:
            assert remaining_loss(bec, [])[0].share < share
            continue
        assert found.is_fewest
        best = least_to_drop(
            shown, lambda kept, share=share: remaining_loss(bec, kept)[0].share >= share
        )
        assert len(found.demonstrations) == best
        flipped = attack(task, shown, loss=f"{100 * share}%", flip=True)
        assert len(flipped.demonstrations) == -(-best // 2)
        assert len(flipped.flipped) == best // 2
        rewards = rewards_around(bec, np.random.default_rng(seed))
        forced = fewest_flips_by_force(bec, shown, rewards, drop=True, share=share)
        assert len(flipped.demonstrations) == forced


def rewards_around(bec, rng) -> np.ndarray:
    """Rewards that keep the ties of w*, rewards that break only these, and others."""
    rows, true = bec.rows.normals, bec.task.weights
    equal = rows[list(bec.cone.equalities)]
    k, scale = len(true), np.abs(true).max() or 1.0
    drawn = scale * rng.normal(size=(1500, k)) * 10 ** rng.uniform(-1, 1, size=(1500, 1))
    within = drawn - drawn @ np.linalg.pinv(equal) @ equal if len(equal) else drawn
    near = 1e-4 * drawn[:500]
    return np.concatenate([true + within, true + near, drawn, -true[None]])


def fewest_flips_by_force(bec, shown, rewards, *, drop, share=0.0) -> int:
    """The fewest demonstrations to forge, whatever they then say: all subsets and all steps.

    The learner keeps the rewards that the fewest demonstrations exclude. share: what it is to lose.
    """
    task, rows = bec.task, bec.rows.normals
    said = [bec.rows.stated_by(shown_pairs(bec.members, [d])) for d in shown]
    values = rewards @ rows.T
    wrong = (values < -1e-7).any(axis=1)
    if share:
        space = weight_space(bec)
        losses = space.losses.of(rewards).losses
        wrong &= losses >= share * space.spread
    rewards, values = rewards[wrong], values[wrong]
    against = np.array([(values[:, each] < -1e-7).any(axis=1) for each in said]).T.astype(int)
    going = ~task.mdp.terminal
    optimal = [didact.solve(task.mdp, w).optimal[going].ravel() for w in [task.weights, *rewards]]
    astray = ~np.array(optimal)
    # What a forged step does: 1 where it excludes w* and not the reward, -1 the other way round.
    kinds = np.unique(astray[:1].astype(int) - astray[1:], axis=1)
    found = np.unique(np.concatenate([against, kinds], axis=1), axis=0)
    against, kinds = found[:, : len(shown)], found[:, len(shown) :]
    if drop:  # a dropped one excludes nobody
        kinds = np.concatenate([kinds, np.zeros((len(kinds), 1), dtype=int)], axis=1)
    for size in range(len(shown) + 1):
        forged = list(combinations_with_replacement(range(kinds.shape[1]), size))
        sums = np.array([kinds[:, list(each)].sum(axis=1) for each in forged]).max(axis=0)
        for chosen in combinations(range(len(shown)), size):
            kept = [i for i in range(len(shown)) if i not in chosen]
            if (against[:, kept].sum(axis=1) <= sums).any():
                return size
    return len(shown) + 1


def test_flips_are_those_of_all_subsets_whatever_the_forged_ones_say() -> None:
    """A reward that only breaks ties fits no step that excludes the true one."""
    tried, ties = 0, 0
    for seed in (12, *range(number(4, 60))):
        task = (
            didact.make("random-grid", size=3, n_features=3, seed=seed)
            if seed % 2
            else tied_world(seed)
        )
        bec = didact.equivalence_class(task, arithmetic="exact")
        if not bec.cone.n_facets + len(bec.cone.equalities):
            continue
        pairs = [
            Demonstration([(s, a)])
            for s in range(task.mdp.n_states)
            for a in bec.plan.optimal_actions(s)
        ]
        rng = random.Random(seed)
        lesson = teach_robust(task, 1, detect=True, horizon=1)
        shown = (list(lesson.demonstrations) + [rng.choice(pairs) for _ in range(3)])[:9]
        rewards = rewards_around(bec, np.random.default_rng(seed))
        dropped = attack(task, shown)
        for drop in (True, False):
            found = attack(task, shown, drop=drop, flip=True)
            assert found.is_fewest
            least = fewest_flips_by_force(bec, shown, rewards, drop=drop)
            assert len(found.demonstrations) == least, (seed, drop)
            assert set(found.flipped) <= set(found.demonstrations)
            assert drop or found.flipped == found.demonstrations
            tried += 1
        ties += len(found.demonstrations) > -(-len(dropped.demonstrations) // 2)
    assert tried
    assert ties  # where a flip counts as a drop


def test_bad_input_is_one_line() -> None:
    task = didact.make("six-cell")
    lesson = teach(task)
    for call in (
        lambda: teach_robust(task, -1),
        lambda: teach_robust(task, 1, cost=len),
        lambda: teach_robust(task, 1, closed=True),
        lambda: teach_robust(task, 3, repeats=False),
        lambda: attack(task, [[(3, 1)]]),
        lambda: attack(task, lesson, loss="900%"),
        lambda: attack(task, lesson, flip="yes"),
        lambda: attack(task, lesson, drop=None),
        lambda: attack(task, lesson, drop=False),
    ):
        with pytest.raises(DidactError):
            call()
