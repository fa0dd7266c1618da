"""Commands that need no heavy library do not import any, and wrong inputs are reported before the imports."""

import subprocess
import sys

import numpy as np
import pytest

from helpers.command_line import N_BITS
from proxcode import (
    GivenPairs,
    Nearest,
    ProximityPreservingCode,
    ReconstructionHash,
    RotationHash,
    SameLabel,
    SharedLabel,
    WithinRadius,
)
from proxcode.cli import VERBS
from proxcode.cli.info import describe

HEAVY = ("sklearn", "numba", "scipy", "pandas", "joblib", "matplotlib", "faiss", "pyarrow", "h5py")
SCRIPT = (
    "import sys\nfrom proxcode.cli import main\n"
    "try:\n    main(sys.argv[1:])\n"
    f"finally:\n    print('imported', *[name for name in {HEAVY} if name in sys.modules])"
)

SUCCEED = ["--help", "--version", *(f"{verb} --help" for verb in VERBS), "reproduce"]
SUCCEED += [f"index {verb} --help" for verb in ("create", "add", "remove", "compact", "info")]
SUCCEED += ["index info saved.index", "info api.proxcode", "info saved.index", "info train.npy", "info codes.npy"]
FAIL = {
    "fly": "No such command",
    "info gone": "there is no file gone",
    "info torn.proxcode": "truncated",
    "fit train.npy --bits 0 -o m": "--bits",
    "fit train.npy -o m --labels labels.npy --radius 3": "pass only one of them",
    "fit gone.npy -o m": "there is no file gone.npy",
    "fit torn.npy -o m": "torn.npy",
    "fit train.npy --labels gone.npy -o m": "there is no file gone.npy",
    "fit train.npy --pairs gone.csv -o m": "there is no file gone.csv",
    "fit train.npy -o gone/m": "there is no folder gone",
    "encode gone train.npy -o c.npy": "there is no file gone",
    "encode torn.proxcode train.npy -o c.npy": "truncated",
    "encode saved.index train.npy -o c.npy": "not a model",
    "encode api.proxcode gone.npy -o c.npy": "there is no file gone.npy",
    "encode api.proxcode codes.npy -o c.npy": "features, but the model was fitted to 64",
    f"encode api.proxcode train.npy -o c.npy --bits {N_BITS + 1}": "the code length of the model",
    "encode api.proxcode train.npy -o c.csv": "codes are written as .npy",
    "encode api.proxcode gone/*.npy -o c": "has no file of vectors",
    "encode api.proxcode train.npy new.npy -o codes.npy": "codes.npy is a file",
    "encode api.proxcode train.npy sub/train.npy -o c": "would both be train.parquet",
    "search gone.npy codes.npy": "there is no file gone.npy",
    "search gone.index codes.npy": "there is no file gone.index",
    "search api.proxcode codes.npy": "not an index",
    "search codes.npy gone.npy": "there is no file gone.npy",
    "search codes.npy train.npy": "not packed codes",
    "search codes.npy train.npy --model gone": "there is no file gone",
    "search codes.npy codes.npy --near": "pass --model too",
    "index create gone.npy -o i.index": "there is no file gone.npy",
    "index create train.npy -o i.index": "not packed codes",
    "index create codes.npy -o saved.index": "saved.index already exists",
    "index add gone.index codes.npy": "there is no file gone.index",
    "index add api.proxcode codes.npy": "not an index",
    "index add saved.index codes.npy --upsert": "pass --ids too",
    "index remove saved.index --ids gone.npy": "there is no file gone.npy",
    "index info train.npy": "not a file of proxcode",
    "dedupe gone.npy --radius 3": "there is no file gone.npy",
    "dedupe gone/*.npy --radius 3": "has no file of codes",
    "dedupe train.npy --radius 3": "not packed codes",
    "dedupe api.proxcode --radius 3": "not an index",
    "dedupe codes.npy": "Missing option '--radius'",
    "dedupe codes.npy --radius -1": "-1 is not in the range x>=0",
    "dedupe codes.npy --radius 3 --pairs": "pass -o, the name of the file, too",
    "dedupe codes.npy --radius 3 --renumber": "--renumber is for several files",
    "dedupe codes.npy --radius 3 --ids gone.npy": "there is no file gone.npy",
    "dedupe codes.npy --radius 3 -o groups.txt": "unknown suffix '.txt'",
    "dedupe codes.npy --radius 3 -o codes.npy": "is the input",
    "dedupe codes.npy --radius 3 -o train.npy": "already exists",
    "dedupe codes.npy --radius 3 --bits 77": "not of 77 bits",
    "dedupe codes.npy --radius 3 --id key": "has no column 'key' of ids",
    "dedupe postgresql://me@db/shop --radius 3": "found among codes in files",
    "evaluate gone train.npy": "there is no file gone",
    "evaluate api.proxcode gone.npy": "there is no file gone.npy",
    "evaluate api.proxcode train.npy --figure f.gif": "expected a figure with the suffix",
    "evaluate api.proxcode --database gone.npy --queries new.npy": "there is no file gone.npy",
    "evaluate api.proxcode --database new.npy": "pass VECTORS to measure all pairs, or --database and --queries",
    "export gone -o m.onnx": "there is no file gone",
    "export codes.npy -o m.onnx": "not a file of proxcode",
    "export api.proxcode -o gone/m.onnx": "there is no folder gone",
    "export api.proxcode -o m.onnx --check gone.npy": "there is no file gone.npy",
    f"export api.proxcode -o m.onnx --bits {N_BITS + 1}": "the code length of the model",
    "cut gone.csv": "there is no file gone.csv",
    "reproduce perpetuum": "unknown experiment",
}


