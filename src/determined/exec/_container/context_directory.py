"""Fetching and unpacking the context directory. Its content is not trusted."""

from __future__ import annotations

import base64
import io
import os
import posixpath
import tarfile
import zlib
from typing import Dict, List, Mapping, Sequence

from determined._constants import run_dir
from determined.common.api._session import BaseSession
from determined.exec._log import EntryFailed


def fetch(session: BaseSession, env: Mapping[str, str], work_dir: str) -> int:
    """Fetch the context directory into the working directory; for a trial also `train/model`.

    Returns:
        The number of files.

    Raises:
        EntryFailed: the archive is invalid, or a path leaves the directory.
    """
    path = f"/api/v1/tasks/{env['DET_TASK_ID']}/context_directory"
    answer = session.get(path).json() or {}
    targets = [work_dir]
    if env["DET_TASK_TYPE"] == "TRIAL":
        targets.insert(0, os.path.join(run_dir(), "train", "model"))
    return unpack(answer.get("b64Tgz") or "", targets)


def unpack(b64_tgz: str, targets: Sequence[str]) -> int:
    """Unpack a base64 tar.gz into each of the target directories.

    Files keep their times and their mode without set-uid and set-gid, and belong to the user of
    this process. Directories get mode 0700.

    Returns:
        The number of files.

    Raises:
        EntryFailed: the archive is invalid, a member's path leaves the directory, or a member is
            not a file, directory or link. Nothing is written then.
        OSError: a file cannot be written.
    """
    if not b64_tgz:
        return 0
    try:
        raw = zlib.decompress(base64.b64decode(b64_tgz), 31)
        with tarfile.open(fileobj=io.BytesIO(raw), mode="r:") as archive:
            members = [member for member in archive.getmembers() if _name(member) != "."]
            _check(members)
            for target in targets:
                _write(archive, members, target)
    except (tarfile.TarError, zlib.error, ValueError) as error:
        raise EntryFailed(f"the context directory is not a tar.gz archive: {error}") from error
    return sum(member.isreg() for member in members)


def _name(member: tarfile.TarInfo) -> str:
    return posixpath.normpath(member.name)


def _check(members: List[tarfile.TarInfo]) -> None:
    links: Dict[str, str] = {}
    for member in members:
        name = _name(member)
        if _leaves(name):
            raise _refused(member, "its path leaves the directory")
        if member.issym():
            if _leaves(
                posixpath.normpath(posixpath.join(posixpath.dirname(name), member.linkname))
            ):
                raise _refused(member, f"it links to {member.linkname!r}, outside the directory")
            links[name] = member.linkname
        elif member.islnk():
            if _leaves(member.linkname):
                raise _refused(member, f"it links to {member.linkname!r}, outside the directory")
        elif not (member.isreg() or member.isdir()):
            raise _refused(member, "it is not a file, directory or link")
    for member in members:
        parent = posixpath.dirname(_name(member))
        while parent:
            if parent in links:
                raise _refused(member, f"its path goes through the link {parent!r}")
            parent = posixpath.dirname(parent)


def _leaves(path: str) -> bool:
    path = posixpath.normpath(path)
    return posixpath.isabs(path) or path == ".." or path.startswith("../")


def _refused(member: tarfile.TarInfo, reason: str) -> EntryFailed:
    return EntryFailed(f"{member.name!r} in the context directory was refused: {reason}")


def _write(archive: tarfile.TarFile, members: List[tarfile.TarInfo], target: str) -> None:
    os.makedirs(target, mode=0o700, exist_ok=True)
    links: List[tarfile.TarInfo] = []
    for member in members:
        path = os.path.join(target, _name(member))
        if member.isdir():
            os.makedirs(path, mode=0o700, exist_ok=True)
            continue
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        if member.isreg():
            _write_file(archive, member, path)
        else:
            links.append(member)
    # Links are created last, so that no file is written through one.
    for member in links:
        path = os.path.join(target, _name(member))
        if os.path.lexists(path):
            os.unlink(path)
        if member.issym():
            os.symlink(member.linkname, path)
        else:
            os.link(os.path.join(target, posixpath.normpath(member.linkname)), path)
    root = os.path.realpath(target)
    for member in links:
        path = os.path.join(target, _name(member))
        real = os.path.realpath(path)
        if real != root and not real.startswith(root + os.sep):
            os.unlink(path)
            raise _refused(member, "it points outside the directory")


def _write_file(archive: tarfile.TarFile, member: tarfile.TarInfo, path: str) -> None:
    content = archive.extractfile(member)
    data = b"" if content is None else content.read()
    if os.path.islink(path):
        os.unlink(path)
    with open(path, "wb") as file:
        file.write(data)
    os.chmod(path, (member.mode & 0o777) | 0o400)
    os.utime(path, (member.mtime, member.mtime))
