"""Verbs that take a model take a pipeline, and `fit` makes one."""

import json
import sys

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import MinMaxScaler, Normalizer, RobustScaler, StandardScaler

import proxcode
from helpers.command_line import call, fails, read_columns, record_of, rows_of
from helpers.pipelines import small_code
from proxcode import CodePipeline, ProximityPreservingCode

N_BITS = 20


@pytest.fixture(scope="module")
def pipeline(train):
    code = ProximityPreservingCode(N_BITS, random_state=0)
    return CodePipeline([("scale", StandardScaler()), ("pca", PCA(16, random_state=0)), ("code", code)]).fit(*train)


@pytest.fixture
def path(pipeline, tmp_path):
    pipeline.save(tmp_path / "pipeline.proxcode")
    return tmp_path / "pipeline.proxcode"


@pytest.mark.parametrize(
    ("options", "transformers"),
    [
        (("--scale", "standard", "--pca", 16), [("scale", StandardScaler()), ("pca", PCA(16, random_state=0))]),
        (("--scale", "minmax"), [("scale", MinMaxScaler())]),
        (("--scale", "unit"), [("scale", Normalizer())]),
        (("--pca", 5), [("pca", PCA(5, random_state=0))]),
    ],
)
def test_fit_writes_the_pipeline_that_its_options_describe(options, transformers, folder, train, new, tmp_path):
    path = tmp_path / "m.proxcode"
    arguments = [folder / "train.npy", "--labels", folder / "labels.npy", "--bits", N_BITS, "-o", path]
    record = json.loads(call("fit", *arguments, *options, "--json"))
    expected = CodePipeline([*transformers, ("code", ProximityPreservingCode(N_BITS, random_state=0))]).fit(*train)
    loaded = proxcode.load(path)
    assert repr(loaded) == repr(expected)
    assert loaded.fingerprint() == expected.fingerprint()
    assert (record["bits"], record["radius"], record["samples"]) == (N_BITS, expected.radius_, len(train[0]))
    assert [file.name for file in tmp_path.iterdir()] == ["m.proxcode"]
    expected.save(tmp_path / "api.proxcode")
    assert path.read_bytes() == (tmp_path / "api.proxcode").read_bytes()


def test_fit_resumes_the_bits_of_a_pipeline(folder, train, tmp_path, pipeline):
    X, y = train
    short = CodePipeline([*pipeline.steps[:-1], ("code", ProximityPreservingCode(7, random_state=0, verbose=True))])
    short.fit(X, y, code__checkpoint=tmp_path / "m.proxcode.checkpoint")
    arguments = ["--labels", folder / "labels.npy", "--bits", N_BITS, "--scale", "standard", "--pca", 16]
    call("fit", folder / "train.npy", *arguments, "-o", tmp_path / "m.proxcode")
    np.testing.assert_array_equal(proxcode.load(tmp_path / "m.proxcode").encode(X), pipeline.encode(X))
    assert [file.name for file in tmp_path.iterdir()] == ["m.proxcode"]


def test_fit_refuses_more_components_than_there_are(folder, tmp_path):
    arguments = ("fit", folder / "train.npy", "-o", tmp_path / "m", "--pca")
    assert fails(*arguments, 65).startswith("--pca 65: expected at most 64 for ")
    assert "0 is not in the range" in fails(*arguments, 0)


def test_vectors_in_files_on_an_engine_are_refused(folder, tmp_path):
    pytest.importorskip("dask.distributed")
    arguments = ("fit", folder / "train.npy", "-o", tmp_path / "m", "--pca", 4, "--engine", "dask")
    assert fails(*arguments).startswith("--scale and --pca need all vectors in memory, in this process")


