"""Resources of the stack: the roles of master and agents, as narrow as their work allows."""

from __future__ import annotations

from typing import Any, Dict, List

from determined_deploy.aws import policies
from determined_deploy.aws.options import Options
from determined_deploy.aws.resources import data
from determined_deploy.aws.secret import name_of

_CHANGES = ("s3:PutObject", "s3:DeleteObject")
_SECRET = "arn:${AWS::Partition}:secretsmanager:${AWS::Region}:${AWS::AccountId}:secret:%s-??????"
"""AWS appends six characters to the name of a secret."""


def resources(options: Options) -> Dict[str, Any]:
    """Roles and instance profiles of master and agents."""
    places = {
        policies.AGENT_ROLE: {"Fn::GetAtt": ["AgentRole", "Arn"]},
        policies.BUCKET: {"Fn::GetAtt": ["CheckpointBucket", "Arn"]},
        policies.OBJECTS: {"Fn::Sub": "${CheckpointBucket.Arn}/*"},
        policies.LOG_GROUP: {"Fn::GetAtt": [data.LOGS, "Arn"]},
    }

    def of(*names: str) -> List[Dict[str, Any]]:
        tag = ("managed_by", options.tag_value)
        return [one for name in names for one in policies.statements(name, places, tag)]

    watched = of("storage", *(("logs", "metrics") if options.log_group else ()))
    secret = {"Fn::Sub": _SECRET % name_of(options.cluster_id)}
    master = [
        *of("instances", "fleets", *(("spot",) if options.spot else ()), "pass-role"),
        policies.statement(["secretsmanager:GetSecretValue"], secret),
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
    return {**policies.statement(_CHANGES, wheels), "Effect": "Deny"}


def _role(statements: List[Dict[str, Any]]) -> Dict[str, Any]:
    machines = {
        "Effect": "Allow",
        "Principal": {"Service": [{"Fn::Sub": "ec2.${AWS::URLSuffix}"}]},
        "Action": ["sts:AssumeRole"],
    }
    policy = {
        "PolicyName": "determined",
        "PolicyDocument": policies.document(statements),
    }
    return {
        "Type": "AWS::IAM::Role",
        "Properties": {
            "AssumeRolePolicyDocument": policies.document([machines]),
            "Policies": [policy],
        },
    }


def _profile(role: str) -> Dict[str, Any]:
    return {"Type": "AWS::IAM::InstanceProfile", "Properties": {"Roles": [{"Ref": role}]}}
