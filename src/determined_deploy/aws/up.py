"""`det deploy aws up`: make a cluster, or change it."""

from __future__ import annotations

import argparse
import json
import tempfile
import time

from determined.cli import arguments, declare, errors
from determined_deploy.aws import options, template
from determined_deploy.aws.account import Account, explained
from determined_deploy.aws.machine_rules import Images
from determined_deploy.aws.options import Options
from determined_deploy.aws.preflight import Preflight
from determined_deploy.aws.resources import data
from determined_deploy.aws.resources.boot import EXTRAS
from determined_deploy.aws.secret import Secret
from determined_deploy.aws.stack import PAUSE_S, TAG, TYPE_TAG, Stack, tags_of
from determined_deploy.cloud.boot import placeholders
from determined_deploy.cloud.options import warn_of_images, warn_of_no_effect, warn_of_risks
from determined_deploy.cloud.secret import DATABASE, INITIAL_USER, changed
from determined_deploy.cloud.waiting import wait_for_master
from determined_deploy.cloud.wheel import Uploads, make_uploads

_NO_EFFECT = (
    "agent_reattach_enabled",
    "det_version",
    "docker_pass",
    "docker_user",
    "enterprise_edition",
    "fsx_id",
    "genai_shared_fs_mount_path",
    "genai_version",
    "no_preflight_checks",
    "no_update_terminate_agents",
    "update_terminate_agents",
)
_PLACEHOLDER = Images(f"ami-{0:017}", f"ami-{0:017}", f"ami-{1:017}")
UPLOAD_LIMIT_S = 900.0


def up(args: argparse.Namespace) -> None:
    """Check the account, make or change the stack, upload the wheel, wait for the master."""
    cluster = options.read(args)
    warn_of_no_effect(args, _NO_EFFECT)
    if args.retain_log_group and not args.log_group_prefix:
        declare.warn("--retain-log-group has no effect without --log-group-prefix")
    if args.spot_max_price and not args.spot:
        declare.warn("--spot-max-price has no effect without --spot")
    if args.dry_run:
        whole = template.template(cluster, _PLACEHOLDER, placeholders(cluster))
        print(json.dumps(whole, indent=2))
        return
    access = Account(args)
    with explained(), tempfile.TemporaryDirectory() as directory:
        images = _checked(cluster, access)
        uploads = make_uploads(directory, cluster.wheelhouse, EXTRAS)
        stack = Stack(access, cluster.stack)
        description = stack.find()
        is_new = description is None
        if description is not None and stack.tags().get(TAG) != cluster.cluster_id:
            raise errors.CliError(
                f"the stack {stack.name} exists and is no cluster of determined: choose another "
                "--cluster-id"
            )
        if description is not None:
            _confirm_change(
                args, str(description["StackStatus"]), tags_of(description).get(TYPE_TAG, "")
            )
        warn_of_risks(cluster)
        warn_of_images(cluster, "boto3")
        tags = {**cluster.tags, TAG: cluster.cluster_id, TYPE_TAG: cluster.deployment_type}
        secret = Secret(access, cluster.cluster_id)
        stored = secret.read() or {}
        if not is_new and args.db_password not in (None, stored.get(DATABASE)):
            raise errors.CliError(
                "--db-password: the database of this cluster has a password already, which is "
                "kept; leave the option out"
            )
        members = changed(stored, cluster, args.db_password, args.initial_user_password)
        secret.write(members, tags)
        whole = template.template(cluster, images, uploads.keys())
        changes = stack.put(whole, tags)
        print(f"{'Creating' if is_new else 'Changing'} the stack {stack.name} ...", flush=True)
        _upload(access, stack, uploads)
        status = stack.wait() if changes else stack.status()
        if status not in ("CREATE_COMPLETE", "UPDATE_COMPLETE"):
            raise errors.CliError(
                f"the stack {stack.name} is {status}: see the first failed resource above. Remove "
                f"it with: det deploy aws down --cluster-id {cluster.cluster_id}"
            )
        outputs = stack.outputs()
        if not args.no_wait_for_master:
            wait_for_machine(access, outputs["MasterAddress"], outputs["MasterId"])
    print(f"The master is at {outputs['MasterAddress']}")
    print(f"  export DET_MASTER={outputs['MasterAddress']}")
    # A snapshot has users with passwords of their own.
    if is_new and not (args.initial_user_password or args.db_snapshot):
        print(f"Users admin and determined have the password {members[INITIAL_USER]}")


def _confirm_change(args: argparse.Namespace, status: str, kind: str) -> None:
    """Ask before a cluster is changed.

    Raises:
        CliError: AWS changes no stack in this status, the type is another, or the answer is not
            yes.
    """
    if kind != args.deployment_type:
        raise errors.CliError(
            f"--deployment-type {args.deployment_type}: the cluster {args.cluster_id} is of type "
            f"{kind}, and another type would begin with an empty database; give --deployment-type "
            f"{kind}, or another --cluster-id"
        )
    if status.startswith(("CREATE_FAILED", "ROLLBACK_", "DELETE_")):
        raise errors.CliError(
            f"the stack of {args.cluster_id} is {status} and cannot be changed: remove it with "
            f"det deploy aws down --cluster-id {args.cluster_id}, then repeat this command"
        )
    arguments.confirm(args, f"Change the cluster {args.cluster_id}? Its master restarts.")


def _checked(cluster: Options, access: Account) -> Images:
    print(f"Checking the account in {access.region} ...", flush=True)
    preflight = Preflight(cluster, access)
    images = preflight.run()
    if images is None:
        problems = "\n".join(f"  - {problem}" for problem in preflight.problems)
        raise errors.CliError(f"nothing was created:\n{problems}")
    return images


def _upload(access: Account, stack: Stack, uploads: Uploads) -> None:
    """Put the files into the stack's bucket as soon as that is there: the master waits for it."""
    deadline = time.monotonic() + UPLOAD_LIMIT_S
    while not (bucket := stack.resource(data.BUCKET)):
        status = stack.follow()
        if "FAILED" in status or "ROLLBACK" in status or time.monotonic() > deadline:
            return  # the stack says why
        time.sleep(PAUSE_S)
    for path, key in uploads.files():
        access.client("s3").upload_file(str(path), bucket, f"deploy/{key}")


def wait_for_machine(access: Account, address: str, instance_id: str) -> None:
    """Return once the master answers. Raises CliError, with the last line of its machine."""
    see = f"aws ec2 get-console-output --latest --instance-id {instance_id}"
    wait_for_master(address, instance_id, lambda: _console(access, instance_id), see)


def _console(access: Account, instance_id: str) -> str:
    """The console of a machine; as it was minutes ago for types that cannot show it at once."""
    from botocore.exceptions import BotoCoreError, ClientError

    ec2 = access.client("ec2")
    for more in ({"Latest": True}, {}):
        try:
            return str(ec2.get_console_output(InstanceId=instance_id, **more).get("Output", ""))
        except (BotoCoreError, ClientError):
            continue
    return ""
