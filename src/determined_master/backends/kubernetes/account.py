"""The service accounts by which the master acts."""

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


class _User(msgspec.Struct, rename={"token_file": "tokenFile"}):
    token: str = ""
    token_file: str = ""


class _NamedUser(msgspec.Struct):
    name: str = ""
    user: _User = msgspec.field(default_factory=_User)


class _Context(msgspec.Struct):
    user: str = ""


class _NamedContext(msgspec.Struct):
    name: str = ""
    context: _Context = msgspec.field(default_factory=_Context)


class _KubeConfig(msgspec.Struct, rename={"current_context": "current-context"}):
    current_context: str = ""
    contexts: list[_NamedContext] = []
    users: list[_NamedUser] = []


def own_account(token_file: Path = TOKEN) -> str:
    """NAMESPACE/NAME of the account whose token the pod has; empty without one."""
    try:
        return _account_of(token_file.read_text())
    except (OSError, UnicodeDecodeError):
        return ""


def kubeconfig_account(path: str) -> str:
    """NAMESPACE/NAME of the account whose token a kubeconfig has; empty without one.

    Only the user of its current context counts. Files that cannot be read have none here: the
    client reports them.
    """
    try:
        config = msgspec.yaml.decode(Path(path).expanduser().read_bytes(), type=_KubeConfig)
        users = {context.name: context.context.user for context in config.contexts}
        user_name = users.get(config.current_context, "")
        user = next((one.user for one in config.users if one.name == user_name), _User())
        return _account_of(user.token or Path(user.token_file).read_text())
    except (OSError, ValueError):  # msgspec's errors and those of UTF-8 are ValueErrors
        return ""


def _account_of(token: str) -> str:
    """The subject of a JSON Web Token, which is not verified."""
    try:
        part = token.strip().split(".")[1]
        claims = base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))
        subject = msgspec.json.decode(claims, type=_Claims).sub
    except (IndexError, binascii.Error, msgspec.DecodeError, UnicodeDecodeError):
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
