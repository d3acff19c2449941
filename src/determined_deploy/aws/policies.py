"""IAM policies: one table, which the stack, the checks of an account and `policies` ask.

A row has actions and the name of what they act on. The stack gives each name a function of
CloudFormation, the command an ARN. `needs.py` has what `up` itself needs.
"""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

ANY, OWN = "*", "own machines"
"""All resources; those with the tag by which a master knows its machines."""
AGENT_ROLE, BUCKET, OBJECTS, LOG_GROUP = "agent role", "bucket", "objects", "log group"
NAMESPACE = "Determined"
"""Of metrics in CloudWatch."""
VERSION = "2012-10-17"
"""Of the language of policies."""

Statement = Dict[str, Any]


class Row(NamedTuple):
    """Actions on one kind of resource, under a condition or none."""

    actions: Tuple[str, ...]
    on: str = ANY
    condition: Optional[Tuple[str, str]] = None
    """A key and the value that it must have."""


class Policy(NamedTuple):
    """Rows that are needed together."""

    purpose: str
    rows: Tuple[Row, ...]


def _linked(service: str) -> Row:
    """AWS makes the role of a service at its first use, if the caller may have it made."""
    return Row(("iam:CreateServiceLinkedRole",), condition=("iam:AWSServiceName", service))


POLICIES: Dict[str, Policy] = {
    "instances": Policy(
        "the master: machines of all pools",
        (
            Row(
                (
                    "ec2:DescribeInstances",
                    "ec2:DescribeImages",
                    "ec2:RunInstances",
                    "ec2:CreateTags",
                )
            ),
            Row(("ec2:TerminateInstances",), OWN),
        ),
    ),
    "fleets": Policy(
        "the master: pools with several types, subnets or markets",
        (
            Row(
                (
                    "ec2:CreateFleet",
                    "ec2:CreateLaunchTemplate",
                    "ec2:DescribeLaunchTemplates",
                )
            ),
            Row(("ec2:DeleteLaunchTemplate",), OWN),
            _linked("ec2fleet.amazonaws.com"),
        ),
    ),
    "spot": Policy(
        "the master: the first spot machine of an account", (_linked("spot.amazonaws.com"),)
    ),
    "pass-role": Policy(
        "the master: pools with iam_instance_profile_arn", (Row(("iam:PassRole",), AGENT_ROLE),)
    ),
    "storage": Policy(
        "master and agents: checkpoints in a bucket",
        (
            Row(
                ("s3:ListBucket", "s3:GetBucketLocation", "s3:ListBucketMultipartUploads"), BUCKET
            ),
            Row(
                ("s3:GetObject", "s3:PutObject", "s3:DeleteObject", "s3:AbortMultipartUpload"),
                OBJECTS,
            ),
        ),
    ),
    "logs": Policy(
        "master and agents: journals to a group of CloudWatch Logs",
        (Row(("logs:CreateLogStream", "logs:PutLogEvents"), LOG_GROUP),),
    ),
    "log-group": Policy(
        "master and agents: making that group, where it is missing",
        (Row(("logs:CreateLogGroup",), LOG_GROUP),),
    ),
    "metrics": Policy(
        "master and agents: load of machines to CloudWatch",
        (Row(("cloudwatch:PutMetricData",), condition=("cloudwatch:namespace", NAMESPACE)),),
    ),
    "prices": Policy(
        "who runs det deploy aws prices",
        (Row(("pricing:GetProducts", "ec2:DescribeSpotPriceHistory")),),
    ),
}
"""What masters and agents need, by the name of the policy."""


def statements(
    name: str, resources: Mapping[str, Any], tag: Optional[Tuple[str, str]] = None
) -> List[Statement]:
    """The statements of a policy.

    Args:
        name: of `POLICIES`.
        resources: what each name of a row stands for.
        tag: by which a master knows its machines; without it, these rows reach all machines.
    """
    rows = []
    for row in POLICIES[name].rows:
        resource = ANY if row.on in (ANY, OWN) else resources[row.on]
        condition = row.condition
        if row.on == OWN and tag is not None:
            condition = (f"aws:ResourceTag/{tag[0]}", tag[1])
        rows.append(statement(row.actions, resource, condition))
    return rows


def statement(
    actions: Sequence[str], resource: Any, condition: Optional[Tuple[str, str]] = None
) -> Statement:
    """A statement that allows actions on a resource, if a key of the call has a value."""
    body: Statement = {"Effect": "Allow", "Action": list(actions), "Resource": resource}
    if condition is not None:
        body["Condition"] = {"StringEquals": {condition[0]: condition[1]}}
    return body


def document(allowed: Sequence[Statement]) -> Dict[str, Any]:
    """A policy of statements."""
    return {"Version": VERSION, "Statement": list(allowed)}
