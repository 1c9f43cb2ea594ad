"""BIRL: what a belief says, starts, notes, refusals, progress, threads."""

from __future__ import annotations

import json
import math
import signal
import threading
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from didact.errors import InvalidParameter
from didact.learners import learn
from didact.learners.chains import chain
from didact.learners.chains.birl import birl, run_all, sample_posterior, stuck_notes
from didact.learners.chains.options import PRIORS, ChainOptions
from didact.learners.evidence import as_evidence, softmax_log_likelihood
from didact.planning import solve
from didact.stages import listening
from didact.teaching import teach
from didact.worlds import make
from tests.effort import number

TASK = make("random-grid", size=5, n_features=3, seed=2)
SHOWN = [[(s, int(a))] for s, a in enumerate(solve(TASK.mdp, TASK.true_weights).optimal.argmax(1))]
EVIDENCE = as_evidence(TASK.mdp, SHOWN[::3])
SLIPPERY = make("random-grid", size=4, n_features=3, seed=2, slip="1/4")
SHORT = {"n_steps": 400, "n_chains": 3}


def run(evidence=EVIDENCE, seed=0, **options):
    return birl(evidence, np.random.default_rng(seed), **{**SHORT, **options})


def bits(belief) -> bytes:
    parts = (belief.samples, belief.log_posterior, belief.map_weights, belief.best_by_chain)
    return b"".join(part.tobytes() for part in parts)


# What does not change the draws


@pytest.mark.parametrize("options", [{}, {"prior": "l1-sphere"}, {"prior": "box", "thin": 3}])
def test_threads_change_nothing(options):
    assert len({bits(run(threads=n, **options)) for n in (None, 1, 2, 3)}) == 1


def test_blocks_change_nothing(monkeypatch):
    usual = bits(run())
    monkeypatch.setattr(chain, "BLOCK_NUMBERS", 50)
    assert bits(run()) == usual


@pytest.mark.parametrize("slip", [0, "1/4"])
def test_compiling_changes_nothing(run_plain, slip):
    mdp = make("random-grid", size=3, n_features=2, seed=0, slip=slip).mdp
    evidence = as_evidence(mdp, [[(2, 1)], [(1, 1)]])
    compiled = bits(run(evidence, n_steps=300, n_chains=2))
    run_plain()
    assert bits(run(evidence, n_steps=300, n_chains=2)) == compiled


def test_progress_and_its_absence_change_nothing():
    assert bits(run(progress=lambda done, total: None)) == bits(run(progress=True)) == bits(run())


@pytest.mark.parametrize("mdp", [TASK.mdp, SLIPPERY.mdp], ids=["deterministic", "slippery"])
@pytest.mark.parametrize("prior", ["l2-sphere", "l1-sphere", "box", "gaussian"])
def test_an_extra_term_of_nothing_changes_nothing(mdp, prior):
    evidence = as_evidence(mdp, SHOWN[:9:2])
    plain = run(evidence, prior=prior)
    extra = sample_posterior(
        evidence,
        np.random.default_rng(0),
        ChainOptions(prior=prior, **SHORT),
        extra=lambda w, q: 0.0,
    )
    tilted = run(evidence, prior=prior, log_prior=lambda w: 0.0)
    assert bits(plain) == bits(extra) == bits(tilted)


def test_seeds_matter_and_a_chain_does_not_know_the_others():
    assert bits(run(seed=1)) != bits(run(seed=0))
    few, many = run(n_chains=2), run(n_chains=4)
    assert (many.samples[:2] == few.samples).all()
    assert len({chain.tobytes() for chain in many.samples}) == 4


# What the options mean


def test_what_is_kept():
    belief = run(n_steps=100, burn_in=10, thin=7, n_chains=2)
    assert belief.samples.shape == (2, 12, 3)
    every = run(n_steps=100, burn_in=10, n_chains=2)
    assert (belief.samples == every.samples[:, 6::7][:, :12]).all()
    assert run(n_steps=100).samples.shape == (3, 80, 3)
    assert run(n_steps=1).samples.shape == (3, 1, 3)


