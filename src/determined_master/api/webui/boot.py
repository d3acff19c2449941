"""Data that comes with the page, so that its first list waits for no other request.

One JSON object: `master` as `GET /api/v1/master` answers. With a valid session also `user` as in
`GET /api/v1/me`, `permissions` as `GET /api/v1/permissions/summary` answers, and the lists of
`GET /api/v1/users/setting` (`settings`), `GET /api/v1/workspaces` (`workspaces`) and
`GET /api/v1/users` (`users`). On the address of a project that the caller sees: `project`. The
page asks for a part that is missing.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence

import msgspec

from determined_master.api.access.roles import permissions_message
from determined_master.api.access.user_shapes import user_message
from determined_master.api.access.users import settings_message
from determined_master.api.cluster.master import master_message
from determined_master.api.http.protojson import encode, to_json
from determined_master.api.http.routes import ANONYMOUS, Call
from determined_master.api.workspaces.projects import project_message
from determined_master.api.workspaces.workspaces import workspace_messages
from determined_master.domain.access.rules import Caller
from determined_master.domain.errors import NotFound
from determined_master.records.access import UserFilter
from determined_master.services.access.guard import Claim
from determined_master.services.access.users import ListOrder
from determined_master.services.page_data import PageData
from determined_wire.proto import Message

log = logging.getLogger(__name__)

MAX_USERS = 200
"""More are no part of the page: each load would read them."""
MAX_LIST_BYTES = 64 * 1024
"""A longer list would delay the first paint; the page asks for it."""
_PROJECT = re.compile(r"projects/([1-9]\d{0,8})(?=/|$)", re.ASCII)
_ESCAPES = {
    b"<": b"\\u003c",
    b">": b"\\u003e",
    b"&": b"\\u0026",
    "\u2028".encode(): b"\\u2028",
    "\u2029".encode(): b"\\u2029",
}
"""What could end the element, or be read as markup; all of it stands inside of JSON strings."""


async def boot_json(call: Call, data: PageData) -> bytes:
    """The data as JSON that is safe inside of an HTML element."""
    parts = {"master": encode(await master_message(data.master, data.messages))}
    if call.caller is not ANONYMOUS:
        parts |= await _of_caller(call.caller, call.parameters.get("path", ""), data)
    text = msgspec.json.encode({name: msgspec.Raw(part) for name, part in parts.items()})
    for character, escape in _ESCAPES.items():
        text = text.replace(character, escape)
    return text


async def _of_caller(caller: Caller, path: str, data: PageData) -> dict[str, bytes]:
    try:
        user = encode(user_message(await data.users.me(caller)))
        permissions = encode(await permissions_message(caller, data.roles))
        users, page = await data.users.list_all(caller, UserFilter(), ListOrder(limit=MAX_USERS))
        lists = {
            "settings": _list((await settings_message(caller, data.users)).settings),
            "workspaces": _list(await workspace_messages(caller, data.workspaces)),
        }
        if page.total <= MAX_USERS:
            lists["users"] = _list([user_message(row) for row in users])
        project = await _project(caller, path, data)
    except Exception as error:  # the page works without them, and asks for them
        log.warning("the page of the web UI is sent without its user", exc_info=error)
        return {}
    short = {name: text for name, text in lists.items() if len(text) <= MAX_LIST_BYTES}
    return {"user": user, "permissions": permissions, **short, **project}


async def _project(caller: Caller, path: str, data: PageData) -> dict[str, bytes]:
    """The project of the address, if it has one that the caller sees."""
    found = _PROJECT.match(path)
    if found is None or not await data.guard.can(caller, Claim("project", [found[1]])):
        return {}
    try:
        row = await data.projects.get(caller, int(found[1]))
    except NotFound:
        return {}
    return {"project": encode(project_message(row))}


def _list(messages: Sequence[Message]) -> bytes:
    return msgspec.json.encode([to_json(message) for message in messages])
