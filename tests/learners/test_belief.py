"""Beliefs: what they hold, say and refuse; their files; what other tools make of them."""

import io
import json
import math
import os
import sys
import zipfile
from importlib import metadata

import numpy as np
import pytest

from didact.errors import InvalidFile, InvalidInput, InvalidParameter, Unsupported
from didact.files import archives
from didact.learners import Belief, as_evidence, load_belief, point_belief
from didact.learners.belief import Mode
from didact.learners.diagnostics import bulk_ess, rank_r_hat, tail_ess
from didact.learners.evidence import Certificate, certify
from didact.mdp import MDP, Demonstration
from didact.planning import solve
from didact.worlds import gridworld, make
from tests.effort import number

SHOWN = (Demonstration([(2, 2), (1, 2)]), Demonstration([(5, 0)]))


def small_mdp(**names) -> MDP:
    """Two states, two actions, three features."""
    moves = np.zeros((2, 2, 2))
    moves[:, 0, 0] = moves[:, 1, 1] = 1.0
    return MDP(moves, [[1, 0, 0], [0, 1, 2]], "0.9", **names)


def fields(mdp: MDP | None = None, shape=(4, 100), **changed):
    mdp = mdp or small_mdp()
    rng = np.random.default_rng(0)
    samples = rng.normal(size=(*shape, mdp.n_features))
    log_posterior = -(samples**2).sum(axis=2)
    given = {
        "mdp": mdp,
        "learner": "birl",
        "demonstrations": (),
        "samples": samples,
        "log_posterior": log_posterior,
        "map_weights": np.full(mdp.n_features, 0.5),
        "map_log_posterior": 1.5,
        "best_by_chain": log_posterior.max(axis=1),
        "acceptance": np.full(shape[0], 0.3),
        "confidence": 100.0,
        "certificate": None,
        "settings": {"n_steps": 100},
    }
    return {**given, **changed}


def belief_with(*arguments, **changed) -> Belief:
    return Belief(**fields(*arguments, **changed))


# What it holds


def test_sizes_mean_and_flat_samples():
    belief = belief_with()
    assert (belief.n_chains, belief.n_draws, belief.is_point) == (4, 100, False)
    assert belief.samples_flat.shape == (400, 3)
    assert belief.samples_flat[100].tolist() == belief.samples[1, 0].tolist()
    assert belief.mean_weights == pytest.approx(belief.samples.mean(axis=(0, 1)))
    assert belief.r_hat.tolist() == rank_r_hat(belief.samples).tolist()
    assert belief.ess_bulk.tolist() == bulk_ess(belief.samples).tolist()
    assert belief.ess_tail.tolist() == tail_ess(belief.samples).tolist()


def test_arrays_are_copies_that_nobody_can_change():
    given = fields()
    belief = Belief(**given)
    before = belief.samples.copy()
    given["samples"][:] = 7.0
    assert np.array_equal(belief.samples, before)
    for array in (
        belief.samples, belief.log_posterior, belief.map_weights, belief.best_by_chain,
        belief.acceptance, belief.mean_weights, belief.r_hat, belief.policy(),
    ):  # fmt: skip
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0.0
    with pytest.raises(TypeError):
        belief.settings["n_steps"] = 3


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"samples": np.zeros((4, 100))}, r"samples must have the shape \(chains, draws, 3\)"),
        ({"samples": np.zeros((4, 0, 3))}, "at least one draw"),
        ({"samples": np.zeros((4, 100, 2))}, r"the shape is \(4, 100, 2\)"),
        ({"samples": "many"}, "samples must be numbers"),
        ({"samples": np.full((4, 100, 3), np.nan)}, "samples must be finite"),
        ({"log_posterior": np.zeros((4, 99))}, r"log_posterior must have the shape \(4, 100\)"),
        ({"log_posterior": np.full((4, 100), -np.inf)}, "log densities.*-inf"),
        ({"map_weights": np.zeros(2)}, r"map_weights must have the shape \(3,\)"),
        ({"map_weights": [1.0, np.inf, 0.0]}, "map_weights must be finite"),
        ({"map_log_posterior": math.nan}, "all NaN.*one is nan"),
        ({"best_by_chain": np.zeros(3)}, "best_by_chain"),
        ({"acceptance": np.full(4, 1.5)}, "acceptance must be shares"),
    ],
)
def test_fields_that_do_not_fit_are_refused(changed, message):
    with pytest.raises(InvalidParameter, match=message):
        belief_with(**changed)


