"""Names of workspaces and projects, and the keys of projects."""

from __future__ import annotations

import re

from determined_master.domain.errors import InvalidArgument

MAX_WORKSPACE_NAME = 80
MAX_NAME = 512
"""Characters of names and ids from outside: in any script they fit into a database index."""
MAX_KEY = 5
KEY_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
_KEY = re.compile(r"[A-Z0-9]{1,5}")
_FIRST_LETTERS = 3
_SHOWN = 40


def check_workspace_name(name: str) -> str:
    """The same name.

    Raises:
        InvalidArgument: it is empty, blank or too long.
    """
    if not name:
        raise InvalidArgument("name '' must be at least 1 character long")
    if not name.strip():
        raise InvalidArgument(f"name '{name}' must contain at least 1 non-whitespace character")
    if len(name) > MAX_WORKSPACE_NAME:
        raise InvalidArgument(
            f"name '{name}' must be at most {MAX_WORKSPACE_NAME} characters long; "
            f"it has {len(name)}"
        )
    return name


def check_length(what: str, text: str) -> str:
    """The same text, which is `what` of something, such as "a model's name".

    Raises:
        InvalidArgument: it is too long.
    """
    if len(text) > MAX_NAME:
        raise InvalidArgument(
            f"{what} may have at most {MAX_NAME} characters: '{text[:_SHOWN]}...' has {len(text)}"
        )
    return text


def check_project_name(name: str) -> str:
    """The same name.

    Raises:
        InvalidArgument: it is empty, blank or too long.
    """
    check_length("a project's name", name)
    if not name.strip():
        raise InvalidArgument(f"project name '{name}' must have at least one visible character")
    return name


def check_key(key: str) -> str:
    """A project's key in capitals.

    Raises:
        InvalidArgument: it is not one to five letters and digits.
    """
    upper = key.upper()
    if not _KEY.fullmatch(upper):
        raise InvalidArgument(
            f"project key '{key}' must be 1 to {MAX_KEY} letters or digits (A-Z, 0-9)"
        )
    return upper


def generated_key(name: str, drawn: str) -> str:
    """A key from a project's name: its first three letters or digits, then drawn letters.

    Args:
        name: the project's.
        drawn: letters of `KEY_LETTERS` that fill it up to five; at least five of them.
    """
    first = "".join(c for c in name.upper() if c in KEY_LETTERS)[:_FIRST_LETTERS]
    return (first + drawn)[:MAX_KEY]
