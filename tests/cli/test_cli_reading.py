"""Commands say what they read of each file, and how many samples have no label."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from helpers.command_line import call, fails, record_of, what_was_read
from proxcode import ProximityPreservingCode, SameLabel
from proxcode.evaluation import evaluate
from proxcode.files import write_table


@pytest.fixture
def files(folder, train, tmp_path, monkeypatch):
    """The first 100 samples, 8 features each, in several formats; every tenth sample has no label."""
    monkeypatch.chdir(tmp_path)
    X, y = train[0][:100, 20:28], train[1][:100]
    names = np.array([f"digit {label}" for label in y], dtype=object)
    names[::10] = None
    columns = {f"f{k}": X[:, k] for k in range(8)}
    write_table("t.csv", {**columns, "class": names})
    np.savetxt("numbers.csv", X, delimiter=",")
    write_table("t.parquet", {**columns, "class": names})
    texts = np.array([name or "" for name in names])
    np.savez("t.npz", x=X.astype(np.float16), y=np.where(texts == "", -1, y), name=texts)
    np.savez("two.npz", x=X, z=X, y=y)
    np.save("t.npy", X.astype(np.float32))
    (tmp_path / "y.txt").write_text("".join(f"{name or ''}\n" for name in names))
    (tmp_path / "parts").mkdir()
    for number, rows in enumerate((slice(0, 60), slice(60, None))):
        table = pa.table({"vector": list(X[rows].astype(np.float32)), "class": names[rows]})
        pq.write_table(table, f"parts/{number}.parquet")
    return tmp_path


FIVE = "columns 'f0', 'f1', ..., 'f7'"
READ = {
    "t.npy --labels t.npz:y": ("t.npy (100 x 8, float32)", "array 'y' of t.npz (100 samples, 10 without a label)"),
    "t.npz --labels y.txt": ("array 'x' of t.npz (100 x 8, float16)", "y.txt (100 samples, 10 without a label)"),
    "two.npz --key z --labels two.npz": (
        "array 'z' of two.npz (100 x 8, float64)",
        "array 'y' of two.npz (100 samples)",
    ),
    "t.csv --labels t.csv:class": (
        f"{FIVE} of t.csv (100 x 8, float64)",
        "column 'class' of t.csv (100 samples, 10 without a label)",
    ),
    "t.csv --columns f3,f1 --labels t.npz:y": (
        "columns 'f3', 'f1' of t.csv (100 x 2, float64)",
        "array 'y' of t.npz (100 samples, 10 without a label)",
    ),
    "t.npz --key x --columns 5 --labels t.npz:y": (
        "column 5 of array 'x' of t.npz (100 x 1, float16)",
        "array 'y' of t.npz (100 samples, 10 without a label)",
    ),
    "numbers.csv --labels two.npz:y": (
        "columns 0, 1, ..., 7 of numbers.csv (100 x 8, float64)",
        "array 'y' of two.npz (100 samples)",
    ),
    "t.parquet --labels t.parquet:class": (
        f"{FIVE} of t.parquet (100 x 8, float64)",
        "column 'class' of t.parquet (100 samples, 10 without a label)",
    ),
    "parts --labels parts:class": (
        "column 'vector' of 2 files of parts (100 x 8, float32)",
        "column 'class' of 2 files of parts (100 samples, 10 without a label)",
    ),
}


@pytest.mark.parametrize("command", READ)
def test_fit_says_which_arrays_and_columns_it_took(command, files):
    said, record = what_was_read("fit", *command.split(), "--bits", 2, "--force", "-o", "m.proxcode")
    assert (said["vectors"], said["labels"]) == READ[command]
    assert record["labels"]["without a label"] == (10 if "without" in said["labels"] else 0)
    assert (record["vectors"]["rows"], record["labels"]["rows"]) == (100, 100)
    assert record["vectors"]["width"] == len(record["vectors"].get("columns", range(8))) or "vector" in said["vectors"]


def test_the_record_names_all_columns(files):
    _, record = what_was_read("fit", "t.csv", "--labels", "t.csv:class", "--bits", 2, "--force", "-o", "m.proxcode")
    columns = [f"f{k}" for k in range(8)]
    vectors = {"file": "t.csv", "columns": columns, "rows": 100, "width": 8, "type": "float64"}
    assert record == {
        "vectors": vectors,
        "labels": {"file": "t.csv", "columns": ["class"], "rows": 100, "without a label": 10},
    }


def test_pairs_and_matrices_of_labels_are_read_too(files):
    (files / "clicked.csv").write_text("".join(f"{i},{i + 1}\n" for i in range(50)))
    said, _ = what_was_read("fit", "t.npy", "--pairs", "clicked.csv", "--bits", 2, "--force", "-o", "m.proxcode")
    assert said == {"vectors": "t.npy (100 x 8, float32)", "pairs": "clicked.csv (50 pairs)"}
    np.save("matrix.npy", np.eye(100, 3, dtype=np.uint8) + np.eye(100, 3, k=-50, dtype=np.uint8))
    said, record = what_was_read("fit", "t.npy", "--labels", "matrix.npy", "--bits", 2, "--force", "-o", "m.proxcode")
    assert said["labels"] == "matrix.npy (100 x 3)"
    assert "without a label" not in record["labels"]


def test_encode_search_and_evaluate_say_what_they_read(files):
    call("fit", "t.npz", "--labels", "t.npz:y", "--bits", 12, "-o", "m.proxcode")
    said, record = what_was_read("encode", "m.proxcode", "t.npz", "--force", "-o", "codes.npy")
    assert said == {"vectors": "array 'x' of t.npz (100 x 8, float16)"}
    assert record["vectors"]["array"] == "x"
    # The number of rows of a text file is not known before it is read.
    said, _ = what_was_read(
        "encode", "m.proxcode", "t.csv", "--columns", "f0,f1,f2,f3,f4,f5,f6,f7", "-o", "c.npy", "--force"
    )
    assert said == {"vectors": f"{FIVE} of t.csv (8 columns, float64)"}
    said, _ = what_was_read("encode", "m.proxcode", "parts/*.parquet", "-o", "codes")
    assert said == {"vectors": "column 'vector' of 2 files of parts/*.parquet (8 columns, float32)"}
    write_table("ids.csv", {"name": np.arange(100), "number": np.arange(100) + 50})
    queries = ("t.npz", "--model", "m.proxcode", "--key", "x")
    named = ("--ids", "ids.csv:number", "--vectors", "t.npy", "-k", 2, "--force", "-o", "found.jsonl")
    said, record = what_was_read("search", "codes.npy", *queries, *named)
    assert said == {
        "codes": "codes.npy (100 codes)",
        "ids": "column 'number' of ids.csv (100 ids)",
        "queries": "array 'x' of t.npz (100 x 8, float16)",
        "vectors": "t.npy (100 x 8, float32)",
    }
    assert list(record) == list(said)
    said, record = what_was_read("search", "codes/0.parquet", *queries, "-k", 2)
    assert said["codes"] == "column 'code' of codes/0.parquet (60 codes)"
    # What was found is printed as it is.
    assert record is None
    named = ("--labels", "t.npz:y", "--train", "t.npy", "--peers", "LSH", "--figure", "f.png", "--force")
    said, record = what_was_read("evaluate", "m.proxcode", "t.npz", *named)
    assert said == {
        "vectors": "array 'x' of t.npz (100 x 8, float16)",
        "labels": "array 'y' of t.npz (100 samples, 10 without a label)",
        "train": "t.npy (100 x 8, float32)",
    }
    assert record["labels"] == {"file": "t.npz", "array": "y", "rows": 100, "without a label": 10}
    call("fit", "t.npz", "--bits", 4, "-o", "without.proxcode")
    (files / "clicked.csv").write_text("".join(f"{i},{i + 1}\n" for i in range(50)))
    named = ("--pairs", "clicked.csv", "--peers", "", "--figure", "f.png", "--force")
    said, _ = what_was_read("evaluate", "without.proxcode", "t.npy", *named)
    assert said == {"vectors": "t.npy (100 x 8, float32)", "pairs": "clicked.csv (50 pairs)"}


SEARCH = ("evaluate", "m.proxcode", "--database", "t.npz:x", "--queries", "t.csv", "--figure", "f.png", "--force")


def test_the_search_of_evaluate_says_what_it_read(files):
    call("fit", "t.npz", "--labels", "t.npz:y", "--bits", 12, "-o", "m.proxcode")
    labels = ("--database-labels", "t.npz:name", "--query-labels", "t.csv:class")
    train = ("--train", "t.npy", "--train-labels", "y.txt", "--peers", "Hadamard", "-k", 5)
    said, record = what_was_read(*SEARCH, *labels, *train)
    assert said == {
        "database": "array 'x' of t.npz (100 x 8, float16)",
        "database labels": "array 'name' of t.npz (100 samples, 10 without a label)",
        "queries": f"{FIVE} of t.csv (100 x 8, float64)",
        "query labels": "column 'class' of t.csv (100 samples, 10 without a label)",
        "train": "t.npy (100 x 8, float32)",
        "train labels": "y.txt (100 samples, 10 without a label)",
    }
    assert record["train labels"] == {"file": "y.txt", "rows": 100, "without a label": 10}
    columns = ("--columns", "f0,f1,f2,f3,f4,f5,f6,f7")
    said, _ = what_was_read(*SEARCH[:3], "t.csv", *SEARCH[4:], *columns, "--peers", "")
    assert list(said) == ["database", "queries"]


@pytest.mark.parametrize("labels", ["t.npz:y", "t.npz:name", "t.csv:class", "y.txt"])
def test_a_search_counts_samples_without_a_label(labels, files):
    call("fit", "t.npz", "--labels", labels, "--bits", 4, "-o", "m.proxcode")
    figure = ("--peers", "", "-k", 3, "--figure", "f.png", "--force")
    search = ("evaluate", "m.proxcode", "--database", "t.npz:x", "--queries", "t.npy", *figure)
    both = ("--database-labels", labels, "--query-labels", labels)
    record = json.loads(call(*search, *both, "--json"))
    assert (record["n_database"], record["n_database_unlabelled"]) == (90, 10)
    assert (record["n_queries"], record["n_queries_unlabelled"]) == (90, 10)
    text = call(*search, *both)
    assert "90 queries, 90 samples in the database; relevant: the same label." in text
    assert "10 of 100 samples of the database have no label and take no part." in text
    assert "10 of 100 queries have no label and take no part." in text
    assert "no label" not in call(*search)


def test_unlabelled_applies_to_both_sides_of_a_search(files):
    np.save("kind.npy", np.array(["a", "b", "unknown", "c"] * 25))
    call("fit", "t.npy", "--labels", "kind.npy", "--bits", 4, "-o", "m.proxcode")
    search = ("evaluate", "m.proxcode", "--database", "t.npy", "--queries", "t.npy", "--figure", "f.png", "--force")
    labels = ("--database-labels", "kind.npy", "--query-labels", "kind.npy", "--peers", "", "-k", 3)
    plain = json.loads(call(*search, *labels, "--json"))
    assert (plain["n_database"], plain["n_database_unlabelled"]) == (100, 0)
    named = json.loads(call(*search, *labels, "--unlabelled", "unknown", "--json"))
    assert (named["n_database_unlabelled"], named["n_queries_unlabelled"]) == (25, 25)
    assert named["read"]["query labels"]["without a label"] == 25
    assert fails(*search, "--unlabelled", "unknown") == (
        "--unlabelled applies to labels: pass --database-labels and --query-labels too."
    )
    np.save("signs.npy", np.array([-1, 1] * 50))
    signs = ("--database-labels", "signs.npy", "--query-labels", "signs.npy", "--peers", "", "-k", 3)
    assert "on the command line --unlabelled '', if -1 is a class" in fails(*search, *signs)
    assert json.loads(call(*search, *signs, "--unlabelled", "", "--json"))["n_database"] == 100


def test_saved_indexes_are_read(folder):
    said, _ = what_was_read("search", folder / "saved.index", folder / "query_codes.npy", "-k", 1)
    assert said["codes"] == f"{folder / 'saved.index'} (500 codes)"


@pytest.mark.parametrize("labels", ["t.npz:y", "t.npz:name", "t.csv:class", "y.txt", "parts:class"])
def test_fit_and_evaluate_count_samples_without_a_label(labels, files):
    arguments = ("t.npy", "--labels", labels, "--bits", 4)
    record = record_of("fit", *arguments, "--force", "-o", "m.proxcode")
    assert (record["samples"], record["samples of pairs"], record["samples without a label"]) == (100, 90, 10)
    some = record_of("fit", *arguments, "--samples", 50, "--force", "-o", "m.proxcode")
    rows = np.arange(50) * 2
    assert some["samples without a label"] == (rows % 10 == 0).sum()
    named = ("evaluate", "m.proxcode", "t.npy", "--labels", labels, "--peers", "", "--figure", "f.png", "--force")
    assert json.loads(call(*named, "--json"))["samples without a label"] == 10
    assert call(*named).splitlines()[-2:] == [
        "10 of 100 samples have no label and take no part.",
        "Figure: f.png",
    ]


def test_without_labels_nothing_is_said_of_them(files):
    record = record_of("fit", "t.npy", "--bits", 4, "--force", "-o", "m.proxcode")
    assert "samples without a label" not in record
    named = ("evaluate", "m.proxcode", "t.npy", "--peers", "", "--figure", "f.png", "--force")
    assert json.loads(call(*named, "--json"))["samples without a label"] is None
    assert "no label" not in call(*named)


UNLABELLED = {
    "y": (np.arange(100) % 4, "3", 3),
    "floats": ((np.arange(100) % 4).astype(float), "3", 3),
    "half": (np.arange(100) % 4 + 0.5, "3.5", 3.5),
    "minus": (np.arange(100) % 4 - 1, "-1", -1),
    "class": (np.arange(100) % 4 - 1, "", None),
    "text": (np.array(["a", "b", "unknown", "c"] * 25), "unknown", "unknown"),
    "digits": (np.array(["a", "b", "-1", "c"] * 25), "-1", "-1"),
}


@pytest.mark.parametrize("name", UNLABELLED)
def test_unlabelled_names_a_label_of_the_kind_of_the_file(name, files):
    y, option, value = UNLABELLED[name]
    np.save("y.npy", y)
    arguments = ("t.npy", "--labels", "y.npy", "--unlabelled", option)
    record = record_of("fit", *arguments, "--bits", 4, "--force", "-o", "m.proxcode")
    expected = ProximityPreservingCode(4, proximity=SameLabel(unlabelled=value), random_state=0)
    expected.fit(np.load("t.npy"), y).save("api.proxcode")
    assert (files / "m.proxcode").read_bytes() == (files / "api.proxcode").read_bytes()
    assert record["samples without a label"] == (0 if value is None else 25)
    # The meaning is that of the model, unless an option says otherwise.
    named = ("evaluate", "m.proxcode", "t.npy", "--labels", "y.npy", "--peers", "", "--figure", "f.png", "--force")
    for options, proximity in (((), None), (("--unlabelled", option), SameLabel(unlabelled=value))):
        evaluated = json.loads(call(*named, *options, "--json"))
        rows = evaluate(expected, np.load("t.npy"), y, proximity=proximity, peers=()).rows
        assert [row["pr_area"] for row in evaluated["rows"]] == pytest.approx([row.pr_area for row in rows])
        assert evaluated["samples without a label"] == record["samples without a label"]


def test_labels_of_minus_one_and_plus_one_name_the_option(files):
    np.save("y.npy", np.where(np.arange(100) % 3 == 0, -1, 1))
    sentence = fails("fit", "t.npy", "--labels", "y.npy", "--bits", 4, "-o", "m.proxcode")
    assert sentence == (
        "y holds -1 and one other label, and -1 means no label: pass proximity=SameLabel(unlabelled=None), on the "
        "command line --unlabelled '', if -1 is a class, or label samples of a second class."
    )
    record = record_of(
        "fit", "t.npy", "--labels", "y.npy", "--unlabelled", "", "--bits", 4, "-o", "m.proxcode", "--force"
    )
    assert (record["samples of pairs"], record["samples without a label"]) == (100, 0)


def test_unlabelled_without_classes_or_of_another_kind_is_refused(files):
    named = ("--bits", 4, "-o", "m.proxcode")
    assert "pass --labels too" in fails("fit", "t.npy", "--unlabelled", "3", *named)
    assert fails("fit", "t.npy", "--labels", "t.npz:y", "--unlabelled", "?", *named) == (
        "--unlabelled ?: t.npz:y holds numbers; pass one, or '' if -1 is a class."
    )


def test_the_example_of_the_help(files):
    write_table("samples.csv", {"x0": np.arange(90.0) % 7, "x1": np.arange(90.0), "class": ["a", "b", "unknown"] * 30})
    assert "proxcode fit samples.csv --labels samples.csv:class --unlabelled unknown -o my.proxcode" in call(
        "fit", "--help"
    )
    command = "fit samples.csv --labels samples.csv:class --unlabelled unknown -o my.proxcode --force"
    assert record_of(*command.split())["samples without a label"] == 30
