"""Trials run anywhere, in any order, through any accident: the results are the same bytes."""

import contextlib
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from didact.errors import InvalidParameter
from didact.report.reproduce import reproduce
from didact.studies import register_study, setting, store
from didact.studies import run as running
from didact.studies.run import run_study, run_trials
from didact.studies.store import Store
from didact.studies.workers import ClusterLost, LocalWorkers, attempt, attempt_there, workers_of
from tests import effort
from tests.studies.counting import GATE, STUDY, Counting, count
from tests.studies.here import Here

ROOT = Path(__file__).parents[2]
SAME = ("counting.md", "counting.csv", "counting.jsonl")
"""The files that must not differ between two runs with the same settings."""


@pytest.fixture(scope="module")
def run():
    """Run a study on two local processes; gives records and quarantined trials."""
    workers = LocalWorkers(2)

    def to_the_end(path, settings, watch=None, retry=False, study=STUDY):
        with Store(path, study, settings) as store:
            run_trials(study, settings, store, workers, watch=watch, retry=retry)
            return store.records(), store.quarantined()

    yield to_the_end
    workers.stop(at_once=False)


def expected(settings, missing=()):
    """What the trials give when they are simply called one after the other."""
    trials = {n: count(settings, n) for n in range(settings.trials) if n not in missing}
    return {n: {k: v for k, v in t.items() if k != "seconds"} for n, t in trials.items()}


def reports(folder):
    return [(folder / name).read_bytes() for name in SAME]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """The reports of trials that nobody disturbs."""

    @cache
    def of(**changes) -> list[bytes]:
        folder = tmp_path_factory.mktemp("quiet")
        reproduce_here(folder, **changes)
        return reports(folder)

    return of


