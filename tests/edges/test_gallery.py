"""The pictures of the gallery are those of the pages; its commands are run with the other docs."""

import importlib.util
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
MINIGRID = ("door", "lava")


def load():
    spec = importlib.util.spec_from_file_location("make_gallery", DOCS / "make_gallery.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


gallery = load()


def docs_in(folder):
    """Docs that are built into a folder, and what `docs/conf.py` wants called when."""
    connected = []
    app = type("App", (), {"outdir": folder, "builder": type("Builder", (), {"format": "html"})})
    app.connect = staticmethod(lambda event, function: connected.append((event, function)))
    spec = importlib.util.spec_from_file_location("conf", DOCS / "conf.py")
    conf = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(conf)
    conf.setup(app)
    return app, connected


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """The pages that the gallery links to, as the docs write them where all worlds are there."""
    app, ((_, write),) = docs_in(tmp_path_factory.mktemp("docs"))
    if importlib.util.find_spec("minigrid") is not None:
        write(app, None)
    else:
        gallery.write_pages(app.outdir / "gallery", set(gallery.TASKS) - set(MINIGRID))
    return app.outdir / "gallery"


def test_the_docs_write_no_pages_when_their_build_failed(tmp_path):
    app, ((event, write),) = docs_in(tmp_path)
    assert event == "build-finished"
    write(app, ValueError("the build failed"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", gallery.TASKS)
def test_a_picture_is_that_of_the_page(pages, name):
    if name in MINIGRID:
        pytest.importorskip("minigrid")
    drawn = gallery.picture((pages / f"{name}.html").read_text(encoding="utf-8"))
    kept = (DOCS / "pictures" / "gallery" / f"{name}.svg").read_text(encoding="utf-8")
    assert drawn == kept, f"python docs/make_gallery.py {name}"
    assert len(drawn) < 8_000
    assert not re.search(r"<script|href=\"http|url\((?!#)", drawn)


def test_the_page_shows_every_picture():
    page = (DOCS / "gallery.md").read_text(encoding="utf-8")
    assert re.findall(r"pictures/gallery/(\w+)\.svg", page) == list(gallery.TASKS)
    assert page.count("\n## ") == 10
    assert re.findall(r'<a href="gallery/(\w+)\.html">', page) == list(gallery.TASKS)


def test_the_docs_write_the_pages_that_the_gallery_links_to(pages):
    pytest.importorskip("minigrid")
    assert {path.stem for path in pages.iterdir()} == set(gallery.TASKS)
