"""`proxcode info` and the list of experiments."""

import json

import numpy as np

from helpers.command_line import N_BITS, call, record_of
from proxcode import ProximityPreservingCode
from proxcode.storage.container import kind_of


def test_info_describes_models_indexes_and_vectors(folder, model, train, tmp_path):
    facts = record_of("info", folder / "api.proxcode")
    assert (facts["kind"], facts["bits"], facts["radius"], facts["features"]) == ("model", N_BITS, model.radius_, 64)
    assert (facts["samples"], facts["bytes"]) == (500, (folder / "api.proxcode").stat().st_size)
    facts = record_of("info", folder / "saved.index")
    assert (facts["kind"], facts["bits"], facts["codes"], facts["ids"]) == ("index", N_BITS, 500, "integers")
    np.save(tmp_path / "CAPITALS.NPY", train[0])
    (tmp_path / "CAPITALS.NPY.npy").rename(tmp_path / "CAPITALS.NPY")
    facts = record_of("info", tmp_path / "CAPITALS.NPY")
    assert facts == {"kind": "vectors", "rows": 500, "columns": 64, "type": "float64"}


def test_info_describes_a_checkpoint(train, tmp_path, monkeypatch):
    # Without these a fit of a few seconds writes no checkpoint.
    monkeypatch.setattr("proxcode.storage.timer.CHECKPOINT_SECONDS", 0.0)
    monkeypatch.setattr("proxcode.storage.timer.CHECKPOINT_MULTIPLE", 0.0)
    ProximityPreservingCode(3, random_state=0).fit(*train, checkpoint=tmp_path / "fit.checkpoint")
    facts = record_of("info", tmp_path / "fit.checkpoint")
    assert facts["kind"] == kind_of(tmp_path / "fit.checkpoint")
    assert (facts["bits"], facts["bytes"]) == (3, (tmp_path / "fit.checkpoint").stat().st_size)
    assert "proxcode version" in facts


def test_reproduce_lists_its_experiments():
    assert "initial-guess" in json.loads(call("reproduce", "--json"))
    assert "\ninitial-guess " in "\n" + call("reproduce")
