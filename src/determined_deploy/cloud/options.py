"""Options that clusters of every cloud have, checked before anything is called."""

from __future__ import annotations

import argparse
import dataclasses
import ipaddress
import os
import re
from typing import Any, Dict, Iterable, Optional, Sequence

from determined.cli import declare, errors
from determined.common import text_file

_PERIOD = re.compile(r"(?:\d+(?:\.\d+)?(?:ms|s|m|h))+")


@dataclasses.dataclass(frozen=True)
class ClusterOptions:
    """A cluster; sizes in GB, periods as the master's settings take them."""

    cluster_id: str
    inbound_cidr: str
    master_instance_type: str
    compute_instance_type: str
    aux_instance_type: str
    min_agents: int
    max_agents: int
    max_aux_containers: int
    max_idle_period: str
    max_starting_period: str
    scheduler_type: Optional[str]
    preemption: bool
    cpu_image: Optional[str]
    gpu_image: Optional[str]
    database_size: int
    database_snapshot: str
    notebook_timeout: Optional[int]
    shuts_down_lost_agents: bool
    reconnect_attempts: int
    reconnect_backoff: int
    enable_cors: bool
    tls_cert: str
    tls_key: str
    tls_name: str
    port: int
    config_template: str
    wheelhouse: str
    """A directory of wheels for machines, or empty for pip's package index."""
    tags: Dict[str, str]

    @property
    def scheme(self) -> str:
        """How the master is reached."""
        return "https" if self.tls_cert else "http"

    @property
    def tag_value(self) -> str:
        """The tag or label by which the agents' machines are found."""
        return f"determined-{self.cluster_id}"


def services_port(port: int) -> int:
    """The port at which a master serves pages of tasks, by its own; the master's default."""
    return min(port + 1000, 65535)


def common(args: argparse.Namespace, port: Optional[int], tag_option: str) -> Dict[str, Any]:
    """The fields of `ClusterOptions` from a command line.

    Args:
        args: the command line.
        port: of the master; None for 8080, or 8443 with TLS.
        tag_option: the option whose values are in `args.add_tag`.

    Raises:
        CliError: a value cannot be used; the text names it and the remedy.
    """
    _check(args)
    return {
        "cluster_id": args.cluster_id,
        "inbound_cidr": _network(args.inbound_cidr),
        "master_instance_type": args.master_instance_type,
        "compute_instance_type": args.compute_agent_instance_type,
        "aux_instance_type": args.aux_agent_instance_type,
        "min_agents": args.min_dynamic_agents,
        "max_agents": args.max_dynamic_agents,
        "max_aux_containers": args.max_aux_containers_per_agent,
        "max_idle_period": period("--max-idle-agent-period", args.max_idle_agent_period),
        "max_starting_period": period(
            "--max-agent-starting-period", args.max_agent_starting_period
        ),
        "scheduler_type": args.scheduler_type,
        "preemption": args.preemption_enabled == "true",
        "cpu_image": args.cpu_env_image,
        "gpu_image": args.gpu_env_image,
        "database_size": args.db_size,
        "database_snapshot": args.db_snapshot,
        "notebook_timeout": args.notebook_timeout,
        "shuts_down_lost_agents": args.shut_down_agents_on_connection_loss,
        "reconnect_attempts": args.agent_reconnect_attempts,
        "reconnect_backoff": args.agent_reconnect_backoff,
        "enable_cors": args.enable_cors,
        "tls_cert": _content("--master-tls-cert", args.master_tls_cert),
        "tls_key": _content("--master-tls-key", args.master_tls_key),
        "tls_name": args.master_cert_name or "",
        "port": port or (8443 if args.master_tls_cert else 8080),
        "config_template": _content(
            "--master-config-template-path", args.master_config_template_path
        ),
        "wheelhouse": _directory("--wheelhouse", args.wheelhouse),
        "tags": _pairs(tag_option, args.add_tag),
    }


def period(option: str, text: str) -> str:
    """A period that the master's settings take, longer than nothing.

    Raises:
        CliError: it is none.
    """
    if not _PERIOD.fullmatch(text) or not any(digit in text for digit in "123456789"):
        raise errors.CliError(f"{option} {text!r} is not a period such as 10m or 1h30m")
    return text


def warn_of_no_effect(args: argparse.Namespace, names: Iterable[str]) -> None:
    """Warn of given options that only older scripts need; standard output stays clean.

    Args:
        args: the command line.
        names: attributes of it, as argparse derives them from their options.
    """
    for name in names:
        if getattr(args, name, None):
            declare.warn(f"--{name.replace('_', '-')} has no effect in this version")


def warn_of_risks(cluster: ClusterOptions) -> None:
    """Print what makes the cluster open to others."""
    if cluster.inbound_cidr == "0.0.0.0/0":
        print("Everybody may reach the master's ports: restrict it with --inbound-cidr.")
    if not cluster.tls_cert:
        print("The master serves HTTP without TLS: give --master-tls-cert and --master-tls-key.")


def warn_of_images(cluster: ClusterOptions, library: str) -> None:
    """Print what the named images of tasks need for the cluster's bucket.

    Args:
        cluster: the options.
        library: the cloud's own client of buckets.
    """
    images = [image for image in (cluster.cpu_image, cluster.gpu_image) if image]
    if images:
        print(
            f"Checkpoints go to a bucket: {' and '.join(dict.fromkeys(images))} must have Python "
            f"3.11 or newer and glibc, for which the agents bring a client, or else {library}."
        )


def _check(args: argparse.Namespace) -> None:
    if args.min_dynamic_agents > args.max_dynamic_agents:
        raise errors.CliError(
            f"--min-dynamic-agents {args.min_dynamic_agents} is above --max-dynamic-agents "
            f"{args.max_dynamic_agents}"
        )
    if bool(args.master_tls_cert) != bool(args.master_tls_key):
        raise errors.CliError("--master-tls-cert and --master-tls-key need each other")


def _network(text: str) -> str:
    try:
        return str(ipaddress.IPv4Network(text))
    except ValueError as error:
        raise errors.CliError(
            f"--inbound-cidr {text!r} is not an IPv4 network such as 203.0.113.0/24: {error}"
        ) from None


def _directory(option: str, path: Optional[str]) -> str:
    if path and not os.path.isdir(path):
        raise errors.CliError(f"{option} {path!r} is not a directory: name one of wheels")
    return path or ""


def _content(option: str, path: Optional[str]) -> str:
    if not path:
        return ""
    try:
        return text_file.read(path, option)
    except text_file.TextFileError as error:
        raise errors.CliError(str(error)) from None


def _pairs(option: str, pairs: Optional[Sequence[str]]) -> Dict[str, str]:
    by_key = {}
    for pair in pairs or ():
        key, equals, value = pair.partition("=")
        if not (key and equals):
            raise errors.CliError(f"{option} {pair!r} is not KEY=VALUE")
        by_key[key] = value
    return by_key
