"""ONNX files: what they say of themselves, how they are written, what is refused, and how they are compared."""

import json
import sys

import numpy as np
import onnxruntime
import pytest
from onnx import numpy_helper
from sklearn.exceptions import NotFittedError
from sklearn.naive_bayes import GaussianNB

import proxcode
from proxcode import (
    ClassifierHash,
    KernelHash,
    LinearHash,
    ProximityPreservingCode,
    ReconstructionHash,
    RotationHash,
    export_onnx,
)
from proxcode.export import differing_bits, onnx_model
from proxcode.export.graph import Graph


@pytest.fixture(scope="module")
def model(train):
    names = np.array(list("jihgfedcba"))
    return ProximityPreservingCode(12, hash_function=KernelHash(n_landmarks=80), random_state=0).fit(
        train[0], names[train[1]]
    )


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.onnx"


def metadata_of(path):
    return onnxruntime.InferenceSession(path).get_modelmeta().custom_metadata_map


@pytest.mark.parametrize("n_bits", [None, 5])
def test_metadata(model, path, n_bits):
    export_onnx(model, path, n_bits=n_bits)
    found = metadata_of(path)
    assert found == {
        "fingerprint": model.fingerprint(n_bits),
        "n_bits": str(n_bits or 12),
        "radius": str(model.history_[(n_bits or 12) - 1].radius),
        "classes": json.dumps(model.proximity_.classes_),
        "hash_function": "KernelHash",
        "proxcode_version": proxcode.__version__,
    }
    assert sorted(json.loads(found["classes"])) == list("abcdefghij")


def test_metadata_without_classes(train, path):
    model = ProximityPreservingCode(8, hash_function=RotationHash(n_rotations=3), random_state=0).fit(train[0])
    export_onnx(model, path)
    assert metadata_of(path)["classes"] == "null"


@pytest.mark.parametrize("outputs", [["codes"], ["margins"], ["posteriors", "codes"], ["codes", "margins"]])
def test_outputs(model, path, outputs, new):
    export_onnx(model, path, outputs=outputs)
    session = onnxruntime.InferenceSession(path)
    names = [output.name for output in session.get_outputs()]
    assert sorted(names) == sorted(outputs)
    assert [len(values) for values in session.run(None, {"X": new[0].astype(np.float32)})] == [400] * len(outputs)


def test_a_loaded_model_is_exported_alike(model, path, tmp_path):
    model.save(tmp_path / "m.proxcode")
    export_onnx(proxcode.load(tmp_path / "m.proxcode"), path)
    assert path.read_bytes() == onnx_model(model).SerializeToString()


