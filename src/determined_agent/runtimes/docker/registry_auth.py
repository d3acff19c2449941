"""Finds the credentials for pulling an image.

In this order: the task's credentials if they are for the image's registry, the credential helper
in the agent's Docker configuration, and the credentials stored in that configuration.
Source: agent-config 5.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from determined_wire.agent_link import RegistryAuth

DOCKER_HUB = "docker.io"
_HUB_KEYS = ("https://index.docker.io/v1/", "index.docker.io", "docker.io")
_HELPER_S = 20.0


class CredentialHelperError(Exception):
    """A credential helper has failed; the text names it and the reason."""


class ImageName(msgspec.Struct, frozen=True):
    registry: str
    name: str
    """The name without the tag, as the daemon knows it."""
    tag: str
    """A tag, or a digest with its algorithm."""


def parse_image(image: str) -> ImageName:
    """Split `[registry/]name[:tag][@digest]`; the default tag is `latest`."""
    name, at, digest = image.partition("@")
    head, slash, rest = name.partition("/")
    is_host = bool(slash) and ("." in head or ":" in head or head == "localhost")
    path = rest if is_host else name
    bare, colon, tag = path.rpartition(":")
    if not colon:
        bare, tag = path, "latest"
    full = f"{head}/{bare}" if is_host else bare
    return ImageName(head if is_host else DOCKER_HUB, full, digest if at else tag)


async def find_auth(
    image: ImageName, registry_auth: RegistryAuth | None, env: Mapping[str, str]
) -> RegistryAuth | None:
    """Return the credentials for an image's registry; None if there are none.

    Raises:
        CredentialHelperError: the configured helper has failed.
    """
    if registry_auth is not None and _is_for(registry_auth, image):
        return registry_auth
    config = _read_config(env)
    keys = _HUB_KEYS if image.registry == DOCKER_HUB else (image.registry,)
    helpers = config.get("credHelpers") or {}
    helper = next((helpers[k] for k in keys if k in helpers), config.get("credsStore"))
    if helper:
        auth = await _ask_helper(str(helper), keys[0])
        if auth is not None:
            return auth
    return _stored(config.get("auths") or {}, image.registry)


def auth_header(auth: RegistryAuth | None) -> dict[str, str]:
    """Return the header that passes credentials to the daemon."""
    if auth is None:
        return {}
    values = {
        "username": auth.username,
        "password": auth.password,
        "serveraddress": auth.server_address,
        "identitytoken": auth.identity_token,
    }
    text = json.dumps({k: v for k, v in values.items() if v})
    return {"X-Registry-Auth": base64.urlsafe_b64encode(text.encode()).decode()}


def _is_for(registry_auth: RegistryAuth, image: ImageName) -> bool:
    has_secret = bool(
        registry_auth.username or registry_auth.identity_token or registry_auth.password
    )
    at = registry_auth.server_address
    return has_secret and (not at or _host_of(at) == image.registry)


def _host_of(address: str) -> str:
    bare = address.partition("://")[2] or address
    host = bare.partition("/")[0]
    return DOCKER_HUB if host in ("index.docker.io", "registry-1.docker.io") else host


def _read_config(env: Mapping[str, str]) -> Mapping[str, Any]:
    folder = env.get("DOCKER_CONFIG") or os.path.join(env.get("HOME", ""), ".docker")
    try:
        document = json.loads(Path(folder, "config.json").read_bytes())
    except (OSError, ValueError):
        return {}
    return document if isinstance(document, dict) else {}


def _stored(auths: Mapping[str, Any], registry: str) -> RegistryAuth | None:
    for address, entry in auths.items():
        if _host_of(address) != registry or not isinstance(entry, dict):
            continue
        try:
            user, _, password = base64.b64decode(entry.get("auth") or "").decode().partition(":")
        except (binascii.Error, UnicodeDecodeError):
            continue
        token = str(entry.get("identitytoken") or "")
        if user or token:
            return RegistryAuth(user, password, address, token)
    return None


async def _ask_helper(helper: str, address: str) -> RegistryAuth | None:
    program = f"docker-credential-{helper}"
    try:
        process = await asyncio.create_subprocess_exec(
            program,
            "get",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
    except OSError as error:
        raise CredentialHelperError(
            f"the credential helper {program}, which the agent's Docker configuration names, "
            f"cannot be run ({error.strerror}): install it or remove it from the configuration"
        ) from error
    try:
        async with asyncio.timeout(_HELPER_S):
            out, _ = await process.communicate(address.encode())
    except TimeoutError as error:
        raise CredentialHelperError(f"{program} did not answer in {_HELPER_S:g} s") from error
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        return None  # it has none for this registry
    try:
        answer = json.loads(out)
        user, secret = str(answer["Username"]), str(answer["Secret"])
    except (ValueError, KeyError, TypeError):
        return None
    if user == "<token>":
        return RegistryAuth("", "", address, secret)
    return RegistryAuth(user, secret, address)
