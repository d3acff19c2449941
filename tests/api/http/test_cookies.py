"""Cookies of requests, and the cookies of a login: values alone."""

from __future__ import annotations

import pytest

from determined_master.api.http import cookies


@pytest.mark.parametrize(
    ("header", "found"),
    [
        (b"", []),
        (b"a=1", [(b"a", b"1")]),
        (b"a=1; b=2;c=3", [(b"a", b"1"), (b"b", b"2"), (b"c", b"3")]),
        (b" \ta \t= \t1 2\t; ;;", [(b"a", b"1 2")]),
        (b"a=b=c; =x", [(b"a", b"b=c"), (b"", b"x")]),
        (b"alone; a=", [(b"", b"alone"), (b"a", b"")]),
        (b'a="1;b=2"', [(b"a", b'"1'), (b"b", b'2"')]),
    ],
)
def test_a_header_is_split_at_semicolons_alone(
    header: bytes, found: list[tuple[bytes, bytes]]
) -> None:
    assert list(cookies.pairs(header)) == found


def test_values_are_those_of_exactly_that_name() -> None:
    assert cookies.values(b"", "a") == []
    assert cookies.values(b"a=1; A=2; aa=3; a=\xff", "a") == ["1", "\xff"]


@pytest.mark.parametrize(
    ("header", "left"),
    [
        (b"a=1; auth=2; b=3", b"a=1; b=3"),
        (b"auth=2;  b = 3 ", b"b = 3"),
        (b"x; auth=1; =y; a=1", b"a=1"),
        (b"auth=2", b""),
        (b"a=1;auth=2; auth\t=3", b"a=1"),
    ],
)
def test_dropped_cookies_and_those_without_a_name_are_left_out(header: bytes, left: bytes) -> None:
    assert cookies.without(header, lambda name: name == b"auth") == left


@pytest.mark.parametrize(
    ("header", "is_secure_page", "token"),
    [
        (b"", False, ""),
        (b"", True, ""),
        (b"auth=a", False, "a"),
        (b"auth=a", True, ""),
        (b"__Host-auth=s; auth=a", True, "s"),
        (b"auth=a; __Host-auth=s", False, "s"),
        (b"auth=a; __Host-auth=", False, "a"),
        (b"auth=a; auth=b; __Host-auth=s", False, "s"),
    ],
)
def test_the_login_of_tls_counts_first(header: bytes, is_secure_page: bool, token: str) -> None:
    assert cookies.login_token(header, is_secure_page=is_secure_page) == token


@pytest.mark.parametrize(
    ("header", "is_secure_page", "name"),
    [
        (b"auth=a; auth=a", False, "auth"),
        (b"__Host-auth=a; auth=b; __Host-auth=c", True, "__Host-auth"),
        (b"__Host-auth=a; __Host-auth=a", False, "__Host-auth"),
    ],
)
def test_two_logins_are_refused_by_name(header: bytes, is_secure_page: bool, name: str) -> None:
    with pytest.raises(cookies.TwoLogins) as failure:
        cookies.login_token(header, is_secure_page=is_secure_page)
    assert str(failure.value) == (
        f"the request has the cookie {name} more than once, and one may be somebody else's. "
        "This answer removes the others: reload the page. If that does not help, delete the "
        "cookies of this address in the browser and sign in again"
    )


def test_the_login_cookie_is_of_the_whole_host_and_of_no_script() -> None:
    assert cookies.login_cookie("t", "never", is_secure=False) == (
        b"auth=t; Path=/; Expires=never; HttpOnly; SameSite=Lax"
    )
    assert cookies.login_cookie("t", "never", is_secure=True) == (
        b"__Host-auth=t; Path=/; Expires=never; HttpOnly; SameSite=Lax; Secure"
    )


def test_the_mark_of_a_device_is_sent_to_the_login_routes_alone() -> None:
    end = b"; Max-Age=34560000; HttpOnly; SameSite=Strict"
    assert cookies.device_cookies("m", "/ml", is_secure=True) == [
        b"det_device=m; Path=/ml/api/v1/auth/login" + end + b"; Secure",
        b"det_device=m; Path=/ml/login" + end + b"; Secure",
        b"det_device=m; Path=/ml/det/login" + end + b"; Secure",
    ]
    assert cookies.device_cookies("m", "", is_secure=False)[1] == (
        b"det_device=m; Path=/login" + end
    )


def places(path: str, host: str) -> list[str]:
    begin = b"auth=; Expires=Thu, 01 Jan 1970 00:00:00 GMT"
    removals = cookies.expiries(path, host)
    assert all(each.startswith(begin) for each in removals)
    return [each.removeprefix(begin).decode("latin-1") for each in removals]


def test_a_login_is_removed_from_each_path_and_domain_but_its_own() -> None:
    assert places("/a/b", "x.example.com:8080") == [
        *("; Path=/a", "; Path=/a/", "; Path=/a/b", "; Path=/a/b/"),
        *(
            f"; Path={path}; Domain={domain}"
            for domain in ("x.example.com", "example.com")
            for path in ("/", "/a", "/a/", "/a/b", "/a/b/")
        ),
    ]


@pytest.mark.parametrize("host", ["10.0.0.1", "10.0.0.1:80", "[::1]", "[::1]:8080"])
def test_an_address_has_no_domain(host: str) -> None:
    assert places("/", host) == []
    assert places("//a", host) == ["; Path=/a", "; Path=/a/"]


def test_a_host_of_one_label_is_its_own_domain() -> None:
    assert places("/", "master") == ["; Path=/; Domain=master"]


def test_removals_have_a_bound_and_hold_no_odd_character() -> None:
    assert len(places("/a" * 200, "example.com")) == cookies.MAX_EXPIRIES == 64
    assert places("/a\r\nSet-Cookie: x", "10.0.0.1") == []
    assert cookies.expiries("/\u0416", "10.0.0.1")[0].endswith(b"; Path=/?")
