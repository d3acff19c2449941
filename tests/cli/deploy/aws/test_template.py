"""The stack of each type: it refers to what it has, and its settings start a master."""

from __future__ import annotations

import json
import re
import subprocess
import urllib.request
from pathlib import Path
from random import Random
from typing import Any

import pytest
from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from ruamel.yaml import YAML
from tests.backends.cloud.start_of_machine import unpacked
from tests.cli.conftest import Det

from determined_deploy.aws.options import ELSEWHERE, TYPES
from determined_deploy.aws.resources.boot import MAX_BYTES
from determined_deploy.aws.resources.master_config import TEMPLATE
from determined_deploy.cloud import aws_fetch
from determined_master.settings.master import load

UP = ("deploy", "aws", "up", "--cluster-id", "lab", "--keypair", "ops")
PSEUDO = {"AWS::Region": "us-west-2", "AWS::URLSuffix": "amazonaws.com", "AWS::AccountId": "1"}
PSEUDO["AWS::Partition"] = "aws"
MANY = (
    *(
        "--add-tag",
        "team=vision",
        "--spot",
        "--spot-max-price",
        "0.5",
        "--max-dynamic-agents",
        "9",
    ),
    *("--min-dynamic-agents", "1", "--inbound-cidr", "203.0.113.0/24", "--enable-cors"),
    *("--cpu-env-image", "cpu:1", "--gpu-env-image", "gpu:1", "--notebook-timeout", "600"),
    *("--log-group-prefix", "/determined/"),
    *("--scheduler-type", "priority", "--preemption-enabled", "true", "--db-size", "50"),
)


def stack(det: Det, *words: str) -> dict[str, Any]:
    done = det(*UP, "--dry-run", *words)
    assert done.status == 0, done.err
    found: dict[str, Any] = json.loads(done.out)
    return found


class Filled:
    """A template whose functions are replaced by what they might give."""

    def __init__(self, whole: dict[str, Any]) -> None:
        self.names = whole["Resources"]

    def value(self, node: Any) -> Any:
        if isinstance(node, list):
            return [self.value(each) for each in node]
        if not isinstance(node, dict):
            return node
        match node:
            case {"Ref": name}:
                return self.of(name)
            case {"Fn::GetAtt": [name, attribute]}:
                self.of(name)
                return "5432" if attribute == "Endpoint.Port" else f"{name}.{attribute}"
            case {"Fn::Join": [between, parts]}:
                return str(between).join(map(str, self.value(parts)))
            case {"Fn::Base64": text}:
                return self.value(text)
            case {"Fn::Select": [place, _]}:
                return f"zone-{place}"
            case {"Fn::Sub": [text, more]}:
                return self.filled(text, {k: self.value(v) for k, v in more.items()})
            case {"Fn::Sub": text}:
                return self.filled(text, {})
        return {key: self.value(each) for key, each in node.items()}

    def of(self, name: str) -> str:
        if name in PSEUDO:
            return PSEUDO[name]
        assert name in self.names, f"there is no {name}"
        return f"the-{name.lower()}"

    def filled(self, text: str, more: dict[str, Any]) -> str:
        def one(found: re.Match[str]) -> str:
            name = found[1]
            return str(more[name]) if name in more else self.of(name.partition(".")[0])

        return re.sub(r"\$\{([^!}][^}]*)\}", one, text).replace("${!", "${")


def script_of(whole: dict[str, Any]) -> str:
    data: str = Filled(whole).value(whole["Resources"]["Master"]["Properties"]["UserData"])
    assert len(data.encode()) <= MAX_BYTES
    start = data.index("#!/bin/bash")
    return unpacked(data[start : data.index("\n--determined--")])


