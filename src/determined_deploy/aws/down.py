"""`det deploy aws down` and `list`."""

from __future__ import annotations

import argparse
import json
from typing import Any, List

from determined.cli import arguments, errors
from determined.cli.output import show
from determined_deploy.aws import stack as stacks
from determined_deploy.aws.account import Account, explained
from determined_deploy.aws.secret import Secret
from determined_deploy.aws.stack import Stack

_RETAINED_TYPES = {
    "AWS::S3::Bucket": "the bucket {} with checkpoints and TensorBoard files: aws s3 rb --force "
    "s3://{}",
    "AWS::EFS::FileSystem": "the file system {}: aws efs delete-file-system --file-system-id {}",
    "AWS::RDS::DBInstance": "a snapshot of the database {}: aws rds describe-db-snapshots",
    "AWS::Logs::LogGroup": "the log group {}: aws logs delete-log-group --log-group-name {}",
    "AWS::EC2::Volume": "a snapshot of the database's disk {}: aws ec2 describe-snapshots "
    "--filters Name=volume-id,Values={}",
}


def down(args: argparse.Namespace) -> None:
    """Stop the master, end its machines, delete the stack, and say what stays."""
    access = Account(args)
    with explained():
        stack = Stack(access, args.cluster_id)
        description = stack.find()
        if description is None or stacks.TAG not in stacks.tags_of(description):
            raise errors.CliError(
                f"--cluster-id {args.cluster_id}: {access.region} has no such cluster; det deploy "
                "aws list shows those of a region"
            )
        arguments.confirm(
            args,
            f"Delete the cluster {args.cluster_id}? Its tasks end. Its bucket, and a snapshot of "
            "its database, stay.",
        )
        leftovers = _leftovers(access, stack)
        _end_machines(access, stack, f"determined-{args.cluster_id}")
        print(f"Deleting the stack {stack.name} ...", flush=True)
        stack.delete()
        status = stack.wait()
        if status != "DELETE_COMPLETE":
            raise errors.CliError(
                f"the stack {stack.name} is {status}: see the resource above, remove what holds "
                "it, and repeat this command"
            )
        Secret(access, args.cluster_id).delete()
    print(f"The cluster {args.cluster_id} is gone.")
    if leftovers:
        print("Your data stays. The command after each removes or lists it:")
        for line in leftovers:
            print(f"  - {line}")


def list_clusters(args: argparse.Namespace) -> None:
    """Print the clusters of a region."""
    access = Account(args)
    with explained():
        clusters = stacks.list_clusters(access)
    rows = [
        [
            stacks.tags_of(one)[stacks.TAG],
            stacks.tags_of(one).get(stacks.TYPE_TAG, ""),
            one["StackStatus"],
            stacks.outputs_of(one).get("MasterAddress", ""),
            str(one["CreationTime"])[:19],
        ]
        for one in clusters
    ]
    show.table(["Cluster ID", "Deployment Type", "Status", "Master", "Created (UTC)"], rows)


def _end_machines(access: Account, stack: Stack, tag: str) -> None:
    """The master first, so that it starts no others; then agents, and templates of launches."""
    ec2 = access.client("ec2")
    master = stack.outputs().get("MasterId", "") or stack.resource("Master")
    if master and _is_up(ec2, master):
        print(f"Stopping the master {master} ...", flush=True)
        ec2.stop_instances(InstanceIds=[master])
        ec2.get_waiter("instance_stopped").wait(InstanceIds=[master])
    filters = [
        {"Name": "tag:managed_by", "Values": [tag]},
        {"Name": "instance-state-name", "Values": ["pending", "running", "stopping", "stopped"]},
    ]
    pages = ec2.get_paginator("describe_instances").paginate(Filters=filters)
    agents = [i["InstanceId"] for p in pages for r in p["Reservations"] for i in r["Instances"]]
    if agents:
        print(f"Ending {len(agents)} machines of agents ...", flush=True)
        ec2.terminate_instances(InstanceIds=agents)
        ec2.get_waiter("instance_terminated").wait(InstanceIds=agents)
    pages = ec2.get_paginator("describe_launch_templates").paginate(Filters=filters[:1])
    for template in [t for page in pages for t in page["LaunchTemplates"]]:
        ec2.delete_launch_template(LaunchTemplateId=template["LaunchTemplateId"])


def _is_up(ec2: Any, instance_id: str) -> bool:
    """Whether a machine can be stopped; after a `down` that failed it may be gone."""
    filters = [
        {"Name": "instance-id", "Values": [instance_id]},
        {"Name": "instance-state-name", "Values": ["pending", "running", "stopping"]},
    ]
    return bool(ec2.describe_instances(Filters=filters)["Reservations"])


def _leftovers(access: Account, stack: Stack) -> List[str]:
    """Resources that the stack leaves, each with the command that removes or lists it."""
    client = access.client("cloudformation")
    pages = client.get_paginator("list_stack_resources").paginate(StackName=stack.name)
    summaries: List[Any] = [one for page in pages for one in page["StackResourceSummaries"]]
    body = client.get_template(StackName=stack.name)["TemplateBody"]
    declared = (json.loads(body) if isinstance(body, str) else body)["Resources"]
    return [
        _RETAINED_TYPES[one["ResourceType"]].format(*[one["PhysicalResourceId"]] * 2)
        for one in summaries
        if one["ResourceType"] in _RETAINED_TYPES
        and one.get("PhysicalResourceId")
        and declared.get(one["LogicalResourceId"], {}).get("DeletionPolicy") != "Delete"
    ]
