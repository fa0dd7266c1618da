"""The recipes of docs/recipes.md: distances of LanceDB and sqlite-vec against HammingIndex."""

import re
import sqlite3
from pathlib import Path

import numpy as np
import pytest

from helpers.codes import random_codes
from proxcode import ProximityPreservingCode
from proxcode.search import HammingIndex

PAGE = Path(__file__).resolve().parents[2] / "docs" / "recipes.md"
LENGTHS = [8, 13, 64, 100, 256]
K, RADII = 25, (0, 0.25, 1)


@pytest.fixture(params=LENGTHS)
def n_bits(request):
    return request.param


@pytest.fixture
def codes(rng, n_bits):
    return random_codes(rng, 400, n_bits, 5)


@pytest.fixture
def queries(rng, n_bits):
    return random_codes(rng, 6, n_bits, 3)


@pytest.fixture
def index(codes, n_bits):
    return HammingIndex(n_bits).add(codes)


@pytest.fixture
def connection():
    sqlite_vec = pytest.importorskip("sqlite_vec")
    if not hasattr(sqlite3.Connection, "enable_load_extension"):
        pytest.skip("the sqlite3 of this Python does not load extensions")
    connection = sqlite3.connect(":memory:")
    connection.enable_load_extension(True)
    sqlite_vec.load(connection)
    yield connection
    connection.close()


def assert_same_within(found, expected):
    """Compare sets of (distance, id), since engines order codes at equal distance in their own way."""
    distances, ids = found
    pairs = sorted(zip(np.asarray(distances, int).tolist(), list(ids), strict=True))
    assert pairs == sorted(zip(expected.distance.tolist(), expected.neighbor.tolist(), strict=True))


def test_lancedb_finds_what_the_index_finds(codes, queries, index, n_bits, tmp_path):
    lancedb = pytest.importorskip("lancedb")
    pa = pytest.importorskip("pyarrow")
    column = pa.FixedSizeListArray.from_arrays(pa.array(codes.ravel()), codes.shape[1])
    db = lancedb.connect(tmp_path)
    table = db.create_table("codes", pa.table({"id": np.arange(len(codes)), "code": column}))

    def search(query):
        return table.search(query, vector_column_name="code").distance_type("hamming")

    many = search(queries).limit(K).to_arrow().sort_by([("query_index", "ascending"), ("_distance", "ascending")])
    np.testing.assert_array_equal(many["_distance"].to_numpy().reshape(-1, K), index.search(queries, K).distance)
    neighbors = many["id"].to_numpy().reshape(-1, K)
    np.testing.assert_array_equal(
        np.bitwise_count(codes[neighbors] ^ queries[:, None]).sum(axis=2), index.search(queries, K).distance
    )
    for radius in (int(share * n_bits) for share in RADII):
        for query, expected in zip(queries, index.within(queries, radius), strict=True):
            found = search(query).distance_range(upper_bound=radius + 1).limit(len(codes)).to_arrow()
            assert_same_within((found["_distance"].to_pylist(), found["id"].to_pylist()), expected)


def test_sqlite_vec_finds_what_the_index_finds(codes, queries, index, n_bits, connection):
    column = f"bit[{8 * codes.shape[1]}]"
    connection.execute(f"CREATE VIRTUAL TABLE codes USING vec0(id INTEGER PRIMARY KEY, code {column})")
    connection.execute("CREATE TABLE plain(id INTEGER PRIMARY KEY, code BLOB)")
    rows = [(number, code.tobytes()) for number, code in enumerate(codes)]
    connection.executemany("INSERT INTO codes(id, code) VALUES (?, vec_bit(?))", rows)
    connection.executemany("INSERT INTO plain VALUES (?, ?)", rows)
    expected, plain = index.search(queries, K), "vec_distance_hamming(vec_bit(code), vec_bit(?))"
    for number, query in enumerate(queries.copy()):
        match = "SELECT id, code, distance FROM codes WHERE code MATCH vec_bit(?) AND k = ?"
        ids, stored, distance = zip(*connection.execute(match, [query.tobytes(), K]), strict=True)
        np.testing.assert_array_equal(distance, expected.distance[number])
        assert list(stored) == [codes[one].tobytes() for one in ids]
        ordered = f"SELECT id, {plain} AS distance FROM plain ORDER BY distance, id LIMIT {K}"
        ids, distance = zip(*connection.execute(ordered, [query.tobytes()]), strict=True)
        np.testing.assert_array_equal(distance, expected.distance[number])
        np.testing.assert_array_equal(ids, expected.neighbor[number])
        for radius in (int(share * n_bits) for share in RADII):
            near = f"SELECT {plain.replace('vec_bit(code)', 'code')} AS d, id FROM codes WHERE d <= ?"
            found = connection.execute(near, [query.tobytes(), radius]).fetchall()
            found = tuple(zip(*found, strict=True)) or ((), ())
            assert_same_within(found, index.within(queries[number : number + 1], radius)[0])


def test_the_block_of_the_page_on_sqlite_runs(connection, digits):
    X, y = digits
    model = ProximityPreservingCode(n_bits=100, random_state=0).fit(X[:1000], y[:1000])
    codes, query_codes = model.encode(X[:1500]), model.encode(X[1500:1520])
    names = {
        "np": np,
        "y": y[:1500],
        "model": model,
        "codes": codes,
        "query_codes": query_codes,
        "float_queries": model.query(X[1500:1520]),
    }
    block = re.search(r"^## SQLite.*?^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    exec(block[1], names)
    index = model.index(codes)
    np.testing.assert_array_equal(names["hamming"], index.search(query_codes[:1], 40).distance[0])
    within = index.within(query_codes[:1], model.radius_)[0]
    assert names["near"] == list(zip(within.neighbor.tolist(), within.distance.tolist(), strict=True))
    expected = model.query(X[1500:1501]).distances(codes[[one for one, _ in names["hits"]]])[0]
    np.testing.assert_array_equal(expected, np.sort(expected))
    assert [digit for _, digit in names["hits"]] == [y[1500]] * 5


def test_codes_by_intent_find_more_than_signs_of_equal_bytes(data_folder):
    with np.load(data_folder / "banking77_use512.npz") as file:
        order = np.random.default_rng(0).permutation(len(file["x"]))[:5500]
        X, y = file["x"][order].astype(np.float32), file["y"][order]
    model = ProximityPreservingCode(n_bits=32, random_state=0).fit(X[:2500], y[:2500])
    hits = model.search(model.index(model.encode(X[2500:5000])), X[5000:], k=10)
    signs = np.packbits(X[:, :32] > 0, axis=1)
    by_signs = HammingIndex(32).add(signs[2500:5000]).search(signs[5000:], 10)
    precision = [(y[2500:5000][found.neighbor] == y[5000:, None]).mean() for found in (hits, by_signs)]
    assert precision[0] > precision[1] + 0.25
