"""Text of ClickHouse statements: scans, quoted names, filters."""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Where = Mapping[str, Any]
Parameters = dict[str, Any]


@dataclass(frozen=True)
class Scan:
    """Scans of a table for several queries, whose codes are bound in hexadecimal as q0, q1, ...

    Parameters
    ----------
    table, id, code : str
        Quoted names of the table and of its columns.
    n_bytes : int
        Number of bytes of a code.
    filter : str, default=""
        SQL text that begins with AND.
    values : dict, default={}
        Values that are bound in the filter.
    """

    table: str
    id: str
    code: str
    n_bytes: int
    filter: str = ""
    values: Parameters = field(default_factory=dict)

    def nearest(self, n_queries: int, k: int) -> str:
        """Select the number of the query, UInt32, and distance * 2**64 + id, Int128, of the k nearest of each query."""
        nearest = ", ".join(
            f"groupArraySorted({k})(bitShiftLeft(toInt128({self._distance(number)}), 64) + {self.id})"
            for number in range(n_queries)
        )
        return (
            "SELECT toUInt32(_proxcode_query - 1), arrayJoin(_proxcode_nearest) "
            f"FROM (SELECT [{nearest}] AS _proxcode_found FROM {self.table} WHERE 1{self.filter}) "
            "ARRAY JOIN _proxcode_found AS _proxcode_nearest, arrayEnumerate(_proxcode_found) AS _proxcode_query"
        )

    def within(self, n_queries: int) -> str:
        """Select the number of the query, UInt32, the distance, UInt16, and the id of all codes up to `radius`."""
        return " UNION ALL ".join(
            f"SELECT toUInt32({number}), toUInt16({self._distance(number)}), {self.id} FROM {self.table} "
            f"WHERE {self._distance(number)} <= {{radius:UInt16}}{self.filter}"
            for number in range(n_queries)
        )

    def _distance(self, number: int) -> str:
        return f"bitHammingDistance({self.code}, toFixedString(unhex({{q{number}:String}}), {self.n_bytes}))"


def check_name(name: str) -> str:
    """Validate the name of a database, table or column, and return it."""
    if not isinstance(name, str):
        raise TypeError(f"name={name!r}: expected the name of a table or column as a string.")
    if not name or "\0" in name:
        raise ValueError(f"name={name!r}: expected the name of a table or column, not empty and without NUL.")
    return name


def quoted_name(name: str) -> str:
    """Quote the name of a database, table or column."""
    return "`" + check_name(name).replace("\\", "\\\\").replace("`", "\\`") + "`"


def quoted_table(table: str | tuple[str, str]) -> str:
    """Quote the name of a table, or of a database and a table."""
    if isinstance(table, str):
        return quoted_name(table)
    if not isinstance(table, tuple) or len(table) != 2:
        raise TypeError(f"table={table!r}: expected a name, or a tuple of the names of the database and the table.")
    return ".".join(quoted_name(name) for name in table)


def quoted_text(text: str) -> str:
    """Quote a string literal, for statements that take no parameters."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def conditions(where: Where) -> tuple[str, Parameters]:
    """Return the SQL text of filters, which begins with AND, and the values that are bound in it."""
    text, parameters = "", Parameters()
    for number, (column, value) in enumerate(where.items()):
        name, key = quoted_name(column), f"filter{number}"
        if value is None:
            text += f" AND {name} IS NULL"
            continue
        if isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray):
            types = {_type_of(column, one) for one in value}
            if len(types) > 1:
                raise TypeError(f"where[{column!r}]={value!r}: expected values of one type.")
            text += f" AND {name} IN {{{key}:Array({types.pop()})}}" if value else " AND 0"
            parameters[key] = list(value)
        else:
            text += f" AND {name} = {{{key}:{_type_of(column, value)}}}"
            parameters[key] = value
    return text, parameters


def _type_of(column: str, value: Any) -> str:
    """Return the ClickHouse type in which a value of a filter is bound."""
    if isinstance(value, str):
        return "String"
    if isinstance(value, bool):
        return "Bool"
    if isinstance(value, numbers.Integral):
        if -(2**63) <= int(value) < 2**63:
            return "Int64"
        if 0 <= int(value) < 2**64:
            return "UInt64"
        raise ValueError(f"where[{column!r}]={value!r}: expected an integer of at most 64 bits.")
    if isinstance(value, numbers.Real):
        return "Float64"
    raise TypeError(
        f"where[{column!r}]={value!r}: expected a string, a number, a bool, None, or a list of strings or of numbers."
    )
