"""Routes of shells."""

from __future__ import annotations

from typing import Any

from determined_master.api.http.routes import Call
from determined_master.api.tasks.interactive import account_of, addresses_of
from determined_master.api.tasks.interactive_routes import InteractiveTaskKind, routes_of_kind
from determined_master.pools.live import LiveAllocations
from determined_master.records.tasks import InteractiveRow
from determined_master.services.cluster.agents import Agents
from determined_master.services.tasks.interactive_tasks import InteractiveTasks
from determined_wire.rest.types.shell import Shell


async def _keys(
    call: Call,
    row: InteractiveRow,
    tasks: InteractiveTasks,
    agents: Agents,
    live: LiveAllocations,
) -> dict[str, Any]:
    may_enter = await tasks.may_enter(call.caller, row)
    if may_enter or call.caller.is_admin:
        tasks.visits.record(row.id, call.http.client, call.http.token)
    keys, user = await tasks.secrets.ssh_keys(row.id), await tasks.agent_user(row)
    return {
        "private_key": keys.private.decode() if may_enter else "",
        "public_key": keys.public.decode(),
        "addresses": addresses_of(row, live),
        "agent_user_group": {
            "id": 0,
            "user_id": row.user_id,
            "user": await account_of(call, row, agents, live) or user.user,
            "uid": user.uid,
            "group": user.group,
            "gid": user.gid,
        },
    }


(
    launch_shell,
    get_shells,
    get_shell,
    kill_shell,
    set_shell_priority,
) = routes_of_kind(
    InteractiveTaskKind(
        kind="SHELL",
        word="shell",
        message=Shell,
        starts="Start a shell; the answer has the key that lets its user in.",
        more_alone=_keys,
    )
)
