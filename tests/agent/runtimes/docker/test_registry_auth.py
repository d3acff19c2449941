"""Credentials for pulls, and where they are found."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest
from tests.covers import covers

from determined_agent.runtimes.docker.registry_auth import (
    CredentialHelperError,
    ImageName,
    auth_header,
    find_auth,
    parse_image,
)
from determined_wire.agent_link import RegistryAuth


@pytest.mark.parametrize(
    ("image", "parts"),
    [
        ("ubuntu", ("docker.io", "ubuntu", "latest")),
        ("team/model:2", ("docker.io", "team/model", "2")),
        ("host:5000/a/b", ("host:5000", "host:5000/a/b", "latest")),
        ("ghcr.io/a/b:1@sha256:ab", ("ghcr.io", "ghcr.io/a/b", "sha256:ab")),
        ("localhost/x:1", ("localhost", "localhost/x", "1")),
    ],
)
def test_an_image_name_is_parsed(image: str, parts: tuple[str, str, str]) -> None:
    assert parse_image(image) == ImageName(*parts)


@covers("agent-config 5.credentials")
async def test_the_tasks_credentials_win_but_only_for_their_registry(
    tmp_path: Path,
) -> None:
    stored = base64.b64encode(b"stored:secret").decode()
    (tmp_path / "config.json").write_text(json.dumps({"auths": {"mine.io": {"auth": stored}}}))
    env = {"DOCKER_CONFIG": str(tmp_path)}
    given = RegistryAuth("me", "word", "other.io")
    assert await find_auth(parse_image("other.io/a"), given, env) == given
    found = await find_auth(parse_image("mine.io/a"), given, env)
    assert found == RegistryAuth("stored", "secret", "mine.io")
    assert await find_auth(parse_image("third.io/a"), given, env) is None


@pytest.mark.slow
@covers("agent-config 5.credentials")
async def test_a_credential_helper_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    helper = tmp_path / "docker-credential-vault"
    helper.write_text('#!/bin/sh\nread A\necho "{\\"Username\\":\\"$A\\",\\"Secret\\":\\"s\\"}"\n')
    helper.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    (tmp_path / "config.json").write_text('{"credHelpers": {"mine.io": "vault"}}')
    found = await find_auth(parse_image("mine.io/a"), None, {"DOCKER_CONFIG": str(tmp_path)})
    assert found == RegistryAuth("mine.io", "s", "mine.io")


async def test_the_error_names_a_missing_helper(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"credsStore": "gone"}')
    with pytest.raises(CredentialHelperError, match=r"docker-credential-gone.*install it"):
        await find_auth(parse_image("mine.io/a"), None, {"DOCKER_CONFIG": str(tmp_path)})


def test_the_header_contains_only_known_values() -> None:
    header = auth_header(RegistryAuth("me", "word", "mine.io"))["X-Registry-Auth"]
    assert json.loads(base64.urlsafe_b64decode(header)) == {
        "username": "me",
        "password": "word",
        "serveraddress": "mine.io",
    }
    assert auth_header(None) == {}
