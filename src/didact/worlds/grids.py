"""Grid worlds: grids drawn with letters, the paper's random grids, and random walls.

Actions are 0 up, 1 down, 2 left, 3 right. States are the cells that are not walls, row by row from
the top left. A move off the grid or into a wall stays. With slip p the move goes in one of the two
perpendicular directions with probability p/2 each.

Random walls leave all free cells connected. A cell may become a wall if its free neighbours stay
joined within the eight cells around it, which is decided by a table of 256 patterns; where no such
cell is left, leaves of a spanning tree become walls.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from didact.errors import InvalidNumber, InvalidParameter
from didact.inputs import entries, nearest_spelling, shown, whole_number
from didact.mdp import MDP, Task, Transitions
from didact.mdp.transitions import MAX_ROWS
from didact.numerics.exact import Exact, Floats, Numbers, read_number
from didact.random import Seed, as_generator

ACTION_NAMES = ("up", "down", "left", "right")
_FORWARD_AND_SIDES = np.array([[0, 2, 3], [1, 2, 3], [2, 0, 1], [3, 0, 1]])


def neighbours(free: NDArray[np.bool_]) -> NDArray[np.int32]:
    """Shape (S, 4): where each action leads from each free cell of the mask (rows, columns)."""
    rows, columns = free.shape
    n_states = int(free.sum())
    here = np.arange(n_states, dtype=np.int32)
    number = np.full((rows + 2, columns + 2), -1, dtype=np.int32)
    number[1:-1, 1:-1][free] = here
    around = number[:-2, 1:-1], number[2:, 1:-1], number[1:-1, :-2], number[1:-1, 2:]
    targets = np.stack([side[free] for side in around], axis=-1)
    return np.where(targets < 0, here[:, None], targets)


def grid_transitions(
    free: NDArray[np.bool_], terminal: NDArray[np.bool_], slip: Fraction
) -> Transitions:
    """The moves of a grid with four actions; rows of terminal states are empty.

    What an outcome weighs is 3 for the move itself and 1 for each side step, so that outcomes that
    meet in one cell add up to a code, and the codes 0..5 to exact probabilities.
    """
    moves = neighbours(free)
    if slip == 0:
        targets, codes = moves[:, :, None], np.full((*moves.shape, 1), 3, dtype=np.uint8)
    else:
        targets = np.sort(moves[:, _FORWARD_AND_SIDES] * 2 + np.array([0, 1, 1]), axis=2)
        codes = np.where(targets % 2 == 0, 3, 1).astype(np.uint8)
        targets //= 2
        for i in (1, 2):
            meets = targets[:, :, i] == targets[:, :, i - 1]
            codes[:, :, i] += np.where(meets, codes[:, :, i - 1], 0).astype(np.uint8)
            codes[:, :, i - 1][meets] = 0
    palette = [Fraction(0), slip / 2, slip, 1 - slip, 1 - slip / 2, Fraction(1)]
    happens = np.array([value > 0 for value in palette])[codes] & ~terminal[:, None, None]
    offsets = np.concatenate(([0], np.cumsum(happens.sum(axis=2).ravel())))
    happening = codes[happens]
    # Exact values are made when they are asked for, to save time and memory.
    shares = Numbers(
        np.array([float(value) for value in palette])[happening],
        source=partial(_palette_and_codes, palette, happening),
    )
    return Transitions.from_arrays(moves.shape[0], 4, offsets, targets[happens], shares)


def _palette_and_codes(palette: list[Fraction], codes: NDArray[np.uint8]) -> Exact:
    return palette, codes.astype(np.int64)


def one_hot(active: NDArray[Any], n_features: int) -> Numbers:
    """Features (S, k) that are 1 for the active feature of each state and 0 for the others."""
    floats = np.zeros((active.size, n_features))
    floats[np.arange(active.size), active] = 1.0
    return Numbers(floats)


def grid_layout(free: NDArray[np.bool_]) -> dict[str, Any]:
    """How to draw a grid: its sides, and the cell of each state when some cells are walls."""
    rows, columns = free.shape
    layout: dict[str, Any] = {"kind": "grid", "rows": rows, "columns": columns}
    if not free.all():
        layout["cells"] = np.flatnonzero(free).tolist()
    return layout


def grid_task(
    free: NDArray[np.bool_],
    features: Numbers,
    weights: Any,
    *,
    terminal: NDArray[np.bool_],
    discount: Any,
    slip: Fraction = Fraction(0),
    start: Any = "uniform",
    feature_names: Sequence[str],
    name: str,
) -> Task:
    """The task on a grid: free cells (rows, columns), features and terminals of its states."""
    mdp = MDP(
        grid_transitions(free, terminal, slip),
        features,
        discount,
        start=start,
        terminal=terminal,
        action_names=ACTION_NAMES,
        feature_names=feature_names,
    )
    return Task(mdp, weights, name=name, layout=grid_layout(free))


def random_grid(
    size: int | tuple[int, int] = 9,
    n_features: int = 8,
    discount: Any = 0.95,
    slip: Any = 0,
    terminals: int = 0,
    walls: Any = 0,
    seed: Seed = 0,
    weights_seed: Seed = None,
) -> Task:
    """The paper's random grid: one of k features in each cell, random weights, every state a start.

    The weights are drawn first, uniform on the signed L1 unit sphere, then one uniform feature for
    each cell (not all need occur), then walls, then terminals: a seed names the same weights and
    colours whatever the other options. `walls` is a number of cells or a share of them; the free
    cells stay connected. `terminals` is a number of cells. `weights_seed` takes the weights of
    another seed, for worlds that share a reward.
    """
    rows, columns = as_sides(size)
    n_cells = rows * columns
    n_features = whole_number(n_features, "n_features", 1)
    if n_cells * 4 > MAX_ROWS or n_cells * n_features > MAX_FEATURE_ENTRIES:
        raise InvalidParameter(
            f"size must be at most {MAX_ROWS // 4} cells and {MAX_FEATURE_ENTRIES} features in all "
            f"of them; it is {rows} x {columns} with {n_features} features"
        )
    slip = as_probability(slip, "slip")
    rng = as_generator(seed, "random-grid")
    weights = draw_unit_weights(n_features, rng)
    if weights_seed is not None:
        weights = draw_unit_weights(n_features, as_generator(weights_seed, "random-grid"))
    active = rng.integers(n_features, size=n_cells)
    free = draw_free_cells(rows, columns, walls, rng)
    n_states = int(free.sum())
    n_terminals = whole_number(terminals, "terminals", 0, n_states - 1)
    terminal = np.zeros(n_states, dtype=np.bool_)
    terminal[rng.choice(n_states, size=n_terminals, replace=False)] = True
    return grid_task(
        free,
        one_hot(active[free.ravel()], n_features),
        weights,
        terminal=terminal,
        discount=discount,
        slip=slip,
        feature_names=[f"feature {i}" for i in range(n_features)],
        name=f"random-grid {rows}x{columns}" + (f", seed {seed}" if isinstance(seed, int) else ""),
    )


def gridworld(
    rows: Sequence[str] | str,
    weights: Mapping[str, Any] | str,
    *,
    terminal: str = "",
    walls: str = "#",
    discount: Any = 0.95,
    slip: Any = 0,
    start: str | None = None,
    names: Mapping[str, str] | str | None = None,
    name: str = "gridworld",
) -> Task:
    """A grid drawn with letters: each letter that is no wall is a feature with its own weight.

    rows: strings of equal length, or one text with '/' or line ends between the rows.
    weights: the weight of each letter; features come in this order.
    terminal: the letters of cells that end the episode.
    walls: the letters of cells that cannot be entered.
    discount: in [0, 1), exactly as given.
    slip: the probability that a step goes to one of the two sides instead.
    start: the letters of cells to start in; None for every cell that does not end.
    names: names of features; letters with one name are one feature, and must weigh the same.
    name: of the task.

    >>> gridworld(["..#", "S.G"], {".": -1, "S": -1, "G": 10}, terminal="G").mdp.n_states
    5
    """
    for place, group in (("terminal", terminal), ("walls", walls), ("start", start or "")):
        if not isinstance(group, str):
            raise InvalidParameter(f"{place} must be a text of letters; it is {shown(group)}")
    letters = _as_letters(rows)
    weight_of = as_letter_table(weights, "weights")
    free = ~np.isin(letters, list(walls))
    if not free.any():
        raise InvalidParameter(f"rows must have a cell that is no wall; walls are {shown(walls)}")
    cells = letters[free]
    drawn = set(cells.tolist())
    _require_letters(drawn, weight_of, terminal, start)
    feature_of, feature_names, values = _read_features(weight_of, names)
    slip = as_probability(slip, "slip")
    ends = np.isin(cells, list(terminal))
    return grid_task(
        free,
        one_hot(np.array([feature_of[letter] for letter in cells.tolist()]), len(values)),
        values,
        terminal=ends,
        discount=discount,
        slip=slip,
        start=_begins(cells, start, ends) if start else "uniform",
        feature_names=feature_names,
        name=name,
    )


def _begins(
    cells: NDArray[np.str_], start: str, ends: NDArray[np.bool_]
) -> list[tuple[int, Fraction]]:
    """The cells with these letters that do not end, each as likely."""
    found = np.flatnonzero(np.isin(cells, list(start)) & ~ends).tolist()
    if not found:
        raise InvalidParameter(f"start must name a letter that is not terminal; it is {start!r}")
    return [(state, Fraction(1, len(found))) for state in found]


def _as_letters(rows: Sequence[str] | str) -> NDArray[np.str_]:
    lines = (
        rows.replace("\n", "/").strip("/").split("/")
        if isinstance(rows, str)
        else entries(rows, "rows", "texts")
    )
    if not lines or not all(isinstance(line, str) and line for line in lines):
        raise InvalidParameter(f"rows must be strings such as '..#'; they are {shown(rows)}")
    for i, line in enumerate(lines):
        if len(line) != len(lines[0]):
            raise InvalidParameter(
                f"rows must be equally long; rows[0] has {len(lines[0])} letters and rows[{i}] "
                f"{len(line)}: {shown(line)}"
            )
    return np.array([list(line) for line in lines])


def _require_letters(
    drawn: set[str], weight_of: Mapping[str, Any], terminal: str, start: str | None
) -> None:
    """Every letter drawn has a weight, and every letter named is drawn."""
    for letter in sorted(drawn):
        if letter not in weight_of:
            raise InvalidParameter(
                f"weights must name every letter that is no wall; {letter!r} is missing"
            )
    for place, named in (("weights", weight_of), ("terminal", terminal), ("start", start or "")):
        for letter in named:
            if letter not in drawn:
                raise InvalidParameter(
                    f"{place} names {letter!r}, which no free cell of the map has; remove it"
                )


def _read_features(
    weight_of: Mapping[str, Any], names: Mapping[str, str] | str | None
) -> tuple[dict[str, int], list[str], list[Fraction]]:
    """The feature of each letter, the features' names, and their weights."""
    name_of = {letter: letter for letter in weight_of}
    for letter, named in (as_letter_table(names, "names") if names else {}).items():
        if letter not in name_of or not isinstance(named, str):
            raise InvalidParameter(
                f"names must give letters of the map a text; names[{letter!r}] is {shown(named)}"
                + nearest_spelling(letter, name_of)
            )
        name_of[letter] = named
    index: dict[str, int] = {}
    values: list[Fraction] = []
    for letter, weight in weight_of.items():
        value = read_number(weight, f"weights[{letter!r}]")
        feature = index.setdefault(name_of[letter], len(values))
        if feature == len(values):
            values.append(value)
        elif values[feature] != value:
            raise InvalidParameter(
                f"letters of one feature must weigh the same; {name_of[letter]!r} weighs "
                f"{values[feature]} and {value}. Give them different names"
            )
    return {letter: index[name_of[letter]] for letter in weight_of}, list(index), values


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
"""By the pattern of the eight neighbours: a test per cell would make a grid of 1000 x 1000 slow."""


