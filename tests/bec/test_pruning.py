"""Least ratios of whole numbers, decided exactly where floats cannot; rows of sure steps."""

import random
from fractions import Fraction

import didact
from didact.bec.linear import primitive
from didact.bec.pruning import least_ratios
from didact.planning.successor import exact_successor_features


def test_least_ratios_are_those_of_fractions():
    draw = random.Random(0)
    for trial in range(400):
        bits = draw.choice((3, 60, 200, 2000))
        n = draw.randint(1, 12)
        heights = [draw.randint(1, 2**bits) for _ in range(n)]
        values = [draw.randint(-(2**bits), 2**bits) for _ in range(n)]
        for _ in range(trial % 4):
            place, other = draw.randrange(n), draw.randrange(n)
            near = draw.choice((0, 0, 1, -1))
            values[place], heights[place] = values[other] * 2**70 + near, heights[other] * 2**70
        ratios = [Fraction(v, h) for v, h in zip(values, heights, strict=True)]
        tied, following = least_ratios(values, heights)
        assert tied == [i for i, ratio in enumerate(ratios) if ratio == min(ratios)]
        rest = [ratio for ratio in ratios if ratio != min(ratios)]
        assert following == -1 if not rest else ratios[following] == min(rest)


def test_a_quotient_without_a_float_is_compared_exactly():
    assert least_ratios([-(10**400), -(10**400) - 1, 5], [1, 1, 1]) == ([1], 0)
    assert least_ratios([1, 0], [10**400, 1]) == ([1], 0)


def test_rows_of_sure_steps_are_differences_of_pairs():
    for discount in ("0", "1/2", "0.95"):
        for terminals in (0, 2):
            task = didact.make(
                "random-grid", size=4, n_features=3, discount=discount, terminals=terminals
            )
            known = didact.equivalence_class(task, arithmetic="exact")
            pairs = exact_successor_features(task.mdp, known.plan).pairs
            for (s, a, b), number in zip(known.rows.statements, known.rows.number, strict=True):
                row = primitive(pairs[s, a] - pairs[s, b])
                assert row == (known.rows.exact[number] if number >= 0 else (0, 0, 0))
