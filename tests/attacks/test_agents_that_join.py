"""Finding N3: code in a task joins as an agent, and is given the tasks and tokens of others."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.agent_link import Listener, Recorder, identity, listening
from tests.backends.cloud.aws_place import settings as aws_settings
from tests.master_settings import read
from websockets.asyncio.client import connect

from determined_agent.link.agent_key import AgentKeyError, load_key
from determined_master import clock
from determined_master.backends.agents.backend import AgentBackend
from determined_master.backends.aws.requests import metadata_hops
from determined_master.domain.machines.scaling import Machine
from determined_master.services.cluster import join_tokens
from determined_master.services.cluster.admission import Join, JoinRules
from determined_master.services.cluster.join_tokens import hash_of, machine_token
from determined_master.store.cluster import agent_keys as rows
from determined_master.store.cluster.machines import upsert_stays
from determined_master.store.db import Database
from determined_wire.agent_link import PROTOCOL, Device, FromMaster, Hello, Refused, Welcome

pytestmark = pytest.mark.slow
SECRET = b"s" * 32
SHARED = "a token of the admin for all agents"


def hello(agent_id: str = "evil", **overrides: Any) -> Hello:
    """Sixteen slots of nobody's: the scheduler would give them work at once."""
    values: dict[str, Any] = {
        "protocol": PROTOCOL,
        "boot_id": "b",
        "version": "0",
        "resource_pool": "default",
        "hostname": "h",
        "devices": tuple(Device(n, "gpu", f"GPU-{n}", "cuda") for n in range(16)),
        "runtime": "process",
    }
    return Hello(agent_id=agent_id, **(values | overrides))


class Master:
    """A master's door on loopback."""

    def __init__(self, listener: Listener, db: Database, rules: JoinRules) -> None:
        self.db = db
        self.events = Recorder()
        self._port = listener.port
        listener.backend = AgentBackend(identity(), self.events, Join(rules, db, SECRET))
        listener.backend.open({}, 1)

    async def ask(self, hello: Hello) -> FromMaster:
        """The first answer; the agent disconnects then."""
        async with connect(f"ws://127.0.0.1:{self._port}/agents", proxy=None) as link:
            await link.send(msgspec.json.encode(hello))
            answer: FromMaster = msgspec.json.decode(await link.recv(), type=FromMaster)
        return answer

    async def lets_in(self, hello: Hello) -> bool:
        answer = await self.ask(hello)
        assert isinstance(answer, Welcome | Refused)
        return isinstance(answer, Welcome)

    async def token(self, agent_id: str | None = None) -> str:
        """A new join token, as an admin gets it."""
        self.number = getattr(self, "number", 0) + 1
        text = f"token-{self.number}"
        now = clock.now()
        async with self.db.acquire() as conn:
            await rows.insert_token(conn, hash_of(text), agent_id, now, now + join_tokens.LIFE)
        return text


@pytest.fixture
async def master(pool: Database, tmp_path: Path) -> AsyncIterator[Master]:
    settings = read(tmp_path, "host: 127.0.0.1")
    rules = JoinRules(
        is_open=settings.is_join_open,
        shared_token=SHARED,
        allow_process_runtime=bool(settings.security.allow_process_runtime),
        pools=["default", "cloud", "other"],
        machine_pools=["cloud", "other"],
    )
    async with listening() as listener:
        yield Master(listener, pool, rules)


async def test_code_in_a_task_does_not_join_a_master_on_loopback(master: Master) -> None:
    for token in ("", "guessed", machine_token(SECRET, "default")):
        for key in ("", "k" * 43):
            answer = await master.ask(hello(join_token=token, key=key))
            assert isinstance(answer, Refused)
            assert answer.is_final
            assert "run `det -u admin agent token evil`" in answer.reason
    answer = await master.ask(hello(resource_pool="none", devices=()))
    assert isinstance(answer, Refused)
    assert "cloud" not in answer.reason, "names of pools are for those who show something"
    assert not master.events.joined


async def test_a_token_is_spent_at_the_first_join(master: Master) -> None:
    token = await master.token()
    assert await master.lets_in(hello("gpu-1", join_token=token, key="k" * 43))
    for agent_id, key in (("evil", "e" * 43), ("gpu-1", "e" * 43), ("gpu-1", ""), ("evil", "")):
        assert not await master.lets_in(hello(agent_id, join_token=token, key=key))
    # The agent itself comes back, also after its token's file is gone.
    for join_token in (token, "", "another"):
        assert await master.lets_in(hello("gpu-1", join_token=join_token, key="k" * 43))
    assert not await master.lets_in(hello("evil", key="k" * 43)), "a key is one agent's"


async def test_a_refused_agent_keeps_its_token(master: Master) -> None:
    token = await master.token()
    assert not await master.lets_in(hello("gpu-1", join_token=token, resource_pool="none"))
    assert await master.lets_in(hello("gpu-1", join_token=token, key="k" * 43))


