"""The start script where a pool has no image of the agent: run by bash, with a real wheel."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import psutil
import pytest
from tests import wheelhouses
from tests.agent_link import listening, until
from tests.backends.cloud.http_servers import Quiet, serving
from tests.backends.cloud.start_of_machine import Container, Machine
from tests.backends.cloud.test_start_script import TOKEN, Remembering, boot, need_curl, opened

from determined_master.backends.cloud.host_agent import TOOLKIT_REPOSITORY
from determined_master.backends.cloud.machine_journal import (
    CLOUD_LOGGING,
    JournalTarget,
    cloudwatch,
)
from determined_master.backends.cloud.start_script import PLACE, start_script
from determined_master.domain.machines.starts import STEPS
from determined_wire import wheelhouse
from determined_wire.locked import requirements
from determined_wire.wheel import AGENT, Wheel, build

pytestmark = pytest.mark.slow
PYTHON = f'exec {sys.executable} "$@"'


class Wheels(Quiet):
    """A master that gives the wheel, and what it needs, to who shows the token."""

    wheel: ClassVar[Wheel]
    packages: ClassVar[Sequence[Path]] = ()

    def do_GET(self) -> None:
        """The wheel, or the packages."""
        if self.headers["Authorization"] != f"Bearer {TOKEN}":
            return self.reply(401, b"{}")
        content = self.wheel.content
        if self.path == "/agent/packages":
            content = b"".join(wheelhouse.archive(self.packages))
        elif self.path != "/agent/wheel":
            return self.reply(404, b"{}")
        self.send_response(200)
        self.send_header("Content-Disposition", f'attachment; filename="{self.wheel.name}"')
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
        return None

    def do_POST(self) -> None:
        """Reports."""
        self.rfile.read(int(self.headers["Content-Length"]))
        self.reply(200, b"{}")


@pytest.fixture
def wheels() -> Iterator[int]:
    """The port of such a master."""
    with serving(type("OfOne", (Wheels,), {"wheel": build(AGENT)})) as url:
        yield int(url.rsplit(":", 1)[1])


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    """One whose agents end with the test; pip takes nothing but the wheel."""
    need_curl()
    made = Machine(tmp_path)
    (made.stubs / "curl").unlink()
    made.stub("python3", PYTHON)
    made.environment = {
        "PIP_NO_DEPS": "1",
        "PIP_NO_INDEX": "1",
        "PYTHONPATH": sysconfig.get_path("purelib"),
    }
    yield made
    for process in psutil.process_iter(["environ"]):
        if (process.info["environ"] or {}).get("DETERMINED_ROOT") == str(made.root):
            process.kill()


@pytest.fixture
async def listener() -> AsyncIterator[Any]:
    async with listening() as found:
        yield found


async def test_a_machine_with_docker_and_python_gets_the_agent_of_its_master(
    machine: Machine, wheels: int, listener: Any
) -> None:
    told = boot(
        image="",
        master_host="127.0.0.1",
        master_port=wheels,
        slot_type="cpu",
        agent_config='{"container_runtime": "process"}',
    )
    # The wheel comes from another server than the one that the agent joins.
    script = start_script(told).replace(f"PORT=%q\\n' {wheels}", f"PORT=%q\\n' {listener.port}")
    door = Remembering()
    backend = opened(listener, door)
    done = machine.run(script)
    assert done.returncode == 0, done.stderr
    log = machine.root / PLACE.lstrip("/") / "agent.log"
    await until(lambda: any(a.is_connected for a in backend.agents()), what=str(log))
    [hello] = door.hellos
    assert (hello.agent_id, hello.resource_pool) == ("i-123", "gpu pool")
    assert hello.join_token == TOKEN
    assert TOKEN not in log.read_text()
    environment = machine.root / PLACE.lstrip("/") / "environment"
    assert (environment / "bin" / "determined-agent").is_file()


async def test_an_agent_of_the_image_is_used_as_it_is(machine: Machine, wheels: int) -> None:
    ran = machine.directory / "ran"
    machine.stub("determined-agent", f'echo "$DET_RESOURCE_POOL $*" >>{ran}; exec sleep.real 60')
    (machine.stubs / "sleep.real").symlink_to("/bin/sleep")
    told = boot(image="", master_host="127.0.0.1", master_port=wheels)
    done = machine.run(start_script(told))
    assert done.returncode == 0, done.stderr
    place = machine.root / PLACE.lstrip("/")
    assert not (place / "environment").exists()
    await until(lambda: ran.exists() and ran.read_text(), what="the agent of the image")
    assert ran.read_text() == "gpu pool run\n"
    assert (place / "run_agent").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("stub", "body", "reason"),
    [
        ("python3", 'case "$*" in *version_info*) exit 1 ;; *) exit 0 ;; esac', "older than 3.11"),
        ("apt-get", "echo no such host >&2; exit 100", "could not be installed: no such host"),
    ],
)
def test_a_missing_part_of_a_machine_is_named(
    machine: Machine, wheels: int, stub: str, body: str, reason: str
) -> None:
    machine.stub(stub, body)
    if stub == "apt-get":
        machine.stub("python3", "exit 1")
    done = machine.run(start_script(boot(image="", master_host="127.0.0.1", master_port=wheels)))
    assert done.returncode == 1
    assert reason in done.stderr


def test_a_master_that_gives_no_wheel_is_named(machine: Machine, wheels: int) -> None:
    told = boot(image="", master_host="127.0.0.1", master_port=wheels, join_token="wrong")
    done = machine.run(start_script(told))
    assert done.returncode == 1
    assert "the master does not give the agent's wheel" in done.stderr
    assert "401" in done.stderr


def test_with_systemd_the_agent_is_a_service(machine: Machine, wheels: int) -> None:
    machine.stub("determined-agent")
    machine.stub("systemctl")
    (machine.root / "run/systemd/system").mkdir(parents=True)
    units = machine.root / "etc/systemd/system"
    units.mkdir(parents=True)
    done = machine.run(start_script(boot(image="", master_host="127.0.0.1", master_port=wheels)))
    assert done.returncode == 0, done.stderr
    unit = (units / "determined-agent.service").read_text()
    assert f"ExecStart={machine.root}{PLACE}/run_agent\n" in unit
    assert TOKEN not in unit
    acts = [call[0] for call in machine.calls("systemctl")]
    assert acts == ["daemon-reload", "enable", "restart"]
    assert machine.calls("determined-agent") == []


def with_systemd(machine: Machine) -> Path:
    """The directory of its units."""
    machine.stub("systemctl")
    (machine.root / "run/systemd/system").mkdir(parents=True)
    units = machine.root / "etc/systemd/system"
    units.mkdir(parents=True)
    return units


@pytest.mark.parametrize(
    ("target", "words"),
    [
        (
            cloudwatch("/determined/lab/journald", "", "us-west-2"),
            ("cloudwatch", "--group", "/determined/lab/journald", "--stream", "i-123"),
        ),
        (
            cloudwatch("/determined/lab/journald", "all of them", "us-west-2"),
            ("cloudwatch", "--group", "/determined/lab/journald", "--stream", "all of them"),
        ),
        (CLOUD_LOGGING, ("google",)),
    ],
)
def test_the_journal_of_the_machine_is_sent_by_a_service(
    machine: Machine, wheels: int, target: JournalTarget, words: tuple[str, ...]
) -> None:
    machine.stub("determined-agent")
    agent = machine.stubs / "determined-agent"
    agent.write_text(f"#!{machine.stubs / 'python-of-agent'}\n")
    machine.stub("python-of-agent", f'printf "%s\\n" "$@" >{machine.directory}/ran')
    units = with_systemd(machine)
    told = boot(image="", master_host="127.0.0.1", master_port=wheels, journal=target)
    done = machine.run(start_script(told))
    assert done.returncode == 0, done.stderr
    program = machine.root / PLACE.lstrip("/") / "send_journal"
    unit = (units / "determined-journal.service").read_text()
    assert f"ExecStart={program}\n" in unit
    assert f"Description=The journal and the load of this machine to {target.name}\n" in unit
    subprocess.run([program], check=True)
    ran = (machine.directory / "ran").read_text().splitlines()
    region = ["--region", "us-west-2"] if words[0] == "cloudwatch" else []
    assert ran == ["-m", "determined_agent.journal", *words, *region]


@pytest.mark.parametrize(("slot_type", "gpus"), [("cuda", ["all"]), ("cpu", [])])
def test_beside_an_agent_in_its_image_the_journal_is_sent_by_a_container_of_the_image(
    machine: Machine, slot_type: str, gpus: list[str]
) -> None:
    with_systemd(machine)
    told = boot(
        image="lab/agent:2",
        slot_type=slot_type,
        journal=cloudwatch("/determined/determined/journald", "", "us-west-2"),
        join_token="",
    )
    done = machine.run(start_script(told))
    assert done.returncode == 0, done.stderr
    runs = [call for call in machine.calls("docker") if call[0] == "run"]
    agent, journal = runs
    assert "determined-agent" in agent
    of = Container(journal)
    assert (of.all_of("--name"), of.all_of("--gpus")) == (["determined-journal"], gpus)
    assert of.all_of("--entrypoint") == ["python3"]
    assert "/:/machine:ro" in of.all_of("--volume")
    assert "--privileged" not in journal
    words = journal[journal.index("lab/agent:2") + 1 :]
    group = ["--group", "/determined/determined/journald"]
    read = ["--journalctl", "chroot /machine journalctl"]
    assert words == [
        *("-m", "determined_agent.journal", *read, "cloudwatch", *group),
        *("--stream", "i-123", "--region", "us-west-2"),
    ]


def test_a_machine_that_boots_twice_has_one_agent(machine: Machine, wheels: int) -> None:
    machine.stub("determined-agent")
    units = with_systemd(machine)
    told = boot(image="", master_host="127.0.0.1", master_port=wheels, journal=CLOUD_LOGGING)
    for _ in range(2):
        done = machine.run(start_script(told))
        assert done.returncode == 0, done.stderr
    names = ["determined-agent.service", "determined-journal.service"]
    assert sorted(path.name for path in units.iterdir()) == names
    restarts = [call[1] for call in machine.calls("systemctl") if call[0] == "restart"]
    assert restarts == names * 2


def test_a_journal_that_cannot_be_sent_keeps_no_agent_from_starting(
    machine: Machine, wheels: int
) -> None:
    machine.stub("determined-agent")
    with_systemd(machine)
    machine.stub("systemctl", 'case "$*" in *journal*) echo no such unit; exit 1 ;; esac')
    told = boot(
        image="",
        master_host="127.0.0.1",
        master_port=wheels,
        journal=CLOUD_LOGGING,
    )
    done = machine.run(start_script(told))
    assert done.returncode == 0, done.stderr
    assert "determined: the agent is started" in done.stdout
    assert "the journal does not go to Cloud Logging: no such unit" in done.stdout


def test_the_agent_gets_the_package_for_cloudwatch_if_its_journal_is_sent() -> None:
    target = cloudwatch("group", "", "us-west-2")
    asked = []
    for journal in (None, target, CLOUD_LOGGING):
        told = boot(image="", master_host="127.0.0.1", master_port=8080, journal=journal)
        _, _, rest = start_script(told).partition("-m determined_wire.locked ")
        asked.append(rest.partition(" \\")[0])
    assert asked == ["base agent storage", "base agent storage aws", "base agent storage"]


def test_a_package_with_other_content_than_the_locked_one_is_not_installed(
    machine: Machine, wheels: int, tmp_path: Path
) -> None:
    """What an index serves runs as root on the machine."""
    [pin] = [line for line in requirements(["base"]).splitlines() if line.startswith("argcomp")]
    version = pin.partition("==")[2].partition(" ")[0]
    index, ran = tmp_path / "index", tmp_path / "ran"
    index.mkdir()
    info = f"argcomplete-{version}.dist-info"
    with zipfile.ZipFile(index / f"argcomplete-{version}-py3-none-any.whl", "w") as archive:
        archive.writestr("argcomplete/__init__.py", f"open({str(ran)!r}, 'w')\n")
        about = f"Metadata-Version: 2.1\nName: argcomplete\nVersion: {version}\n"
        archive.writestr(f"{info}/METADATA", about)
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\n")
        archive.writestr(f"{info}/RECORD", "")
    machine.environment = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(index)}
    done = machine.run(start_script(boot(image="", master_host="127.0.0.1", master_port=wheels)))
    assert done.returncode == 1
    assert "packages cannot be installed from pip's package index" in done.stderr
    assert "DO NOT MATCH THE HASHES" in done.stderr
    site = machine.root / PLACE.lstrip("/") / "environment"
    assert list(site.rglob("argcomplete")) == []


async def test_with_the_masters_wheels_a_machine_starts_without_a_package_index(
    machine: Machine, listener: Any, tmp_path: Path
) -> None:
    house = tmp_path / "wheels"
    lock = wheelhouses.fill(house, "base", "agent", "storage")
    served = {
        "wheel": wheelhouses.with_lock(build(AGENT), lock),
        "packages": sorted(house.iterdir()),
    }
    # Neither an index nor packages of the tests.
    machine.environment = {"PIP_NO_INDEX": "1"}
    door = Remembering()
    backend = opened(listener, door)
    with serving(type("OfWheels", (Wheels,), served)) as url:
        port = int(url.rsplit(":", 1)[1])
        told = boot(
            image="",
            master_host="127.0.0.1",
            master_port=port,
            agent_config='{"container_runtime": "process"}',
        )
        script = start_script(told).replace(f"PORT=%q\\n' {port}", f"PORT=%q\\n' {listener.port}")
        done = machine.run(script)
    assert done.returncode == 0, done.stderr
    await until(lambda: any(a.is_connected for a in backend.agents()), what="the agent")
    environment = machine.root / PLACE.lstrip("/") / "environment"
    assert list(environment.rglob("websockets/__init__.py"))


def test_a_wheel_that_the_master_lacks_is_named(machine: Machine, tmp_path: Path) -> None:
    machine.environment = {}
    house = tmp_path / "wheels"
    lock = wheelhouses.fill(house, "base", "agent", "storage")
    served = {
        "wheel": wheelhouses.with_lock(build(AGENT), lock),
        "packages": [path for path in sorted(house.iterdir()) if "msgspec" not in path.name],
    }
    with serving(type("OfWheels", (Wheels,), served)) as url:
        port = int(url.rsplit(":", 1)[1])
        done = machine.run(start_script(boot(image="", master_host="127.0.0.1", master_port=port)))
    assert done.returncode == 1
    assert "cannot be installed from the wheels of the master's setting wheelhouse" in done.stderr
    assert "No matching distribution found for msgspec" in done.stderr


TOOLKIT_CURL = """
case "$*" in
  *nvidia*/gpgkey) for word; do file=${{last:-}}; last=$word; done; {key} ;;
  *) exec {curl} "$@" ;;
