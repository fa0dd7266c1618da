"""`proxcode evaluate` against the Python API."""

import json
import re

import numpy as np
import pytest

from helpers.command_line import call, fails
from proxcode import ProximityPreservingCode, SameLabel, WithinRadius
from proxcode.evaluation import evaluate, evaluate_search


@pytest.mark.parametrize(
    ("options", "keywords"),
    [
        (("--labels", "new_labels.npy"), {}),
        (("--labels", "new_labels.npy", "--peers", ""), {"peers": ()}),
        (("--labels", "new_labels.npy", "--peers", "LSH, SH"), {"peers": ("LSH", "SH")}),
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
        times = {"fit_seconds": None, "encode_ms": None}
        assert row | times == pytest.approx(measured._asdict() | times)
    assert record["radius"] == model.radius_
    text = call(*arguments)
    assert all(f"{row['pr_area']:.4f}" in text for row in record["rows"])
    assert "<svg" in (tmp_path / "page.svg").read_text()


@pytest.mark.parametrize("learned", [None, WithinRadius()], ids=["nearest", "radius"])
def test_labels_tell_what_near_means_for_a_model_that_learned_from_distances(learned, folder, train, new, tmp_path):
    by_distance = ProximityPreservingCode(8, proximity=learned, random_state=0).fit(train[0])
    by_distance.save(tmp_path / "m.proxcode")
    arguments = ("evaluate", tmp_path / "m.proxcode", folder / "new.npy", "--peers", "", "--force", "--json")
    figure = ("--figure", tmp_path / "page.png")
    for options, y, proximity in (((), None, None), (("--labels", folder / "new_labels.npy"), new[1], SameLabel())):
        expected = evaluate(by_distance, new[0], y, proximity=proximity, peers=()).rows
        rows = json.loads(call(*arguments, *figure, *options))["rows"]
        assert [row["pr_area"] for row in rows] == pytest.approx([row.pr_area for row in expected])


def test_a_method_that_cannot_give_so_many_bits_is_left_out_in_words(train, new, tmp_path):
    model = ProximityPreservingCode(12, random_state=0).fit(train[0][:, 20:30], train[1])
    model.save(tmp_path / "m.proxcode")
    np.save(tmp_path / "new.npy", new[0])
    np.save(tmp_path / "y.npy", new[1])
    named = ("--columns", ",".join(map(str, range(20, 30))), "--labels", tmp_path / "y.npy", "--peers", "ITQ")
    text = call("evaluate", tmp_path / "m.proxcode", tmp_path / "new.npy", *named, "--figure", tmp_path / "page.pdf")
    assert re.search(r"^ITQ 12 bits left out: .*10", text, re.MULTILINE)
    assert (tmp_path / "page.pdf").read_bytes().startswith(b"%PDF")


# A search of a database


@pytest.fixture(scope="module")
def searched(folder, tmp_path_factory, train, new):
    """The files that the help names."""
    files = tmp_path_factory.mktemp("searched")
    (files / "my.proxcode").write_bytes((folder / "api.proxcode").read_bytes())
    arrays = {"vectors": train[0], "labels": train[1], "new": new[0], "new_labels": new[1]}
    arrays |= {"base": new[0][100:], "base_labels": new[1][100:], "q": new[0][:100], "q_labels": new[1][:100]}
    for name, array in arrays.items():
        np.save(files / f"{name}.npy", array)
    np.savez(files / "both.npz", base=new[0][100:], query=new[0][:100], labels=new[1][100:])
    np.save(files / "narrow.npy", np.zeros((5, 3)))
    return files


def examples():
    """Return the commands of the help, without the name of the program."""
    text = call("evaluate", "--help").partition("Examples:")[2].partition("Options:")[0]
    return [" ".join(command.split()) for command in text.replace("\\\n", " ").split("proxcode evaluate ")[1:]]


def test_the_help_has_three_examples():
    assert len(examples()) == 3


@pytest.mark.parametrize("number", range(3))
def test_the_examples_of_the_help_run(number, searched, tmp_path, monkeypatch):
    for file in searched.iterdir():
        (tmp_path / file.name).symlink_to(file)
    monkeypatch.chdir(tmp_path)
    words = examples()[number].split()
    text = call("evaluate", *words)
    figure = words[words.index("--figure") + 1]
    assert text.endswith(f"Figure: {figure}\n")
    assert (tmp_path / figure).read_bytes().startswith(b"\x89PNG")


SEARCH = ("evaluate", "my.proxcode", "--database", "base.npy", "--queries", "q.npy", "--force")
LABELS = ("--database-labels", "base_labels.npy", "--query-labels", "q_labels.npy")


@pytest.mark.parametrize(
    ("options", "labels", "keywords"),
    [
        ((), False, {}),
        (
            ("-k", 3, "-k", 30, "--lengths", "4,20", "--peers", ""),
            False,
            {"k": [3, 30], "lengths": [4, 20], "peers": ()},
        ),
        ((*LABELS, "--peers", "LSH", "--exclude-self"), True, {"peers": ["LSH"], "exclude_self": True}),
        (
            (*LABELS, "--train", "vectors.npy", "--train-labels", "labels.npy", "--batch", 7, "--threads", 2),
            True,
            {"train": "X", "train_labels": "y", "batch_size": 7, "n_threads": 2},
        ),
    ],
    ids=["nearest", "lengths", "labels", "train"],
)
def test_the_numbers_of_a_search_are_those_of_the_api(
    options, labels, keywords, searched, model, train, new, tmp_path, monkeypatch
):
    monkeypatch.chdir(searched)
    keywords = {name: {"X": train[0], "y": train[1]}.get(str(value), value) for name, value in keywords.items()}
    known = (new[1][100:], new[1][:100]) if labels else (None, None)
    expected = evaluate_search(model, new[0][100:], new[0][:100], *known, **keywords)
    arguments = (*SEARCH, *options, "--figure", tmp_path / "page.svg")
    record = json.loads(call(*arguments, "--json"))
    for row, measured in zip(record["rows"], expected.rows, strict=True):
        assert [row[name] for name in ("method", "bits", "bytes", "map")] == pytest.approx(
            [measured.method, measured.bits, measured.bytes, measured.map]
        )
        for name in ("precision", "recall"):
            assert row[name] == {str(k): pytest.approx(value) for k, value in getattr(measured, name).items()}
        assert row["search_ms"] > 0
    same = ("k", "relevant", "n_database", "n_queries", "n_self", "batch_size", "n_threads", "peers_fitted_to")
    assert {name: record[name] for name in same} == {name: getattr(expected, name) for name in same}
    text = call(*arguments)
    assert all(f"{row['map']:.4f}" in text for row in record["rows"])
    assert ("precision@" in text) == labels
    assert ("--database-labels" in text) != labels  # the model learned from labels
    assert ("Peers were fitted to the database" in text) == ("train" not in keywords and keywords.get("peers") != ())
    assert "<svg" in (tmp_path / "page.svg").read_text()


def test_arrays_of_one_file_and_queries_that_find_themselves(searched, tmp_path, monkeypatch):
    monkeypatch.chdir(searched)
    figure = ("--figure", tmp_path / "page.png", "--force", "--peers", "")
    by_key = call("evaluate", "my.proxcode", "--database", "both.npz:base", "--queries", "both.npz:query", *figure)
    assert "100 queries, 300 samples in the database; relevant: among the k nearest" in by_key
    assert "find themselves" not in by_key
    itself = ("evaluate", "my.proxcode", "--database", "q.npy", "--queries", "q.npy", *figure)
    assert "100 queries are in the database and find themselves: pass --exclude-self" in call(*itself)
    assert "100 queries are in the database and did not find themselves." in call(*itself, "--exclude-self")


BAD = [
    ("evaluate my.proxcode", "pass VECTORS to measure all pairs, or --database and --queries to measure a search"),
    ("evaluate my.proxcode --database base.npy", "pass VECTORS to measure all pairs, or --database and --queries"),
    ("evaluate my.proxcode new.npy --queries q.npy", "VECTORS is for all pairs, --database and --queries for a search"),
    ("evaluate my.proxcode new.npy -k 3 --batch 2", "-k and --batch apply to a search: pass --database and --queries"),
    ("SEARCH --labels q_labels.npy", "define near pairs of VECTORS: in a search, pass --database-labels"),
    ("SEARCH --query-labels q_labels.npy", "a search needs labels on both sides: pass --database-labels and --query"),
    ("SEARCH --train-labels labels.npy", "--train-labels are labels of --train: pass its vectors too"),
    ("SEARCH --lengths 8,x", "--lengths 8,x: expected comma-separated integers, such as 16,32,64"),
    ("SEARCH --lengths 8,21", "lengths=21: expected an integer from 1 to 20"),
    ("SEARCH --peers FAISS", "peers='FAISS': expected names from LSH"),
    ("SEARCH -k 301", "k=301: expected an integer from 1 to 300, the number of samples in the database"),
    ("SEARCH -k 0", "0 is not in the range x>=1"),
    ("SEARCH --database narrow.npy", "narrow.npy has 3 features, but the model was fitted to 64"),
    ("SEARCH --queries narrow.npy", "narrow.npy has 3 features, but the model was fitted to 64"),
    ("SEARCH --train narrow.npy", "narrow.npy has 3 features, but the model was fitted to 64"),
    ("SEARCH --queries gone.npy", "there is no file gone.npy"),
    ("SEARCH --queries both.npz:nothing", "nothing"),
    ("SEARCH --query-labels q_labels.npy --database-labels q_labels.npy", "q_labels.npy holds 100 labels for 300 samp"),
    ("SEARCH --query-labels labels.npy --database-labels base_labels.npy", "labels.npy holds 500 labels for 100 samp"),
    ("SEARCH --train vectors.npy --train-labels q_labels.npy", "q_labels.npy holds 100 labels for 500 samples"),
    ("SEARCH --figure base.npy", "the output base.npy is the input base.npy: choose another name"),
    ("SEARCH --figure q_labels.npy --query-labels q_labels.npy --database-labels y.npy", "is the input q_labels.npy"),
    ("SEARCH --figure f.gif", "expected a figure with the suffix"),
]


@pytest.mark.parametrize(("command", "message"), BAD, ids=[command for command, _ in BAD])
def test_bad_options_of_a_search_are_named(command, message, searched, tmp_path, monkeypatch):
    monkeypatch.chdir(searched)
    words = command.replace("SEARCH", " ".join(SEARCH)).split()
    if "--figure" not in words:
        words += ["--figure", str(tmp_path / "f.png")]
    sentence = fails(*words)
    assert message in sentence
    assert "\n" not in sentence
    assert not (tmp_path / "f.png").exists()
