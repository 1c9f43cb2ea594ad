"""The studio: a page on which everything the library does can be seen and touched.

An edge as the command line is one: it asks `didact.app`, in worker processes, and draws. The two do
not know each other; the command `didact studio` finds `serve` by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from didact.studio.crew import Limits as Limits
from didact.studio.crew import warm_up
from didact.studio.server import run
from didact.studio.site import studio_site as studio_site


def serve(
    source: str | None = None,
    parameters: dict[str, Any] | None = None,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    names: Iterable[str] = (),
    limits: Limits | None = None,
    ready: Callable[[str], None] = print,
) -> None:
    """Serve the studio until it is interrupted; ready(link): called when it can be opened.

    source, parameters: the world that it opens with. host, port: where it listens; names: other
    names under which it is reached. limits: what work may take.
    """
    from didact.app.studio import first_world

    warm_up()
    site = studio_site(limits or Limits(), first_world(source, parameters))
    crew = site.state.crew
    run(site, host=host, port=port, names=names, ready=ready, ending=crew.stop)


def serve_study(
    path: str,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    names: Iterable[str] = (),
    ready: Callable[[str], None] = print,
) -> None:
    """Serve a study with people until it is interrupted; every visitor may take part."""
    from didact.app.study import staged
    from didact.studies.people.records import Records
    from didact.studio.study_site import study_site

    records = Records(path)
    site = study_site(records, staged(records))
    run(site, host=host, port=port, names=names, open_to_all=True, ready=ready)
    records.close()


__all__ = ["Limits", "serve", "serve_study", "studio_site"]
