"""ClickHouseStore on the engine of chdb: what it records and refuses, hostile input, large batches, HTTP, shards."""

import asyncio

import numpy as np
import pytest

from helpers.clickhouse_server import http_server
from helpers.codes import random_codes
from proxcode.search import HammingIndex
from proxcode.stores import ClickHouseStore

HOSTILE = [
    "a`b",
    "a``b",
    "`",
    "a\\",
    "a\\`; DROP TABLE victim; --",
    "victim; DROP TABLE victim",
    "a'b",
    '"victim"',
    "`victim`",
    "x) ENGINE = Null --",
    "a -- b",
    "/* a */",
    "a.b",
    "default.victim",
    "{q0:String}",
    "{ids:Array(Int64)}",
    "%(q0)s %s %",
    "$q0$",
    "a\nFORMAT Null",
    "a\tb\rc",
    "a;",
    "SELECT",
    "*",
    "é 漢 🙂",
    "x' OR '1'='1",
    "\\N",
    "1 OR 1",
]


@pytest.fixture
def tables(clickhouse):
    """Return the client in a database of its own, with a table that hostile input may want to drop."""
    clickhouse.command("CREATE DATABASE of_test")
    clickhouse.database = "of_test"
    ClickHouseStore(clickhouse, "victim", 16).add(np.zeros((3, 2), np.uint8))
    yield clickhouse
    clickhouse.database = "default"
    clickhouse.command("DROP DATABASE of_test")


def assert_unharmed(client, n_tables=1):
    assert len(ClickHouseStore(client, "victim")) == 3
    assert client.command("SELECT count() FROM system.tables WHERE database = 'of_test'") == n_tables


def assert_same_as_index(store, codes, ids, queries, k, radius):
    index = HammingIndex(store.n_bits).add(codes, ids)
    np.testing.assert_array_equal(store.search(queries, k).distance, index.search(queries, k).distance)
    for found, expected in zip(store.within(queries, radius), index.within(queries, radius), strict=True):
        np.testing.assert_array_equal(found.distance, expected.distance)
        np.testing.assert_array_equal(np.sort(found.neighbor), np.sort(expected.neighbor))


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_names(tables, name):
    codes = np.array([[0, 0], [0, 7], [255, 255]], np.uint8)
    for table in (name, ("of_test", name)):
        store = ClickHouseStore(tables, table, 16, id_column=name + "1", code_column=name, model=name)
        store.add(codes, ids=[1, -2, 3]).remove([3])
        again = ClickHouseStore(tables, table, id_column=name + "1", code_column=name)
        assert again.fingerprint == name
        assert again.search(codes[:1], 5).neighbor.tolist() == [[1, -2]]
        assert again.within(codes[:1], 2)[0].neighbor.tolist() == [1]
        assert again.get([-2]).tolist() == [[0, 7]]
        again.remove([1, -2])
    assert_unharmed(tables, 2)


@pytest.mark.parametrize("value", HOSTILE)
def test_hostile_filters_are_values(tables, value):
    store = ClickHouseStore(tables, "codes", 8).add(np.zeros((2, 1), np.uint8))
    tables.command(f"ALTER TABLE codes ADD COLUMN text String DEFAULT if(id = 1, unhex('{value.encode().hex()}'), 'x')")
    query = np.zeros((1, 1), np.uint8)
    for where in ({"text": value}, {"text": [value]}, {"text": ["y", value]}):
        assert store.search(query, where=where).neighbor.tolist() == [[1]]
        assert store.within(query, 0, where=where)[0].neighbor.tolist() == [1]
    if value != "text":
        with pytest.raises(ValueError, match=r"^where has .*: expected names of columns of table 'codes'\.$"):
            store.search(query, where={value: "x"})
    assert_unharmed(tables, 2)


@pytest.mark.parametrize("ids", [["1) OR 1"], ["1; DROP TABLE victim"], [None], [b"1"], [{"a": 1}], [1.5], "1"])
def test_hostile_ids_are_refused(tables, ids):
    store = ClickHouseStore(tables, "victim")
    for call in (store.remove, store.get, lambda ids: store.add(np.zeros((1, 2), np.uint8), ids)):
        with pytest.raises(ValueError, match=r"^ids has dtype"):
            call(ids)
    assert_unharmed(tables)


