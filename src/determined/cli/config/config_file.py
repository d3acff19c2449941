"""Reading config files, and applying the overrides of `--config`."""

from __future__ import annotations

import json
from typing import Any, Sequence

from determined.cli import errors
from determined.common import config_text


def read(path: str, what: str = "config file") -> str:
    """The text of a file that the user names. Raises CliError."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except IsADirectoryError:
        raise errors.CliError(f"{what} '{path}' is a directory: name a YAML file") from None
    except OSError as error:
        raise errors.CliError(f"{what} '{path}': {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise errors.CliError(
            f"{what} '{path}': byte {error.start + 1} is not UTF-8 text: save it as UTF-8"
        ) from None


def load(path: str, what: str = "config file") -> Any:
    """The content of a YAML file as plain JSON data. Raises CliError."""
    try:
        return json.loads(json.dumps(config_text.load(read(path, what), path)))
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
