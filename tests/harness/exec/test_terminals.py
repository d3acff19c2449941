"""Whether an ssh server can give its sessions terminals."""

from __future__ import annotations

import errno
import grp
import os
import pwd
import stat

import pytest

from determined.exec._servers import terminals

PARTS = 10
"""Of what `stat` tells; the owner and the group are two of them."""


@pytest.fixture
def refuse(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """New terminals are this user's and of no group; changing that is refused."""

    def owned(path: str) -> os.stat_result:
        parts = [0] * PARTS
        parts[stat.ST_UID], parts[stat.ST_GID] = os.getuid(), -1
        return os.stat_result(parts)

    def chown(path: str, uid: int, gid: int) -> None:
        raise PermissionError(errno.EPERM, "not yours")

    monkeypatch.setattr(os, "stat", owned)
    monkeypatch.setattr(os, "chown", chown)
    return monkeypatch


def test_a_terminal_that_may_not_be_handed_over_ends_sessions(refuse: pytest.MonkeyPatch) -> None:
    assert not terminals.are_given()


def test_one_that_nobody_can_change_is_taken_as_it_is(refuse: pytest.MonkeyPatch) -> None:
    def chown(path: str, uid: int, gid: int) -> None:
        raise OSError(errno.EROFS, "read only")

    refuse.setattr(os, "chown", chown)
    assert terminals.are_given()


def test_one_of_the_right_group_needs_no_change(refuse: pytest.MonkeyPatch) -> None:
    own = pwd.getpwuid(os.getuid()).pw_gid

    def owned(path: str) -> os.stat_result:
        parts = [0] * PARTS
        parts[stat.ST_UID], parts[stat.ST_GID] = os.getuid(), own
        return os.stat_result(parts)

    def unknown(name: str) -> grp.struct_group:
        raise KeyError(name)

    refuse.setattr(os, "stat", owned)
    refuse.setattr(grp, "getgrnam", unknown)
    assert terminals.are_given()


def test_where_there_are_no_terminals_servers_tell_so_themselves(
    refuse: pytest.MonkeyPatch,
) -> None:
    def openpty() -> tuple[int, int]:
        raise OSError(errno.ENOSPC, "none left")

    refuse.setattr(os, "openpty", openpty)
    assert terminals.are_given()


def test_asking_leaves_no_terminal_open() -> None:
    before = os.listdir("/proc/self/fd")
    terminals.are_given()
    assert os.listdir("/proc/self/fd") == before
