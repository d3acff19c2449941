"""Parts of the command line of Horovod's launcher, and `hvd`: Horovod for PyTorch."""

from __future__ import annotations

from typing import Any, Dict, List, Optional

from determined.launch import horovod as launcher


def create_hostlist_arg(host_slot_counts: List[int], ip_addresses: List[str]) -> str:
    """`address:slots` for each host, joined by commas."""
    return launcher.hosts_argument(ip_addresses, host_slot_counts)


def create_performance_args(optimizations: Dict[str, Any]) -> List[str]:
    """The launcher's options for the configuration's `optimizations`."""
    return launcher.performance_args(optimizations)


def create_run_command(
    host_slot_counts: List[int],
    ip_addresses: List[str],
    inter_node_network_interface: Optional[str],
    optimizations: Dict[str, Any],
    debug: bool,
    optional_args: List[str],
) -> List[str]:
    """The command that starts a rank for each slot of the hosts; the first is this one."""
    return launcher.run_command(
        ["localhost", *ip_addresses[1:]],
        host_slot_counts,
        interface=inter_node_network_interface,
        optimizations=optimizations,
        options=[*optional_args, *(["--verbose"] if debug else [])],
    )


def __getattr__(name: str) -> Any:
    if name != "hvd":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    try:
        return import_module("horovod.torch")
    except ImportError as error:
        raise ImportError(
            "determined.horovod.hvd needs Horovod, which this Python does not have: install "
            "horovod in the image or environment that the task runs in"
        ) from error
