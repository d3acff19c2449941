"""Makes bills of materials in CycloneDX's JSON form from the lock files.

python tools/make_sbom.py DIRECTORY    writes NAME.cdx.json for all extras and for each image
"""

from __future__ import annotations

import json
import sys
import tomllib
import uuid
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT)]

from tools.lock_files import PYPROJECT, WHOLE, LockFile, Pin, read_lock  # noqa: E402

DOCUMENTED = (WHOLE, "agent", "master", "task")
SPEC = "1.6"
PROJECT = "determined-platform"


def bill_of(lock: LockFile, version: str) -> dict[str, Any]:
    """The document for one lock file. The same lock gives the same document.

    A package that is locked in two versions, for different releases of Python, has a component
    for each; `determined:marker` says where the component is installed.
    """
    root = {
        "type": "application",
        "bom-ref": PROJECT,
        "name": PROJECT,
        "version": version,
        "licenses": [{"license": {"id": "Apache-2.0"}}],
    }
    body = {
        "metadata": {
            "timestamp": f"{lock.made.isoformat()}T00:00:00Z",
            "component": root,
            "properties": [{"name": "determined:lock", "value": f"requirements/{lock.name}.txt"}],
        },
        "components": [_component(pin) for pin in lock.pins],
        "dependencies": _dependencies(lock),
    }
    serial = uuid.uuid5(uuid.NAMESPACE_OID, json.dumps(body, sort_keys=True))
    head = {"bomFormat": "CycloneDX", "specVersion": SPEC, "serialNumber": f"urn:uuid:{serial}"}
    return {**head, "version": 1, **body}


def _component(pin: Pin) -> dict[str, Any]:
    component: dict[str, Any] = {
        "type": "library",
        "bom-ref": reference_of(pin),
        "name": pin.name,
        "version": pin.version,
        "purl": reference_of(pin),
        "hashes": [{"alg": "SHA-256", "content": digest} for digest in pin.hashes],
    }
    if pin.marker:
        component["properties"] = [{"name": "determined:marker", "value": pin.marker}]
    return component


def reference_of(pin: Pin) -> str:
    """The package URL, which is also the name inside the document."""
    return f"pkg:pypi/{pin.name}@{pin.version}"


def _dependencies(lock: LockFile) -> list[dict[str, Any]]:
    needs: dict[str, set[str]] = {PROJECT: set()}
    for pin in lock.pins:
        for parent in pin.needed_by:
            needs.setdefault(parent, set()).add(reference_of(pin))
    known = [(PROJECT, PROJECT), *((reference_of(pin), pin.name) for pin in lock.pins)]
    return [{"ref": ref, "dependsOn": sorted(needs.get(name, set()))} for ref, name in known]


def write_all(folder: Path) -> list[Path]:
    """One document for each lock of `DOCUMENTED`."""
    version = tomllib.loads((ROOT / PYPROJECT).read_text())["project"]["version"]
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name in DOCUMENTED:
        path = folder / f"{name}.cdx.json"
        path.write_text(json.dumps(bill_of(read_lock(name), version), indent=1) + "\n")
        written.append(path)
    return written


if __name__ == "__main__":
    for made in write_all(Path(sys.argv[1])):
        print(made)
