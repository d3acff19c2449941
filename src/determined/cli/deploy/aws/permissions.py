"""Permissions of these credentials beside those of EC2, by IAM's simulator.

CloudFormation makes the resources with them. The simulator reads the policies of a user or role
and calls nothing. Actions that it cannot decide are not checked: CloudFormation names them in its
events.
"""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Tuple

from determined.cli.deploy.aws import account
from determined.cli.deploy.aws.account import Account
from determined.cli.deploy.aws.options import Options
from determined.cli.deploy.aws.secret import name_of

_SUFFIX = "0A1B2C3D4E5F"
"""CloudFormation appends twelve characters like these to the names that it makes."""
_STACK = ("CreateStack", "DeleteStack", "DescribeStackEvents", "DescribeStackResource")
_STACKS = (*_STACK, "DescribeStacks", "UpdateStack")
_ROLE = ("CreateRole", "DeleteRole", "DeleteRolePolicy", "GetRole", "PassRole", "PutRolePolicy")
_PROFILE = ("CreateInstanceProfile", "DeleteInstanceProfile", "GetInstanceProfile")
_PROFILES = (*_PROFILE, "AddRoleToInstanceProfile", "RemoveRoleFromInstanceProfile")
_BUCKET = ("CreateBucket", "PutBucketPublicAccessBlock", "PutEncryptionConfiguration")
_SECRET = ("CreateSecret", "DeleteSecret", "GetSecretValue", "PutSecretValue", "TagResource")
_DATABASE = ("CreateDBInstance", "CreateDBSnapshot", "DeleteDBInstance", "DescribeDBInstances")
_SUBNETS = ("CreateDBSubnetGroup", "DeleteDBSubnetGroup", "DescribeDBSubnetGroups")
_MOUNTS = ("CreateMountTarget", "DeleteMountTarget", "DescribeMountTargets")
_FILES = ("CreateFileSystem", "DescribeFileSystems")
_LOGS = ("CreateLogGroup", "DeleteLogGroup", "DescribeLogGroups", "PutRetentionPolicy")


class ActionsOn(NamedTuple):
    """Actions on a resource of the stack."""

    actions: List[str]
    resource: str
    """Its ARN. Its name is like the one that CloudFormation will make."""


class Caller(NamedTuple):
    """The user or role that has these credentials."""

    arn: str
    """As the simulator takes it; empty for one whose policies it does not read."""
    is_root: bool
    partition: str
    number: str
    """Of the account."""


def needs(options: Options, region: str, caller: Caller) -> Iterator[ActionsOn]:
    """The actions that the stack needs, on resources with names like those it will make."""
    stack, number = options.stack, caller.number

    def need(service: str, actions: Tuple[str, ...], place: str, name: str) -> ActionsOn:
        arn = f"arn:{caller.partition}:{service}:{place}:{name}"
        return ActionsOn([f"{service}:{action}" for action in actions], arn)

    here, everywhere = f"{region}:{number}", f":{number}"
    yield need("cloudformation", _STACKS, here, f"stack/{stack}/{_SUFFIX.lower()}")
    yield need("iam", _ROLE, everywhere, f"role/{stack}-AgentRole-{_SUFFIX}")
    yield need("iam", _PROFILES, everywhere, f"instance-profile/{stack}-AgentProfile-{_SUFFIX}")
    bucket = f"{stack}-checkpointbucket-{_SUFFIX}".lower()
    yield need("s3", _BUCKET, ":", bucket)
    yield need("s3", ("PutObject",), ":", f"{bucket}/deploy/determined.whl")
    secret = f"secret:{name_of(options.cluster_id)}-{_SUFFIX[:6]}"
    yield need("secretsmanager", _SECRET, here, secret)
    if options.has_rds:
        yield need("rds", _DATABASE, here, f"db:{stack}-database-{_SUFFIX}".lower())
        if options.has_own_network:
            yield need("rds", _SUBNETS, here, f"subgrp:{stack}-databasesubnets-{_SUFFIX}".lower())
    if options.has_efs:
        files = options.efs_id or f"fs-{_SUFFIX.lower()}"
        made = () if options.efs_id else _FILES
        yield need("elasticfilesystem", (*_MOUNTS, *made), here, f"file-system/{files}")
    if options.log_group:
        yield need("logs", _LOGS, here, f"log-group:{options.log_group}")


def problems(options: Options, access: Account) -> List[str]:
    """Missing permissions, each resource's in words. Prints that some cannot be checked."""
    from botocore.exceptions import BotoCoreError, ClientError

    if not options.asks_simulator:
        _say_unchecked("--skip-permission-check is given")
        return []
    lacking: List[str] = []
    undecided: List[str] = []
    try:
        caller = _caller(access)
        if caller.is_root:
            return []  # it may do everything
        if not caller.arn:
            _say_unchecked("IAM's simulator takes users and roles alone")
            return []
        for need in needs(options, access.region, caller):
            denied, unknown = _simulated(access, caller, need)
            undecided += unknown
            if denied:
                lacking.append(
                    f"these credentials may not {', '.join(denied)} on {need.resource}: add these "
                    f"actions to the policies of {caller.arn}"
                )
        if lacking:
            lacking.append(
                "if these permissions exist for resources of other names, which IAM's simulator "
                "was not asked about, give --skip-permission-check"
            )
    except ClientError as error:
        _say_unchecked(account.in_words(error))
    except BotoCoreError as error:
        _say_unchecked(str(error))
    if undecided:
        _say_unchecked(f"conditions of policies decide {', '.join(undecided)}")
    return lacking


def _caller(access: Account) -> Caller:
    """The caller. The ARN of a session has not the path of its role, so IAM is asked."""
    arn = str(access.client("sts").get_caller_identity()["Arn"])
    _, partition, _, _, number, name = arn.split(":", 5)
    kind, _, rest = name.partition("/")
    found = arn if kind == "user" else ""
    if kind == "assumed-role":
        role = access.client("iam").get_role(RoleName=rest.partition("/")[0])
        found = str(role["Role"]["Arn"])
    return Caller(found, kind == "root", partition, number)


def _simulated(access: Account, caller: Caller, need: ActionsOn) -> Tuple[List[str], List[str]]:
    """The actions that are denied, and those that the simulator cannot decide."""
    pages = access.client("iam").get_paginator("simulate_principal_policy")
    asked: Dict[str, Any] = {"ActionNames": need.actions, "ResourceArns": [need.resource]}
    denied: List[str] = []
    unknown: List[str] = []
    for page in pages.paginate(PolicySourceArn=caller.arn, **asked):
        for one in page["EvaluationResults"]:
            verdict = _verdict(one)
            if verdict is not None:
                (denied if verdict else unknown).append(str(one["EvalActionName"]))
    return denied, unknown


def _verdict(result: Dict[str, Any]) -> Optional[bool]:
    """Whether an action is denied for certain; None for one that is allowed."""
    if result["EvalDecision"] == "allowed":
        return None
    organization = result.get("OrganizationsDecisionDetail", {})
    if organization.get("AllowedByOrganizations") is False:
        return True
    return not result.get("MissingContextValues")


def _say_unchecked(why: str) -> None:
    print(
        f"Permissions of IAM, S3, RDS and others are not checked: {why}. CloudFormation names a "
        "missing one in its events.",
        flush=True,
    )
