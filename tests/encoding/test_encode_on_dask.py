"""Codes of many files on a Dask cluster: the same bytes, also where a worker dies."""

import os
import re
import signal

import numpy as np
import pyarrow.parquet as pq
import pytest

from proxcode import KernelHash, ProximityPreservingCode, encode_files
from proxcode.engines import DaskEngine
from proxcode.utils.engine import Engine

distributed = pytest.importorskip("distributed")

N_FILES, N_ROWS = 8, 10_000


@pytest.fixture(scope="module")
def client():
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        yield client


@pytest.fixture(scope="module", name="X")
def samples():
    return np.random.default_rng(0).standard_normal((N_FILES * N_ROWS, 6)).astype(np.float32)


@pytest.fixture(scope="module")
def model(X):
    hash_function = KernelHash(n_landmarks=50)
    return ProximityPreservingCode(16, hash_function=hash_function, random_state=0).fit(X[:300], X[:300, 0] > 0)


@pytest.fixture(scope="module")
def vectors(tmp_path_factory, X):
    folder = tmp_path_factory.mktemp("vectors")
    for k, part in enumerate(np.split(X, N_FILES)):
        np.save(folder / f"{k}.npy", part)
    np.save(folder / "narrow.npy", X[:5, :2])
    return folder


class Deadly(Engine):
    """Kills a worker in the middle of a task when the first result arrives."""

    def __init__(self, client):
        self.client = client

    def map(self, function, tasks):
        def slowly(task):
            import time

            time.sleep(0.2)
            return function(task)

        pids = self.client.run(os.getpid)
        for k, result in enumerate(DaskEngine(self.client).map(slowly, tasks)):
            if k == 0:
                busy = [address for address, keys in self.client.processing().items() if keys]
                os.kill(pids[busy[0]], signal.SIGKILL)
            yield result


def check(encoded, model, X):
    assert [path.name for path in encoded.failed] == ["narrow.npy"]
    assert (len(encoded.outputs), encoded.rows) == (N_FILES, len(X))
    for path, part in zip(encoded.outputs, np.split(X, N_FILES), strict=True):
        table = pq.read_table(path)
        assert b"".join(table["code"].to_pylist()) == model.encode(part).tobytes()
        np.testing.assert_array_equal(table["row"], np.arange(N_ROWS))
    left = [path.name for path in encoded.manifest.parent.iterdir() if path.name.startswith(".")]
    assert left == []


def test_files_are_those_of_this_process(client, model, X, vectors, tmp_path):
    encoded = encode_files(model, vectors, tmp_path / "codes", engine=DaskEngine(client))
    check(encoded, model, X)
    content = {path.name: path.read_bytes() for path in (tmp_path / "codes").iterdir()}
    # The manifest holds the digests of all files, and no name of the folder.
    encode_files(model, vectors, tmp_path / "here")
    assert content == {path.name: path.read_bytes() for path in (tmp_path / "here").iterdir()}
    assert encode_files(model, vectors, tmp_path / "codes", engine=DaskEngine(client)).n_kept == N_FILES


@pytest.mark.skipif(os.name != "posix", reason="signals are POSIX's")
def test_a_worker_that_dies_loses_no_file(client, model, X, vectors, tmp_path):
    check(encode_files(model, vectors, tmp_path / "codes", engine=Deadly(client)), model, X)


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "nonsense://1", "tcp://"])
def test_a_scheduler_that_does_not_answer_is_named(address):
    import dask

    with (
        dask.config.set({"distributed.comm.timeouts.connect": "1s"}),
        pytest.raises(
            ConnectionError, match=rf"^the scheduler '{re.escape(address)}' does not answer: start it, or check"
        ),
    ):
        DaskEngine(address)
