"""Objects of Dynamic Resource Allocation as the API server describes them."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]
DRIVER = "gpu.nvidia.com"
WHOLE = f"device.driver == '{DRIVER}' && device.attributes['{DRIVER}'].type == 'gpu'"


def device(name: str, kind: str = "gpu", **more: Any) -> Json:
    """A device of NVIDIA's driver."""
    attributes = {"type": {"string": kind}, "productName": {"string": "NVIDIA H100"}}
    return {"name": name, "attributes": attributes, **more}


def resource_slice(node: str = "node-a", *devices: Json, **more: Any) -> Json:
    """A slice of the pool of a node; `pool` has the fields of its pool that differ."""
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1, **more.pop("pool", {})}
    where = more.pop("where", {"nodeName": node})
    name = more.pop("name", f"{pool['name']}-{pool['generation']}".replace("/", "-"))
    spec = {"driver": DRIVER, "pool": pool, **where, "devices": list(devices), **more}
    return {"metadata": {"name": name, "uid": f"uid-{name}"}, "spec": spec}


def device_class(name: str = DRIVER, *expressions: str) -> Json:
    """A class with these selectors; NVIDIA's of whole GPUs without any."""
    given = expressions or (WHOLE,)
    selectors = [{"cel": {"expression": one}} for one in given]
    return {"metadata": {"name": name}, "spec": {"selectors": selectors}}


def claim(name: str, *devices: str, pool: str = "node-a", owner: str = "", **more: Any) -> Json:
    """A claim that has these devices of a pool; `more` goes to each of them."""
    results = [
        {"request": "r", "driver": DRIVER, "pool": pool, "device": one, **more} for one in devices
    ]
    owners = [{"kind": "Pod", "uid": owner}] if owner else []
    meta = {"name": name, "namespace": "lab", "uid": f"uid-{name}", "ownerReferences": owners}
    status = {"allocation": {"devices": {"results": results}}} if results else {}
    return {"metadata": meta, "spec": {}, "status": status}
