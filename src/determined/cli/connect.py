"""The connection of a command to the master: sessions, retries, the address."""

from __future__ import annotations

import argparse
import os
from typing import cast

from determined.cli import declare, errors, trust
from determined.common import master_contexts
from determined.common.api import (
    Session,
    UnauthSession,
    _retry,
    authentication,
    canonicalize_master_url,
)
from determined.common.api import errors as errors_of_api


def _warn_late(master: str) -> None:
    text = f"the master at {master} has not answered for {_retry.LATE_S:g} s; still waiting"
    declare.warn(text)


RETRIES = _retry.RetryPolicy(total=1, backoff_max_s=0.5, away_for_s=5.0, tell_late=_warn_late)
"""A person waits for the command, so it retries an unreachable master only once. A master that
reports its database as unavailable gets more retries."""


def address_of(args: argparse.Namespace) -> str:
    """The canonical form of the master's address.

    Raises:
        CliError: the text is not a valid address, or the contexts cannot be read.
    """
    try:
        return canonicalize_master_url(args.master or master_contexts.default_master().address)
    except master_contexts.ContextError as error:
        raise errors.CliError(str(error)) from None
    except ValueError as error:
        raise errors.CliError(f"{error}; set it with -m or DET_MASTER") from None


def anonymous(args: argparse.Namespace) -> UnauthSession:
    """A session for routes that need no login; closed when the command ends."""
    address = address_of(args)
    anonymous_session = UnauthSession(address, trust.cert_of(address), RETRIES)
    return cast(UnauthSession, args.closing.enter_context(anonymous_session))


def session(args: argparse.Namespace) -> Session:
    """A session of the user that the command runs as; closed when the command ends.

    Raises:
        UnauthenticatedException: no user is logged in, and there is no terminal to ask at.
        MasterNotFoundException: no master answers at the address.
    """
    address = address_of(args)
    try:
        opened = authentication.resolve(
            address,
            user=args.user,
            environment=os.environ,
            options=authentication.Options(cert=trust.cert_of(address), max_retries=RETRIES),
        )
    except errors_of_api.UnauthenticatedException:
        check_address(args)  # report a wrong address first: it is the likelier mistake
        raise
    return cast(Session, args.closing.enter_context(opened))


def check_address(args: argparse.Namespace) -> None:
    """Check that a master answers at the address.

    Raises:
        MasterNotFoundException, APIException: nothing answers, or another program does.
        CliError: no master answers below the path of the address.
    """
    try:
        anonymous(args).get("/info")
    except errors_of_api.UnauthenticatedException:
        raise errors.CliError(
            f"{address_of(args)}/info asks for a login, which a master never does; check the path "
            "of the address, and set it with -m or DET_MASTER"
        ) from None