def settings_of(whole: dict[str, Any], directory: Path) -> Any:
    script = script_of(whole)
    begin, end = "<<'END_OF_SETTINGS'\n", "\nEND_OF_SETTINGS"
    text = script.partition(begin)[2].partition(end)[0]
    path = directory / "master.yaml"
    path.write_text(text)
    return load(["--config-file", str(path)], {"HOME": "/root"}, is_root=True)


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("more", [(), MANY])
def test_each_reference_is_there(det: Det, kind: str, more: tuple[str, ...]) -> None:
    whole = stack(det, "--deployment-type", kind, *more)
    filled = Filled(whole)
    filled.value([whole["Resources"], whole["Outputs"]])
    for one in whole["Resources"].values():
        needs = one.get("DependsOn", [])
        assert set([needs] if isinstance(needs, str) else needs) <= set(whole["Resources"])


@pytest.mark.slow
@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("more", [(), MANY])
def test_cloudformation_takes_the_template(det: Det, kind: str, more: tuple[str, ...]) -> None:
    import cfnlint.api as cfnlint  # takes a second, which every worker would pay

    text = json.dumps(stack(det, "--deployment-type", kind, *more))
    config = cfnlint.ManualArgs(regions=["us-west-2"])
    assert [str(found) for found in cfnlint.lint(text, config=config)] == []


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("more", [(), MANY])
def test_the_settings_are_those_of_a_master(
    det: Det, kind: str, more: tuple[str, ...], tmp_path: Path
) -> None:
    settings = settings_of(stack(det, "--deployment-type", kind, *more), tmp_path)
    aux, compute = settings.resource_pools
    assert (aux.pool_name, compute.pool_name) == ("aux-pool", "compute-pool")
    assert compute.provider.tag_value == "determined-lab"
    assert compute.provider.instance_type == "g4dn.xlarge"
    assert compute.provider.max_instances == (9 if more else 5)
    assert compute.provider.spot == ("only" if more else "never")
    assert settings.checkpoint_storage["bucket"] == "the-checkpointbucket"
    assert bool(settings.db.host) == (kind != "simple")
    assert [pool.provider.log_group for pool in (aux, compute)] == ["the-logs" if more else ""] * 2
    assert ("nfs4" in compute.provider.startup_script) == (kind == "efs")


@pytest.mark.parametrize("kind", TYPES)
def test_the_start_script_is_one_of_bash(det: Det, kind: str, tmp_path: Path) -> None:
    script = script_of(stack(det, "--deployment-type", kind))
    checked = subprocess.run(["bash", "-n"], input=script, text=True, capture_output=True)
    assert (checked.returncode, checked.stderr) == (0, "")
    fetch = script.partition("<<'END_OF_FETCH'\n")[2].partition("\nEND_OF_FETCH")[0]
    compile(fetch, "fetch.py", "exec")
    assert ("mkfs" in script) == (kind == "simple")


def test_journals_go_to_a_group_of_the_stack_alone(det: Det) -> None:
    whole = stack(det, "--log-group-prefix", "determined", "--retain-log-group")
    group = whole["Resources"]["Logs"]
    assert group["Properties"]["LogGroupName"] == "/determined/lab/journald"
    assert group["DeletionPolicy"] == "Retain"
    assert stack(det, "--log-group-prefix", "x")["Resources"]["Logs"]["DeletionPolicy"] == "Delete"
    assert "--group the-logs --stream master" in script_of(whole)
    for role in ("MasterRole", "AgentRole"):
        [policy] = whole["Resources"][role]["Properties"]["Policies"]
        statements = {s["Action"][0]: s for s in policy["PolicyDocument"]["Statement"]}
        logs = statements["logs:CreateLogStream"]
        assert logs["Resource"] == {"Fn::GetAtt": ["Logs", "Arn"]}
        metrics = statements["cloudwatch:PutMetricData"]["Condition"]
        assert metrics == {"StringEquals": {"cloudwatch:namespace": "Determined"}}


