"""Permissions of these credentials beside those of EC2, by IAM's simulator.

CloudFormation makes the resources with them. The simulator reads the policies of a user or role
and calls nothing. Actions that it cannot decide are not checked: CloudFormation names them in its
events.
"""

from __future__ import annotations

from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from determined_deploy.aws import account, needs
from determined_deploy.aws.account import Account
from determined_deploy.aws.needs import ArnPlace, ResourceActions
from determined_deploy.aws.options import Options


class Caller(NamedTuple):
    """The user or role that has these credentials."""

    arn: str
    """As the simulator takes it; empty for one whose policies it does not read."""
    is_root: bool
    partition: str
    number: str
    """Of the account."""


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
        place = ArnPlace(caller.partition, access.region, caller.number)
        for need in needs.of(needs.made_by(options), place, needs.EXAMPLE):
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
    simulated_arn = arn if kind == "user" else ""
    if kind == "assumed-role":
        role = access.client("iam").get_role(RoleName=rest.partition("/")[0])
        simulated_arn = str(role["Role"]["Arn"])
    return Caller(simulated_arn, kind == "root", partition, number)


def _simulated(
    access: Account, caller: Caller, need: ResourceActions
) -> Tuple[List[str], List[str]]:
    """The actions that are denied, and those that the simulator cannot decide."""
    pages = access.client("iam").get_paginator("simulate_principal_policy")
    parameters: Dict[str, Any] = {"ActionNames": need.actions, "ResourceArns": [need.resource]}
    denied: List[str] = []
    unknown: List[str] = []
    for page in pages.paginate(PolicySourceArn=caller.arn, **parameters):
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
