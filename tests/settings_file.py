"""A settings file of one test, read as a daemon reads it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import pytest

Settings = TypeVar("Settings")


@dataclass(frozen=True)
class SettingsFile(Generic[Settings]):
    """How one daemon's settings are read; `env` where a test gives no other."""

    name: str
    load: Callable[..., Settings]
    error: type[Exception]
    env: Mapping[str, str]

    def read(
        self,
        tmp_path: Path,
        text: str = "",
        *argv: str,
        env: Mapping[str, str] | None = None,
        is_root: bool = False,
    ) -> Settings:
        """What a file of this text, these flags and variables give."""
        file = tmp_path / self.name
        file.write_text(text)
        flags = ["--config-file", str(file), *argv]
        return self.load(flags, self.env if env is None else env, is_root=is_root)

    def errors(self, tmp_path: Path, text: str, *argv: str, **given: Any) -> list[str]:
        """What is refused of them, a line each."""
        with pytest.raises(self.error) as caught:
            self.read(tmp_path, text, *argv, **given)
        head, *lines = str(caught.value).split("\n")
        assert head == f"Check Failed! {len(lines)} errors found:"
        return [line.strip() for line in lines]
