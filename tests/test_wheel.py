"""The wheel holds every module, template and script of the package, and its version."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import didact

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src"
KINDS = (".py", ".jinja", ".js", ".css", ".R", ".typed")


def test_the_wheel_holds_the_package(tmp_path):
    pytest.importorskip("hatchling")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.name.startswith(f"didact-{didact.__version__}-py3")
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if name.startswith("didact/")}
        metadata = next(x for x in archive.namelist() if x.endswith(".dist-info/METADATA"))
        assert f"Version: {didact.__version__}\n" in archive.read(metadata).decode()
    files = (path for path in (PACKAGE / "didact").rglob("*") if path.suffix in KINDS)
    wanted = {path.relative_to(PACKAGE).as_posix() for path in files}
    assert "didact/py.typed" in wanted
    assert held == wanted
