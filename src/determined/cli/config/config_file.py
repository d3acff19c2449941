"""Reading config files, and applying the overrides of `--config`."""

from __future__ import annotations

from typing import Any, Sequence

from determined.cli import errors
from determined.common import config_text, text_file


def read(path: str, what: str = "config file") -> str:
    """The text of a file that the user names. Raises CliError."""
    try:
        return text_file.read(path, what, "YAML file")
    except text_file.TextFileError as error:
        raise errors.CliError(str(error)) from None


def load(path: str, what: str = "config file") -> Any:
    """The content of a YAML file as plain JSON data. Raises CliError."""
    try:
        return config_text.plain(config_text.load(read(path, what), path), path)
    except config_text.ConfigTextError as error:
        raise errors.CliError(str(error)) from None


def text_of(path: str, overrides: Sequence[str]) -> str:
    """The text of a config file with the overrides of `--config` applied; unchanged without any.

    Raises:
        CliError: the file is missing or not YAML, or an override is invalid.
    """
    text = read(path)
    try:
        config = config_text.load(text, path)
        if not overrides:
            return text
        config_text.override(config, overrides)
        return config_text.dump(config)
    except config_text.ConfigTextError as error:
        raise errors.CliError(str(error)) from None
