"""The SQL of docs/duckdb.md against HammingIndex, for short, odd and long codes."""

import numpy as np
import pytest

from helpers.codes import random_codes
from proxcode.search import HammingIndex

duckdb = pytest.importorskip("duckdb")
pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

LENGTHS = [8, 13, 32, 60, 64, 65, 100, 128, 200, 256]
K = 12


@pytest.fixture(params=LENGTHS)
def n_bits(request):
    return request.param


@pytest.fixture
def codes(rng, n_bits):
    """Noisy copies of a few codes, uniform ones, and the zero code, which is n_bits from the last query."""
    zeros = np.zeros((1, -(-n_bits // 8)), np.uint8)
    return np.vstack([random_codes(rng, 300, n_bits, 5), random_codes(rng, 100, n_bits), zeros])


@pytest.fixture
def queries(rng, n_bits):
    ones = np.packbits(np.ones((1, n_bits), np.uint8), axis=1)
    return np.vstack([random_codes(rng, 5, n_bits, 3), np.zeros_like(ones), ones])


@pytest.fixture
def index(codes, n_bits):
    return HammingIndex(n_bits).add(codes)


@pytest.fixture
def files(codes, tmp_path):
    for part, rows in enumerate(np.array_split(np.arange(len(codes)), 2)):
        kind = pa.binary(codes.shape[1])
        column = pa.array([code.tobytes() for code in codes[rows]], kind)
        pq.write_table(pa.table({"id": rows, "code": column}), tmp_path / f"{part}.parquet")
    return str(tmp_path / "*.parquet")


def words(n_bits, name):
    """Return the SQL expressions of the integers of a code."""
    n_bytes = -(-n_bits // 8)
    return [f"{name}[{first}:{min(first + 7, n_bytes)}]::BIT::UBIGINT" for first in range(1, n_bytes + 1, 8)]


def by_integers(n_bits):
    columns = [f"w{number}" for number in range(len(words(n_bits, "code")))]
    return " + ".join(f"bit_count(xor(items.{column}, asked.{column}))::INTEGER" for column in columns)


BY_BITS = "bit_count(xor(items.code::BIT, asked.code::BIT))"


@pytest.fixture(params=["integers", "bits"])
def form(request):
    return request.param


@pytest.fixture
def db(form, files, queries, n_bits):
    """Return a connection with the tables `items` and `asked`, and the expression of the distance."""
    columns = ", ".join(f"{word} AS w{number}" for number, word in enumerate(words(n_bits, "code")))
    columns = columns if form == "integers" else "code"
    with duckdb.connect() as connection:
        asked = pa.table({"id": np.arange(len(queries)), "code": [query.tobytes() for query in queries]})
        connection.register("arrow", asked)
        connection.execute(f"CREATE TABLE items AS SELECT id, {columns} FROM read_parquet(?)", [files])
        connection.execute(f"CREATE TABLE asked AS SELECT id AS query, {columns} FROM arrow")
        yield connection, by_integers(n_bits) if form == "integers" else BY_BITS


STATEMENTS = {
    "min": "SELECT query, unnest(min({{'distance': {distance}, 'id': id}}, {k}), recursive := true) "
    "FROM asked, items GROUP BY query ORDER BY ALL",
    "qualify": "SELECT query, {distance} AS distance, id FROM asked, items "
    "QUALIFY row_number() OVER (PARTITION BY query ORDER BY distance, id) <= {k} ORDER BY ALL",
    "lateral": "SELECT query, distance, id FROM asked, LATERAL "
    "(SELECT id, {distance} AS distance FROM items ORDER BY distance, id LIMIT {k}) ORDER BY ALL",
}


@pytest.mark.parametrize("statement", STATEMENTS)
def test_the_nearest_are_those_of_the_index(db, index, queries, statement):
    connection, distance = db
    found = connection.execute(STATEMENTS[statement].format(distance=distance, k=K)).fetchnumpy()
    expected = index.search(queries, K)
    np.testing.assert_array_equal(found["distance"].reshape(-1, K), expected.distance)
    np.testing.assert_array_equal(found["id"].reshape(-1, K), expected.neighbor)


@pytest.mark.parametrize("share", [0, 0.3, 1])
def test_all_within_a_radius_are_those_of_the_index(db, index, queries, n_bits, share):
    connection, distance = db
    statement = f"SELECT {distance} AS distance, id FROM asked, items WHERE distance <= ? ORDER BY query, distance, id"
    found = connection.execute(statement, [int(share * n_bits)]).fetchnumpy()
    expected = index.within(queries, int(share * n_bits))
    np.testing.assert_array_equal(found["distance"], expected.distance)
    np.testing.assert_array_equal(found["id"], expected.neighbor)


@pytest.mark.parametrize(("form", "n_bits"), [("integers", 64)])
def test_pieces_find_all_near_duplicates(db, codes, index):
    connection, _ = db
    connection.execute(
        "CREATE TABLE pieces AS SELECT id, w0, piece, (w0 >> (16 * piece)) & 65535 AS value "
        "FROM items, range(4) AS t(piece)"
    )
    found = connection.execute(
        "SELECT DISTINCT a.id AS first, b.id AS second FROM pieces AS a JOIN pieces AS b USING (piece, value) "
        "WHERE a.id < b.id AND bit_count(xor(a.w0, b.w0)) <= 3 ORDER BY ALL"
    ).fetchall()
    near = index.within(codes, 3)
    assert len(found) > 0
    assert found == sorted((i, int(j)) for i, one in enumerate(near) for j in one.neighbor if i < j)


@pytest.mark.parametrize(("form", "n_bits"), [("integers", n_bits) for n_bits in LENGTHS if n_bits <= 64])
def test_integers_of_python_are_those_of_the_database(db, codes):
    connection, _ = db
    stored = connection.execute("SELECT w0 FROM items ORDER BY id").fetchnumpy()["w0"]
    padded = np.pad(codes, ((0, 0), (8 - codes.shape[1], 0)))
    np.testing.assert_array_equal(stored, padded.view(">u8").ravel())
    np.testing.assert_array_equal(stored.astype(">u8").view(np.uint8).reshape(-1, 8)[:, 8 - codes.shape[1] :], codes)
