"""The verb `export`."""

import json
import sys

import numpy as np
import onnxruntime
import pytest
from sklearn.preprocessing import RobustScaler, StandardScaler

from helpers.command_line import N_BITS, call, fails, record_of, what_was_read
from helpers.pipelines import pipeline_of
from proxcode.export import onnx_model


@pytest.fixture
def path(tmp_path):
    return tmp_path / "m.onnx"


def test_the_file_is_that_of_the_model(folder, model, path):
    text = call("export", folder / "api.proxcode", "-o", path)
    assert path.read_bytes() == onnx_model(model).SerializeToString()
    rows = dict(line.split(maxsplit=1) for line in text.splitlines())
    assert rows == {"model": str(path), "bytes": f"{path.stat().st_size:,}", "bits": str(N_BITS), "type": "float32"}


def test_examples_of_the_help_run(folder, model, path, monkeypatch):
    monkeypatch.chdir(folder)
    lines = [line.split()[1:] for line in call("export", "--help").splitlines() if "proxcode export my" in line]
    assert len(lines) == 2
    for words in lines:
        names = {"my.proxcode": folder / "api.proxcode", "my.onnx": path}
        call(*(names.get(word, word) for word in words), "--force")
    metadata = onnxruntime.InferenceSession(path).get_modelmeta().custom_metadata_map
    assert metadata["fingerprint"] == model.fingerprint(16)


def test_options(folder, model, path, new):
    arguments = ["--dtype", "float64", "--bits", 7, "--outputs", "margins, codes"]
    record = record_of("export", folder / "api.proxcode", "-o", path, *arguments, "--force")
    assert record == {"model": str(path), "bytes": path.stat().st_size, "bits": 7, "type": "float64"}
    codes, margins = onnxruntime.InferenceSession(path).run(None, {"X": new[0]})
    np.testing.assert_array_equal(codes, model.encode(new[0], 7))
    np.testing.assert_allclose(margins, model.scores(new[0], 7), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_codes_are_compared(folder, model, path, new, dtype):
    arguments = [
        "export",
        folder / "api.proxcode",
        "-o",
        path,
        "--dtype",
        dtype,
        "--check",
        folder / "new.npy",
        "--force",
    ]
    record = json.loads(call(*arguments, "--json"))
    assert record["samples compared"] == 400
    assert (record["differing bits"], record["margins of differing bits"]) == (0, [])
    assert record["largest margin of a differing bit over the median"] == 0
    assert record["median margin"] == pytest.approx(np.median(np.abs(model.scores(new[0]))))
    assert "margins of differing bits                          none" in call(*arguments)
    said, _ = what_was_read(*arguments)
    assert said == {"vectors": f"{folder / 'new.npy'} (400 x 64, float64)"}


def test_margins_of_differing_bits_are_shown(folder, path, monkeypatch):
    from proxcode.export import DifferingBits

    margins = np.arange(12, 0, -1) * 1e-7
    monkeypatch.setattr("proxcode.export.differing_bits", lambda *_: DifferingBits(400, N_BITS, margins, 0.5))
    arguments = ["export", folder / "api.proxcode", "-o", path, "--check", folder / "new.npy", "--force"]
    text = call(*arguments)
    assert "differing bits                                     12\n" in text
    assert "1.20e-06, 1.10e-06, 1.00e-06," in text
    assert text.rstrip().endswith("3.00e-07, ...")
    record = json.loads(call(*arguments, "--json"))
    assert record["margins of differing bits"] == margins.tolist()
    assert record["largest margin of a differing bit over the median"] == pytest.approx(2.4e-6)


def test_pipelines(train, path, tmp_path):
    model = pipeline_of(StandardScaler()).fit(*train)
    model.save(tmp_path / "m.proxcode")
    call("export", tmp_path / "m.proxcode", "-o", path)
    samples = train[0].astype(np.float32)
    codes = onnxruntime.InferenceSession(path).run(["codes"], {"X": samples})[0]
    np.testing.assert_array_equal(codes, model.encode(samples))


def test_wrong_inputs_are_refused(folder, path):
    model = folder / "api.proxcode"
    assert fails("export", "gone", "-o", path) == "there is no file gone: check its name and folder."
    assert (
        fails("export", model, "-o", model)
        == f"the output {model} is the input {model}: choose another name for the output."
    )
    assert "expected 1 to 20, the code length of the model." in fails("export", model, "-o", path, "--bits", 21)
    assert "'bits' is none of codes, margins, posteriors." in fails("export", model, "-o", path, "--outputs", "bits")
    assert "pass --check too." in fails("export", model, "-o", path, "--columns", "0,1")
    sentence = fails("export", model, "-o", path, "--outputs", "margins", "--check", folder / "new.npy")
    assert sentence == "--check compares codes, which --outputs margins leaves out: add codes."
    assert "features, but the model was fitted to 64" in fails(
        "export", model, "-o", path, "--check", folder / "codes.npy"
    )
    assert not path.exists()
    path.write_text("theirs")
    assert fails("export", model, "-o", path) == f"{path} already exists; choose another name or pass --force."


def test_what_cannot_be_exported_is_refused_in_one_sentence(train, path, tmp_path):
    pytest.importorskip("skops")
    pipeline_of(RobustScaler()).fit(*train).save(tmp_path / "m.proxcode")
    trust = ["--trust", "sklearn.preprocessing._data.RobustScaler"]
    sentence = fails("export", tmp_path / "m.proxcode", "-o", path, *trust)
    assert sentence.startswith("the transformer RobustScaler cannot be exported to ONNX")
    assert not path.exists()


@pytest.mark.parametrize("package", ["onnx", "onnxruntime"])
def test_a_missing_package_is_named_before_anything_is_written(package, folder, path, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    sentence = fails("export", folder / "api.proxcode", "-o", path, "--check", folder / "new.npy")
    assert sentence == f"ONNX requires {package}: pip install 'proxcode[onnx]'."
    assert not path.exists()
