"""`det deploy aws policies`: print IAM policies; calls nothing."""

from __future__ import annotations

import argparse
import json
from typing import Any, List, Mapping

from determined.cli import errors
from determined_deploy.aws import needs, policies
from determined_deploy.aws.policies import Statement

UP = "up"
"""The policy of who runs `up` and `down`."""
NAMES = (*policies.POLICIES, UP)
ALWAYS = ("instances", "fleets", "spot")
"""The policies that are printed without a name."""
_OPTIONS = {
    "pass-role": ("agent_role", "--agent-role ARN, the role of the agents' instance profile"),
    "storage": ("bucket", "--bucket NAME, that of checkpoint_storage"),
    "logs": ("log_group", "--log-group NAME, that of log_group"),
    "log-group": ("log_group", "--log-group NAME, that of log_group"),
    UP: ("cluster_id", "--cluster-id NAME, that of the cluster"),
}
"""The option that a policy needs."""


def show(args: argparse.Namespace) -> None:
    """Print one policy, with all statements of the named ones."""
    allowed: List[Statement] = []
    for name in args.policies or _chosen(args):
        if name not in NAMES:
            raise errors.CliError(f"there is no policy {name!r}; there are {', '.join(NAMES)}")
        option, remedy = _OPTIONS.get(name, ("", ""))
        if option and not getattr(args, option):
            raise errors.CliError(f"the policy {name} needs {remedy}")
        body = _of_up(args.cluster_id) if name == UP else _of(name, args)
        allowed += [{"Sid": _sid(name, place), **one} for place, one in enumerate(body)]
    print(json.dumps(policies.document(allowed), indent=2))


def _chosen(args: argparse.Namespace) -> List[str]:
    """Those for which the options have what they need, without that of `up`."""
    more = [name for name, (option, _) in _OPTIONS.items() if getattr(args, option)]
    if args.log_group:
        more.append("metrics")
    return [name for name in policies.POLICIES if name in (*ALWAYS, *more)]


def _of(name: str, args: argparse.Namespace) -> List[Statement]:
    group = f"arn:aws:logs:*:*:log-group:{args.log_group}"
    bucket = f"arn:aws:s3:::{args.bucket}"
    resources: Mapping[str, Any] = {
        policies.AGENT_ROLE: args.agent_role,
        policies.BUCKET: bucket,
        policies.OBJECTS: f"{bucket}/*",
        policies.LOG_GROUP: [group, f"{group}:*"],
    }
    key, equals, value = (args.tag or "").partition("=")
    if args.tag and not (key and equals and value):
        raise errors.CliError(
            f"--tag {args.tag!r} is not KEY=VALUE: give tag_key and tag_value of the provider, "
            "such as managed_by=determined-lab"
        )
    return policies.statements(name, resources, (key, value) if args.tag else None)


def _of_up(cluster_id: str) -> List[Statement]:
    """All of EC2, since CloudFormation makes networks and machines by many calls, and the rest."""
    reads = ["iam:SimulatePrincipalPolicy", "servicequotas:GetServiceQuota"]
    actions = needs.of(needs.all_types(cluster_id), needs.ArnPlace(), needs.PATTERN)
    return [
        policies.statement(["ec2:*"], policies.ANY),
        policies.statement(reads, policies.ANY),
        *(policies.statement(need.actions, need.resource) for need in actions),
    ]


def _sid(name: str, place: int) -> str:
    """The name of a statement: letters and digits alone."""
    words = "".join(word.capitalize() for word in name.split("-"))
    return f"Determined{words}{place + 1}"
