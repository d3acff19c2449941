"""What `up` and `down` need beside EC2; the checks and `det deploy aws policies up` ask here.

CloudFormation makes and tags the resources with the rights of who runs the commands.
"""

from __future__ import annotations

from typing import Iterator, List, NamedTuple, Tuple

from determined_deploy.aws.options import Options
from determined_deploy.aws.secret import name_of

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
_FILES = ("CreateFileSystem", "DescribeFileSystems", "TagResource")
_LOGS = ("CreateLogGroup", "DeleteLogGroup", "DescribeLogGroups", "PutRetentionPolicy")


class ResourceActions(NamedTuple):
    """Actions on a resource of the stack."""

    actions: List[str]
    resource: str
    """Its ARN."""


class ArnPlace(NamedTuple):
    """The parts of an ARN before the name."""

    partition: str = "aws"
    region: str = "*"
    account: str = "*"


class Naming(NamedTuple):
    """Parts of names that CloudFormation chooses."""

    suffix: str
    role: str
    profile: str


EXAMPLE = Naming("0A1B2C3D4E5F", "AgentRole", "AgentProfile")
"""CloudFormation appends twelve characters like these to the names that it makes."""
PATTERN = Naming("*", "*", "*")
"""All names, as a policy has them."""


class StackContents(NamedTuple):
    """Resources that a stack can have or lack."""

    stack: str
    secret: str
    has_rds: bool
    has_own_network: bool
    has_efs: bool
    efs_id: str
    """Of a file system that exists; empty for one of the stack."""
    log_group: str
    """Empty for none."""


def made_by(options: Options) -> StackContents:
    """The contents of the stack of these options."""
    return StackContents(
        options.stack,
        name_of(options.cluster_id),
        options.has_rds,
        options.has_own_network,
        options.has_efs,
        options.efs_id,
        options.log_group,
    )


def all_types(cluster_id: str) -> StackContents:
    """The contents of stacks of a cluster, of all types together."""
    return StackContents(
        cluster_id, name_of(cluster_id), True, True, True, "", f"*/{cluster_id}/journald"
    )


def of(contents: StackContents, place: ArnPlace, naming: Naming) -> Iterator[ResourceActions]:
    """The actions that a stack needs, each with a resource that is named so."""
    stack, suffix = contents.stack, naming.suffix
    here, everywhere = f"{place.region}:{place.account}", f":{place.account}"

    def need(service: str, actions: Tuple[str, ...], where: str, name: str) -> ResourceActions:
        arn = f"arn:{place.partition}:{service}:{where}:{name}"
        return ResourceActions([f"{service}:{action}" for action in actions], arn)

    yield need("cloudformation", _STACKS, here, f"stack/{stack}/{suffix.lower()}")
    role, profile = f"{stack}-{naming.role}-{suffix}", f"{stack}-{naming.profile}-{suffix}"
    yield need("iam", (*_ROLE, "TagRole"), everywhere, f"role/{role}")
    yield need("iam", _PROFILES, everywhere, f"instance-profile/{profile}")
    bucket = f"{stack}-checkpointbucket-{suffix}".lower()
    yield need("s3", (*_BUCKET, "PutBucketTagging"), ":", bucket)
    yield need("s3", ("PutObject",), ":", f"{bucket}/deploy/determined.whl")
    yield need("secretsmanager", _SECRET, here, f"secret:{contents.secret}-{suffix[:6]}")
    if contents.has_rds:
        database = f"db:{stack}-database-{suffix}".lower()
        yield need("rds", (*_DATABASE, "AddTagsToResource"), here, database)
        if contents.has_own_network:
            subnets = f"subgrp:{stack}-databasesubnets-{suffix}".lower()
            yield need("rds", (*_SUBNETS, "AddTagsToResource"), here, subnets)
    if contents.has_efs:
        files = contents.efs_id or (f"fs-{suffix.lower()}")
        more = () if contents.efs_id else _FILES
        yield need("elasticfilesystem", (*_MOUNTS, *more), here, f"file-system/{files}")
    if contents.log_group:
        group = f"log-group:{contents.log_group}"
        yield need("logs", (*_LOGS, "TagResource"), here, group)
