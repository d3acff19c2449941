"""What a model directory may hold, and what is listed of it."""

from __future__ import annotations

from typing import Any

import pytest

from determined_master.domain.errors import InvalidArgument
from determined_master.domain.experiment.model_definition import (
    LATEST_S,
    MAX_LEVELS,
    ModelFile,
    list_files,
    pack,
    read_file,
)


def file(path: str, **overrides: Any) -> ModelFile:
    values = {"type": 48, "content": b"x", "mode": 0o644, "mtime_s": 1, **overrides}
    return ModelFile(path=path, **values)


def test_a_time_that_no_calendar_has_is_the_last_that_one_has() -> None:
    [listed] = list_files(pack([file("a", mtime_s=2**63 - 1)]))
    assert listed.mtime_s == LATEST_S


def test_paths_have_as_many_levels_and_bytes_as_can_be_shown() -> None:
    deep = "/".join(["d"] * MAX_LEVELS)
    packed = pack([file(deep), file("e" * 4096)])
    assert read_file(packed, deep) == b"x"
    assert len(list_files(packed)) == MAX_LEVELS + 1
    for path, told in (
        (f"{deep}/d", f"has 201 bytes and {MAX_LEVELS + 1} levels"),
        ("é" * 2049, "has 4098 bytes and 1 levels; at most 4096 and 100"),
    ):
        with pytest.raises(InvalidArgument, match=told):
            pack([file(path)])


@pytest.mark.parametrize("path", ["/etc/passwd", "../x", "a/../../x", "a\0b", ""])
def test_a_path_that_leads_out_is_refused(path: str) -> None:
    with pytest.raises(InvalidArgument, match="leads out of it: use relative paths"):
        pack([file(path)])