def test_filters_of_all_types(tables):
    tables.command(
        "CREATE TABLE codes (id Int64, code FixedString(1), language LowCardinality(String), year UInt16, day Date, "
        "price Nullable(Float64), large UInt64, is_new Bool) ENGINE = MergeTree ORDER BY id"
    )
    tables.command(
        "INSERT INTO codes SELECT number, char(number), if(number % 2, 'en', 'de'), 2020 + number, "
        "toDate('2024-01-01') + number, if(number = 3, NULL, number / 2), 18446744073709551615 - number, number > 4 "
        "FROM numbers(8)"
    )
    store = ClickHouseStore(tables, "codes", 8)
    for where, expected in (
        ({"language": "en"}, [1, 3, 5, 7]),
        ({"language": "en", "year": [2021, np.int64(2022), 2025]}, [1, 5]),
        ({"day": "2024-01-03"}, [2]),
        ({"price": None}, [3]),
        ({"price": 0.5}, [1]),
        ({"price": [0.5, 1.0]}, [1, 2]),
        ({"large": 2**64 - 1}, [0]),
        ({"is_new": True}, [5, 6, 7]),
        ({"year": []}, []),
        ({"year": -1}, []),
        ({}, list(range(8))),
    ):
        assert sorted(store.within(np.zeros((1, 1), np.uint8), 8, where=where)[0].neighbor.tolist()) == expected
        assert sorted(store.search(np.zeros((1, 1), np.uint8), 8, where=where).neighbor[0].tolist()) == expected
        filtered = store.filtered(where)
        assert sorted(filtered.search(np.zeros((1, 1), np.uint8), 8).neighbor[0].tolist()) == expected
        assert sorted(filtered.within(np.zeros((1, 1), np.uint8), 8)[0].neighbor.tolist()) == expected
    both = store.filtered({"language": "en"}).filtered({"is_new": True})
    assert sorted(both.search(np.zeros((1, 1), np.uint8), 8).neighbor[0].tolist()) == [5, 7]
    with pytest.raises(ValueError, match=r"^where has 'is_new', which another filter has already: pass all its values"):
        both.search(np.zeros((1, 1), np.uint8), where={"is_new": False})
    for where, error, message in (
        ({"year": object()}, TypeError, r"^where\['year'\]=.*: expected a string, a number"),
        ({"year": b"12"}, TypeError, r"^where\['year'\]=b'12': expected a string, a number"),
        ({"year": bytearray(b"1")}, TypeError, r"^where\['year'\]=bytearray\(b'1'\): expected a string, a number"),
        ({"year": [2020, "a"]}, TypeError, r"^where\['year'\]=\[2020, 'a'\]: expected values of one type\.$"),
        ({"year": 2**64}, ValueError, r"^where\['year'\]=18446744073709551616: expected an integer of at most 64 bits"),
        ({7: 1}, TypeError, r"^name=7: expected the name of a table or column"),
    ):
        with pytest.raises(error, match=message):
            store.search(np.zeros((1, 1), np.uint8), where=where)


