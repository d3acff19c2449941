"""A project of GCP on loopback, and the credentials of a service account there."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from tests.backends.cloud.google_project import GoogleProject
from tests.backends.cloud.http_servers import Quiet, serving
from tests.cli.deploy.wheel_once import copy_wheel

from determined.common._backoff import Backoff
from determined_deploy.cloud import wheel
from determined_deploy.gcp import calls
from determined_deploy.gcp.resources import rights

PROJECT = "lab-1"


@contextlib.contextmanager
def project_of_gcp(patch: pytest.MonkeyPatch, directory: Path) -> Iterator[GoogleProject]:
    """An empty project; `patch` holds until the end.

    After the test all calls and answers are as the discovery documents have them.
    """
    project = GoogleProject()

    class Tokens(Quiet):
        def do_POST(self) -> None:
            answer = {"access_token": project.token, "expires_in": 3600, "token_type": "Bearer"}
            self.reply(200, json.dumps(answer).encode())

    with serving(Tokens) as token_url:
        project.start()
        try:
            key = directory / "key.json"
            key.write_text(json.dumps(_account(token_url)))
            patch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(key))
            for name, value in project.variables().items():
                patch.setenv(name, value)
            yield project
        finally:
            project.stop()
    assert project.differences == []


def _account(token_url: str) -> dict[str, str]:
    key = rsa.generate_private_key(65537, 2048)
    pem = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    return {
        "type": "service_account",
        "project_id": PROJECT,
        "client_email": "ops@lab-1.example",
        "private_key_id": "k1",
        "private_key": pem.decode(),
        "token_uri": token_url,
    }


@pytest.fixture
def gcp(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[GoogleProject]:
    """A project, and commands that wait for it as briefly as can be."""
    for module in (calls, rights):
        monkeypatch.setattr(module, "BACKOFF", Backoff(0.01, 0.01))
    monkeypatch.setattr(calls, "RETRY", Backoff(0.01, 0.01))
    monkeypatch.setattr(wheel, "build_wheel", copy_wheel)
    with project_of_gcp(monkeypatch, home) as project:
        yield project


def shown(value: Any) -> str:
    """A value as one text, to look for words in it."""
    return json.dumps(value)