MAX_FEATURE_ENTRIES = 500_000_000
"""How many numbers the features of a made world may have: 4 GB, refused before they are taken."""


def as_probability(value: Any, place: str) -> Fraction:
    """An exact probability from 0 to 1; a float means its shortest decimal."""
    try:
        probability = read_number(value, place)
    except InvalidNumber as error:
        raise InvalidParameter(str(error)) from None
    if not 0 <= probability <= 1:
        raise InvalidParameter(f"{place} must be a probability from 0 to 1; it is {shown(value)}")
    return probability


def as_sides(size: Any, place: str = "size") -> tuple[int, int]:
    """Rows and columns of a grid, from one whole number or a pair of them."""
    pair = tuple(size) if isinstance(size, tuple | list) else (size, size)
    if len(pair) != 2:
        raise InvalidParameter(
            f"{place} must be a whole number or a pair (rows, columns); it is {shown(size)}"
        )
    rows, columns = (whole_number(side, place, 1, 1_000_000) for side in pair)
    return rows, columns


def as_letter_table(given: Any, place: str) -> dict[str, Any]:
    """A mapping letter -> value, also from text such as '.=-1,G=10' (for the command line)."""
    if isinstance(given, str):
        return _read_letter_table(given, place)
    letters = list(given) if isinstance(given, Mapping) else []
    if not letters or not all(isinstance(key, str) and len(key) == 1 for key in letters):
        raise InvalidParameter(
            f"{place} must map single letters to values, as {{'.': -1, 'G': 10}}; "
            f"it is {shown(given)}"
        )
    return dict(given)


def _read_letter_table(text: str, place: str) -> dict[str, str]:
    entries = [entry.strip() for entry in text.split(",")]
    if not all(len(entry) > 2 and entry[1] == "=" for entry in entries):
        raise InvalidParameter(
            f"{place} as text must read '.=-1,G=10', a letter and its value; it is {shown(text)}"
        )
    table = {entry[0]: entry[2:] for entry in entries}
    if len(table) < len(entries):
        raise InvalidParameter(f"{place} must name each letter once; it is {shown(text)}")
    return table


def draw_unit_weights(n_features: int, rng: np.random.Generator) -> Floats:
    """Weights (k,) uniform on the signed L1 unit sphere, |w1| + ... + |wk| = 1.

    The sphere is 2^k congruent simplices, one for each choice of signs. Exponential magnitudes
    divided by their sum are Dirichlet(1, ..., 1), which is uniform on the simplex, and the signs
    choose one of the simplices with equal probability, so the product is uniform on their union.
    """
    magnitudes = rng.standard_exponential(n_features)
    signs = rng.choice(np.array([-1.0, 1.0]), size=n_features)
    weights: Floats = signs * (magnitudes / magnitudes.sum())
    return weights
