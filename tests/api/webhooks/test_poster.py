"""Posts to other servers: where they may go, and what ends them."""

from __future__ import annotations

import asyncio
import ipaddress

import pytest
from tests.api.receiver import receiver

from determined_master.backends.webhooks.poster import HttpPoster
from determined_master.domain.webhooks.retries import BACKOFF, GIVEN_UP_AFTER, is_final
from determined_master.ports.posts import PostFailed

HERE = (ipaddress.ip_network("127.0.0.0/8"), ipaddress.ip_network("::1/128"))


async def test_a_name_that_leads_to_this_machine_is_refused_for_good() -> None:
    async with receiver() as target:
        named = target.url.replace("127.0.0.1", "localhost")
        with pytest.raises(PostFailed, match=r"webhooks\.allowed_networks") as caught:
            await HttpPoster(()).post(named, {}, b"{}")
        assert caught.value.is_final
        assert target.attempts == 0
        assert await HttpPoster(HERE).post(named, {}, b"{}") == 200


async def test_a_post_returns_the_status_and_follows_no_redirect() -> None:
    async with receiver() as target:
        for status in (200, 204, 302, 404, 503):
            target.status = status
            assert await HttpPoster(HERE).post(target.url, {}, b"{}") == status


async def test_a_server_that_does_not_answer_is_left_after_the_deadline() -> None:
    async with receiver() as target:
        target.is_open.clear()
        with pytest.raises(PostFailed, match=r"no answer within 0\.1 s") as caught:
            await HttpPoster(HERE, deadline_s=0.1).post(target.url, {}, b"{}")
        assert not caught.value.is_final


async def test_an_answer_that_is_not_http_is_a_failure() -> None:
    async def chat(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 mail.example.org\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(chat, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        for scheme in ("http", "https"):
            with pytest.raises(PostFailed):
                await HttpPoster(HERE).post(f"{scheme}://127.0.0.1:{port}/", {}, b"{}")


def test_pauses_grow_to_a_bound_and_only_servers_at_fault_are_asked_again() -> None:
    pauses = [BACKOFF.after(n).total_seconds() for n in range(1, 40)]
    assert pauses[:4] == [1, 2, 4, 8]
    assert pauses[-1] == 300
    assert sum(pauses) < GIVEN_UP_AFTER.total_seconds()
    assert [s for s in (200, 301, 400, 404, 408, 429, 500, 503) if is_final(s)] == [301, 400, 404]
