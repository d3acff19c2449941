"""What to do about the errors that daemons tell as free text.

Nothing is decided by these texts: they only add a remedy for the person who reads the log.
"""

from __future__ import annotations

_HINTS = (
    (
        "executable file not found",
        "the image needs Python 3.9 or newer as `python3` on its PATH: use another image, or "
        "name its interpreter with DET_PYTHON_EXECUTABLE",
    ),
    ("no space left on device", "the disk of Docker's data root is full: remove images or data"),
    ("bind source path does not exist", "make that directory on the agent, or drop the mount"),
    ("manifest unknown", "there is no such tag: see environment.image"),
    ("not found", "see that the name is right, in environment.image above all"),
    ("repository does not exist", "see environment.image, or set environment.registry_auth"),
    ("no basic auth credentials", "set environment.registry_auth"),
    ("unauthorized", "see environment.registry_auth: user name and password"),
    ("access denied", "see environment.registry_auth: user name and password"),
    ("could not select device driver", "install the NVIDIA container toolkit on the agent"),
    ("port is already allocated", "another program of the machine has that port"),
    ("no such host", "the agent's machine cannot resolve the registry's name"),
    ("connection refused", "see that the registry runs and that the agent's machine reaches it"),
    ("i/o timeout", "see that the agent's machine reaches the registry"),
    ("EOF", "the registry broke off; the next attempt goes on with what was downloaded"),
)


def with_hint(text: str) -> str:
    """The text with the remedy that is known for it, if any."""
    lowered = text.lower()
    hint = next((remedy for sign, remedy in _HINTS if sign.lower() in lowered), "")
    return f"{text.rstrip('. ')}: {hint}" if hint else text
