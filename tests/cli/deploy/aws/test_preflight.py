"""Checks of the account before `det deploy aws up` creates anything."""

from __future__ import annotations

from typing import Any

import pytest
from moto.servicequotas.models import ServiceQuotasBackend
from tests.backends.cloud.start_of_machine import unpacked
from tests.cli.conftest import Det, Outcome
from tests.cli.deploy.aws.conftest import (
    ARM_DRIVERS,
    ARM_UBUNTU,
    DRIVERS,
    OLD_DRIVERS,
    REGION,
    UBUNTU,
    Aws,
)

pytestmark = pytest.mark.slow

UP = (
    *("deploy", "--no-wait-for-master", "aws", "up", "--cluster-id", "lab", "--keypair", "ops"),
    *("--yes", "--deployment-type"),
)
DENIED = ("UnauthorizedOperation", "You are not authorized to perform this operation.")
GPUS, STANDARD, SPOT_GPUS = "L-DB2E81BA", "L-1216C47A", "L-3819A6DF"


def refused(det: Det, aws: Aws, *words: str) -> list[str]:
    """The problems that `up` names; nothing was created."""
    done: Outcome = det(*UP, *words)
    assert done.status == 1
    assert aws.client("cloudformation").describe_stacks()["Stacks"] == []
    assert aws.client("secretsmanager").list_secrets()["SecretList"] == []
    assert aws.client("ec2").describe_instances()["Reservations"] == []
    head, *problems = done.err.strip().splitlines()
    assert head.endswith("nothing was created:")
    return problems


def set_quotas(patch: pytest.MonkeyPatch, values: dict[str, float]) -> list[tuple[str, str]]:
    """Let the account have these quotas, 32 of the others; the quotas that are read later."""
    asked: list[tuple[str, str]] = []

    def get(self: Any, service_code: str, quota_code: str) -> dict[str, Any]:
        asked.append((service_code, quota_code))
        name = f"Running instances of {quota_code}"
        return {
            "ServiceCode": service_code,
            "QuotaCode": quota_code,
            "QuotaName": name,
            "Value": values.get(quota_code, 32.0),
        }

    patch.setattr(ServiceQuotasBackend, "get_service_quota", get)
    return asked


