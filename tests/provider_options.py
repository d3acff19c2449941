"""Settings of a master with one pool that has a provider."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from determined_master.settings.master import Settings, SettingsError, load

AT = "root.resource_pools[0].provider"


def read(tmp_path: Path, options: dict[str, Any]) -> Settings:
    """What a master makes of them."""
    file = tmp_path / "master.yaml"
    pool = {"pool_name": "default", "provider": options}
    storage = {"type": "s3", "bucket": "checkpoints"}
    file.write_text(json.dumps({"resource_pools": [pool], "checkpoint_storage": storage}))
    return load(["--config-file", str(file)], {"HOME": "/home/ada"}, is_root=False)


def problems(tmp_path: Path, options: dict[str, Any]) -> list[str]:
    """What it refuses of them, without their common path."""
    with pytest.raises(SettingsError) as caught:
        read(tmp_path, options)
    lines = [line.strip() for line in str(caught.value).split("\n")[1:]]
    assert all(line.startswith(f"{AT}.") for line in lines), lines
    return [line.removeprefix(f"{AT}.") for line in lines]
