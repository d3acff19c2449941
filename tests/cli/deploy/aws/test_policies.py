"""`det deploy aws policies` prints the policies of the page, with all calls of the product."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests import pages
from tests.cli.conftest import Det
from tests.cli.deploy.aws.conftest import Aws
from tests.cli.deploy.aws.test_template import MANY, Filled, stack

from determined_deploy.aws.show_policies import NAMES

PAGE = "aws-permissions.md"
SOURCE = Path(__file__).parents[4] / "src"
BLOCKS = [block for block in pages.blocks(PAGE) if block.kind == "json"]
POLICIES = ("deploy", "aws", "policies")


def printed(det: Det, *words: str) -> list[dict[str, Any]]:
    done = det(*POLICIES, *words)
    assert done.status == 0, done.err
    policy = json.loads(done.out)
    assert policy["Version"] == "2012-10-17"
    found: list[dict[str, Any]] = policy["Statement"]
    return found


def actions(statements: list[dict[str, Any]]) -> set[str]:
    return {action for one in statements for action in one["Action"]}


def called(*places: str) -> set[str]:
    """The calls of boto3 in these modules, as AWS names them."""
    text = "".join(p.read_text() for place in places for p in sorted(SOURCE.glob(place)))
    calls = re.findall(r'(?:\.call\(\s*|get_paginator\()"(\w+)"', text)
    calls += re.findall(r"_(?:logs|metrics)\.((?:create|put)_\w+)\(", text)
    return {"".join(word.capitalize() for word in call.split("_")) for call in calls}


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.title)
def test_the_page_has_what_the_command_prints(det: Det, block: pages.Block) -> None:
    assert block.title is not None
    done = det(*block.title.split()[1:])
    assert done.out == block.text


def test_the_page_names_each_policy_and_shows_all_of_masters_and_agents() -> None:
    text = (pages.PAGES / PAGE).read_text()
    assert re.findall(r"^\| `([\w-]+)` \|", text, re.MULTILINE) == list(NAMES)
    shown = {str(block.title).split()[4] for block in BLOCKS}
    assert shown == set(NAMES) - {"up"}


def test_the_policies_of_a_master_are_the_calls_of_its_provider(det: Det) -> None:
    needed = called("determined_master/backends/aws/*.py")
    assert "RunInstances" in needed
    allowed = actions(printed(det, "instances", "fleets"))
    of_machines = {a.partition(":")[2] for a in allowed if a.startswith("ec2:")}
    assert of_machines == needed | {"CreateTags"}  # a launch with tags


def test_the_policies_of_journals_are_the_calls_of_the_agent(det: Det) -> None:
    needed = called("determined_agent/journal/cloudwatch.py")
    allowed = actions(printed(det, "logs", "log-group", "metrics", "--log-group", "/lab"))
    assert {a.partition(":")[2] for a in allowed} == needed


def test_a_tag_leaves_other_machines_alone(det: Det) -> None:
    condition = {"StringEquals": {"aws:ResourceTag/managed_by": "determined-lab"}}
    for one in printed(det, "instances", "fleets", "--tag", "managed_by=determined-lab"):
        ends = bool({"ec2:TerminateInstances", "ec2:DeleteLaunchTemplate"} & set(one["Action"]))
        assert (one.get("Condition") == condition) is ends
    assert all("Condition" not in one for one in printed(det, "instances"))


def test_without_names_the_options_choose(det: Det) -> None:
    def sids(*words: str) -> set[str]:
        return {one["Sid"].rstrip("0123456789") for one in printed(det, *words)}

    always = {"DeterminedInstances", "DeterminedFleets", "DeterminedSpot"}
    assert sids() == always
    assert sids("--log-group", "/lab") - always == {
        "DeterminedLogs",
        "DeterminedLogGroup",
        "DeterminedMetrics",
    }
    assert sids("--bucket", "b", "--agent-role", "arn:aws:iam::1:role/a") - always == {
        "DeterminedStorage",
        "DeterminedPassRole",
    }
    assert sids("--cluster-id", "lab") == always


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("nope",), "there is no policy 'nope'; there are instances, fleets, spot"),
        (("pass-role",), "the policy pass-role needs --agent-role ARN"),
        (("logs",), "the policy logs needs --log-group NAME"),
        (("storage",), "the policy storage needs --bucket NAME"),
        (("up",), "the policy up needs --cluster-id NAME"),
        (("instances", "--tag", "x"), "--tag 'x' is not KEY=VALUE"),
    ],
)
def test_a_missing_option_is_named_with_the_remedy(
    det: Det, words: tuple[str, ...], text: str
) -> None:
    refused = det(*POLICIES, *words)
    assert refused.status == 1
    assert text in refused.err


@pytest.mark.parametrize("more", [(), MANY])
def test_the_roles_of_the_stack_have_these_policies(det: Det, more: tuple[str, ...]) -> None:
    whole = stack(det, *more)
    roles = {
        role: whole["Resources"][role]["Properties"]["Policies"][0]["PolicyDocument"]["Statement"]
        for role in ("MasterRole", "AgentRole")
    }
    bucket, group = ("--bucket", "b"), ("--log-group", "/lab")
    watched = actions(printed(det, "storage", *bucket))
    names = ["instances", "fleets", "pass-role"]
    if more:
        watched |= actions(printed(det, "logs", "metrics", *group))
        names.append("spot")
    machines = actions(printed(det, *names, "--agent-role", "x"))
    assert actions(roles["MasterRole"]) == machines | watched | {"secretsmanager:GetSecretValue"}
    assert actions(roles["AgentRole"]) == watched
    ends = [one for one in roles["MasterRole"] if "ec2:TerminateInstances" in one["Action"]]
    assert Filled(whole).value(ends) == [
        {
            "Effect": "Allow",
            "Action": ["ec2:TerminateInstances"],
            "Resource": "*",
            "Condition": {"StringEquals": {"aws:ResourceTag/managed_by": "determined-lab"}},
        }
    ]


@pytest.mark.slow
def test_up_checks_what_its_policy_allows(det: Det, aws: Aws) -> None:
    words = ("--cluster-id", "lab", "--keypair", "nobody", "--log-group-prefix", "x", "--yes")
    det("deploy", "aws", "up", *words, "--deployment-type", "efs")
    allowed = printed(det, "up", "--cluster-id", "lab")
    reads = {"ec2:*", "iam:SimulatePrincipalPolicy", "servicequotas:GetServiceQuota"}
    assert actions(allowed) - reads == set(aws.simulation.asked)
    for action, resource in aws.simulation.asked.items():
        patterns = [one["Resource"] for one in allowed if action in one["Action"]]
        assert any(is_matched(pattern, resource) for pattern in patterns), (action, resource)


def is_matched(pattern: str, arn: str) -> bool:
    """Whether a resource of a policy has an ARN."""
    return re.fullmatch(re.escape(pattern).replace(r"\*", ".*"), arn) is not None
