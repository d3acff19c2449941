"""Addresses that others may name: every form of a special address is a special address."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from ipaddress import IPv4Address, IPv6Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from determined_master.domain.addresses import (
    choose_own,
    find_problem,
    is_in,
    is_loopback,
    is_public,
    is_same,
    networks_of,
)

SPECIAL_V4 = (
    "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
    "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15",
    "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4", "168.63.129.16/32",
)  # fmt: skip
FORMS: dict[str, Callable[[int], IPv6Address]] = {
    "mapped": lambda ip: IPv6Address(0xFFFF << 32 | ip),
    "compatible": IPv6Address,
    "translated": lambda ip: IPv6Address(0xFFFF << 48 | ip),
    "NAT64": lambda ip: IPv6Address(int(IPv6Address("64:ff9b::")) | ip),
    "local NAT64": lambda ip: IPv6Address(int(IPv6Address("64:ff9b:1::")) | ip),
    "6to4": lambda ip: IPv6Address(0x2002 << 112 | ip << 80),
    "Teredo": lambda ip: IPv6Address(0x20010000 << 96 | (ip ^ 0xFFFFFFFF)),
    "ISATAP": lambda ip: IPv6Address(0x26064700 << 96 | 0x5EFE << 32 | ip),
    "public ISATAP": lambda ip: IPv6Address(0x26064700 << 96 | 0x02005EFE << 32 | ip),
}
special = st.sampled_from(SPECIAL_V4).flatmap(
    lambda text: st.ip_addresses(v=4, network=text)  # type: ignore[no-any-return]
)


@given(special, st.sampled_from(sorted(FORMS)))
def test_a_special_address_is_not_public_in_any_form(ip: IPv4Address, form: str) -> None:
    assert not is_public(str(ip))
    assert not is_public(str(FORMS[form](int(ip))))
    assert not is_public(f"{FORMS[form](int(ip)).exploded}%eth0")


@given(st.ip_addresses(v=6))
def test_an_ipv6_address_that_no_host_of_the_internet_has_is_not_public(ip: IPv6Address) -> None:
    if ip not in ipaddress.ip_network("2000::/3") and ip not in ipaddress.ip_network(
        "64:ff9b::/96"
    ):
        inner = ip.ipv4_mapped
        assert not is_public(str(ip)) or (inner is not None and is_public(str(inner)))


@given(st.ip_addresses(v=4), st.sampled_from(("mapped", "NAT64", "6to4", "ISATAP")))
def test_an_address_and_the_one_inside_of_it_are_judged_alike(ip: IPv4Address, form: str) -> None:
    outer = str(FORMS[form](int(ip)))
    assert is_public(outer) is is_public(str(ip))
    assert is_same(outer, str(ip))
    assert is_loopback(outer) is is_loopback(str(ip))
    assert is_in(outer, [ipaddress.ip_network(f"{ip}/32")])


@pytest.mark.parametrize(
    "address",
    [
        "192.0.0.192", "100.100.100.200", "168.63.129.16", "169.254.169.254", "fd00:ec2::254",
        "fd20:ce::254", "::127.0.0.1", "64:ff9b:1::a9fe:a9fe", "::ffff:169.254.169.254",
        "64:ff9b::a9fe:a9fe", "2002:7f00:1::", "::", "::1", "fe80::1%eth0", "fec0::1", "ff02::1",
        "2001:db8::1", "2001::1", "3fff::1", "5f00::1", "4000::1", "255.255.255.255",
    ],
)  # fmt: skip
def test_metadata_of_clouds_and_the_like_are_refused_with_the_reason(address: str) -> None:
    problem = find_problem("name.example", address)
    assert problem is not None
    assert problem.startswith(f"name.example has the address {address}")
    assert "which is" in problem


@pytest.mark.parametrize("address", ["8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8"])
def test_an_address_of_the_internet_may_be_named(address: str) -> None:
    assert find_problem("name.example", address) is None


def test_an_admin_allows_a_network_in_each_form_of_its_addresses() -> None:
    allowed = networks_of(["10.1.0.0/16", "fd00:1::/32"])
    for address in ("10.1.2.3", "::ffff:10.1.2.3", "64:ff9b::10.1.2.3", "fd00:1::7"):
        assert find_problem("h", address, allowed) is None
    for address in ("10.2.0.1", "::ffff:10.2.0.1", "fd00:2::7", "::10.1.2.3"):
        assert find_problem("h", address, allowed) is not None
    with pytest.raises(ValueError, match="has host bits set"):
        networks_of(["10.1.2.3/16"])


def never(address: str) -> bool:
    return False


def test_an_agents_own_address_is_that_of_its_connection_or_one_that_an_admin_allows() -> None:
    allowed = networks_of(["10.1.0.0/16"])
    assert choose_own(["10.0.0.7"], "10.0.0.7", (), never) == "10.0.0.7"
    assert choose_own(["::ffff:10.0.0.7"], "10.0.0.7", (), never) == "10.0.0.7"
    assert choose_own(["10.0.0.8"], "10.0.0.7", allowed, never) is None
    assert choose_own(["10.0.0.8", "10.1.0.8"], "10.0.0.7", allowed, never) == "10.1.0.8"
    assert choose_own(["127.0.0.1"], "10.0.0.7", allowed, lambda a: True) is None


def test_an_agent_on_the_masters_machine_names_any_address_of_it() -> None:
    def is_local(address: str) -> bool:
        return address in ("172.17.0.2", "127.0.0.1")

    assert choose_own(["172.17.0.2"], "127.0.0.1", (), is_local) == "172.17.0.2"
    assert choose_own(["127.0.0.1"], "::1", (), is_local) == "127.0.0.1"
    assert choose_own(["172.17.0.3"], "127.0.0.1", (), is_local) is None


@pytest.mark.parametrize(
    ("address", "problem"),
    [
        ("10.1.2.3", "h has the address 10.1.2.3, which is private (RFC 1918)"),
        ("::ffff:127.0.0.1", "h has the address ::ffff:127.0.0.1 (127.0.0.1), which is loopback"),
        ("4000::1", "h has the address 4000::1, which is reserved (RFC 4291)"),
        ("2606::1%eth0", None),
    ],
)
def test_the_reason_names_the_host_the_address_and_the_one_inside(
    address: str, problem: str | None
) -> None:
    text = find_problem("h", address)
    assert (text is None) is (problem is None)
    assert (text or "").startswith(problem or "")


def test_a_text_that_is_no_address_is_neither_loopback_nor_the_same() -> None:
    assert is_loopback("127.3.2.1")
    assert is_loopback("::1")
    assert not is_loopback("localhost")
    assert not is_same("localhost", "localhost")