def test_the_policy_takes_all_optimal_actions_of_the_weights():
    task = gridworld([".a.", "b.a", "..b"], weights={".": 0, "a": 1, "b": -1}, discount="0.9")
    belief = belief_with(task.mdp, map_weights=task.weights)
    assert np.array_equal(belief.policy(), solve(task.mdp, task.weights).policy)
    assert np.array_equal(belief.policy("mean"), solve(task.mdp, belief.mean_weights).policy)
    assert (belief.policy() > 0).sum() > 9
    with pytest.raises(InvalidParameter, match="of must be 'map' or 'mean'; it is 'best'"):
        belief.policy("best")


# How far to trust it


def test_good_chains_have_no_warnings():
    belief = belief_with(shape=(4, 500))
    assert belief.is_mixed
    assert belief.warnings == ()


def test_chains_that_disagree_are_told_with_the_feature():
    samples = fields()["samples"]
    samples[:, :, 2] += 3 * np.arange(4)[:, None]
    mdp = small_mdp(feature_names=["grey", "red", "orange"])
    belief = belief_with(mdp, samples=samples)
    assert not belief.is_mixed
    worst = belief.r_hat[2]
    assert worst > 1.05
    assert f"have not mixed: R-hat {worst:.2f} for feature 2 (orange)" in belief.warnings[0]
    assert "for feature 2, " in belief_with(samples=samples).warnings[0]
    assert "\n" not in "".join(belief.warnings)


def test_few_effective_draws_are_told():
    samples = np.repeat(fields(shape=(4, 10))["samples"], 10, axis=1)
    belief = belief_with(samples=samples)
    assert belief.ess_bulk.min() < 100
    assert any("worth only" in line and "at least 100" in line for line in belief.warnings)


def test_too_few_draws_to_tell_are_told():
    belief = belief_with(shape=(2, 3))
    assert not belief.is_mixed
    assert "3 draws are too few" in belief.warnings[0]


def test_a_feature_that_never_moves_is_no_alarm():
    """On the sphere of one feature the posterior may be a single point."""
    belief = belief_with(
        samples=np.concatenate((fields()["samples"][:, :, :2], np.ones((4, 100, 1))), axis=2)
    )
    assert math.isnan(belief.r_hat[2])
    assert belief.is_mixed


def test_notes_come_first_and_on_one_line():
    belief = belief_with(shape=(2, 3), notes=("chain 2 is\n stuck",))
    assert belief.warnings[0] == "chain 2 is stuck"
    assert len(belief.warnings) == 2


def test_a_point_has_no_diagnostics():
    belief = point_belief(small_mdp(), "ml-irl", SHOWN[:0], [1.0, 2.0, 3.0], notes=("a note",))
    assert belief.is_point
    assert belief.is_mixed
    assert belief.warnings == ("a note",)
    assert np.isnan(belief.r_hat).all()
    assert belief.map_weights.tolist() == belief.mean_weights.tolist() == [1.0, 2.0, 3.0]
    assert math.isnan(belief.map_log_posterior)
    assert np.isnan(belief.acceptance).all()


# What it says


def test_summary_rows():
    belief = belief_with(small_mdp(feature_names=["a", "b", "b"]))
    rows = belief.summary()
    assert [row["name"] for row in rows] == ["a", "b [1]", "b [2]"]
    draws = belief.samples_flat[:, 1]
    assert rows[1] == {
        "name": "b [1]",
        "map": 0.5,
        "mean": pytest.approx(draws.mean()),
        "sd": pytest.approx(draws.std(ddof=1)),
        "5%": pytest.approx(np.quantile(draws, 0.05)),
        "95%": pytest.approx(np.quantile(draws, 0.95)),
        "r_hat": belief.r_hat[1],
        "ess_bulk": belief.ess_bulk[1],
        "ess_tail": belief.ess_tail[1],
    }
    point = point_belief(small_mdp(), "own", (), [1.0, 2.0, 3.0]).summary()[2]
    assert point["map"] == point["mean"] == 3.0
    assert all(math.isnan(point[name]) for name in ("sd", "5%", "95%", "r_hat", "ess_bulk"))


