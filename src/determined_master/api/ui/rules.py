"""The rules of the domain that the web UI and `det` show before the master applies them."""

from __future__ import annotations

from determined_master.api.http.access import SIGNED_IN
from determined_master.api.http.routes import Call, route
from determined_master.domain import states
from determined_master.domain.access import passwords
from determined_wire.ui import rules as wire

RULES = wire.GetRulesResponse(
    password=wire.PasswordRule(pattern=passwords.PATTERN, text=passwords.TEXT),
    states=wire.StateRule(unended=states.UNENDED, changing=sorted(states.CHANGING)),
)
"""`make docs` writes them into the web UI, too."""


@route("GET", "/api/ui/v1/rules", access=SIGNED_IN)
async def get_rules(call: Call, request: wire.GetRulesRequest) -> wire.GetRulesResponse:
    """The rule of new passwords, and which states are no end."""
    return RULES
