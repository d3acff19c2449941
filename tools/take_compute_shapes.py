"""Takes the shapes of Compute Engine's API, without its texts, from Google's discovery document.

    python tools/take_compute_shapes.py DOCUMENT

DOCUMENT is `compute.v1.json`, which the wheel of google-api-python-client has in
`googleapiclient/discovery_cache/documents/`. The tests check the emulator and the master's
requests against what this writes to `tests/data/compute_v1.json`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

TARGET = Path(__file__).parents[1] / "tests" / "data" / "compute_v1.json"
METHODS = {
    "instances": ("aggregatedList", "bulkInsert", "delete", "get", "list"),
    "regionInstances": ("bulkInsert",),
    "regionOperations": ("get",),
    "zoneOperations": ("get",),
    "machineTypes": ("get", "list"),
}
METHOD_PARTS = ("httpMethod", "flatPath", "parameters", "request", "response")
TEXTS = ("annotations", "description", "enumDescriptions", "enumDeprecated", "id", "readOnly")


def main() -> None:
    """Write the shapes."""
    document = json.loads(Path(sys.argv[1]).read_text())
    methods = {
        f"{resource}.{name}": bare({part: found[part] for part in METHOD_PARTS if part in found})
        for resource, names in METHODS.items()
        for name, found in document["resources"][resource]["methods"].items()
        if name in names
    }
    named: set[str] = set()
    for method in methods.values():
        for reference in references(method):
            add(document["schemas"], reference, named)
    shapes = {
        "revision": document["revision"],
        "parameters": bare(document["parameters"]),
        "methods": methods,
        "schemas": {name: bare(document["schemas"][name]) for name in sorted(named)},
    }
    TARGET.write_text(json.dumps(shapes, indent=1, sort_keys=True) + "\n")
    print(f"{len(methods)} methods, {len(named)} schemas of revision {document['revision']}")


def add(schemas: dict[str, Any], name: str, named: set[str]) -> None:
    """Add a schema, and all that it refers to."""
    if name in named:
        return
    named.add(name)
    for reference in references(schemas[name]):
        add(schemas, reference, named)


def references(shape: Any) -> Iterator[str]:
    """The names of the schemas that a shape names itself."""
    if isinstance(shape, dict):
        if isinstance(shape.get("$ref"), str):
            yield shape["$ref"]
        for part in shape.values():
            yield from references(part)


def bare(shape: Any, *, is_named: bool = False) -> Any:
    """A shape without texts; keys of `properties` and `parameters` are names and stay."""
    if not isinstance(shape, dict):
        return shape
    return {
        key: bare(part, is_named=key in ("properties", "parameters") and not is_named)
        for key, part in shape.items()
        if is_named or key not in TEXTS
    }


if __name__ == "__main__":
    main()
