"""Whether an ssh server can give its sessions terminals here."""

from __future__ import annotations

import contextlib
import errno
import grp
import os
import pwd
from typing import Iterator

GROUP = "tty"
"""Which an ssh server wants its terminals to belong to, where the system knows it."""


def are_given() -> bool:
    """Try what an ssh server does with a new terminal: hand it to this user and the group `tty`.

    Where it may not, the server ends each session in which a terminal was asked for. Who is not
    root may not, unless `/dev/pts` is mounted so that terminals are of that group from the start.
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
    """The path of a terminal; empty where there is none, which ssh servers just tell."""
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
