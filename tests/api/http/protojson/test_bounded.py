"""Texts that are too long are found wherever they stand, whatever stands around them."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from determined_master.api.http.protojson.decode import decode
from determined_master.domain.errors import InvalidArgument
from determined_wire.bounds import TEXT
from determined_wire.rest.tasks import PostTaskLogsRequest
from determined_wire.rest.users import PatchUsersRequest

PATTERNS = st.text('"\\\né x,:[]{}\u2028', min_size=1, max_size=6)
"""Characters that JSON escapes, or that it uses between texts."""


def body_with(text: str, before: list[str], after: list[str], *, as_ascii: bool) -> bytes:
    lines: list[dict[str, Any]] = [{"taskId": one, "log": one} for one in (*before, "a")]
    lines += [{"taskId": "a", "log": "b", "agentId": text}]
    lines += [{"taskId": one, "log": one} for one in after]
    return json.dumps({"logs": lines}, ensure_ascii=as_ascii).encode()


@given(PATTERNS, st.lists(PATTERNS), st.lists(PATTERNS), st.booleans())
def test_a_text_of_one_character_too_many_is_refused(
    pattern: str, before: list[str], after: list[str], as_ascii: bool
) -> None:
    text = (pattern * TEXT.items)[: TEXT.items]
    whole = body_with(text, before, after, as_ascii=as_ascii)
    assert decode(PostTaskLogsRequest, whole).logs[len(before) + 1].agent_id == text
    longer = body_with(f"{text}{pattern[0]}", before, after, as_ascii=as_ascii)
    with pytest.raises(InvalidArgument, match=r"the field logs\.agentId has 4097 characters"):
        decode(PostTaskLogsRequest, longer)


def test_a_long_line_among_short_texts_is_kept() -> None:
    line = {"taskId": "a", "log": "x" * 100_000, "agentId": "b"}
    message = decode(PostTaskLogsRequest, msgspec.json.encode({"logs": [line] * 3}))
    assert [len(entry.log) for entry in message.logs] == [100_000] * 3


def test_a_body_of_numbers_alone_is_read() -> None:
    ids = list(range(9_000))
    assert decode(PatchUsersRequest, msgspec.json.encode({"userIds": ids})).user_ids == ids
