"""What to do about the errors that daemons tell as free text.

Whether the machine is at fault or the task is all that is decided by these texts: Docker's
status codes do not tell a full disk from a device that does not exist.
"""

from __future__ import annotations

import re

_MACHINES = (
    (
        "no space left on device|disk quota exceeded",
        "the disk of Docker's data root is full: remove images or data",
    ),
    ("too many open files", "raise the limit of open files of Docker's daemon"),
    ("cannot allocate memory", "the agent's machine has no memory left"),
    (
        r"containerd\.sock|error while dialing|ttrpc: closed",
        "see that containerd runs on the agent, then restart Docker",
    ),
)
"""What goes away without any change of the task: it is tried again, and held against no trial."""

_TASKS = (
    (
        "executable file not found",
        "the image needs Python 3.9 or newer as `python3` on its PATH: use another image, or "
        "name its interpreter with DET_PYTHON_EXECUTABLE",
    ),
    ("bind source path does not exist", "make that directory on the agent, or drop the mount"),
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
    ("port is already allocated", "another program of the machine has that port"),
    ("invalid reference format", "see environment.image"),
    ("manifest unknown", "there is no such tag: see environment.image"),
    ("repository does not exist", "see environment.image, or set environment.registry_auth"),
    ("no basic auth credentials", "set environment.registry_auth"),
    (
        "unauthorized|access denied|incorrect username or password",
        "see environment.registry_auth: user name and password",
    ),
    ("not found", "see that the name is right, in environment.image above all"),
    ("no such host", "the agent's machine cannot resolve the registry's name"),
    ("connection refused", "see that the registry runs and that the agent's machine reaches it"),
    ("i/o timeout", "see that the agent's machine reaches the registry"),
    ("EOF", "the registry broke off; the next attempt goes on with what was downloaded"),
)


def is_machine_fault(text: str) -> bool:
    """Whether an error tells of the machine rather than of the task."""
    return any(re.search(sign, text, re.IGNORECASE) for sign, _ in _MACHINES)


def with_hint(text: str) -> str:
    """The text with the remedy that is known for it, if any."""
    known = (*_MACHINES, *_TASKS)
    hint = next((remedy for sign, remedy in known if re.search(sign, text, re.IGNORECASE)), "")
    return f"{text.rstrip('. ')}: {hint}" if hint else text
