"""Messages to and from the JSON of the public API, as its clients write and read it."""

from determined_master.api.protojson.decode import decode, decode_field
from determined_master.api.protojson.encode import (
    encode,
    json_number,
    json_object,
    raw_json,
    ready,
    ready_list,
    to_json,
)
from determined_master.api.protojson.parameters import PathParameter, read_query

__all__ = [
    "PathParameter",
    "decode",
    "decode_field",
    "encode",
    "json_number",
    "json_object",
    "raw_json",
    "read_query",
    "ready",
    "ready_list",
    "to_json",
]
