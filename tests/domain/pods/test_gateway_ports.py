"""Ports of a Gateway: no two tasks share one, whatever masters, restarts and tools do."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.covers import covers

from determined_master.domain.pods.gateway_listeners import (
    OWNER_NOTE,
    SPARE,
    leases_of,
    listener_ports,
    taken_ports,
)
from determined_master.domain.pods.gateway_ports import (
    GatewayChange,
    PodPorts,
    PortRange,
    lease_ports,
    ports_of,
    ports_text,
    settle,
)

Json = dict[str, Any]
RANGE = PortRange(40000, 40003)
HTTP = {"name": "http", "protocol": "HTTP", "port": 80}


def gateway(*listeners: Json, **annotations: str) -> Json:
    return {
        "metadata": {"name": "g", "annotations": annotations},
        "spec": {"listeners": [*listeners]},
    }


def pod(name: str, *ports: int, cluster: str = "ours", **leased: int) -> PodPorts:
    return PodPorts(
        cluster_id=cluster,
        allocation_id=f"a-{name}",
        container_id=name,
        namespace="lab",
        routes={port: f"det-{name}-{port}" for port in ports or (8888,)},
        leased={int(inside[1:]): port for inside, port in leased.items()},
    )


def leased(change: GatewayChange | None) -> dict[str, int]:
    assert change is not None
    return {f"{one.container_id}:{one.container_port}": one.port for one in change.leases}


@covers("helm-and-kubernetes 17.ports")
def test_the_lowest_free_port_is_leased_and_listeners_of_others_stay() -> None:
    taken = {"name": "db", "protocol": "TCP", "port": 40000}
    change = lease_ports(gateway(HTTP, taken), pod("c", 8888, 6006), RANGE)
    assert leased(change) == {"c:6006": 40001, "c:8888": 40002}
    assert change is not None
    assert change.gateway["spec"]["listeners"][:2] == [HTTP, taken]


def test_a_listener_takes_tcp_routes_of_the_namespace_of_its_task_alone() -> None:
    change = lease_ports(gateway(HTTP), pod("c"), RANGE)
    assert change is not None
    [_, made] = change.gateway["spec"]["listeners"]
    assert (made["name"], made["protocol"], made["port"]) == ("det-40000", "TCP", 40000)
    assert made["allowedRoutes"] == {
        "kinds": [{"group": "gateway.networking.k8s.io", "kind": "TCPRoute"}],
        "namespaces": {
            "from": "Selector",
            "selector": {"matchLabels": {"kubernetes.io/metadata.name": "lab"}},
        },
    }
    assert (
        change.gateway["metadata"]["annotations"]["determined.ai/det-gateway-port-40000"] == "a-c"
    )


def test_a_lease_that_is_asked_for_again_stays_the_same() -> None:
    first = lease_ports(gateway(HTTP), pod("c"), RANGE)
    assert first is not None
    again = lease_ports(first.gateway, pod("c"), RANGE)
    assert again is not None
    assert not again.is_changed
    assert leased(again) == leased(first)


def test_a_range_that_is_used_up_leases_nothing() -> None:
    of_0_38 = {
        f"determined.ai/det-gateway-port-{port}": "an allocation" for port in (40000, 40001)
    }
    assert lease_ports(gateway(HTTP, **of_0_38), pod("c", 1, 2, 3), RANGE) is None
    assert lease_ports(gateway(HTTP), pod("c", 1, 2, 3), RANGE, {40003, 40001}) is None
    change = lease_ports(gateway(HTTP, **of_0_38), pod("c", 1, 2), RANGE)
    assert leased(change) == {"c:1": 40002, "c:2": 40003}


def test_leases_of_pods_that_are_gone_are_freed_and_those_of_others_stay() -> None:
    first = lease_ports(gateway(HTTP), pod("c"), RANGE)
    assert first is not None
    both = lease_ports(first.gateway, pod("d", cluster="theirs"), RANGE)
    assert both is not None
    kept = settle(both.gateway, "ours", [pod("c", p8888=40000)])
    assert not kept.is_changed
    held = settle(both.gateway, "ours", [], held=["c"])
    assert not held.is_changed
    change = settle(both.gateway, "ours", [])
    assert [lease.port for lease in change.freed] == [40000]
    assert change.freed[0].route == "det-c-8888"
    assert listener_ports(change.gateway) == {80, 40001}
    assert [lease.container_id for lease in leases_of(change.gateway, "theirs")] == ["d"]


def test_the_last_listener_stays_as_a_spare_one_until_the_next_lease() -> None:
    first = lease_ports(gateway(), pod("c"), RANGE)
    assert first is not None
    empty = settle(first.gateway, "ours", []).gateway
    assert listener_ports(empty) == {40000}
    assert empty["metadata"]["annotations"] == {f"{OWNER_NOTE}40000": SPARE}
    assert taken_ports(empty) == set()
    change = lease_ports(empty, pod("d", 1, 2), PortRange(40001, 40002))
    assert leased(change) == {"d:1": 40001, "d:2": 40002}
    assert change is not None
    assert listener_ports(change.gateway) == {40001, 40002}
    assert leased(lease_ports(empty, pod("d"), RANGE)) == {"d:8888": 40000}


@pytest.mark.parametrize("is_listening", [True, False], ids=["annotations", "everything"])
def test_leases_that_a_tool_has_removed_come_back_from_the_pods(is_listening: bool) -> None:
    first = lease_ports(gateway(HTTP), pod("c"), RANGE)
    assert first is not None
    listeners = first.gateway["spec"]["listeners"] if is_listening else [HTTP]
    change = settle(gateway(*listeners), "ours", [pod("c", p8888=40000)])
    assert change.gateway == first.gateway
    assert not change.lost


def test_a_listener_that_is_missing_comes_back() -> None:
    first = lease_ports(gateway(HTTP), pod("c"), RANGE)
    assert first is not None
    first.gateway["spec"]["listeners"].pop()
    change = settle(first.gateway, "ours", [pod("c", p8888=40000)])
    assert listener_ports(change.gateway) == {80, 40000}


def test_a_port_that_others_have_taken_meanwhile_is_lost() -> None:
    theirs = lease_ports(gateway(HTTP), pod("d", cluster="theirs"), RANGE)
    assert theirs is not None
    change = settle(theirs.gateway, "ours", [pod("c", p8888=40000)])
    assert [(one.container_id, one.port) for one in change.lost] == [("c", 40000)]
    assert not change.is_changed


@pytest.mark.parametrize("text", ["ours/c/8888/lab", "ours/c/x/lab/r", "a", "", "ours/c/0/lab/r"])
def test_annotations_that_no_master_writes_are_left_out(text: str) -> None:
    given = gateway(HTTP, **{f"{OWNER_NOTE}40000": text, f"{OWNER_NOTE}x": "ours/c/1/lab/r"})
    assert leases_of(given, "ours") == ()
    assert 40000 in taken_ports(given)


def test_the_annotation_of_a_pod_is_read_back() -> None:
    assert ports_of(ports_text({8888: 40000, 6006: 40001})) == {8888: 40000, 6006: 40001}
    assert ports_of("8888=40000,x=1,5=,7,=3,99999=1,8=\u0663") == {8888: 40000}
    assert ports_of("") == {}


class Cluster:
    """One Gateway, and the pods of two masters."""

    def __init__(self) -> None:
        self.gateway = gateway(HTTP)
        self.pods: dict[str, dict[str, PodPorts]] = {"ours": {}, "theirs": {}}

    def start(self, master: str, name: str, count: int) -> None:
        own = self.pods[master]
        container = f"{master}-{name}"
        if container in own:
            return
        wanted = pod(container, *range(1, count + 1), cluster=master)
        reserved = {port for one in own.values() for port in one.leased.values()}
        change = lease_ports(self.gateway, wanted, RANGE, reserved)
        if change is None:
            return
        self.gateway = change.gateway
        ports = {e.container_port: e.port for e in change.leases if e.container_id == container}
        assert ports.keys() == wanted.routes.keys()
        named = {f"p{inside}": port for inside, port in ports.items()}
        own[container] = pod(container, *wanted.routes, cluster=master, **named)

    def settle(self, master: str) -> None:
        change = settle(self.gateway, master, self.pods[master].values())
        assert not change.lost
        self.gateway = change.gateway

    def check(self) -> None:
        """Each port of the Gateway leads to one pod, and each pod has its ports."""
        found = [lease for master in self.pods for lease in leases_of(self.gateway, master)]
        ports = [lease.port for lease in found]
        assert len(set(ports)) == len(ports)
        assert set(ports) <= listener_ports(self.gateway)
        names = [one["name"] for one in self.gateway["spec"]["listeners"]]
        assert len(set(names)) == len(names)
        assert "http" in names
        for own in self.pods.values():
            for one in own.values():
                mine = {
                    e.container_port: e.port for e in found if e.container_id == one.container_id
                }
                assert mine == one.leased


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["start", "end", "settle"]),
        st.sampled_from(["ours", "theirs"]),
        st.sampled_from("abc"),
        st.integers(1, 3),
    ),
    max_size=30,
)


@pytest.mark.slow
@given(STEPS)
def test_no_port_ever_leads_to_two_pods(steps: list[tuple[str, str, str, int]]) -> None:
    cluster = Cluster()
    for what, master, name, count in steps:
        if what == "start":
            cluster.start(master, name, count)
        elif what == "end":
            cluster.pods[master].pop(f"{master}-{name}", None)
            cluster.settle(master)
        else:
            cluster.settle(master)
        cluster.check()