def test_the_maximum_is_over_all_steps():
    belief = run(n_steps=2000)
    assert belief.map_log_posterior == belief.best_by_chain.max()
    assert (belief.best_by_chain >= belief.log_posterior.max(axis=1)).all()
    q = solve(TASK.mdp, belief.map_weights).action_values
    found = softmax_log_likelihood(EVIDENCE, q, belief.confidence)
    assert belief.map_log_posterior == pytest.approx(found, abs=1e-10)


@pytest.mark.parametrize("prior", ["l2-sphere", "l1-sphere", "box", "gaussian"])
@pytest.mark.parametrize("shown", [[], SHOWN[:3]], ids=["nothing shown", "confidence 0"])
def test_without_evidence_the_posterior_is_the_prior(prior, shown):
    evidence = as_evidence(TASK.mdp, shown)
    confidence = 0.0 if shown else 50.0
    for proposal in PRIORS[prior].proposals:
        step = 0.3 if proposal == "lattice" else None
        belief = run(
            evidence, prior=prior, proposal=proposal, confidence=confidence,
            n_steps=number(10_000, 40_000), step_size=step, n_chains=2, thin=20,
        )  # fmt: skip
        exact = PRIORS[prior].draw(np.random.default_rng(1), 4000, 3)
        for column in range(3):
            found = belief.samples_flat[:, column]
            assert stats.ks_2samp(found, exact[:, column]).pvalue > 1e-4


@pytest.mark.parametrize("prior", ["l2-sphere", "l1-sphere"])
def test_one_feature_has_two_signs(prior):
    task = make("random-grid", size=3, n_features=1, seed=0)
    belief = run(as_evidence(task.mdp, []), prior=prior, n_steps=20_000)
    assert set(np.unique(belief.samples)) == {-1.0, 1.0}
    assert abs(belief.mean_weights[0]) < 0.05


def test_draws_lie_on_the_prior():
    for prior, norm in (("l2-sphere", 2), ("l1-sphere", 1)):
        norms = np.linalg.norm(run(prior=prior).samples_flat, norm, axis=1)
        np.testing.assert_allclose(norms, 1.0, atol=1e-13)
    assert np.abs(run(prior="box").samples).max() <= 1.0


def test_a_density_of_nothing_is_never_entered():
    belief = run(log_prior=lambda w: 0.0 if w[0] > 0 else -math.inf, n_steps=150)
    assert (belief.samples[:, :, 0] > 0).all()
    assert belief.map_weights[0] > 0
    assert np.isfinite(belief.log_posterior).all()


def test_a_given_step_size_is_kept_and_an_adapted_one_frozen():
    assert run(step_size=0.005).settings["step_sizes"] == pytest.approx([0.005] * 3)
    adapted = run(n_steps=4000).settings["step_sizes"]
    assert len(set(adapted)) == 3
    assert run(n_steps=4000, threads=1).settings["step_sizes"] == adapted


def test_starts_are_started_from():
    start = np.array([0.6, 0.0, -0.8])
    belief = run(start=start, step_size=1e-9, burn_in=0, n_steps=20)
    assert np.abs(belief.samples - start).max() < 1e-6
    starts = np.eye(3)
    belief = run(start=starts, step_size=1e-9, burn_in=0, n_steps=20)
    assert np.abs(belief.samples - starts[:, None]).max() < 1e-6


def test_settings_are_plain_and_complete():
    belief = run(prior="box", log_prior=lambda w: 0.0, start=[0.1, 0.2, 0.3])
    settings = json.loads(json.dumps(dict(belief.settings)))
    assert settings["prior"] == "box"
    assert settings["proposal"] == "reject"
    assert settings["log_prior"] == "given"
    assert settings["start"] == [[0.1, 0.2, 0.3]] * 3
    assert settings["burn_in"] == 80


# The published chain, and chains that are stuck


def published(task, seed=0, **changes):
    k = task.mdp.n_features
    options = {
        "prior": "l1-sphere", "proposal": "lattice", "start": np.full(k, -1 / k), "n_chains": 1,
        "step_size": 0.005, "n_steps": 10_000, "burn_in": 0, "confidence": 100.0, **changes,
    }  # fmt: skip
    shown = teach(task, horizon=1, scope="all").demonstrations
    return birl(as_evidence(task.mdp, shown), np.random.default_rng(seed), **options)


def test_the_published_chain_can_be_asked_for():
    task = make("random-grid", size=5, n_features=8, seed=0)
    belief = published(task)
    assert belief.samples.shape == (1, 10_000, 8)
    multiples = belief.samples / 0.005
    np.testing.assert_allclose(multiples, np.rint(multiples), atol=1e-6)


