"""Errors are one sentence with the value and the remedy, reported before any work is lost."""

import os
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from helpers.command_line import without_progress
from proxcode import HammingIndex, ProximityPreservingCode
from proxcode.cli import main
from proxcode.storage.atomic import atomic_write

N_BITS = 12


def refuse(*arguments):
    """Run a command that is expected to fail; return its sentence."""
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exit_code in (1, 2), result.output
    assert isinstance(result.exception, SystemExit)
    assert result.stdout == ""
    *usage, sentence = without_progress(result.stderr).splitlines()
    assert sentence.startswith("Error: ")
    assert sentence.endswith((".", "?"))  # click may ask what was meant
    assert "unexpected" not in sentence
    assert bool(usage) == (result.exit_code == 2)
    assert all(line.startswith(("Usage: ", "Try ")) or not line for line in usage)
    return sentence.removeprefix("Error: ")


@pytest.fixture(scope="module")
def folder(tmp_path_factory, train):
    folder = tmp_path_factory.mktemp("bad")
    X, y = train[0][:150], train[1][:150]
    with_nan = X.copy()
    with_nan[7, 3] = np.nan
    model = ProximityPreservingCode(N_BITS, random_state=0).fit(X, y)
    arrays = {
        "X": X,
        "y": y,
        "nan": with_nan,
        "one_class": np.zeros(150, int),
        "y5": y[:5],
        "narrow": X[:, :3],
        "flat": X[0],
        "none": X[:0],
        "single": X[:1],
        "complex": X.astype(complex),
        "codes": model.codes_,
        "long_codes": np.zeros((150, 3), np.uint8),
        "twice": np.full(150, 4),
        "crooked": np.array([[0.0, 1.0], [2.0, 0.0]]),
    }
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    np.save(folder / "objects.npy", np.array([{}, {}]), allow_pickle=True)
    np.savez(folder / "two.npz", A=X, B=X)
    model.save(folder / "m.proxcode")
    content = (folder / "m.proxcode").read_bytes()
    (folder / "short.proxcode").write_bytes(content[:-100])
    (folder / "tampered.proxcode").write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    (folder / "picture.proxcode").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(200))
    HammingIndex(N_BITS).add(model.codes_).save(folder / "my.index")
    HammingIndex(24).add(np.zeros((3, 3), np.uint8)).save(folder / "longer.index")
    ProximityPreservingCode(40, random_state=0).fit(X, y).save(folder / "longer.proxcode")
    texts = {
        "words.csv": "a,b\n1,2\n3,cat\n",
        "names.txt": "".join(f"name {k}\n" for k in range(150)),
        "gaps.txt": "".join(f"name {k}\n" if k != 7 else "\n" for k in range(150)),
        "maybe.csv": "i,j,sign\n0,1,near\n2,3,maybe\n",
        "outside.csv": "0,1,near\n0,150,far\n",
        "torn.csv": "0,1,near\n1,0,far\n",
        "near_only.csv": "0,1\n2,1\n0,2\n",
        "loops.csv": "a,a,1\n",
        "unequal.csv": "a,b,1\nb,a,2\n",
        "nan_weight.csv": "a,b,nan\n",
        "empty.csv": "",
        "image.gif": "GIF89a",
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    (folder / "sub").mkdir()
    return folder


FIT = "fit X.npy --labels y.npy -o new.proxcode"
SEARCH = "search codes.npy X.npy --model m.proxcode"
EVALUATE = "evaluate m.proxcode X.npy --figure new.png"

# A command, and what its sentence contains: the value, the limit or the remedy.
CASES = [
    # Vectors
    ("fit gone.npy -o new.proxcode", "there is no file gone.npy: check its name"),
    ("fit sub -o new.proxcode", "sub has no file of vectors"),
    ("fit gone*.npy -o new.proxcode", "gone*.npy has no file of vectors: expected files with one of the suffixes"),
    ("fit X.npy --samples 5 --pairs torn.csv -o new.proxcode", "--pairs names rows of all VECTORS"),
    (
        "fit X.npy --scheduler tcp://1.2.3.4:5 -o new.proxcode",
        "engine 'local' takes no address, but 'tcp://1.2.3.4:5' is given",
    ),
    ("fit X.npy --engine ray -o new.proxcode", "engine 'ray' needs ray: pip install 'proxcode[ray]'"),
    ("fit image.gif -o new.proxcode", "image.gif has the unknown suffix '.gif': expected one of .npy"),
    ("fit empty.csv -o new.proxcode", "empty.csv is empty: write it again"),
    ("fit words.csv -o new.proxcode", "words.csv: line 3, column 'b' holds 'cat', not a number: drop the column"),
    ("fit nan.npy -o new.proxcode", "first nan in row 7, column 3: drop these rows or impute their values"),
    ("fit none.npy -o new.proxcode", "none.npy has shape (0, 64): expected at least one row and one column"),
    ("fit flat.npy -o new.proxcode", "flat.npy has shape (64,): expected a matrix of shape (rows, columns)"),
    ("fit single.npy -o new.proxcode", "1 sample(s) (shape=(1, 64)) while a minimum of 2 is required"),
    ("fit complex.npy -o new.proxcode", "complex.npy holds complex128 values: expected real numbers"),
    ("fit objects.npy -o new.proxcode", "objects.npy holds Python objects, which are not loaded for safety"),
    ("fit two.npz -o new.proxcode", "two.npz holds several arrays: choose one of A (150, 64), B (150, 64) by its key"),
    ("fit two.npz --key C -o new.proxcode", "two.npz has no array 'C': expected one of A (150, 64), B (150, 64)"),
    ("fit X.npy --key A -o new.proxcode", "key='A': X.npy has no keys"),
    ("fit X.npy --columns 64 -o new.proxcode", "X.npy has no column '64': expected one of 0 to 63"),
    # Near pairs
    ("fit X.npy --labels gone.npy -o new.proxcode", "there is no file gone.npy: check its name"),
    ("fit X.npy --labels y5.npy -o new.proxcode", "y5.npy holds 5 labels for 150 samples: expected one each"),
    (
        "fit X.npy --labels one_class.npy -o new.proxcode",
        "there is no far pair among 150 of 150 samples, but a code needs near and far pairs",
    ),
    ("fit words.csv --labels words.csv:c -o new.proxcode", "words.csv has no column 'c': expected one of a, b"),
    (
        "fit X.npy --radius 0 -o new.proxcode",
        "there is no near pair among 150 of 150 samples, but a code needs near and far pairs",
    ),
    (
        "fit X.npy --radius 1e6 -o new.proxcode",
        "there is no far pair among 150 of 150 samples, but a code needs near and far pairs",
    ),
    ("fit X.npy --radius -1 -o new.proxcode", "'--radius': -1.0 is not in the range x>=0"),
    ("fit X.npy --radius nan -o new.proxcode", "radius=nan: expected a number of at least 0"),
    ("fit X.npy --neighbors 0 -o new.proxcode", "'--neighbors': 0.0 is not in the range x>0"),
    ("fit X.npy --neighbors 150 -o new.proxcode", "mean_neighbors=150.0: expected at most 149 for 150 samples"),
    ("fit X.npy --metric crow -o new.proxcode", "'--metric': 'crow' is not one of 'euclidean', 'cosine'"),
    (f"{FIT} --metric cosine", "--metric applies to distances, which --labels and --pairs do not use: omit it"),
    (f"{FIT} --others far", "--others applies to the pairs that --pairs does not list: pass --pairs too"),
    (f"{FIT} --pairs maybe.csv", "--labels and --pairs each define near pairs: pass only one of them"),
    (f"{FIT} --radius 3", "--labels and --radius each define near pairs: pass only one of them"),
    ("fit X.npy --radius 3 --neighbors 9 -o new.proxcode", "--radius and --neighbors each define near pairs"),
    (
        "fit X.npy --pairs maybe.csv -o new.proxcode",
        "maybe.csv: line 3 has the sign 'maybe': expected near or far, +1 or -1, 1 or 0, true or false",
    ),
    (
        "fit X.npy --pairs outside.csv -o new.proxcode",
        "pairs has row numbers from 0 to 150: expected integers from 0 to 149",
    ),
    (
        "fit X.npy --pairs torn.csv -o new.proxcode",
        "pair (0, 1) is listed both as near and as far: keep one of the two",
    ),
    (
        "fit X.npy --pairs near_only.csv -o new.proxcode",
        "all pairs of the 3 listed samples are near, but a code needs far pairs too: list pairs of more samples",
    ),
    # The rest of a fit
    (f"{FIT} --bits 0", "'--bits': 0 is not in the range 1<=x<=1024"),
    (f"{FIT} --bits 5000", "'--bits': 5000 is not in the range 1<=x<=1024"),
    (f"{FIT} --bits many", "'--bits': 'many' is not a valid integer range"),
    (f"{FIT} --hash forest", "'--hash': 'forest' is not one of 'kernel', 'linear', 'svm'"),
    (f"{FIT} --hash svm --refine-steps 3", "--refine-steps applies to --hash kernel and --hash linear: pass one"),
    (f"{FIT} --paper --hash svm", "--paper has a hash function of its own: pass it without --hash."),
    (f"{FIT} --paper --refine-steps 0 --hash kernel", "pass it without --hash and --refine-steps."),
    (f"{FIT} --paper --new-classes", "--paper has a hash function of its own: pass it without --new-classes."),
    (f"{FIT} --refine-steps -1", "'--refine-steps': -1 is not in the range x>=0"),
    (f"{FIT} --seed -1", "'--seed': -1 is not in the range 0<=x<=4294967295"),
    ("fit X.npy -o m.proxcode", "m.proxcode already exists; choose another name or pass --force"),
    ("fit X.npy -o sub --force", "sub is a folder: name a file in it"),
    ("fit X.npy -o gone/new.proxcode", "there is no folder gone to write new.proxcode to: make it first"),
    ("fit X.npy", "Missing option '-o' / '--output'"),
    # Models
    ("encode gone.proxcode X.npy -o new.npy", "there is no file gone.proxcode: check its name and folder"),
    ("encode sub X.npy -o new.npy", "sub is a folder: name a file in it"),
    ("encode picture.proxcode X.npy -o new.npy", "picture.proxcode is truncated or not a file of proxcode"),
    ("encode short.proxcode X.npy -o new.npy", "short.proxcode is truncated or not a file of proxcode"),
    ("encode tampered.proxcode X.npy -o new.npy", "tampered.proxcode was changed after it was written"),
    ("encode my.index X.npy -o new.npy", "my.index holds a proxcode index, not a model: pass another file"),
    (
        "encode m.proxcode narrow.npy -o new.npy",
        "narrow.npy has 3 features, but the model was fitted to 64: choose columns, or another file",
    ),
    (
        "encode m.proxcode nan.npy -o new.npy",
        "nan.npy contains nan in row 7, column 3: drop these rows or impute their values",
    ),
    ("encode m.proxcode X.npy -o new.npy --bits 13", "--bits 13: expected 1 to 12, the code length of the model"),
    ("encode m.proxcode X.npy -o new.npy --bits 0", "'--bits': 0 is not in the range"),
    ("encode m.proxcode X.npy -o new.csv", "new.csv: codes are written as .npy; choose a name with this suffix"),
    ("encode m.proxcode X.npy -o codes.npy", "codes.npy already exists; choose another name or pass --force"),
    # Searches
    ("search gone.npy codes.npy", "there is no file gone.npy"),
    ("search sub codes.npy", "sub has no index file: expected files written by HammingIndex.save"),
    ("search m.proxcode codes.npy", "m.proxcode holds a proxcode model, not an index: pass another file"),
    (
        "search X.npy codes.npy",
        "X.npy holds float64 numbers, not packed codes of uint8: encode vectors with proxcode encode",
    ),
    ("search codes.npy X.npy", "X.npy holds float64 numbers, not packed codes of uint8"),
    (
        "search codes.npy long_codes.npy",
        "codes has 3 bytes per row: expected 2 bytes for 16 bits; encode with n_bits=16",
    ),
    (
        "search long_codes.npy X.npy --model m.proxcode",
        "long_codes.npy has codes of 3 bytes, not of 12 bits: pass --bits as in encode",
    ),
    (
        "search longer.index X.npy --model m.proxcode",
        "longer.index has codes of 24 bits, the model of 12: pass its own model",
    ),
    ("search my.index codes.npy --bits 9", "--bits 9: my.index has codes of 12 bits; omit --bits"),
    ("search my.index codes.npy --ids y.npy", "my.index is an index with its own ids: omit --ids"),
    (f"{SEARCH} --bits 13", "--bits 13: expected 1 to 12, the code length of the model"),
    (f"{SEARCH} --bits 9", "codes has nonzero bits after the first 9: expected zeros"),
    (f"{SEARCH} -k 0", "'-k': 0 is not in the range x>=1"),
    (f"{SEARCH} --radius -1", "'--radius': -1 is not in the range x>=0"),
    (f"{SEARCH} --near --radius 2", "--near and --radius each define a radius: pass only one of them"),
    (f"{SEARCH} --near --asymmetric", "--asymmetric and --vectors re-rank the -k nearest: omit --near and --radius"),
    (
        f"{SEARCH} --vectors X.npy --asymmetric",
        "--asymmetric and --vectors each define a ranking: pass only one of them",
    ),
    ("search codes.npy codes.npy --near", "--near uses the radius that a model learned: pass --model too"),
    (
        "search codes.npy codes.npy --asymmetric",
        "--asymmetric and --vectors need queries as vectors: pass these and --model",
    ),
    (
        "search codes.npy codes.npy --vectors X.npy",
        "--asymmetric and --vectors need queries as vectors: pass these and --model",
    ),
    (f"{SEARCH} --vectors single.npy", "single.npy holds 1 vectors for 150 codes: expected one each"),
    (
        f"{SEARCH} --vectors narrow.npy",
        "narrow.npy has 3 features, but the model was fitted to 64: choose columns, or another file",
    ),
    (f"{SEARCH} --asymmetric --oversample 0.5", "'--oversample': 0.5 is not in the range x>=1"),
    (f"{SEARCH} --asymmetric --oversample inf", "oversample=inf: expected a number of at least 1"),
    (f"{SEARCH} --ids twice.npy", "ids contains 4 more than once: expected distinct ids"),
    (f"{SEARCH} --ids y5.npy", "ids has 5 entries for 150 codes: expected one id per code"),
    (f"{SEARCH} --ids gaps.txt", "gaps.txt holds a blank id in row 7, counted from 0: write one for each row"),
    (f"{SEARCH} --ids crooked.npy:0", "crooked.npy:0 holds float64 values: expected integers or text"),
    (f"{SEARCH} --exclude-self --ids names.txt --query-ids y5.npy", "--exclude-self: there are 5 ids for 150 queries"),
    (f"{SEARCH} --exclude-self --ids names.txt --query-ids y.npy", "exclude: ids contains"),
    (f"{SEARCH} --threads 0", "'--threads': 0 is not in the range x>=1"),
    (
        f"{SEARCH} -o found.docx",
        "found.docx has the unknown suffix '.docx': expected one of .csv, .tsv, .jsonl, .npz, .parquet",
    ),
    (f"{SEARCH} -o gone/found.csv", "there is no folder gone to write found.csv to"),
    # Evaluations
    (EVALUATE, "the near pairs of new samples do not follow from the model's SameLabel: pass their --labels"),
    (f"{EVALUATE} --labels y5.npy", "y5.npy holds 5 labels for 150 samples"),
    (f"{EVALUATE} --labels one_class.npy", "there is no far pair among the 150 samples of X: pass more samples"),
    (f"{EVALUATE} --labels y.npy --peers Magic", "peers='Magic': expected names from LSH, ITQ"),
    (f"{EVALUATE} --labels y.npy --train narrow.npy", "narrow.npy has 3 features, but the model was fitted to 64"),
    (f"{EVALUATE}x --labels y.npy", "new.pngx: expected a figure with the suffix .png, .pdf, .svg"),
    (
        "evaluate m.proxcode X.npy --labels y.npy --figure image.gif",
        "image.gif already exists; choose another name or pass --force",
    ),
    (
        "evaluate m.proxcode narrow.npy --labels y.npy --figure new.png",
        "narrow.npy has 3 features, but the model was fitted to 64",
    ),
    # Cuts
    ("cut gone.csv", "there is no file gone.csv"),
    ("cut unequal.csv", "edge (a, b) has weight 1, but 2 in the opposite direction: pass directed="),
    ("cut crooked.npy", "edge (0, 1) has weight 1, but 2 in the opposite direction: pass directed="),
    ("cut nan_weight.csv", "edge (a, b) has weight nan: expected a finite number; leave unknown edges out"),
    ("cut empty.csv", "empty.csv is empty: write it again"),
    ("cut loops.csv", "loops.csv: no edge between two different nodes: expected at least one"),
    ("cut X.npy", "X.npy has shape (150, 64): expected an n x n matrix of the weights of n nodes"),
    ("cut unequal.csv -o partition.png", "partition.png has the unknown suffix '.png': expected one of .csv"),
    ("cut unequal.csv --starts 0", "'--starts': 0 is not in the range x>=1"),
    ("cut unequal.csv --directed max", "'--directed': 'max' is not one of 'sum', 'mean', 'sign'"),
    ("cut unequal.csv --max-cut --frustration", "--max-cut and --frustration each define an objective: pass only one"),
    # The others
    ("info gone", "there is no file gone: check its name and folder"),
    ("info sub", "sub is a folder: name a file in it"),
    ("info words.csv:b", "there is no file words.csv:b"),
    ("info names.txt", "names.txt is truncated or not a file of proxcode"),
    ("reproduce perpetuum", "unknown experiment 'perpetuum': expected one of table1"),
    ("reproduce initial-guess --quick --output words.csv", "words.csv is a file: expected the path of a folder"),
    ("demo --output words.csv", "words.csv is a file: expected the path of a folder"),
    ("fly", "No such command 'fly'"),
    (f"{FIT} --wings", "No such option"),
]


@pytest.mark.parametrize(("command", "said"), CASES, ids=[command for command, _ in CASES])
def test_an_error_is_one_sentence(command, said, folder, monkeypatch):
    monkeypatch.chdir(folder)
    before = sorted(folder.iterdir())
    assert said in refuse(*command.split())
    assert sorted(folder.iterdir()) == before


def test_the_cases_are_many_and_different():
    assert len({command for command, _ in CASES}) == len(CASES) >= 40


def test_a_row_of_a_later_block_is_named_by_its_place_in_the_file(folder, tmp_path):
    X = np.zeros((20_000, 64), np.float32)
    X[17_345, 5] = np.inf
    np.save(tmp_path / "X.npy", X)
    sentence = refuse("encode", folder / "m.proxcode", tmp_path / "X.npy", "-o", tmp_path / "codes.npy")
    assert "X.npy contains inf in row 17345, column 5: drop these rows" in sentence
    assert [path.name for path in tmp_path.iterdir()] == ["X.npy"]


def fit_arguments(folder, output):
    return ("fit", folder / "X.npy", "--labels", folder / "y.npy", "--bits", 4, "-o", output)


def test_a_damaged_checkpoint_is_named(folder, tmp_path):
    kept = tmp_path / "m.proxcode.checkpoint"
    kept.write_bytes((folder / "tampered.proxcode").read_bytes()[:500])
    sentence = refuse(*fit_arguments(folder, tmp_path / "m.proxcode"))
    assert sentence.startswith(f"the checkpoint cannot be resumed ({kept} is truncated or not a file of proxcode")
    assert sentence.endswith(f"delete {kept} to start again.")
    assert list(tmp_path.iterdir()) == [kept]


def test_the_checkpoint_of_another_fit_is_named(folder, train, tmp_path):
    kept = tmp_path / "m.proxcode.checkpoint"
    ProximityPreservingCode(4, random_state=1).fit(train[0][:150], train[1][:150], checkpoint=kept)
    sentence = refuse(*fit_arguments(folder, tmp_path / "m.proxcode"))
    assert sentence.startswith(f"checkpoint {kept} belongs to a fit with a different random_state")
    assert sentence.endswith("pass the same, or delete it to start again.")
    assert list(tmp_path.iterdir()) == [kept]


@pytest.mark.parametrize("name", ["m.proxcode", "m.proxcode.checkpoint"])
def test_a_file_that_another_process_writes_is_named(name, folder, tmp_path):
    with atomic_write(tmp_path / name) as partial:
        sentence = refuse(*fit_arguments(folder, tmp_path / "m.proxcode"))
        assert sentence == f"{tmp_path / name} is being written by another process: wait for it."
        partial.write_text("")


def test_codes_that_another_process_writes_are_named(folder, tmp_path):
    from proxcode.storage.atomic import resumable_write

    command = ("encode", folder / "m.proxcode", folder / "X.npy", "-o", tmp_path / "codes.npy")
    with pytest.raises(KeyboardInterrupt), resumable_write(tmp_path / "codes.npy", "another"):
        assert refuse(*command) == f"{tmp_path / 'codes.npy'} is being written by another process: wait for it."
        raise KeyboardInterrupt
    assert CliRunner().invoke(main, [str(word) for word in command]).exit_code == 0
    assert [path.name for path in tmp_path.iterdir()] == ["codes.npy"]


def test_a_folder_that_cannot_be_written_to_is_named_before_any_work(folder, tmp_path, monkeypatch):
    monkeypatch.setattr("os.access", lambda path, mode: Path(path) != tmp_path)
    sentence = refuse(*fit_arguments(folder, tmp_path / "m.proxcode"))
    assert sentence == f"the folder {tmp_path} is not writable: choose another, or change its permissions."


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (
            PermissionError(13, "Permission denied", "/x/m"),
            "/x/m: Permission denied: choose another location, or change its permissions",
        ),
        (
            OSError(28, "No space left on device"),
            "No space left on device: free some space, then run the same command again",
        ),
        (MemoryError("Unable to allocate 9 TiB"), "not enough memory (Unable to allocate 9 TiB): use fewer samples"),
        (MemoryError(), "not enough memory: use fewer samples"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_an_error_of_the_system_comes_with_a_remedy(error, said, folder, tmp_path, monkeypatch):
    def fail(*arguments, **options):
        raise error

    monkeypatch.setattr("proxcode.storage.atomic.os.open", fail)
    assert said in refuse(*fit_arguments(folder, tmp_path / "m.proxcode"))


@pytest.mark.parametrize(
    ("package", "command", "said"),
    [
        ("matplotlib", f"{EVALUATE} --labels y.npy", "pip install 'proxcode[plots]'"),
        ("matplotlib", "reproduce initial-guess --quick --output new", "pip install 'proxcode[plots]'"),
        ("matplotlib", "demo --output new", "pip install 'proxcode[plots]'"),
        (
            "pyarrow",
            "info t.parquet",
            "t.parquet requires pyarrow, which is not installed: pip install 'proxcode[tables]'",
        ),
        ("h5py", "info t.h5", "t.h5 requires h5py, which is not installed: pip install 'proxcode[tables]'"),
    ],
    ids=lambda value: value.split()[0],
)
def test_a_missing_package_is_named_with_how_to_get_it(package, command, said, folder, tmp_path, monkeypatch):
    for path in folder.iterdir():
        (tmp_path / path.name).symlink_to(path)
    monkeypatch.chdir(tmp_path)
    for name in ("t.parquet", "t.h5"):
        Path(name).write_bytes(b"PAR1")
    for name in [name for name in sys.modules if name == package or name.startswith(f"{package}.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    assert said in refuse(*command.split())


def test_debug_shows_the_traceback_at_any_position(folder):
    for command in (("--debug", "info", folder / "sub"), ("info", folder / "sub", "--debug")):
        result = CliRunner().invoke(main, [str(word) for word in command])
        assert result.exit_code == 1
        assert isinstance(result.exception, IsADirectoryError)
        assert result.exc_info[2] is not None


def test_an_unexpected_error_is_one_sentence_too(folder, monkeypatch):
    monkeypatch.setattr("proxcode.cli.info.describe", lambda path: 1 // 0)
    result = CliRunner().invoke(main, ["info", str(folder / "m.proxcode")])
    assert result.stderr == (
        "Error: unexpected ZeroDivisionError: integer division or modulo by zero (--debug shows the traceback).\n"
    )


@pytest.mark.skipif(os.name != "posix", reason="links are POSIX's")
@pytest.mark.parametrize("target", ["y.npy", "missing.npy"])
def test_a_link_is_replaced_by_force_only(target, folder, tmp_path):
    (tmp_path / "codes.npy").symlink_to(folder / target)
    command = ("encode", folder / "m.proxcode", folder / "X.npy", "-o", tmp_path / "codes.npy")
    assert "already exists; choose another name or pass --force" in refuse(*command)
    assert CliRunner().invoke(main, [str(word) for word in (*command, "--force")]).exit_code == 0
    assert not (tmp_path / "codes.npy").is_symlink()
    assert np.load(folder / "y.npy").shape == (150,)
    assert not (folder / "missing.npy").exists()


def test_indexes_that_cannot_be_searched_as_one_are_refused(folder, tmp_path):
    queries = folder / "codes.npy"
    codes = np.load(queries)
    for number in range(2):
        HammingIndex(8 * codes.shape[1]).add(codes).save(tmp_path / f"{number}.index")
    assert "id 0 is in" in refuse("search", tmp_path, queries)
    assert "--renumber is for several indexes" in refuse("search", tmp_path / "0.index", queries, "--renumber")
    output = tmp_path / "1.index"
    assert "is the input" in refuse("search", tmp_path, queries, "--renumber", "-o", output, "--force")
    assert "has no index file" in refuse("search", tmp_path / "*.idx", queries)
