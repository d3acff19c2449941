"""The observed samples of tests/data/wire.json as tests.

A sample is served when its route is in the route table. It is then sent to a fresh database,
prepared by its `Case`, and the answer must have the same status (or the right one, where the
observed one was a defect), the same names, the same forms of values and the same absent fields.
A sample that needs no preparation needs no case. To serve more routes, add cases to a module
like `cases_users.py` and name it in `test_samples.py`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.api.client import Client
from tests.api.master import PASSWORD

from determined_master.engine import Engine
from determined_master.services.access.identities import Identities
from determined_master.services.access.passwords import client_hash
from determined_master.services.access.users import Users
from determined_master.services.catalog import Services
from determined_master.services.cluster.agents import Agents

DATA = Path(__file__).parent.parent / "data" / "wire.json"

FORMS = {
    "<time>": re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.(\d{3}|\d{6}|\d{9}))?Z"),
    "<uuid>": re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"),
    "<int as string>": re.compile(r"-?\d+"),
    "<token>": re.compile(r"[\w.-]{20,}"),
    "<base64>": re.compile(r"[A-Za-z0-9+/]*=*"),
}
PLACEHOLDER = re.compile(r"<[^<>]+>")


@dataclass
class World:
    """What a case prepares and a sample is sent from."""

    services: Services
    engine: Engine
    shared: dict[str, Any]
    """What cases keep for later samples on the same master."""
    clients: dict[str, Client]
    """By the `auth` of samples: admin, user, none, bad, and those that cases add."""
    names: dict[str, str] = field(default_factory=dict)
    """What stands for `<name>` in the sample's path and request."""

    def orders(self) -> list[Any]:
        """What the one agent was told to start."""
        backend: Any = self.services[Agents]._backend
        orders: list[Any] = backend.orders
        return orders

    async def forget_users(self) -> None:
        """Take away what earlier samples did to users and their names."""
        query = """
            UPDATE users SET username = CASE WHEN id > 2 THEN 'old' || id ELSE username END,
                   display_name = '', active = id < 3, agent_uid = NULL, agent_gid = NULL,
                   agent_user = NULL, agent_group = NULL
            RETURNING id
        """
        async with self.services[Users]._db.acquire() as conn:
            for row in await conn.fetch(query):
                self.services[Identities].forget_users((row["id"],))


Prepare = Callable[[World], Awaitable[None]]


@dataclass(frozen=True)
class Case:
    """How one sample differs from one that just can be sent."""

    prepare: Prepare | None = None
    request: Any = None
    """Sent in place of the sample's request."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Sent beside the sample's."""
    phrase: str = ""
    """What an error's text must contain, where it need not be the observed text."""
    status: int = 0
    """Our status, where neither the observed nor the noted one is meant; `why` tells."""
    why: str = ""
    missing: str = ""
    """What must be built before the sample can pass; it is then expected to fail."""
    free: frozenset[str] = frozenset()
    """Dotted names whose value may have another form or be absent; `*` for all of the body."""


def load() -> list[dict[str, Any]]:
    """All samples."""
    samples: list[dict[str, Any]] = json.loads(DATA.read_text())
    return samples


async def send(world: World, sample: Mapping[str, Any], case: Case) -> Any:
    """Send a sample; its answer."""
    names = {
        "password": PASSWORD,
        "hash": client_hash(PASSWORD),
        "time": "2026-11-21T05:59:17.792Z",
        **world.names,
    }
    client = world.clients[sample["auth"]]
    path = _fill(sample["path"], names)
    headers = {k: _fill(v, names) for k, v in sample.get("request_headers", {}).items()}
    headers |= case.headers
    request = sample["request"] if case.request is None else case.request
    request = _fill_json(request, names)
    is_raw = isinstance(request, str) and not sample["path"].endswith("/password")
    body = request.encode() if is_raw else request
    return await client(sample["method"], path, body, headers=headers)


