"""Observe a policy, teach and certify: the use case behind `didact observe`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from didact.bec import Observed, ObserveSettings, ObserveWorkers, observe
from didact.bec.observed.result import OBSERVED_FORMAT
from didact.errors import InvalidParameter
from didact.files.extras import named_object
from didact.files.json import require_writable, write_text
from didact.files.kinds import PAGE, archive_kind
from didact.inputs import shown
from didact.report.page.simulators import simulator_page
from didact.teaching import ClipLesson, certify, teach
from didact.worlds.gym.runs import names_agent
from didact.worlds.gym.trained import load_agent, refuse_pickle
from didact.worlds.simulators.opening import BUILT_IN, named_environment


@dataclass(frozen=True, eq=False)
class ObservedLesson:
    """What was seen, the certified lesson, and where both were written."""

    seen: Observed
    lesson: ClipLesson
    written: tuple[str, ...]


def observe_source(
    source: str,
    parameters: Mapping[str, Any] | None = None,
    *,
    policy: str | None = None,
    features: str | None = None,
    demonstrations: str = "clips",
    certificate: Mapping[str, Any] | None = None,
    out: str | None = None,
    html: str | None = None,
    minari: str | None = None,
    certify_it: bool = True,
    seed: int | None = None,
    trust_pickle: bool = False,
    **settings: Any,
) -> ObservedLesson:
    """The certified lesson of a policy in the simulator that `source` names.

    source: a built-in simulator, the id of an environment, or module:name. policy: a file of
    Stable-Baselines3 or module:name. features: module:name. certificate: settings of `certify`;
    certify_it: whether it is certified. trust_pickle: whether a file of
    Stable-Baselines3 may be unpickled, which can run any code.
    """
    for place, kind in ((out, archive_kind(OBSERVED_FORMAT)), (html, PAGE)):
        if place is not None:
            require_writable(place, kind, [policy])
    given = 0 if seed is None else seed
    env = _environment(source, dict(parameters or {}))
    agent = None if policy is None else _agent(policy, env, trust_pickle)
    phi: Any = features
    if features not in (None, "auto"):
        phi = named_object(str(features), "--features")
    sampling, workers = (
        {field.name: settings.pop(field.name) for field in fields(kind) if field.name in settings}
        for kind in (ObserveSettings, ObserveWorkers)
    )
    seen = observe(
        *(env, agent), features=phi, settings=sampling, workers=workers, seed=given, **settings
    )
    if out is not None:
        seen.save(out)
    lesson = teach(seen, demonstrations=demonstrations)
    if certify_it:
        lesson = certify(seen, lesson, **(certificate or {}), seed=given + 1)
    if minari is not None:
        lesson.save_minari(minari)
    if html is not None:
        write_text(simulator_page(lesson), html, kind=PAGE)
    return ObservedLesson(
        seen, lesson, tuple(place for place in (out, minari, html) if place is not None)
    )


def _environment(source: str, parameters: dict[str, Any]) -> Any:
    if source in BUILT_IN or ":" not in source or "-v" in source:
        return named_environment(source, parameters)
    found = named_object(source, "the environment")
    if not parameters:
        return found
    if not callable(found):
        raise InvalidParameter(f"{source} takes no parameters; leave {min(parameters)!r} out")
    return found(**parameters)


def _agent(text: str, env: Any, trust_pickle: bool) -> Any:
    """The policy that a text names; a trained agent is built for the environment's spaces."""
    if not names_agent(text):
        refuse_pickle(text)
        return named_object(text, "--policy")
    return load_agent(text, env, trust_pickle=trust_pickle)


def as_share(text: str, name: str) -> float:
    """A share such as '2%' or '0.02'."""
    plain = text.strip()
    try:
        value = float(plain.removesuffix("%")) / (100.0 if plain.endswith("%") else 1.0)
    except ValueError:
        value = float("nan")
    if not 0 < value < 1:
        raise InvalidParameter(f"{name} must be a share such as 2% or 0.02; it is {shown(text)}")
    return value