def test_a_table_is_opened_with_what_it_records(tables):
    ClickHouseStore(tables, ("of_test", "codes"), 12, model="a" * 64).add(np.zeros((2, 2), np.uint8))
    for store in (ClickHouseStore(tables, "codes"), ClickHouseStore(tables, "codes", 12, model="a" * 64)):
        assert repr(store) == "ClickHouseStore(n_bits=12), 2 codes"
        assert store.fingerprint == "a" * 64
    tables.command("CREATE TABLE other (id UInt64, text String) ENGINE = MergeTree ORDER BY id")
    tables.command("CREATE TABLE plain (id Int64, code FixedString(2) COMMENT 'ours') ENGINE = MergeTree ORDER BY id")
    for call, message in (
        (
            lambda: ClickHouseStore(tables, "codes", 16),
            r"^n_bits=16: the codes of table 'codes' are FixedString\(2\) for n_bits=12; pass their n_bits or another",
        ),
        (
            lambda: ClickHouseStore(tables, "codes", model="b" * 64),
            r"^the stored codes are of the model aaaaaaaaaaaa, ",
        ),
        (
            lambda: ClickHouseStore(tables, "codes", 12, model="b" * 64),
            r"^the stored codes are of the model aaaaaaaaaa",
        ),
        (lambda: ClickHouseStore(tables, "absent"), r"^table 'absent' does not exist: pass n_bits to create it\.$"),
        (lambda: ClickHouseStore(tables, "plain"), r"^table 'plain' does not record the code length: pass n_bits\.$"),
        (
            lambda: ClickHouseStore(tables, "plain", 17),
            r"^n_bits=17: the codes of table 'plain' are FixedString\(2\); ",
        ),
        (lambda: ClickHouseStore(tables, "other", 16), r"^column 'id' of table 'other' is UInt64: expected Int64\.$"),
        (
            lambda: ClickHouseStore(tables, "plain", 16, code_column="bits"),
            r"^column 'bits' of table 'plain' is missing: expected FixedString\.$",
        ),
        (lambda: ClickHouseStore(tables, ""), r"^name='': expected the name of a table or column, not empty"),
        (lambda: ClickHouseStore(tables, "a\0b", 8), r"^name='a\\x00b': expected the name of a table or column"),
    ):
        with pytest.raises(ValueError, match=message):
            call()
    store = ClickHouseStore(tables, "plain", 16, model="c" * 64).add(np.zeros((1, 2), np.uint8))
    assert store.fingerprint == "c" * 64
    assert ClickHouseStore(tables, "plain", 16).fingerprint is None
    with pytest.raises(TypeError, match=r"^table=\('a', 'b', 'c'\): expected a name, or a tuple of the names"):
        ClickHouseStore(tables, ("a", "b", "c"), 8)
    for client in (None, asyncio):
        with pytest.raises(TypeError, match=r"^client=.*: expected a client of clickhouse_connect\.get_client\(\)\.$"):
            ClickHouseStore(client, "codes")


def test_a_damaged_record_is_refused(tables):
    for comment, message in (
        ('{"proxcode": {"n_bits": "16", "model": null}}', r"^the record of the stored codes has n_bits='16': exp"),
        ('{"proxcode": {"n_bits": 16, "model": 7}}', r"^its model is 7, not a fingerprint"),
    ):
        tables.command(f"ALTER TABLE victim COMMENT COLUMN code '{comment}'")
        with pytest.raises(ValueError, match=message):
            ClickHouseStore(tables, "victim")
    tables.command("ALTER TABLE victim COMMENT COLUMN code '[1]'")
    assert len(ClickHouseStore(tables, "victim", 16)) == 3


def test_an_addition_is_stored_as_a_whole_or_not_at_all(tables):
    n = 2_500_000
    store = ClickHouseStore(tables, "codes", 8)
    tables.command(f"ALTER TABLE codes ADD CONSTRAINT small CHECK id < {n - 1}")
    codes = np.zeros((n, 1), np.uint8)
    with pytest.raises(Exception, match="VIOLATED_CONSTRAINT"):
        store.add(codes)
    assert len(store) == 0
    assert len(store.add(codes[1:])) == n - 1
    parts = tables.command("SELECT groupArray((rows, level)) FROM system.parts WHERE table = 'codes' AND active")
    assert parts == f"[({n - 1},0)]"


def test_removed_codes_may_be_added_again(tables):
    store = ClickHouseStore(tables, "codes", 8)
    for _ in range(3):
        assert len(store.add(np.zeros((2, 1), np.uint8), ids=[1, 2])) == 2
        assert len(store.remove([1, 2])) == 0


def test_a_repeated_request_is_stored_once(tables, monkeypatch):
    store = ClickHouseStore(tables, "codes", 8)
    insert = tables.raw_insert
    monkeypatch.setattr(tables, "raw_insert", lambda *args, **kwargs: [insert(*args, **kwargs) for _ in range(2)])
    assert len(store.add(np.zeros((2, 1), np.uint8))) == 2
    assert len(store.add(np.zeros((2, 1), np.uint8))) == 4


