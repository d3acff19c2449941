"""Unpacking of untrusted context directories."""

from __future__ import annotations

import base64
import io
import pathlib
import tarfile
from typing import Any

import pytest

from determined.exec._container.context_directory import unpack
from determined.exec._log import EntryFailed


def pack(*members: tuple[str, dict[str, Any], bytes]) -> str:
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w:gz") as archive:
        for name, fields, data in members:
            member = tarfile.TarInfo(name)
            member.size = len(data)
            for field, value in fields.items():
                setattr(member, field, value)
            archive.addfile(member, io.BytesIO(data))
    return base64.b64encode(raw.getvalue()).decode()


SYMLINK = tarfile.SYMTYPE
HARDLINK = tarfile.LNKTYPE


def test_files_directories_and_links_are_unpacked_into_every_target(
    tmp_path: pathlib.Path,
) -> None:
    archive = pack(
        ("./", {"type": tarfile.DIRTYPE}, b""),
        ("d/", {"type": tarfile.DIRTYPE, "mode": 0o555}, b""),
        ("d/run.sh", {"mode": 0o4755, "mtime": 1000}, b"#!"),
        ("d/link", {"type": SYMLINK, "linkname": "../top"}, b""),
        ("hard", {"type": HARDLINK, "linkname": "d/run.sh"}, b""),
        ("top", {}, b"top"),
    )
    assert unpack(archive, [str(tmp_path / "a"), str(tmp_path / "b")]) == 2
    for name in "ab":
        root = tmp_path / name
        assert (root / "d" / "link").read_bytes() == b"top"
        assert (root / "hard").read_bytes() == b"#!"
        stat = (root / "d" / "run.sh").stat()
        assert (stat.st_mode & 0o7777, stat.st_mtime) == (0o755, 1000)
        assert (root / "d").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(
    "member",
    [
        ("../out", {}, b"x"),
        ("/etc/out", {}, b"x"),
        ("d/../../out", {}, b"x"),
        ("l", {"type": SYMLINK, "linkname": "/etc"}, b""),
        ("d/l", {"type": SYMLINK, "linkname": "../../out"}, b""),
        ("h", {"type": HARDLINK, "linkname": "../out"}, b""),
        ("fifo", {"type": tarfile.FIFOTYPE}, b""),
        ("dev", {"type": tarfile.CHRTYPE}, b""),
    ],
    ids=lambda member: member[0],
)
def test_a_member_that_would_leave_is_refused_and_nothing_written(
    tmp_path: pathlib.Path, member: tuple[str, dict[str, Any], bytes]
) -> None:
    target = tmp_path / "in" / "side"
    with pytest.raises(EntryFailed, match="was refused"):
        unpack(pack(("good", {}, b"x"), member), [str(target)])
    assert not target.exists()


def test_nothing_is_written_through_a_link(tmp_path: pathlib.Path) -> None:
    archive = pack(
        ("l", {"type": SYMLINK, "linkname": "."}, b""),
        ("l/x", {}, b"x"),
    )
    with pytest.raises(EntryFailed, match="through the link 'l'"):
        unpack(archive, [str(tmp_path / "t")])


def test_links_that_together_lead_out_are_refused(tmp_path: pathlib.Path) -> None:
    archive = pack(
        ("a/b/", {"type": tarfile.DIRTYPE}, b""),
        ("up", {"type": SYMLINK, "linkname": "a/b/.."}, b""),
        ("out", {"type": SYMLINK, "linkname": "up/../.."}, b""),
    )
    target = tmp_path / "in"
    with pytest.raises(EntryFailed, match="'out'"):
        unpack(archive, [str(target)])
    assert not (target / "out").is_symlink()


def test_an_invalid_archive_is_an_error(tmp_path: pathlib.Path) -> None:
    with pytest.raises(EntryFailed, match=r"not a tar\.gz"):
        unpack(base64.b64encode(b"nonsense").decode(), [str(tmp_path)])
    assert unpack("", [str(tmp_path)]) == 0