def test_text_says_what_it_is_the_weights_and_the_warnings():
    certificate = Certificate(-0.1, 100.0, True, True, "it is so")
    belief = belief_with(make("six-cell").mdp, certificate=certificate, notes=("mind this",))
    lines = str(belief).splitlines()
    assert lines[0] == "birl: 4 chains of 100 draws after 0 pairs, confidence 100"
    assert len(lines) == 1 + 2 + 2
    assert "90% from" in lines[1]
    assert lines[-2:] == ["The certificate holds: it is so.", "Warning: mind this"]
    assert repr(belief) == "Belief('birl', 4 chains of 100 draws, 2 features, 0 demonstrations)"
    point = str(point_belief(small_mdp(), "own", (), [1.0, 2.0, 3.0]))
    assert "one weight vector" in point
    assert "90%" not in point


def test_many_features_are_cut_in_text():
    mdp = MDP(np.ones((1, 1, 1)), np.ones((1, 30)), "0.5")
    assert "(18 more features)" in str(belief_with(mdp))


def test_the_table_for_notebooks_escapes_names():
    mdp = small_mdp(feature_names=["<script>", "a&b", "c"])
    text = belief_with(mdp, learner="<b>", notes=("<i>note</i>",))._repr_html_()
    assert "<script>" not in text
    assert "<b>" not in text
    assert "<i>" not in text
    assert "&lt;script&gt;" in text
    assert "a&amp;b" in text
    assert text.split("</table>")[0].count("<tr>") == 4
    point = point_belief(mdp, "own", (), [1.0, 2.0, 3.0])._repr_html_()
    assert "nan" not in point
    assert "R-hat" not in point


# ArviZ


def test_arviz_takes_it():
    az = pytest.importorskip("arviz")
    mdp = small_mdp(feature_names=["grey", "red", "orange"])
    belief = belief_with(mdp)
    data = belief.to_arviz()
    posterior = data["posterior"]["weights"]
    assert posterior.dims == ("chain", "draw", "feature")
    assert posterior.coords["feature"].values.tolist() == ["grey", "red", "orange"]
    assert np.array_equal(posterior.values, belief.samples)
    assert np.array_equal(data["sample_stats"]["lp"].values, belief.log_posterior)
    assert data["sample_stats"].attrs["acceptance"] == [0.3] * 4
    table = az.summary(data, round_to="none")
    assert table["ess_bulk"].astype(float).tolist() == pytest.approx(belief.ess_bulk.tolist())
    assert table["r_hat"].astype(float).tolist() == pytest.approx(belief.r_hat.tolist())


def test_the_tree_is_what_newer_arviz_takes(monkeypatch):
    xarray = pytest.importorskip("xarray")
    monkeypatch.setattr(metadata, "version", lambda name: "1.0.2")
    tree = belief_with().to_arviz()
    assert isinstance(tree, xarray.DataTree)
    assert set(tree.children) == {"posterior", "sample_stats"}
    assert json.loads(tree.attrs["settings"]) == {"n_steps": 100}


@pytest.mark.parametrize("missing", ["arviz", "xarray"])
def test_missing_arviz_is_told_in_one_line(missing, monkeypatch):
    pytest.importorskip("xarray")
    monkeypatch.setattr(metadata, "version", lambda name: "0.23")
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(Unsupported, match=rf"need the package {missing}; pip install 'didact\[arv"):
        belief_with().to_arviz()
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(Unsupported, match="need the package matplotlib; pip install 'did"):
        belief_with().plot()


# Files


def told_belief(shape=(3, 20), **changed) -> Belief:
    task = make("six-cell")
    shown = SHOWN
    given = {
        "demonstrations": shown,
        "certificate": certify(as_evidence(task.mdp, shown), task.weights, 100.0),
        "notes": ("chain 2 is stuck: –∞ 'quotes' \"double\"",),
        "settings": {"n_steps": 20, "prior": "l2-sphere", "start": None, "starts": [0.5, 1]},
    }
    return belief_with(task.mdp, shape, **{**given, **changed})


ARRAYS = ("samples", "log_posterior", "map_weights", "best_by_chain", "acceptance")


def assert_same(one: Belief, two: Belief) -> None:
    for name in ARRAYS:
        assert np.array_equal(getattr(one, name), getattr(two, name), equal_nan=True)
    for name in ("learner", "demonstrations", "confidence", "certificate", "notes"):
        assert getattr(one, name) == getattr(two, name)
    assert dict(one.settings) == dict(two.settings)
    assert one.map_log_posterior == pytest.approx(two.map_log_posterior, nan_ok=True, abs=0, rel=0)


