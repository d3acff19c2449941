"""This machine of EC2 by its metadata service: the default names of a journal."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from determined_agent.journal.target import CannotStart
from determined_agent.machine_notices import ask_aws, aws_url


class AwsMachine(msgspec.Struct, frozen=True, rename="camel"):
    """What CloudWatch knows a machine by."""

    instance_id: str
    region: str


def this_machine(env: Mapping[str, str]) -> AwsMachine:
    """The machine that this runs on.

    Raises:
        CannotStart: it is not one of EC2, or its metadata service does not answer.
    """
    item = "dynamic/instance-identity/document"
    try:
        return msgspec.json.decode(ask_aws(aws_url(env), item), type=AwsMachine)
    except (OSError, msgspec.DecodeError) as error:
        raise CannotStart(
            f"the metadata service of EC2 does not report this machine ({error}): name its "
            "--stream and its --region"
        ) from None
