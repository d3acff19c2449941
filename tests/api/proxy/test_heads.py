"""What of the heads of requests and answers passes the proxy: values alone."""

from __future__ import annotations

import pytest

from determined_master.api.proxy import heads
from determined_master.api.proxy.answer_heads import (
    ALLOWED,
    MAX_COOKIE_BYTES,
    VARY,
    sent_back,
    service_cookie,
)
from determined_master.domain.errors import InvalidArgument

Headers = list[tuple[bytes, bytes]]
PATH = b"/proxy/x/"


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [(b"content-length", b"12"), (b"host", b"a"), (b"authorization", b"b")],
        [(b"transfer-encoding", b" Chunked ")],
        [(b"cookie", b"a"), (b"cookie", b"b\tc \xff")],
    ],
)
def test_a_clear_request_passes(headers: Headers) -> None:
    heads.check_framing(headers)


@pytest.mark.parametrize(
    ("headers", "text"),
    [
        (
            [(b"content-length", b"1"), (b"transfer-encoding", b"chunked")],
            "the request has both Content-Length and Transfer-Encoding",
        ),
        (
            [(b"content-length", b"1"), (b"content-length", b"1")],
            "the request's Content-Length is not one number",
        ),
        ([(b"content-length", b"+1")], "the request's Content-Length is not one number"),
        ([(b"content-length", b"")], "the request's Content-Length is not one number"),
        ([(b"transfer-encoding", b"gzip")], "the request's Transfer-Encoding is not just chunked"),
        (
            [(b"transfer-encoding", b"chunked"), (b"transfer-encoding", b"chunked")],
            "the request's Transfer-Encoding is not just chunked",
        ),
        ([(b"host", b"a"), (b"host", b"a")], "the request has the header host twice"),
        (
            [(b"authorization", b"a"), (b"authorization", b"b")],
            "the request has the header authorization twice",
        ),
        ([(b"a", b"x\x00")], "a header of the request holds a control character"),
        ([(b"a", b"x\r\nb: c")], "a header of the request holds a control character"),
        ([(b"a", b"x\x7f")], "a header of the request holds a control character"),
    ],
)
def test_a_request_that_two_servers_could_read_differently_is_refused(
    headers: Headers, text: str
) -> None:
    with pytest.raises(InvalidArgument) as failure:
        heads.check_framing(headers)
    assert str(failure.value) == text


@pytest.mark.parametrize(
    ("header", "passes"),
    [
        ((b"x", b"1"), True),
        ((b"host", b"a"), True),
        ((b"content-length", b"3"), True),
        ((b"authorization", b"Bearer its-own"), True),
        ((b"authorization", b"Bearer spent"), False),
        ((b"authorization", b"Basic   spent "), False),
        ((b"authorization", b"spent"), True),
        ((heads.TOKEN_HEADER, b"Bearer its-own"), False),
        ((heads.SERVICE_KEY, b"a"), False),
        ((b"expect", b"100-continue"), False),
        *(((name, b"a"), False) for name in sorted(heads.HOP_BY_HOP)),
    ],
)
def test_headers_of_the_master_and_of_the_connection_stay(
    header: tuple[bytes, bytes], passes: bool
) -> None:
    assert heads.passed_on([header], {"spent"}) == ([header] if passes else [])


def test_headers_that_a_connection_names_stay_except_length_and_host() -> None:
    headers = [
        (b"connection", b"close, X-A ,content-length"),
        (b"connection", b"Host,x-b"),
        *((name, b"1") for name in (b"x-a", b"x-b", b"x-c", b"content-length", b"host")),
    ]
    left = [(b"x-c", b"1"), (b"content-length", b"1"), (b"host", b"1")]
    assert heads.passed_on(headers, ()) == left


@pytest.mark.parametrize(
    ("cookie", "left"),
    [
        (b"a=1; auth=2", [(b"cookie", b"a=1")]),
        (b"AUTH=1; __host-auth=2; det_device=3; det_service=4; det_ticket_x=5; b=6", b"b=6"),
        (b"auth=1", []),
        (b"auth", []),
        (b"authx=1; det_ticket=2", b"authx=1; det_ticket=2"),
    ],
)
def test_the_masters_own_cookies_stay(cookie: bytes, left: bytes | Headers) -> None:
    headers = [(b"cookie", left)] if isinstance(left, bytes) else left
    assert heads.passed_on([(b"cookie", cookie)], ()) == headers


def test_the_origin_of_a_request_is_added_once() -> None:
    assert heads.with_origin([(b"a", b"1")], "10.0.0.1", "http") == [
        (b"a", b"1"),
        (b"x-forwarded-for", b"10.0.0.1"),
        (b"x-real-ip", b"10.0.0.1"),
        (b"x-forwarded-proto", b"http"),
    ]
    earlier = [
        (b"x-forwarded-for", b"1.1.1.1"),
        (b"x-real-ip", b"1.1.1.1"),
        (b"x-forwarded-for", b"2.2.2.2"),
        (b"x-forwarded-proto", b"https"),
    ]
    assert heads.with_origin(earlier, "10.0.0.1", "http") == [
        (b"x-real-ip", b"1.1.1.1"),
        (b"x-forwarded-proto", b"https"),
        (b"x-forwarded-for", b"1.1.1.1, 2.2.2.2, 10.0.0.1"),
    ]
    assert heads.with_origin([], "", "https") == [(b"x-forwarded-proto", b"https")]


