"""Addresses of clients behind trusted proxies: both headers, read from the right."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.api.proxy.proxied import serving
from websockets.asyncio.client import connect

from determined_master.domain.addresses import networks_of
from determined_master.server.forwarded import MAX_BYTES, MAX_HOPS, client_address

TRUSTED = networks_of(["10.0.0.0/8", "fd00::/8"])
PROXY = "10.0.0.1"


def client(*, plain: str = "", forwarded: str = "", peer: str = PROXY) -> str:
    headers = [(b"x-forwarded-for", plain.encode("latin-1"))] if plain else []
    headers += [(b"forwarded", forwarded.encode("latin-1"))] if forwarded else []
    return client_address(peer, headers, TRUSTED)


@pytest.mark.parametrize(
    ("plain", "address"),
    [
        ("", PROXY), ("9.9.9.9", "9.9.9.9"), ("1.1.1.1, 9.9.9.9", "9.9.9.9"),
        ("1.1.1.1,9.9.9.9 , 10.0.0.2", "9.9.9.9"), ("9.9.9.9:4711", "9.9.9.9"),
        ("2606::1", "2606::1"), ("[2606::1]:80", "2606::1"), ("10.0.0.3, 10.0.0.2", "10.0.0.3"),
        ("9.9.9.9, unknown", PROXY), ("9.9.9.9, unknown, 10.0.0.2", "10.0.0.2"),
        ("9.9.9.9, 127.1", PROXY), ("9.9.9.9,", PROXY), (",", PROXY), ("9.9.9.9\x0b", PROXY),
        ("9.9.9.999", PROXY), ("fe80::1%eth0", PROXY), ("::ffff:9.9.9.9", "::ffff:9.9.9.9"),
        ("1" * MAX_BYTES + ", 9.9.9.9", PROXY),
        (" " * (MAX_BYTES - 7) + "9.9.9.9", "9.9.9.9"), ("X9.9.9.9", PROXY),
    ],
)  # fmt: skip
def test_the_right_most_address_that_is_not_a_proxys_counts(plain: str, address: str) -> None:
    assert client(plain=plain) == address


@pytest.mark.parametrize(
    ("forwarded", "address"),
    [
        ("for=9.9.9.9", "9.9.9.9"), ("For=9.9.9.9;proto=https;by=10.0.0.1", "9.9.9.9"),
        ('for=1.1.1.1, for="[2606::1]:4711"', "2606::1"), ('for="9.9.9.9:80"', "9.9.9.9"),
        ("for=9.9.9.9, for=10.0.0.2", "9.9.9.9"), ("for=unknown", PROXY), ("for=_hidden", PROXY),
        ('for="1.1.1.1, for=9.9.9.9', PROXY), ('x="a, for=1.1.1.1", for=9.9.9.9', "9.9.9.9"),
        ("for=1.1.1.1;for=2.2.2.2", PROXY), ("for = 9.9.9.9", PROXY), ("proto=https", PROXY),
        ("for=9.9.9.9;", PROXY), ("for=9.9.9.9,", PROXY), ("9.9.9.9", PROXY),
        ('host="\\"";for=9.9.9.9', "9.9.9.9"), ("for=[2606::1]", PROXY),
        ("x=" + "a" * MAX_BYTES + ",for=9.9.9.9", PROXY),
        ("x=" + "a" * (MAX_BYTES - 14) + ",for=9.9.9.9", "9.9.9.9"), ("a=1,,for=9.9.9.9", PROXY),
    ],
)  # fmt: skip
def test_forwarded_is_read_as_rfc_7239_has_it(forwarded: str, address: str) -> None:
    assert client(forwarded=forwarded) == address


def test_several_headers_are_read_as_one() -> None:
    headers = [(b"x-forwarded-for", each) for each in (b"1.1.1.1", b"9.9.9.9", b"10.0.0.2")]
    assert client_address(PROXY, headers, TRUSTED) == "9.9.9.9"


def test_both_headers_must_agree() -> None:
    assert client(plain="9.9.9.9", forwarded="for=9.9.9.9") == "9.9.9.9"
    assert client(plain="9.9.9.9", forwarded="for=1.1.1.1") == PROXY
    assert client(plain="9.9.9.9", forwarded="spoilt;") == PROXY


def test_a_peer_that_is_not_trusted_is_the_client() -> None:
    assert client(peer="9.9.9.9", plain="1.1.1.1", forwarded="for=1.1.1.1") == "9.9.9.9"
    assert client_address("", [(b"x-forwarded-for", b"1.1.1.1")], TRUSTED) == ""
    assert client_address(PROXY, [(b"x-forwarded-for", b"1.1.1.1")], ()) == PROXY


def test_only_so_many_proxies_are_passed() -> None:
    assert client(plain=", ".join(["9.9.9.9", *["10.0.0.2"] * (MAX_HOPS - 1)])) == "9.9.9.9"
    assert client(plain=", ".join(["9.9.9.9", *["10.0.0.2"] * MAX_HOPS])) == "10.0.0.2"


@given(st.text(st.characters(max_codepoint=255), max_size=300), st.booleans())
def test_a_client_cannot_change_the_address_that_a_proxy_appends(
    sent: str, is_forwarded: bool
) -> None:
    if is_forwarded:  # it may spoil the header, and is then counted as the proxy
        assert client(forwarded=f"{sent}, for=9.9.9.9") in ("9.9.9.9", PROXY)
    else:
        assert client(plain=f"{sent}, 9.9.9.9") == "9.9.9.9"


def test_a_header_is_read_in_linear_time() -> None:
    for text in ('a="' + "\\" * 4000, "a=b;" * 1000, 'a="";' * 800, "for=" * 1000, " " * 4000):
        assert client(forwarded=text) == PROXY


async def test_the_client_of_a_websocket_is_that_behind_the_proxy() -> None:
    seen: asyncio.Queue[Any] = asyncio.Queue()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        seen.put_nowait(scope["client"][0])
        await send({"type": "websocket.close"})

    for trusted, address in ((["127.0.0.0/8"], "9.9.9.9"), ([], "127.0.0.1")):
        async with serving(app, trusted=trusted) as port:  # type: ignore[arg-type]
            headers = {"X-Forwarded-For": "1.1.1.1, 9.9.9.9"}
            with pytest.raises(Exception, match="403"):
                await connect(
                    f"ws://127.0.0.1:{port}/agents", additional_headers=headers, proxy=None
                )
            assert await seen.get() == address
