"""`det shell`: the ssh command, its files and its exit status."""

from __future__ import annotations

import io
import json
import shlex
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.cli import canned_tasks
from tests.cli.canned_tasks import ID, KEY, READY, allocation
from tests.cli.conftest import Det
from tests.cli.fake_master import FakeMaster

from determined.cli import main
from determined.cli.interactive import ssh_command
from determined.common.api import Session, certs

SSH = """\
#!{python}
import json, os, sys
key = sys.argv[sys.argv.index("-i") + 1]
said = {{"words": sys.argv[1:], "key": open(key).read(), "mode": os.stat(key).st_mode}}
json.dump(said, open({path!r}, "w"))
sys.exit(7)
"""


class Ssh:
    """A replacement of ssh that records its arguments and exits with status 7."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "called.json"
        program = folder / "ssh"
        program.write_text(SSH.format(python=sys.executable, path=str(self._path)))
        program.chmod(0o755)

    def called(self) -> Any:
        return json.loads(self._path.read_text())


@pytest.fixture
def ssh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ssh:
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return Ssh(folder)


def test_open_runs_ssh_through_the_master_and_returns_its_exit_status(
    det: Det, master: FakeMaster, ssh: Ssh
) -> None:
    canned_tasks.serve(master, "shell", allocation("STARTING"), READY)
    outcome = det("shell", "open", ID, "--", "-L", "80:h:80", "ls")
    assert outcome.status == 7
    assert outcome.out == ""
    assert f"Reconnect: det shell open {ID}." in outcome.err
    called = ssh.called()
    words = called["words"]
    proxy = f"ProxyCommand={sys.executable} -m determined.cli.tunnel {master.url} %h"
    assert words[:4] == ["-o", proxy, "-o", "StrictHostKeyChecking=no"]
    assert words[4:8] == ["-T", "-o", "IdentitiesOnly=yes", "-i"]
    assert words[9:] == [f"root@{ID}", "-L", "80:h:80", "ls"]
    assert called["key"] == KEY
    assert stat.S_IMODE(called["mode"]) == 0o600
    assert not Path(words[8]).exists()


def test_a_local_terminal_requests_a_remote_one(
    master: FakeMaster, ssh: Ssh, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    canned_tasks.serve(master, "shell")
    monkeypatch.setattr(sys, "stdin", Terminal())
    assert main.main(["shell", "open", ID]) == 7
    assert ssh.called()["words"][4] == "-tt"


def test_start_opens_the_new_shell(det: Det, master: FakeMaster, ssh: Ssh) -> None:
    canned_tasks.serve(master, "shell", agentUserGroup={"user": "ada", "uid": 5})
    outcome = det("shell", "start", "--show-ssh-command")
    assert outcome.status == 7
    assert f"ada@{ID}" in ssh.called()["words"]
    launched, shown = outcome.out.splitlines()
    assert launched == f"Launched shell (id: {ID}, name: Shell (oddly-calm-heron))."
    assert shown.startswith('ssh -o "ProxyCommand=')


@pytest.mark.parametrize("name", ["show-ssh-command", "show_ssh_command"])
def test_the_key_of_a_printed_command_is_stored_until_the_shell_is_killed(
    det: Det, master: FakeMaster, home: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / "cache"))
    canned_tasks.serve(master, "shell")
    for _ in range(2):
        words = shlex.split(det("shell", name, ID).out)
    key = Path(words[words.index("-i") + 1])
    assert key == home / "cache" / "determined" / "shell" / ID / "key"
    assert key.read_text() == KEY
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    det("shell", "kill", ID)
    assert not key.parent.exists()


def test_a_missing_ssh_is_reported(
    det: Det, master: FakeMaster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    canned_tasks.serve(master, "shell")
    monkeypatch.setenv("PATH", str(tmp_path))
    outcome = det("shell", "open", ID)
    assert outcome.status == 1
    assert "install the OpenSSH client" in outcome.err


@pytest.mark.parametrize(
    ("cert", "trust"),
    [
        (None, ""),
        (certs.Cert(noverify=True), " --cert-file noverify"),
        (certs.Cert(cert_pem="PEM", name="m 1"), " --cert-file {}/master.pem --cert-name 'm 1'"),
    ],
)
def test_the_tunnel_trusts_the_same_certificate_as_the_command(
    tmp_path: Path, cert: certs.Cert | None, trust: str
) -> None:
    shell = canned_tasks.task("shell")
    files = ssh_command.write_files(tmp_path, shell, cert)
    with Session("https://m:1", "u", "t", cert) as session:
        words = ssh_command.words(session, shell, files, [])
    assert words[2].endswith(f"determined.cli.tunnel https://m:1 %h{trust.format(tmp_path)}")
    if "master.pem" in trust:
        assert (tmp_path / "master.pem").read_text() == "PEM\n"


def test_a_printed_command_is_quoted() -> None:
    words = ["ssh", "-o", "a b", 'q"u', "$HOME", "`x`", "back\\", "p%h", "it's", ""]
    script = f"printf '%s|' {ssh_command.text_of(words)}"
    read = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True)
    assert read.stdout.split("|") == [*words, ""]


def test_percent_signs_are_escaped_for_ssh(tmp_path: Path) -> None:
    shell = canned_tasks.task("shell")
    folder = tmp_path / "50%h"
    files = ssh_command.write_files(folder, shell, certs.Cert(cert_pem="PEM\n"))
    with Session("http://m", "u", "t") as session:
        words = ssh_command.words(session, shell, files, [])
    assert words[words.index("-i") + 1] == str(folder / "key").replace("%", "%%")
    assert "50%%h/master.pem" in words[2]