def check(sample: Mapping[str, Any], case: Case, answer: Any) -> None:
    """Compare an answer with its sample."""
    defect = sample.get("defect", {})
    wanted = case.status or defect.get("right_status", sample["status"])
    assert answer.status == wanted, answer.body
    for name, value in sample["response_headers_of_interest"].items():
        if name in ("Content-Type", "Location") or (
            name == "Grpc-Metadata-Content-Type" and wanted < 300
        ):
            pattern = "[^/?]+".join(map(re.escape, PLACEHOLDER.split(value)))
            assert re.fullmatch(pattern, answer.headers[name.lower()]), name
    if "*" in case.free:
        return
    if sample["response"] in ("", "<binary>"):
        assert sample["response"] or not answer.body
        return
    if isinstance(sample["response"], str):
        assert answer.body.decode() == sample["response"]
        return
    got = answer.json() if "framing" not in sample else _lines(answer.body)
    if wanted >= 400:
        _check_error(sample["response"], got, case, is_defect=wanted != sample["status"])
    else:
        problems = differences(sample["response"], got, case.free)
        assert not problems, "\n".join(problems)


def _lines(body: bytes) -> Any:
    """The objects of a stream; an error at its start is one object."""
    found = [json.loads(line) for line in body.splitlines()]
    return found[0] if found and "error" in found[0] else found


def differences(
    wanted: Any, got: Any, free: frozenset[str] = frozenset(), at: str = ""
) -> list[str]:
    """Where two values have other names or forms; empty when they are alike."""
    if at.lstrip(".") in free:
        return []
    if isinstance(wanted, dict):
        return _dict_differences(wanted, got, free, at)
    if isinstance(wanted, list):
        return _list_differences(wanted, got, free, at)
    kind, found = _form(wanted), _form(got)
    if isinstance(wanted, str) and PLACEHOLDER.fullmatch(wanted):
        is_alike = _fits(wanted, got)
    else:
        is_alike = kind == found
    return [] if is_alike else [f"{at or '.'}: {got!r} is not of the form of {wanted!r}"]


def _dict_differences(
    wanted: dict[str, Any], got: Any, free: frozenset[str], at: str
) -> list[str]:
    if not isinstance(got, dict):
        return [f"{at or '.'}: {got!r} is not an object"]
    problems = []
    for name in sorted(wanted.keys() | got.keys()):
        place = f"{at}.{name}"
        if place.lstrip(".") in free or PLACEHOLDER.search(name):
            continue
        if name not in got:
            problems.append(f"{place} is missing")
        elif name not in wanted:
            if not any(PLACEHOLDER.search(key) for key in wanted):
                problems.append(f"{place} should be absent")
        else:
            problems += differences(wanted[name], got[name], free, place)
    return problems


def _list_differences(wanted: list[Any], got: Any, free: frozenset[str], at: str) -> list[str]:
    if not isinstance(got, list):
        return [f"{at or '.'}: {got!r} is not a list"]
    items = [w for w in wanted if not (isinstance(w, str) and w.endswith(" more>"))]
    if not items:
        return []
    if not got:
        return [f"{at or '.'}: the list is empty"]
    return differences(items[0], got[0], free, f"{at}[]")


def _form(value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, str) and FORMS["<time>"].fullmatch(value):
        return "time"
    return {str: "text", type(None): "null", dict: "object", list: "list"}[type(value)]


def _fits(placeholder: str, got: Any) -> bool:
    if placeholder in ("<int>", "<number>"):
        return isinstance(got, int | float) and not isinstance(got, bool)
    if placeholder.startswith("<object"):
        return isinstance(got, dict)
    if not isinstance(got, str):
        return False
    pattern = FORMS.get(placeholder)
    return pattern is None or pattern.fullmatch(got) is not None


def _check_error(wanted: Any, got: Any, case: Case, *, is_defect: bool) -> None:
    assert got.keys() == wanted.keys()
    if "message" in wanted:
        text, phrase = got["message"], case.phrase or wanted["message"]
    else:
        assert got["error"].keys() == wanted["error"].keys()
        if not is_defect:
            for name in ("code", "reason", "grpcCode", "httpCode", "httpStatus"):
                assert got["error"].get(name) == wanted["error"].get(name)
        name = "error" if "error" in wanted["error"] else "message"
        text, phrase = got["error"][name], case.phrase or wanted["error"][name]
    if not is_defect or case.phrase:
        for part in PLACEHOLDER.split(phrase):
            assert part in text, f"{text!r} does not contain {part!r}"


def _fill(text: str, names: Mapping[str, str]) -> str:
    return PLACEHOLDER.sub(lambda m: names.get(m.group()[1:-1], m.group()), text)


def _fill_json(value: Any, names: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {k: _fill_json(v, names) for k, v in value.items()}
    if isinstance(value, list):
        return [_fill_json(v, names) for v in value]
    if isinstance(value, str):
        if value == "<int>" and "int" in names:
            return int(names["int"])
        return _fill(value, names)
    return value
