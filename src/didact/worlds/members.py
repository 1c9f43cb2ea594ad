"""Families by a name: many worlds of one kind, or variations of one environment.

`members=50` draws fifty worlds by the seeds from `seed` on; random worlds take the weights of the
first, since a family has one reward. FrozenLake draws maps. `members=[{...}, {...}]` lists
parameters that change from member to member, and a list of sources is a family as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, overload

from didact.errors import InvalidParameter
from didact.inputs import counted, entries, is_whole, shown, whole_number
from didact.mdp import Family, Task
from didact.mdp.family_files import load_task_or_family
from didact.worlds.gym.minigrid import is_minigrid
from didact.worlds.opening import meaning_of, open_task, takes_seed

MOST_MEMBERS = 1_000_000
_LAKE = "FrozenLake"


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
    n = whole_number(members, "members", 1, MOST_MEMBERS)
    tasks = [open_task(source, entry) for entry in drawn_parameters(source, n, shared)]
    if isinstance(source, str) and takes_seed(source):
        tasks = [_with_reward_of(tasks[0], task) for task in tasks]
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
        size = 8 if shared.get("map_name", _name_of_map(source)) == "8x8" else 4
        return ({**rest, "desc": random_map(size, seed)} for seed in seeds)
    if isinstance(source, str) and (takes_seed(source) or is_minigrid(source)):
        return ({**shared, "seed": seed} for seed in seeds)
    raise InvalidParameter(
        f"{shown(source)} is not drawn by a seed; give members as a list of what changes, as "
        "[{'discount': 0.9}, {'discount': 0.95}]"
    )


def _name_of_map(id: str) -> str:
    return "8x8" if id.startswith(f"{_LAKE}8x8") else "4x4"


def random_map(size: int, seed: int) -> list[str]:
    """A map of a frozen lake with a way to its goal, as Gymnasium draws it."""
    from gymnasium.envs.toy_text.frozen_lake import generate_random_map

    return list(generate_random_map(size=size, seed=seed))


def _with_reward_of(first: Task, task: Task) -> Task:
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
