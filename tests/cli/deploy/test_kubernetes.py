"""`det deploy kubernetes` with a program that stands for Helm: its arguments and the messages.

`tests/deploy/helm/test_on_cluster.py` runs the same commands with Helm on a real cluster.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from tests.cli.conftest import Det

HELM = """#!/bin/sh
echo "$@" >> "$HELM_CALLS"
case "$1" in
upgrade) echo "Error: context deadline exceeded" >&2; exit "$HELM_UPGRADE" ;;
uninstall) echo "Error: uninstall: Release not loaded" >&2; exit "$HELM_UNINSTALL" ;;
list)
    [ -z "$HELM_FAULT" ] || { echo "Error: $HELM_FAULT" >&2; exit 1; }
    printf '%s' "$HELM_LIST" ;;
status)
    [ -n "$HELM_STATUS" ] || exit 1
    printf '%s' "$HELM_STATUS" ;;
esac
"""
STATUS = """NAME: r1
STATUS: failed
RESOURCES:
==> v1/Service
NAME     EXTERNAL-IP
master   <pending>

==> v1/ServiceAccount
NAME      SECRETS
account   1

==> v1/Pod(related)
NAME     READY
master   0/1

NOTES:
how to begin
"""


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file with the arguments of every call of Helm."""
    program = tmp_path / "bin" / "helm"
    program.parent.mkdir()
    program.write_text(HELM)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("HELM_CALLS", str(tmp_path / "calls"))
    monkeypatch.setenv("HELM_UPGRADE", "0")
    monkeypatch.setenv("HELM_UNINSTALL", "0")
    monkeypatch.setenv("HELM_STATUS", "")
    monkeypatch.setenv("HELM_LIST", "")
    monkeypatch.setenv("HELM_FAULT", "")
    return tmp_path / "calls"


def test_up_waits_for_the_release_and_passes_values_on(
    det: Det, calls: Path, tmp_path: Path
) -> None:
    values = tmp_path / "values.yaml"
    values.write_text(json.dumps({"maxSlotsPerPod": 0}))
    words = ("--release", "r1", "--namespace", "n1", "--kubeconfig", "k", "--timeout", "7")
    done = det(
        *("deploy", "kubernetes", "up", *words),
        *("--values", str(values), "--set", "clusterName=a"),
    )
    assert done.status == 0, done.err
    [call] = calls.read_text().splitlines()
    assert call.startswith("upgrade r1 ")
    assert call.endswith(
        "/helm/determined --install --create-namespace --namespace n1 --kubeconfig k "
        f"--values {values} --set clusterName=a --wait --timeout 7s"
    )


def test_an_up_that_does_not_get_ready_shows_its_objects_and_the_remedies(
    det: Det, calls: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HELM_UPGRADE", "1")
    monkeypatch.setenv("HELM_STATUS", STATUS)
    done = det("deploy", "kubernetes", "up", "--release", "r1", "--namespace", "n1")
    assert done.status == 1
    assert "master   <pending>" in done.err
    assert "master   0/1" in done.err
    assert "account" not in done.err
    assert "kubectl --namespace n1 logs -l app=determined-master-r1" in done.err
    assert "helm --namespace n1 rollback r1" in done.err


@pytest.mark.parametrize("status", ["", STATUS.replace("failed", "deployed")])
def test_an_up_that_changes_nothing_has_helms_own_error_alone(
    det: Det, calls: Path, monkeypatch: pytest.MonkeyPatch, status: str
) -> None:
    monkeypatch.setenv("HELM_UPGRADE", "1")
    monkeypatch.setenv("HELM_STATUS", status)
    done = det("deploy", "kubernetes", "up")
    assert done.status == 1
    assert done.err.endswith("helm upgrade ended with status 1: its own message is above\n")
    assert "rollback" not in done.err


@pytest.mark.parametrize(
    ("fault", "is_named"),
    [
        ('Kubernetes cluster unreachable: Get "http://localhost:8080/version"', True),
        ("secrets is forbidden: User cannot list resource secrets", False),
    ],
)
@pytest.mark.parametrize("words", [("up",), ("down", "--yes")])
def test_how_to_name_a_cluster_is_said_where_none_answers(
    det: Det,
    calls: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    fault: str,
    is_named: bool,
) -> None:
    for step in ("HELM_UPGRADE", "HELM_UNINSTALL"):
        monkeypatch.setenv(step, "1")
    monkeypatch.setenv("HELM_FAULT", fault)
    done = det("deploy", "kubernetes", *words)
    assert done.status == 1
    assert ("set KUBECONFIG, or give --kubeconfig and --kube-context" in done.err) == is_named


def test_a_missing_helm_is_the_only_thing_that_is_missing(
    det: Det, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("determined_deploy.kubernetes.helm.find_helm", lambda: None)
    done = det("deploy", "kubernetes", "up")
    assert done.status == 1
    assert "there is no helm on the PATH" in done.err
    assert "KUBECONFIG" not in done.err


def test_a_file_of_values_that_is_not_there_is_named(det: Det, calls: Path) -> None:
    done = det("deploy", "kubernetes", "up", "--values", "nowhere.yaml")
    assert done.status == 1
    assert "--values nowhere.yaml: there is no such file" in done.err
    assert not calls.exists()


def test_down_waits_for_the_pods_and_keeps_the_database(det: Det, calls: Path) -> None:
    done = det("deploy", "kubernetes", "down", "--release", "r1", "--yes")
    assert done.status == 0, done.err
    [call] = calls.read_text().splitlines()
    assert call == "uninstall r1 --namespace default --wait --cascade foreground"
    assert "The database's volume and passwords stay" in done.out


def test_down_with_the_database_releases_it_first(det: Det, calls: Path) -> None:
    done = det("deploy", "kubernetes", "down", "--release", "r1", "--yes", "--delete-db")
    assert done.status == 0, done.err
    first, second = calls.read_text().splitlines()
    assert first.endswith("--reset-then-reuse-values --set db.keepVolume=false")
    assert second.startswith("uninstall r1 ")


@pytest.mark.parametrize("more", [(), ("--delete-db",)])
def test_a_down_of_a_release_that_does_not_exist_names_it_and_the_remedy(
    det: Det, calls: Path, monkeypatch: pytest.MonkeyPatch, more: tuple[str, ...]
) -> None:
    for step in ("HELM_UPGRADE", "HELM_UNINSTALL"):
        monkeypatch.setenv(step, "1")
    monkeypatch.setenv("HELM_LIST", "NAME NAMESPACE REVISION\n")
    done = det("deploy", "kubernetes", "down", "--release", "r1", "--yes", *more)
    assert done.status == 1
    assert "there is no release 'r1' in namespace 'default'" in done.err
    assert "`det deploy kubernetes up` and then `down --delete-db`" in done.err


@pytest.mark.parametrize("listed", ["", "NAME NAMESPACE\nr1 default\n"])
def test_a_down_that_fails_otherwise_has_helms_own_error_alone(
    det: Det, calls: Path, monkeypatch: pytest.MonkeyPatch, listed: str
) -> None:
    monkeypatch.setenv("HELM_UNINSTALL", "1")
    monkeypatch.setenv("HELM_LIST", listed)
    done = det("deploy", "kubernetes", "down", "--release", "r1", "--yes")
    assert done.status == 1
    assert "helm uninstall ended with status 1: its own message is above" in done.err
    assert "no release" not in done.err
    assert "KUBECONFIG" not in done.err
