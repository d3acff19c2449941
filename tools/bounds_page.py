"""The page of bounds: how many values a request may have in each of its fields."""

from __future__ import annotations

from determined_master.api.http.bodies import MAX_BODY_BYTES, MAX_LARGE_BODY_BYTES
from determined_master.api.http.long_lists import MAX_BYTES as MAX_LIST_BYTES
from determined_master.api.http.protojson.bounded import fields_of
from determined_master.api.http.protojson.marks import MAX_MARKS
from determined_master.api.table import all_routes
from determined_master.domain.allowances import ALLOWANCES
from determined_master.domain.experiment.model_definition import MAX_BYTES
from determined_master.domain.metrics.limits import MAX_NAME_BYTES, MAX_NAMES, MAX_TEXT, MAX_VALUES
from determined_master.ports.answer_memory import MAX_BYTES as MAX_ANSWER_BYTES
from determined_master.services.logs.incoming import MAX_LINE_CHARACTERS
from determined_master.settings.yaml_text import MAX_CHARACTERS, MAX_DEPTH
from determined_master.settings.yaml_text import MAX_VALUES as MAX_YAML_VALUES
from determined_master.store.workspaces.project_columns import MAX_COLUMNS
from determined_wire.bounds import BOUNDS, DEFAULT, FREE, TEXT, Bound
from determined_wire.proto import Message

HEAD = """\
# Bounds of requests

Made by `tools/generate_docs.py` from `determined_wire/bounds.py` and the limits of the code; do
not edit.

A request that is over a bound is refused with status 400. The error names the field, its size, the
bound and what to do instead. One that is larger than its bytes is refused with status 413.

| what | bound |
|---|---|
"""
FIELDS = """
## Fields of requests
Every other list and map of a request may have {default:,} items, and every other value without a
shape of its own {free:,} values in all of its lists and objects, with {characters:,} characters of
keys and texts. Every other text may have {text:,} characters.

| message | field | values, or characters of a text | instead |
|---|---|---|---|
"""

OWN = """
## What each user may store
Of each of these a user may have so much. More is refused with status 429; of links the oldest are
deleted.

| what | number | bytes in all |
|---|---|---|
"""


def bounds_page() -> str:
    """The whole page."""
    rows = [
        ("bytes of a body", MAX_BODY_BYTES),
        ("bytes of a body with files, metrics or log lines", MAX_LARGE_BODY_BYTES),
        ("commas, brackets and `\\u` escapes of a body of 256 KiB or more", MAX_MARKS),
        ("bytes of a list in an answer", MAX_LIST_BYTES),
        ("bytes of the answers of a user that are not sent yet", MAX_ANSWER_BYTES),
        ("bytes of the files of a model directory", MAX_BYTES),
        ("characters of a configuration in YAML", MAX_CHARACTERS),
        ("values of a configuration in YAML", MAX_YAML_VALUES),
        ("levels of a configuration in YAML", MAX_DEPTH),
        ("values of a metric report", MAX_VALUES),
        ("characters of texts in a metric report", MAX_TEXT),
        ("names of metrics of a trial", MAX_NAMES),
        ("bytes of the name of a metric or group", MAX_NAME_BYTES),
        ("columns and metric ranges of a project that are listed", MAX_COLUMNS),
        ("characters of a log line; a longer one is stored as several", MAX_LINE_CHARACTERS),
    ]
    return "".join(
        (
            HEAD,
            *(f"| {what} | {bound:,} |\n" for what, bound in rows),
            FIELDS.format(
                default=DEFAULT.items, free=FREE.items, characters=FREE.characters, text=TEXT.items
            ),
            *(
                f"| `{m}` | `{f}` | {_size(bound)} | {bound.remedy} |\n"
                for m, f, bound in _fields()
            ),
            OWN,
            *(f"| {a.things} | {a.count:,} | {a.size_bytes:,} |\n" for a in ALLOWANCES),
        )
    )


def _size(bound: Bound) -> str:
    texts = f" with {bound.characters:,} characters" if bound.characters != FREE.characters else ""
    return f"{bound.items:,}{texts}"


def _fields() -> list[tuple[str, str, Bound]]:
    """The rows of the table that requests have."""
    seen: set[type[Message]] = set()
    requests = [r.request for r in all_routes() if r.request is not None]
    found = [one for request in requests for one in fields_of(request, seen)]
    named = (one for one in found if f"{one[0]}.{one[1]}" in BOUNDS)
    return sorted(named, key=lambda one: one[:2])
