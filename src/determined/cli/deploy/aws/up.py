"""`det deploy aws up`: make a cluster, or change it."""

from __future__ import annotations

import argparse
import hashlib
import json
import pathlib
import secrets
import subprocess
import sys
import tempfile
import time
from typing import Dict, Optional

from determined.cli import errors
from determined.cli.deploy.aws import data, options, template
from determined.cli.deploy.aws.account import Account, explained
from determined.cli.deploy.aws.options import Options
from determined.cli.deploy.aws.preflight import Preflight
from determined.cli.deploy.aws.stack import PAUSE_S, TAG, TYPE_TAG, Stack
from determined.cli.deploy.aws.template import Images
from determined.cli.deploy.aws.waiting import wait_for_master

_NO_EFFECT = {
    "docker_user": "--docker-user",
    "docker_pass": "--docker-pass",
    "log_group_prefix": "--log-group-prefix",
    "retain_log_group": "--retain-log-group",
    "fsx_id": "--fsx-id",
    "genai_version": "--genai-version",
    "update_terminate_agents": "--update-terminate-agents",
}
_PLACEHOLDER = Images("ami-of-ubuntu", "ami-of-ubuntu", "ami-with-drivers")
UPLOAD_LIMIT_S = 900.0


def up(args: argparse.Namespace) -> None:
    """Check the account, make or change the stack, upload the wheel, wait for the master."""
    wanted = options.read(args)
    for name, option in _NO_EFFECT.items():
        if getattr(args, name, None):
            print(f"{option} has no effect in this version.")
    if args.dry_run:
        whole = template.template(wanted, _PLACEHOLDER, "KEY/determined.whl")
        print(json.dumps(whole, indent=2))
        return
    access = Account(args)
    with explained(), tempfile.TemporaryDirectory() as directory:
        images = _checked(wanted, access)
        wheel = build_wheel(directory)
        key = f"{_fingerprint(wheel)}/{wheel.name}"
        stack = Stack(access, wanted.stack)
        known = stack.find()
        is_new = known is None
        if known is not None and stack.tags().get(TAG) != wanted.cluster_id:
            raise errors.CliError(
                f"the stack {stack.name} exists and is no cluster of determined: choose another "
                "--cluster-id"
            )
        _warn(wanted)
        password = _initial_password(args, is_new)
        parameters = _parameters(wanted, args, password, is_new)
        whole = template.template(wanted, images, key)
        tags = {**wanted.tags, TAG: wanted.cluster_id, TYPE_TAG: wanted.deployment_type}
        changes = stack.put(whole, parameters, tags)
        print(f"{'Creating' if is_new else 'Changing'} the stack {stack.name} ...", flush=True)
        _upload(access, stack, wheel, key)
        status = stack.wait() if changes else stack.status()
        if status not in ("CREATE_COMPLETE", "UPDATE_COMPLETE"):
            raise errors.CliError(
                f"the stack {stack.name} is {status}: see the first failed resource above. Remove "
                f"it with: det deploy aws down --cluster-id {wanted.cluster_id}"
            )
        outputs = stack.outputs()
        if not args.no_wait_for_master:
            wait_for_master(access, outputs["MasterAddress"], outputs["MasterId"])
    print(f"The master is at {outputs['MasterAddress']}")
    print(f"  export DET_MASTER={outputs['MasterAddress']}")
    if password and is_new:
        print(f"Users admin and determined have the password {password}")


def build_wheel(directory: str) -> pathlib.Path:
    """A wheel of the installed version, in a directory.

    Raises:
        CliError: a package of it is not installed.
    """
    command = [sys.executable, "-m", "determined_wire.wheel", directory]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise errors.CliError(f"no wheel can be made of this installation: {done.stderr[-500:]}")
    return pathlib.Path(done.stdout.strip())


def _checked(wanted: Options, access: Account) -> Images:
    print(f"Checking the account in {access.region} ...", flush=True)
    preflight = Preflight(wanted, access)
    images = preflight.run()
    if images is None:
        found = "\n".join(f"  - {problem}" for problem in preflight.problems)
        raise errors.CliError(f"nothing was created:\n{found}")
    return images


def _warn(wanted: Options) -> None:
    if wanted.inbound_cidr == "0.0.0.0/0":
        print("Everybody may reach the master's ports: restrict it with --inbound-cidr.")
    if not wanted.tls_cert:
        print("The master serves HTTP without TLS: give --master-tls-cert and --master-tls-key.")


def _initial_password(args: argparse.Namespace, is_new: bool) -> Optional[str]:
    if args.initial_user_password:
        return str(args.initial_user_password)
    return f"A1{secrets.token_urlsafe(12)}" if is_new else None


def _parameters(
    wanted: Options, args: argparse.Namespace, password: Optional[str], is_new: bool
) -> Dict[str, Optional[str]]:
    database = args.db_password or (secrets.token_hex(16) if is_new else None)
    texts = {"InitialUserPassword": password}
    if wanted.tls_cert:
        texts.update(TlsCertificate=wanted.tls_cert, TlsKey=wanted.tls_key)
    # As they stand inside a text of JSON.
    found = {name: text and json.dumps(text)[1:-1] for name, text in texts.items()}
    return {**found, "DatabasePassword": database}


def _upload(access: Account, stack: Stack, wheel: pathlib.Path, key: str) -> None:
    """Put the wheel into the stack's bucket as soon as that is there: the master waits for it."""
    deadline = time.monotonic() + UPLOAD_LIMIT_S
    while not (bucket := stack.resource(data.BUCKET)):
        status = stack.follow()
        if "FAILED" in status or "ROLLBACK" in status or time.monotonic() > deadline:
            return  # the stack says why
        time.sleep(PAUSE_S)
    access.client("s3").upload_file(str(wheel), bucket, f"deploy/{key}")


def _fingerprint(wheel: pathlib.Path) -> str:
    """Another content has another address, so a changed wheel changes the stack."""
    return hashlib.sha256(wheel.read_bytes()).hexdigest()[:16]
