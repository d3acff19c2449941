"""Answers of plain routes, header by header."""

from __future__ import annotations

from typing import Any

import pytest

from determined_master.api.http.exchange import Http
from determined_master.api.http.plain import send_answer
from determined_master.api.http.routes import Reply

POLICY = ("content-security-policy", "default-src 'self'")


async def sent(reply: Reply, method: str = "GET") -> list[Any]:
    messages: list[Any] = []

    async def send(message: Any) -> None:
        messages.append(message)

    async def receive() -> Any:
        raise AssertionError("nothing is read")

    scope = {"method": method, "headers": [], "query_string": b""}
    await send_answer(send, receive, Http(scope), reply)
    return messages


def policies(messages: list[Any]) -> list[str]:
    return [
        value.decode()
        for name, value in messages[0]["headers"]
        if name == b"content-security-policy"
    ]


@pytest.mark.parametrize(
    ("headers", "expected"), [((POLICY,), POLICY[1]), ((), "default-src 'none'")]
)
async def test_a_page_has_one_policy(headers: tuple[tuple[str, str], ...], expected: str) -> None:
    """Browsers enforce each policy that they get."""
    found = policies(await sent(Reply(b"<p>", content_type="text/html", headers=headers)))
    assert len(found) == 1
    assert found[0].startswith(expected)


async def test_an_answer_other_than_a_page_has_no_policy() -> None:
    assert policies(await sent(Reply(b"x", content_type="text/plain"))) == []


async def test_an_answer_without_a_new_version_has_neither_body_nor_length_nor_policy() -> None:
    start, body = await sent(Reply(b"", 304, "text/html"))
    assert policies([start]) == []
    assert b"content-length" not in dict(start["headers"])
    assert body["body"] == b""


async def test_head_has_the_length_of_the_body_that_it_leaves_out() -> None:
    start, body = await sent(Reply(b"four"), "HEAD")
    assert dict(start["headers"])[b"content-length"] == b"4"
    assert body["body"] == b""
