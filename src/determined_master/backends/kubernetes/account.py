"""The service account of the master's own pod."""

from __future__ import annotations

import base64
import binascii
from pathlib import Path

import msgspec

TOKEN = Path("/var/run/secrets/kubernetes.io/serviceaccount/token")


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
