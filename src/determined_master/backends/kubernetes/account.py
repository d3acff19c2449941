"""The service account of the master's own pod."""

from __future__ import annotations

import base64
import binascii
import os
from pathlib import Path

import msgspec

TOKEN = Path("/var/run/secrets/kubernetes.io/serviceaccount/token")


NAMESPACE = TOKEN.with_name("namespace")


class _Claims(msgspec.Struct):
    sub: str = ""


def own_account(token_file: Path = TOKEN) -> str:
    """NAMESPACE/NAME of the account whose token the pod has; empty without one."""
    try:
        part = token_file.read_text().split(".")[1]
        claims = base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))
        subject = msgspec.json.decode(claims, type=_Claims).sub
    except (OSError, IndexError, binascii.Error, msgspec.DecodeError, UnicodeDecodeError):
        return ""
    kind, _, account = subject.partition("system:serviceaccount:")
    return account.replace(":", "/") if account and not kind else ""


def own_namespace(file: Path = NAMESPACE) -> str:
    """The namespace of the master's own pod; empty outside of a cluster."""
    try:
        return file.read_text().strip()
    except OSError:
        return ""


def service_port(name: str) -> int:
    """The first port of a Service of the pod's own namespace; 0 where it is not known.

    Kubernetes sets a variable for each Service that is older than the pod.
    """
    word = os.environ.get(f"{name.upper().replace('-', '_')}_SERVICE_PORT", "")
    return int(word) if word.isascii() and word.isdigit() else 0
