"""`didact studio`: paint a world in the browser, and see what the library says about it."""

from __future__ import annotations

from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from didact.cli import options, printing
from didact.errors import InvalidParameter


@click.command("studio")
@options.world("a random world", required=False)
@options.text("--host", "127.0.0.1", "Where to listen; other machines reach only another address.")
@click.option(
    "--port", type=options.Whole(0, 65535), default=0, help="The port; by default a free one."
)
@click.option(
    "--name", "names", multiple=True, metavar="HOST", help="Another name of this machine; again."
)
@options.number(
    "--workers", default=2, within=options.Whole(1, 64), help="Processes that work at once."
)
@options.number(
    "--seconds", default=60, within=click.FloatRange(1, 3600), help="How long an answer may take."
)
@options.number(
    "--memory",
    default=2048,
    within=options.Whole(128, 65536),
    help="MiB that a process may take for it.",
)
@click.option("--export", metavar="DIR", help="Write a static site of worlds instead; no server.")
@click.option("--add", "added", multiple=True, metavar="WORLD", help="Of --export: one more world.")
@click.option("--open/--no-open", "opens", default=True, help="Open the page in a browser.")
def command(
    world: options.NamedWorld | None,
    host: str,
    port: int,
    names: tuple[str, ...],
    workers: int,
    seconds: float,
    memory: int,
    export: str | None,
    added: tuple[str, ...],
    opens: bool,
) -> None:
    """Open a page where WORLD can be painted, taught and examined; a meadow without WORLD.

    WORLD is as for `didact teach`. The page is served on this machine only, to whoever has the
    link that is printed. Interrupt it to end. With --export a static site is written: it opens as a
    file and on any web server; its worlds cannot be changed.
    """
    from didact.files.extras import require_package

    if added and export is None:
        raise InvalidParameter("--add is for a static site; name its folder by --export")
    if export is not None:
        return _export(export, world, added)
    studio = require_package("didact.studio", "studio", "the studio's pages")
    from didact.numerics.threads import interrupts_held_back

    with interrupts_held_back():
        studio.warm_up()  # it loads while the world is opened
        source, parameters = (None, {}) if world is None else (world.name, world.parameters)
    limits = {"n_workers": workers, "seconds": seconds, "memory": memory * 2**20}
    with TemporaryDirectory(prefix="didact-") as private:

        def ready(link: str) -> None:
            printing.print_line(f"the studio is at {link}")
            printing.print_line("  interrupt it (Ctrl+C) to end")
            if opens:
                open_in_browser(link, Path(private))

        studio.serve(
            source, parameters, host=host, port=port, names=names, limits=limits, ready=ready
        )


def _export(folder: str, world: options.NamedWorld | None, added: tuple[str, ...]) -> None:
    """Write the static site of the worlds that were named, or of the studio's presets."""
    from didact.files.extras import require_package
    from didact.inputs import counted

    site, questions = (
        require_package(f"didact.studio.{name}", "studio", "the studio's pages")
        for name in ("static_site", "questions")
    )
    chosen = [*([] if world is None else [world]), *map(options.NamedWorld, added)]
    named = [(each.name, questions.first_world(each.name, each.parameters)) for each in chosen]
    with printing.waiting(f"computing {folder}"):
        paths = site.export_site(folder, named)
    size = sum(path.stat().st_size for path in paths)
    printing.print_line(
        f"a site of {counted(len(paths) - 1, 'world')}: {paths[-1]} ({size / 1e6:.1f} MB)"
    )


def open_in_browser(link: str, private: Path) -> None:
    """Open a link in the browser by a file in a folder that nobody else can read.

    Arguments of processes are seen by everybody on a machine, and the link has the token.
    """
    import webbrowser

    page = private / "studio.html"
    page.touch(mode=0o600)
    told = escape(link)
    page.write_text(
        f'<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer">'
        f'<meta http-equiv="refresh" content="0;url={told}"><a href="{told}">the studio</a>\n'
    )
    webbrowser.open(page.as_uri())