def test_files_are_replaced_as_a_whole_or_not_at_all(model, path, monkeypatch):
    path.write_text("theirs")
    with pytest.raises(FileExistsError, match=r"model\.onnx already exists; choose another name"):
        export_onnx(model, path, overwrite=False)
    with monkeypatch.context() as patched:
        patched.setattr("pathlib.Path.write_bytes", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            export_onnx(model, path)
    assert path.read_text() == "theirs"
    export_onnx(model, path)
    assert metadata_of(path)["n_bits"] == "12"
    assert [file.name for file in path.parent.iterdir()] == ["model.onnx"]


REFUSED = {
    "dtype": ({"dtype": "float16"}, ValueError, r"^dtype='float16': expected 'float32' or 'float64'\.$"),
    "no name of a type": ({"dtype": None}, TypeError, r"^dtype=None: expected 'float32' or 'float64'\.$"),
    "no bits": ({"n_bits": 0}, ValueError, r"^n_bits=0: expected an integer from 1 to 12\.$"),
    "too many bits": ({"n_bits": 13}, ValueError, r"^n_bits=13: expected an integer from 1 to 12\.$"),
    "half a bit": ({"n_bits": 2.5}, TypeError, r"^n_bits=2\.5: expected an integer from 1 to 12\.$"),
    "one name": (
        {"outputs": "codes"},
        TypeError,
        r"^outputs='codes': expected a list of names, such as \['codes'\]\.$",
    ),
    "unknown": ({"outputs": ["bits"]}, ValueError, r"'bits' is none of codes, margins, posteriors\.$"),
    "none": ({"outputs": []}, ValueError, r"^outputs=\[\]: expected at least one of codes, margins, posteriors\.$"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_wrong_values_are_refused(name, model, path):
    options, kind, sentence = REFUSED[name]
    with pytest.raises(kind, match=sentence):
        export_onnx(model, path, **options)
    assert not path.exists()


def test_a_graph_that_is_too_large_for_a_file_is_refused(model, path, monkeypatch):
    monkeypatch.setattr("proxcode.export.onnx_file.MAX_BYTES", 10_000)
    with pytest.raises(ValueError, match=r"^the graph takes [\d,]+ bytes, and an ONNX file has at most 10,000: "):
        export_onnx(model, path)
    assert not path.exists()


def test_posteriors_that_a_model_does_not_have_are_refused(train, path):
    model = ProximityPreservingCode(4, hash_function=LinearHash(refine_steps=0), random_state=0).fit(*train)
    with pytest.raises(ValueError, match=r"this model has no posteriors; choose among codes, margins\.$"):
        export_onnx(model, path, outputs=["codes", "posteriors"])


class OwnHash(LinearHash):
    """May compute anything."""


@pytest.mark.parametrize(
    "function", [ClassifierHash(GaussianNB()), ReconstructionHash(n_rounds=2), OwnHash()], ids=repr
)
def test_hash_functions_that_are_no_graph_are_refused(function, train, path):
    labels = None if isinstance(function, ReconstructionHash) else train[1]
    model = ProximityPreservingCode(4, hash_function=function, random_state=0).fit(train[0], labels)
    name = type(function).__name__
    sentence = (
        rf"^{name} cannot be exported to ONNX: fit with one of KernelHash, LinearHash, SVMHash, RotationHash, "
        r"NewClassHash\.$"
    )
    with pytest.raises(TypeError, match=sentence):
        export_onnx(model, path)
    assert not path.exists()


def test_what_is_no_fitted_model_is_refused(path):
    with pytest.raises(TypeError, match=r"^model='m': expected a ProximityPreservingCode or a CodePipeline\.$"):
        export_onnx("m", path)
    with pytest.raises(NotFittedError):
        export_onnx(ProximityPreservingCode(), path)
    with pytest.raises(FileNotFoundError, match=r"^there is no folder .* to write m\.onnx to: make it first\.$"):
        export_onnx("m", path.parent / "gone" / "m.onnx")


def test_missing_packages_are_named_with_their_extra(model, path, monkeypatch, new):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ModuleNotFoundError, match=r"^ONNX requires onnx: pip install 'proxcode\[onnx\]'\.$"):
        export_onnx(model, path)
    assert not path.exists()
    monkeypatch.undo()
    export_onnx(model, path)
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(ModuleNotFoundError, match=r"^ONNX requires onnxruntime: pip install 'proxcode\[onnx\]'\.$"):
        differing_bits(model, path, new[0])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_codes_of_a_file_are_those_of_its_model(model, path, dtype, new):
    export_onnx(model, path, dtype=dtype, n_bits=11)
    found = differing_bits(model, path, new[0])
    assert (found.n_samples, found.n_bits, len(found.margins), found.largest) == (400, 11, 0, 0.0)
    assert found.median == np.median(np.abs(model.scores(new[0], 11)))


def test_differing_bits_are_found_with_their_margins(train, path, new):
    model = ProximityPreservingCode(12, hash_function=LinearHash(refine_steps=0), random_state=0).fit(*train)
    export_onnx(model, path)
    before = model.scores(new[0])
    # A file of other margins under the same fingerprint.
    model.hash_function_.intercept_ += 0.1
    margins = model.scores(new[0])
    expected = np.sort(np.abs(margins[(before >= 0) != (margins >= 0)]))[::-1]
    found = differing_bits(model, path, new[0])
    assert len(expected) > 100
    np.testing.assert_array_equal(found.margins, expected)
    assert found.largest == expected[0] / np.median(np.abs(margins))


def test_many_samples_are_compared_in_blocks(model, path, new, monkeypatch):
    export_onnx(model, path)
    monkeypatch.setattr("proxcode.export.comparison.BLOCK", 150)
    assert differing_bits(model, path, new[0]).n_samples == 400
    monkeypatch.setattr("proxcode.export.comparison.MAX_MEDIAN", 100)
    assert differing_bits(model, path, new[0]).median == np.median(np.abs(model.scores(new[0]))[::4])
    empty = differing_bits(model, path, new[0][:0])
    assert (empty.n_samples, empty.median, empty.largest) == (0, 0.0, 0.0)


def test_what_cannot_be_compared_is_refused_in_one_sentence(model, path, new):
    export_onnx(model, path)
    with pytest.raises(ValueError, match="X has 5 features, but ProximityPreservingCode is expecting 64 features"):
        differing_bits(model, path, new[0][:, :5])
    with pytest.raises(TypeError, match=r"^model='m': expected a ProximityPreservingCode or a CodePipeline\.$"):
        differing_bits("m", path, new[0])


def test_files_of_other_models_are_not_compared(model, path, train, new):
    other = ProximityPreservingCode(12, hash_function=LinearHash(refine_steps=0), random_state=1).fit(*train)
    export_onnx(other, path)
    with pytest.raises(ValueError, match=r"model\.onnx was not exported from this model: export it again\.$"):
        differing_bits(model, path, new[0])
    export_onnx(model, path, outputs=["margins"])
    with pytest.raises(ValueError, match=r"model\.onnx has no output codes to compare: export it with this output\.$"):
        differing_bits(model, path, new[0])


def test_a_constant_beyond_single_precision_is_kept_without_a_warning():
    graph = Graph()
    graph.add("Mul", "X", 2.0**133)
    assert numpy_helper.to_array(graph.constants[0]) == 2.0**133
