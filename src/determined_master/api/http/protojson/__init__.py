"""Messages to and from the JSON of the public API, as its clients write and read it."""

from determined_master.api.http.protojson.bounded import refuse
from determined_master.api.http.protojson.decode import decode, decode_at_once, decode_field
from determined_master.api.http.protojson.encode import (
    encode,
    json_number,
    json_object,
    raw_json,
    ready,
    ready_list,
    ready_text,
    to_json,
)
from determined_master.api.http.protojson.marks import check_marks
from determined_master.api.http.protojson.parameters import PathParameter, read_query

__all__ = [
    "PathParameter",
    "check_marks",
    "decode",
    "decode_at_once",
    "decode_field",
    "encode",
    "json_number",
    "json_object",
    "raw_json",
    "read_query",
    "ready",
    "ready_list",
    "ready_text",
    "refuse",
    "to_json",
]