@pytest.mark.parametrize("n_bits", [1, 8, 63, 64, 65, 128, 1000, 1024])
def test_many_ids_queries_and_duplicates(tables, rng, n_bits):
    codes = random_codes(rng, 9000, n_bits, 20)
    ids = rng.permutation(9000) * 10**15 - 4 * 10**18
    ids[[0, 1]] = np.iinfo(np.int64).min, np.iinfo(np.int64).max
    store = ClickHouseStore(tables, "codes", n_bits).add(codes[:10], ids[:10]).add(codes[10:], ids[10:])
    np.testing.assert_array_equal(store.get(ids[::-1]), codes[::-1])
    assert_same_as_index(store, codes, ids, codes[:230], 7, n_bits // 10)
    with pytest.raises(ValueError, match=rf"^id {ids[9]} is already stored"):
        store.add(codes[:2], ids=[5, ids[9]])
    store.remove(ids[3:])
    assert_same_as_index(store, codes[:3], ids[:3], codes[:5], 7, n_bits)
    with pytest.raises(ValueError, match=r"^ids=None: the largest stored id is 9223372036854775807"):
        store.add(codes[:1])


def test_large_k_is_found_in_smaller_batches(tables, rng, monkeypatch):
    codes = random_codes(rng, 500, 24, 5)
    store = ClickHouseStore(tables, "codes", 24).add(codes)
    monkeypatch.setattr("proxcode.stores.clickhouse.MAX_HELD", 1200)
    assert_same_as_index(store, codes, np.arange(500), codes[:9], 10**9, 24)
    monkeypatch.setattr("proxcode.stores.clickhouse.MAX_K", 400)
    with pytest.raises(ValueError, match=r"^k=500: expected at most 400, the limit of ClickHouse\.$"):
        store.search(codes[:1], 10**9)


def test_shards_are_searched_as_one_table(tables, rng):
    """Both shards are this process, which reads the same table: every code is found twice."""
    codes = random_codes(rng, 50, 24, 5)
    ClickHouseStore(tables, "codes", 24, model="a" * 64).add(codes)
    tables.command("CREATE TABLE everywhere AS remote('127.0.0.1,127.0.0.1', 'of_test', 'codes')")
    store = ClickHouseStore(tables, "everywhere")
    assert (len(store), store.fingerprint) == (100, "a" * 64)
    index = HammingIndex(24).add(codes)
    np.testing.assert_array_equal(
        store.search(codes[:7], 20).distance, index.search(codes[:7], 10).distance.repeat(2, 1)
    )
    found, expected = store.within(codes[:7], 3), index.within(codes[:7], 3)
    np.testing.assert_array_equal(found.distance, expected.distance.repeat(2))
    np.testing.assert_array_equal(np.sort(found[2].neighbor), np.sort(expected[2].neighbor.repeat(2)))


def test_the_http_client_sends_the_same(clickhouse, rng):
    import clickhouse_connect

    codes = random_codes(rng, 5000, 100, 5)
    with http_server(clickhouse) as (port, requests):
        client = clickhouse_connect.get_client(host="127.0.0.1", port=port, compress=False)
        store = ClickHouseStore(client, "by`http", 100, model="'a")
        store.add(codes).remove(np.arange(1, 5000))
        store.add(codes[1:], ids=np.arange(1, 5000))
        assert ClickHouseStore(client, "by`http").fingerprint == "'a"
        assert_same_as_index(store, codes, np.arange(5000), codes[:130], 3, 10)
        client.command("DROP TABLE `by\\`http`")
        client.close()
    inserts = [settings for statement, _, settings in requests if statement.startswith("INSERT")]
    for limit in ("max_insert_block_size", "min_insert_block_size_rows"):
        assert [one[limit] for one in inserts] == ["5000", "4999"]
    assert {one["async_insert"] for one in inserts} == {"0"}
    assert len({one["insert_deduplication_token"] for one in inserts}) == 2
    assert {one["lightweight_deletes_sync"] for text, _, one in requests if text.startswith("DELETE")} == {"2"}
    # The default limits of ClickHouse on a parameter, and on a statement sent beside parameters.
    assert max(len(value) for _, values, _ in requests for value in values.values()) < 2**17
    assert max(len(statement) for statement, *_ in requests) < 2**17