def test_without_a_prefix_nothing_goes_to_cloudwatch(det: Det) -> None:
    whole = stack(det)
    assert "Logs" not in whole["Resources"]
    assert "PutMetricData" not in json.dumps(whole)
    assert "cloudwatch" not in script_of(whole)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("--retain-log-group",), "--retain-log-group has no effect without --log-group-prefix"),
        (("--spot-max-price", "1"), "--spot-max-price has no effect without --spot"),
        (("--det-version", "0.38.1"), "--det-version has no effect in this version"),
        (("--docker-user", "me"), "--docker-user has no effect in this version"),
        (("--agent-reattach-enabled", "true"), "--agent-reattach-enabled has no effect in this"),
        (("--enterprise-edition",), "--enterprise-edition has no effect in this version"),
        (("--no-update-terminate-agents",), "--no-update-terminate-agents has no effect in this"),
    ],
)
def test_an_option_without_effect_is_named_beside_the_template(
    det: Det, words: tuple[str, ...], text: str
) -> None:
    done = det(*UP, "--dry-run", *words)
    assert json.loads(done.out)["AWSTemplateFormatVersion"]
    assert done.err.startswith(text)


def test_the_preflight_cannot_be_left_out(det: Det) -> None:
    done = det("deploy", "--no-preflight-checks", *UP[1:], "--dry-run")
    assert json.loads(done.out)
    assert done.err == "--no-preflight-checks has no effect in this version\n"


def test_secrets_stand_in_the_secret_alone(det: Det, tmp_path: Path) -> None:
    certificate, key = tmp_path / "c.pem", tmp_path / "k.pem"
    certificate.write_text("CERTIFICATE-TEXT")
    key.write_text("KEY-TEXT")
    tls = ("--master-tls-cert", str(certificate), "--master-tls-key", str(key))
    secrets = ("--db-password", "Db-secret", "--initial-user-password", "User-secret")
    whole = stack(det, *tls, *secrets)
    text = json.dumps(whole)
    for hidden in ("KEY-TEXT", "Db-secret", "User-secret"):
        assert hidden not in text
    assert "Parameters" not in whole
    assert "https://" in Filled(whole).value(whole["Outputs"]["MasterAddress"]["Value"])


def test_only_the_named_networks_reach_the_machines(det: Det) -> None:
    whole = stack(det, "--deployment-type", "vpc", "--inbound-cidr", "203.0.113.0/24")
    groups = {
        name: one["Properties"]["SecurityGroupIngress"]
        for name, one in whole["Resources"].items()
        if one["Type"] == "AWS::EC2::SecurityGroup"
    }
    rules = [rule for of_group in groups.values() for rule in of_group]
    assert {rule["CidrIp"] for rule in rules} == {"203.0.113.0/24"}
    assert {rule["FromPort"] for rule in rules} == {8080, 9080, 22}
    assert groups["DatabaseGroup"] == []


def test_the_template_of_the_configuration_can_be_changed(det: Det, tmp_path: Path) -> None:
    printed = det("deploy", "aws", "dump-master-config-template").out
    assert printed == TEMPLATE
    path = tmp_path / "master.yaml"
    path.write_text(printed + "webhooks:\n  base_url: ${!literal}\n")
    whole = stack(det, "--master-config-template-path", str(path))
    script = script_of(whole)
    assert "base_url: ${literal}" in script
    text = script.partition("<<'END_OF_SETTINGS'\n")[2].partition("\nEND_OF_SETTINGS")[0]
    assert YAML(typ="safe").load(text)["webhooks"] == {"base_url": "${literal}"}
    path.write_text("port: ${prot}\n")
    refused = det(*UP, "--dry-run", "--master-config-template-path", str(path))
    assert refused.status == 1
    assert "unknown variable ${prot}; known are" in refused.err
    path.write_text(f"webhooks: {Random(1).randbytes(12_000).hex()}\n")
    refused = det(*UP, "--dry-run", "--master-config-template-path", str(path))
    assert refused.status == 1
    assert "packed, and AWS takes 16384: shorten --master-config-template-path" in refused.err


@pytest.mark.parametrize("kind", TYPES)
def test_user_data_has_room_for_long_settings(det: Det, kind: str, tmp_path: Path) -> None:
    path = tmp_path / "master.yaml"
    path.write_text(TEMPLATE + "# a comment of an admin, about this cluster\n" * 1_000)
    words = ("--deployment-type", kind, "--master-config-template-path", str(path), *MANY)
    whole = stack(det, *words)
    data = Filled(whole).value(whole["Resources"]["Master"]["Properties"]["UserData"])
    assert len(data.encode()) <= MAX_BYTES * 3 // 4


