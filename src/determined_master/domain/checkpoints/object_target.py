"""Reads a `checkpoint_storage` of type s3, gcs or azure into the arguments of a storage client.

The harness has the same rules for tasks; a test compares the two.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import msgspec

from determined_master.domain.errors import FailedPrecondition

OBJECT_KINDS = ("s3", "gcs", "azure")
CONNECT_TIMEOUT = timedelta(seconds=10)
REQUEST_TIMEOUT = timedelta(seconds=300)
EMULATOR = "http://127.0.0.1:10000"
"""The address of Azure's emulator."""
SCHEMES = {"s3": "s3", "gcs": "gs", "azure": "azure"}


class ObjectTarget(msgspec.Struct, frozen=True, kw_only=True):
    """A bucket or container, and how to reach it."""

    kind: str
    name: str
    prefix: str
    """Without slashes at its ends; empty for the bucket's root."""
    options: dict[str, Any]
    """Arguments for the client's store."""

    @property
    def has_keys(self) -> bool:
        """Whether it needs no credentials of the machine: it has keys, or is an emulator."""
        keys = ("secret_access_key", "sas_key", "account_key", "use_emulator")
        return any(self.options.get(key) for key in (*keys, "service_account_key"))

    @property
    def endpoint(self) -> str:
        """The URL that the section names; empty for the provider's own."""
        if self.options.get("use_emulator"):
            return EMULATOR
        return str(self.options.get("endpoint") or "")

    @property
    def address(self) -> str:
        """The address for messages."""
        return "/".join(p for p in (f"{SCHEMES[self.kind]}://{self.name}", self.prefix) if p)

    def key(self, path: str) -> str:
        """The key of a path below the storage's base."""
        return f"{self.prefix}/{path}" if self.prefix else path


def object_target(
    config: Mapping[str, Any], env: Mapping[str, str], retry: timedelta
) -> ObjectTarget:
    """Read a completed section. Invalid sections are rejected at submission.

    Args:
        config: the section.
        env: the environment, which may hold credentials, a region, an emulator.
        retry: how long a request is retried after a failure of the network or the storage.

    Raises:
        FailedPrecondition: an older master has stored an invalid section.
    """
    kind = config["type"]
    parts = [p for p in str(config.get("prefix") or "").split("/") if p not in ("", ".")]
    if kind == "azure":
        name, parts, options = config["container"], [], _azure(config)
    elif kind == "gcs":
        name, options = config["bucket"], _gcs(env)
    else:
        name, options = config["bucket"], _s3(config, env)
    url = str(options.get("endpoint") or env.get("STORAGE_EMULATOR_HOST") or "")
    options["client_options"] = {
        "connect_timeout": CONNECT_TIMEOUT,
        "timeout": REQUEST_TIMEOUT,
        "allow_http": url.startswith("http://") or (kind == "gcs" and bool(url)),
    }
    options["retry_config"] = {"max_retries": 10, "retry_timeout": retry}
    return ObjectTarget(kind=kind, name=name, prefix="/".join(parts), options=options)


def _s3(config: Mapping[str, Any], env: Mapping[str, str]) -> dict[str, Any]:
    options: dict[str, Any] = {}
    if config.get("access_key"):
        options["access_key_id"] = config["access_key"]
        options["secret_access_key"] = config.get("secret_key") or ""
    region = env.get("AWS_REGION") or env.get("AWS_DEFAULT_REGION")
    if config.get("endpoint_url"):
        options["endpoint"] = str(config["endpoint_url"]).rstrip("/")
    options["region"] = region or "us-east-1"
    return options


def _gcs(env: Mapping[str, str]) -> dict[str, Any]:
    emulator = env.get("STORAGE_EMULATOR_HOST")
    if not emulator:
        return {}
    url = emulator if "://" in emulator else f"http://{emulator}"
    account = {"gcs_base_url": url.rstrip("/"), "disable_oauth": True}
    account |= {"client_email": "", "private_key": "", "private_key_id": ""}
    return {"service_account_key": json.dumps(account)}


def _azure(config: Mapping[str, Any]) -> dict[str, Any]:
    if config.get("connection_string"):
        return _of_connection_string(str(config["connection_string"]))
    parts = urlsplit(str(config.get("account_url") or ""))
    if not parts.hostname:
        raise FailedPrecondition(
            f"checkpoint_storage.account_url {config.get('account_url')!r} is no address such as "
            "https://ACCOUNT.blob.core.windows.net"
        )
    options = {
        "account_name": parts.hostname.partition(".")[0],
        "endpoint": f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}",
    }
    credential = config.get("credential") or parts.query
    if not credential:
        return options
    query = credential.lstrip("?")
    return options | ({"sas_key": query} if "sig=" in query else {"account_key": credential})


def _of_connection_string(text: str) -> dict[str, Any]:
    pairs = dict(part.partition("=")[::2] for part in text.split(";") if part)
    fields = {key.strip().lower(): value for key, value in pairs.items()}
    if fields.get("usedevelopmentstorage", "").lower() == "true":
        return {"use_emulator": True, "account_name": "devstoreaccount1"}
    endpoint = fields.get("blobendpoint") or _blob_endpoint(fields)
    name = fields.get("accountname") or (urlsplit(endpoint).hostname or "").partition(".")[0]
    options = {"account_name": name, "endpoint": endpoint.rstrip("/")}
    if fields.get("accountkey"):
        options["account_key"] = fields["accountkey"]
    elif fields.get("sharedaccesssignature"):
        options["sas_key"] = fields["sharedaccesssignature"].lstrip("?")
    return options


def _blob_endpoint(fields: Mapping[str, str]) -> str:
    """The endpoint of an account that a connection string names without one."""
    name = fields.get("accountname")
    if not name:
        raise FailedPrecondition(
            "checkpoint_storage.connection_string has neither AccountName nor BlobEndpoint"
        )
    scheme = fields.get("defaultendpointsprotocol", "https")
    return f"{scheme}://{name}.blob.{fields.get('endpointsuffix', 'core.windows.net')}"
