"""The error that commands raise, and the text that `det` prints for a failure."""

from __future__ import annotations

import argparse
import os

_ACCESS_DENIED = "user does not have permission"
"""The whole error text of the master for a missing permission."""


class CliError(Exception):
    """A failure that its text explains: the thing, the value and the remedy.

    `main` prints it after `Failed to <verb> <noun>:` and exits 1.
    """


def in_words(error: Exception) -> str:
    """The text of an error; for a failed system call `'file': reason`, or the reason alone."""
    if isinstance(error, OSError) and error.strerror:
        return (
            error.strerror if error.filename is None else f"'{error.filename}': {error.strerror}"
        )
    return str(error)


def explain(args: argparse.Namespace, error: Exception) -> str:
    """The text that `det` prints for a failed command, with a remedy where the error has none."""
    if type(error).__name__ == "UnauthenticatedException" and _uses_token_variable(args):
        return (
            "Unauthenticated: DET_USER_TOKEN is not a valid token, or it has expired; set another "
            "token, or unset it to run as the logged-in user"
        )
    text = in_words(error)
    if "<config>" in text:
        from determined.cli.config import problems

        return problems.in_lines(text)
    if text == _ACCESS_DENIED:
        text += (
            f": '{args.user}' lacks it" if args.user else ": see 'det user whoami'"
        ) + "; run it as another user with det -u USER, or ask an admin"
    return text


def is_api_error(error: Exception) -> bool:
    """Whether the API client raised it. The check does not import the client's module."""
    return any(c.__module__ == "determined.common.api.errors" for c in type(error).__mro__)


def _uses_token_variable(args: argparse.Namespace) -> bool:
    """Whether the command authenticates with DET_USER_TOKEN."""
    is_meant = args.user in (None, os.environ.get("DET_USER"))
    return is_meant and bool(os.environ.get("DET_USER_TOKEN"))
