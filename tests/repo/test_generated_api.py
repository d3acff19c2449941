"""The generated API modules match what tools/generate_api.py writes."""

import ast
from pathlib import Path

from tools.generate_api import stale

from determined.common.api import _published, bindings


def test_the_committed_api_modules_are_what_the_generator_writes() -> None:
    assert stale() == []


def test_the_stub_of_the_bindings_has_the_names_of_the_module() -> None:
    stub = ast.parse(Path(bindings.__file__).with_suffix(".pyi").read_text())
    imports = [
        node for node in stub.body if isinstance(node, ast.ImportFrom) and node.module != "typing"
    ]
    named = {
        alias.asname: f"{node.module}.{alias.name}" for node in imports for alias in node.names
    }
    assert named.keys() == set(dir(bindings)) - set(_published.names())
    found = {name: getattr(bindings, name) for name in named}
    assert named == {name: f"{it.__module__}.{it.__name__}" for name, it in found.items()}
