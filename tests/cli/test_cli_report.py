"""`proxcode report` against the Python API."""

import json
import shlex
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from helpers.command_line import call, fails, what_was_read
from helpers.html_pages import Page
from proxcode.evaluation import evaluate

LABELS = ("--labels", "new_labels.npy", "--peers", "")


@pytest.fixture(scope="module")
def files(folder, tmp_path_factory, train, new, model):
    """The files that the examples of the help name."""
    copies = tmp_path_factory.mktemp("report")
    for name, array in {"new": new[0], "new_labels": new[1], "vectors": train[0]}.items():
        np.save(copies / f"{name}.npy", array)
    model.save(copies / "my.proxcode")
    rows = "".join(f'"digit, <b>{label}</b>",{label}\n' for label in new[1])
    (copies / "items.csv").write_text(f"text,label\n{rows}", encoding="utf-8")
    return copies


@pytest.fixture(autouse=True)
def in_folder(files, monkeypatch):
    monkeypatch.chdir(files)


def examples():
    text = call("report", "--help").partition("Examples:")[2].partition("Options:")[0]
    return [" ".join(command.split()) for command in text.replace("\\\n", " ").split("proxcode report ")[1:]]


def test_the_help_has_two_examples():
    assert len(examples()) == 2


@pytest.mark.parametrize("number", range(2))
def test_the_examples_of_the_help_run(number, files):
    words = shlex.split(examples()[number])
    call("report", *words, "--force")
    page = Page((files / words[words.index("-o") + 1]).read_text(encoding="utf-8"))
    shown = page.words.partition("How to make this report again")[2].partition("The same samples")[0]
    # Options stand in the order of the help; the values are those given.
    assert sorted(shlex.split(shown)) == sorted(["proxcode", "report", *words])


def test_the_figures_are_those_of_the_api(model, new):
    record = json.loads(call("report", "my.proxcode", "new.npy", *LABELS, "--json", "--force"))
    row = evaluate(model, *new, peers=()).rows[-1]
    assert (record["bits"], record["radius"]) == (model.n_bits_, model.radius_)
    assert [record[name] for name in ("pr_area", "map", "precision", "recall")] == [
        row.pr_area,
        row.map,
        row.precision,
        row.recall,
    ]
    assert record["bytes"] > 10_000


def test_the_radius_is_that_of_the_bits_that_were_measured(model):
    record = json.loads(call("report", "my.proxcode", "new.npy", *LABELS, "--lengths", "4", "--json", "--force"))
    assert (record["bits"], record["radius"]) == (4, model.history_[3].radius)
    assert model.history_[3].radius != model.radius_


def test_inputs_are_named(files):
    said, _ = what_was_read(
        "report",
        "my.proxcode",
        "new.npy",
        "--labels",
        "items.csv:label",
        "--texts",
        "items.csv:text",
        "--peers",
        "",
        "--force",
    )
    assert said == {
        "vectors": "new.npy (400 x 64, float64)",
        "labels": "column 'label' of items.csv (400 samples)",
        "texts": "column 'text' of items.csv (400 texts)",
    }


def test_without_labels_the_reason_is_printed():
    text = call("report", "my.proxcode", "new.npy", "--peers", "", "-o", "bare.html")
    assert "pairs left out" in text
    assert "pass labels (--labels FILE)" in text


def test_names_of_peers_may_be_in_small_letters(files):
    call("report", "my.proxcode", "new.npy", *LABELS[:2], "--peers", "lsh", "--lengths", "8", "-o", "peers.html")
    assert "LSH" in Page((files / "peers.html").read_text(encoding="utf-8")).words


WRONG = {
    "new.npy -o report.pdf": "report.pdf: expected a report with the suffix .html or .htm.",
    "new.npy -o items.csv --force --texts items.csv:text": "the output items.csv is the input items.csv:text",
    "new.npy -o gone/report.html": "there is no folder gone to write report.html to: make it first.",
    "new.npy --texts new_labels.npy:3": "has shape (400,) and no column '3': omit the column.",
    "vectors.npy --texts items.csv:text": "holds texts of shape (400,) for 500 samples: expected one each.",
    "new.npy --image-shape 9x9": "image shape 9x9 has 81 numbers, but a sample has 64: pass its own.",
    "new.npy --image-shape square": "image shape 'square': expected HEIGHTxWIDTH",
    "new.npy --unlabelled x": "apply to classes: pass --labels too.",
    "new.npy --train-labels new_labels.npy": "--train-labels are labels of --train: pass its vectors too.",
    "new.npy --peers ABC": "peers='ABC': expected names from",
    "gone.npy": "there is no file gone.npy",
}


@pytest.mark.parametrize("arguments", WRONG)
def test_mistakes_are_one_sentence(arguments, files):
    before = sorted(path.name for path in files.iterdir())
    sentence = fails("report", "my.proxcode", *arguments.split(), *([] if "-o" in arguments else ["-o", "none.html"]))
    assert WRONG[arguments] in sentence
    assert "\n" not in sentence
    assert sorted(path.name for path in files.iterdir()) == before


def test_an_existing_report_is_kept(files):
    (files / "mine.html").write_text("mine")
    sentence = fails("report", "my.proxcode", "new.npy", "-o", "mine.html")
    assert sentence == "mine.html already exists; choose another name or pass --force."
    assert (files / "mine.html").read_text() == "mine"


def test_a_map_by_umap(files, monkeypatch):
    monkeypatch.setitem(sys.modules, "umap", None)
    sentence = fails("report", "my.proxcode", "new.npy", "--map", "umap", "--force")
    assert "--map umap: umap-learn is not installed: pip install umap-learn, or use pca" in sentence
    made = []

    class UMAP:
        def __init__(self, **options):
            made.append(options)

        def fit_transform(self, samples):
            return samples[:, 20:22]

    monkeypatch.setitem(sys.modules, "umap", SimpleNamespace(UMAP=UMAP))
    call("report", "my.proxcode", "new.npy", *LABELS, "--map", "umap", "-o", "map.html")
    assert made == [{"random_state": 0}]
    assert "UMAP" in Page((files / "map.html").read_text(encoding="utf-8")).words
