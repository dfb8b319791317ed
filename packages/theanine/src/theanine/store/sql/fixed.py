"""Selects for every recall, which are compiled once and run by the driver.

SQLAlchemy takes several times as long to run a select of a few rows as the database does.
"""

from __future__ import annotations

import json
from collections import namedtuple
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

import sqlalchemy as sa
from sqlalchemy import exc
from sqlalchemy.ext.compiler import compiles

from theanine.store.sql.scopes import find_scope
from theanine.store.sql.tracing import traced
from theanine.store.sql.walls import quote
from theanine.types import Scope

SCOPE = sa.bindparam("scope_id", type_=sa.Integer)


class in_numbers(sa.ColumnElement[bool]):  # noqa: N801 (SQL elements are in lower case)
    """A condition: a column is among the numbers that a :class:`FixedSelect` is given."""

    inherit_cache = False
    type = sa.Boolean()

    def __init__(self, column: sa.Column[int]) -> None:
        self.column = column

    def self_group(self, against: Any = None) -> in_numbers:
        """Return self: otherwise SQLAlchemy compares it with 1, and SQLite reads all rows."""
        return self


@compiles(in_numbers, "sqlite")
def _in_json(element: in_numbers, compiler: Any, **options: Any) -> str:
    numbers = compiler.process(sa.bindparam("numbers", type_=sa.Text), **options)
    column = compiler.process(element.column, **options)
    return f"{column} IN (SELECT value FROM json_each({numbers}))"


@compiles(in_numbers)
def _in_array(element: in_numbers, compiler: Any, **options: Any) -> str:
    from sqlalchemy.dialects.postgresql import ARRAY  # SQLite needs none of its dialect

    numbers = compiler.process(sa.bindparam("numbers", type_=ARRAY(sa.Integer)), **options)
    return f"{compiler.process(element.column, **options)} = ANY({numbers})"


Values = Mapping[str, str | int]
_NO_VALUES: Values = MappingProxyType({})


class FixedSelect:
    """A select of rows of one scope, :data:`SCOPE`, and perhaps of some numbers.

    Attributes:
        made: all instances.
        select: the statement; its other parameters are texts and whole numbers.
    """

    made: ClassVar[list[FixedSelect]] = []

    def __init__(self, select: sa.Select[*tuple[Any, ...]]) -> None:
        self.select = select
        names = select.selected_columns.keys()
        self._row: Any = namedtuple("Row", names)  # pyright: ignore[reportUntypedNamedTuple]
        self._compiled: dict[str, tuple[Any, Values]] = {}
        self.made.append(self)

    def rows(
        self,
        db: sa.Connection,
        scope_id: int,
        numbers: Sequence[int] = (),
        values: Values = _NO_VALUES,
    ) -> list[Any]:
        """Run it in the transaction of a connection, and return the rows as named tuples."""
        driver: Any = db.connection.driver_connection
        compiled, constants = self._compile(db.dialect)
        if compiled.positiontup is None:
            params: Any = {**constants, **values, "scope_id": scope_id, "numbers": list(numbers)}
        else:
            array = json.dumps(list(numbers))
            given = {**constants, **values, "scope_id": scope_id, "numbers": array}
            params = [given[name] for name in compiled.positiontup]
        errors: Any = db.dialect.loaded_dbapi
        try:
            with traced(db.dialect.name, compiled.string):
                return self.name(driver.execute(compiled.string, params))
        except errors.Error as error:
            raise exc.DBAPIError.instance(compiled.string, params, error, errors.Error) from error

    def text(
        self,
        dialect: sa.Dialect,
        scope_id: str,
        numbers: Sequence[int] = (),
        values: Values = _NO_VALUES,
    ) -> str:
        """Return it for PostgreSQL without parameters; ``scope_id`` is an expression."""
        array = f"'{{{','.join(str(int(number)) for number in numbers)}}}'"
        compiled, constants = self._compile(dialect)
        literals = {
            name: quote(value) if isinstance(value, str) else str(int(value))
            for name, value in {**constants, **values}.items()
        }
        return str(compiled.string % {**literals, "scope_id": scope_id, "numbers": array})

    def name(self, rows: Iterable[tuple[Any, ...]]) -> list[Any]:
        """Return the driver's rows as named tuples."""
        return list(map(self._row._make, rows))

    def _compile(self, dialect: sa.Dialect) -> tuple[Any, Values]:
        """Return it for a dialect, and the parameters that SQLAlchemy made of its constants."""
        found = self._compiled.get(dialect.name)
        if found is None:
            compiled = self.select.compile(dialect=dialect)
            constants = {name: each for name, each in compiled.params.items() if each is not None}
            found = self._compiled[dialect.name] = compiled, constants
        return found


class Read(NamedTuple):
    """A select with the values of its parameters."""

    select: FixedSelect
    numbers: Sequence[int] = ()
    values: Values = _NO_VALUES


Reads = Sequence[Read]


def read_rows(db: sa.Connection, scope: Scope, reads: Reads) -> list[list[Any]]:
    """Return the rows of several selects in a scope."""
    scope_id = find_scope(db, scope)
    return [select.rows(db, scope_id, numbers, values) for select, numbers, values in reads]
