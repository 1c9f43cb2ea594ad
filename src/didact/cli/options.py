"""Options that several commands share, and values from their texts: NAME=VALUE, lists of states."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Any

import click

from didact.cli.printing import Output
from didact.errors import InvalidParameter

if TYPE_CHECKING:
    from didact.mdp import Family, Task

Option = Callable[[Any], Any]
_LIST = re.compile(r"[-+]?[0-9./]+(e[-+]?[0-9]+)?(,[-+]?[0-9./]+(e[-+]?[0-9]+)?)+")


class Whole(click.IntRange):
    """A whole number of a range, in ASCII digits.

    Click's own type reads what `int` does, 1_0 and Arabic digits too, and repeats what it cannot
    read at any length.
    """

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number; refused in one short line where it is none."""
        if isinstance(value, str):
            from didact.inputs import shown, whole_in  # loads NumPy, which --help does not need

            number = whole_in(value)
            if number is None:
                self.fail(f"{shown(value)} is not a valid {self.name}.", param, ctx)
            value = number
        return super().convert(value, param, ctx)


class AnyWhole(Whole):
    """A whole number, called as Click calls it."""

    name = "integer"

    def _describe_range(self) -> str:
        return ""


# Values from texts, as callbacks of options


def parts(context: click.Context, option: click.Parameter, text: str | None) -> list[str] | None:
    """Texts between commas, as 1,0."""
    return None if text is None else [part.strip() for part in text.split(",")]


def numbers(context: click.Context, option: click.Parameter, text: str | None) -> Any:
    """Numbers of states, episodes or features, as 0,3,7."""
    found = None if text is None else [_whole_in(part.strip()) for part in text.split(",")]
    if found is not None and None in found:
        raise InvalidParameter(f"{option.opts[0]} must read 0,3,7; it is {text!r:.60}")
    return found


def numbers_or_all(context: click.Context, option: click.Parameter, text: str | None) -> Any:
    """The same; all stays a word."""
    return text if text == "all" else numbers(context, option, text)


def share(context: click.Context, option: click.Parameter, text: str) -> float:
    """A share such as 2% or 0.02."""
    plain = text.strip()
    try:
        value = float(plain.removesuffix("%")) / (100.0 if plain.endswith("%") else 1.0)
    except ValueError:
        value = float("nan")
    if not 0 < value < 1:
        from didact.inputs import shown  # loads NumPy, which --help does not need

        told = f"must be a share such as 2% or 0.02; it is {shown(text)}"
        raise InvalidParameter(f"{option.opts[0]} {told}")
    return value


# Options


trust_pickle = click.option(
    "--trust-pickle",
    is_flag=True,
    help="Let an agent's .zip and vecnormalize.pkl be unpickled, which can run any code.",
)
as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")


def output(*, has_details: bool = True) -> Option:
    """The options --details and --json; the command gets one `Output`."""
    told = "Print all there is to tell, not only what fits a screen."

    def add(command: Any) -> Any:
        @wraps(command)
        def with_output(as_json: bool, details: bool = False, **rest: Any) -> Any:
            return command(output=Output(as_json, details=details), **rest)

        shown = as_json(with_output)
        return click.option("--details", is_flag=True, help=told)(shown) if has_details else shown

    return add


starts = click.option(
    "--starts",
    metavar="S,S,...",
    callback=numbers_or_all,
    help="Start states, instead of the world's; or all.",
)
horizon = click.option(
    "--horizon", type=Whole(1), help="Steps of a demonstration; 1: single pairs."
)
members = click.option(
    "--members",
    type=Whole(1),
    help="A family of so many worlds, drawn by seeds from --seed on.",
)
FORMATS = click.Choice(["json", "jsonl", "csv", "minari", "imitation"])
"""Of recordings."""


def texts(*names: str, help: str) -> Option:
    """An option that takes a text NAME=VALUE, and may be given again."""
    return click.option(*names, multiple=True, metavar="NAME=VALUE", help=help)


parameters = texts(
    "-p",
    "--parameter",
    "settings",
    help="A parameter of the world, as size=9; may be given again. `didact worlds` lists them.",
)


def text(name: str, default: str, help: str, **more: Any) -> Option:
    """An option that takes a text."""
    return click.option(name, default=default, show_default=True, help=help, **more)


def number(
    *names: str, default: float, within: click.IntRange | click.FloatRange, help: str
) -> Option:
    """An option that takes a number of a range."""
    return click.option(*names, type=within, default=default, show_default=True, help=help)


def seed(of: str) -> Option:
    """The option --seed; of: what is drawn by it."""
    return click.option("--seed", type=Whole(0), help=f"The seed of {of}.")


