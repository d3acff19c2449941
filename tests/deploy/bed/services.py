"""Stands for kube-proxy, the cluster's DNS and a cloud's load balancer, which a test bed lacks.

Services are reached at addresses that the test chooses and gives to pods as host aliases.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any
from urllib.parse import urlsplit

from ruamel.yaml import YAML

Json = dict[str, Any]
_CHAIN = "DET-TEST-SERVICES"
_HOOKS = {"nat": ("PREROUTING", "OUTPUT"), "filter": ("FORWARD", "OUTPUT")}
"""Of each table, the chains that lead to ours."""
_API_SERVICE = "10.96.0.1"
_PAUSE_S = 0.5


class Kubectl:
    """Commands on one cluster."""

    def __init__(self, kubeconfig: str) -> None:
        self.kubeconfig = kubeconfig

    def __call__(self, *words: str, typed: str = "") -> str:
        done = self.tried(*words, typed=typed)
        assert done.returncode == 0, f"kubectl {' '.join(words)}: {done.stderr}"
        return done.stdout

    def tried(self, *words: str, typed: str = "") -> subprocess.CompletedProcess[str]:
        """A command that may fail."""
        command = ["kubectl", "--kubeconfig", self.kubeconfig, *words]
        return subprocess.run(command, input=typed, capture_output=True, text=True, check=False)

    def get(self, *words: str) -> list[Json]:
        """The objects that `kubectl get` finds."""
        found: list[Json] = json.loads(self("get", *words, "-o", "json"))["items"]
        return found


@contextmanager
def routed(kubectl: Kubectl, namespace: str, addresses: Mapping[str, str]) -> Iterator[None]:
    """Lead connections to an address to the ready pods of its Service, from pods and from here.

    A Service that waits for the address of a load balancer gets that one.

    Args:
        addresses: of Services, by name.
    """
    config = YAML(typ="safe").load(Path(kubectl.kubeconfig))
    api = urlsplit(config["clusters"][0]["cluster"]["server"]).netloc
    over = Event()
    thread = Thread(target=_follow, args=(kubectl, namespace, addresses, api, over))
    local = Path("/proc/sys/net/ipv4/conf/docker0/route_localnet")
    before = local.read_text()
    local.write_text("1")  # the bed's API server listens on loopback alone
    for table in _HOOKS:
        _remove_chain(table)  # that of a run that was killed
        _add_chain(table)
    # As kube-proxy does, refuse connections to a Service without a ready pod.
    for address in addresses.values():
        _iptables("-A", _CHAIN, "-d", address, "-j", "REJECT", table="filter")
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        for table in _HOOKS:
            _remove_chain(table)
        local.write_text(before)


def _add_chain(table: str) -> None:
    _iptables("-N", _CHAIN, table=table)
    for hook in _HOOKS[table]:
        _iptables("-I", hook, "-j", _CHAIN, table=table)


def _remove_chain(table: str) -> None:
    if not _exists("-S", _CHAIN, table=table):
        return
    for hook in _HOOKS[table]:
        while _exists("-C", hook, "-j", _CHAIN, table=table):
            _iptables("-D", hook, "-j", _CHAIN, table=table)
    _iptables("-F", _CHAIN, table=table)
    _iptables("-X", _CHAIN, table=table)


def _follow(
    kubectl: Kubectl, namespace: str, addresses: Mapping[str, str], api: str, over: Event
) -> None:
    known: list[tuple[str, str, str]] | None = None
    while not over.wait(_PAUSE_S if known is not None else 0):
        listed = kubectl.get("services,endpoints", "-n", namespace)
        _balance(kubectl, listed, addresses)
        found = [(_API_SERVICE, "443", api), *_targets(listed, addresses)]
        if found == known:
            continue
        _iptables("-F", _CHAIN)
        for address, port, target in found:
            words = ("-A", _CHAIN, "-d", address, "-p", "tcp", "--dport", port)
            _iptables(*words, "-j", "DNAT", "--to-destination", target)
        known = found


def _balance(kubectl: Kubectl, listed: list[Json], addresses: Mapping[str, str]) -> None:
    """Report addresses to Services of type LoadBalancer, as the controller of a cloud does."""
    for service in (one for one in listed if one["kind"] == "Service"):
        meta = service["metadata"]
        is_waiting = service["spec"]["type"] == "LoadBalancer" and not service["status"].get(
            "loadBalancer"
        )
        if is_waiting and meta["name"] in addresses:
            service["status"] = {"loadBalancer": {"ingress": [{"ip": addresses[meta["name"]]}]}}
            path = f"/api/v1/namespaces/{meta['namespace']}/services/{meta['name']}/status"
            # One that has changed meanwhile is refused, and waits until the next look.
            kubectl.tried("replace", "--raw", path, "-f", "-", typed=json.dumps(service))


def _targets(listed: list[Json], addresses: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """Address, port and a ready pod's `ADDRESS:PORT`, of each Service's port."""
    ready = {o["metadata"]["name"]: o for o in listed if o["kind"] == "Endpoints"}
    for service in (one for one in listed if one["kind"] == "Service"):
        name = service["metadata"]["name"]
        for subset in (ready.get(name) or {}).get("subsets") or ():
            for port in service["spec"]["ports"]:
                number = next(
                    p["port"] for p in subset["ports"] if p.get("name") == port.get("name")
                )
                for pod in subset.get("addresses", ())[:1]:
                    if name in addresses:
                        yield addresses[name], str(port["port"]), f"{pod['ip']}:{number}"


def _iptables(*words: str, table: str = "nat") -> None:
    subprocess.run(["iptables", "-w", "-t", table, *words], check=True, capture_output=True)


def _exists(*words: str, table: str) -> bool:
    command = ["iptables", "-w", "-t", table, *words]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0
