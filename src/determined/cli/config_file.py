"""Files of configurations that commands send, with what the command line sets in them."""

from __future__ import annotations

from typing import Sequence

from determined.cli import errors
from determined.common import config_text


def text_of(path: str, overrides: Sequence[str]) -> str:
    """The text to send: the file's own, or with the overrides of `--config` set in it.

    Raises:
        CliError: there is no such file, it is no YAML, or an override cannot be read.
    """
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        config = config_text.load(text, path)
        if not overrides:
            return text
        config_text.override(config, overrides)
        return config_text.dump(config)
    except OSError as error:
        raise errors.CliError(f"config file '{path}': {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise errors.CliError(
            f"config file '{path}': byte {error.start + 1} is not UTF-8 text"
        ) from None
    except config_text.ConfigTextError as error:
        raise errors.CliError(str(error)) from None
