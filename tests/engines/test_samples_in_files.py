"""Samples in files: the same rows, sums, codes and models as arrays in memory, on any engine."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from proxcode import KernelHash, LinearHash, ProximityPreservingCode, SVMHash, WithinRadius
from proxcode.engines import make_engine
from proxcode.files import open_samples
from proxcode.utils.engine import Engine
from proxcode.utils.samples import InMemory


class Reversed(Engine):
    """Computes all tasks in reverse order, from pickled copies whose arrays are read-only, as a cluster may."""

    def map(self, function, tasks):
        import cloudpickle

        buffers = []
        pickled = cloudpickle.dumps((function, list(tasks)), protocol=5, buffer_callback=buffers.append)
        function, tasks = cloudpickle.loads(pickled, buffers=[bytes(buffer.raw()) for buffer in buffers])
        results = [function(task) for task in reversed(tasks)]
        yield from reversed(results)


@pytest.fixture(name="X")
def samples_in_memory():
    return np.random.default_rng(0).standard_normal((1000, 12)).astype(np.float32)


@pytest.fixture
def y(X):
    return (X[:, 0] > 0).astype(int) + 2 * (X[:, 1] > 0)


@pytest.fixture
def folder(tmp_path, X):
    """Return a folder with the rows of X in three files of different formats and sizes."""
    np.save(tmp_path / "a.npy", X[:300])
    lists = pa.FixedSizeListArray.from_arrays(pa.array(X[300:700].ravel()), X.shape[1])
    pq.write_table(pa.table({"id": np.arange(400), "vector": lists}), tmp_path / "b.parquet", row_group_size=150)
    np.save(tmp_path / "c.npy", X[700:])
    (tmp_path / "notes.txt").write_text("not vectors")
    (tmp_path / ".hidden.npy").write_bytes(b"being written")
    return tmp_path


def small_pieces(monkeypatch):
    monkeypatch.setattr("proxcode.utils.samples.PIECE", 128)


@pytest.mark.parametrize("source", ["", "*.*[yt]", ["a.npy", "b.parquet", "c.npy"]])
def test_rows_are_those_of_the_files(source, folder, X):
    if source == "*.*[yt]":
        (folder / "notes.txt").unlink()
    samples = open_samples([folder / name for name in source] if isinstance(source, list) else folder / source)
    assert samples.shape == X.shape
    assert samples.dtype == np.float32
    for rows in [slice(None), slice(250, 750), slice(300, 700), slice(990, 2000), slice(5, 5), slice(-3, None)]:
        np.testing.assert_array_equal(samples[rows], X[rows])
    for rows in [[0], [999], [699, 3, 700, 3], np.arange(0, 1000, 7), X[:, 0] > 1, np.empty(0, int)]:
        np.testing.assert_array_equal(samples[np.asarray(rows)], X[np.asarray(rows)])
    selected = samples.select(np.arange(1, 1000, 3))
    np.testing.assert_array_equal(selected[50:300], X[1::3][50:300])
    assert samples.place(700) == (folder / "c.npy", 0)


def test_an_arrow_dataset_stands_for_its_files(folder, X):
    import pyarrow.dataset

    dataset = pyarrow.dataset.dataset(folder / "b.parquet")
    np.testing.assert_array_equal(open_samples(dataset)[:], X[300:700])
    np.testing.assert_array_equal(open_samples(dataset, columns="id")[:3], [[0], [1], [2]])


@pytest.mark.parametrize("engine", [None, Reversed()])
def test_sums_and_maps_equal_those_of_an_array(engine, folder, X, monkeypatch):
    small_pieces(monkeypatch)
    samples = open_samples(folder, engine=engine)

    def sums(block, numbers):
        return block.T @ block, (block * numbers[:, None]).sum(axis=0)

    along = (np.arange(1000),)
    for ours, theirs in zip(samples.sum(sums, 50, along), InMemory(X).sum(sums, 50, along), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_allclose(samples.sum(sums, 50, along)[0], X.T.astype(float) @ X, rtol=1e-4, atol=1e-3)
    found = list(samples.map(lambda block: block[:, 0].copy(), 50))
    assert [rows.start for rows, _ in found][:5] == [0, 50, 100, 128, 178]
    np.testing.assert_array_equal(np.concatenate([block for _, block in found]), X[:, 0])


HASHES = [KernelHash(n_landmarks=100), LinearHash(), SVMHash(), KernelHash(n_landmarks=100, refine_steps=0)]


@pytest.mark.parametrize("hash_function", HASHES, ids=["kernel", "linear", "svm", "unrefined"])
@pytest.mark.parametrize("near", ["labels", "radius", "top-k"])
def test_a_model_of_files_equals_one_of_an_array(near, hash_function, folder, X, y, monkeypatch):
    small_pieces(monkeypatch)
    labels = y if near == "labels" else None
    parameters = {"hash_function": None if near == "top-k" else hash_function, "random_state": 0}
    if near == "radius":
        parameters["proximity"] = WithinRadius(mean_neighbors=20)
    local = ProximityPreservingCode(8, **parameters).fit(X, labels)
    samples = open_samples(folder, engine=Reversed())
    model = ProximityPreservingCode(8, **parameters).fit(samples, labels)
    np.testing.assert_array_equal(model.codes_, local.codes_)
    np.testing.assert_array_equal(model.encode(samples), local.encode(X))
    np.testing.assert_array_equal(model.scores(X), local.scores(X))
    assert model.alpha_ == local.alpha_
    np.testing.assert_array_equal(model.extend(8, samples, labels).codes_, local.codes_)


def test_samples_without_labels_take_no_part(folder, X, y, monkeypatch):
    small_pieces(monkeypatch)
    labels = np.where(np.arange(1000) % 3 == 0, None, y.astype(object))
    models = [ProximityPreservingCode(8, random_state=0).fit(some, labels) for some in (X, open_samples(folder))]
    np.testing.assert_array_equal(models[0].codes_, models[1].codes_)


def test_large_units_are_divided_out(tmp_path, X, y):
    np.save(tmp_path / "large.npy", (X * np.float32(1e16)))
    samples = open_samples(tmp_path / "large.npy")
    models = [ProximityPreservingCode(8, random_state=0).fit(some, y) for some in (samples[:], samples)]
    np.testing.assert_array_equal(models[0].codes_, models[1].codes_)


def test_checkpoints_know_samples_in_files(folder, X, y, tmp_path):
    samples, path = open_samples(folder), tmp_path / "checkpoint"
    model = ProximityPreservingCode(8, random_state=0).fit(samples, y, checkpoint=path)
    again = ProximityPreservingCode(8, random_state=0).fit(open_samples(folder), y, checkpoint=path)
    np.testing.assert_array_equal(model.codes_, again.codes_)
    np.save(folder / "c.npy", X[700:] + 1)
    with pytest.raises(ValueError, match="different X"):
        ProximityPreservingCode(8, random_state=0).fit(open_samples(folder), y, checkpoint=path)


def test_bad_files_are_refused(folder, X, tmp_path):
    with pytest.raises(ValueError, match=r"d\.npy has 3 features, but .*a\.npy has 12"):
        np.save(folder / "d.npy", X[:5, :3])
        open_samples(folder)
    X[5, 3] = np.nan
    np.save(folder / "d.npy", X[:50])
    model = ProximityPreservingCode(8)
    with pytest.raises(ValueError, match=r"first nan in row 1005 \(row 5 of .*d\.npy\), column 3: drop these rows"):
        model.fit(open_samples(folder))
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match="has no file of vectors"):
        open_samples(tmp_path / "empty")
    with pytest.raises(ValueError, match="the list of files is empty"):
        open_samples([])
    with pytest.raises(FileNotFoundError, match="there is no file"):
        open_samples(tmp_path / "nowhere.npy")
    with pytest.raises(ValueError, match="expects 12: choose columns"):
        ProximityPreservingCode(8).fit(np.nan_to_num(X), X[:, 0] > 0).score(open_samples(folder / "a.npy", drop=[0]))


def test_engines_have_names():
    with pytest.raises(ValueError, match=r"^name='mpi': expected one of local, dask, ray, spark"):
        make_engine("mpi")
    with pytest.raises(
        ValueError, match=r"^engine 'local' takes no address, but 'tcp://127\.0\.0\.1:8786' is given: choose"
    ):
        make_engine("local", "tcp://127.0.0.1:8786")
    with make_engine("local") as engine:
        assert list(engine.map(str, [1, 2])) == ["1", "2"]


def test_rows_that_do_not_exist_are_refused(folder, X):
    samples = open_samples(folder)
    np.testing.assert_array_equal(samples[np.array([-1, 5])], X[[-1, 5]])
    np.testing.assert_array_equal(samples[::7], X[::7])
    np.testing.assert_array_equal(samples[::-1], X[::-1])
    for rows in [[0, 1000], [-1001], np.ones(8, bool), [0.5], 3]:
        with pytest.raises(IndexError, match="expected"):
            samples[rows]


def test_files_without_rows_are_left_out(folder, X):
    np.save(folder / "b0.npy", X[:0])
    pq.write_table(pq.read_table(folder / "b.parquet").slice(0, 0), folder / "b1.parquet")
    np.testing.assert_array_equal(open_samples(folder)[:], X)
    with pytest.raises(ValueError, match="expected at least one row"):
        open_samples(folder / "b0.npy")


def test_columns_in_another_order_are_refused(tmp_path):
    for name, columns in (("a", ["x", "y"]), ("b", ["y", "x"])):
        pq.write_table(pa.table({column: [1.0, 2.0] for column in columns}), tmp_path / f"{name}.parquet")
        (tmp_path / f"{name}.csv").write_text(",".join(columns) + "\n1,2\n")
    for suffix in ("parquet", "csv"):
        with pytest.raises(ValueError, match=rf"b\.{suffix} are y, x, but those of .*a\.{suffix} x, y: choose columns"):
            open_samples(tmp_path / f"*.{suffix}")
        assert open_samples(tmp_path / f"*.{suffix}", columns=["x", "y"]).shape[1] == 2


@pytest.mark.parametrize("n_rows", [0, 1, 200, 299])
@pytest.mark.parametrize("suffix", ["npy", "csv"])
def test_a_file_that_shrinks_is_noticed(n_rows, suffix, tmp_path, X):
    path = tmp_path / f"a.{suffix}"

    def write(rows):
        if suffix == "npy":
            np.save(path, rows)
        else:
            np.savetxt(path, rows, delimiter=",")

    write(X[:300])
    samples = open_samples(path)
    write(X[:n_rows])
    for rows in [slice(0, 300), np.array([0, 299])]:
        with pytest.raises(ValueError, match=r"has changed since it was opened|at least one row|is empty|has no rows"):
            samples[rows]


def test_encoding_checks_what_it_is_given(folder, X, y):
    from sklearn.exceptions import NotFittedError

    samples = open_samples(folder)
    with pytest.raises(NotFittedError):
        ProximityPreservingCode(8).encode(samples)
    model = ProximityPreservingCode(8, hash_function=LinearHash(), random_state=0).fit(X, y)
    for n_bits in (-8, 9):
        with pytest.raises(ValueError, match=f"n_bits={n_bits}: expected an integer from 1 to 8"):
            model.encode(samples, n_bits)
    np.testing.assert_array_equal(model.encode(samples, 3), model.encode(X, 3))
    X[7, 2] = np.inf
    np.save(folder / "d.npy", X[:50])
    with pytest.raises(ValueError, match=r"first inf in row 1007 \(row 7 of .*d\.npy\), column 2"):
        model.encode(open_samples(folder))


def test_wide_samples_have_smaller_pieces(tmp_path, monkeypatch):
    monkeypatch.setattr("proxcode.utils.samples.PIECE_VALUES", 2**14)
    monkeypatch.setattr("proxcode.utils.samples.PIECE_UNIT", 64)
    X = np.random.default_rng(0).normal(size=(500, 100))
    found = list(InMemory(X).map(len, 10_000))
    assert [rows.start for rows, _ in found] == [0, 128, 256, 384]


def test_a_limit_of_samples_in_the_regression(monkeypatch):
    """Samples beyond the limit are those of no pair, and `extend` gives the bits of one fit."""
    monkeypatch.setattr("proxcode.pairs.labels.MAX_CANDIDATES", 300)
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, 3000)
    X = (3 * rng.normal(size=(4, 10))[y] + rng.normal(size=(3000, 10))).astype(np.float32)
    parameters = {"hash_function": KernelHash(n_landmarks=50, max_samples=1000), "max_samples": 300, "random_state": 0}
    model = ProximityPreservingCode(8, **parameters).fit(X, y)
    extended = ProximityPreservingCode(4, **parameters).fit(X, y).extend(8, X, y)
    np.testing.assert_array_equal(model.codes_, extended.codes_)
    whole = ProximityPreservingCode(8, **{**parameters, "hash_function": KernelHash(n_landmarks=50)}).fit(X, y)
    assert (model.hash_function_.coef_ != whole.hash_function_.coef_).any()
    assert model.score(X[:500], y[:500]) > 0.95