def test_a_quota_of_none_is_named_with_the_type_and_the_remedy(
    det: Det, aws: Aws, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = set_quotas(monkeypatch, {GPUS: 0.0})
    [problem] = refused(det, aws, "simple")
    assert problem == (
        f"  - the quota 'Running instances of {GPUS}' ({GPUS}) is 0 vCPUs in {REGION}, and a "
        "g4dn.xlarge has 4: request an increase in the console (Service Quotas)"
    )
    assert set(asked) == {("ec2", GPUS), ("ec2", STANDARD)}


def test_a_quota_of_processors_stops_each_type_that_needs_it(
    det: Det, aws: Aws, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_quotas(monkeypatch, {STANDARD: 0.0})
    problems = refused(det, aws, "simple")
    assert [line.partition(", and a ")[2].partition(":")[0] for line in problems] == [
        "m6i.large has 2",
        "m6i.xlarge has 4",
    ]


@pytest.mark.parametrize(
    ("kind", "words", "code", "vcpus"),
    [
        ("g5.12xlarge", (), GPUS, 48),
        ("g5.12xlarge", ("--spot",), SPOT_GPUS, 48),
        ("p4d.24xlarge", ("--spot",), "L-7212CCBC", 96),
        ("m6i.16xlarge", ("--spot",), "L-34B43A08", 64),
        ("im4gn.16xlarge", (), STANDARD, 64),
    ],
)
def test_a_quota_below_the_processors_of_a_type_is_named(
    det: Det,
    aws: Aws,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    words: tuple[str, ...],
    code: str,
    vcpus: int,
) -> None:
    """Spot instances count against quotas of their own."""
    quotas = dict.fromkeys((GPUS, SPOT_GPUS, STANDARD), 1000.0)
    asked = set_quotas(monkeypatch, {**quotas, code: vcpus - 1.0})
    [problem] = refused(det, aws, "simple", "--compute-agent-instance-type", kind, *words)
    assert f"({code}) is {vcpus - 1} vCPUs in {REGION}, and a {kind} has {vcpus}: req" in problem
    assert (("ec2", GPUS) in asked) == (code == GPUS)


def test_a_quota_that_is_not_known_is_not_read(
    det: Det, aws: Aws, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = set_quotas(monkeypatch, {STANDARD: 32.0})
    done = det(*UP, "simple", "--compute-agent-instance-type", "x2idn.16xlarge")
    assert done.status == 0, done.err
    assert set(asked) == {("ec2", STANDARD)}


NAMED = "--compute-agent-instance-type"


@pytest.mark.parametrize(
    ("words", "images"),
    [
        ((), (UBUNTU, UBUNTU, DRIVERS)),
        ((NAMED, "g5g.xlarge"), (UBUNTU, UBUNTU, ARM_DRIVERS)),
        ((NAMED, "m7g.large"), (UBUNTU, UBUNTU, ARM_UBUNTU)),
        ((NAMED, "g4dn.xlarge", "--agent-image", OLD_DRIVERS), (UBUNTU, UBUNTU, OLD_DRIVERS)),
        (("--master-instance-type", "m7g.large"), (ARM_UBUNTU, UBUNTU, DRIVERS)),
        (("--aux-agent-instance-type", "t4g.large"), (UBUNTU, ARM_UBUNTU, DRIVERS)),
    ],
)
def test_each_machine_boots_an_image_for_its_processors_and_gpus(
    det: Det, aws: Aws, words: tuple[str, ...], images: tuple[str, str, str]
) -> None:
    done = det(*UP, "simple", *words)
    assert done.status == 0, done.err
    [reservation] = aws.client("ec2").describe_instances()["Reservations"]
    [master] = reservation["Instances"]
    assert master["ImageId"] == images[0]
    text = unpacked(aws.user_script(master["InstanceId"]))
    found = [line.partition("image_id: ")[2] for line in text.splitlines() if "image_id:" in line]
    assert tuple(found) == images[1:]


@pytest.mark.parametrize(
    ("kind", "slots"), [("g4dn.12xlarge", 4), ("m7g.large", 0), ("g6f.large", 1)]
)
def test_the_master_gets_the_gpus_of_types_that_it_may_not_know(
    det: Det, aws: Aws, kind: str, slots: int
) -> None:
    done = det(*UP, "simple", NAMED, kind)
    assert done.status == 0, done.err
    [reservation] = aws.client("ec2").describe_instances()["Reservations"]
    text = unpacked(aws.user_script(reservation["Instances"][0]["InstanceId"]))
    assert f"instance_type: {kind}\n      instance_slots: {slots}\n" in text


def test_an_image_of_other_processors_is_refused(det: Det, aws: Aws) -> None:
    [problem] = refused(det, aws, "simple", "--agent-image", ARM_DRIVERS)
    assert problem == (
        f"  - --agent-image {ARM_DRIVERS} is for arm64, and --compute-agent-instance-type "
        "g4dn.xlarge has processors of x86_64: give an image for x86_64, or another type"
    )
    [problem] = refused(det, aws, "simple", "--agent-image", "ami-0123456789abcdef0")
    assert f"{REGION} has no such machine image, or does not show it" in problem


def test_a_quota_that_cannot_be_read_stops_nothing(det: Det, aws: Aws) -> None:
    """moto knows none of EC2, as credentials without `servicequotas:GetServiceQuota` do."""
    done = det(*UP, "simple")
    assert done.status == 0, done.err


@pytest.mark.parametrize(
    ("kind", "calls"),
    [
        ("simple", ["RunInstances", "AllocateAddress", "CreateSecurityGroup"]),
        ("vpc", ["RunInstances", "AllocateAddress", "CreateInternetGateway"]),
    ],
)
def test_each_missing_permission_is_named_with_its_remedy(
    det: Det, aws: Aws, kind: str, calls: list[str]
) -> None:
    aws.refusals = dict.fromkeys(calls, DENIED)
    assert refused(det, aws, kind) == [
        f"  - these credentials may not call ec2:{call}: You are not authorized to perform this "
        "operation. Add this permission to the policy of their user or role."
        for call in calls
    ]
    asked = [call for call in aws.calls if call["Action"] in calls]
    assert all(call["DryRun"] == "true" for call in asked)


def test_a_permission_to_read_that_is_missing_is_named_too(det: Det, aws: Aws) -> None:
    aws.refusals = {"DescribeKeyPairs": DENIED, "DescribeImages": DENIED}
    problems = "\n".join(refused(det, aws, "simple"))
    assert "may not call ec2:DescribeKeyPairs:" in problems
    assert "may not call ec2:DescribeImages:" in problems


def test_the_checks_create_nothing(det: Det, aws: Aws) -> None:
    refused(det, aws, "simple", "--keypair", "nobody")
    ec2 = aws.client("ec2")
    groups = ec2.describe_security_groups()["SecurityGroups"]
    assert [group["GroupName"] for group in groups] == ["default"]
    assert ec2.describe_addresses()["Addresses"] == []
    refused(det, aws, "vpc", "--keypair", "nobody")
    assert ec2.describe_internet_gateways()["InternetGateways"] == []


DENIES = "<EvalDecision>implicitDeny</EvalDecision>"
PREFIX = "arn:aws:{}:us-west-2:123456789012:{}"


def test_missing_permissions_of_other_services_are_named_together(det: Det, aws: Aws) -> None:
    explicit = "<EvalDecision>explicitDeny</EvalDecision>"
    aws.simulation.decisions = {"iam:Create*": DENIES, "rds:DeleteDBInstance": explicit}
    role, profile, database, remedy = refused(det, aws, "simple-rds")
    assert role == (
        "  - these credentials may not iam:CreateRole on arn:aws:iam::123456789012:role/"
        "lab-AgentRole-0A1B2C3D4E5F: add these actions to the policies of "
        "arn:aws:iam::123456789012:user/ops"
    )
    assert "may not iam:CreateInstanceProfile on" in profile
    assert "may not rds:DeleteDBInstance on arn:aws:rds:us-west-2" in database
    assert "give --skip-permission-check" in remedy
    assert aws.simulation.sources == {"arn:aws:iam::123456789012:user/ops"}


def test_an_organization_that_denies_is_believed(det: Det, aws: Aws) -> None:
    denied = "<AllowedByOrganizations>false</AllowedByOrganizations>"
    aws.simulation.decisions = {
        "s3:CreateBucket": f"{DENIES}<MissingContextValues><member>aws:x</member>"
        "</MissingContextValues><OrganizationsDecisionDetail>"
        f"{denied}</OrganizationsDecisionDetail>"
    }
    problem, _ = refused(det, aws, "simple")
    assert "may not s3:CreateBucket on arn:aws:s3:::lab-checkpointbucket-" in problem


@pytest.mark.parametrize(
    ("words", "services"),
    [
        (("simple",), set()),
        (("simple", "--log-group-prefix", "lab"), {"logs"}),
        (("simple-rds",), {"rds"}),
        (("efs",), {"rds", "elasticfilesystem"}),
    ],
)
def test_only_what_the_stack_has_is_checked(
    det: Det, aws: Aws, words: tuple[str, ...], services: set[str]
) -> None:
    refused(det, aws, *words, "--keypair", "nobody")
    asked = aws.simulation.asked
    always = {"cloudformation", "iam", "s3", "secretsmanager"}
    assert {action.partition(":")[0] for action in asked} == always | services
    assert asked["s3:PutObject"].startswith("arn:aws:s3:::lab-checkpointbucket-")
    assert asked["s3:PutObject"].endswith("/deploy/determined.whl")
    assert asked["cloudformation:CreateStack"].startswith(
        PREFIX.format("cloudformation", "stack/lab/")
    )
    assert asked["secretsmanager:CreateSecret"].startswith(
        PREFIX.format("secretsmanager", "secret:determined/lab-")
    )


def test_a_simulator_that_is_wrong_can_be_skipped(det: Det, aws: Aws) -> None:
    aws.simulation.decisions = {"iam:Create*": DENIES}
    done = det(*UP, "simple", "--skip-permission-check")
    assert done.status == 0, done.err
    assert "are not checked: --skip-permission-check is given. CloudFormation names" in done.out
    assert aws.simulation.asked == {}


def test_a_simulator_that_may_not_be_used_stops_nothing(det: Det, aws: Aws) -> None:
    aws.simulation.is_permitted = False
    done = det(*UP, "simple")
    assert done.status == 0, done.err
    assert "Permissions of IAM, S3, RDS and others are not checked: these credentials" in done.out
    assert "SimulatePrincipalPolicy: not authorized to perform" in done.out


def test_a_condition_that_the_simulator_cannot_decide_stops_nothing(det: Det, aws: Aws) -> None:
    missing = "<MissingContextValues><member>aws:CalledVia</member></MissingContextValues>"
    aws.simulation.decisions = {"iam:PassRole": f"{DENIES}{missing}"}
    done = det(*UP, "simple")
    assert done.status == 0, done.err
    assert "are not checked: conditions of policies decide iam:PassRole." in done.out


def test_the_policies_of_a_role_are_those_of_the_role_with_its_path(det: Det, aws: Aws) -> None:
    aws.client("iam").create_role(RoleName="Ops", Path="/teams/", AssumeRolePolicyDocument="{}")
    aws.simulation.caller = "arn:aws:sts::123456789012:assumed-role/Ops/ann"
    refused(det, aws, "simple", "--keypair", "nobody")
    assert aws.simulation.sources == {"arn:aws:iam::123456789012:role/teams/Ops"}


@pytest.mark.parametrize(
    ("caller", "text"),
    [
        ("arn:aws:iam::123456789012:root", ""),
        (
            "arn:aws:sts::123456789012:federated-user/ann",
            "are not checked: IAM's simulator takes users and roles alone.",
        ),
        ("arn:aws:sts::123456789012:assumed-role/Gone/ann", "AWS refused GetRole (NoSuchEntity)"),
    ],
)
def test_a_caller_whose_policies_cannot_be_read_stops_nothing(
    det: Det, aws: Aws, caller: str, text: str
) -> None:
    aws.simulation.caller = caller
    done = det(*UP, "simple")
    assert done.status == 0, done.err
    assert aws.simulation.asked == {}
    assert text in done.out
    assert ("not checked" in done.out) is bool(text)
