"""Array types that a connection knows from its start.

The library has codecs for plain types only. At the first value of any other type it asks the
server, on each connection, and that statement about the catalog takes 8 ms: longer than a new
connection takes. PostgreSQL never changes the numbers of its own types.
"""

from __future__ import annotations

import contextlib
from typing import Any

_SCALARS = {
    "bool": (16, 1000),
    "bytea": (17, 1001),
    "int8": (20, 1016),
    "int4": (23, 1007),
    "float8": (701, 1022),
    "date": (1082, 1182),
    "timestamptz": (1184, 1185),
    "uuid": (2950, 2951),
    "jsonb": (3802, 3807),
}
"""For each type its number and that of its arrays, as `pg_type` has them."""

_TYPES = [
    {
        "oid": array,
        "ns": "pg_catalog",
        "name": f"_{name}",
        "kind": b"b",
        "basetype": None,
        "elemtype": scalar,
        "elemdelim": ",",
        "range_subtype": None,
        "attrtypoids": None,
        "attrnames": None,
    }
    for name, (scalar, array) in _SCALARS.items()
]
"""Rows as the library reads them from the catalog."""


def register_array_types(conn: Any) -> None:
    """Let a connection send and read the arrays of our statements without that question.

    Codecs of elements come first: each change of one forgets all arrays. Other types still work,
    and cost the question.
    """
    # This part of the library is not public: a release without it asks, as for other types.
    with contextlib.suppress(AttributeError, KeyError, TypeError):
        conn._protocol.get_settings().register_data_types(_TYPES)
