"""`proxcode fit` against the Python API."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from helpers.command_line import N_BITS, call, record_of
from proxcode import GivenPairs, KernelHash, LinearHash, ProximityPreservingCode, SVMHash, WithinRadius
from proxcode.cli import main


@pytest.mark.parametrize(
    ("options", "make_parameters"),
    [
        (("--hash", "linear"), lambda: {"hash_function": LinearHash()}),
        (("--hash", "svm"), lambda: {"hash_function": SVMHash()}),
        (("--refine-steps", "0"), lambda: {"hash_function": KernelHash(refine_steps=0)}),
        (("--refine-steps", "3", "--hash", "linear"), lambda: {"hash_function": LinearHash(refine_steps=3)}),
        (("--seed", "7"), lambda: {"random_state": 7}),
        (("--no-checkpoint",), dict),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_fit_equals_that_of_the_api(options, make_parameters, folder, train, tmp_path):
    arguments = (folder / "train.npy", "--labels", folder / "labels.npy", "--bits", 12, *options)
    call("fit", *arguments, "-o", tmp_path / "cli.proxcode")
    expected = ProximityPreservingCode(12, **{"random_state": 0, **make_parameters()}).fit(*train)
    expected.save(tmp_path / "api.proxcode")
    assert (tmp_path / "cli.proxcode").read_bytes() == (tmp_path / "api.proxcode").read_bytes()
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize(
    ("options", "proximity"),
    [
        (("--metric", "euclidean"), WithinRadius()),
        (("--neighbors", "20"), WithinRadius(mean_neighbors=20)),
        (("--radius", "25"), WithinRadius(25.0)),
        (("--neighbors", "20", "--metric", "cosine"), WithinRadius(mean_neighbors=20, metric="cosine")),
    ],
    ids=str,
)
def test_near_may_be_a_distance(options, proximity, folder, train, tmp_path):
    call("fit", folder / "train.npy", "--bits", 10, *options, "-o", tmp_path / "m.proxcode")
    expected = ProximityPreservingCode(10, proximity=proximity, random_state=0).fit(train[0])
    loaded = ProximityPreservingCode.load(tmp_path / "m.proxcode")
    np.testing.assert_array_equal(loaded.codes_, expected.codes_)
    assert loaded.proximity_.radius_ == expected.proximity_.radius_


@pytest.mark.parametrize("others", ["unknown", "far"])
def test_near_may_be_listed_pairs(others, folder, train, tmp_path):
    X, y = train
    i, j = np.random.default_rng(0).integers(0, len(X), (2, 4000))
    pairs = np.column_stack([i, j, np.where(y[i] == y[j], 1, -1)])[i != j]
    lines = [f"{i},{j},{'near' if sign > 0 else 'far'}\n" for i, j, sign in pairs]
    (tmp_path / "pairs.csv").write_text("".join(lines))
    named = ("--pairs", tmp_path / "pairs.csv", *(("--others", others) if others == "far" else ()))
    call("fit", folder / "train.npy", "--bits", 10, *named, "-o", tmp_path / "m.proxcode")
    expected = ProximityPreservingCode(10, proximity=GivenPairs(pairs, others=others), random_state=0).fit(X)
    np.testing.assert_array_equal(ProximityPreservingCode.load(tmp_path / "m.proxcode").codes_, expected.codes_)


@pytest.mark.parametrize("suffix", ["csv", "npy"])
def test_near_pairs_alone_need_no_option(suffix, folder, train, tmp_path):
    X, y = train
    i, j = np.random.default_rng(0).integers(0, len(X), (2, 12000))
    pairs = np.column_stack([i, j])[(y[i] == y[j]) & (i != j)]
    path = tmp_path / f"clicked.{suffix}"
    if suffix == "npy":
        np.save(path, pairs)
    else:
        path.write_text("first,second\n" + "".join(f"{i},{j}\n" for i, j in pairs))
    arguments = (folder / "train.npy", "--bits", 32, "--pairs", path, "--force", "-o", tmp_path / "m.proxcode")
    record = record_of("fit", *arguments)
    expected = ProximityPreservingCode(32, proximity=GivenPairs(pairs), random_state=0).fit(X)
    np.testing.assert_array_equal(ProximityPreservingCode.load(tmp_path / "m.proxcode").codes_, expected.codes_)
    assert record["near pairs within radius"] == pytest.approx(expected.history_[-1].near_within)
    assert record["near pairs within radius"] > 0.5
    assert record["far pairs within radius"] < 0.3
    described = record_of("info", tmp_path / "m.proxcode")
    assert described["near pairs within radius"] == record["near pairs within radius"]


def test_the_papers_own_method(folder, train, tmp_path):
    arguments = (folder / "train.npy", "--labels", folder / "labels.npy", "--bits", 8, "--paper")
    call("fit", *arguments, "-o", tmp_path / "cli.proxcode")
    ProximityPreservingCode.paper(8, random_state=0).fit(*train).save(tmp_path / "api.proxcode")
    assert (tmp_path / "cli.proxcode").read_bytes() == (tmp_path / "api.proxcode").read_bytes()
    described = record_of("info", tmp_path / "cli.proxcode")
    assert described["hash function"].startswith("SVMHash(")


def test_fit_prints_what_it_learned(folder, model, tmp_path):
    arguments = (folder / "train.npy", "--labels", folder / "labels.npy", "--bits", N_BITS)
    record = record_of("fit", *arguments, "--force", "-o", tmp_path / "m.proxcode")
    assert record == {
        "model": str(tmp_path / "m.proxcode"),
        "bits": N_BITS,
        "radius": model.radius_,
        "loss in learning": pytest.approx(model.history_[-1].loss),
        "training loss": pytest.approx(model.training_loss_),
        "near pairs within radius": pytest.approx(model.history_[-1].near_within),
        "far pairs within radius": pytest.approx(model.history_[-1].far_within),
        "samples": 500,
        "samples of pairs": 500,
        "samples without a label": 0,
    }


def test_force_replaces_a_file_and_nothing_else_does(folder, tmp_path):
    output = tmp_path / "codes.npy"
    output.write_text("mine")
    arguments = ["encode", str(folder / "api.proxcode"), str(folder / "new.npy"), "-o", str(output)]
    assert CliRunner().invoke(main, arguments).exit_code == 1
    assert output.read_text() == "mine"
    call(*arguments, "--force")
    assert np.load(output).shape == (400, 3)


def test_a_folder_of_files_gives_the_same_model(folder, train, tmp_path):
    X, y = train
    (tmp_path / "parts").mkdir()
    for k, rows in enumerate((slice(0, 200), slice(200, None))):
        table = pa.table({"vector": list(X[rows].astype(np.float64)), "class": y[rows]})
        pq.write_table(table, tmp_path / "parts" / f"{k}.parquet")
    arguments = (folder / "train.npy", "--labels", folder / "labels.npy", "--bits", 8)
    call("fit", *arguments, "-o", tmp_path / "array.proxcode")
    pattern = tmp_path / "parts" / "*.parquet"
    for source in (tmp_path / "parts", pattern):
        call("fit", source, "--labels", f"{source}:class", "--bits", 8, "--force", "-o", tmp_path / "files.proxcode")
        fitted = [ProximityPreservingCode.load(tmp_path / f"{name}.proxcode") for name in ("array", "files")]
        np.testing.assert_array_equal(fitted[0].codes_, fitted[1].codes_)
    record = record_of(
        "fit", pattern, "--labels", f"{pattern}:class", "--samples", 100, "--force", "-o", tmp_path / "few.proxcode"
    )
    assert (record["samples"], record["of"], record["samples of pairs"]) == (100, len(X), 100)
    assert record_of("info", tmp_path / "few.proxcode")["samples of pairs"] == 100


def test_large_files_are_read_in_blocks(folder, train, tmp_path, monkeypatch):
    monkeypatch.setattr("proxcode.cli.inputs.MAX_READ", 1000)
    monkeypatch.setattr("proxcode.utils.samples.PIECE", 128)
    arguments = (folder / "train.npy", "--labels", folder / "labels.npy", "--bits", 8)
    call("fit", *arguments, "-o", tmp_path / "m.proxcode")
    model = ProximityPreservingCode(8, random_state=0).fit(*train)
    np.testing.assert_array_equal(ProximityPreservingCode.load(tmp_path / "m.proxcode").codes_, model.codes_)


def test_the_column_of_labels_is_no_feature(folder, train, tmp_path):
    X, y = train
    (tmp_path / "v").mkdir()
    for k, rows in enumerate((slice(0, 200), slice(200, None))):
        columns = {f"x{j}": X[rows, j].astype(float) for j in range(5)}
        pq.write_table(pa.table({**columns, "class": y[rows]}), tmp_path / "v" / f"{k}.parquet")
    pattern = tmp_path / "v" / "*.parquet"
    for vectors, labels in ((tmp_path / "v", pattern), (pattern, tmp_path / "v"), (pattern, pattern)):
        output = tmp_path / "m.proxcode"
        call("fit", vectors, "--labels", f"{labels}:class", "--bits", 2, "--force", "-o", output)
        assert ProximityPreservingCode.load(output).n_features_in_ == 5
    arguments = ("fit", pattern, "--labels", f"{pattern}:class", "--force", "-o", tmp_path / "v" / "0.parquet")
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert "is the input" in result.output


def test_files_of_labels_in_another_order_are_refused(folder, train, tmp_path):
    X, y = train
    for name in ("v", "l"):
        (tmp_path / name).mkdir()
    np.save(tmp_path / "v" / "1.npy", X[:150])
    np.save(tmp_path / "v" / "2.npy", X[150:])
    np.save(tmp_path / "l" / "9.npy", y[:150])
    np.save(tmp_path / "l" / "10.npy", y[150:])
    arguments = ["fit", str(tmp_path / "v"), "--labels", str(tmp_path / "l"), "-o", str(tmp_path / "m.proxcode")]
    result = CliRunner().invoke(main, arguments)
    assert "rename the files so that labels and vectors are in the same order" in result.output
    (tmp_path / "l" / "9.npy").rename(tmp_path / "l" / "09.npy")
    assert CliRunner().invoke(main, [*arguments, "--bits", "4"]).exit_code == 0


def test_labels_in_a_folder_of_text_files(train, tmp_path):
    X, y = train
    for name in ("v", "l"):
        (tmp_path / name).mkdir()
    for k, rows in enumerate((slice(0, 200), slice(200, None))):
        np.save(tmp_path / "v" / f"{k}.npy", X[rows])
        (tmp_path / "l" / f"{k}.txt").write_text("".join(f"class {label}\n" for label in y[rows]))
    arguments = ("fit", tmp_path / "v", "--labels", tmp_path / "l", "--bits", 4, "-o", tmp_path / "m.proxcode")
    call(*arguments)
    model = ProximityPreservingCode(4, random_state=0).fit(X, [f"class {label}" for label in y])
    np.testing.assert_array_equal(ProximityPreservingCode.load(tmp_path / "m.proxcode").codes_, model.codes_)