@pytest.mark.parametrize(
    "belief",
    [
        told_belief(),
        told_belief(certificate=None, confidence=None, demonstrations=(), notes=(), settings={}),
        told_belief(certificate=Certificate(-3.25, 1.0, False, None, "open")),
        point_belief(make("six-cell").mdp, "own", SHOWN, [0.1, -1 / 3]),
    ],
)
def test_files_give_back_what_was_saved(belief, tmp_path):
    path = tmp_path / "belief.npz"
    belief.save(path)
    assert_same(load_belief(path, make("six-cell").mdp), belief)
    first = path.read_bytes()
    load_belief(path, belief.mdp).save(path)
    assert path.read_bytes() == first
    assert os.listdir(tmp_path) == ["belief.npz"]


def test_settings_become_plain_values(tmp_path):
    odd = {
        "a": np.float64(0.5),
        "b": np.arange(2),
        "c": (1, math.nan),
        "d": {"e": object},
        "f": np.bool_(1),
    }
    told_belief(settings=odd).save(tmp_path / "b.npz")
    found = load_belief(tmp_path / "b.npz", make("six-cell").mdp).settings
    assert found["a"] == 0.5
    assert found["b"] == [0, 1]
    assert found["c"] == [1, None]
    assert found["f"] is True
    assert isinstance(found["d"]["e"], str)


def test_modes_are_kept_in_files_and_old_files_have_none(tmp_path):
    mdp = small_mdp()
    modes = (Mode(0.75, np.array([1.0, 0.0, 0.0])), Mode(0.25, np.array([0.0, -1.0, 0.5])))
    belief = belief_with(mdp, modes=modes)
    belief.save(tmp_path / "new.npz")
    found = load_belief(tmp_path / "new.npz", mdp).modes
    assert [mode.share for mode in found] == [0.75, 0.25]
    assert all((a.mean == b.mean).all() for a, b in zip(found, modes, strict=True))
    with np.load(tmp_path / "new.npz") as arrays:
        content = dict(arrays)
    header = json.loads(str(content["header"]))
    del header["modes"]
    content["header"] = np.array(json.dumps(header))
    np.savez(tmp_path / "old.npz", **content)
    assert load_belief(tmp_path / "old.npz", mdp).modes == ()


def test_a_mode_that_is_none_is_refused():
    for wrong in (Mode(1.5, np.zeros(3)), Mode(0.5, np.zeros(2)), Mode(0.5, np.full(3, np.nan))):
        with pytest.raises(InvalidParameter, match="a mode must be a share"):
            belief_with(modes=(wrong,))


def test_action_probabilities_are_the_shares_of_the_draws_plans():
    task = make("random-grid", size=3, n_features=2, seed=1)
    rng = np.random.default_rng(0)
    draws = rng.standard_normal((2, 5, 2))
    draws[0, 0] = 0.0  # every action is optimal
    belief = belief_with(task.mdp, shape=(2, 5), samples=draws)
    plans = [solve(task.mdp, weights).policy for weights in draws.reshape(-1, 2)]
    np.testing.assert_allclose(belief.action_probabilities, np.mean(plans, axis=0), atol=1e-12)


def test_a_mixture_that_ran_out_of_budget_says_so_in_one_line(tmp_path):
    mdp = small_mdp()
    belief = belief_with(mdp, settings={"sampler": "mixture", "not_mixed": "too few likelihoods"})
    assert belief.warnings == ("too few likelihoods",)
    assert not belief.is_mixed
    belief.save(tmp_path / "belief.npz")
    assert not load_belief(tmp_path / "belief.npz", mdp).is_mixed


def test_a_failed_save_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "belief.npz"
    told_belief().save(path)
    old = path.read_bytes()
    monkeypatch.setattr(os, "fsync", lambda number: (_ for _ in ()).throw(OSError(28, "full")))
    with pytest.raises(InvalidFile, match="cannot be written: full"):
        told_belief().save(path)
    assert path.read_bytes() == old
    assert os.listdir(tmp_path) == ["belief.npz"]


def test_places_that_cannot_be_written_are_told(tmp_path):
    with pytest.raises(InvalidFile, match="cannot be written"):
        told_belief().save(tmp_path / "none" / "belief.npz")
    with pytest.raises(InvalidFile, match="cannot be written"):
        told_belief().save(tmp_path)


def test_other_models_are_refused(tmp_path):
    path = tmp_path / "belief.npz"
    told_belief().save(path)
    with pytest.raises(InvalidFile, match="6 states, 4 actions and 2 features; this one has 2"):
        load_belief(path, small_mdp())
    own = make("six-cell").mdp
    features = own.features.floats.copy()
    features[0] = features[0][::-1]
    other = MDP(own.transitions, features, own.discount, start=own.start, terminal=own.terminal)
    with pytest.raises(InvalidFile, match="another model of the same sizes"):
        load_belief(path, other)
    slower = MDP(own.transitions, own.features, "0.8", terminal=own.terminal)
    with pytest.raises(InvalidFile, match="another model of the same sizes"):
        load_belief(path, slower)


