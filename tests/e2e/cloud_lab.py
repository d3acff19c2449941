"""Machines of a cluster in an emulated cloud: each is a directory, and its scripts really run.

Only parts that this machine lacks are stubs: systemd, the metadata service, the disk, and pip's
index.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import psutil
from tests.backends.cloud.start_of_machine import Machine
from tests.docker_daemon import IMAGE, Daemon
from tests.e2e.cluster_api import ClusterApi
from tests.free_ports import free_port

PACKAGES = sysconfig.get_path("purelib")
_OF_CLOUDS = ("DET_", "AWS_", "GOOGLE_", "CLOUDSDK_", "GCE_")


class CloudLab:
    """A directory for the machines of one cloud, and how to boot them."""

    noun: ClassVar[str]
    """Of `det deploy`."""
    metadata: ClassVar[str]
    """Shell cases of a curl that answers as the metadata service; `{id}` is the machine."""

    def __init__(
        self, root: Path, clients: Mapping[str, str], machines: Mapping[str, str]
    ) -> None:
        """
        Args:
            root: an empty directory.
            clients: variables of `det`.
            machines: variables of machines.
        """
        self.root = root
        self.port = free_port()
        self.outside = {k: v for k, v in os.environ.items() if not k.startswith(_OF_CLOUDS)}
        self._variables = {
            **self.outside,
            **clients,
            "HOME": str(root),
            "PYTHONPATH": str(Path(__file__).parents[2] / "src"),
        }
        self._machines = {
            **machines,
            "PIP_NO_DEPS": "1",
            "PIP_NO_INDEX": "1",
            "PIP_NO_COMPILE": "1",  # no program imports all modules
            "PYTHONPATH": PACKAGES,
        }

    def det(self, *words: str) -> str:
        """The output of a command of `det deploy CLOUD`."""
        command = [sys.executable, "-m", "determined.cli", "deploy", "--no-wait-for-master"]
        done = subprocess.run(
            [*command, self.noun, *words],
            env=self._variables,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def machine(self, instance: str) -> Machine:
        """A machine with Python, curl and a metadata service, and without a package index."""
        made = Machine(self.root / instance)
        cases = self.metadata.format(id=instance)
        made.stub("curl", f'case "$*" in\n{cases}  *) exec {shutil.which("curl")} "$@" ;;\nesac\n')
        made.stub("python3", f'exec {sys.executable} "$@"')
        made.stub("systemctl")
        for name in ("blkid", "mountpoint", "mkfs.ext4", "mount", "resize2fs"):
            made.stub(name, {"blkid": "exit 2", "mountpoint": "exit 1"}.get(name, ""))
        made.environment = dict(self._machines)
        return made

    def settings(
        self, template: str, address: str, storage: Mapping[str, str], docker: Daemon
    ) -> Path:
        """The template of the master's settings, for machines that are all this one.

        Args:
            template: of the cloud.
            address: the alias of the master's address in it.
            storage: more options of `checkpoint_storage`.
            docker: runs the tasks.
        """
        agent = {"docker_host": docker.address}
        tasks = {"image": IMAGE, "network_mode": "host"}
        text = template
        for old, new in (
            ("port: ${port}", f"port: {self.port}"),
            (f"${{scheme}}://{address}:${{port}}", f"http://127.0.0.1:{self.port}"),
            ("db: ${database}", f"db: {json.dumps({'data_dir': str(self.root / 'pg')})}"),
            ("${agent_config}", json.dumps(agent)),
            ("${task_container_defaults}", json.dumps(tasks)),
            (
                "  bucket: ${bucket}",
                "".join(f"  {k}: {v}\n" for k, v in storage.items()) + "  bucket: ${bucket}",
            ),
        ):
            assert old in text
            text = text.replace(old, new)
        path = self.root / "template.yaml"
        path.write_text(text)
        return path

    def boot_master(self, machine: Machine, script: str, disk: str) -> subprocess.Popen[bytes]:
        """Run the script of the master's machine, then what systemd would run.

        Args:
            machine: the master's.
            script: its start script.
            disk: the device that the script must make a file system on.
        """
        units = machine.root / "etc/systemd/system"
        units.mkdir(parents=True)
        for _ in range(2):  # it runs at each start
            done = machine.run(script)
            assert done.returncode == 0, done.stdout + done.stderr
        assert "determined: the master is started" in done.stdout
        self._check_a_changed_wheel_is_refused(machine, script)
        unit = (units / "determined-master.service").read_text()
        assigned = dict(line.partition("=")[::2] for line in unit.splitlines() if "=" in line)
        secrets = Path(assigned["EnvironmentFile"])
        assert secrets.stat().st_mode & 0o077 == 0
        values = dict(line.partition("=")[::2] for line in secrets.read_text().splitlines())
        assert machine.calls("mkfs.ext4")[0] == ["-q", disk]
        with self.log.open("wb") as log:
            return subprocess.Popen(
                shlex.split(assigned["ExecStart"]),
                env={
                    **self.outside,
                    **machine.environment,
                    "DETERMINED_ROOT": str(machine.root),
                    **{name: json.loads(value) for name, value in values.items()},
                },
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def _check_a_changed_wheel_is_refused(self, machine: Machine, script: str) -> None:
        """Run the script on a machine that has another wheel than the one it was made for."""
        settings = machine.root / "etc/determined"
        known = (settings / "installed").read_text()
        [name] = {path.name for path in settings.glob("*.whl")}
        (settings / "installed").write_text("another\n")
        other = script.replace(known.partition("/")[0], "0" * 64)
        stored = (settings / name).read_bytes()
        fetched = "END_OF_FETCH\n"
        head, _, tail = other.rpartition(fetched)
        # Only the fetch is left out: nothing lies where this script would look.
        call, _, rest = tail.partition('if [ "$(cat "$settings/installed"')
        done = machine.run(f'{head}{fetched}if [ "$(cat "$settings/installed"{rest}')
        assert call, "the call of the fetch"
        assert done.returncode == 1
        assert f"{name} in the bucket was changed" in done.stdout
        assert not (settings / name).exists()
        (settings / name).write_bytes(stored)
        (settings / "installed").write_text(known)

    @property
    def log(self) -> Path:
        """The log of the master."""
        return self.root / "master.log"


@contextlib.contextmanager
def lab_directory() -> Iterator[Path]:
    """A directory for machines; at the end their processes are ended, and it is removed."""
    root = Path(tempfile.mkdtemp(prefix="det-e2e-", dir="/tmp"))
    root.chmod(0o711)
    try:
        yield root
    finally:
        kill_processes_of(root)
        shutil.rmtree(root, ignore_errors=True)


def kill_processes_of(place: Path) -> None:
    """End what the scripts of machines below a directory have started."""
    for process in psutil.process_iter(["environ"]):
        root = (process.info["environ"] or {}).get("DETERMINED_ROOT", "")
        if Path(root).is_relative_to(place):
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()


@contextlib.contextmanager
def running(process: subprocess.Popen[bytes], log: Path) -> Iterator[None]:
    """Stopped at the end as systemd stops it; its log is shown after a failure."""
    try:
        yield
    except BaseException:
        sys.stdout.write(log.read_text())
        raise
    finally:
        process.terminate()
        process.wait(60)


@contextlib.contextmanager
def closed(cluster: ClusterApi) -> Iterator[None]:
    """Its sessions are closed at the end."""
    try:
        yield
    finally:
        cluster.close_sessions()


def answers(cluster: ClusterApi) -> Any:
    """A session of the admin, once the master lets in."""
    with contextlib.suppress(Exception):
        return cluster.session()
    return None
