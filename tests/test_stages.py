"""Stages: told to who listens, inside and only there, and to nobody else."""

from didact import learn, make, teach, teach_within
from didact.stages import Deadline, counting, deadline, listening, stage, within


def test_only_those_who_listen_are_told():
    told = []
    assert counting("{} of {}") is None
    with listening(told.append):
        stage("one")
        with listening(lambda words: told.append(f"inner {words}")):
            counting("{} of {:,}", "; {x}")(2, 3000)
        stage("two")
    stage("nobody")
    assert told == ["one", "inner 2 of 3,000; {x}", "two"]


def test_a_listener_that_fails_is_forgotten():
    try:
        with listening(lambda words: 1 / 0):
            stage("one")
    except ZeroDivisionError:
        pass
    stage("nobody")


def test_teaching_tells_its_stages_in_order():
    told = []
    with listening(told.append):
        teach_within(make("random-grid", size=4, n_features=4, seed=1), teacher="exact", loss="5%")
    names = list(dict.fromkeys(words.partition(":")[0] for words in told))
    assert names == ["solving", "comparing actions", "facets", "cover", "bounds of loss", "proof"]
    assert "facets: 15 of 15 rows decided" in told


def test_learners_tell_how_far_they_are():
    told = []
    task = make("six-cell")
    shown = teach(task)
    with listening(told.append):
        learn(task.mdp, shown, max_likelihoods=60_000)
    assert all(words.startswith("learning: ") for words in told)
    assert "likelihoods" in told[-1]


def test_a_deadline_is_that_of_the_work_around_where_this_comes_first(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(Deadline, "clock", staticmethod(lambda: now[0]))
    assert not deadline().is_set
    with within():
        assert not deadline().is_set
    with within(60) as outer, within(90) as inner:
        assert inner.left == outer.left == 60
        with within(share=0.5):
            assert deadline().left == 30
            now[0] += 31
            assert deadline().is_over
        assert not deadline().is_over
        assert deadline().left == 29
    assert not deadline().is_set