esac
"""
KEY = 'echo "-----BEGIN PGP PUBLIC KEY BLOCK-----" >"$file"'


def with_gpus(machine: Machine, *, key: str = KEY) -> None:
    """NVIDIA's driver, and its repository with the key that a command writes."""
    machine.stub("nvidia-smi")
    machine.stub("curl", TOOLKIT_CURL.format(key=key, curl=shutil.which("curl")))
    install = machine.stubs / "nvidia-container-runtime"
    machine.stub("apt-get", f'case "$*" in *nvidia*) touch {install}; chmod 755 {install} ;; esac')
    machine.stub("nvidia-ctk")
    machine.stub("service")


def until_the_wheel(port: int) -> str:
    """A script that ends before it installs the agent, which other tests do."""
    script = start_script(boot(image="", master_host="127.0.0.1", master_port=port))
    assert script.count("    at wheel\n") == 1
    return script.replace("    at wheel\n", "    exit 0\n")


def test_a_machine_with_gpus_gets_the_container_toolkit_of_nvidia(
    machine: Machine, wheels: int
) -> None:
    with_gpus(machine)
    script = until_the_wheel(wheels)
    done = machine.run(script)
    assert done.returncode == 0, done.stderr
    assert "determined: the NVIDIA Container Toolkit is installed" in done.stdout
    apt = machine.root / "etc/apt"
    key = apt / "keyrings/nvidia-container-toolkit.asc"
    assert key.read_text().startswith("-----BEGIN PGP PUBLIC KEY BLOCK-----")
    assert (apt / "sources.list.d/nvidia-container-toolkit.list").read_text() == (
        f"deb [signed-by={key}] {TOOLKIT_REPOSITORY}/stable/deb/$(ARCH) /\n"
    )
    assert machine.calls("apt-get") == [
        ["update", "-qq"],
        ["install", "-qq", "-y", "nvidia-container-toolkit"],
    ]
    assert machine.calls("nvidia-ctk") == [["runtime", "configure", "--runtime=docker"]]
    assert machine.calls("service") == [["docker", "restart"]]
    again = machine.run(script)
    assert again.returncode == 0, again.stderr
    assert len(machine.calls("apt-get")) == 2, "a machine that has it is left alone"


