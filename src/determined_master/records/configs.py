"""Records of configurations: templates."""

from __future__ import annotations

from typing import Any

import msgspec


class TemplateRow(msgspec.Struct, frozen=True):
    """One template: a partial configuration with a name."""

    name: str
    workspace_id: int
    config: dict[str, Any]