def reproduce_here(folder, **changes):
    """What the trials come to, run one after the other in this process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("didact.studies.workers.LocalWorkers", Here)
        return reproduce(["counting"], out=folder, changes=changes)


# The same bytes


@pytest.mark.parametrize(
    "jobs", [2, *(pytest.param(more, marks=pytest.mark.slow) for more in (1, 4))]
)
def test_the_number_of_workers_changes_nothing(tmp_path, undisturbed, jobs):
    reproduce(["counting"], out=tmp_path, jobs=jobs)
    assert reports(tmp_path) == undisturbed()


def test_records_are_those_of_plain_calls(run, tmp_path):
    settings = Counting(trials=7, seed=3)
    records, quarantined = run(tmp_path / "s.sqlite", settings)
    assert records == expected(settings)
    assert quarantined == {}


def test_a_second_run_runs_nothing(run, tmp_path):
    marks = tmp_path / "marks"
    marks.mkdir()
    settings = Counting(trials=5, marks=str(marks))
    first = run(tmp_path / "s.sqlite", settings)
    assert len(list(marks.iterdir())) == 5
    assert run(tmp_path / "s.sqlite", settings) == first
    assert len(list(marks.iterdir())) == 5


# Failures


def test_a_trial_that_raises_is_tried_three_times_and_left_out(run, tmp_path):
    marks = tmp_path / "marks"
    marks.mkdir()
    settings = Counting(trials=8, failing=(2, 5), marks=str(marks))
    records, quarantined = run(tmp_path / "s.sqlite", settings)
    assert records == expected(Counting(trials=8), {2, 5})
    assert quarantined == {n: f"ValueError: trial {n} never works" for n in (2, 5)}
    tried = sorted(int(mark.name.split("-")[0]) for mark in marks.iterdir())
    assert [tried.count(n) for n in range(8)] == [1, 1, 3, 1, 1, 3, 1, 1]


@pytest.fixture
def most_failures(monkeypatch, request):
    """How often a trial is tried: each death takes a second. Three deaths are counted below."""
    most = effort.number(request.param, 3)
    for module in (running, store):
        monkeypatch.setattr(module, "MAX_FAILURES", most)
    return most


@pytest.mark.usefixtures("most_failures")
@pytest.mark.parametrize("most_failures", [2], indirect=True)
def test_a_trial_that_kills_its_worker_is_found_and_its_neighbours_are_not_blamed(run, tmp_path):
    deadly = (4, 7)[: effort.number(1, 2)]  # below there are two in the quick tests
    settings = Counting(trials=12, deadly=deadly, pause=0.02)
    records, quarantined = run(tmp_path / "s.sqlite", settings)
    assert records == expected(Counting(trials=12), deadly)
    assert quarantined == dict.fromkeys(deadly, "its worker died")


def test_a_suspect_runs_alone_and_last(run, tmp_path):
    """Trial 1 was in flight with the guilty one; only deaths alone are counted.

    A trial that dies does not keep the others waiting.
    """
    told = []
    settings = Counting(trials=6, deadly=(0,), pause=0.2)
    records, quarantined = run(tmp_path / "s.sqlite", settings, watch=told.append)
    assert (list(records), list(quarantined)) == ([1, 2, 3, 4, 5], [0])
    assert next(p for p in told if p.failed).done == 5
    with contextlib.closing(sqlite3.connect(tmp_path / "s.sqlite")) as reader:
        counted = reader.execute("SELECT number, count(*) FROM failures GROUP BY number")
        assert counted.fetchall() == [(0, 3)]


@pytest.mark.parametrize("most_failures", [1], indirect=True)
def test_a_worker_that_somebody_kills_is_forgiven_for_a_while(
    run, tmp_path, monkeypatch, most_failures
):
    """Only every KILLS-th SIGKILL counts; a death of its own counts each time."""
    monkeypatch.setattr(running, "KILLS", 3)
    marks = tmp_path / "marks"
    marks.mkdir()
    settings = Counting(trials=3, killed=(0,), deadly=(2,), marks=str(marks), pause=0.3)
    records, quarantined = run(tmp_path / "s.sqlite", settings)
    assert (list(records), sorted(quarantined)) == ([1], [0, 2])
    tried = [int(mark.name.split("-")[0]) for mark in marks.iterdir()]
    killed, dead = tried.count(0) - 3 * most_failures, tried.count(2) - most_failures
    assert (0 <= killed <= 1, 0 <= dead <= 1) == (True, True), tried


def test_a_worker_that_dies_once_loses_nothing(run, tmp_path):
    settings = Counting(deadly_once=str(tmp_path / "died"))
    records, quarantined = run(tmp_path / "s.sqlite", settings)
    assert (tmp_path / "died").exists()
    assert records == expected(Counting())
    assert quarantined == {}


def test_quarantine_is_kept_until_it_is_lifted(run, tmp_path):
    marks = tmp_path / "marks"
    marks.mkdir()
    settings = Counting(trials=3, failing=(1,), marks=str(marks))
    for retry, n_attempts in ((False, 5), (False, 5), (True, 8)):
        _, quarantined = run(tmp_path / "s.sqlite", settings, retry=retry)
        assert list(quarantined) == [1]
        assert len(list(marks.iterdir())) == n_attempts


@dataclass(frozen=True)
class Few:
    trials: int = setting(2, source="test")
    seed: int = setting(0, source="test")


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (lambda: 3, "must return a record"),
        (lambda: {"x": np.int64(3)}, "plain finite JSON values"),
        (lambda: {"x": np.zeros(2)}, "plain finite JSON values"),
        (lambda: {"x": float("nan")}, "plain finite JSON values"),
        (lambda: {"seconds": 2.0}, "seconds must be given by name"),
    ],
)
def test_a_record_must_be_plain(record, reason):
    found = attempt(lambda settings, number: record(), Few(), 0)
    assert found.record is None
    assert reason in found.reason
    assert "\n" not in found.reason


def test_progress_counts_up(run, tmp_path):
    told = []
    run(tmp_path / "s.sqlite", Counting(trials=6, failing=(0,)), watch=told.append)
    assert [p.done for p in told] == sorted(p.done for p in told)
    assert (told[0].done, told[0].left) == (0, None)
    assert (told[-1].done, told[-1].failed, told[-1].total) == (5, 1, 6)
    assert told[-1].left == 0.0


def test_runs_are_measured(run, tmp_path):
    settings = Counting(trials=6, pause=0.05)
    run(tmp_path / "s.sqlite", settings)
    with Store(tmp_path / "s.sqlite", STUDY, settings) as store:
        (info,) = store.runs()
    assert (info.trials, info.workers, info.place) == (6, 2, "local processes")
    assert 0.3 <= info.busy <= info.wall * 2


def test_no_more_workers_than_trials():
    assert LocalWorkers(50, 3).size() == 3
    assert LocalWorkers(2, 3).size() == 2


def test_one_process_is_started_for_a_trial_alone_and_all_for_the_others(monkeypatch):
    started = []

    class Threads(ThreadPoolExecutor):
        """As loky's processes, but quick."""

        def __init__(self, size, **how):
            started.append(size)
            super().__init__(size)

        def shutdown(self, wait, kill_workers):
            super().shutdown(wait)

    monkeypatch.setattr("joblib.externals.loky.ProcessPoolExecutor", Threads)
    workers = LocalWorkers(3)
    for is_alone, sizes in ((True, [1]), (True, [1]), (False, [1, 3]), (True, [1, 3])):
        found = workers.submit(count, Counting(), 0, is_alone=is_alone).result()
        assert (found.reason, started) == ("", sizes)
    workers.stop(at_once=False)