def rewritten(path, **changed) -> None:
    """The file with other arrays in it; None leaves one out."""
    with np.load(path) as archive:
        arrays = {**dict(archive), **changed}
    np.savez(path, **{name: value for name, value in arrays.items() if value is not None})


def header_with(path, **changed) -> np.ndarray:
    with np.load(path) as archive:
        header = json.loads(str(archive["header"]))
    return np.array(json.dumps({**header, **changed}))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"format": "didact.belief/2"}, "format must be 'didact.belief/1'.*'didact.belief/2'"),
        ({"format": None}, "format must be"),
        ({"learner": 3}, "learner must be text"),
        ({"confidence": "high"}, "confidence must be a"),
        ({"confidence": math.inf}, "Infinity"),
        ({"confidence": True}, "confidence must be a"),
        ({"map_log_posterior": math.nan}, "NaN"),
        ({"map_log_posterior": None}, "log densities"),
        ({"certificate": []}, "certificate must be an object"),
        ({"settings": {"steps": math.inf}}, "numbers must be finite; Infinity is not"),
        ({"certificate": {"holds": True}}, "is not a whole"),
        ({"certificate": {"holds": 1, "by_likelihood": True}}, "holds, does not, or is open"),
        ({"settings": 5}, "settings must be an object"),
        ({"notes": [1]}, "notes must be text"),
        ({"notes": None}, "notes must be a list"),
        ({"checksums": [1.0]}, "another model"),
        ({"checksums": "x"}, "is not a whole"),
        ({"n_states": "6"}, "belongs to a model of '6' states"),
        ({"n_states": 10**9}, "belongs to a model of 1000000000 states"),
    ],
)
def test_headers_that_say_something_else_are_refused(changed, message, tmp_path):
    path = tmp_path / "belief.npz"
    told_belief().save(path)
    rewritten(path, header=header_with(path, **changed))
    refused(path, message)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"samples": None}, "must hold the arrays"),
        ({"extra": np.zeros(1)}, "must hold the arrays"),
        ({"samples": np.zeros((3, 20, 3))}, "samples must have the shape"),
        ({"samples": np.full((3, 20, 2), np.nan)}, "samples must be finite"),
        ({"samples": np.zeros((3, 20, 2), dtype=np.float32)}, "samples has the type"),
        ({"samples": np.zeros((3, 20, 2), dtype=">f8")}, None),
        ({"log_posterior": np.full((3, 20), np.nan)}, "log densities"),
        ({"acceptance": np.full(3, 2.0)}, "acceptance must be shares"),
        ({"pairs": np.array([[2, 9], [1, 0], [5, 0]])}, "action must be from 0 to 3"),
        ({"pairs": np.array([[0.0, 1.0]] * 3)}, "pairs has the type"),
        ({"pairs": np.zeros((3, 3), dtype=np.int64)}, "do not make demonstrations"),
        ({"lengths": np.array([3, 0])}, "do not make demonstrations"),
        ({"lengths": np.array([2, 2])}, "do not agree"),
        ({"lengths": np.array([2**62, 2**62, 2**62, 2**62])}, "do not agree"),
        ({"header": np.array("{")}, "is not a whole"),
        ({"header": np.array("[" * 100_000)}, "is not a whole"),
        ({"header": np.array(3.0)}, "header has the type"),
    ],
)
def test_arrays_that_are_something_else_are_refused(changed, message, tmp_path):
    path = tmp_path / "belief.npz"
    told_belief().save(path)
    rewritten(path, **changed)
    if message is None:
        assert not load_belief(path, make("six-cell").mdp).samples.any()
    else:
        refused(path, message)


def refused(path, message: str) -> None:
    with pytest.raises(InvalidFile, match=message) as caught:
        load_belief(path, make("six-cell").mdp)
    assert str(caught.value).startswith(str(path))


def test_pickles_are_never_read(tmp_path):
    path = tmp_path / "belief.npz"
    told_belief().save(path)

    class Trap:
        def __reduce__(self):
            return (os.mkdir, (str(tmp_path / "sprung"),))

    rewritten(path, samples=np.array([Trap()], dtype=object))
    refused(path, "is not a whole")
    assert not (tmp_path / "sprung").exists()


