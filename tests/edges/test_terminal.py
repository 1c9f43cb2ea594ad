"""Drawings, read back by their signs: arrows, ends, walls, starts, and what is cut."""

import io

import numpy as np
import pytest
from rich.cells import cell_len
from rich.console import Console

from didact.inputs import shown_name
from didact.mdp import MDP, Task
from didact.planning import solve
from didact.report.terminal.worlds import ASCII, action_arrows, draw_task, feature_letters
from didact.worlds import from_gymnasium, gridworld, make

ARROW_OF_NAME = {"up": "↑", "down": "↓", "left": "←", "right": "→"}


def drawn(task, *, width=80, arithmetic="auto", **settings):
    """The lines of the drawing, without the spaces at their ends."""
    plan = solve(task.mdp, task.true_weights, arithmetic=arithmetic)
    page = io.StringIO()
    Console(file=page, width=width, **{"highlight": False, "markup": False, **settings}).print(
        draw_task(task, plan, width=width)
    )
    return [line.rstrip() for line in page.getvalue().splitlines()]


def picture(task, **settings):
    """The lines between the first and the second empty line."""
    lines = drawn(task, **settings)
    first = lines.index("")
    return lines[first + 1 : lines.index("", first + 1)]


def cells(task, cell_width, **settings):
    """The drawn cells as (letter, mark, signs), row by row."""
    return [
        [
            (cell[0], cell[1], cell[2:].strip())
            for cell in (
                line[start : start + cell_width].ljust(cell_width)
                for start in range(2, 2 + cell_width * task.layout["columns"], cell_width)
            )
        ]
        for line in picture(task, **settings)
    ]


def one_state(k=1, **settings):
    return Task(MDP([[[1], [1]]], [[1] * k], 0.5, **settings), [1] * k)


def table_of(names, **settings):
    n = len(names)
    moves = np.broadcast_to(np.eye(n)[:, None, :], (n, 2, n))
    return Task(MDP(moves, np.ones((n, 1)), 0.5, state_names=names, **settings), [1])


@pytest.mark.parametrize("slip", [0, "0.2"])
def test_arrows_are_all_optimal_actions_of_every_cell(slip):
    """On a map that is its own mirror image, states on the diagonal have ties."""
    rows = ["abcd", "babc", "cbab", "dcbG"]
    weights = {"a": -1, "b": -3, "c": -2, "d": -2, "G": 5}
    task = gridworld(rows, weights, terminal="G", slip=slip)
    plan = solve(task.mdp, task.true_weights)
    assert plan.optimal_actions(0) == [1, 3]
    shown = [cell for row in cells(task, 5) for cell in row]
    assert len(shown) == 16
    for state, (letter, mark, signs) in enumerate(shown):
        expected = "".join("↑↓←→"[action] for action in plan.optimal_actions(state))
        assert signs == ("◎" if state == 15 else expected)
        assert letter == "".join(rows)[state]
        assert mark == " "


