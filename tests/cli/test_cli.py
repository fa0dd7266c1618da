"""The command line, as a user runs it, against the Python API."""

import csv
import json
import re
import resource
import struct
import subprocess
import sys
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.spatial.distance import cdist

from proxcode import (
    GivenPairs,
    HammingIndex,
    KernelHash,
    LinearHash,
    ProximityPreservingCode,
    SameLabel,
    SVMHash,
    WithinRadius,
    asymmetric_distances,
)
from proxcode.cli import main
from proxcode.cli.jobs import cut_graph
from proxcode.cli.printing import cell
from proxcode.cut import SemidefiniteBound
from proxcode.evaluation import evaluate

COMMAND = Path(sys.executable).parent / "proxcode"
VERBS = ("fit", "encode", "search", "evaluate", "cut", "info", "reproduce", "demo")
N_BITS = 20


def run(*arguments, cwd=None):
    """Run the installed command; in a pipe it is quiet."""
    result = subprocess.run([COMMAND, *map(str, arguments)], cwd=cwd, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    return result.stdout


def call(*arguments):
    """Run the command in this process, which spares the imports."""
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    return result.stdout


def record_of(*arguments):
    """Return what --json prints, having seen that the text says the same."""
    record = json.loads(call(*arguments, "--json"))
    lines = [re.split(r"\s{2,}", line, maxsplit=1) for line in call(*arguments).splitlines()]
    assert lines == [[name, cell(value, grouped=True)] for name, value in record.items()]
    return record


def rows_of(text):
    """Return the rows under the names of a printed table."""
    names, *rows = [line.split() for line in text.splitlines()]
    return [dict(zip(names, row, strict=True)) for row in rows]


@pytest.fixture(scope="module")
def model(train):
    return ProximityPreservingCode(N_BITS, hash_function=KernelHash(), random_state=0).fit(*train)


@pytest.fixture(scope="module")
def folder(tmp_path_factory, model, train, new):
    """Vectors, labels, new vectors, a model, codes and an index."""
    folder = tmp_path_factory.mktemp("user")
    for name, array in {"train": train[0], "labels": train[1], "new": new[0], "new_labels": new[1]}.items():
        np.save(folder / f"{name}.npy", array)
    model.save(folder / "api.proxcode")
    np.save(folder / "codes.npy", model.encode(train[0]))
    np.save(folder / "queries.npy", new[0][:30])
    np.save(folder / "query_codes.npy", model.encode(new[0][:30]))
    model.index(model.codes_, np.arange(len(train[0])) + 1000).save(folder / "saved.index")
    (folder / "graph.csv").write_text("ann,bob,2\nbob,cid,-1\ncid,ann,1.5\ncid,dan,-3\ndan,eve,0\neve,ann,1\n")
    return folder


def hamming(queries, codes):
    return np.bitwise_count(queries[:, None] ^ codes[None]).sum(axis=2)


def nearest(distance, k):
    """Return query, neighbour and distance of the k smallest of each row, of equals the first."""
    order = np.argsort(distance, axis=1, kind="stable")[:, :k]
    query = np.repeat(np.arange(len(distance)), k)
    return {"query": query, "neighbor": order.ravel(), "distance": distance[query, order.ravel()]}


def assert_found(found, expected):
    for name, column in expected.items():
        np.testing.assert_allclose(found[name], column, rtol=1e-5, err_msg=name)


# The installed command: each verb once, on files


def test_from_vectors_to_neighbours_by_the_installed_command(folder, model, train, new, tmp_path):
    labels = folder / "labels.npy"
    text = run("fit", folder / "train.npy", "--labels", labels, "--bits", N_BITS, "-o", "my.proxcode", cwd=tmp_path)
    assert f"radius         {model.radius_}\n" in text
    assert (tmp_path / "my.proxcode").read_bytes() == (folder / "api.proxcode").read_bytes()
    run("encode", "my.proxcode", folder / "train.npy", "-o", "codes.npy", cwd=tmp_path)
    np.testing.assert_array_equal(np.load(tmp_path / "codes.npy"), model.encode(train[0]))
    text = run("search", "codes.npy", folder / "queries.npy", "--model", "my.proxcode", "-k", 5, cwd=tmp_path)
    distance, neighbor = model.index(model.codes_).search(model.encode(new[0][:30]), k=5)
    assert [int(row["neighbor"]) for row in rows_of(text)] == neighbor.ravel().tolist()
    assert [int(row["distance"]) for row in rows_of(text)] == distance.ravel().tolist()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["codes.npy", "my.proxcode"]


def test_evaluate_by_the_installed_command(folder, model, train, new, tmp_path):
    named = ("--labels", folder / "new_labels.npy", "--train", folder / "train.npy")
    text = run("evaluate", folder / "api.proxcode", folder / "new.npy", *named, cwd=tmp_path)
    expected = evaluate(model, *new, train=train[0]).rows
    rows = rows_of("\n".join(text.splitlines()[: 1 + len(expected)]))
    for row, measured in zip(rows, expected, strict=True):
        assert (row["method"], row["bits"]) == (measured.method, str(measured.bits))
        for name in ("loss", "auc", "map"):
            assert row[name] == cell(getattr(measured, name))
    assert f"up to Hamming distance {model.radius_}." in text
    assert (tmp_path / "evaluation.png").read_bytes().startswith(b"\x89PNG")


def test_info_and_cut_by_the_installed_command(folder, tmp_path):
    assert "bits                  20\n" in run("info", folder / "api.proxcode")
    assert "points            5\n" in run("cut", folder / "graph.csv", "-o", "sides.csv", cwd=tmp_path)
    assert (tmp_path / "sides.csv").read_text().startswith("point,side\nann,")


def test_reproduce_writes_a_table_and_a_figure(tmp_path):
    text = run("reproduce", "initial-guess", "--quick", cwd=tmp_path)
    folder = Path("results", "quick")
    names = ("initial_guess.csv", "initial_guess.png", "experiments.json")
    assert text.splitlines() == [str(folder / name) for name in names]
    with (tmp_path / folder / "initial_guess.csv").open() as file:
        assert len(list(csv.DictReader(file))) == 2 * 2 * 4 * 3 * 8
    assert (tmp_path / folder / "initial_guess.png").read_bytes().startswith(b"\x89PNG")


def test_demo_prints_a_table_and_saves_a_figure(tmp_path):
    text = run("demo", "--output", "pictures", cwd=tmp_path)
    methods = ("PPC", "LSH", "ITQ")
    rows = {tuple(line.split()[:2]): line.split() for line in text.splitlines() if line[:3] in methods}
    assert list(rows) == [(method, n_bits) for method in methods for n_bits in ("8", "16", "32", "64")]
    for (_, n_bits), row in list(rows.items())[4:]:
        ppc = rows["PPC", n_bits]
        assert float(ppc[3]) > float(row[3]) + 0.2
        assert float(ppc[2]) < float(row[2])
    assert (tmp_path / "pictures" / "digits.png").read_bytes().startswith(b"\x89PNG")


def test_nothing_is_said_where_nobody_reads_on(folder):
    command = [COMMAND, "search", folder / "codes.npy", folder / "query_codes.npy", "-k", "500"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.close()  # as `| head` does
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait() == 1


# Help


def test_help_shows_the_verbs_and_an_example():
    text = run("--help")
    assert all(re.search(rf"^  {verb} ", text, re.MULTILINE) for verb in VERBS)
    assert "proxcode fit vectors.npy --labels labels.npy" in text
    assert run("--version").startswith("proxcode, version ")
    as_module = subprocess.run(
        [sys.executable, "-m", "proxcode", "--version"], capture_output=True, text=True, check=True
    )
    assert as_module.stdout == run("--version")


@pytest.mark.parametrize("verb", VERBS)
def test_the_help_of_a_verb_shows_an_example_and_explains_every_option(verb):
    text = call(verb, "--help")
    assert f"proxcode {verb} " in text.split("Example")[1]
    described = [parameter for parameter in main.commands[verb].params if parameter.param_type_name == "option"]
    assert [option.name for option in described if not option.help] == []


def test_help_starts_at_once():
    def seconds():
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run("--help")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    assert min(seconds() for _ in range(3)) < 0.3


def test_the_command_line_imports_nothing_heavy():
    heavy = ("numpy", "numba", "scipy", "sklearn", "matplotlib", "tqdm")
    script = f"import sys, proxcode.cli; sys.exit(' '.join(m for m in {heavy} if m in sys.modules) or 0)"
    subprocess.run([sys.executable, "-c", script], check=True)


# Formats


def write_csv(folder, X, y):
    with (folder / "t.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*(f"x{k}" for k in range(X.shape[1])), "class"])
        writer.writerows([*row.tolist(), f"digit {label}"] for row, label in zip(X, y, strict=True))
    return ("t.csv",), "t.csv:class", ("--columns", ",".join(f"x{k}" for k in range(X.shape[1])))


def write_npy(folder, X, y):
    np.save(folder / "t.npy", X)
    np.save(folder / "y.npy", y)
    return ("t.npy",), "y.npy", ()


def write_npz(folder, X, y):
    np.savez(folder / "t.npz", X=X, other=X[:, :2], y=y)
    return ("t.npz", "--key", "X"), "t.npz:y", ()


def write_fvecs(folder, X, y):
    rows = (struct.pack("<i", X.shape[1]) + row.astype("<f4").tobytes() for row in X)
    (folder / "t.fvecs").write_bytes(b"".join(rows))
    (folder / "y.txt").write_text("".join(f"{label}\n" for label in y))
    return ("t.fvecs",), "y.txt", ()


def write_parquet(folder, X, y):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet

    pyarrow.parquet.write_table(pa.table({"embedding": X.tolist(), "class": y}), folder / "t.parquet")
    return ("t.parquet",), "t.parquet:class", ()


def write_safetensors(folder, X, y):
    from safetensors.numpy import save_file

    save_file({"X": np.ascontiguousarray(X), "y": y}, folder / "t.safetensors")
    return ("t.safetensors",), "t.safetensors:y", ()


def write_h5(folder, X, y):
    h5py = pytest.importorskip("h5py")
    with h5py.File(folder / "t.h5", "w") as file:
        file["train/X"], file["train/y"] = X, y
    return ("t.h5", "--key", "train/X"), "t.h5:train/y", ()


FORMATS = (write_csv, write_npy, write_npz, write_fvecs, write_parquet, write_safetensors, write_h5)


@pytest.mark.parametrize("write", FORMATS, ids=lambda write: write.__name__)
def test_every_format_gives_the_model_and_the_codes_of_its_array(write, train, new, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = train[0][:200, :40], train[1][:200]  # whole numbers: the same in all formats
    vectors, labels, without_labels = write(tmp_path, X, y)
    call("fit", *vectors, "--labels", labels, "--bits", 8, "-o", "m.proxcode")
    dtype = np.float32 if write is write_fvecs else np.float64
    expected = ProximityPreservingCode(8, random_state=0).fit(X.astype(dtype), y)
    call("encode", "m.proxcode", *vectors, *without_labels, "-o", "codes.npy")
    np.testing.assert_array_equal(np.load("codes.npy"), expected.codes_)
    facts = record_of("info", vectors[0]) if "--key" not in vectors else {"kind": "vectors", "columns": 40}
    assert facts["kind"] == "vectors"
    assert facts["columns"] == 40 + (write is write_csv)


# fit


@pytest.mark.parametrize(
    ("options", "parameters"),
    [
        (("--hash", "linear"), {"hash_function": LinearHash()}),
        (("--hash", "svm"), {"hash_function": SVMHash()}),
        (("--coupling", "0"), {"hash_function": KernelHash(), "coupling": 0}),
        (("--seed", "7"), {"hash_function": KernelHash(), "random_state": 7}),
        (("--no-checkpoint",), {"hash_function": KernelHash()}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_fit_is_that_of_the_api(options, parameters, folder, train, tmp_path):
    arguments = (folder / "train.npy", "--labels", folder / "labels.npy", "--bits", 12, *options)
    call("fit", *arguments, "-o", tmp_path / "cli.proxcode")
    expected = ProximityPreservingCode(12, **{"random_state": 0, **parameters}).fit(*train)
    expected.save(tmp_path / "api.proxcode")
    assert (tmp_path / "cli.proxcode").read_bytes() == (tmp_path / "api.proxcode").read_bytes()
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize(
    ("options", "proximity"),
    [
        ((), WithinRadius()),
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


def test_fit_says_what_it_learned(folder, model, tmp_path):
    arguments = (folder / "train.npy", "--labels", folder / "labels.npy", "--bits", N_BITS)
    record = record_of("fit", *arguments, "--force", "-o", tmp_path / "m.proxcode")
    assert record == {
        "model": str(tmp_path / "m.proxcode"),
        "bits": N_BITS,
        "radius": model.radius_,
        "training loss": pytest.approx(model.history_[-1].loss),
        "points": 500,
    }


def test_force_replaces_a_file_and_nothing_else_does(folder, tmp_path):
    output = tmp_path / "codes.npy"
    output.write_text("mine")
    arguments = ["encode", str(folder / "api.proxcode"), str(folder / "new.npy"), "-o", str(output)]
    assert CliRunner().invoke(main, arguments).exit_code == 1
    assert output.read_text() == "mine"
    call(*arguments, "--force")
    assert np.load(output).shape == (400, 3)


# encode


@pytest.mark.parametrize("bits", [1, 8, 13, 20])
def test_encode_gives_the_first_bits(bits, folder, model, new, tmp_path):
    output = tmp_path / "codes.npy"
    named = ("--bits", bits, "--force", "-o", output)
    record = record_of("encode", folder / "api.proxcode", folder / "new.npy", *named)
    assert record == {"codes": str(output), "rows": 400, "bits": bits}
    np.testing.assert_array_equal(np.load(output), model.encode(new[0], bits))


# search


def test_search_finds_the_exhaustive_neighbours_in_all_forms(folder, model, new, tmp_path):
    queries, codes = np.load(folder / "query_codes.npy"), np.load(folder / "codes.npy")
    expected = nearest(hamming(queries, codes), 7)
    arguments = ("search", folder / "codes.npy", folder / "queries.npy", "--model", folder / "api.proxcode", "-k", 7)
    assert_found(json.loads(call(*arguments, "--json")), expected)
    printed = rows_of(call(*arguments, "--threads", 1))
    assert_found({name: [int(row[name]) for row in printed] for name in expected}, expected)
    assert_found(
        json.loads(call("search", folder / "codes.npy", folder / "query_codes.npy", "-k", 7, "--json")), expected
    )
    for suffix in ("csv", "tsv", "npz", "parquet"):
        output = tmp_path / f"found.{suffix}"
        record = json.loads(call(*arguments, "-o", output, "--json"))
        assert record == {"neighbors": str(output), "rows": 210, "queries with neighbors": 30}
        assert_found(read_columns(output), expected)


def read_columns(path):
    if path.suffix == ".npz":
        with np.load(path) as file:
            return dict(file)
    if path.suffix == ".parquet":
        return pytest.importorskip("pyarrow.parquet").read_table(path).to_pydict()
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file, delimiter="," if path.suffix == ".csv" else "\t"))
    return {name: [row[name] if name == "point" else float(row[name]) for row in rows] for name in rows[0]}


@pytest.mark.parametrize("n_bits", [9, 16, 20])
def test_near_and_radius_find_all_codes_so_close(n_bits, folder, model, train, new, tmp_path):
    np.save(tmp_path / "codes.npy", model.encode(train[0], n_bits))
    distance = hamming(model.encode(new[0][:30], n_bits), model.encode(train[0], n_bits))
    arguments = ("search", tmp_path / "codes.npy", folder / "queries.npy", "--model", folder / "api.proxcode", "--json")
    learned = max(0, int(np.floor(model.history_[n_bits - 1].alpha / 2)))
    for radius, option in ((2, ("--radius", 2)), (0, ("--radius", 0)), (learned, ("--near",))):
        found = json.loads(call(*arguments, "--bits", n_bits, *option))
        pairs = list(zip(found["query"], found["neighbor"], strict=True))
        assert sorted(pairs) == list(zip(*(where.tolist() for where in np.nonzero(distance <= radius)), strict=True))
        assert found["distance"] == [distance[pair] for pair in pairs]
        for query in range(30):
            own = [d for q, d in zip(found["query"], found["distance"], strict=True) if q == query]
            assert own == sorted(own)


def test_asymmetric_orders_by_the_margins_of_the_query(folder, model, new):
    named = ("--model", folder / "api.proxcode", "-k", 6, "--asymmetric", "--oversample", 100)
    found = json.loads(call("search", folder / "codes.npy", folder / "queries.npy", *named, "--json"))
    expected = nearest(asymmetric_distances(model.scores(new[0][:30]), model.codes_), 6)
    np.testing.assert_allclose(found["distance"], expected["distance"], rtol=1e-4)


def test_vectors_order_by_their_own_distance_whatever_the_ids(folder, train, new, tmp_path):
    ids = np.random.default_rng(0).permutation(len(train[0])) * 10
    np.save(tmp_path / "ids.npy", ids)
    arguments = ("search", folder / "codes.npy", folder / "queries.npy", "--model", folder / "api.proxcode")
    named = ("--vectors", folder / "train.npy", "--oversample", 100, "-k", 5, "--json")
    expected = nearest(cdist(new[0][:30], train[0]), 5)
    assert_found(json.loads(call(*arguments, *named)), expected)
    own = {**expected, "neighbor": ids[expected["neighbor"]]}
    assert_found(json.loads(call(*arguments, *named, "--ids", tmp_path / "ids.npy")), own)


def test_ids_stand_for_the_codes(folder, model, new, tmp_path):
    (tmp_path / "ids.csv").write_text("name,number\n" + "".join(f"n{k},{900 - k}\n" for k in range(500)))
    arguments = ("search", folder / "codes.npy", folder / "query_codes.npy", "-k", 4, "--json")
    found = json.loads(call(*arguments, "--ids", f"{tmp_path / 'ids.csv'}:number"))
    plain = json.loads(call(*arguments))
    assert found == {**plain, "neighbor": [900 - neighbor for neighbor in plain["neighbor"]]}


def test_a_saved_index_is_searched_as_the_api_does(folder, model, new):
    index = HammingIndex.load(folder / "saved.index")
    distance, neighbor = index.search(model.encode(new[0][:30]), k=3)
    arguments = ("search", folder / "saved.index", folder / "queries.npy", "--model", folder / "api.proxcode")
    found = json.loads(call(*arguments, "-k", 3, "--json"))
    assert_found(found, {"neighbor": neighbor.ravel(), "distance": distance.ravel()})
    assert min(found["neighbor"]) >= 1000
    by_vectors = json.loads(call(*arguments, "-k", 1, "--vectors", folder / "train.npy", "--oversample", 500, "--json"))
    exact = cdist(new[0][:30], np.load(folder / "train.npy")).argmin(axis=1)
    assert by_vectors["neighbor"] == (exact + 1000).tolist()


# evaluate


@pytest.mark.parametrize(
    ("options", "keywords"),
    [
        (("--labels", "new_labels.npy"), {}),
        (("--labels", "new_labels.npy", "--peers", ""), {"peers": ()}),
        (("--labels", "new_labels.npy", "--peers", "LSH,SH"), {"peers": ("LSH", "SH")}),
        (("--radius", "25", "--peers", ""), {"peers": (), "proximity": WithinRadius(25.0)}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_the_numbers_of_evaluate_are_those_of_the_api(options, keywords, folder, model, new, tmp_path, monkeypatch):
    monkeypatch.chdir(folder)
    arguments = ("evaluate", "api.proxcode", "new.npy", *options, "--figure", tmp_path / "page.svg", "--force")
    record = json.loads(call(*arguments, "--json"))
    expected = evaluate(model, new[0], None if "proximity" in keywords else new[1], **keywords)
    assert len(record["rows"]) == len(expected.rows)
    for row, measured in zip(record["rows"], expected.rows, strict=True):
        assert {**row, "seconds": None} == pytest.approx({**measured._asdict(), "seconds": None})
    assert record["radius"] == model.radius_
    text = call(*arguments)
    assert all(f"{row['auc']:.4f}" in text for row in record["rows"])
    assert "<svg" in (tmp_path / "page.svg").read_text()


def test_labels_tell_what_near_means_for_a_model_that_learned_a_radius(folder, train, new, tmp_path):
    by_radius = ProximityPreservingCode(8, random_state=0).fit(train[0])
    by_radius.save(tmp_path / "m.proxcode")
    arguments = ("evaluate", tmp_path / "m.proxcode", folder / "new.npy", "--peers", "", "--force", "--json")
    figure = ("--figure", tmp_path / "page.png")
    for options, y, proximity in (((), None, None), (("--labels", folder / "new_labels.npy"), new[1], SameLabel())):
        expected = evaluate(by_radius, new[0], y, proximity=proximity, peers=()).rows
        rows = json.loads(call(*arguments, *figure, *options))["rows"]
        assert [row["auc"] for row in rows] == pytest.approx([row.auc for row in expected])


def test_a_method_that_cannot_give_so_many_bits_is_left_out_in_words(train, new, tmp_path):
    model = ProximityPreservingCode(12, random_state=0).fit(train[0][:, 20:30], train[1])
    model.save(tmp_path / "m.proxcode")
    np.save(tmp_path / "new.npy", new[0])
    np.save(tmp_path / "y.npy", new[1])
    named = ("--columns", ",".join(map(str, range(20, 30))), "--labels", tmp_path / "y.npy", "--peers", "ITQ")
    text = call("evaluate", tmp_path / "m.proxcode", tmp_path / "new.npy", *named, "--figure", tmp_path / "page.pdf")
    assert re.search(r"^ITQ 12 bits left out: .*10", text, re.MULTILINE)
    assert (tmp_path / "page.pdf").read_bytes().startswith(b"%PDF")


# cut


@pytest.mark.parametrize("max_cut", [False, True])
@pytest.mark.parametrize("suffix", ["csv", "npz"])
def test_the_value_of_a_cut_is_that_of_the_written_sides(max_cut, suffix, folder, tmp_path):
    output = tmp_path / f"sides.{suffix}"
    options = ("--max-cut",) if max_cut else ()
    record = record_of("cut", folder / "graph.csv", "-o", output, "--force", *options)
    written = read_columns(output)
    side = {str(point): int(side) for point, side in zip(written["point"], written["side"], strict=True)}
    edges = [line.split(",") for line in (folder / "graph.csv").read_text().splitlines()]
    weights = [(side[a] * side[b], float(weight)) for a, b, weight in edges]
    assert set(side.values()) <= {-1, 1}
    assert record["value"] == pytest.approx(2 * sum(sign * weight for sign, weight in weights))
    assert record["cut weight"] == pytest.approx(sum(weight for sign, weight in weights if sign < 0))
    wanted = -1 if max_cut else 1  # edges that would rather be cut are frustrated where they are not
    assert record["frustrated edges"] == sum(wanted * sign * weight < 0 for sign, weight in weights)
    assert record["proved"] is True
    assert record["side +1"] + record["side -1"] == record["points"] == 5
    values = [
        2 * sum(float(weight) * bit[a] * bit[b] for a, b, weight in edges)
        for bit in (dict(zip(side, bits, strict=True)) for bits in product((-1, 1), repeat=5))
    ]
    assert record["value"] == pytest.approx(min(values) if max_cut else max(values))
    assert record["upper bound"] == pytest.approx(record["cut weight"] if max_cut else record["value"])


def test_a_proof_is_by_the_bound_that_suits(folder, tmp_path, monkeypatch):
    called = []

    def noted(self, *arguments, bound=SemidefiniteBound.bound):
        called.append(type(self))
        return bound(self, *arguments)

    monkeypatch.setattr(SemidefiniteBound, "bound", noted)
    W = np.triu(np.random.default_rng(0).normal(size=(40, 40)), 1)
    np.save(tmp_path / "dense.npy", W + W.T)
    record = record_of("cut", tmp_path / "dense.npy", "--starts", 1, "--prove")
    assert called  # once as JSON, once as text
    assert record["value"] < record["upper bound"] < 2 * np.abs(W).sum()


@pytest.mark.parametrize("n_starts", [None, 20])
@pytest.mark.parametrize("max_cut", [False, True])
def test_a_cut_tells_its_progress_bound_and_gap_in_one_unit(max_cut, n_starts, tmp_path):
    W = np.triu(np.random.default_rng(0).integers(-1, 2, (40, 40)), 1)
    np.save(tmp_path / "dense.npy", W + W.T)
    told = []
    limits = {"n_starts": n_starts, "time_limit": None, "prove": True, "seed": 0, "output": None}
    facts = cut_graph(tmp_path / "dense.npy", max_cut=max_cut, report=told.append, **limits)
    reached = facts["cut weight"] if max_cut else facts["value"]
    assert (told[-1], facts["edges"]) == (reached, np.count_nonzero(W))
    assert facts["gap"] == pytest.approx(facts["upper bound"] / reached - 1)
    assert facts["gap"] > 0


def test_edges_of_weight_zero_are_none(tmp_path):
    (tmp_path / "zero.csv").write_text("a,b,0\nb,c,1\nb,d,1\nb,d,-1\n")
    record = record_of("cut", tmp_path / "zero.csv")
    assert (record["points"], record["edges"], record["value"]) == (4, 1, 2)


# info


def test_info_tells_files_apart(folder, model, train, tmp_path):
    facts = record_of("info", folder / "api.proxcode")
    assert (facts["kind"], facts["bits"], facts["radius"], facts["features"]) == ("model", N_BITS, model.radius_, 64)
    facts = record_of("info", folder / "saved.index")
    assert (facts["kind"], facts["bits"], facts["codes"], facts["ids"]) == ("index", N_BITS, 500, "own")
    ProximityPreservingCode(3, random_state=0).fit(*train, checkpoint=tmp_path / "fit.checkpoint")
    facts = record_of("info", tmp_path / "fit.checkpoint")
    assert (facts["kind"], facts["bits"]) == ("checkpoint", 3)
    np.save(tmp_path / "CAPITALS.NPY", train[0])
    (tmp_path / "CAPITALS.NPY.npy").rename(tmp_path / "CAPITALS.NPY")
    facts = record_of("info", tmp_path / "CAPITALS.NPY")
    assert facts == {"kind": "vectors", "rows": 500, "columns": 64, "type": "float64"}


def test_reproduce_lists_its_experiments():
    assert "initial-guess" in json.loads(call("reproduce", "--json"))
    assert "\ninitial-guess " in "\n" + call("reproduce")
