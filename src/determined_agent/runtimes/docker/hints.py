"""Remedies for the errors that daemons report as free text.

The texts decide only one thing: whether the fault is the machine's or the task's. Docker's status
codes do not distinguish a full disk from a device that does not exist.
"""

from __future__ import annotations

import re

_MACHINE_FAULTS = (
    (
        "no space left on device|disk quota exceeded",
        "the disk of Docker's data root is full: remove images or data",
    ),
    ("too many open files", "raise the limit of open files of Docker's daemon"),
    ("cannot allocate memory", "the agent's machine has no memory left"),
    (
        r"containerd\.sock|error while dialing|ttrpc: closed",
        "check that containerd runs on the agent, then restart Docker",
    ),
)
"""Faults that do not depend on the task: launches are retried, and no trial fails for them."""

_TASK_FAULTS = (
    (
        "executable file not found",
        "the image needs Python 3.9 or newer as `python3` on its PATH: use another image, or "
        "name its interpreter with DET_PYTHON_EXECUTABLE",
    ),
    ("bind source path does not exist", "create that directory on the agent, or remove the mount"),
    (
        "not a shared or slave mount|not a shared mount",
        "see bind_mounts.propagation, or share that mount on the agent",
    ),
    (
        "error gathering device information",
        "this agent has no such device: see resources.devices",
    ),
    (
        "(unknown|invalid) capabilit|capability not supported",
        "see environment.add_capabilities and drop_capabilities",
    ),
    (r"network \S+ not found", "see task_container_defaults.network_mode"),
    ("could not select device driver", "install the NVIDIA container toolkit on the agent"),
    ("port is already allocated", "another program on the machine uses that port"),
    ("invalid reference format", "see environment.image"),
    ("manifest unknown", "there is no such tag: see environment.image"),
    ("repository does not exist", "see environment.image, or set environment.registry_auth"),
    ("no basic auth credentials", "set environment.registry_auth"),
    (
        "unauthorized|access denied|incorrect username or password",
        "see environment.registry_auth: user name and password",
    ),
    ("not found", "check the name, above all in environment.image"),
    ("no such host", "the agent's machine cannot resolve the registry's name"),
    ("connection refused", "check that the registry runs and that the agent's machine reaches it"),
    ("i/o timeout", "check that the agent's machine reaches the registry"),
    ("EOF", "the registry disconnected; the next attempt continues the download"),
)


def is_machine_fault(text: str) -> bool:
    """Whether an error is a fault of the machine, not of the task."""
    return any(re.search(sign, text, re.IGNORECASE) for sign, _ in _MACHINE_FAULTS)


def with_hint(text: str) -> str:
    """Append the known remedy for an error text, if there is one."""
    hints = (*_MACHINE_FAULTS, *_TASK_FAULTS)
    hint = next((remedy for sign, remedy in hints if re.search(sign, text, re.IGNORECASE)), "")
    return f"{text.rstrip('. ')}: {hint}" if hint else text
