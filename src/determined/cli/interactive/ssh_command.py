"""The `ssh` command that connects to a shell through the master, and its files."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import re
import shlex
import shutil
import sys
from typing import Any, List, Mapping, Optional, Sequence

from determined.common.api import Session
from determined.common.api.certs import NOVERIFY, Cert

_PLAIN = re.compile(r"[A-Za-z0-9_@%+=:,./-]+")
_KEY, _CERT = "key", "master.pem"


@dataclasses.dataclass(frozen=True)
class SshFiles:
    """The key file of a shell, and the trusted certificates: a path, or `noverify`."""

    key: pathlib.Path
    cert: Optional[str]


def write_files(folder: pathlib.Path, shell: Mapping[str, Any], cert: Optional[Cert]) -> SshFiles:
    """Write the key of a shell and the trusted certificates of its master.

    Args:
        folder: the target directory; created with mode 0700 if missing.
        shell: the shell in the REST API's form.
        cert: the certificate settings for the master.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    key = folder / _KEY
    _write(key, shell["privateKey"])
    if cert is not None and cert.noverify:
        return SshFiles(key, NOVERIFY)
    if cert is None or not cert.cert_pem:
        return SshFiles(key, None)
    _write(folder / _CERT, cert.cert_pem)
    return SshFiles(key, str(folder / _CERT))


def words(
    session: Session,
    shell: Mapping[str, Any],
    files: SshFiles,
    options: Sequence[str],
    *,
    has_terminal: bool = True,
) -> List[str]:
    """The ssh command as a list of words.

    Args:
        session: a session with the shell's master.
        shell: the shell in the REST API's form.
        files: the result of `write_files`.
        options: the user's options for ssh; they come last.
        has_terminal: whether the remote program gets a terminal.
    """
    user = (shell.get("agentUserGroup") or {}).get("user") or "root"
    return [
        "ssh",
        *("-o", f"ProxyCommand={_tunnel(session, files)}"),
        *("-o", "StrictHostKeyChecking=no"),
        "-tt" if has_terminal else "-T",
        *("-o", "IdentitiesOnly=yes"),
        *("-i", str(files.key).replace("%", "%%")),
        f"{user}@{shell['id']}",
        *options,
    ]


def text_of(command: Sequence[str]) -> str:
    """A command as one line for shells and editors, with double quotes where needed."""
    return " ".join(map(_quoted, command))


def kept_folder(task_id: str) -> pathlib.Path:
    """The directory of the files that a printed ssh command uses."""
    home = pathlib.Path.home()
    usual = home / "Library" / "Caches" if sys.platform == "darwin" else home / ".cache"
    cache = os.environ.get("XDG_CACHE_HOME") or str(usual)
    return pathlib.Path(cache) / "determined" / "shell" / task_id


def forget(task_id: str) -> None:
    """Remove the stored files of a shell, if there are any."""
    shutil.rmtree(kept_folder(task_id), ignore_errors=True)


def _tunnel(session: Session, files: SshFiles) -> str:
    """The ProxyCommand, run by a POSIX shell: connects ssh to the sshd by stdin and stdout."""
    program = [sys.executable, "-m", "determined.cli.tunnel", session.master]
    trust = ["--cert-file", files.cert] if files.cert else []
    if session.cert is not None and session.cert.name:
        trust += ["--cert-name", session.cert.name]
    before, after = (shlex.join(part).replace("%", "%%") for part in (program, trust))
    return f"{before} %h {after}".rstrip()


def _quoted(word: str) -> str:
    if _PLAIN.fullmatch(word):
        return word
    return '"' + re.sub(r'(["\\$`])', r"\\\1", word) + '"'


def _write(path: pathlib.Path, text: str) -> None:
    """Write a file with mode 0600: ssh refuses a key that others can read."""
    path.unlink(missing_ok=True)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text if text.endswith("\n") else f"{text}\n")
