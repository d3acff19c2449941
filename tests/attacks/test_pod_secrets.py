"""Finding 8a: a task's pod spec names the Secret of another task."""

from __future__ import annotations

import base64
import json
import time
from pathlib import Path
from typing import Any

import pytest
from tests.backends.kubernetes.objects import built, options
from tests.domain.config.builders import ConfigErrors, build

from determined_master.backends.kubernetes.account import kubeconfig_account, own_account
from determined_master.domain.config.policies.text import check_policies
from determined_master.domain.errors import InvalidArgument
from determined_master.ports.orders import PodTerms

THEIRS = "det-01234567-exp-7-trial-8-attempt-1-c0ffee001111"
MAIN = "determined-container"
WAYS: dict[str, Any] = {
    "variable": {"containers": [{"name": MAIN, "env": [
        {"name": "T", "valueFrom": {"secretKeyRef": {"name": THEIRS, "key": "env.1"}}}]}]},
    "snake case": {"containers": [{"name": MAIN, "env": [
        {"name": "T", "value_from": {"secret_key_ref": {"name": THEIRS, "key": "env.1"}}}]}]},
    "all variables": {"containers": [{"name": MAIN, "envFrom": [
        {"secretRef": {"name": THEIRS}}]}]},
    "sidecar": {"containers": [{"name": "x", "image": "x", "envFrom": [
        {"secretRef": {"name": THEIRS}}]}]},
    "init container": {"initContainers": [{"name": "x", "envFrom": [
        {"secretRef": {"name": THEIRS}}]}]},
    "volume": {"volumes": [{"name": "v", "secret": {"secretName": THEIRS}}]},
    "projection": {"volumes": [{"name": "v", "projected": {"sources": [
        {"secret": {"name": THEIRS}}]}}]},
    "driver": {"volumes": [{"name": "v", "csi": {
        "driver": "d", "nodePublishSecretRef": {"name": THEIRS}}}]},
    "older driver": {"volumes": [{"name": "v", "flexVolume": {
        "driver": "d", "secretRef": {"name": THEIRS}}}]},
    "pull secret": {"imagePullSecrets": [{"name": THEIRS}]},
    "registry's password": {"imagePullSecrets": [{"name": f"{THEIRS}-pull"}]},
    "registry's password as a volume": {
        "volumes": [{"name": "v", "secret": {"secret_name": f"{THEIRS}-pull"}}]},
    "ephemeral container": {"ephemeralContainers": [{"name": "x", "envFrom": [
        {"secretRef": {"name": THEIRS}}]}]},
    "generic driver": {"volumes": [{"name": "v", "csi": {
        "driver": "d", "volumeAttributes": {"secretName": THEIRS}}}]},
    "claim of a driver": {"volumes": [{"name": "v", "ephemeral": {"volumeClaimTemplate": {
        "metadata": {"annotations": {"provisioner/secret": THEIRS}}}}}]},
    **{f"volume {kind}": {"volumes": [{"name": "v", kind: {"secretRef": {"name": THEIRS}}}]}
       for kind in ("rbd", "cephfs", "cinder", "iscsi", "scaleIO", "storageos")},
    "volume azureFile": {"volumes": [{"name": "v", "azureFile": {
        "shareName": "s", "secretName": THEIRS}}]},
    "claim of a later release": {"secretBundles": {"of": [[{"anything": THEIRS}]]}},
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_a_configuration_that_names_the_secret_of_a_task_is_refused(way: str) -> None:
    with pytest.raises(ConfigErrors, match="holds the secrets of another task"):
        build(environment={"pod_spec": {"spec": WAYS[way]}})


@pytest.mark.parametrize("way", ["variable", "volume", "pull secret"])
def test_a_policy_of_a_workspace_that_names_the_secret_of_a_task_is_refused(way: str) -> None:
    """Its admin is a user like others for the tasks of other workspaces."""
    policy = {"invariant_config": {"environment": {"pod_spec": {"spec": WAYS[way]}}}}
    with pytest.raises(InvalidArgument, match="holds the secrets of another task"):
        check_policies(policy, "EXPERIMENT", scope="workspace")


@pytest.mark.parametrize("way", WAYS)
def test_a_pod_of_an_older_configuration_is_refused(way: str) -> None:
    with pytest.raises(ValueError, match="holds the secrets of another task"):
        built(pod=PodTerms(pool="default", pod_spec={"spec": WAYS[way]}))


@pytest.mark.parametrize(
    "pod_spec",
    [
        {"metadata": {"annotations": {"sidecar.example/volumes": json.dumps(
            {"v": {"secret": {"secretName": THEIRS}}})}}},
        {"metadata": {"annotations": {"sidecar.example/volumes":
            '{"v": {"secret": {"secretName": "\\u0064et-' + THEIRS[4:] + '"}}}'}}},
        {"spec": {"volumes": [
            {"name": "v", "persistentVolumeClaim": {"claimName": f"{THEIRS}-scratch"}}]}},
    ],
    ids=["volume of a webhook", "in other letters", "volume that Kubernetes made for the pod"],
)  # fmt: skip
def test_a_part_of_the_pod_of_another_task_is_refused(pod_spec: dict[str, Any]) -> None:
    with pytest.raises(ConfigErrors, match=f"names {THEIRS}.* another task"):
        build(environment={"pod_spec": pod_spec})
    with pytest.raises(ValueError, match=f"names {THEIRS}.* another task"):
        built(pod=PodTerms(pool="default", pod_spec=pod_spec))


def test_a_long_text_of_beginnings_of_names_is_read_quickly() -> None:
    text = "det-01234567-" * 80_000
    begun = time.process_time()
    assert build(environment={"pod_spec": {"metadata": {"annotations": {"a": text}}}})
    assert time.process_time() - begun < 10


RESERVED = (
    "determined-passwords-determined",
    "determined-master-config-determined",
    "determined-db-pvc-determined",
    "determined-master-determined",
    "tls",
)
MASTERS: dict[str, Any] = {
    "password of the database": {"spec": {"containers": [{"name": MAIN, "envFrom": [
        {"secretRef": {"name": "determined-passwords-determined"}}]}]}},
    "one variable": {"spec": {"containers": [{"name": MAIN, "env": [{"name": "T", "value_from": {
        "secret_key_ref": {"name": "determined-passwords-determined", "key": "db-password"}}}]}]}},
    "keys of the storage": {"spec": {"volumes": [
        {"name": "v", "secret": {"secretName": "determined-master-config-determined"}}]}},
    "projection": {"spec": {"volumes": [{"name": "v", "projected": {"sources": [
        {"secret": {"name": "determined-master-config-determined"}}]}}]}},
    "key of the certificate": {"spec": {"initContainers": [{"name": "x", "image": "x", "envFrom": [
        {"secretRef": {"name": "tls"}}]}]}},
    "driver": {"spec": {"volumes": [{"name": "v", "csi": {
        "driver": "d", "volumeAttributes": {"value": "tls"}}}]}},
    "pull secret": {"spec": {"imagePullSecrets": [{"name": "tls"}]}},
    "files of the database": {"spec": {"volumes": [{"name": "v", "persistentVolumeClaim": {
        "claimName": "determined-db-pvc-determined"}}]}},
    "volume of a webhook": {"metadata": {"annotations": {"sidecar.example/volumes":
        '{"v": {"secret": {"secretName": "tls"}}}'}}},
    "volume in other letters": {"metadata": {"annotations": {"sidecar.example/volumes":
        '{"v": {"secret": {"secretName": "\\x74ls"}}}'}}},
    "connections of the master's Service": {
        "metadata": {"labels": {"app": "determined-master-determined"}}},
    "account": {"spec": {"serviceAccountName": "determined-master-determined"}},
    "token of the account": {"spec": {"volumes": [
        {"name": "v", "secret": {"secretName": "master-token-x7k2p"}}]}},
}  # fmt: skip


@pytest.mark.parametrize("way", MASTERS)
def test_a_pod_does_not_have_the_masters_own_secrets_volumes_and_connections(way: str) -> None:
    """Tasks run in the release's namespace unless another one is set."""
    given = options(reserved_names=RESERVED, own_account="default/master")
    with pytest.raises(ValueError, match="is kept for the master and its database"):
        built(1, given, pod=PodTerms(pool="default", pod_spec=MASTERS[way]))
    elsewhere = PodTerms(pool="default", pod_spec=MASTERS[way])
    assert built(1, options(), pod=elsewhere), "no name is reserved"


@pytest.mark.parametrize(
    "way",
    [
        {"spec": {"volumes": [
            {"name": "v", "secret": {"secretName": "sh.helm.release.v1.r.v12"}}]}},
        {"spec": {"containers": [{"name": MAIN, "envFrom": [
            {"secretRef": {"name": "sh.helm.release.v1.my.app.v1"}}]}]}},
        {"metadata": {"annotations": {"sidecar.example/secret": "sh.helm.release.v1.r.v1:/x"}}},
    ],
    ids=["volume", "variables", "annotation"],
)  # fmt: skip
def test_a_pod_does_not_have_the_secrets_in_which_helm_keeps_all_values(way: Any) -> None:
    """Their names change with each upgrade, so no setting lists them."""
    with pytest.raises(ValueError, match=r"names sh\.helm\.release\.v1\.\S+, which is kept"):
        built(1, options(), pod=PodTerms(pool="default", pod_spec=way))


def test_a_reserved_name_does_not_stand_for_parts_of_the_pod_itself() -> None:
    own = {
        "metadata": {"labels": {"tls": "yes"}},
        "spec": {
            "affinity": {"podAntiAffinity": {"required": [{"labelSelector": {"matchLabels": {
                "app": "determined-master-determined"}}}]}},
            "volumes": [{"name": "tls", "secret": {"secretName": "mine"}}],
            "containers": [
                {"name": MAIN, "env": [{"name": "tls", "value": "tls"}],
                 "volumeMounts": [{"name": "tls", "mountPath": "/tls"}]},
                {"name": "tls", "image": "tls", "args": ["tls"]},
            ],
        },
    }  # fmt: skip
    assert built(
        1, options(reserved_names=RESERVED), pod=PodTerms(pool="default", pod_spec=own)
    ).pod


def test_marks_by_which_the_platform_finds_its_pods_are_not_a_users() -> None:
    ours = {"determined.ai/trial_id": "9", "determined.ai/demand": "true", "team": "a"}
    own = {"metadata": {"labels": ours, "annotations": {
        **ours, "determined.ai/gateway_ports": "8888:32768"}}}  # fmt: skip
    meta = built(pod=PodTerms(pool="default", pod_spec=own)).pod["metadata"]
    assert meta["labels"]["team"] == meta["annotations"]["team"] == "a"
    assert "determined.ai/trial_id" not in meta["labels"]
    assert not {"determined.ai/demand", "determined.ai/gateway_ports"} & set(
        [*meta["labels"], *meta["annotations"]]
    )


@pytest.mark.parametrize("key", ["resourceClaimName", "resourceClaimTemplateName"])
def test_the_devices_of_another_task_are_not_shared(key: str) -> None:
    """A pod that names the claim of another would use its GPUs."""
    own = {"resourceClaims": [{"name": "mine", key: f"{THEIRS}-slots"}]}
    with pytest.raises(ConfigErrors, match="holds the devices of another task"):
        build(environment={"pod_spec": {"spec": own}})
    with pytest.raises(ValueError, match="holds the devices of another task"):
        built(pod=PodTerms(pool="default", pod_spec={"spec": own}))
    team = {"resourceClaims": [{"name": "mine", key: "team-gpus"}]}
    assert build(environment={"pod_spec": {"spec": team}})


def test_other_secrets_can_be_named() -> None:
    own = {"spec": {"volumes": [{"name": "v", "secret": {"secretName": "team-data"}}]}}
    made = built(pod=PodTerms(pool="default", pod_spec=own))
    assert "team-data" in json.dumps(made.pod)
    assert build(environment={"pod_spec": own})


def token_of(account: str) -> str:
    claims = json.dumps({"sub": f"system:serviceaccount:{account.replace('/', ':')}"}).encode()
    return f"x.{base64.urlsafe_b64encode(claims).rstrip(b'=').decode()}.y"


def test_a_task_does_not_act_as_the_master(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text(token_of("default/det-master"))
    account = own_account(token)
    assert account == "default/det-master"
    assert own_account(tmp_path / "none") == ""
    given = options(own_account=account)
    for key in ("serviceAccountName", "service_account_name", "serviceAccount"):
        with pytest.raises(ValueError, match="the master's own service account"):
            built(1, given, pod=PodTerms(pool="default", pod_spec={"spec": {key: "det-master"}}))
    team = PodTerms(pool="default", pod_spec={"spec": {"serviceAccountName": "team"}})
    assert built(1, given, pod=team)


@pytest.mark.parametrize(
    "own",
    [
        {"automountServiceAccountToken": True},
        {"serviceAccountName": "default"},
        {"volumes": [{"name": "v", "projected": {"sources": [
            {"serviceAccountToken": {"path": "token"}}]}}]},
        {"volumes": [{"name": "v", "projected": {"sources": [
            {"service_account_token": {"path": "token"}}]}}]},
    ],
)  # fmt: skip
def test_a_task_gets_no_token_of_a_master_with_the_default_account(own: dict[str, Any]) -> None:
    given = options(own_account="default/default")
    with pytest.raises(ValueError, match="service account"):
        built(1, given, pod=PodTerms(pool="default", pod_spec={"spec": own}))
    assert built(1, given), "without a token the account is of no use"
    elsewhere = PodTerms(pool="default", namespace="lab", pod_spec={"spec": own})
    assert built(1, given, pod=elsewhere)


def test_a_kubeconfig_with_the_token_of_an_account_names_it(tmp_path: Path) -> None:
    """The usual way to a remote cluster: its pods may not act as that account either."""
    (tmp_path / "token").write_text(token_of("east/files"))
    users = [
        {"name": "other", "user": {"token": token_of("a/b")}},
        {"name": "det", "user": {"token": token_of("east/det-master")}},
        {"name": "file", "user": {"tokenFile": str(tmp_path / "token")}},
        {"name": "keys", "user": {"client-certificate": "/none"}},
    ]
    contexts = [{"name": f"to-{u['name']}", "context": {"user": u["name"]}} for u in users]
    found = {}
    for name in ("det", "file", "keys", "gone"):
        path = tmp_path / f"{name}.kubeconfig"
        path.write_text(
            json.dumps({"current-context": f"to-{name}", "contexts": contexts, "users": users})
        )
        found[name] = kubeconfig_account(str(path))
    assert found == {"det": "east/det-master", "file": "east/files", "keys": "", "gone": ""}
    (tmp_path / "odd").write_text("users: 5")
    assert kubeconfig_account(str(tmp_path / "odd")) == ""
    assert kubeconfig_account(str(tmp_path / "none")) == ""