@pytest.fixture(scope="module")
def inputs(folder):
    (folder / "torn.proxcode").write_bytes((folder / "api.proxcode").read_bytes()[:200])
    (folder / "sub").mkdir()
    np.save(folder / "sub" / "train.npy", np.zeros((2, 64)))
    (folder / "torn.npy").write_bytes((folder / "train.npy").read_bytes()[:40])
    return folder


def run(command, folder):
    arguments = [sys.executable, "-c", SCRIPT, *command.split()]
    result = subprocess.run(arguments, cwd=folder, capture_output=True, text=True, check=False)
    return result, result.stdout.splitlines()[-1]


@pytest.mark.parametrize("command", SUCCEED)
def test_light_commands_import_no_heavy_library(command, inputs):
    result, imported = run(command, inputs)
    assert result.returncode == 0, result.stderr
    assert imported == "imported"


@pytest.mark.parametrize("command", FAIL)
def test_wrong_inputs_are_reported_before_heavy_libraries_are_imported(command, inputs):
    result, imported = run(command, inputs)
    assert result.returncode in (1, 2)
    assert FAIL[command] in result.stderr
    assert imported == "imported"


def test_search_among_codes_needs_no_scikit_learn(inputs):
    for codes in ("codes.npy", "saved.index"):
        result, imported = run(f"search {codes} codes.npy -k 2", inputs)
        assert result.returncode == 0, result.stderr
        assert "sklearn" not in imported
        assert "pandas" not in imported


def test_duplicates_among_codes_need_no_scikit_learn(inputs):
    for codes in ("codes.npy", "saved.index"):
        result, imported = run(f"dedupe {codes} --radius 2", inputs)
        assert result.returncode == 0, result.stderr
        assert "sklearn" not in imported
        assert "pandas" not in imported


MODELS = {
    "labels": ({}, "labels"),
    "later classes": ({"proximity": SameLabel(new_classes=True), "hash_function": None}, "labels"),
    "shared": ({"proximity": SharedLabel()}, "indicator"),
    "radius": ({"proximity": WithinRadius(mean_neighbors=10, metric="cosine")}, None),
    "pairs": ({"proximity": GivenPairs(np.arange(40).reshape(20, 2))}, None),
    "far": ({"proximity": GivenPairs(np.arange(40).reshape(20, 2), others="far")}, None),
    "nearest": ({"proximity": Nearest(7), "hash_function": RotationHash(n_rotations=3)}, None),
    "float": ({"hash_function": ReconstructionHash(n_rounds=2)}, None),
}


@pytest.mark.parametrize("name", MODELS)
def test_info_says_what_the_model_says(name, train, tmp_path):
    parameters, target = MODELS[name]
    X, y = train[0][:200], train[1][:200]
    y = {"labels": y, "indicator": y[:, None] == np.arange(10), None: None}[target]
    model = ProximityPreservingCode(8, random_state=0, **parameters).fit(X, y)
    model.save(tmp_path / "m.proxcode")
    facts = describe(tmp_path / "m.proxcode")
    last = model.history_[-1]
    assert (facts["bits"], facts["radius"]) == (8, model.radius_)
    assert (facts["loss in learning"], facts["training loss"]) == (last.loss, model.training_loss_)
    assert facts["near pairs within radius"] == last.near_within
    assert facts["near"].startswith(f"{type(model.proximity_).__name__}(")
    assert facts["hash function"].startswith(f"{type(model.hash_function_).__name__}(")
    if facts["kind of code"].startswith("for near pairs"):
        assert facts["kind of code"] == f"for near pairs: {model.proximity_.describe()}"
    else:
        assert name in ("later classes", "nearest", "float")