def test_encode_writes_the_codes_of_the_pipeline(path, pipeline, folder, new, tmp_path):
    record = record_of("encode", path, folder / "new.npy", "-o", tmp_path / "c.npy", "--force")
    assert (record["rows"], record["bits"]) == (len(new[0]), N_BITS)
    np.testing.assert_array_equal(np.load(tmp_path / "c.npy"), pipeline.encode(new[0]))
    call("encode", path, folder / "new.npy", "-o", tmp_path / "c.npy", "--bits", 9, "--force")
    np.testing.assert_array_equal(np.load(tmp_path / "c.npy"), pipeline.encode(new[0], 9))
    np.save(tmp_path / "narrow.npy", new[0][:, :16])
    sentence = fails("encode", path, tmp_path / "narrow.npy", "-o", tmp_path / "d.npy")
    assert "16 features, but the model was fitted to 64" in sentence
    assert "expected 1 to 20" in fails("encode", path, folder / "new.npy", "-o", tmp_path / "d.npy", "--bits", 21)


def test_encode_writes_the_codes_of_many_files(path, pipeline, folder, train, tmp_path):
    call("encode", path, folder / "train.npy", folder / "new.npy", "-o", tmp_path / "codes")
    columns = read_columns(tmp_path / "codes" / "train.parquet")
    codes = np.frombuffer(b"".join(columns["code"]), np.uint8).reshape(len(train[0]), -1)
    np.testing.assert_array_equal(codes, pipeline.encode(train[0]))


def test_search_finds_what_the_pipeline_finds(path, pipeline, folder, train, new, tmp_path):
    codes = pipeline.encode(train[0])
    np.save(tmp_path / "codes.npy", codes)
    index, queries = pipeline.index(codes), new[0][:30]
    np.save(tmp_path / "queries.npy", queries)
    index.save(tmp_path / "saved.index")
    for source in ("codes.npy", "saved.index"):
        arguments = ("search", tmp_path / source, tmp_path / "queries.npy", "--model", path)
        rows = rows_of(call(*arguments, "-k", 3))
        expected = index.search(pipeline.encode(queries), 3)
        assert [int(row["neighbor"]) for row in rows] == expected.neighbor.ravel().tolist()
        rows = rows_of(call(*arguments, "-k", 3, "--float"))
        expected = index.search(pipeline.query(queries), 3)
        assert [int(row["neighbor"]) for row in rows] == expected.neighbor.ravel().tolist()
        rows = rows_of(call(*arguments, "--near"))
        expected = index.within(pipeline.encode(queries), pipeline.radius_)
        assert [int(row["neighbor"]) for row in rows] == expected.neighbor.tolist()
    CodePipeline([("rows", Normalizer().fit(train[0])), *pipeline.steps]).save(path)
    assert "codes of different models cannot be compared" in fails(*arguments)


def test_evaluate_measures_the_pipeline(path, pipeline, folder, new, tmp_path):
    arguments = ("evaluate", path, folder / "new.npy", "--labels", folder / "new_labels.npy", "--peers", "LSH")
    record = json.loads(call(*arguments, "--figure", tmp_path / "e.png", "--json"))
    from proxcode.evaluation import evaluate

    expected = [row._asdict() for row in evaluate(pipeline, *new, peers=["LSH"]).rows]
    for row, reference in zip(record["rows"], expected, strict=True):
        times = {"fit_seconds": None, "encode_ms": None}
        assert row | times == reference | times
    assert record["radius"] == pipeline.radius_
    assert (tmp_path / "e.png").exists()


def test_evaluate_searches_by_the_pipeline(path, pipeline, folder, train, new, tmp_path):
    search = ("--database", folder / "train.npy", "--queries", folder / "new.npy", "--peers", "LSH", "-k", 5)
    record = json.loads(call("evaluate", path, *search, "--figure", tmp_path / "s.png", "--json"))
    from proxcode.evaluation import evaluate_search

    expected = evaluate_search(pipeline, train[0], new[0], peers=["LSH"], k=5).rows
    for row, reference in zip(record["rows"], expected, strict=True):
        assert [row["method"], row["bits"], row["bytes"]] == [reference.method, reference.bits, reference.bytes]
        assert [row["recall"]["5"], row["map"]] == pytest.approx([reference.recall[5], reference.map])
    assert record["read"]["database"]["width"] == 64
    assert (tmp_path / "s.png").exists()


