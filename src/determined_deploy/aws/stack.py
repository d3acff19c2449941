"""A cluster's stack: made, changed, watched and deleted."""

from __future__ import annotations

import json
import time
from typing import Any, Dict, List, Optional, Sequence

from determined.cli import errors
from determined_deploy.aws import account
from determined_deploy.aws.account import Account

TAG, TYPE_TAG = "determined-cluster-id", "determined-deployment-type"
PAUSE_S = 5.0
LIMIT_S = 3600.0
MAX_TEMPLATE_BYTES = 51_200


class Stack:
    """One stack by its name, with the events that were already printed."""

    def __init__(self, access: Account, name: str) -> None:
        self._client = access.client("cloudformation")
        self._seen: set[str] = set()
        self.name = name

    def find(self) -> Optional[Dict[str, Any]]:
        """The stack as AWS describes it; None if there is none."""
        from botocore.exceptions import ClientError

        try:
            stacks = self._client.describe_stacks(StackName=self.name)["Stacks"]
        except ClientError as error:
            if account.code_of(error) == "ValidationError":
                return None
            raise
        return dict(stacks[0]) if stacks else None

    def outputs(self) -> Dict[str, str]:
        """Its outputs."""
        return outputs_of(self.find() or {})

    def tags(self) -> Dict[str, str]:
        """Its tags."""
        return tags_of(self.find() or {})

    def resource(self, name: str) -> str:
        """The id of a resource once it exists; empty before."""
        from botocore.exceptions import ClientError

        try:
            detail = self._client.describe_stack_resource(
                StackName=self.name, LogicalResourceId=name
            )["StackResourceDetail"]
        except ClientError as error:
            if account.code_of(error) == "ValidationError":
                return ""
            raise
        return str(detail.get("PhysicalResourceId", "")) if _is_made(detail) else ""

    def put(self, template: Dict[str, Any], tags: Dict[str, str]) -> bool:
        """Create or change the stack; whether anything changes.

        Args:
            template: of CloudFormation.
            tags: of the stack and of all its resources.

        Raises:
            CliError: the template is too long.
        """
        from botocore.exceptions import ClientError

        body = json.dumps(template, separators=(",", ":"))
        if len(body.encode()) > MAX_TEMPLATE_BYTES:
            raise errors.CliError(
                f"the template has {len(body.encode())} bytes, and CloudFormation takes "
                f"{MAX_TEMPLATE_BYTES}: shorten the master's configuration template"
            )
        exists = self.find() is not None
        if exists:
            self._read_events()  # of earlier changes
        call = self._client.update_stack if exists else self._client.create_stack
        more = {} if exists else {"OnFailure": "DO_NOTHING"}
        try:
            call(
                StackName=self.name,
                TemplateBody=body,
                Capabilities=["CAPABILITY_IAM"],
                Tags=[{"Key": key, "Value": value} for key, value in tags.items()],
                **more,
            )
        except ClientError as error:
            if "No updates are to be performed" in str(error):
                return False
            raise
        return True

    def delete(self) -> None:
        """Begin to delete it."""
        self._client.delete_stack(StackName=self.name)

    def status(self) -> str:
        """Its status; DELETE_COMPLETE if it is gone."""
        description = self.find()
        return str(description["StackStatus"]) if description else "DELETE_COMPLETE"

    def follow(self) -> str:
        """Print what has happened since the last call; the status after it."""
        status = self.status()
        for event in self._read_events():
            reason = event.get("ResourceStatusReason", "")
            words = f"  {event['LogicalResourceId']}: {event['ResourceStatus']}"
            print(f"{words}  {reason}" if reason else words, flush=True)
        return status

    def wait(self) -> str:
        """Print what happens until the stack rests; its status."""
        deadline = time.monotonic() + LIMIT_S
        while (status := self.follow()).endswith("_IN_PROGRESS"):
            if time.monotonic() > deadline:
                raise errors.CliError(
                    f"the stack {self.name} is {status} after {LIMIT_S / 60:g} minutes; see its "
                    "events in the console of CloudFormation"
                )
            time.sleep(PAUSE_S)
        return status

    def _read_events(self) -> List[Dict[str, Any]]:
        from botocore.exceptions import ClientError

        try:
            pages = self._client.get_paginator("describe_stack_events").paginate(
                StackName=self.name
            )
            events = [event for page in pages for event in page["StackEvents"]]
        except ClientError as error:
            if account.code_of(error) == "ValidationError":
                return []
            raise
        fresh = [event for event in reversed(events) if event["EventId"] not in self._seen]
        self._seen |= {event["EventId"] for event in fresh}
        return fresh


def list_clusters(access: Account) -> Sequence[Dict[str, Any]]:
    """The stacks of all clusters of a region."""
    pages = access.client("cloudformation").get_paginator("describe_stacks").paginate()
    return [s for page in pages for s in page["Stacks"] if TAG in tags_of(s)]


def outputs_of(stack: Dict[str, Any]) -> Dict[str, str]:
    """The outputs of a described stack."""
    return {o["OutputKey"]: o["OutputValue"] for o in stack.get("Outputs", ())}


def tags_of(stack: Dict[str, Any]) -> Dict[str, str]:
    """The tags of a described stack."""
    return {tag["Key"]: tag["Value"] for tag in stack.get("Tags", ())}


def _is_made(resource: Dict[str, Any]) -> bool:
    return str(resource.get("ResourceStatus")) in ("CREATE_COMPLETE", "UPDATE_COMPLETE")