@pytest.mark.parametrize(
    ("world", "settings"),
    [("FrozenLake-v1", {"is_slippery": False}), ("CliffWalking-v1", {}), ("FrozenLake-v1", {})],
)
def test_arrows_go_by_the_actions_names_not_by_their_numbers(world, settings):
    """Gymnasium numbers left, down, right, up; and up, right, down, left."""
    task = from_gymnasium(world, **settings)
    plan = solve(task.mdp, task.true_weights)
    shown = cells(task, 5)
    columns = task.layout["columns"]
    for state in range(task.mdp.n_states):
        names = [task.mdp.action_names[a] for a in plan.optimal_actions(state)]
        signs = shown[state // columns][state % columns][2]
        if world.startswith("Cliff") and 36 < state < 47:
            assert set(signs) == {"█"}
        else:
            assert set(signs) == ({ARROW_OF_NAME[n] for n in names} or {"◎"})


def test_the_way_along_the_cliff_leads_to_the_goal():
    task = from_gymnasium("CliffWalking-v1")
    rows = picture(task)
    assert rows[2].split() == ["→"] * 11 + ["↓"]
    assert rows[3].split() == ["•↑", "█" * 50, "◎"]


def test_walls_ends_and_starts_have_their_signs():
    task = gridworld(
        ["S.#", "#.G"], {"S": -1, ".": -1, "G": 10}, terminal="G", start="S", name="way"
    )
    assert drawn(task)[:-1] == [
        "way",
        "  4 states, 4 actions, 3 features, discount 0.95, deterministic",
        "",
        "  S•→  . ↓  █████",
        "  █████. →  G ◎",
        "",
        "  reward by feature:   S  -1   .  -1   G  10",
        "  arrows: all optimal actions; ◎ ends; █ is no state; • 1 start",
    ]


def test_starts_are_counted_and_marked_where_not_all_states_are():
    task = make("ball-sorting", starts=25)
    marks = [mark for row in cells(task, 5) for _, mark, _ in row]
    assert [mark == "•" for mark in marks] == (task.mdp.start.floats > 0).tolist()
    assert "◎ ends; • 21 starts" in "\n".join(drawn(task))
    assert "every state is a start" in "\n".join(drawn(make("chain")))
    assert "◎ ends; every state is a start" in "\n".join(drawn(make("six-cell")))
    assert "◎ ends; every other state is a start" in "\n".join(drawn(make("ball-sorting")))


def test_a_row_of_left_and_right_is_a_grid_too():
    assert picture(make("chain")) == ["  o ←  w ←  w ←→ w →  b →"]


def test_four_ways_that_tie_do_not_run_into_the_next_cell():
    task = gridworld(["aa", "aa"], {"a": 1})
    assert picture(task) == ["  a ↑↓←→ a ↑↓←→", "  a ↑↓←→ a ↑↓←→"]


def test_nothing_is_lost_without_colours_and_colours_change_no_letter():
    task = make("six-cell")
    plain = drawn(task)
    coloured = drawn(task, force_terminal=True, color_system="truecolor")
    assert not any("\x1b" in line for line in plain)
    assert any("\x1b" in line for line in coloured)
    without = drawn(task, force_terminal=True, color_system=None)
    assert without == plain
    signs = "\n".join(plain)
    assert signs.translate(ASCII).isascii()


@pytest.mark.parametrize("width", [24, 40, 80, 200])
@pytest.mark.parametrize("world", ["six-cell", "random-grid", "garnet", "ball-sorting"])
def test_no_line_is_wider_than_the_terminal(world, width):
    lines = drawn(make(world), width=width)
    assert max(map(cell_len, lines)) <= width
    assert not any(line.endswith("…") for line in lines if width >= 80)


def test_a_large_grid_is_cut_with_a_note():
    task = make("random-grid", size=(70, 50), n_features=2, seed=1)
    lines = picture(task, width=80)
    assert len(lines) == 13
    note = lines[-1]
    columns = int(note.split(" to ")[2].split()[0])
    assert note == f"  (rows 1 to 12 of 70, columns 1 to {columns} of 50)"
    assert 10 <= columns <= 15
    assert cell_len(lines[0]) <= 80
    whole = picture(make("random-grid", size=(5, 5), n_features=2), width=80)
    assert len(whole) == 5


def test_a_large_table_is_cut_with_a_note():
    assert picture(make("garnet", n_states=12))[-1].split()[0] == "11"
    assert picture(make("garnet", n_states=13))[-1] == "    (1 more state; --details)"
    lines = picture(make("garnet", n_states=300))
    assert lines[-1] == "    (288 more states; --details)"
    assert len(lines) == 14


def test_many_features_are_cut_with_a_note():
    lines = "\n".join(drawn(make("random-grid", size=3, n_features=70)))
    assert "feature 11:" in lines
    assert "feature 12:" not in lines
    assert "(58 more features)" in lines


def test_a_world_of_one_state_has_one_of_everything():
    assert drawn(one_state())[1:4] == [
        "  1 state, 2 actions, 1 feature, discount 0.5, deterministic",
        "",
        "    state  value  optimal actions",
    ]
    assert picture(one_state())[1] == "    0      2.000  0, 1"
    assert "1 close comparison " in drawn(make("chain"))[-1]
    assert picture(make("random-grid", size=1, n_features=1)) == ["  f ↑↓←→"]


def test_a_table_names_states_values_actions_and_ends():
    mdp = MDP(
        [[[0, 1], [1, 0]], [[0, 0], [0, 0]]],
        [[-1], [3]],
        "1/2",
        terminal=[1],
        state_names=["home", "away"],
        action_names=["go", "wait"],
    )
    assert picture(Task(mdp, [1])) == [
        "    state  value  optimal actions",
        "    home   0.500  go",
        "    away   3.000  ◎",
    ]


@pytest.mark.parametrize(("scale", "expected"), [("1e-9", "2e-09"), ("1e9", "2e+09"), (0, "0.000")])
def test_values_of_any_size_can_be_read(scale, expected):
    task = Task(MDP([[[1], [1]]], [[1]], 0.5), [scale])
    assert picture(task)[1].split()[1] == expected


@pytest.mark.parametrize("name", ["[red]a[/red]", "[/]", "a[b", ":smile:", "\\[x]"])
def test_names_are_text_and_never_markup(name):
    """Rich would read square brackets as styles, and fail on some."""
    settings = {"action_names": [name, "b"], "feature_names": [name]}
    task = table_of([name, "other"], **settings)
    task = Task(task.mdp, [1], name=name)
    lines = drawn(task, markup=True, emoji=True)
    assert lines[0] == name
    assert lines[4].split() == [name, "2.000", f"{name},", "b"]
    assert f"reward by feature:  {name}: 1" in lines[7]


def test_names_cannot_steer_the_terminal_or_break_the_line():
    wild = "a\x1b[31m\x07\n\r\tb"
    task = Task(table_of([wild, "c"], feature_names=[wild]).mdp, [1], name=wild)
    text = "\n".join(drawn(task))
    assert not any(sign in text for sign in "\x1b\x07\r\t")
    assert len(picture(task)) == 3
    assert shown_name(wild).split() == ["a", "[31m", "b"]


def test_long_names_are_cut_and_the_numbers_stay():
    task = table_of(["s" * 300, "t"], action_names=["x" * 300, "y"], feature_names=["f" * 300])
    for width in (40, 80, 120):
        lines = drawn(Task(task.mdp, [1], name="n" * 300), width=width)
        assert max(map(cell_len, lines)) <= width
        rows = [line for line in lines if "s…" in line]
        assert len(rows) == 1
        assert "2.000" in rows[0]
        assert "f…: 1" in "\n".join(lines)


def test_letters_are_initials_when_those_differ_and_can_be_drawn():
    def letters(*names):
        return feature_letters(one_state(len(names), feature_names=names).mdp)

    assert letters("White", "grey") == ["w", "g"]
    assert letters("white", "wood") == ["a", "b"]
    assert letters("日本", "grey") == ["a", "b"]
    assert letters("*", "grey") == ["a", "b"]
    assert letters("", "grey") == ["a", "b"]
    many = feature_letters(one_state(60).mdp)
    assert len(many) == 60
    assert many[51:] == ["Z", *"++++++++"]


@pytest.mark.parametrize(
    ("names", "arrows"),
    [
        (("up", "down", "left", "right"), "↑↓←→"),
        (("left", "down", "right", "up"), "←↓→↑"),
        (("North", "East", "South", "West"), "↑→↓←"),
        (("left", "right", "stay"), "←→·"),
        (("up", "north"), None),
        (("up", "jump"), None),
        (None, None),
    ],
)
def test_actions_are_arrows_only_when_all_their_names_are_moves(names, arrows):
    n = 2 if names is None else len(names)
    mdp = MDP(np.ones((1, n, 1)), [[1]], 0.5, action_names=names)
    assert action_arrows(mdp) == (None if arrows is None else tuple(arrows))


def test_four_moves_without_names_are_those_of_grid_worlds():
    assert action_arrows(MDP(np.ones((1, 4, 1)), [[1]], 0.5)) == tuple("↑↓←→")


@pytest.mark.parametrize(
    ("arithmetic", "ending"),
    [
        ("exact", "all comparisons decided in exact arithmetic"),
        ("auto", "3 close comparisons settled in exact arithmetic"),
        ("float", "3 close comparisons left open and drawn as optimal"),
    ],
)
def test_the_last_line_says_how_sure_it_is(arithmetic, ending):
    assert drawn(make("uvm-failure"), arithmetic=arithmetic)[-1].endswith(ending)
    sure = drawn(make("six-cell"))[-1]
    assert sure.startswith("  values right to ")
    assert sure.endswith("which settles every comparison")
