"""Common fields of the messages of views and boards."""

from __future__ import annotations

from typing import Any

import msgspec

from determined_master.domain.access.rules import Caller
from determined_master.records.pages import PageRow
from determined_master.services.workspaces.pages import can_edit
from determined_wire.ui.pages import Page


def page_fields(caller: Caller, row: PageRow) -> dict[str, Any]:
    """The fields of `Page`, which are those of the row."""
    fields = {name: getattr(row, name) for name in Page.__struct_fields__ if name != "can_edit"}
    return {**fields, "can_edit": can_edit(caller, row)}


def page_text(content: Any) -> str:
    """Panels or a state, as they are stored."""
    return msgspec.json.encode(content).decode()
