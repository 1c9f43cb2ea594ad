"""Tasks and families by name, file, environment or piece of Python.

A registered name comes first. What ends in .json, begins like a path or is a file is a task file.
module:name is an environment, a class, or a function that makes one, or a task; modules of the
current folder count. Names with a version, a namespace or a capital letter are environments of
Gymnasium. Anything else can only be a world that is not there. An environment's table P is read
where it has one, MiniGrid's are walked through by what lies in the grid, others by copies.

Families are many worlds of one kind, or variations of one environment: `members=50` draws fifty
worlds by the seeds from `seed` on; random worlds take the weights of the first, since a family has
one reward. FrozenLake draws maps. `members=[{...}, {...}]` lists parameters that change from member
to member, and a list of sources is a family as well."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Literal, overload

from didact.errors import InvalidParameter
from didact.files.extras import named_object
from didact.files.reading import shown_path
from didact.inputs import counted, entries, is_whole, own_code, shown, whole_in, whole_number
from didact.mdp import MDP, Family, Task, load_task
from didact.mdp.files import load_task_or_family
from didact.registry import options_of
from didact.worlds.gym.environments import has_table, is_changing, make_environment, wrappers_of
from didact.worlds.gym.minigrid import from_minigrid, is_minigrid, require_minigrid
from didact.worlds.gym.tables import from_gymnasium
from didact.worlds.gym.walks import from_environment
from didact.worlds.registry import make_registered, worlds

_PAIR = re.compile(r"[0-9]{1,30}x[0-9]{1,30}")
_PYTHON = re.compile(r"[A-Za-z_]\w*(\.\w+)*:[A-Za-z_]\w*(\.\w+)*")
_WORD = re.compile(r"[\w +-]*")
"""A text that names neither a module nor a file."""

MAX_OPTIONS, LARGEST_OPTION = 4096, 1000
"""Signs and entries in an option of an environment that a file names, and its largest number: a map
of 64 x 64 cells. Environments take memory by such options before they could be asked anything."""
WITHOUT_SIZE = {"max_steps", "max_episode_steps", "seed"}
"""Numbers that cost nothing where they are large."""

WALKING = {"key", "limit", "seed"}
"""Parameters of a walk, which a table does not need."""

Meaning = Literal["world", "file", "python", "environment"]


def open_task(
    source: Any, parameters: Mapping[str, Any] | None = None, *, any_version: bool = False
) -> Task:
    """The task that `source` means; parameters go to the world or the environment.

    any_version: an environment's id may leave out its version, and the newest one is taken.
    """
    given = dict(parameters or {})
    if isinstance(source, os.PathLike):
        return _from_file(os.fspath(source), given)
    if not isinstance(source, str):
        return _from_object(source, given)
    meaning = meaning_of(source)
    if meaning == "world":
        return make_registered(source, **_with_sides(source, given))
    if meaning == "file":
        return _from_file(source, given)
    if meaning == "python":
        return _from_object(named_object(source, "the world"), given, name=source)
    return environment_task(newest_version(source) if any_version else source, given)


def _from_file(path: str, given: Mapping[str, Any]) -> Task:
    if given:
        raise InvalidParameter(
            f"{shown_path(path)} is a file, which takes no parameters; leave {min(given)!r} out"
        )
    return load_task(path)


def _from_object(source: Any, given: dict[str, Any], name: str | None = None) -> Task:
    """The task of an environment, its class, a function that makes one, or the task itself."""
    if isinstance(source, Task):
        if given:
            raise InvalidParameter(f"a Task takes no parameters; leave {min(given)!r} out")
        return source
    if isinstance(source, MDP):
        raise InvalidParameter("an MDP has no reward; make a Task(mdp, weights) of it")
    if _is_environment(source) and not isinstance(source, type):
        return environment_task(source, given)
    if not callable(source):
        raise InvalidParameter(
            "a world must be a name, a Gymnasium id, an environment or its class, module:name, or "
            f"a task file; it is {shown(source)}"
        )
    own, rest = _split(given)
    named = {key for key in own if key in _parameters_of(source)}  # the function's own come first
    rest, own = rest | {k: own[k] for k in named}, {k: v for k, v in own.items() if k not in named}
    with own_code(name or str(getattr(source, "__name__", "the world"))):
        made = source(**rest)
    if isinstance(made, Task):
        return _from_object(made, own)
    if not _is_environment(made):
        raise InvalidParameter(
            f"{name or shown(source)} must make an environment or a Task; it made {shown(made)}"
        )
    return environment_task(made, own)


def _is_environment(source: Any) -> bool:
    steps = callable(getattr(source, "reset", None)) and callable(getattr(source, "step", None))
    return steps or getattr(source, "P", None) is not None


def environment_task(env_or_id: Any, parameters: Mapping[str, Any]) -> Task:
    """The task of an environment: by its table, by its grid if it is MiniGrid's, or by a walk."""
    own, rest = _split(parameters)
    env = env_or_id
    if isinstance(env_or_id, str):
        if is_minigrid(env_or_id):
            require_minigrid()
        env = make_environment(env_or_id, rest)
    elif rest:
        raise InvalidParameter(
            f"{min(rest)!r} can only be given with an environment's id or class; here the "
            "environment itself is given"
        )
    if not any(map(is_changing, wrappers_of(env))):
        plain = getattr(env, "unwrapped", env)
        if hasattr(plain, "grid") and hasattr(plain, "carrying"):
            return from_minigrid(env, **own)
        if has_table(env) and not WALKING & set(own):
            return from_gymnasium(env, **own)
    return from_environment(env, **own)


