"""A cluster on AWS from nothing to nothing, by the commands."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from tests.backends.cloud.start_of_machine import unpacked
from tests.cli.conftest import Det
from tests.cli.deploy.aws.conftest import REGION, Aws

pytestmark = pytest.mark.slow

UP = (
    *("deploy", "--no-wait-for-master", "aws", "up", "--cluster-id", "lab", "--keypair", "ops"),
    *("--yes",),
)
DOWN = ("deploy", "aws", "down", "--cluster-id", "lab")


def up(det: Det, *words: str) -> str:
    done = det(*UP, *words)
    assert done.status == 0, done.err
    return done.out


def machines(aws: Aws, *states: str) -> list[dict[str, Any]]:
    filters = [{"Name": "instance-state-name", "Values": list(states)}]
    found = aws.client("ec2").describe_instances(Filters=filters)["Reservations"]
    return [instance for one in found for instance in one["Instances"]]


@pytest.mark.parametrize("kind", ["simple", "simple-rds", "vpc", "efs"])
def test_up_makes_a_cluster_and_says_where_it_is(det: Det, aws: Aws, kind: str) -> None:
    out = up(det, "--deployment-type", kind, "--add-tag", "team=vision")
    (stack,) = aws.client("cloudformation").describe_stacks()["Stacks"]
    assert stack["StackStatus"] == "CREATE_COMPLETE"
    outputs = {one["OutputKey"]: one["OutputValue"] for one in stack["Outputs"]}
    assert f"The master is at {outputs['MasterAddress']}\n" in out
    assert "Everybody may reach the master's ports: restrict it with --inbound-cidr" in out
    (master,) = machines(aws, "running")
    assert master["InstanceId"] == outputs["MasterId"]
    assert master["KeyName"] == "ops"
    listed = det("deploy", "aws", "list", "--region", REGION).out
    assert "lab" in listed
    assert kind in listed
    assert outputs["MasterAddress"] in listed
    assert len(aws.client("rds").describe_db_instances()["DBInstances"]) == (kind != "simple")
    assert len(aws.client("efs").describe_file_systems()["FileSystems"]) == (kind == "efs")


def test_the_wheel_lies_where_the_machine_looks_for_it(det: Det, aws: Aws) -> None:
    up(det)
    s3 = aws.client("s3")
    (bucket,) = s3.list_buckets()["Buckets"]
    (wheel,) = s3.list_objects_v2(Bucket=bucket["Name"])["Contents"]
    (master,) = machines(aws, "running")
    script = unpacked(aws.user_script(master["InstanceId"]))
    assert wheel["Key"].startswith("deploy/")
    assert f"'{wheel['Key'].removeprefix('deploy/')}'" in script
    content = s3.get_object(Bucket=bucket["Name"], Key=wheel["Key"])["Body"].read()
    names = zipfile.ZipFile(io.BytesIO(content)).namelist()
    for package in ("determined", "determined_wire", "determined_agent", "determined_master"):
        assert f"{package}/__init__.py" in names


def test_passwords_are_random_kept_and_stored_where_the_master_alone_reads(
    det: Det, aws: Aws
) -> None:
    out = up(det)
    shown = out.partition("have the password ")[2].strip()
    client = aws.client("secretsmanager")
    (secret,) = client.list_secrets()["SecretList"]

    def stored() -> dict[str, str]:
        value = client.get_secret_value(SecretId=secret["ARN"])["SecretString"]
        found: dict[str, str] = json.loads(value)
        return found

    first = stored()
    assert len(shown) >= 16
    assert first["initial_user"] == shown
    assert len(first["database"]) >= 32
    again = up(det, "--max-dynamic-agents", "7")
    assert "Changing the stack lab" in again
    assert "password" not in again
    assert stored() == first
    refused = det(*UP, "--db-password", "another")
    assert "has a password already, which is kept" in refused.err
    assert stored() == first


def test_down_ends_agents_and_says_what_stays(det: Det, aws: Aws) -> None:
    up(det, "--deployment-type", "simple")
    tags = [{"Key": "managed_by", "Value": "determined-lab"}]
    wanted = [{"ResourceType": "instance", "Tags": tags}]
    ec2 = aws.client("ec2")
    image = machines(aws, "running")[0]["ImageId"]
    ec2.run_instances(ImageId=image, MinCount=2, MaxCount=2, TagSpecifications=wanted)
    ec2.run_instances(ImageId=image, MinCount=1, MaxCount=1)  # somebody else's
    refused = det(*DOWN, stdin="n\n")
    assert (refused.status, len(machines(aws, "running"))) == (1, 4)
    done = det(*DOWN, "--yes")
    assert done.status == 0, done.err
    assert "Ending 2 machines of agents" in done.out
    assert "The cluster lab is gone." in done.out
    (bucket,) = aws.client("s3").list_buckets()["Buckets"]
    assert f"aws s3 rb --force s3://{bucket['Name']}" in done.out
    assert "a snapshot of the database's disk" in done.out
    assert len(machines(aws, "running")) == 1
    assert det("deploy", "aws", "list").out.count("lab") == 0
    assert "has no such cluster" in det(*DOWN, "--yes").err


@pytest.mark.parametrize("keeps", [False, True])
def test_the_journals_stay_if_they_are_asked_to(det: Det, aws: Aws, keeps: bool) -> None:
    more = ("--retain-log-group",) if keeps else ()
    up(det, "--deployment-type", "simple", "--log-group-prefix", "determined", *more)
    [group] = aws.client("logs").describe_log_groups()["logGroups"]
    assert group["logGroupName"] == "/determined/lab/journald"
    done = det(*DOWN, "--yes")
    assert done.status == 0, done.err
    text = "aws logs delete-log-group --log-group-name /determined/lab/journald"
    assert (text in done.out) == keeps


def test_down_can_be_repeated_and_old_scripts_are_not_asked(det: Det, aws: Aws) -> None:
    up(det, "--deployment-type", "simple")
    (master,) = machines(aws, "running")
    aws.client("ec2").terminate_instances(InstanceIds=[master["InstanceId"]])
    done = det(*DOWN, "--no-prompt")
    assert done.status == 0, done.err
    assert "Stopping the master" not in done.out


def test_a_change_is_asked_for_and_another_certificate_is_one(
    det: Det, aws: Aws, tmp_path: Path
) -> None:
    certificate, key = tmp_path / "c.pem", tmp_path / "k.pem"
    tls = ("--master-tls-cert", str(certificate), "--master-tls-key", str(key))
    scripts = []
    for text in ("first", "second"):
        certificate.write_text(text)
        key.write_text(text)
        dry = det(*UP, *tls, "--dry-run")
        scripts.append(dry.out)
    assert scripts[0] != scripts[1]
    up(det)
    refused = det(*UP[:-1], stdin="n\n")
    assert refused.status == 1
    assert "Change the cluster lab? Its master restarts." in refused.out
    other = det(*UP, "--deployment-type", "simple")
    assert "is of type simple-rds, and another type would begin with an empty" in other.err


def test_everything_in_the_way_is_said_at_once_and_nothing_is_made(det: Det, aws: Aws) -> None:
    ec2 = aws.client("ec2")
    words = (
        "--keypair",
        "nobody",
        "--master-instance-type",
        "m9z.huge",
        "--agent-subnet-id",
        "s-1",
    )
    done = det(*UP, *words)
    assert done.status == 1
    assert f"{REGION} has no key pair of that name; create it: aws ec2 create-key-pair" in done.err
    assert f"{REGION} does not offer the instance type m9z.huge" in done.err
    assert "--agent-subnet-id s-1 is no subnet of the default VPC vpc-" in done.err
    assert aws.client("cloudformation").describe_stacks()["Stacks"] == []
    assert ec2.describe_instances()["Reservations"] == []


def test_a_stack_of_somebody_else_is_left_alone(det: Det, aws: Aws) -> None:
    body = {"Resources": {"Topic": {"Type": "AWS::SNS::Topic"}}}
    aws.client("cloudformation").create_stack(StackName="lab", TemplateBody=json.dumps(body))
    assert "exists and is no cluster of determined" in det(*UP).err
    assert "has no such cluster" in det(*DOWN, "--yes").err
    assert len(aws.client("cloudformation").describe_stacks()["Stacks"]) == 1


def test_missing_credentials_and_regions_are_named(
    det: Det, aws: Aws, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "(nobody)" in det(*UP, "--profile", "nobody").err
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    assert "no region is configured: give --region" in det(*UP).err
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    assert "credentials" in det(*UP, "--region", REGION).err
