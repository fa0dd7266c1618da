"""All engines keep one contract, and give the bits of a local fit. `make test-engines` installs Ray and Spark."""

import os
import shutil
import signal
import sys
import time
from types import SimpleNamespace

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from proxcode import KernelHash, LinearHash, ProximityPreservingCode, WithinRadius
from proxcode.engines import DaskEngine, RayEngine, SparkEngine
from proxcode.engines._base import TASKS_AHEAD
from proxcode.files import open_samples
from proxcode.utils.engine import Engine
from proxcode.utils.threads import n_cores

N_FILES = 4
# What functions in this file hold is pickled by value, since workers cannot import the file.
ENGINES = {"dask": (DaskEngine, "distributed"), "ray": (RayEngine, "ray"), "spark": (SparkEngine, "pyspark")}


def is_tracker(process):
    try:
        return "resource_tracker" in " ".join(process.cmdline())
    except psutil.Error:
        # It has ended; its parent may not know it yet.
        return False


@pytest.fixture(scope="module", params=ENGINES)
def engine(request):
    """Return an engine with workers on this machine; closed, it leaves no process behind."""
    make, library = ENGINES[request.param]
    pytest.importorskip(library, reason=f"{library} is not installed: make test-engines")
    if library == "pyspark" and not (shutil.which("java") or os.environ.get("JAVA_HOME")):
        pytest.skip("Spark needs Java: install default-jre-headless")
    before = set(psutil.Process().children(recursive=True))
    with pytest.MonkeyPatch.context() as monkeypatch:
        # Ray reports its use to its makers unless told otherwise.
        monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        with make() as engine:
            yield engine
            begun = set(psutil.Process().children(recursive=True)) - before
            # Python's own tracker of shared memory ends with this process.
            trackers = set(filter(is_tracker, begun))
    assert begun
    _, alive = psutil.wait_procs(begun - trackers, timeout=60)
    assert not alive


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 10, 20_000)
    return (rng.normal(size=(10, 32))[y] + rng.normal(size=(len(y), 32))).astype(np.float32), y


@pytest.fixture(scope="module")
def files(data, tmp_path_factory):
    """Return files of 5,000 rows each, in two formats."""
    folder, paths = tmp_path_factory.mktemp("vectors"), []
    for k, part in enumerate(np.split(data[0], N_FILES)):
        paths.append(folder / f"{k}.{'parquet' if k % 2 else 'npy'}")
        if k % 2:
            lists = pa.FixedSizeListArray.from_arrays(pa.array(part.ravel()), part.shape[1])
            pq.write_table(pa.table({"vector": lists}), paths[-1], row_group_size=2000)
        else:
            np.save(paths[-1], part)
    return paths


@pytest.fixture(autouse=True)
def several_pieces(monkeypatch):
    monkeypatch.setattr("proxcode.utils.samples.PIECE", 3000)


# Parameters of the model, and the number of files it is fitted to.
CASES = {
    "labels": ({"n_bits": 16, "hash_function": KernelHash(n_landmarks=300)}, N_FILES),
    "linear": ({"n_bits": 16, "hash_function": LinearHash()}, N_FILES),
    "radius": ({"n_bits": 4, "hash_function": KernelHash(300), "proximity": WithinRadius(mean_neighbors=20)}, 1),
    "top-k": ({"n_bits": 16}, 1),
}
local_models = {}


def fitted(case, X, y):
    parameters, _ = CASES[case]
    return ProximityPreservingCode(random_state=0, **parameters).fit(X, y)


def check_fit(case, engine, data, files):
    """Fit a model through an engine; its bits are those of the local model."""
    n_files = CASES[case][1]
    n = n_files * len(data[0]) // N_FILES
    X, y = data[0][:n], data[1][:n] if case in {"labels", "linear"} else None
    if case not in local_models:
        local_models[case] = fitted(case, X, y)
    local = local_models[case]
    samples = open_samples(files[:n_files], engine=engine)
    model = fitted(case, samples, y)
    np.testing.assert_array_equal(model.codes_, local.codes_)
    np.testing.assert_array_equal(model.encode(samples), local.encode(X))
    np.testing.assert_array_equal(model.scores(X), local.scores(X))
    assert model.alpha_ == local.alpha_
    assert model.training_loss_ == local.training_loss_


