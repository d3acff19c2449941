"""Takes the shapes of Google's APIs, without their texts, from its discovery documents.

    python tools/take_google_shapes.py DIRECTORY

DIRECTORY is `googleapiclient/discovery_cache/documents/` of the wheel of google-api-python-client.
The tests check the emulator, the master's requests and those of `det deploy gcp` against the files
that this writes to `tests/data/google/`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

TARGET = Path(__file__).parents[1] / "tests" / "data" / "google"
_MADE = ("delete", "get", "insert")
METHODS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "compute.v1": {
        "acceleratorTypes": ("get",),
        "addresses": ("aggregatedList", *_MADE),
        "disks": ("aggregatedList", "createSnapshot", "resize", *_MADE),
        "diskTypes": ("get",),
        "firewalls": ("patch", *_MADE),
        "globalOperations": ("get",),
        "images": ("get", "getFromFamily"),
        "instances": (
            *("aggregatedList", "bulkInsert", "getSerialPortOutput", "list", *_MADE),
            *("setLabels", "setMachineType", "setMetadata", "setMinCpuPlatform", "start", "stop"),
        ),
        "machineTypes": ("get", "list"),
        "networks": ("list", *_MADE),
        "projects": ("get",),
        "regionInstances": ("bulkInsert",),
        "regionOperations": ("get",),
        "regions": ("get",),
        "snapshots": ("get",),
        "zoneOperations": ("get",),
        "zones": ("get",),
    },
    "storage.v1": {
        "buckets": ("get", "getIamPolicy", "insert", "setIamPolicy"),
        "objects": ("get", "insert"),
    },
    "iam.v1": {
        "projects.serviceAccounts": ("create", "delete", "get", "getIamPolicy", "setIamPolicy"),
    },
    "cloudresourcemanager.v3": {
        "projects": ("get", "getIamPolicy", "setIamPolicy", "testIamPermissions"),
    },
    "logging.v2": {
        "entries": ("write",),
        "projects.logs": ("list",),
    },
    "monitoring.v3": {
        "projects.metricDescriptors": ("list",),
        "projects.timeSeries": ("create",),
    },
    "secretmanager.v1": {
        "projects.secrets": (
            *("addVersion", "create", "delete", "get", "getIamPolicy", "setIamPolicy"),
        ),
        "projects.secrets.versions": ("access", "destroy", "get"),
    },
}
"""By document and collection."""
METHOD_PARTS = ("httpMethod", "flatPath", "path", "parameters", "request", "response")
TEXTS = ("annotations", "description", "enumDescriptions", "enumDeprecated", "id", "readOnly")


def main() -> None:
    """Write the shapes of all documents."""
    for name, collections in METHODS.items():
        document = json.loads((Path(sys.argv[1]) / f"{name}.json").read_text())
        shapes = taken(document, collections)
        path = TARGET / f"{name.replace('.', '_')}.json"
        path.write_text(json.dumps(shapes, indent=1, sort_keys=True) + "\n")
        print(
            f"{path.name}: {len(shapes['methods'])} methods, {len(shapes['schemas'])} schemas of "
            f"revision {document['revision']}"
        )


def taken(document: Any, collections: Mapping[str, tuple[str, ...]]) -> dict[str, Any]:
    """The shapes of some methods, and all schemas that they refer to."""
    methods = {}
    for collection, names in collections.items():
        found = resource_of(document, collection)
        for name in names:
            methods[f"{collection}.{name}"] = method_of(found[name], document)
    named: set[str] = set()
    for method in methods.values():
        for reference in references(method):
            add(document["schemas"], reference, named)
    return {
        "revision": document["revision"],
        "parameters": bare(document["parameters"]),
        "methods": methods,
        "schemas": {name: bare(document["schemas"][name]) for name in sorted(named)},
    }


def resource_of(document: Any, collection: str) -> Any:
    """The methods of a collection."""
    for part in collection.split("."):
        document = document["resources"][part]
    return document["methods"]


def method_of(found: Any, document: Any) -> dict[str, Any]:
    """A method; `flatPath` is the path below the address of the API's version."""
    method: dict[str, Any] = bare({part: found[part] for part in METHOD_PARTS if part in found})
    path = method.pop("path")
    version = f"{document['version']}/"
    method["flatPath"] = method.get("flatPath", path).removeprefix(version)
    if upload := found.get("mediaUpload"):
        method["uploadPath"] = upload["protocols"]["simple"]["path"]
    return method


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
