"""Names of services, and the ports that they stand for."""

from __future__ import annotations

from determined_master.domain.task.proxy_port import (
    ProxyPort,
    find_port,
    proxy_ports_of,
    task_of_service,
)

PORTS = (ProxyPort(80), ProxyPort(81, is_default=True))


def test_a_configuration_says_what_is_proxied_and_how() -> None:
    items = [
        {"proxy_port": 80, "proxy_tcp": True, "unauthenticated": True},
        {"proxy_port": 81, "default_service_id": True},
    ]
    assert proxy_ports_of({"proxy_ports": items}) == (
        ProxyPort(80, is_tcp=True, is_unauthenticated=True),
        ProxyPort(81, is_default=True),
    )
    assert proxy_ports_of({"proxy_ports": None}) == proxy_ports_of({}) == ()


def test_a_service_is_named_by_its_task_and_port_or_by_its_task_alone() -> None:
    assert [p.service_id("7.a") for p in PORTS] == ["7.a:80", "7.a"]
    assert task_of_service("7.a:80") == task_of_service("7.a") == "7.a"


def test_a_name_stands_for_one_declared_port_and_for_no_other() -> None:
    assert find_port(PORTS, "7.a:80") == PORTS[0]
    assert find_port(PORTS, "7.a") == PORTS[1]
    for other in ("7.a:81", "7.a:82", "7.a:", "7.a:080"):
        assert find_port(PORTS, other) is None
