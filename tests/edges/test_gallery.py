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


@pytest.mark.parametrize("name", gallery.TASKS)
def test_a_picture_is_that_of_the_page(name):
    if name in MINIGRID:
        pytest.importorskip("minigrid")
    drawn = gallery.picture(gallery.page_of(name))
    kept = (DOCS / "pictures" / "gallery" / f"{name}.svg").read_text(encoding="utf-8")
    assert drawn == kept, f"python docs/make_gallery.py {name}"
    assert len(drawn) < 8_000
    assert not re.search(r"<script|href=\"http|url\((?!#)", drawn)


def test_the_page_shows_every_picture():
    page = (DOCS / "gallery.md").read_text(encoding="utf-8")
    assert re.findall(r"pictures/gallery/(\w+)\.svg", page) == list(gallery.TASKS)
    assert page.count("\n## ") == 10
    assert re.findall(r'<a href="gallery/(\w+)\.html">', page) == list(gallery.TASKS)


def test_the_docs_write_the_pages_that_the_gallery_links_to(tmp_path):
    """As `docs/conf.py` has it called when the docs are built."""
    app = type("App", (), {"outdir": tmp_path, "builder": type("Builder", (), {"format": "html"})})
    spec = importlib.util.spec_from_file_location("conf", DOCS / "conf.py")
    conf = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(conf)
    connected = []
    app.connect = staticmethod(lambda event, function: connected.append((event, function)))
    conf.setup(app)
    ((event, write),) = connected
    assert event == "build-finished"
    write(app, ValueError("the build failed"))
    assert list(tmp_path.iterdir()) == []
    if importlib.util.find_spec("minigrid") is not None:
        write(app, None)
        written = {path.stem for path in (tmp_path / "gallery").iterdir()}
        assert written == set(gallery.TASKS)
