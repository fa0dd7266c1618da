"""DaskEngine on a cluster that someone else started, and on one of its own."""

import os
import signal
import time

import pytest
from distributed import Client, LocalCluster

from proxcode.engines import DaskEngine, make_engine


@pytest.fixture(scope="module")
def cluster():
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster:
        yield cluster


def test_a_client_or_an_address_leads_to_the_workers(cluster):
    with Client(cluster) as client:
        workers = set(client.run(os.getpid).values())
        for engine in (DaskEngine(client), DaskEngine(cluster.scheduler_address)):
            with engine:
                assert set(engine.map(lambda task: os.getpid(), range(6))) <= workers
        with make_engine("dask", cluster.scheduler_address) as engine:
            assert list(engine.map(str, range(3))) == ["0", "1", "2"]
        # Engines close what they opened, not the client or the cluster of the caller.
        assert client.submit(abs, -1).result() == 1


@pytest.mark.parametrize("client", [5, b"tcp://127.0.0.1:1"])
def test_what_is_no_client_is_refused(client):
    with pytest.raises(
        TypeError, match=r"^client=.*: expected a distributed\.Client, the address of a scheduler, or None"
    ):
        DaskEngine(client)


def test_a_map_survives_a_worker_that_is_killed(cluster):
    def slow(task):
        time.sleep(0.05)
        return task * task

    with Client(cluster) as client:
        results = DaskEngine(client).map(slow, range(40))
        found = [next(results) for _ in range(5)]
        os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
        assert found + list(results) == [task * task for task in range(40)]


def test_all_workers_have_the_function_before_the_first_task(cluster):
    with Client(cluster) as client:
        client.wait_for_workers(2)
        results = DaskEngine(client).map(str, range(4))
        (workers,) = [held for key, held in client.who_has().items() if key.startswith("loads")]
        assert len(workers) == 2
        assert list(results) == ["0", "1", "2", "3"]


def test_an_abandoned_map_is_cancelled(cluster, tmp_path, monkeypatch):
    def touch(task):
        (tmp_path / str(task)).touch()
        time.sleep(0.1)

    monkeypatch.setattr("proxcode.engines.dask.TASKS_AHEAD", 50)
    with Client(cluster) as client:
        results = DaskEngine(client).map(touch, range(100))
        next(results)
        results.close()
        while any(client.processing().values()):
            time.sleep(0.1)
        assert len(list(tmp_path.iterdir())) < 50


def test_a_dask_engine_listens_on_this_machine_alone():
    with DaskEngine() as engine:
        scheduler = engine.client.cluster.scheduler
        assert scheduler.http_server.port
        assert {host for host, _ in (one.getsockname()[:2] for one in scheduler.http_server._sockets.values())} == {
            "127.0.0.1"
        }


def test_a_function_lost_with_its_only_worker_is_sent_again(tmp_path):
    mark = tmp_path / "killed"

    def killed_once(task):
        if task == 2 and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return task

    with (
        LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address="127.0.0.1:0") as cluster,
        Client(cluster) as client,
    ):
        assert list(DaskEngine(client).map(killed_once, range(12))) == list(range(12))
    assert mark.exists()
