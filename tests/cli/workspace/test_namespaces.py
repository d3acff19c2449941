"""`det workspace bindings` and `resource-quota`: their requests and their output."""

from __future__ import annotations

from tests.cli import canned
from tests.cli.conftest import Det
from tests.cli.fake_master import FakeMaster

HERE = "/api/v1/workspaces/7"
FOUND = {
    "west": {"workspaceId": 7, "namespace": "team", "clusterName": "west"},
    "east": {
        "workspaceId": 7,
        "namespace": "vision-det-6f1e-7",
        "clusterName": "east",
        "autoCreateNamespace": True,
    },
}


def _named(master: FakeMaster) -> None:
    page = canned.page("workspaces", {"id": 7, "name": "vision"})
    master.routes[("GET", "/api/v1/workspaces")] = (200, page)


def test_a_workspace_is_bound_and_its_bindings_are_listed(det: Det, master: FakeMaster) -> None:
    _named(master)
    route = f"{HERE}/namespace-bindings"
    master.routes[("POST", route)] = (200, {"namespaceBindings": FOUND})
    words = ("w", "bindings", "set", "vision", "--cluster-name", "west", "--namespace", "team")
    out = det(*words).out
    [call] = master.made("POST", route)
    wanted = {
        "namespace": "team",
        "clusterName": "west",
        "autoCreateNamespace": False,
        "autoCreateNamespaceAllClusters": False,
    }
    assert call.json == {"clusterNamespaceMeta": {"west": wanted}}
    master.routes[("GET", f"{HERE}/list-namespace-bindings")] = (200, {"namespaceBindings": FOUND})
    assert det("w", "bindings", "ls", "vision").out == out
    rows = [line.split() for line in out.splitlines()[2:]]
    assert [[word for word in row if word != "|"] for row in rows] == [
        ["east", "vision-det-6f1e-7", "True"],
        ["west", "team", "False"],
    ]


def test_a_binding_is_deleted(det: Det, master: FakeMaster) -> None:
    _named(master)
    master.routes[("DELETE", f"{HERE}/namespace-bindings")] = (200, {})
    assert "'vision'" in det("w", "bindings", "delete", "vision", "--cluster-name", "west").out
    [call] = master.made("DELETE", f"{HERE}/namespace-bindings")
    assert call.query == {"clusterNames": ["west"]}


def test_a_quota_is_set(det: Det, master: FakeMaster) -> None:
    _named(master)
    master.routes[("POST", f"{HERE}/set-resource-quota")] = (200, {})
    assert "to 8 GPUs" in det("w", "resource-quota", "set", "vision", "8").out
    [call] = master.made("POST", f"{HERE}/set-resource-quota")
    assert call.json == {"clusterQuotaPairs": {"": 8}}


def test_without_a_namespace_nothing_is_sent(det: Det, master: FakeMaster) -> None:
    said = det("w", "bindings", "set", "vision")
    assert said[0] != 0
    assert "give --namespace" in said.err
    assert not master.made("POST", f"{HERE}/namespace-bindings")