@pytest.mark.parametrize(
    ("query", "tokens", "left"),
    [
        (b"", {"t"}, b""),
        (b"token=t&a=1", set(), b"token=t&a=1"),
        (b"a=1&token=t&b=2&token=own&token=t", {"t"}, b"a=1&b=2&token=own"),
        (b"token=a%20b+c", {"a b c"}, b""),
        (b"Token=t&xtoken=t&token", {"t"}, b"Token=t&xtoken=t&token"),
    ],
)
def test_the_masters_tokens_are_taken_out_of_a_query(
    query: bytes, tokens: set[str], left: bytes
) -> None:
    assert heads.without_tokens(query, tokens) == left


@pytest.mark.parametrize(
    ("query", "token"),
    [
        (b"", ""),
        (b"a=1&token=%2F+x&token=b", "/ x"),
        (b"token=&token=b", "b"),
        (b"xtoken=a", ""),
    ],
)
def test_the_first_token_of_a_query_that_is_not_empty(query: bytes, token: str) -> None:
    assert heads.query_token(query) == token


@pytest.mark.parametrize(
    "name",
    [
        *(b"clear-site-data", b"www-authenticate", b"nel", b"report-to", b"accept-ch", b"alt-svc"),
        *(b"strict-transport-security", b"service-worker-allowed", b"refresh", b"x-anything"),
        *sorted(heads.HOP_BY_HOP),
    ],
)
def test_a_header_that_describes_more_than_the_answer_is_dropped(name: bytes) -> None:
    assert sent_back([(name, b"a")], PATH) == [VARY]


@pytest.mark.parametrize("name", sorted(ALLOWED))
def test_a_header_that_describes_the_answer_passes(name: bytes) -> None:
    assert sent_back([(name, b"a")], PATH) == [VARY, (name, b"a")]
    assert sent_back([(name, b"a\x01")], PATH) == [VARY]
    assert sent_back([(b"connection", name), (name, b"a")], PATH) == (
        [VARY, (name, b"a")] if name == b"content-length" else [VARY]
    )


@pytest.mark.parametrize(
    ("header", "framed"),
    [
        (
            (b"x-frame-options", b" SameOrigin "),
            (b"content-security-policy", b"frame-ancestors 'self' http://m"),
        ),
        ((b"x-frame-options", b"DENY"), (b"x-frame-options", b"DENY")),
        (
            (b"content-security-policy", b"a b; Frame-Ancestors 'self'; c"),
            (b"content-security-policy", b"a b; Frame-Ancestors 'self' http://m; c"),
        ),
        (
            (b"content-security-policy", b"frame-ancestors 'none'"),
            (b"content-security-policy", b"frame-ancestors 'none'"),
        ),
        ((b"etag", b"sameorigin"), (b"etag", b"sameorigin")),
    ],
)
def test_the_web_ui_may_frame_what_its_own_origin_may(
    header: tuple[bytes, bytes], framed: tuple[bytes, bytes]
) -> None:
    assert sent_back([header], PATH, "http://m") == [VARY, framed]
    assert sent_back([header], PATH) == [VARY, header]


@pytest.mark.parametrize(
    ("cookie", "passed"),
    [
        (b"a=1", b"a=1"),
        (b" a \t= 1 ;; HttpOnly ; Max-Age = 3", b"a=1; httponly; max-age=3"),
        (b"a=b=c; SameSite=None; Secure", b"a=b=c; samesite=None; secure"),
        (b"a=1; Expires=Thu, 01 Jan 2030", b"a=1; expires=Thu, 01 Jan 2030"),
        (b"a=1; Path=/proxy/x/lab", b"a=1; path=/proxy/x/lab"),
        (b"a=1; Path=/proxy/x", b"a=1; path=/proxy/x/"),
        (b"a=1; Path=/", b"a=1; path=/proxy/x/"),
        (b"a=1; Domain=example.com; Priority=High; Partitioned", b"a=1"),
        (b"a=1; path=/proxy/x/; path=/", b"a=1; path=/proxy/x/"),
        (b"=1", b""),
        (b"", b""),
        (b"auth=1", b""),
        (b"AUTH=1", b""),
        (b"det_ticket_1=1", b""),
        (b"__Host-a=1", b""),
        (b"__HTTP-a=1", b""),
        (b"__Secure-a=1", b""),
        (b"__hosta=1", b"__hosta=1"),
    ],
)
def test_a_cookie_of_a_service_is_for_its_own_paths_and_this_host(
    cookie: bytes, passed: bytes
) -> None:
    assert service_cookie(cookie, PATH) == passed
    assert sent_back([(b"set-cookie", cookie)], PATH) == (
        [VARY, (b"set-cookie", passed)] if passed else [VARY]
    )


def test_a_cookie_is_not_larger_than_browsers_take() -> None:
    largest = b"a=" + b"x" * (MAX_COOKIE_BYTES - 2)
    assert service_cookie(largest, PATH) == largest
    assert service_cookie(largest + b"x", PATH) == b""
