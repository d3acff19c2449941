"""One rule of new passwords: the master's, which `det`, the SDK and the web UI show."""

from __future__ import annotations

import asyncio
import io
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from tests.api.client import Client
from tests.api.hidden import ok
from tests.api.master import PASSWORD
from tests.cli import fake_master

from determined.cli import main
from determined.common.api import authentication
from determined.experimental import Determined

NEW = "all lower case"
SHORT = "Short-1"
BLANK = " " * 12


class RealMaster(fake_master.FakeMaster):
    """HTTP in front of the application of this process, whose loop answers."""

    def __init__(self, client: Client) -> None:
        super().__init__()
        loop = asyncio.get_running_loop()

        async def ask(call: fake_master.Call) -> fake_master.Answer:
            headers = {"authorization": call.headers.get("authorization", "")}
            answer = await client(call.method, call.path, call.body or None, headers=headers)
            return answer.status, answer.json()

        def forward(call: fake_master.Call) -> fake_master.Answer:
            return asyncio.run_coroutine_threadsafe(ask(call), loop).result(60)

        self.routes = _Every(forward)  # type: ignore[assignment]


class _Every(dict[Any, Any]):
    def __init__(self, route: Callable[[fake_master.Call], fake_master.Answer]) -> None:
        self._route = route

    def get(self, key: Any, default: Any = None) -> Any:
        return self._route


@pytest.fixture
async def address(
    anonymous: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[str]:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for name in ("DET_USER", "DET_PASS", "DET_USER_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    started = RealMaster(anonymous)
    monkeypatch.setenv("DET_MASTER", started.url)
    yield started.url
    await asyncio.to_thread(started.close)


@pytest.fixture
def det(address: str, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    async def run(*words: str, stdin: str = "") -> int:
        monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
        return await asyncio.to_thread(main.main, words)

    return run


async def signs_in(anonymous: Client, username: str, password: str) -> bool:
    body = {"username": username, "password": authentication.salt_and_hash(password)}
    answer = await anonymous("POST", "/api/v1/auth/login", {**body, "isHashed": True})
    return answer.status == 200


async def test_a_user_signs_in_with_the_password_that_det_has_set(
    det: Callable[..., Any], anonymous: Client
) -> None:
    assert await det("user", "login", "determined", stdin=f"{PASSWORD}\n") == 0
    assert await det("user", "change-password", stdin=f"{NEW}\n") == 0
    assert await signs_in(anonymous, "determined", NEW)
    assert await det("user", "whoami") == 0


async def test_a_user_signs_in_with_the_password_that_the_sdk_has_set(
    address: str, anonymous: Client
) -> None:
    def change() -> None:
        client = Determined(address, "admin", PASSWORD)
        client.create_user("ada", admin=False, password="another one")
        client.get_user_by_name("ada").change_password(NEW)
        client._session.close()

    await asyncio.to_thread(change)
    assert await signs_in(anonymous, "ada", NEW)


@pytest.mark.parametrize(
    "password", [NEW, SHORT, BLANK, "12345678", "ÄÖÜäöüß", "🦊" * 7, "🦊" * 8]
)
async def test_det_and_the_sdk_accept_what_the_master_accepts(
    det: Callable[..., Any], address: str, admin: Client, password: str
) -> None:
    body = {"user": {"username": "web", "active": True}, "password": password}
    accepted = (await admin("POST", "/api/v1/users", body)).status == 200
    assert await det("user", "login", "admin", stdin=f"{PASSWORD}\n") == 0
    assert (await det("user", "create", "cli", "--password", password) == 0) is accepted

    def create() -> bool:
        client = Determined(address, "admin", PASSWORD)
        try:
            client.create_user("sdk", admin=False, password=password)
        except ValueError:
            return False
        finally:
            client._session.close()
        return True

    assert await asyncio.to_thread(create) is accepted


async def test_a_refusal_has_the_text_of_the_rule(admin: Client) -> None:
    rule = (await ok(admin, "GET", "/api/ui/v1/rules"))["password"]
    body = {"user": {"username": "web", "active": True}, "password": SHORT}
    assert rule["text"] in (await admin("POST", "/api/v1/users", body)).text
