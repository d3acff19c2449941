"""The session with the master that a command works over."""

from __future__ import annotations

import argparse
import os
from typing import cast

from determined.cli import declare, errors, trust
from determined.common.api import (
    Session,
    UnauthSession,
    _retry,
    authentication,
    canonicalize_master_url,
)
from determined.common.api import errors as errors_of_api


def _tell_late(master: str) -> None:
    text = f"the master at {master} has not answered for {_retry.LATE_S:g} s; still waiting"
    declare.warn(text)


RETRIES = _retry.RetryPolicy(total=1, backoff_max_s=0.5, away_for_s=5.0, tell_late=_tell_late)
"""A person waits: one more try, then say that the master is not there; some for one that is
there and says that its database will be, too."""


def address_of(args: argparse.Namespace) -> str:
    """The master's address in its one form.

    Raises:
        CliError: it cannot be an address.
    """
    try:
        return canonicalize_master_url(args.master)
    except ValueError as error:
        raise errors.CliError(f"{error}; set it with -m or DET_MASTER") from None


def anonymous(args: argparse.Namespace) -> UnauthSession:
    """A session for routes that need no login; closed when the command ends."""
    address = address_of(args)
    made = UnauthSession(address, trust.cert_of(address), RETRIES)
    return cast(UnauthSession, args.closing.enter_context(made))


def session(args: argparse.Namespace) -> Session:
    """A session of the user that the command runs as; closed when the command ends.

    Raises:
        UnauthenticatedException: nobody is logged in there, and nobody can be asked.
        MasterNotFoundException: there is no master to log in at.
    """
    address = address_of(args)
    try:
        made = authentication.resolve(
            address,
            user=args.user,
            environment=os.environ,
            options=authentication.Options(cert=trust.cert_of(address), max_retries=RETRIES),
        )
    except errors_of_api.UnauthenticatedException:
        check_address(args)  # a wrong address is the likelier mistake, and told first
        raise
    return cast(Session, args.closing.enter_context(made))


def check_address(args: argparse.Namespace) -> None:
    """Do nothing when a master answers there.

    Raises:
        MasterNotFoundException, APIException: nothing answers, or something else does.
        CliError: the address has a path below which no master is.
    """
    try:
        anonymous(args).get("/info")
    except errors_of_api.UnauthenticatedException:
        raise errors.CliError(
            f"{address_of(args)}/info asks for a login, which a master's never does: is the path "
            "of the address right? Set it with -m or DET_MASTER"
        ) from None
