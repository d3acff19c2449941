"""Which storages the settings let the master read."""

from __future__ import annotations

from pathlib import Path

from determined_master.services.configs.defaults import config_layers, storage_access
from determined_master.settings.master import load

TEXT = """
checkpoint_storage:
  type: s3
  bucket: ours
  allowed_endpoints: ["https://minio.internal:9000", "s3://theirs/"]
"""


def test_endpoints_that_an_admin_allows_are_no_part_of_configurations(tmp_path: Path) -> None:
    path = tmp_path / "master.yaml"
    path.write_text(TEXT)
    settings = load(["run", "--config-file", str(path)], {"HOME": str(tmp_path)}, is_root=False)
    layers = config_layers(settings, None)
    assert layers.checkpoint_storage == {"type": "s3", "bucket": "ours"}
    access = storage_access(settings, layers)
    assert access.is_own({"type": "s3", "bucket": "ours", "save_trial_best": 3})
    assert not access.is_own({"type": "s3", "bucket": "ours", "endpoint_url": "http://10.0.0.1"})
    assert access.is_allowed_endpoint("https://MINIO.internal:9000/")
    assert not access.is_allowed_endpoint("http://minio.internal:9000")
    assert settings.masked()["checkpoint_storage"]["allowed_endpoints"]
