"""Finding 8a: a task's pod spec names the Secret of another task."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from tests.backends.kubernetes.objects import built, options
from tests.domain.config.builders import ConfigErrors, build

from determined_master.backends.kubernetes.account import own_account
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
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_a_configuration_that_names_the_secret_of_a_task_is_refused(way: str) -> None:
    with pytest.raises(ConfigErrors, match="holds the secrets of another task"):
        build(environment={"pod_spec": {"spec": WAYS[way]}})


@pytest.mark.parametrize("way", WAYS)
def test_a_pod_of_an_older_configuration_is_refused(way: str) -> None:
    with pytest.raises(ValueError, match="holds the secrets of another task"):
        built(pod=PodTerms(pool="default", pod_spec={"spec": WAYS[way]}))


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


def test_a_task_does_not_act_as_the_master(tmp_path: Path) -> None:
    claims = base64.urlsafe_b64encode(b'{"sub": "system:serviceaccount:default:det-master"}')
    token = tmp_path / "token"
    token.write_bytes(b"x." + claims.rstrip(b"=") + b".y")
    account = own_account(token)
    assert account == "default/det-master"
    assert own_account(tmp_path / "none") == ""
    given = options(own_account=account)
    for key in ("serviceAccountName", "service_account_name", "serviceAccount"):
        with pytest.raises(ValueError, match="the master's own service account"):
            built(1, given, pod=PodTerms(pool="default", pod_spec={"spec": {key: "det-master"}}))
    team = PodTerms(pool="default", pod_spec={"spec": {"serviceAccountName": "team"}})
    assert built(1, given, pod=team)