@dataclass(frozen=True)
class NamedWorld:
    """WORLD with its options: texts NAME=VALUE, the seed, and how many members of a family."""

    name: str
    texts: tuple[str, ...] = ()
    seed: int | None = None
    members: int | None = None

    @cached_property
    def parameters(self) -> dict[str, Any]:
        """Those of `make`, with the seed where the world is drawn by one."""
        from didact.worlds.opening import takes_seed

        given = read_settings(self.texts)
        if self.members is not None:
            given["members"] = self.members
        drawn = takes_seed(self.name) or "members" in given
        return with_seed(given, self.seed) if drawn else given

    def open(self) -> Task | Family:
        """The task or the family that it names."""
        from didact.worlds.opening import open_task_or_family

        return open_task_or_family(self.name, self.parameters)


def world(seed_of: str, *, has_members: bool = True, **argument: Any) -> Option:
    """WORLD, -p, --seed and --members; the command gets one `NamedWorld`, or None without it."""

    def add(command: Any) -> Any:
        @wraps(command)
        def with_world(
            world: str | None,
            settings: Any,
            seed: int | None,
            members: int | None = None,
            **rest: Any,
        ) -> Any:
            named = None if world is None else NamedWorld(world, settings, seed, members)
            return command(world=named, **rest)

        with_options = parameters(seed(seed_of)(members(with_world) if has_members else with_world))
        return click.argument("world", **argument)(with_options)

    return add


def choice(name: str, choices: Sequence[str], help: str, names: Sequence[str] = ()) -> Option:
    """An option that takes one of some words, the first by default; names: what else it is."""
    return click.option(
        name, *names, type=click.Choice(choices), default=choices[0], show_default=True, help=help
    )


def scope() -> Option:
    """The option --scope."""
    told = "Whose behaviour counts: states reachable from the start, or all."
    return choice("--scope", ("reachable", "all"), told)


def cost(*more: str) -> Option:
    """The option --cost; more: costs besides the usual two."""
    return choice("--cost", ("demonstrations", "pairs", *more), "What to keep small.")


def arithmetic(help: str = "How ties are decided.") -> Option:
    """The option --arithmetic."""
    return choice("--arithmetic", ("auto", "float", "exact"), help)


def settings_of(kind: str, help: str) -> Option:
    """The options -t, -l or -s NAME=VALUE of a teacher, a learner or a strategy."""
    return texts(f"-{kind[0]}", f"--{kind}-option", f"{kind}_settings", help=help)


def file(*names: str, help: str, **more: Any) -> Option:
    """An option that names a file."""
    return click.option(*names, type=click.Path(dir_okay=False), help=help, **more)


# Settings from texts


def read_settings(texts: Iterable[str]) -> dict[str, Any]:
    """Parameters from texts NAME=VALUE.

    Whole numbers, true, false, none and lists of numbers -1,-10 are read as such; all else stays
    text, decimals too, so that they keep their exact value.
    """
    settings: dict[str, Any] = {}
    for given in texts:
        name, separator, text = given.partition("=")
        name = name.replace("-", "_")
        if not separator or not name:
            raise InvalidParameter(f"a parameter must read NAME=VALUE; it is {given!r:.60}")
        if name in settings:
            raise InvalidParameter(f"the parameter {name!r} must be given once; it is given twice")
        settings[name] = _read_value(text)
    return settings


def _whole_in(text: str) -> int | None:
    from didact.inputs import whole_in  # loads NumPy, which --help does not need

    return whole_in(text)


def _read_value(text: str) -> Any:
    if (number := _whole_in(text)) is not None:
        return number
    if _LIST.fullmatch(text):
        return tuple(text.split(","))
    return {"true": True, "false": False, "none": None}.get(text.lower(), text)


def with_seed(given: dict[str, Any], seed: int | None) -> dict[str, Any]:
    """The parameters, with the seed among them where one was given."""
    if seed is None:
        return given
    if "seed" in given:
        raise InvalidParameter("the seed must be given once; leave out --seed or -p seed")
    return {**given, "seed": seed}


def read_options(texts: Iterable[str], reserved: Iterable[str] = ()) -> dict[str, Any]:
    """Options of a teacher, a learner or a strategy from texts NAME=VALUE; decimals are floats.

    reserved: names that the command has options of its own for.
    """
    given = read_settings(texts)
    for name in given:
        if name in reserved:
            raise InvalidParameter(f"{name!r} is not an option of a teacher; `didact teach` has it")
    return {name: _as_decimal(value) for name, value in given.items()}


def _as_decimal(value: Any) -> Any:
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return value


def read_member_cost(texts: Iterable[str]) -> Any:
    """What members cost from COST for all of them, or MEMBER=COST by name or number; else None."""
    listed = list(texts)
    if not listed:
        return None
    if listed == [text for text in listed if "=" in text]:
        pairs = [text.rpartition("=") for text in listed]
        return {_read_member(member): cost for member, _, cost in pairs}
    if len(listed) > 1:
        raise InvalidParameter(
            f"--member-cost must be one cost for all, or MEMBER=COST each; it is {listed!r:.60}"
        )
    return listed[0]


def _read_member(text: str) -> str | int:
    number = _whole_in(text)
    return text if number is None else number