def recorded_task(id: str, options: Mapping[str, Any]) -> Task:
    """The task of the environment that a file names; the only way from a file to an environment.

    Files run no code: the id must be registered (Gymnasium imports the module of module:Name-v0),
    and options are numbers and words (environments may take a path, a module or an id in them).
    """
    remedy = "name the world with --task if you trust it"
    if ":" in id:
        raise InvalidParameter(
            f"its environment {shown(id)} names a module, and files run no code; {remedy}"
        )
    for name, value in options.items():
        if not _is_plain(value):
            raise InvalidParameter(
                f"its environment's option {shown(name)} must be numbers and words, because files "
                f"run no code; it is {shown(value)}; {remedy}"
            )
        if (size := _size(name, value)) > MAX_OPTIONS:
            raise InvalidParameter(
                f"its environment's option {shown(name)} must be small, at most {MAX_OPTIONS} "
                f"cells and numbers up to {LARGEST_OPTION}, because a file could name a world of "
                f"any size; it has {size}; {remedy}"
            )
    if is_minigrid(id):
        require_minigrid()
    return environment_task(make_environment(id, options), {})


def _size(name: Any, value: Any) -> int:
    """How large a world an option may ask for: signs and entries, and more for a large number."""
    if isinstance(value, Mapping):
        return sum(_size(key, part) for key, part in value.items())
    if isinstance(value, list):
        return sum(_size(name, part) for part in value)
    if isinstance(value, str):
        return max(1, len(value))
    is_count = isinstance(value, int | float | Decimal) and name not in WITHOUT_SIZE
    return MAX_OPTIONS + 1 if is_count and not abs(value) <= LARGEST_OPTION else 1


def _is_plain(value: Any, depth: int = 4) -> bool:
    """Whether a value of JSON is numbers and words, in lists and tables of some depth."""
    if isinstance(value, Mapping):
        return _is_plain([*value, *value.values()], depth)
    if isinstance(value, list):
        return depth > 0 and all(_is_plain(part, depth - 1) for part in value)
    if isinstance(value, str):
        return _WORD.fullmatch(value) is not None
    return value is None or isinstance(value, bool | int | float | Decimal)