def test_sizes_are_compared_before_memory_is_taken(tmp_path, monkeypatch):
    path = tmp_path / "belief.npz"
    told_belief().save(path)
    monkeypatch.setattr(archives, "MAX_BYTES", 1000)
    refused(path, "must hold at most 1000 bytes")


def with_member(path, name: str, content: bytes, compression=zipfile.ZIP_STORED) -> None:
    """The file with the bytes of one member put in place of its own."""
    with zipfile.ZipFile(path) as archive:
        members = {entry: archive.read(entry) for entry in archive.namelist()}
    with zipfile.ZipFile(path, "w", compression) as archive:
        for entry, own in members.items():
            archive.writestr(entry, content if entry == name else own)


def test_an_array_that_claims_terabytes_is_refused(tmp_path):
    path = tmp_path / "belief.npz"
    told_belief().save(path)
    claim = io.BytesIO()
    header = {"descr": "<f8", "fortran_order": False, "shape": (10**6, 10**6, 2)}
    np.lib.format.write_array_header_1_0(claim, header)
    with_member(path, "samples.npy", claim.getvalue())
    refused(path, "samples says it has the shape")
    header["shape"] = (-1, 5)
    claim = io.BytesIO()
    np.lib.format.write_array_header_1_0(claim, header)
    with_member(path, "samples.npy", claim.getvalue())
    refused(path, "samples says it has the shape")


def test_an_array_whose_description_does_not_end_is_refused(tmp_path):
    """NumPy reads it with Python's own tokenizer, which has an error of its own."""
    path = tmp_path / "belief.npz"
    told_belief().save(path)
    text = b"{'descr': '<f8', 'fortran_order': False, 'shape': (3, 20, 2"
    header = text.ljust(117) + b"\n"
    content = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header
    with_member(path, "samples.npy", content)
    refused(path, "is not a whole didact.belief/1 file: TokenError")


def test_compressed_arrays_are_refused(tmp_path):
    """A few bytes could else claim gigabytes."""
    path = tmp_path / "belief.npz"
    told_belief().save(path)
    with_member(path, "none", b"", zipfile.ZIP_DEFLATED)
    refused(path, "must hold its arrays as they are; some are compressed")


def test_pipes_are_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe.npz")
    refused(tmp_path / "pipe.npz", "must be a file; it is a pipe")


def test_a_zip_bomb_is_refused_by_its_size(tmp_path, monkeypatch):
    path = tmp_path / "belief.npz"
    told_belief().save(path)
    monkeypatch.setattr(archives, "MAX_BYTES", 10_000_000)
    with_member(path, "samples.npy", bytes(20_000_000), zipfile.ZIP_DEFLATED)
    assert path.stat().st_size < 100_000
    refused(path, "must hold at most")


@pytest.mark.parametrize("content", [b"", b"PK", b"{}", b"\x93NUMPY", bytes(1000)])
def test_foreign_files_are_refused(content, tmp_path):
    path = tmp_path / "belief.npz"
    path.write_bytes(content)
    refused(path, "must be a didact.belief/1 file")


def test_places_without_a_file_are_told(tmp_path):
    refused(tmp_path / "none.npz", "cannot be read: No such file")
    refused(tmp_path, "cannot be read")
    with pytest.raises(InvalidFile, match="a path must be a string"):
        load_belief(3, make("six-cell").mdp)
    if sys.platform == "linux":
        with pytest.raises(InvalidFile, match="it is a device"):
            load_belief("/dev/zero", make("six-cell").mdp)


def test_damaged_files_are_refused_or_the_same(tmp_path):
    """Bytes flipped or cut off anywhere: one line, or what was saved; never anything else."""
    path = tmp_path / "belief.npz"
    belief = told_belief((1, 4))
    belief.save(path)
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    told = []
    n_trials = number(150, 1500)
    for trial in range(n_trials):
        damaged = bytearray(whole)
        if trial % 3 == 0:
            del damaged[rng.integers(len(whole)) :]
        else:
            for _ in range(rng.integers(1, 4)):
                damaged[rng.integers(len(whole))] = rng.integers(256)
        path.write_bytes(damaged)
        try:
            loaded = load_belief(path, make("six-cell").mdp)
        except InvalidInput as error:
            told.append(str(error))
        else:
            assert_same(loaded, belief)
    assert len(told) > 2 * n_trials / 3
    assert not any("\n" in line for line in told)