@pytest.mark.parametrize("jobs", [0, -1, 1.5, True])
def test_a_wrong_number_of_jobs(jobs):
    with pytest.raises(InvalidParameter, match="jobs must be a whole number from 1"):
        LocalWorkers(jobs)


def test_workers_have_one_thread_and_ignore_the_keyboard(run, tmp_path):
    def look(settings, number):
        return {
            "threads": os.environ["OMP_NUM_THREADS"],
            "interrupt": signal.getsignal(signal.SIGINT) == signal.SIG_IGN,
        }

    study = register_study("look", Few, trial=look)
    records, _ = run(tmp_path / "s.sqlite", Few(), study=study)
    assert records[0] == {"threads": "1", "interrupt": True}


# Killed


def start(folder, where, trials, gate=""):
    """The study in a process group of its own; with a gate it cannot end before that is there."""
    changes = [f"trials={trials}", "pause=0.05"]
    return subprocess.Popen(
        [sys.executable, "-m", "tests.studies.counting", str(folder), str(where), *changes],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT,
        env={**os.environ, GATE: str(gate)}, start_new_session=True,
    )  # fmt: skip


def n_rows(folder):
    """How many trials the store holds, read beside a running program."""
    try:
        with contextlib.closing(sqlite3.connect(folder / "counting.sqlite")) as reader:
            return reader.execute("SELECT count(*) FROM trials").fetchone()[0]
    except sqlite3.OperationalError:
        return 0


def wait_until(condition, process):
    while process.poll() is None and not condition():
        time.sleep(0.01)


def killed_and_resumed(folder, n_kills, trials, everything):
    """Kill the run again and again, with its workers or without, then let it finish."""
    chance = random.Random(1)
    gate = folder.with_name("gate")
    for _ in range(n_kills):
        before = n_rows(folder)
        process = start(folder, 2, trials, gate)
        wait_until(lambda before=before: n_rows(folder) >= min(before + 1, trials - 1), process)
        time.sleep(chance.random() * 0.1)
        if everything:
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
        process.communicate()
        assert process.returncode == -signal.SIGKILL
    (report,) = reproduce_here(folder, trials=trials, pause=0.05).reports
    assert (len(report.records), dict(report.failed)) == (trials, {})


