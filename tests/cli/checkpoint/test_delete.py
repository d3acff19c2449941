"""`det checkpoint delete` and `rm`: their requests after a confirmation."""

from __future__ import annotations

from tests.cli.conftest import Det
from tests.cli.fake_master import FakeMaster

DELETE = ("DELETE", "/api/v1/checkpoints")
RM = ("POST", "/api/v1/checkpoints/rm")


def test_checkpoints_are_deleted_after_a_confirmation(det: Det, master: FakeMaster) -> None:
    master.routes[DELETE] = (200, {})
    assert det("checkpoint", "delete", "a,b", stdin="\n").status == 1
    assert not master.made(*DELETE)
    assert det("c", "delete", "a, b", "--yes").status == 0
    (call,) = master.made(*DELETE)
    assert call.json == {"checkpointUuids": ["a", "b"]}
    assert det("c", "delete", ",", "--yes").status == 1


def test_files_are_removed_by_patterns(det: Det, master: FakeMaster) -> None:
    master.routes[RM] = (200, {})
    assert det("c", "rm", "a", "--glob", "x/*", "--glob", "y", stdin="y\n").status == 0
    assert "Refresh" in det("c", "rm", "a").out
    removal, refresh = master.made(*RM)
    assert removal.json == {"checkpointUuids": ["a"], "checkpointGlobs": ["x/*", "y"]}
    assert refresh.json == {"checkpointUuids": ["a"], "checkpointGlobs": []}
