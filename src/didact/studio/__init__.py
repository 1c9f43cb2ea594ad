"""The studio: a page on which everything the library does can be seen and touched.

An edge as the command line is one: worker processes answer the questions of its page. The two do
not know each other; the command `didact studio` finds `serve` by name. Both `serve` functions load
the server when they are called, after the process that workers are forked from was started.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from didact.files.extras import require_package
from didact.numerics.threads import interrupts_held_back
from didact.studio.forks import warm_up as warm_up


def serve(
    source: str | None = None,
    parameters: dict[str, Any] | None = None,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    names: Iterable[str] = (),
    limits: Mapping[str, Any] | None = None,
    ready: Callable[[str], None] = print,
) -> None:
    """Serve the studio until it is interrupted; ready(link): called when it can be opened.

    source, parameters: the world that it opens with. host, port: where it listens; names: other
    names under which it is reached. limits: what work may take, by the names of `pool.Limits`.
    """
    with interrupts_held_back():
        warm_up()
        sites, server = (_module(name, "the studio's pages") for name in ("site", "server"))
        from didact.studio.pool import Limits
        from didact.studio.questions import first_world

        site = sites.studio_site(Limits(**(limits or {})), first_world(source, parameters))
        pool = site.state.pool
    server.run(site, host=host, port=port, names=names, ready=ready, ending=pool.stop)


def serve_study(
    path: str,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    names: Iterable[str] = (),
    participants: int | None = None,
    shared_computers: bool = False,
    ready: Callable[[str], None] = print,
) -> None:
    """Serve a study with people until it is interrupted; every visitor may take part.

    participants: how many there may be in all; who comes later is told so. shared_computers:
    browsers do not remember who took part.
    """
    with interrupts_held_back():
        sites, server = (_module(name, "the pages of a study") for name in ("study_site", "server"))
        from didact.studies.people.records import MAX_PARTICIPANTS, Records
        from didact.studio.study_stage import staged

    records = Records(path)
    try:
        most = MAX_PARTICIPANTS if participants is None else participants
        site = sites.study_site(
            records, staged(records), most=most, shared_computers=shared_computers
        )
        server.run(site, host=host, port=port, names=names, open_to_all=True, ready=ready)
    finally:
        records.close()


def _module(name: str, purpose: str) -> Any:
    """A module of this room that needs packages of the extra `studio`."""
    return require_package(f"didact.studio.{name}", "studio", purpose)


__all__ = ["serve", "serve_study", "warm_up"]
