"""Every command about experiments, and what they are kept in, is tried on a real cluster."""

from __future__ import annotations

import ast
import re
from pathlib import Path

TESTS = Path(__file__).parents[1]
NOUNS = {
    "checkpoint",
    "command",
    "config-policies",
    "experiment",
    "notebook",
    "preview-search",
    "project",
    "rbac",
    "resource-pool",
    "resources",
    "shell",
    "task",
    "template",
    "tensorboard",
    "token",
    "trial",
    "user-group",
    "workspace",
}
ALSO = ("master cluster-message",)
ON_KUBERNETES = {
    "workspace bindings delete",
    "workspace bindings list",
    "workspace bindings set",
    "workspace resource-quota set",
}
"""Commands for clusters of Kubernetes, which the real cluster has none of; they are tried in
`tests/cli/test_workspace_namespaces.py` and `tests/api/workspaces/test_namespaces.py`."""


def commands() -> set[str]:
    """Commands of those nouns, by their first names."""
    found = set()
    for line in (TESTS / "data" / "cli.txt").read_text().splitlines():
        words = re.match(r"det((?: [a-z][\w|-]*)+)", line)
        if words is None:
            continue
        names = [word.split("|")[0] for word in words.group(1).split()]
        text = " ".join(names)
        if names[-1] != "help" and (names[0] in NOUNS or text.startswith(ALSO)):
            found.add(text)
    return found


def tried() -> set[str]:
    """Commands that tests are marked with."""
    found = set()
    for path in (TESTS / "e2e" / "live").glob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "live":
                found |= {arg.value for arg in node.args if isinstance(arg, ast.Constant)}
    return found


def test_every_command_has_a_test_on_a_live_cluster() -> None:
    assert sorted(commands() - tried() - ON_KUBERNETES) == []


def test_no_mark_names_a_command_that_there_is_not() -> None:
    assert sorted(tried() - commands()) == []
    assert sorted(ON_KUBERNETES & tried()) == []
