"""Random walls that leave all free cells of a grid connected."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from didact.errors import InvalidNumber, InvalidParameter
from didact.inputs import shown
from didact.numerics.exact import read_number


def draw_free_cells(
    rows: int, columns: int, walls: Any, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """A mask (rows, columns) of free cells after so many walls, or such a share of walls.

    Cells become walls in random order. A cell is passed over while it is what connects its
    neighbours: they must stay joined around it, within the eight cells that surround it. That is
    enough for about two cells in five; the rest are leaves of a tree that spans what is free.
    """
    n_walls = as_number_of_cells(walls, rows * columns)
    width = columns + 2
    is_open = bytearray((rows + 2) * width)
    for row in range(1, rows + 1):
        is_open[row * width + 1 : row * width + 1 + columns] = b"\1" * columns
    waiting = _padded(rng.permutation(rows * columns), columns) if n_walls else []
    missing = _block_locally(is_open, waiting, width, n_walls)
    if missing:
        _block_leaves(is_open, [cell for cell in waiting if is_open[cell]], width, missing)
    inside = np.frombuffer(is_open, dtype=np.uint8).reshape(rows + 2, width)[1:-1, 1:-1]
    return inside.astype(np.bool_)


def as_number_of_cells(walls: Any, n_cells: int) -> int:
    """How many cells a number or a share of cells means; at least one cell stays free."""
    try:
        value = read_number(walls, "walls")
    except InvalidNumber as error:
        raise InvalidParameter(str(error)) from None
    if 0 < value < 1:
        return int(value * n_cells)
    if value.denominator != 1 or not 0 <= value < n_cells:
        raise InvalidParameter(
            f"walls must be a share below 1 or a whole number from 0 to {n_cells - 1}; "
            f"it is {shown(walls)}"
        )
    return int(value)


def _padded(cells: NDArray[np.int64], columns: int) -> list[int]:
    """Positions of cells in a grid with a border of one cell."""
    positions: list[int] = ((cells // columns + 1) * (columns + 2) + cells % columns + 1).tolist()
    return positions


def _block_locally(is_open: bytearray, waiting: list[int], width: int, n_walls: int) -> int:
    """Turn cells that need not connect their neighbours into walls; how many are still missing."""
    around = (-width, 1 - width, 1, width + 1, width, width - 1, -1, -width - 1)
    missing = n_walls
    while missing:
        passed_over = []
        for cell in waiting:
            pattern = 0
            for bit, step in enumerate(around):
                pattern |= is_open[cell + step] << bit
            if not _STAYS_CONNECTED[pattern]:
                passed_over.append(cell)
                continue
            is_open[cell] = 0
            missing -= 1
            if not missing:
                return 0
        if len(passed_over) == len(waiting):
            return missing
        waiting = passed_over
    return 0


def _block_leaves(is_open: bytearray, waiting: list[int], width: int, n_walls: int) -> None:
    """Turn leaves of a spanning tree into walls; the rest of the tree keeps the rest connected."""
    root = waiting[-1]
    parent = {root: root}
    n_children = dict.fromkeys(waiting, 0)
    reached = [root]
    for cell in reached:
        for near in (cell - width, cell + width, cell - 1, cell + 1):
            if is_open[near] and near not in parent:
                parent[near] = cell
                n_children[cell] += 1
                reached.append(near)
    while n_walls:
        for cell in waiting:
            if n_walls and is_open[cell] and n_children[cell] == 0 and cell != root:
                is_open[cell] = 0
                n_children[parent[cell]] -= 1
                n_walls -= 1


def _stays_connected(pattern: int) -> bool:
    """Whether the free side neighbours are joined along the ring; bit 0 is above, clockwise."""
    ring = [bool(pattern >> i & 1) for i in range(8)]
    if all(ring):
        return True
    gap = ring.index(False)
    runs_with_side, in_run = 0, False
    for i in range(gap + 1, gap + 9):
        position = i % 8
        if not ring[position]:
            in_run = False
        elif not in_run and (position % 2 == 0 or ring[(position + 1) % 8]):
            runs_with_side, in_run = runs_with_side + 1, True
    return runs_with_side == 1


_STAYS_CONNECTED = tuple(_stays_connected(pattern) for pattern in range(256))