@pytest.mark.parametrize("closed", [False, True])
def test_no_chain_of_the_published_length_is_stuck(closed):
    # One chain of 10,000 steps in all, on exact lessons for the worlds of the paper's study.
    for seed in range(number(5, 20)):
        task = make("random-grid", size=9, n_features=8, seed=seed)
        lesson = teach(task, horizon=1, scope="all", closed=closed, arithmetic="float")
        evidence = as_evidence(task.mdp, lesson.demonstrations)
        belief = birl(evidence, np.random.default_rng(seed), n_chains=1, n_steps=10_000)
        weights = task.true_weights.floats
        q = solve(task.mdp, weights / np.linalg.norm(weights), arithmetic="float").action_values
        assert belief.map_log_posterior > softmax_log_likelihood(evidence, q, 100.0) - 3.0, seed
        assert belief.notes == ()


def test_a_stuck_chain_is_told():
    task = make("random-grid", size=9, n_features=8, seed=1)
    shown = teach(task, horizon=1, scope="all", arithmetic="float").demonstrations
    evidence = as_evidence(task.mdp, shown)
    good = birl(evidence, np.random.default_rng(0), n_chains=1, n_steps=10_000).map_weights
    belief = birl(
        evidence, np.random.default_rng(0), start=np.array([good, -good]), n_chains=2,
        step_size=1e-4, n_steps=500,
    )  # fmt: skip
    assert belief.notes[0].startswith("chain 1 is stuck: its best log density, -")
    assert len(belief.notes) == 1
    assert belief.notes[0] in belief.warnings
    assert belief.map_log_posterior == belief.best_by_chain[0]
    alone = birl(
        evidence, np.random.default_rng(0), start=-good, n_chains=1, step_size=1e-4, n_steps=500
    )
    assert "below that of weights which a short search found" in alone.notes[0]
    assert alone.map_log_posterior == alone.best_by_chain[0]


def test_notes_of_stuck_chains():
    assert stuck_notes([-1.0, -10.9], -math.inf) == ()
    assert stuck_notes([-1.0, -11.1], -math.inf) == (
        "chain 1 is stuck: its best log density, -11.1, is 10 below chain 0's; "
        "its draws are not the posterior",
    )
    assert len(stuck_notes([-30.0, -40.0], -1.0)) == 2


# What is refused


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"confidence": -1.0}, "confidence must be a finite number from 0; it is -1.0"),
        ({"confidence": math.nan}, "confidence must be a finite number from 0; it is nan"),
        ({"confidence": math.inf}, "confidence must be a finite number from 0"),
        ({"n_steps": 0}, "n_steps must be a whole number from 1; it is 0"),
        ({"n_steps": 10.5}, "n_steps must be a whole number from 1; it is 10.5"),
        ({"n_steps": True}, "n_steps must be a whole number from 1; it is True"),
        ({"n_chains": 0}, "n_chains must be a whole number from 1; it is 0"),
        ({"burn_in": -1}, "burn_in must be a whole number from 0; it is -1"),
        ({"burn_in": 400}, "burn_in must be less than n_steps, 400; it is 400"),
        ({"thin": 0}, "thin must be a whole number from 1; it is 0"),
        ({"thin": 321}, "thin must be at most the 320 steps after burn-in; it is 321"),
        ({"n_steps": 10**12}, "the draws would take 7.68e.04 GB, more than 4; use a larger thin"),
        ({"step_size": 0.0}, "step_size must be a finite number above 0; it is 0.0"),
        ({"step_size": math.nan}, "step_size must be a finite number above 0; it is nan"),
        ({"step_size": "big"}, "step_size must be a finite number above 0; it is 'big'"),
        ({"start": [1.0, 0.0]}, r"start must have the shape \(3,\) or \(3, 3\); the shape is \(2"),
        ({"start": [math.nan, 0.0, 1.0]}, "start must be finite numbers; one is not"),
        ({"start": "here"}, "start must be numbers; it is 'here'"),
        ({"start": [1.0, 1.0, 1.0]}, "start must lie on the unit sphere"),
        ({"threads": 0}, "threads must be a whole number from 1; it is 0"),
        ({"progress": 3}, "progress must be None, True or a function"),
        ({"prior": "ball"}, "prior must be one of"),
        ({"proposal": "reject"}, "prior 'l2-sphere' is kept by the proposals gaussian;"),
        ({"prior": "l1-sphere", "proposal": "lattice"}, "proposal 'lattice' needs step_size"),
        ({"log_prior": lambda w: math.nan}, "log_prior must return a number or -inf; at weights"),
        ({"log_prior": lambda w: "no"}, "log_prior must return a number or -inf; .* 'no'"),
        ({"log_prior": lambda w: -math.inf}, "the density is 0 at all of 1000 draws from prior"),
        (
            {"log_prior": lambda w: -math.inf, "start": [1.0, 0.0, 0.0]},
            "start must have a density above 0; log_prior is -inf at",
        ),
    ],
)
def test_wrong_options_are_told_in_one_line(options, message):
    with pytest.raises(InvalidParameter, match=message):
        run(**options)


