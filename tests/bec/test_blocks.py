"""Blocks: workers change nothing, and what was interrupted goes on."""

import numpy as np
import pytest

import didact
from didact.bec import blocks
from didact.errors import InvalidFile, InvalidParameter
from tests.bec.test_observe import watch

GIVEN = dict(n_rollouts=20, length=16)


@pytest.fixture(scope="module")
def whole():
    """What one process sees that nobody interrupts."""
    return watch(**GIVEN)


def test_processes_give_the_same_bits(whole):
    one, two = whole, watch(**GIVEN, jobs=2)
    assert one.rows.tobytes() == two.rows.tobytes()
    assert one.n_steps == two.n_steps


def test_objects_are_branched_in_processes_too():
    def balance(seen):
        return (np.atleast_2d(seen)[:, 2] > 0).astype(int)

    given = dict(features=lambda o, a, n, e: [1.0], weights=[1.0], discount=0.8, n_rollouts=30,
                 length=5, tolerance=0.5, horizon=20, restore="replay")  # fmt: skip
    one = didact.observe("CartPole-v1", balance, **given)
    two = didact.observe("CartPole-v1", balance, **given, jobs=2)
    assert one.rows.tobytes() == two.rows.tobytes()
    assert one.n_steps == two.n_steps


def test_progress_tells_situations_and_steps_a_second():
    told = []
    seen = watch(**GIVEN, progress=lambda *line: told.append(line))
    assert [done for done, _, _ in told] == [128, 256, 320]
    assert {total for _, total, _ in told} == {len(seen.rows)}
    assert all(rate > 0 for _, _, rate in told)


def test_what_was_interrupted_goes_on(tmp_path, monkeypatch, whole):
    monkeypatch.setattr(blocks, "EVERY", 0.0)
    place, told = tmp_path / "observing.npz", []

    def stop(done, total, rate):
        if done == 256:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        watch(**GIVEN, checkpoint=str(place), progress=stop)
    assert place.exists()
    with pytest.raises(InvalidFile, match="belongs to another observation"):
        watch(**GIVEN, checkpoint=str(place), seed=9)
    seen = watch(**GIVEN, checkpoint=str(place), progress=lambda *line: told.append(line[0]))
    assert told == [320]  # two blocks were done
    assert seen.rows.tobytes() == whole.rows.tobytes()
    assert not place.exists()


def test_bad_input_is_told(tmp_path):
    with pytest.raises(InvalidParameter, match="jobs"):
        watch(jobs=0)
    with pytest.raises(InvalidParameter, match="progress must be a function"):
        watch(progress=5)
    (tmp_path / "broken.npz").write_bytes(b"no")
    with pytest.raises(InvalidFile, match="observing"):
        watch(checkpoint=str(tmp_path / "broken.npz"))


def test_a_cluster_gives_the_same_bits(whole):
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=False,
                                  dashboard_address=None) as cluster:  # fmt: skip
        seen = watch(**GIVEN, cluster=cluster.scheduler_address)
    assert seen.rows.tobytes() == whole.rows.tobytes()