async def test_a_token_for_new_agents_does_not_take_the_place_of_an_agent(master: Master) -> None:
    assert await master.lets_in(hello("gpu-1", join_token=await master.token(), key="k" * 43))
    token = await master.token()
    answer = await master.ask(hello("gpu-1", join_token=token, key="e" * 43))
    assert isinstance(answer, Refused)
    assert "has another key than the agent of this id" in answer.reason
    assert await master.lets_in(hello("gpu-2", join_token=token, key="e" * 43)), "not spent"
    # An admin says that the machine was set up again: its old key is worth nothing.
    own = await master.token("gpu-1")
    assert not await master.lets_in(hello("gpu-3", join_token=own, key="f" * 43))
    assert await master.lets_in(hello("gpu-1", join_token=own, key="f" * 43))
    assert not await master.lets_in(hello("gpu-1", key="k" * 43))


async def test_an_expired_token_admits_nobody(
    master: Master, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = await master.token()
    later = clock.now() + join_tokens.LIFE
    monkeypatch.setattr(clock, "now", lambda: later)
    assert not await master.lets_in(hello("gpu-1", join_token=token, key="k" * 43))


async def test_agents_of_the_release_before_still_work(master: Master) -> None:
    """They show no key: the token becomes the key of the one that used it."""
    token = await master.token()
    for _ in range(2):
        assert await master.lets_in(hello("old", join_token=token))
    assert not await master.lets_in(hello("evil", join_token=token))
    # After its upgrade it has a key.
    assert await master.lets_in(hello("old", join_token=token, key="k" * 43))
    assert await master.lets_in(hello("old", key="k" * 43))
    assert not await master.lets_in(hello("old", join_token=token))


async def test_a_shared_token_is_the_admins_choice(master: Master) -> None:
    assert await master.lets_in(hello("gpu-1", join_token=SHARED, key="k" * 43))
    assert await master.lets_in(hello("gpu-1", key="k" * 43))
    assert await master.lets_in(hello("gpu-1", join_token=SHARED, key="n" * 43)), "a new disk"
    assert not await master.lets_in(hello("gpu-1", key="k" * 43))
    assert await master.lets_in(hello("old", join_token=SHARED))


async def test_user_data_of_a_machine_that_has_joined_is_worth_nothing(master: Master) -> None:
    token = machine_token(SECRET, "cloud")
    assert token != machine_token(SECRET, "other")
    joining = hello("i-1", join_token=token, key="k" * 43, resource_pool="cloud")
    answer = await master.ask(joining)
    assert isinstance(answer, Refused)
    assert not answer.is_final, "its launch may not be noted yet"
    machines = [
        Machine(id=f"m-{n}", agent_name=f"i-{n}", state="running", launched_at=clock.now())
        for n in (1, 2)
    ]
    async with master.db.acquire() as conn:
        await upsert_stays(conn, "cloud", machines, 1, clock.now())
    assert not await master.lets_in(msgspec.structs.replace(joining, resource_pool="other")), (
        "a token is one pool's"
    )
    assert await master.lets_in(joining)
    for agent_id, key in (("i-1", "e" * 43), ("i-1", ""), ("evil", "e" * 43), ("i-3", "")):
        evil = hello(agent_id, join_token=token, key=key, resource_pool="cloud")
        assert not await master.lets_in(evil)
    async with master.db.acquire() as conn:
        await upsert_stays(conn, "cloud", machines[:1], 1, clock.now())
    gone = hello("i-2", join_token=token, key="e" * 43, resource_pool="cloud")
    assert not await master.lets_in(gone), "a machine that has ended"
    assert await master.lets_in(msgspec.structs.replace(joining, join_token=""))


@pytest.mark.parametrize(
    ("options", "hops"),
    [
        ({"agent_docker_image": ""}, 1),
        ({"agent_docker_image": "agent", "agent_docker_network": "host"}, 1),
        ({"agent_docker_image": "agent", "agent_docker_network": "bridge"}, 2),
        ({"agent_docker_image": "", "iam_instance_profile_arn": "arn:aws:iam::1:x/agents"}, 2),
    ],
)
def test_containers_on_ec2_read_no_user_data_unless_they_need_the_service(
    options: dict[str, Any], hops: int
) -> None:
    assert metadata_hops(aws_settings(**options)) == hops


def test_an_agent_keeps_its_key_for_itself(tmp_path: Path) -> None:
    first = load_key(tmp_path)
    assert (len(first.text), first.is_known) == (43, False)
    path = tmp_path / "key"
    assert path.stat().st_mode & 0o077 == 0
    again = load_key(tmp_path)
    assert (again.text, again.is_known) == (first.text, True)
    path.write_text("short")
    with pytest.raises(AgentKeyError, match=r"5 characters instead of 43; delete the file"):
        load_key(tmp_path)
