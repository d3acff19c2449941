"""The files for ssh into containers, by other containers or by a user. PURE.

One key pair is host key, client identity and the only authorized key.
Source: task-contract 2.1, 3.9.
"""

from __future__ import annotations

import msgspec

from determined_master.domain.task.spec import RUN_DIR

SSH_DIR = f"{RUN_DIR}/ssh"
DEFAULT_PORT = 2222
"""Launchers pass another one on the command line."""


class KeyPair(msgspec.Struct, frozen=True):
    """Both halves in OpenSSH's own form."""

    private: bytes
    public: bytes


class SshFile(msgspec.Struct, frozen=True):
    """One file; the file of the image's client belongs to root."""

    path: str
    content: bytes
    mode: int
    is_root_owned: bool = False


def ssh_files(keys: KeyPair) -> tuple[SshFile, ...]:
    """The files of each container of a gang."""
    public = keys.public.rstrip(b"\n") + b"\n"
    return (
        SshFile(f"{SSH_DIR}/authorized_keys", public, 0o600),
        SshFile(f"{SSH_DIR}/id_rsa", keys.private, 0o600),
        SshFile(f"{SSH_DIR}/id_rsa.pub", public, 0o600),
        SshFile(f"{SSH_DIR}/sshd_config", _SERVER.encode(), 0o600),
        SshFile("/etc/ssh/ssh_config", _CLIENT.encode(), 0o644, is_root_owned=True),
    )


def shell_files(keys: KeyPair) -> tuple[SshFile, ...]:
    """The files of a shell. It creates `authorized_keys` itself, with its environment in it."""
    public = keys.public.rstrip(b"\n") + b"\n"
    return (
        SshFile(f"{SSH_DIR}/authorized_keys_unmodified", public, 0o644),
        SshFile(f"{SSH_DIR}/id_rsa", keys.private, 0o600),
        SshFile(f"{SSH_DIR}/id_rsa.pub", public, 0o600),
        SshFile(f"{SSH_DIR}/sshd_config", _SERVER.encode(), 0o644),
    )


_SERVER = f"""\
Port {DEFAULT_PORT}
HostKey {SSH_DIR}/id_rsa
AuthorizedKeysFile {SSH_DIR}/authorized_keys
PidFile none
StrictModes yes
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PubkeyAuthentication yes
PermitRootLogin prohibit-password
LoginGraceTime 120
PermitUserEnvironment yes
AcceptEnv *
AllowTcpForwarding yes
X11Forwarding yes
PrintMotd no
Subsystem sftp /usr/lib/openssh/sftp-server
"""
_CLIENT = f"""\
Include {SSH_DIR}/hosts
Host *
    IdentityFile {SSH_DIR}/id_rsa
    StrictHostKeyChecking no
    UserKnownHostsFile /dev/null
    LogLevel ERROR
"""
