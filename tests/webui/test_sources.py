"""The web UI's own checks: types, lint rules, unit tests. They need Node and its packages."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tools.webui_errors import MissingTools
from tools.webui_node import Node, find_node

pytestmark = [pytest.mark.slow, pytest.mark.browser]

ROOT = Path(__file__).parents[2]
WEBUI = ROOT / "webui"
LIMIT_S = 600
"""A deadline is no claim: a busy machine may take this long."""


@pytest.fixture(scope="module")
def node() -> Iterator[Node]:
    """The Node that `make webui` builds with."""
    if not (WEBUI / "node_modules" / ".package-lock.json").is_file():
        pytest.skip("the packages of the web UI are not installed: make webui")
    private = ROOT / ".venv-node"
    private.mkdir(exist_ok=True)
    try:
        yield find_node(WEBUI, private)
    except MissingTools as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("script", ["typecheck", "lint", "test"])
def test_the_sources_of_the_web_ui_pass(node: Node, script: str) -> None:
    done = subprocess.run(
        [*node.npm, "run", "--silent", script],
        cwd=WEBUI,
        env=node.env,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-20_000:]
