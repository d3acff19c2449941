"""Client options of object storage from a configuration. Opens no connection."""

from __future__ import annotations

import datetime
import json
import os
from typing import Any, Callable, Dict, Mapping, NamedTuple, Optional
from urllib.parse import urlsplit

from determined._masking import MASK

CONNECT_S = 10
REQUEST_S = 300
RETRY_S = 120.0
"""How long to retry a failed request; DET_STORAGE_RETRY_S overrides it."""
_EMULATED_ACCOUNT = "devstoreaccount1"


class Target(NamedTuple):
    """A bucket or container, and the client options for it."""

    kind: str
    """s3, gcs or azure."""
    name: str
    prefix: str
    """Without leading and trailing slashes; empty for the bucket's root."""
    options: Dict[str, Any]
    """Arguments of the client's store class."""

    @property
    def address(self) -> str:
        """The address shown in messages."""
        scheme = {"s3": "s3", "gcs": "gs", "azure": "azure"}[self.kind]
        return "/".join(part for part in (f"{scheme}://{self.name}", self.prefix) if part)


def target_of(
    config: Mapping[str, Any],
    env: Mapping[str, str],
    region_of: Callable[[str], Optional[str]] = lambda bucket: None,
) -> Target:
    """Read a `checkpoint_storage` of type s3, gcs or azure.

    Args:
        config: the merged section.
        env: the environment, which may hold credentials, a region, an emulator.
        region_of: finds a bucket's region; called if no region is configured.

    Raises:
        ValueError: a field is missing, or fields conflict.
    """
    kind = config["type"]
    prefix = "/".join(p for p in str(config.get("prefix") or "").split("/") if p not in ("", "."))
    if ".." in prefix.split("/"):
        raise ValueError(f"checkpoint_storage.prefix {config['prefix']!r} must not contain '..'")
    if kind == "azure":
        name = _text(config, "container")
        options = _azure(config)
        prefix = ""
    elif kind == "gcs":
        name = _text(config, "bucket")
        options = _gcs(env)
    else:
        name = _text(config, "bucket")
        options = _s3(config, env, name, region_of)
    url = str(options.get("endpoint") or env.get("STORAGE_EMULATOR_HOST") or "")
    client = {
        "connect_timeout": datetime.timedelta(seconds=CONNECT_S),
        "timeout": datetime.timedelta(seconds=REQUEST_S),
        "allow_http": url.startswith("http://") or (kind == "gcs" and bool(url)),
    }
    retry = datetime.timedelta(seconds=float(env.get("DET_STORAGE_RETRY_S") or RETRY_S))
    options["client_options"] = client
    options["retry_config"] = {"max_retries": 10, "retry_timeout": retry}
    return Target(kind, name, prefix, options)


def _s3(
    config: Mapping[str, Any],
    env: Mapping[str, str],
    bucket: str,
    region_of: Callable[[str], Optional[str]],
) -> Dict[str, Any]:
    """Options of S3, with keys of the configuration, the environment or the machine's role."""
    options: Dict[str, Any] = {}
    key, secret = config.get("access_key"), config.get("secret_key")
    if MASK in (key, secret):
        _check_own_keys(env)
    else:
        if bool(key) != bool(secret):
            raise ValueError("checkpoint_storage.access_key and secret_key must be set together")
        if key:
            options.update(access_key_id=key, secret_access_key=secret)
    region = env.get("AWS_REGION") or env.get("AWS_DEFAULT_REGION")
    if config.get("endpoint_url"):
        options["endpoint"] = str(config["endpoint_url"]).rstrip("/")
        if urlsplit(options["endpoint"]).scheme not in ("http", "https"):
            raise ValueError(
                f"checkpoint_storage.endpoint_url {config['endpoint_url']!r} must start with "
                "http:// or https://"
            )
    elif region is None:
        region = region_of(bucket)
    options["region"] = region or "us-east-1"
    return options


def _check_own_keys(env: Mapping[str, str]) -> None:
    """Require own keys if those of the configuration are masked; a machine role is not enough."""
    home = env.get("HOME", "")
    names = ("AWS_ACCESS_KEY_ID", "AWS_PROFILE", "AWS_WEB_IDENTITY_TOKEN_FILE")
    if any(env.get(name) for name in names) or os.path.isdir(os.path.join(home, ".aws")):
        return
    raise ValueError(
        "the keys of this s3 storage are hidden from you: set AWS_ACCESS_KEY_ID and "
        "AWS_SECRET_ACCESS_KEY, or download through the master"
    )


def _gcs(env: Mapping[str, str]) -> Dict[str, Any]:
    """Options of Google Cloud Storage: default credentials, or none for an emulator."""
    emulator = env.get("STORAGE_EMULATOR_HOST")
    if not emulator:
        return {}
    url = emulator if "://" in emulator else f"http://{emulator}"
    account = {"gcs_base_url": url.rstrip("/"), "disable_oauth": True}
    account.update(client_email="", private_key="", private_key_id="")
    return {"service_account_key": json.dumps(account)}


def _azure(config: Mapping[str, Any]) -> Dict[str, Any]:
    """Options of Azure, from a connection string or from an account URL and credential."""
    text, url = config.get("connection_string"), config.get("account_url")
    if bool(text) == bool(url):
        raise ValueError(
            "checkpoint_storage of type azure needs either connection_string or account_url"
        )
    if MASK in (text, config.get("credential")):
        raise ValueError(
            "the credentials of this azure storage are hidden from you: download through the "
            "master (--mode master)"
        )
    if text:
        return _of_connection_string(str(text))
    parts = urlsplit(str(url))
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(
            f"checkpoint_storage.account_url {url!r} must be an address such as "
            "https://ACCOUNT.blob.core.windows.net"
        )
    options = {
        "account_name": parts.hostname.partition(".")[0],
        "endpoint": f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}",
    }
    options.update(_azure_credential(config.get("credential") or parts.query))
    return options


def _azure_credential(credential: Optional[str]) -> Dict[str, str]:
    """A shared access signature has the form of a query; other credentials are account keys."""
    if not credential:
        return {}
    query = credential.lstrip("?")
    return {"sas_key": query} if "sig=" in query else {"account_key": credential}


def _of_connection_string(text: str) -> Dict[str, Any]:
    pairs = dict(part.partition("=")[::2] for part in text.split(";") if part)
    fields = {key.strip().lower(): value for key, value in pairs.items()}
    if fields.get("usedevelopmentstorage", "").lower() == "true":
        return {"use_emulator": True, "account_name": _EMULATED_ACCOUNT}
    name, endpoint = fields.get("accountname"), fields.get("blobendpoint")
    if not endpoint:
        if not name:
            raise ValueError(
                "checkpoint_storage.connection_string has neither AccountName nor BlobEndpoint"
            )
        scheme = fields.get("defaultendpointsprotocol", "https")
        endpoint = f"{scheme}://{name}.blob.{fields.get('endpointsuffix', 'core.windows.net')}"
    name = name or (urlsplit(endpoint).hostname or "").partition(".")[0]
    options = {"account_name": name, "endpoint": endpoint.rstrip("/")}
    if fields.get("accountkey"):
        options["account_key"] = fields["accountkey"]
    elif fields.get("sharedaccesssignature"):
        options["sas_key"] = fields["sharedaccesssignature"].lstrip("?")
    return options


def _text(config: Mapping[str, Any], name: str) -> str:
    value = config.get(name)
    if not isinstance(value, str) or not value:
        raise ValueError(
            f"checkpoint_storage.{name} must be a name for type {config['type']!r}, got {value!r}"
        )
    return value