@pytest.mark.parametrize("case", CASES)
def test_a_model_has_the_bits_of_a_local_fit(case, engine, data, files):
    check_fit(case, engine, data, files)


def test_results_come_in_the_order_of_the_tasks(engine):
    n = 4 * TASKS_AHEAD * n_cores() + 1

    def slow_at_first(task):
        time.sleep(0.3 if task == 0 else 0)
        return task, np.full(3, task)

    results = list(engine.map(slow_at_first, range(n)))
    assert [task for task, _ in results] == list(range(n))
    np.testing.assert_array_equal([values for _, values in results], np.arange(n)[:, None] + np.zeros(3))
    assert list(engine.map(slow_at_first, [])) == []


def test_the_function_is_sent_to_each_worker_once(engine, tmp_path):
    class Counted:
        def __init__(self, folder):
            self.folder = folder

        def __setstate__(self, state):
            self.__dict__ = state
            (self.folder / f"{os.getpid()}-{time.time_ns()}").touch()

        def __call__(self, task):
            time.sleep(0.01)
            return os.getpid()

    workers = set(engine.map(Counted(tmp_path), range(40)))
    unpickled = [int(path.name.split("-")[0]) for path in tmp_path.iterdir()]
    assert workers <= set(unpickled)
    assert os.getpid() not in workers
    assert len(unpickled) == len(set(unpickled))


def test_few_tasks_are_begun_ahead(engine, tmp_path):
    def touch(task):
        (tmp_path / str(task)).touch()
        return task

    n_ahead = TASKS_AHEAD * max(2, n_cores()) + 1
    results = engine.map(touch, range(10 * n_ahead))
    assert next(results) == 0
    time.sleep(0.2)
    assert len(list(tmp_path.iterdir())) <= n_ahead
    results.close()


def test_errors_of_tasks_reach_the_caller(engine, files, tmp_path):
    def refuse(task):
        if task == 3:
            raise ValueError("task=3: expected another number.")
        return task

    results = engine.map(refuse, range(20))
    assert [next(results) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(ValueError, match=r"^task=3: expected another number\.$") as caught:
        next(results)
    assert type(caught.value) is ValueError
    assert list(engine.map(str, range(3))) == ["0", "1", "2"]

    (tmp_path / "copy.npy").write_bytes(files[0].read_bytes())
    samples = open_samples(tmp_path, engine=engine)
    (tmp_path / "copy.npy").unlink()
    with pytest.raises(FileNotFoundError, match=r"there is no file .*copy\.npy"):
        ProximityPreservingCode(8).fit(samples)


class Deadly(Engine):
    """Another engine, one worker of which is killed in the second task of the second map."""

    def __init__(self, engine, folder):
        self.engine, self.folder, self.n_maps = engine, folder, 0

    def map(self, function, tasks):
        self.n_maps += 1
        mark = self.folder / "killed"

        def killed_once(numbered):
            number, task = numbered
            if number == 1 and not mark.exists():
                mark.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return function(task)

        if self.n_maps == 2:
            return self.engine.map(killed_once, list(enumerate(tasks)))
        return self.engine.map(function, tasks)


def test_a_fit_survives_the_death_of_a_worker(engine, data, files, tmp_path):
    check_fit("linear", Deadly(engine, tmp_path), data, files)
    assert (tmp_path / "killed").exists()


def test_what_is_no_address_and_no_session_is_refused(monkeypatch):
    """The libraries are stand-ins: what is refused reaches neither of them."""
    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace())
    monkeypatch.setitem(sys.modules, "pyspark.sql", SimpleNamespace(SparkSession=type("SparkSession", (), {})))
    with pytest.raises(TypeError, match=r"^address=5: expected the address of a cluster as a string, or None\.$"):
        RayEngine(5)
    with pytest.raises(TypeError, match=r"^session=5: expected a SparkSession, the address of a master, or None\.$"):
        SparkEngine(5)
