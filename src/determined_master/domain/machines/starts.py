"""How far a machine has come with its start, as its start script reports it."""

from __future__ import annotations

from typing import Literal, get_args

import msgspec

StartStep = Literal[
    "startup_script", "identity", "packages", "toolkit", "wheel", "docker", "image", "agent"
]
MAX_DETAIL = 500

_DOING: dict[StartStep, str] = {
    "startup_script": "runs the pool's startup script",
    "identity": "asks its cloud for its id",
    "packages": "installs Docker and Python's venv",
    "toolkit": "installs the NVIDIA Container Toolkit",
    "wheel": "installs the agent",
    "docker": "waits for Docker",
    "image": "gets the agent's image",
    "agent": "starts the agent",
}
_FAILED: dict[StartStep, str] = {
    "startup_script": "the pool's startup script failed",
    "identity": "the machine's cloud did not report its id or address",
    "packages": "Docker or Python's venv cannot be installed there",
    "toolkit": "the NVIDIA Container Toolkit cannot be installed there",
    "wheel": "the agent cannot be installed there",
    "docker": "Docker does not answer there",
    "image": "the agent's image cannot be pulled",
    "agent": "the agent could not be started",
}
STEPS: tuple[StartStep, ...] = get_args(StartStep)


class MachineStart(msgspec.Struct, frozen=True, kw_only=True):
    """The last report of a machine."""

    step: StartStep
    detail: str = ""
    """Of a failure: the machine's own words, at most 500 characters, for admins."""
    has_failed: bool = False

    @property
    def doing(self) -> str:
        """The present step, for users."""
        return _DOING[self.step]

    def failure(self, *, for_admin: bool = False) -> str:
        """Why no agent starts; the machine's own words may name images and accounts."""
        text = _FAILED[self.step]
        return f"{text} ({self.detail})" if for_admin and self.detail else text
