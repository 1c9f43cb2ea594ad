import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from didact.errors import InvalidParameter
from didact.worlds.walls import _STAYS_CONNECTED, draw_free_cells
from tests.effort import examples


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


@examples(40, 200)
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