def test_with_systemd_docker_is_restarted_by_it(machine: Machine, wheels: int) -> None:
    with_gpus(machine)
    with_systemd(machine)
    script = until_the_wheel(wheels)
    done = machine.run(script)
    assert done.returncode == 0, done.stderr
    assert machine.calls("systemctl") == [["restart", "docker"]]


@pytest.mark.parametrize(
    ("stub", "body", "reason"),
    [
        ("curl", "", "the key of NVIDIA's packages cannot be fetched"),
        ("apt-get", "echo no space left >&2; exit 100", "could not be installed: no space left"),
        ("nvidia-ctk", "echo bad daemon.json >&2; exit 1", "restarted with the NVIDIA Container "),
        ("service", "echo docker failed; exit 1", "Toolkit: docker failed"),
    ],
)
def test_a_toolkit_that_cannot_be_installed_is_reported_with_its_step(
    machine: Machine, stub: str, body: str, reason: str
) -> None:
    reports: list[dict[str, Any]] = []

    class Master(Quiet):
        def do_POST(self) -> None:
            reports.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.reply(200, b"{}")

    with_gpus(machine, key="echo no route to host >&2; exit 7" if stub == "curl" else KEY)
    if stub != "curl":
        machine.stub(stub, body)
    with serving(Master) as url:
        port = int(url.rsplit(":", 1)[1])
        done = machine.run(start_script(boot(image="", master_host="127.0.0.1", master_port=port)))
    assert done.returncode == 1
    assert reason in done.stderr
    last = reports[-1]
    assert (last["step"], last["failed"]) == ("toolkit", True)
    assert last["detail"]
    assert last["step"] in STEPS
