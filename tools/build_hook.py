"""What a build of a wheel or an sdist checks first; hatchling runs it (pyproject.toml)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

WEB_UI = Path("src/determined_master/webui/index.html")
MAY_LACK_WEB_UI = "DET_MAY_LACK_WEB_UI"
"""For images of agents, and machines without Node: `1` builds without a web UI too."""


class WebUiHook(BuildHookInterface):  # type: ignore[type-arg]
    """Refuses to build a product without its web UI, which git does not have."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Check the checkout. An editable installation takes what is built later."""
        if version == "editable" or os.environ.get(MAY_LACK_WEB_UI) == "1":
            return
        if not (Path(self.root) / WEB_UI).is_file():
            self.app.abort(
                f"{self.root} has no built web UI, so a master of this {self.target_name} would "
                "have none: run `make webui` in a clone first, or install a wheel of a release; "
                f"{MAY_LACK_WEB_UI}=1 in the environment builds without a web UI"
            )
