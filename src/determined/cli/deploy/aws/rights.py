"""Resources of the stack: the roles of master and agents, as narrow as their work allows."""

from __future__ import annotations

from typing import Any, Dict, List

from determined.cli.deploy.aws import data
from determined.cli.deploy.aws.options import Options
from determined.cli.deploy.aws.secret import name_of

_FOR_ALL_POOLS = (
    "ec2:DescribeInstances",
    "ec2:DescribeImages",
    "ec2:RunInstances",
    "ec2:CreateTags",
    "ec2:CreateFleet",
    "ec2:CreateLaunchTemplate",
    "ec2:DescribeLaunchTemplates",
)
_OF_ITS_MACHINES = ("ec2:TerminateInstances", "ec2:DeleteLaunchTemplate")
_OBJECTS = ("s3:GetObject", "s3:PutObject", "s3:DeleteObject", "s3:AbortMultipartUpload")
_CHANGES = ("s3:PutObject", "s3:DeleteObject")
_BUCKET = ("s3:ListBucket", "s3:GetBucketLocation", "s3:ListBucketMultipartUploads")
_LOGS = ("logs:CreateLogStream", "logs:PutLogEvents")
_SECRET = "arn:${AWS::Partition}:secretsmanager:${AWS::Region}:${AWS::AccountId}:secret:%s-??????"
"""AWS appends six characters to the name of a secret."""


def resources(options: Options) -> Dict[str, Any]:
    """Roles and instance profiles of master and agents."""
    storage = [
        _statement(_BUCKET, {"Fn::GetAtt": ["CheckpointBucket", "Arn"]}),
        _statement(_OBJECTS, {"Fn::Sub": "${CheckpointBucket.Arn}/*"}),
    ]
    watched = [*storage, *(_monitoring() if options.log_group else ())]
    machines = _statement(_OF_ITS_MACHINES, "*")
    machines["Condition"] = {"StringEquals": {"aws:ResourceTag/managed_by": options.tag_value}}
    secret = name_of(options.cluster_id)
    master = [
        _statement(_FOR_ALL_POOLS, "*"),
        machines,
        _statement(["iam:PassRole"], {"Fn::GetAtt": ["AgentRole", "Arn"]}),
        _statement(["secretsmanager:GetSecretValue"], {"Fn::Sub": _SECRET % secret}),
        *watched,
    ]
    return {
        "MasterRole": _role(master),
        "MasterProfile": _profile("MasterRole"),
        "AgentRole": _role([*watched, _not_the_wheel()]),
        "AgentProfile": _profile("AgentRole"),
    }


def _not_the_wheel() -> Dict[str, Any]:
    """Agents and their tasks may not change what the master installs."""
    wheels = {"Fn::Sub": "${CheckpointBucket.Arn}/deploy/*"}
    return {**_statement(_CHANGES, wheels), "Effect": "Deny"}


def _monitoring() -> List[Dict[str, Any]]:
    """Journals to the stack's group, and metrics to the one namespace; both alone."""
    metrics = _statement(["cloudwatch:PutMetricData"], "*")
    metrics["Condition"] = {"StringEquals": {"cloudwatch:namespace": "Determined"}}
    return [_statement(_LOGS, {"Fn::GetAtt": [data.LOGS, "Arn"]}), metrics]


def _role(statements: List[Dict[str, Any]]) -> Dict[str, Any]:
    machines = {
        "Effect": "Allow",
        "Principal": {"Service": [{"Fn::Sub": "ec2.${AWS::URLSuffix}"}]},
        "Action": ["sts:AssumeRole"],
    }
    policy = {
        "PolicyName": "determined",
        "PolicyDocument": {"Version": "2012-10-17", "Statement": statements},
    }
    return {
        "Type": "AWS::IAM::Role",
        "Properties": {
            "AssumeRolePolicyDocument": {"Version": "2012-10-17", "Statement": [machines]},
            "Policies": [policy],
        },
    }


def _profile(role: str) -> Dict[str, Any]:
    return {"Type": "AWS::IAM::InstanceProfile", "Properties": {"Roles": [{"Ref": role}]}}


def _statement(actions: Any, resource: Any) -> Dict[str, Any]:
    return {"Effect": "Allow", "Action": list(actions), "Resource": resource}
