"""The agent's own key: made at its first start, and shown to the master at each connection.

A join token admits an agent once. From then on the key does, of which the master knows the hash.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from determined_agent import entropy

NAME = "key"
_CHARACTERS = 43


class AgentKeyError(Exception):
    """The file of the key cannot be used; the text names the remedy."""


class AgentKey:
    """The key, and whether the master has accepted it: then no join token is needed."""

    def __init__(self, text: str, *, is_known: bool) -> None:
        self.text = text
        self.is_known = is_known

    def accepted(self) -> None:
        """Record that the master has admitted the agent with it."""
        self.is_known = True


def load_key(directory: Path) -> AgentKey:
    """The key in an agent's directory; a new one where there is none.

    It is on disk before the master learns of it, so that no crash between the two loses it.

    Raises:
        AgentKeyError: the file cannot be read or written, or holds something else.
    """
    path = directory / NAME
    try:
        with contextlib.suppress(FileNotFoundError):
            return AgentKey(_checked(path.read_text().strip(), path), is_known=True)
        text = entropy.token()
        _write(path, text)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise AgentKeyError(
            f"the agent's key {path} cannot be used: {reason}; {_REMEDY}"
        ) from error
    return AgentKey(text, is_known=False)


_REMEDY = (
    "delete the file and give the agent a new join token, from `det -u admin agent token AGENT_ID`"
)


def _checked(text: str, path: Path) -> str:
    if len(text) != _CHARACTERS:
        raise AgentKeyError(
            f"the agent's key {path} has {len(text)} characters "
            f"instead of {_CHARACTERS}; {_REMEDY}"
        )
    return text


def _write(path: Path, text: str) -> None:
    draft = path.with_name(f".{NAME}.new")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text + "\n")
        file.flush()
        os.fsync(file.fileno())
    draft.rename(path)
