"""Waits until a new master answers, and says what its machine does meanwhile."""

from __future__ import annotations

import ssl
import time
import urllib.error
import urllib.request

from determined.cli import errors
from determined.cli.deploy.aws.account import Account

LIMIT_S = 1200.0
PAUSE_S = 5.0
_MARK = "determined: "
"""How the script of the machine begins what it says."""


def wait_for_master(access: Account, address: str, instance_id: str) -> None:
    """Return once the master answers.

    Raises:
        CliError: it does not within 20 minutes; with the last words of its machine.
    """
    print(f"Waiting for the master at {address} (some minutes) ...", flush=True)
    deadline = time.monotonic() + LIMIT_S
    said = ""
    while not _answers(address):
        words = _last_words(access, instance_id)
        if words != said:
            print(f"  {words}", flush=True)
            said = words
        if time.monotonic() > deadline:
            raise errors.CliError(
                f"the master does not answer at {address} after {LIMIT_S / 60:g} minutes. Its "
                f"machine {instance_id} last said: {said or 'nothing'}. See its system log: aws "
                f"ec2 get-console-output --latest --instance-id {instance_id}"
            )
        time.sleep(PAUSE_S)


def _answers(address: str) -> bool:
    # Whether it is there; the certificate is judged by those who log in.
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    try:
        with urllib.request.urlopen(f"{address}/info", timeout=5, context=context) as answer:
            return bool(answer.status == 200)
    except (OSError, ValueError):
        return False


def _last_words(access: Account, instance_id: str) -> str:
    """The last line that the machine's start script has written to its console; often late."""
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        found = access.client("ec2").get_console_output(InstanceId=instance_id)
    except (BotoCoreError, ClientError):
        return ""
    lines = [line for line in found.get("Output", "").splitlines() if _MARK in line]
    return lines[-1].partition(_MARK)[2] if lines else ""