def test_a_generator_that_cannot_spawn_is_refused():
    for rng in (np.random.RandomState(0), 3, None):
        with pytest.raises(InvalidParameter, match="rng must be a numpy Generator that can spawn"):
            birl(EVIDENCE, rng)


# Progress and interruptions


@pytest.mark.parametrize("threads", [1, 2])
def test_progress_never_falls_and_ends_at_the_end(threads):
    told = []
    run(n_steps=30_000, threads=threads, progress=lambda done, total: told.append((done, total)))
    assert told[-1] == (90_000, 90_000)
    assert all(a[0] <= b[0] for a, b in pairwise(told))
    assert {total for _, total in told} == {90_000}


@pytest.mark.parametrize("threads", [1, 2])
def test_an_interruption_stops_the_chains(threads):
    def interrupt(done, total):
        raise KeyboardInterrupt

    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        run(n_steps=3_000_000, thin=1000, threads=threads, progress=interrupt)
    assert threading.active_count() == before


def test_control_c_stops_the_chains():
    timer = threading.Timer(0.5, signal.raise_signal, (signal.SIGINT,))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        run(n_steps=500_000_000, thin=1_000_000, threads=2)
    timer.join()


def test_learn_finds_it():
    belief = learn(TASK.mdp, SHOWN[:4], n_steps=300, n_chains=2, seed=3)
    assert belief.learner == "birl"
    assert bits(belief) == bits(
        learn(TASK.mdp, SHOWN[:4], learner="birl", n_steps=300, n_chains=2, seed=3)
    )


@pytest.mark.parametrize("threads", [1, 3])
def test_phases_follow_each_other_and_progress_rises_to_the_total(threads):
    ended, told = [], []

    def run(name, n):
        for _ in range(n):
            yield 2
        ended.append(name)

    def phases():
        yield [run("a", 3), run("b", 1)]
        assert sorted(ended) == ["a", "b"]
        yield [run("c", 2), run("d", 4), run("e", 0)]

    run_all(phases(), 20, threads=threads, progress=lambda done, total: told.append((done, total)))
    assert sorted(ended) == list("abcde")
    done = [part for part, _ in told]
    assert done == sorted(done)
    assert told[-1] == (20, 20)


@pytest.mark.parametrize("threads", [1, 2])
def test_an_error_ends_all(threads):
    def fails():
        yield 1
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        run_all([[fails(), iter([1])], []], 3, threads=threads, progress=None)


@pytest.mark.parametrize("threads", [1, 2])
def test_who_listens_hears_that_kernels_are_compiled(monkeypatch, threads):
    told = []
    monkeypatch.setattr("didact.learners.chains.birl.is_compiling", lambda: True)
    with listening(told.append):
        run_all([[iter([2, 3]), iter([1])]], 6, threads=threads, progress=None)
    assert set(told) == {"compiling, once on this machine"}


def test_who_listens_hears_of_steps_and_of_mixing():
    told, rounds = [], iter(["", "R-hat 1.01"])
    with listening(told.append):
        phases = [[iter([2, 3])], [iter([5])]]
        run_all(phases, 9, threads=1, progress=None, say=lambda: next(rounds))
    assert told == [
        "learning: 2 of 9 steps",
        "learning: 5 of 9 steps",
        "learning: 9 of 9 steps; R-hat 1.01",
    ]
