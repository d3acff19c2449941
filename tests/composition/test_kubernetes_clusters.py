"""The address at which pods reach the master, and the account that the master uses."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest
from tests.certificates import Authority
from tests.covers import covers
from tests.master_settings import read

from determined_master.backends.kubernetes.options import MasterAddress
from determined_master.composition import kubernetes_clusters
from determined_master.composition.kubernetes_clusters import cluster_options
from determined_master.services.cluster.master import MasterFacts
from determined_wire.settings_reader import SettingsError

R = "helm-and-kubernetes"
FACTS = MasterFacts(version="1", master_id="m", cluster_id="c")


def address(directory: Path, text: str, more: str = "") -> MasterAddress:
    section = f"resource_manager: {{type: kubernetes, max_slots_per_pod: 4, {text}}}"
    settings = read(directory, f"port: 9999\n{section}\n{more}")
    return cluster_options(settings, settings.managers[0], FACTS).master


@covers(f"{R} 4.address 4.scheme")
def test_pods_reach_the_given_host_and_port(tmp_path: Path) -> None:
    given = "determined_master_host: det.example, determined_master_port: 444"
    assert address(tmp_path, given) == MasterAddress(host="det.example", port=444)
    found = address(tmp_path, f"{given}, determined_master_scheme: https")
    assert found.url == "https://det.example:444"


@covers(f"{R} 4.scheme")
def test_pods_speak_tls_with_a_master_that_has_a_certificate(tmp_path: Path) -> None:
    made = Authority(tmp_path).sign("det.example")
    found = address(
        tmp_path,
        "determined_master_host: det.example, determined_master_port: 444",
        f"security: {{tls: {{cert: {made.cert}, key: {made.key}}}}}",
    )
    assert found.scheme == "https"


@covers(f"{R} 4.service")
def test_the_service_of_the_master_is_looked_for_in_its_own_namespace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kubernetes_clusters, "own_namespace", lambda: "platform")
    monkeypatch.setenv("MASTER_SERVICE_SERVICE_PORT", "8088")
    found = address(tmp_path, "master_service_name: master-service, default_namespace: tasks")
    assert found == MasterAddress(host="master-service.platform.svc.cluster.local", port=8088)
    monkeypatch.delenv("MASTER_SERVICE_SERVICE_PORT")
    monkeypatch.setattr(kubernetes_clusters, "own_namespace", lambda: "")
    found = address(tmp_path, "master_service_name: master-service, default_namespace: tasks")
    assert found == MasterAddress(host="master-service.tasks.svc.cluster.local", port=9999)


def test_slots_can_be_devices_of_a_class(tmp_path: Path) -> None:
    text = "type: kubernetes, max_slots_per_pod: 1, master_service_name: m"
    more = "device_class: gpu.nvidia.com, device_selector: 'true'"
    settings = read(tmp_path, f"resource_manager: {{{text}, {more}}}")
    found = cluster_options(settings, settings.managers[0], FACTS)
    assert (found.device_class, found.device_selector) == ("gpu.nvidia.com", "true")


def test_a_master_that_pods_cannot_reach_is_refused_with_the_keys(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"determined_master_host: must .*master_service_name"):
        address(tmp_path, "default_namespace: tasks")


@covers(f"{R} 4.client")
@pytest.mark.parametrize(("path", "account"), [("", "platform/det"), ("/etc/kubeconfig", "")])
def test_the_account_is_the_pods_own_without_a_kubeconfig(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, account: str
) -> None:
    monkeypatch.setattr(kubernetes_clusters, "own_account", lambda: "platform/det")
    text = "type: kubernetes, max_slots_per_pod: 1, master_service_name: m"
    settings = read(tmp_path, f'resource_manager: {{{text}, kubeconfig_path: "{path}"}}')
    found = cluster_options(settings, settings.managers[0], FACTS)
    assert (found.kubeconfig_path, found.own_account) == (path, account)


def test_tasks_have_neither_the_account_of_a_kubeconfig_nor_the_reserved_names(
    tmp_path: Path,
) -> None:
    claims = base64.urlsafe_b64encode(b'{"sub": "system:serviceaccount:east:det-master"}').decode()
    config = {
        "current-context": "east",
        "contexts": [{"name": "east", "context": {"user": "det"}}],
        "users": [{"name": "det", "user": {"token": f"x.{claims}.y"}}],
    }
    path = tmp_path / "kubeconfig"
    path.write_text(json.dumps(config))
    text = "type: kubernetes, max_slots_per_pod: 1, master_service_name: m"
    more = f'kubeconfig_path: "{path}", reserved_names: [tls]'
    settings = read(tmp_path, f"resource_manager: {{{text}, {more}}}")
    found = cluster_options(settings, settings.managers[0], FACTS)
    assert (found.own_account, found.reserved_names) == ("east/det-master", ("tls",))
