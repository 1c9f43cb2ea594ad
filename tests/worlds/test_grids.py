"""Grids against a step-by-step oracle on coordinates, in fractions."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from didact.errors import InvalidInput, InvalidParameter
from didact.worlds import gridworld, make
from didact.worlds.grids import (
    _STAYS_CONNECTED,
    draw_free_cells,
    draw_unit_weights,
    grid_transitions,
    neighbours,
)

STEPS = {"up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1)}
SIDES = {
    "up": ("left", "right"),
    "down": ("left", "right"),
    "left": ("up", "down"),
    "right": ("up", "down"),
}


def expected_row(free, cell, action, slip):
    """Where an action leads, as {cell: probability}, by walking on coordinates."""
    chances = {action: 1 - slip, **dict.fromkeys(SIDES[action], slip / 2)}
    row = {}
    for direction, chance in chances.items():
        to = (cell[0] + STEPS[direction][0], cell[1] + STEPS[direction][1])
        inside = 0 <= to[0] < free.shape[0] and 0 <= to[1] < free.shape[1]
        end = to if inside and free[to] else cell
        row[end] = row.get(end, Fraction(0)) + chance
    return {end: chance for end, chance in row.items() if chance}


def exact_row(transitions, state, action):
    palette, codes = transitions.exact()
    row = state * transitions.n_actions + action
    span = range(int(transitions.offsets[row]), int(transitions.offsets[row + 1]))
    return {int(transitions.successors[i]): palette[codes[i]] for i in span}


masks = st.tuples(st.integers(1, 5), st.integers(1, 5)).flatmap(
    lambda sides: st.lists(
        st.lists(st.sampled_from([True, True, False]), min_size=sides[1], max_size=sides[1]),
        min_size=sides[0],
        max_size=sides[0],
    )
)


@given(masks, st.sampled_from(["0", "0.1", "1/3", "0.123456789012345678", "1"]), st.data())
def test_transitions_are_the_walked_ones_exactly(mask, slip, data):
    free = np.array(mask)
    cells = [tuple(cell) for cell in np.argwhere(free).tolist()]
    if not cells:
        return
    ends = np.array([data.draw(st.booleans()) for _ in cells])
    transitions = grid_transitions(free, ends, Fraction(slip))
    number = {cell: i for i, cell in enumerate(cells)}
    for state, cell in enumerate(cells):
        for action, name in enumerate(STEPS):
            row = expected_row(free, cell, name, Fraction(slip))
            expected = {} if ends[state] else {number[c]: p for c, p in row.items()}
            assert exact_row(transitions, state, action) == expected


def test_floats_are_the_exact_probabilities():
    transitions = make("random-grid", size=(3, 4), slip="1/3").mdp.transitions
    exact = [float(value) for value in transitions.probabilities.fractions()]
    assert transitions.probabilities.floats == pytest.approx(exact, rel=1e-15)
    assert not transitions.is_deterministic()
    assert make("random-grid", size=3).mdp.is_deterministic()


def test_slip_reads_numbers_exactly_as_written():
    for slip in (0.1, "0.1", "1/10", Fraction(1, 10), np.float64(0.1)):
        transitions = make("random-grid", size=3, slip=slip).mdp.transitions
        assert exact_row(transitions, 4, 0) == {
            1: Fraction(9, 10),
            3: Fraction(1, 20),
            5: Fraction(1, 20),
        }


def test_neighbours_of_a_two_by_two_grid_with_a_wall():
    free = np.array([[True, True], [False, True]])
    assert neighbours(free).tolist() == [[0, 0, 0, 1], [1, 2, 0, 1], [1, 2, 2, 2]]


def test_random_grid_is_the_papers():
    task = make("random-grid", seed=3)
    mdp = task.mdp
    assert (mdp.n_states, mdp.n_actions, mdp.n_features) == (81, 4, 8)
    assert mdp.exact_discount == Fraction(95, 100)
    assert mdp.action_names == ("up", "down", "left", "right")
    assert set(mdp.start.fractions()) == {Fraction(1, 81)}
    assert not mdp.terminal.any()
    features = mdp.features.floats
    assert set(np.unique(features)) == {0.0, 1.0}
    assert (features.sum(axis=1) == 1).all()
    assert np.abs(task.weights).sum() == pytest.approx(1.0)
    assert task.layout == {"kind": "grid", "rows": 9, "columns": 9}


def test_a_seed_names_the_same_weights_and_colours_whatever_the_options():
    plain = make("random-grid", size=(6, 7), seed=5)
    other = make("random-grid", size=(6, 7), seed=5, slip=0.2, walls=8, terminals=3, discount=0.5)
    assert (plain.weights == other.weights).all()
    cells = list(other.layout["cells"])
    assert (plain.mdp.features.floats[cells] == other.mdp.features.floats).all()
    assert other.mdp.n_states == 34
    assert other.mdp.terminal.sum() == 3
    assert (plain.weights != make("random-grid", size=(6, 7), seed=6).weights).any()


def test_features_are_uniform_over_cells():
    active = make("random-grid", size=200, n_features=5).mdp.features.floats.sum(axis=0)
    assert active.sum() == 40_000
    chi_square = ((active - 8000) ** 2 / 8000).sum()
    assert chi_square < 30


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"size": 0}, "size must be a whole number from 1"),
        ({"size": (2, 3, 4)}, r"size must be a whole number or a pair \(rows, columns\)"),
        ({"size": 2.5}, "size must be a whole number from 1 to 1000000; it is 2.5"),
        ({"size": True}, "size must be a whole number"),
        ({"size": 1_000_000}, "size must be at most 12500000 cells"),
        ({"size": 3000, "n_features": 100}, "size must be at most"),
        ({"n_features": 0}, "n_features must be a whole number from 1; it is 0"),
        ({"slip": 1.5}, "slip must be a probability from 0 to 1; it is 1.5"),
        ({"slip": "much"}, "slip must be .*'much'"),
        ({"slip": float("nan")}, "slip must be a finite number"),
        ({"terminals": 81}, "terminals must be a whole number from 0 to 80; it is 81"),
        ({"walls": -1}, "walls must be a share below 1 or a whole number from 0 to 80"),
        ({"walls": 1.5}, "walls must be"),
        ({"walls": 81}, "walls must be a share below 1"),
        ({"walls": 80, "terminals": 1}, "terminals must be a whole number from 0 to 0"),
        ({"discount": 1}, "discount must be .* less than 1"),
        ({"seed": -1}, "seed must be"),
    ],
)
def test_bad_parameters_are_one_line(parameters, message):
    with pytest.raises(InvalidInput, match=message):
        make("random-grid", **parameters)


@pytest.mark.parametrize("size", [200, pytest.param(1000, marks=pytest.mark.slow)])
def test_a_million_slippery_cells_are_built(size):
    task = make("random-grid", size=size, n_features=4, slip="0.1")
    transitions = task.mdp.transitions
    assert task.mdp.n_states == size**2
    assert transitions.n_entries == 12 * size**2 - 2 * 4
    middle = size * size // 2 + size // 2
    row = slice(int(transitions.offsets[middle * 4]), int(transitions.offsets[middle * 4 + 1]))
    assert transitions.successors[row].tolist() == [middle - size, middle - 1, middle + 1]
    assert transitions.probabilities.floats[row].tolist() == [0.9, 0.05, 0.05]


def test_letters_make_features_weights_walls_ends_and_starts():
    task = gridworld(
        ["..#", "S.G"],
        {".": -1, "G": 10, "S": "-0.5"},
        terminal="G",
        start="S",
        names={".": "floor"},
        name="room",
    )
    assert task.name == "room"
    assert task.mdp.feature_names == ("floor", "G", "S")
    assert task.true_weights.fractions() == [-1, 10, Fraction(-1, 2)]
    assert task.mdp.features.floats.argmax(axis=1).tolist() == [0, 0, 2, 0, 1]
    assert task.mdp.terminal.tolist() == [False, False, False, False, True]
    assert task.mdp.start.fractions() == [0, 0, 1, 0, 0]
    assert task.layout == {"kind": "grid", "rows": 2, "columns": 3, "cells": (0, 1, 3, 4, 5)}


def test_the_grid_world_reads_a_command_line():
    drawn = gridworld(
        ["..#", "S.G"], {".": -1, "S": -1, "G": 10}, terminal="G", names={"G": "goal"}
    )
    typed = make("grid", rows="..#/S.G", weights=".=-1,S=-1,G=10", terminal="G", names="G=goal")
    lines = make("grid", rows="..#\nS.G\n", weights=".=-1,S=-1,G=10", terminal="G", names="G=goal")
    for task in (typed, lines):
        assert task.mdp.feature_names == drawn.mdp.feature_names == (".", "S", "goal")
        assert task.true_weights.fractions() == drawn.true_weights.fractions()
        assert (task.mdp.features.floats == drawn.mdp.features.floats).all()
        assert task.mdp.transitions.successors.tolist() == drawn.mdp.transitions.successors.tolist()


def test_letters_of_one_name_are_one_feature():
    names = {".": "floor", "S": "floor"}
    task = gridworld(["S.G"], {".": -1, "S": -1, "G": 1}, names=names, start="S", terminal="G")
    assert task.mdp.feature_names == ("floor", "G")
    assert task.mdp.features.floats.tolist() == [[1, 0], [1, 0], [0, 1]]
    with pytest.raises(InvalidParameter, match="'floor' weighs -1 and 2"):
        gridworld(["S.G"], {".": -1, "S": 2, "G": 1}, names=names)


def test_several_start_letters_share_and_ends_are_no_starts():
    task = gridworld(["aabG"], {"a": 0, "b": 0, "G": 1}, terminal="G", start="abG")
    assert task.mdp.start.fractions() == [Fraction(1, 3)] * 3 + [0]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rows": []}, "rows must be strings"),
        (
            {"rows": ["..", "."]},
            r"rows must be equally long; rows\[0\] has 2 letters and rows\[1\] 1",
        ),
        ({"rows": [1, 2]}, "rows must be strings"),
        ({"rows": ["##"]}, "rows must have a cell that is no wall"),
        ({"weights": {".": -1}}, "weights must name every letter that is no wall; 'G' is missing"),
        ({"weights": {".": 0, "G": 1, "X": 2}}, "weights names 'X', which no free cell"),
        ({"weights": {".": 0, "G": "ten"}}, r"weights\['G'\] must be .*'ten'"),
        ({"weights": ".=1;G=2"}, "weights must name every letter"),
        ({"weights": "G10"}, "weights as text must read"),
        ({"weights": ".=1,.=2,G=2"}, "each letter once"),
        ({"weights": {"floor": 1}}, "weights must map single letters"),
        ({"weights": 3}, "weights must map single letters"),
        ({"terminal": "X"}, "terminal names 'X'"),
        ({"terminal": 3}, "terminal must be a text of letters"),
        ({"walls": None}, "walls must be a text of letters; it is None"),
        ({"start": 1}, "start must be a text of letters; it is 1"),
        ({"weights": [1, 2]}, "weights must map single letters"),
        ({"start": "X"}, "start names 'X'"),
        ({"start": "G"}, "start must name a letter that is not terminal; it is 'G'"),
        ({"names": {"X": "goal"}}, r"names\['X'\]"),
        ({"names": {"G": 3}}, r"names\['G'\] is 3"),
        ({"slip": -1}, "slip must be a probability"),
        ({"discount": 1}, "discount must be"),
        ({"terminal": "G."}, "terminal"),
    ],
)
def test_bad_drawings_are_one_line(changes, message):
    drawing = {"rows": ["..#", "G.."], "weights": {".": -1, "G": 1}, "terminal": "G"}
    with pytest.raises(InvalidInput, match=message):
        gridworld(**(drawing | changes))


def is_connected(free):
    """Flood fill from any free cell reaches them all."""
    left = {tuple(cell) for cell in np.argwhere(free).tolist()}
    waiting = [left.pop()]
    while waiting:
        row, column = waiting.pop()
        for near in ((row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)):
            if near in left:
                left.remove(near)
                waiting.append(near)
    return not left


@given(st.integers(1, 8), st.integers(1, 8), st.floats(0, 0.99), st.integers(0, 2**32))
def test_free_cells_stay_connected_and_walls_are_as_many_as_asked(rows, columns, share, seed):
    n_walls = int(share * rows * columns)
    free = draw_free_cells(rows, columns, n_walls, np.random.default_rng(seed))
    assert (~free).sum() == n_walls
    assert is_connected(free)


def test_the_rule_of_the_ring_is_flood_fill_in_three_by_three_cells():
    ring = [(0, 1), (0, 2), (1, 2), (2, 2), (2, 1), (2, 0), (1, 0), (0, 0)]
    for pattern in range(256):
        free = np.zeros((3, 3), dtype=bool)
        for bit, cell in enumerate(ring):
            free[cell] = pattern >> bit & 1
        sides = [cell for cell in ring[::2] if free[cell]]
        left, waiting = {c for c in ring if free[c]}, sides[:1]
        while waiting:
            cell = waiting.pop()
            left.discard(cell)
            waiting += [c for c in left if abs(c[0] - cell[0]) + abs(c[1] - cell[1]) == 1]
        joined = bool(sides) and not any(side in left for side in sides)
        assert _STAYS_CONNECTED[pattern] == joined


def test_a_share_means_that_part_of_the_cells_and_a_number_means_cells():
    rng = np.random.default_rng(0)
    assert (~draw_free_cells(10, 10, "0.25", rng)).sum() == 25
    assert (~draw_free_cells(10, 10, 1, rng)).sum() == 1
    assert draw_free_cells(10, 10, 0, rng).all()


def test_a_corridor_gives_up_its_ends_only():
    free = draw_free_cells(1, 9, 5, np.random.default_rng(1))
    assert is_connected(free)
    assert free.sum() == 4


def test_walls_differ_between_draws():
    drawn = [draw_free_cells(6, 6, 6, np.random.default_rng(i)).tobytes() for i in range(5)]
    assert len(set(drawn)) == 5


@pytest.mark.parametrize("share", [0.4, 0.6, 0.9])
def test_large_grids_are_filled_too(share):
    free = draw_free_cells(60, 50, share, np.random.default_rng(2))
    assert (~free).sum() == int(share * 3000)
    assert is_connected(free)


def test_one_cell_at_least_stays_free():
    assert draw_free_cells(9, 9, 80, np.random.default_rng(0)).sum() == 1
    with pytest.raises(InvalidParameter, match="a whole number from 0 to 80; it is 81"):
        draw_free_cells(9, 9, 81, np.random.default_rng(0))


def test_weights_lie_on_the_l1_sphere():
    rng = np.random.default_rng(0)
    for n_features in (1, 2, 8, 50):
        assert np.abs(draw_unit_weights(n_features, rng)).sum() == pytest.approx(1.0)


def test_weights_are_uniform_on_the_signed_sphere():
    """Closed forms: each orthant 2^-k; on the simplex of k = 3, P(|w1| > x) = (1 - x)^2."""
    rng = np.random.default_rng(1)
    n = 20_000
    drawn = np.array([draw_unit_weights(3, rng) for _ in range(n)])
    orthants = np.bincount((drawn > 0) @ np.array([1, 2, 4]), minlength=8)
    assert ((orthants - n / 8) ** 2 / (n / 8)).sum() < 40
    for threshold in (0.1, 0.3, 0.5, 0.8):
        share = (np.abs(drawn) > threshold).mean(axis=0)
        expected = (1 - threshold) ** 2
        deviation = np.sqrt(expected * (1 - expected) / n)
        assert (np.abs(share - expected) < 5 * deviation).all()


def test_one_feature_has_either_sign():
    rng = np.random.default_rng(2)
    assert {float(draw_unit_weights(1, rng)[0]) for _ in range(50)} == {-1.0, 1.0}