def _split(given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Parameters of the task, and those with which the environment is made."""
    readers = (from_gymnasium, from_environment, from_minigrid)
    known = {name for reader in readers for name in inspect.signature(reader).parameters}
    known -= {"env", "env_or_id", "make_kwargs"}
    own = {name: value for name, value in given.items() if name in known}
    return own, {name: value for name, value in given.items() if name not in known}


def meaning_of(source: str) -> Meaning:
    """What a name stands for; whether there is such a thing is told when it is opened."""
    if source in worlds():
        return "world"
    if source.endswith(".json") or source.startswith((".", "/", "~")) or os.path.isfile(source):
        return "file"
    if _PYTHON.fullmatch(source) and _version(source) < 0:
        return "python"
    if "-v" in source or "/" in source or source[:1].isupper():
        return "environment"
    return "file" if os.path.exists(source) else "world"


def takes_seed(source: str) -> bool:
    """Whether this is a world that is drawn at random, by a parameter `seed`."""
    known = worlds().get(source)
    if known is None and meaning_of(source) == "python":
        return "seed" in _parameters_of(named_object(source, "the world"))
    return known is not None and "seed" in known.parameters


def _parameters_of(source: Any) -> set[str]:
    """What a function takes by name; nothing of a class of environments."""
    if not inspect.isroutine(source):
        return set()
    return set(options_of(source).defaults)


def newest_version(name: str) -> str:
    """The newest installed version of an environment, as Taxi-v4 for Taxi; ids stay as they are."""
    import gymnasium

    if is_minigrid(name):
        require_minigrid()
    if _version(name) >= 0:
        return name
    found = [id for id in gymnasium.registry if id.rpartition("-v")[0] == name]
    return max(found, key=_version, default=name)


def _version(id: str) -> int:
    """The version of an id such as Taxi-v4; -1 where it has none."""
    _, sign, version = id.rpartition("-v")
    number = whole_in(version) if sign else None
    return -1 if number is None else number


def _with_sides(world: str, given: dict[str, Any]) -> dict[str, Any]:
    """Sides such as 3x4 as pairs, where the world's own parameter is a whole number."""
    known = worlds().get(world)
    defaults = {} if known is None else known.parameters
    return {
        name: tuple(map(int, value.split("x")))
        if isinstance(defaults.get(name), int) and isinstance(value, str) and _PAIR.fullmatch(value)
        else value
        for name, value in given.items()
    }


MAX_MEMBERS = 1_000_000
_LAKE = "FrozenLake"


def named_world(source: Any) -> Any:
    """The task that a text names, as `make` does; anything else as it is."""
    return make(source) if isinstance(source, str) else source


@overload
def make(source: list[Any] | tuple[Any, ...], /, **parameters: Any) -> Family: ...


@overload
def make(
    source: Any, /, *, members: int | Sequence[Mapping[str, Any]], **parameters: Any
) -> Family: ...


@overload
def make(source: Any, /, **parameters: Any) -> Task: ...


def make(source: Any, /, **parameters: Any) -> Task | Family:
    """The task that is meant: a world by its name, an environment, or a file; or a family of them.

    source: the name of a world that is built in, registered or installed (`didact worlds` lists
        them); the id of a Gymnasium environment, as 'Taxi-v4'; an environment itself or its class;
        'module:name' of one, or of a function that makes one; the path of a task file. The command
        line takes the same texts. A list of such sources, or of (source, parameters), is a Family.
    parameters: of that world, as `didact worlds` shows them with their defaults; for an
        environment those of `from_gymnasium`, `from_environment` or `from_minigrid`, and those with
        which it is made. `members` makes a Family: how many worlds are drawn, by seeds from `seed`
        on and with the weights of the first, or a list of what changes from member to member, as
        [{'size': 5}, {'size': 6}]. FrozenLake draws so many maps.
    """
    if isinstance(source, list | tuple):
        return _listed(source, parameters)
    if "members" in parameters:
        return _varied(source, parameters)
    return open_task(source, parameters)


def open_task_or_family(source: str, parameters: Mapping[str, Any] | None = None) -> Task | Family:
    """The task that `source` means, or the family that a file holds or `members` asks for."""
    given = dict(parameters or {})
    if "members" in given:
        return _varied(source, given)
    if meaning_of(source) == "file" and not given:
        return load_task_or_family(source)
    return open_task(source, given)


def _listed(sources: Sequence[Any], shared: Mapping[str, Any]) -> Family:
    """A family of sources, each alone or with parameters of its own besides the shared ones."""
    if "members" in shared:
        raise InvalidParameter("a list of worlds is a family already; leave 'members' out")
    tasks = []
    for i, entry in enumerate(sources):
        source, own = entry if _is_pair(entry) else (entry, {})
        tasks.append(open_task(source, {**shared, **_variation(own, f"worlds[{i}]")}))
    return Family(tasks)


def _is_pair(entry: Any) -> bool:
    is_pair = isinstance(entry, list | tuple) and len(entry) == 2
    return is_pair and isinstance(entry[1], Mapping)


def _varied(source: Any, given: Mapping[str, Any]) -> Family:
    """A family of variations of one source; `members` says how many, or which."""
    shared = {name: value for name, value in given.items() if name != "members"}
    members = given["members"]
    name = source if isinstance(source, str) else "family"
    if not is_whole(members):
        listed = entries(members, "members", "what changes from member to member, or their number")
        own = [_variation(entry, f"members[{i}]") for i, entry in enumerate(listed)]
        return _named([open_task(source, {**shared, **entry}) for entry in own], name)
    n = whole_number(members, "members", 1, MAX_MEMBERS)
    tasks = [open_task(source, entry) for entry in drawn_parameters(source, n, shared)]
    if isinstance(source, str) and takes_seed(source):
        tasks = [with_reward_of(tasks[0], task) for task in tasks]
    return _named(tasks, name)


def _variation(given: Any, place: str) -> dict[str, Any]:
    if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
        raise InvalidParameter(
            f"{place} must be a table of parameters, as {{'size': 5}}; it is {shown(given)}"
        )
    return dict(given)


def drawn_parameters(source: Any, n: int, shared: Mapping[str, Any]) -> Iterable[dict[str, Any]]:
    """The parameters of n worlds that chance makes: seeds one after the other, or maps."""
    first = whole_number(shared.get("seed", 0), "seed of a family", 0)
    seeds = range(first, first + n)
    if isinstance(source, str) and source.startswith(_LAKE):
        rest = {name: value for name, value in shared.items() if name not in ("seed", "map_name")}
        own = "8x8" if source.startswith(f"{_LAKE}8x8") else "4x4"
        size = 8 if shared.get("map_name", own) == "8x8" else 4
        return ({**rest, "desc": random_map(size, seed)} for seed in seeds)
    if isinstance(source, str) and (takes_seed(source) or is_minigrid(source)):
        return ({**shared, "seed": seed} for seed in seeds)
    raise InvalidParameter(
        f"{shown(source)} is not drawn by a seed; give members as a list of what changes, as "
        "[{'discount': 0.9}, {'discount': 0.95}]"
    )


def random_map(size: int, seed: int) -> list[str]:
    """A map of a frozen lake with a way to its goal, as Gymnasium draws it."""
    from gymnasium.envs.toy_text.frozen_lake import generate_random_map

    return list(generate_random_map(size=size, seed=seed))


def with_reward_of(first: Task, task: Task) -> Task:
    """The task with the weights of the first, where it has as many features."""
    if task.mdp.n_features != first.mdp.n_features:
        return task
    return Task(
        task.mdp,
        first.true_weights,
        name=task.name,
        layout=task.layout,
        observations=task.observations,
    )


def _named(tasks: Sequence[Task], name: str) -> Family:
    return Family(tasks, name=f"{name}, {counted(len(tasks), 'member')}")
