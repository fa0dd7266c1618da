"""Stores of every kind, made empty by a function of the code length; `store` is each of them in turn."""

import warnings
from itertools import count

import pytest

from helpers.databases import clickhouse, connect, connection, postgres_address  # noqa: F401
from proxcode.search import HammingIndex


@pytest.fixture(
    params=[
        "HammingIndex",
        "FaissIndex",
        "PostgresStore",
        "PostgresStore_in_own_table",
        "exact_PostgresStore",
        "ClickHouseStore",
        "MilvusStore",
    ]
)
def store(request):
    """Return a function of n_bits, and of model, that makes an empty store."""
    return request.getfixturevalue(f"make_{request.param}")


@pytest.fixture
def make_HammingIndex():  # noqa: N802
    return HammingIndex


@pytest.fixture
def make_FaissIndex():  # noqa: N802
    pytest.importorskip("faiss")
    from proxcode.stores import FaissIndex

    return FaissIndex


TABLES = count()


def new_table():
    return f"codes{next(TABLES)}"


@pytest.fixture
def make_PostgresStore(connection):  # noqa: F811, N802
    from proxcode.stores import PostgresStore

    return lambda n_bits, **options: PostgresStore(connection, new_table(), n_bits, **options)


@pytest.fixture
def make_PostgresStore_in_own_table(connection):  # noqa: F811, N802
    """A store in a table that has other columns, other names and rows without codes."""
    from proxcode.stores import PostgresStore

    def make(n_bits, **options):
        table = new_table()
        connection.execute(f'CREATE TABLE "{table}" (title text, "Key" bigint PRIMARY KEY)')
        connection.execute(f"INSERT INTO \"{table}\" SELECT 'row ' || i, i FROM generate_series(-20, -1) i")
        return PostgresStore(connection, table, n_bits, id_column="Key", code_column="the code", **options)

    return make


@pytest.fixture
def make_exact_PostgresStore(connect):  # noqa: F811, N802
    """A store in a database without pgvector, in the transaction of a connection that does not commit."""
    from proxcode.stores import PostgresStore

    with connect(vector=False) as uncommitted:
        yield lambda n_bits, **options: PostgresStore(uncommitted, new_table(), n_bits, **options)
        uncommitted.rollback()


@pytest.fixture
def make_ClickHouseStore(clickhouse):  # noqa: F811, N802
    from proxcode.stores import ClickHouseStore

    numbers, tables = count(), []

    def make(n_bits, *, model=None):
        tables.append(f"store{next(numbers)}")
        return ClickHouseStore(clickhouse, tables[-1], n_bits, model=model)

    yield make
    for table in tables:
        clickhouse.command(f"DROP TABLE {table}")


@pytest.fixture(scope="session")
def milvus(tmp_path_factory):
    """Return a client of Milvus Lite, which runs in a process of its own."""
    pymilvus = pytest.importorskip("pymilvus", reason="pymilvus is not installed: pip install 'proxcode[milvus]'")
    with warnings.catch_warnings():
        # milvus-lite 2.5.1 imports pkg_resources, which warns, and which setuptools 84 does not have.
        warnings.simplefilter("ignore")
        pytest.importorskip(
            "milvus_lite", reason="Milvus Lite cannot be imported: pip install milvus-lite==2.5.1 'setuptools<81'"
        )
    client = pymilvus.MilvusClient(str(tmp_path_factory.mktemp("milvus") / "codes.db"))
    yield client
    client.close()


@pytest.fixture
def make_MilvusStore(milvus):  # noqa: N802
    from proxcode.stores import MilvusStore

    numbers = count()

    def make(n_bits, *, model=None):
        return MilvusStore(milvus, f"store{next(numbers)}", n_bits, model=model)

    yield make
    for collection in milvus.list_collections():
        milvus.drop_collection(collection)
