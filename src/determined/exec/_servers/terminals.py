"""Checks whether an ssh server can allocate terminals here."""

from __future__ import annotations

import contextlib
import errno
import grp
import os
import pwd
from typing import Iterator

GROUP = "tty"
"""The group to which an ssh server assigns terminals, if it exists."""


def are_given() -> bool:
    """Try to assign a new terminal to this user and the group `tty`, as an ssh server does.

    If that fails, the server ends each session that requests a terminal. It fails for users other
    than root, unless `/dev/pts` is mounted so that new terminals already have that group.
    """
    account = pwd.getpwuid(os.getuid())
    try:
        gid = grp.getgrnam(GROUP).gr_gid
    except KeyError:
        gid = account.pw_gid
    with _new_terminal() as path:
        return not path or _belongs(path, account.pw_uid, gid)


@contextlib.contextmanager
def _new_terminal() -> Iterator[str]:
    """Yield the path of a new terminal; empty if there is none, which ssh servers only log."""
    try:
        master, slave = os.openpty()
    except OSError:
        yield ""
        return
    try:
        yield os.ttyname(slave)
    finally:
        os.close(slave)
        os.close(master)


def _belongs(path: str, uid: int, gid: int) -> bool:
    found = os.stat(path)
    if (found.st_uid, found.st_gid) == (uid, gid):
        return True
    try:
        os.chown(path, uid, gid)
    except OSError as error:
        return error.errno == errno.EROFS and found.st_uid in (0, uid)
    return True
