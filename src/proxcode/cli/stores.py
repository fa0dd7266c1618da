"""Stores in databases, named by an address on the command line."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import click

if TYPE_CHECKING:
    from proxcode.stores import CodeStore

ADDRESS = re.compile(r"(postgresql|postgres|clickhouse|clickhouses)://", re.IGNORECASE)


def is_address(text: str) -> bool:
    """Return whether a text is the address of a database, and not the path of a file.

    Examples
    --------
    >>> is_address("postgresql://me@db/shop"), is_address("codes.npy")
    (True, False)
    """
    return ADDRESS.match(text) is not None


def check_address(address: str) -> None:
    """Raise a usage error for an address that holds a password, which other users of the machine could read."""
    # A password may hold any character: what follows a colon before the last at sign may be one.
    has_password = bool(address.partition("://")[2].rpartition("@")[0].partition(":")[2])
    try:
        parts = urlsplit(address)
        has_password = has_password or any("password" in name.lower() for name in parse_qs(parts.query))
        _ = parts.port
    except ValueError:
        if not has_password:
            raise click.UsageError(
                "the address of the database is not valid: expected TYPE://user@host:port/database."
            ) from None
    if has_password:
        raise click.UsageError(
            "the address holds a password, which other users of this machine can read: omit it, and set PGPASSWORD, a "
            "password file or a service file for PostgreSQL, or CLICKHOUSE_PASSWORD for ClickHouse."
        )


@dataclass(frozen=True)
class StoreOptions:
    """A table of a database: the values of the options that name it."""

    address: str
    table: str | None
    column: str
    id_column: str
    ef_search: int | None = None

    def __post_init__(self) -> None:
        """Raise a usage error for options that do not name a table."""
        check_address(self.address)
        if self.table is None:
            raise click.UsageError("an address names a database: pass --table, the table of the codes, too.")
        if self.ef_search is not None and self._is_clickhouse:
            raise click.UsageError("--ef-search applies to PostgreSQL: ClickHouse searches exactly.")

    @property
    def _is_clickhouse(self) -> bool:
        return self.address.lower().startswith("clickhouse")

    @property
    def _path(self) -> tuple[str, ...]:
        """Name of the table, or of its schema and the table, separated by a full stop."""
        return tuple(str(self.table).split(".", 1))

    @contextmanager
    def open(self, *, n_bits: int | None = None, model: Any = None) -> "Iterator[CodeStore]":
        """Open the store; all changes are made when the block ends without an error, where the database allows it."""
        names = {"id_column": self.id_column, "code_column": self.column, "model": model}
        if self._is_clickhouse:
            from proxcode.stores import ClickHouseStore

            with _clickhouse_client(self.address) as client:
                path = self._path if len(self._path) == 2 else self._path[0]
                yield ClickHouseStore(client, path, n_bits, **names)
            return

        from proxcode.stores import PostgresStore
        from proxcode.stores._postgres import connect

        with _one_sentence(), connect(self.address) as connection:
            yield PostgresStore(connection, self._path, n_bits, ef_search=self.ef_search, **names)


@contextmanager
def _one_sentence() -> Iterator[None]:
    """Replace an error of PostgreSQL by a ValueError with its first line and its hint."""
    import psycopg

    try:
        yield
    except psycopg.Error as error:
        text = error.diag.message_primary or " ".join(str(error).split())
        hint = f" ({error.diag.message_hint.rstrip('.')})" if error.diag.message_hint else ""
        raise ValueError(f"PostgreSQL: {text}{hint}.") from error


@contextmanager
def _clickhouse_client(address: str) -> Iterator[Any]:
    """Open a client; the password is in CLICKHOUSE_PASSWORD."""
    try:
        import clickhouse_connect
    except ImportError as error:
        raise ModuleNotFoundError("ClickHouse requires: pip install 'proxcode[clickhouse]'.") from error
    parts = urlsplit(address)
    if parts.query:
        raise ValueError(
            "the address of ClickHouse has options after a question mark: omit them; clickhouses:// is TLS."
        )
    is_secure = parts.scheme.lower() == "clickhouses"
    try:
        client = clickhouse_connect.get_client(
            host=parts.hostname or "localhost",
            port=parts.port or (8443 if is_secure else 8123),
            username=parts.username or "default",
            password=os.environ.get("CLICKHOUSE_PASSWORD", ""),
            database=parts.path.strip("/") or "default",
            secure=is_secure,
        )
    except clickhouse_connect.driver.exceptions.Error as error:
        reason = " ".join(str(error).split())[:200]
        raise ConnectionError(f"ClickHouse cannot be reached ({reason}): check the address and the server.") from None
    try:
        yield client
    except clickhouse_connect.driver.exceptions.Error as error:
        raise ValueError(f"ClickHouse: {' '.join(str(error).split())[:300]}.") from error
    finally:
        client.close()
