"""`proxcode evaluate` against the Python API."""

import json
import re

import numpy as np
import pytest

from helpers.command_line import call
from proxcode import ProximityPreservingCode, SameLabel, WithinRadius
from proxcode.evaluation import evaluate


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
