"""The check whether an ssh server can allocate terminals."""

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


def test_terminals_are_off_if_their_group_cannot_be_set(refuse: pytest.MonkeyPatch) -> None:
    assert not terminals.are_given()


def test_a_terminal_on_a_read_only_file_system_is_accepted(refuse: pytest.MonkeyPatch) -> None:
    def chown(path: str, uid: int, gid: int) -> None:
        raise OSError(errno.EROFS, "read only")

    refuse.setattr(os, "chown", chown)
    assert terminals.are_given()


def test_a_terminal_with_the_right_group_is_not_changed(refuse: pytest.MonkeyPatch) -> None:
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


def test_terminals_are_on_if_the_system_has_none(
    refuse: pytest.MonkeyPatch,
) -> None:
    def openpty() -> tuple[int, int]:
        raise OSError(errno.ENOSPC, "none left")

    refuse.setattr(os, "openpty", openpty)
    assert terminals.are_given()


def test_the_check_closes_its_terminal() -> None:
    before = os.listdir("/proc/self/fd")
    terminals.are_given()
    assert os.listdir("/proc/self/fd") == before
