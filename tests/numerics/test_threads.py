"""Worker processes: what they import before they know what their parent may import."""

import os
import subprocess
import sys

from didact.numerics.threads import outside_this_folder

STARTED = """
import sys
from didact.studies.workers import LocalWorkers
from didact.studio.forks import Worker

if __name__ == "__main__":
    assert not {"", "."} & set(sys.path)
    workers = LocalWorkers(1)
    print(workers.submit(lambda settings, number: {}, None, 0, is_alone=True).result())
    workers.stop(at_once=True)
    worker = Worker(2**31)
    worker.get_ready()
    worker.kill()
    print("ready")
"""


def test_workers_import_nothing_from_the_current_folder(tmp_path):
    """Python started by -c or -m looks there first, and the folder may be a stranger's."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "started.py").write_text(STARTED)
    here = tmp_path / "here"
    here.mkdir()
    for name in ("joblib", "multiprocessing", "pickle", "signal", "cloudpickle", "numpy"):
        (here / f"{name}.py").write_text(f"open('{name} ran', 'w').close()\nraise ImportError\n")
    variables = {name: v for name, v in os.environ.items() if name != "PYTHONSAFEPATH"}
    paths = [path for path in sys.path if os.path.isabs(path)]
    done = subprocess.run(
        [sys.executable, str(tmp_path / "bin" / "started.py")],
        cwd=here,
        env={**variables, "PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
    )
    assert [file.name for file in here.iterdir() if file.name.endswith("ran")] == []
    assert done.stdout.endswith("ready\n"), done.stderr


def test_the_variable_is_left_as_it_was(monkeypatch):
    for before in (None, "", "1"):
        monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
        if before is not None:
            monkeypatch.setenv("PYTHONSAFEPATH", before)
        with outside_this_folder():
            assert os.environ["PYTHONSAFEPATH"] == "1"
        assert os.environ.get("PYTHONSAFEPATH") == before