def test_the_machine_signs_its_requests_as_aws_asks() -> None:
    url = "https://det-lab.s3.us-west-2.amazonaws.com/deploy/0ab/determined-1.0.whl"
    keys, now = ("AKID", "s3cret", "t0ken"), "20261130T030000Z"
    own = urllib.request.Request(url, b"{}", {"X-Amz-Target": "secretsmanager.GetSecretValue"})
    aws_fetch.sign(own, "us-west-2", "s3", keys, now)
    theirs = AWSRequest("POST", url, data=b"{}", headers=dict(own.header_items()))
    del theirs.headers["Authorization"]
    theirs.context["timestamp"] = now
    signer = S3SigV4Auth(Credentials(*keys), "s3", "us-west-2")
    canonical = signer.canonical_request(theirs)
    signature = signer.signature(signer.string_to_sign(theirs, canonical), theirs)
    assert own.get_header("Authorization").rpartition("Signature=")[2] == signature


@pytest.mark.parametrize(
    ("words", "text"),
    [
        *((("--deployment-type", kind), ELSEWHERE[kind]) for kind in ELSEWHERE),
        (
            ("--inbound-cidr", "10.0.0.300/8"),
            "--inbound-cidr '10.0.0.300/8' is not an IPv4 network",
        ),
        (("--add-tag", "team"), "--add-tag 'team' is not KEY=VALUE"),
        (("--min-dynamic-agents", "6"), "6 is above --max-dynamic-agents 5"),
        (("--log-group-prefix", "a b"), "--log-group-prefix 'a b' must have at most 200 letters"),
        (("--log-group-prefix", "/"), "--log-group-prefix '/' must have at most 200 letters"),
        (("--efs-id", "fs-1"), "--efs-id fs-1 needs --deployment-type efs"),
        (("--master-tls-cert", "c.pem"), "need each other"),
        (
            ("--agent-subnet-id", "subnet-1", "--deployment-type", "vpc"),
            "makes subnets of its own",
        ),
        (("--master-config-template-path", "/nowhere"), "No such file"),
    ],
)
def test_wrong_values_are_named_with_a_remedy(det: Det, words: tuple[str, ...], text: str) -> None:
    refused = det(*UP, "--dry-run", *words)
    assert refused.status == 1
    assert text in refused.err


def test_names_of_clusters_are_those_of_stacks(det: Det) -> None:
    words = ("deploy", "aws", "up", "--cluster-id", "1_lab", "--keypair", "ops", "--dry-run")
    refused = det(*words)
    assert refused.status == 1
    assert "--cluster-id '1_lab' must start with a letter" in refused.err


@pytest.mark.parametrize(
    ("kind", "gpu", "driver"),
    [
        ("p2.xlarge", "NVIDIA K80", "of branch 470"),
        ("p3.2xlarge", "NVIDIA V100", "of branch 580 or older"),
        ("p3dn.24xlarge", "NVIDIA V100", "of branch 580 or older"),
        ("g3.4xlarge", "NVIDIA M60", "of branch 580 or older"),
        ("g3s.xlarge", "NVIDIA M60", "of branch 580 or older"),
    ],
)
def test_gpus_that_the_open_driver_does_not_know_need_an_image(
    det: Det, kind: str, gpu: str, driver: str
) -> None:
    words = (*UP, "--dry-run", "--compute-agent-instance-type", kind)
    refused = det(*words)
    assert (refused.status, refused.out) == (1, "")
    assert f"--compute-agent-instance-type {kind}: Amazon's image has NVIDIA's open" in refused.err
    assert f"({gpu}); give --agent-image AMI of an image with" in refused.err
    assert driver in refused.err
    assert det(*words, "--agent-image", "ami-0123456789abcdef0").status == 0
    refused = det(*words, "--agent-image", "my-image")
    assert "--agent-image 'my-image' is not the id of a machine image, such as ami-" in refused.err