@pytest.mark.parametrize(
    ("n_kills", "trials"), [(1, 8), pytest.param(20, 210, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize(
    "everything",
    [
        pytest.param(True, id="with workers"),
        pytest.param(False, id="without workers", marks=pytest.mark.slow),
    ],
)
def test_a_killed_run_resumes(tmp_path, undisturbed, everything, n_kills, trials):
    killed_and_resumed(tmp_path / "disturbed", n_kills, trials, everything)
    assert reports(tmp_path / "disturbed") == undisturbed(trials=trials, pause=0.05)


def test_a_worker_that_begins_after_its_run_was_killed_ends():
    code = (
        "import time\n"
        "from didact.numerics.threads import begin_worker\n"
        "begin_worker(2**22 + 1)\n"  # no process has such a number
        "time.sleep(600)\n"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT).returncode == 1


def children(pid):
    """The processes that a process has started."""
    import psutil

    return [child.pid for child in psutil.Process(pid).children()]


def kill_workers(process, n_kills, n_done):
    """Kill one worker after another, each when some more trials are done; how many were there."""
    kills = 0
    for number in range(n_kills):
        wait_until(lambda number=number: n_done() >= 8 * number + 1, process)
        workers = [pid for pid in children(process.pid) if "loky" in command_line(pid)]
        if workers:
            with contextlib.suppress(ProcessLookupError):
                os.kill(workers[0], signal.SIGKILL)
                kills += 1
    return kills


def command_line(pid):
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_text()
    return ""


@pytest.mark.parametrize(
    ("n_kills", "trials"), [(1, 8), pytest.param(21, 210, marks=pytest.mark.slow)]
)
def test_killed_workers_lose_nothing(tmp_path, undisturbed, n_kills, trials):
    """A worker is killed in the middle of a trial, over and over; no trial is lost or doubled."""
    disturbed, gate = tmp_path / "disturbed", tmp_path / "gate"
    process = start(disturbed, 2, trials, gate)
    assert kill_workers(process, n_kills, lambda: n_rows(disturbed)) >= n_kills - 1
    gate.touch()
    out, err = process.communicate()
    assert (process.returncode, out) == (0, f"{trials} []\n"), err
    assert reports(disturbed) == undisturbed(trials=trials, pause=0.05)


def test_an_interrupt_keeps_what_is_done(tmp_path):
    process = start(tmp_path, 1, 200, gate=tmp_path / "gate")  # a second may just have begun
    wait_until(lambda: n_rows(tmp_path) >= 3, process)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate()
    assert process.returncode != 0
    # Frames of a traceback may name loky; loky itself complains at the start of a line.
    assert not [line for line in err.splitlines() if "loky" in line and line[:1] != " "], err
    kept = n_rows(tmp_path)
    assert 3 <= kept < 200


# A cluster


@pytest.fixture(scope="module")
def cluster():
    """A scheduler with two worker processes of one thread each.

    Fifteen seconds after a death it would give up a worker that is just being replaced again.
    """
    distributed = pytest.importorskip("distributed")
    dask = pytest.importorskip("dask")
    with (
        dask.config.set(
            {
                "distributed.deploy.lost-worker-timeout": "1 hour",
                "distributed.worker.multiprocessing-method": "forkserver",  # imports Dask once
            }
        ),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as made,
    ):
        yield made


def test_a_cluster_gives_the_same_bytes(tmp_path, undisturbed, cluster):
    reproduce(["counting"], out=tmp_path, cluster=cluster.scheduler_address)
    assert reports(tmp_path) == undisturbed()
    with Store(tmp_path / "counting.sqlite", STUDY, Counting()) as store:
        (info,) = store.runs()
    assert (info.workers, info.trials) == (2, 24)
    assert info.place.startswith("cluster tcp://")


def test_a_cluster_quarantines_too(tmp_path, cluster):
    made = reproduce(
        ["counting"], out=tmp_path, cluster=cluster.scheduler_address,
        changes={"trials": 4, "failing": (1,)},
    )  # fmt: skip
    assert not made.is_complete
    assert list(made.reports[0].failed) == [1]


@pytest.mark.slow
def test_a_cluster_finds_a_trial_that_kills_its_worker(tmp_path, cluster, monkeypatch):
    """The reason is the one that local workers give, so that reports are the same bytes."""
    monkeypatch.setattr("didact.studies.workers.PATIENCE", 3600)  # busy machines are slow
    # Each death takes two seconds, and local ones are counted above. One failure is not enough: if
    # a worker dies right after a trial, Dask may take its answer for an error, and it runs again.
    for module in (running, store):
        monkeypatch.setattr(module, "MAX_FAILURES", 2)
    changes = {"trials": 5, "deadly": (1,)}
    ways = {"there": {"cluster": cluster.scheduler_address}, "here": {"jobs": 1}}
    for name, how in ways.items():
        made = reproduce(["counting"], out=tmp_path / name, changes=changes, **how)
        assert dict(made.reports[0].failed) == {1: "its worker died"}
        assert list(made.reports[0].records) == [0, 2, 3, 4]
    assert reports(tmp_path / "there") == reports(tmp_path / "here")


def test_a_worker_of_another_version_is_told(monkeypatch):
    found = attempt_there("9.9", b"", b"")
    assert (found.record, found.reason.startswith("a worker must have didact 9.9; it has ")) == (
        None, True,
    )  # fmt: skip


def test_a_cluster_that_loses_a_worker_finishes(tmp_path, cluster, undisturbed):
    process = start(tmp_path, cluster.scheduler_address, 30)
    wait_until(lambda: n_rows(tmp_path) >= 4, process)
    victim = next(iter(cluster.workers.values()))
    os.kill(victim.pid, signal.SIGKILL)
    out, err = process.communicate()
    assert (process.returncode, out) == (0, "30 []\n"), err
    assert reports(tmp_path) == undisturbed(trials=30, pause=0.05)


def test_a_cluster_that_is_not_there(monkeypatch):
    monkeypatch.setattr("didact.studies.workers.ANSWER", 0.3)
    with pytest.raises(
        InvalidParameter, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:1 "
    ):
        workers_of(None, "tcp://127.0.0.1:1")
    with pytest.raises(InvalidParameter, match="--jobs is for local processes"):
        workers_of(2, "tcp://127.0.0.1:1")


def test_a_cluster_that_goes_away_is_told_with_what_is_kept(tmp_path):
    distributed = pytest.importorskip("distributed")
    made = distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, protocol="tcp", dashboard_address=":0"
    )
    settings = Counting(trials=500, pause=0.05)
    workers = workers_of(None, made.scheduler_address)
    seen = []

    def watch(progress):
        seen.append(progress)
        if progress.done == 3:
            made.close()

    with Store(tmp_path / "s.sqlite", STUDY, settings) as store:
        with pytest.raises(ClusterLost, match="of 500 trials are kept, and the same command"):
            run_trials(STUDY, settings, store, workers, watch=watch)
        assert len(store.numbers()) >= 3
    workers.stop(at_once=True)


def test_a_study_runs_in_python_and_tells_how_far_it_is(monkeypatch, capsys, tmp_path):
    """The records are those of the command; a store goes on from where it is."""
    monkeypatch.setattr(running, "workers_of", lambda jobs, cluster, most: Here())
    monkeypatch.setattr(running, "SPEAKS", 0.0)
    settings = Counting(trials=3)
    found = run_study(STUDY, trials=3, store=tmp_path / "kept.sqlite")
    assert found.records == expected(settings)
    assert (found.failed, repr(found)) == ({}, "StudyRun('counting': 3 of 3 trials)")
    assert found.summary.tables[0].rows
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("counting: 0 of 3 trials")
    assert lines[-1].startswith("counting: 3 of 3 trials")
    monkeypatch.setattr(Here, "submit", None)  # nothing is run again
    again = run_study("counting", trials=3, store=tmp_path / "kept.sqlite", progress=False)
    assert again.records == found.records
    assert capsys.readouterr().err == ""


def test_what_run_study_refuses():
    with pytest.raises(InvalidParameter, match="there is no setting 'trails'"):
        run_study("chain", trails=2)
    with pytest.raises(InvalidParameter, match="no study is called"):
        run_study("tabel1")


OWN = """
from dataclasses import dataclass
import didact
import own_corridor
from didact.studies import setting

@didact.register_world("own-hall")
def hall(length=3):
    return didact.make("chain", length=length)

@dataclass(frozen=True)
class Two:
    trials: int = setting(2, source="test")
    seed: int = setting(0, source="test")

def trial(settings, number):
    tasks = [didact.make("own-hall", length=3 + number), didact.make("own-corridor")]
    lesson = didact.teach(tasks[0], teacher="own-first", horizon=1)
    return {"states": [task.mdp.n_states for task in tasks], "shown": lesson.n_pairs}

if __name__ == "__main__":
    import json, sys
    study = didact.register_study("own-corridors", Two, trial=trial)
    place = {"jobs": 1} if sys.argv[1] == "here" else {"cluster": sys.argv[1]}
    found = didact.run_study(study, progress=False, **place)
    print(json.dumps([found.records, found.failed]))
"""
OWN_MODULE = """
import didact

@didact.register_world("own-corridor")
def corridor(length=5):
    return didact.make("chain", length=length)

@didact.register_teacher("own-first")
def first(problem, rng):
    return [0]
"""


@pytest.mark.parametrize("place", ["here", "cluster"])
def test_what_a_script_registers_reaches_workers_that_started_elsewhere(tmp_path, place, request):
    """Worlds and teachers of the script and of a module beside it, which no worker can import."""
    (tmp_path / "script.py").write_text(OWN)
    (tmp_path / "own_corridor.py").write_text(OWN_MODULE)
    if place == "cluster":
        place = request.getfixturevalue("cluster").scheduler_address
    answer = subprocess.run(
        [sys.executable, "script.py", place],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
    )
    assert json.loads(answer.stdout or "[]") == [
        {"0": {"states": [3, 5], "shown": 1}, "1": {"states": [4, 5], "shown": 1}},
        {},
    ], answer.stderr
