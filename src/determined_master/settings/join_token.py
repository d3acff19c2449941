"""The file of the join token that an admin has made for many agents."""

from __future__ import annotations

import stat
from pathlib import Path

MIN_CHARACTERS = 32
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


class BadJoinToken(Exception):
    """The file cannot be used; the text names the remedy."""


def read_join_token(path: str) -> str:
    """The token in the file; empty without a file.

    Raises:
        BadJoinToken: the file cannot be read, others can read it, or its token can be guessed.
    """
    if not path:
        return ""
    try:
        mode, token = Path(path).stat().st_mode, Path(path).read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise BadJoinToken(
            f"{path} cannot be read: {reason}; name a file that the master may read"
        ) from error
    if mode & _OTHERS:
        raise BadJoinToken(
            f"other accounts can read {path} (mode {stat.S_IMODE(mode):04o}), and with it join as "
            f"agents: chmod 600 {path}"
        )
    if len(token) < MIN_CHARACTERS:
        raise BadJoinToken(
            f"{path} has a token of {len(token)} characters, and at least {MIN_CHARACTERS} are "
            "needed: write the output of `openssl rand -hex 32` into it"
        )
    return token