def test_info_lists_the_transformers(path, pipeline):
    facts = json.loads(call("info", path, "--json"))
    assert facts["kind"] == "pipeline"
    assert (facts["bits"], facts["radius"], facts["features"], facts["features of the code"]) == (
        N_BITS,
        pipeline.radius_,
        64,
        16,
    )
    assert facts["transformers"] == (
        "StandardScaler(with_mean=True, with_std=True), PCA(n_components=16, random_state=0)"
    )
    assert facts["scikit-learn version"]


def test_info_of_a_pipeline_imports_nothing_heavy(path):
    import subprocess

    script = (
        "import sys; from proxcode.cli import main\n"
        "main(['info', sys.argv[1]], standalone_mode=False)\n"
        "sys.exit(' '.join(m for m in ('sklearn', 'numba', 'scipy', 'skops') if m in sys.modules) or 0)"
    )
    subprocess.run([sys.executable, "-c", script, path], check=True, capture_output=True)


def test_other_transformers_need_trust(folder, train, new, tmp_path):
    path, name = tmp_path / "m.proxcode", "sklearn.preprocessing._data.RobustScaler"
    pipeline = CodePipeline([("scale", RobustScaler()), ("nothing", "passthrough"), ("code", small_code())]).fit(*train)
    pipeline.save(path)
    np.save(tmp_path / "codes.npy", pipeline.encode(train[0]))
    verbs = {
        "encode": (path, folder / "new.npy", "-o", tmp_path / "c.npy"),
        "search": (tmp_path / "codes.npy", folder / "queries.npy", "--model", path, "-o", tmp_path / "found.csv"),
        "evaluate": (path, folder / "new.npy", "--labels", folder / "new_labels.npy", "--figure", tmp_path / "e.png"),
        "load": (tmp_path / "codes.npy", "postgresql://localhost:1/none", "--table", "t", "--model", path),
    }
    for verb, arguments in verbs.items():
        assert fails(verb, *arguments).endswith(f"pass trusted=['{name}'], on the command line --trust {name}.")
        if verb != "load":
            call(verb, *arguments, "--trust", name)
    search = ("--database", folder / "train.npy", "--queries", folder / "new.npy", "--peers", "", "--figure")
    assert fails("evaluate", path, *search, tmp_path / "s.png").endswith(f"on the command line --trust {name}.")
    call("evaluate", path, *search, tmp_path / "s.png", "--trust", name)
    np.testing.assert_array_equal(np.load(tmp_path / "c.npy"), pipeline.encode(new[0]))
    assert json.loads(call("info", path, "--json"))["transformers"] == f"{name}, passthrough"


def test_a_pipeline_of_texts_is_for_python(folder, tmp_path):
    texts = ["a cat", "the cat", "a dog", "the dog", "one cat", "one dog"] * 5
    steps = [("words", TfidfVectorizer()), ("pca", PCA(2, svd_solver="arpack", random_state=0)), ("code", small_code())]
    pipeline = CodePipeline(steps).fit(texts, [text[-3:] for text in texts])
    pipeline.save(tmp_path / "m.proxcode")
    sentence = fails("encode", tmp_path / "m.proxcode", folder / "new.npy", "-o", tmp_path / "c.npy", "--trust", "x")
    assert sentence.endswith("its samples are not vectors: load it in Python, by proxcode.load.")
    assert json.loads(call("info", tmp_path / "m.proxcode", "--json"))["features"] == "samples are not vectors"


def test_damaged_pipelines_are_named(path, folder, tmp_path):
    path.write_bytes(path.read_bytes()[:-8] + bytes(8))
    for verb in (("info", path), ("encode", path, folder / "new.npy", "-o", tmp_path / "c.npy")):
        assert "was changed after it was written" in fails(*verb)
