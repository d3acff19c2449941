"""Settings of the master as a file, flags and variables give them; and what is refused of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from determined_master.settings import Settings, SettingsError, load

HOME = {"HOME": "/home/ada"}


def read(
    tmp_path: Path,
    text: str = "",
    *argv: str,
    env: Mapping[str, str] = HOME,
    is_root: bool = False,
) -> Settings:
    file = tmp_path / "master.yaml"
    file.write_text(text)
    return load(["--config-file", str(file), *argv], env, is_root=is_root)


def errors(tmp_path: Path, text: str, *argv: str, env: Mapping[str, str] = HOME) -> list[str]:
    with pytest.raises(SettingsError) as caught:
        read(tmp_path, text, *argv, env=env)
    head, *lines = str(caught.value).split("\n")
    assert head == f"Check Failed! {len(lines)} errors found:"
    return [line.strip() for line in lines]
