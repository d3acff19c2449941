"""Reports about the use of the package: this platform sends none."""

from __future__ import annotations

from typing import Any, Dict

enabled = False


def send_analytics(event: str, properties: Any) -> None:
    """Does nothing."""


def get_library_version_analytics() -> Dict[str, Any]:
    """Nothing is collected."""
    return {}


def get_trial_analytics(obj: Any) -> Dict[str, Any]:
    """Nothing is collected."""
    return {}
