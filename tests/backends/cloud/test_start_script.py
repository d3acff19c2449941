"""The start script of machines on demand: run by bash, and the agent that it would start."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest
from tests.agent_link import ROOT, Listener, OpenDoor, Recorder, identity, listening, until
from tests.backends.cloud.http_servers import Quiet, serving
from tests.backends.cloud.start_of_machine import Machine, json_file, unpacked
from tests.covers import covers
from tests.free_ports import free_port

from determined_agent.settings.options import load
from determined_master.backends.agents.backend import AgentBackend
from determined_master.backends.cloud.packed_script import packed
from determined_master.backends.cloud.start_script import (
    DOCKER_PATIENCE_S,
    PLACE,
    Boot,
    Identity,
    start_script,
)

TOKEN = "join-T0KEN"
IDENTITY = Identity(agent_id="echo i-123", address="echo 10.1.2.3")


def boot(**changes: Any) -> Boot:
    values: dict[str, Any] = {
        "resource_pool": "gpu pool",
        "image": "lab/agent:2",
        "master_host": "det.example",
        "master_port": 8080,
        "identity": IDENTITY,
        "join_token": TOKEN,
    }
    return Boot(**(values | changes))


pytestmark = pytest.mark.slow


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


FULL = boot(
    has_tls=True,
    master_cert="-----BEGIN CERTIFICATE-----\nabc\n-----END CERTIFICATE-----\n",
    master_cert_name="it's the master",
    slot_type="cuda",
    log_options=("--log-driver", "awslogs", "--log-opt", "awslogs-group=a b"),
    startup_script="echo s3cret >/dev/null",
    container_startup_script="#!/bin/bash\ntrue\n",
    agent_config='{"http_proxy": "s3cret"}',
)


@pytest.mark.parametrize("told", [boot(), FULL], ids=["little", "much"])
def test_bash_can_read_the_script(told: Boot) -> None:
    checked = subprocess.run(
        ["bash", "-n"], input=start_script(told), capture_output=True, text=True, check=False
    )
    assert (checked.returncode, checked.stderr) == (0, "")


@pytest.mark.parametrize("told", [boot(), FULL], ids=["little", "much"])
def test_a_packed_script_does_the_same(machine: Machine, told: Boot, tmp_path: Path) -> None:
    script = start_script(told)
    text = packed(script)
    assert unpacked(text) == script
    assert packed(script) == text
    done = machine.run(text)
    assert done.returncode == 0, done.stderr
    other = Machine(tmp_path / "other")
    assert other.run(script).stdout == done.stdout
    here = [word.replace(str(machine.root), "") for word in machine.container().arguments]
    there = [word.replace(str(other.root), "") for word in other.container().arguments]
    assert here == there


def test_a_packed_script_fails_as_the_script_does(machine: Machine) -> None:
    done = machine.run(packed(start_script(boot(startup_script="exit 3"))))
    assert done.returncode == 1
    assert "the startup script ended with exit code 3" in done.stderr


@covers("scheduling-and-provisioning c.4.container c.4.variables c.4.slot_type")
def test_the_agent_runs_in_a_container_that_docker_starts_again(machine: Machine) -> None:
    done = machine.run(start_script(boot()))
    assert done.returncode == 0, done.stderr
    container = machine.container()
    assert container.image == "lab/agent:2"
    assert container.all_of("--name") == ["determined-agent"]
    assert container.all_of("--restart") == ["always"]
    assert {"--detach", "--init", "--privileged"} <= set(container.arguments)
    assert container.all_of("--network") == ["host"]
    assert container.all_of("--runtime") == ["runc"]
    assert container.all_of("--gpus") == []
    assert container.variables == {
        "DET_AGENT_ID": "i-123",
        "DET_ADVERTISED_ADDRESS": "10.1.2.3",
        "DET_MASTER_HOST": "det.example",
        "DET_MASTER_PORT": "8080",
        "DET_RESOURCE_POOL": "gpu pool",
        "DET_SLOT_TYPE": "none",
        "DET_AGENT_RECONNECT_ATTEMPTS": "5",
        "DET_AGENT_RECONNECT_BACKOFF": "5",
        "DET_JOIN_TOKEN_FILE": f"{PLACE}/join_token",
    }
    # The daemon's socket, and the harness's place, which the daemon must find on the same path.
    for path in ("/var/run/docker.sock", "/var/lib/determined"):
        assert container.mounts[path] == Path(path)


@covers("scheduling-and-provisioning c.4.tls c.4.log_options c.4.slot_type")
def test_gpus_certificate_and_logs_are_passed_where_there_are_any(machine: Machine) -> None:
    assert machine.run(start_script(FULL)).returncode == 0
    container = machine.container()
    assert container.all_of("--gpus") == ["all"]
    assert container.all_of("--log-driver") == ["awslogs"]
    assert container.all_of("--log-opt") == ["awslogs-group=a b"]
    variables = container.variables
    assert variables["DET_SLOT_TYPE"] == "cuda"
    assert variables["DET_SECURITY_TLS_ENABLED"] == "true"
    assert variables["DET_SECURITY_TLS_MASTER_CERT_NAME"] == "it's the master"
    cert = container.mounts[variables["DET_SECURITY_TLS_MASTER_CERT"]]
    assert cert.read_text() == FULL.master_cert


@covers("scheduling-and-provisioning c.4.tls")
def test_a_certificate_is_of_no_use_without_tls(machine: Machine) -> None:
    machine.run(start_script(boot(master_cert="x", master_cert_name="y")))
    assert not [name for name in machine.container().variables if "TLS" in name]


@covers("scheduling-and-provisioning c.4.secret")
def test_no_secret_is_printed_or_in_a_command(machine: Machine) -> None:
    done = machine.run(start_script(FULL))
    commands = [
        word for name in ("docker", "curl") for call in machine.calls(name) for word in call
    ]
    for secret in (TOKEN, "s3cret"):
        assert secret not in done.stdout + done.stderr
        assert not [word for word in commands if secret in word]


@covers("scheduling-and-provisioning c.4.secret c.4.config c.4.container_script")
def test_files_are_of_root_alone_and_hold_what_was_given(machine: Machine) -> None:
    machine.run(start_script(FULL))
    place = machine.root / PLACE.lstrip("/")
    assert (place / "join_token").read_text() == TOKEN
    assert json_file(place / "agent.yaml") == {"http_proxy": "s3cret"}
    assert (place / "container_startup_script").read_text() == FULL.container_startup_script
    assert {path.stat().st_mode & 0o077 for path in place.iterdir()} == {0}
    # A script that names its interpreter is run by it.
    assert os.access(place / "container_startup_script", os.X_OK)
    mounts = machine.container().mounts
    for name in ("join_token", "agent.yaml", "container_startup_script"):
        assert mounts[f"{PLACE}/{name}"] == place / name


@covers("scheduling-and-provisioning c.4.startup_script")
@pytest.mark.parametrize("head", ["", "#!/bin/sh\n"])
def test_the_admins_script_runs_before_the_agent(machine: Machine, head: str) -> None:
    script = f"{head}docker first \"it's\" '\"' \\$HOME\n: <<'END'\nEND\n"
    done = machine.run(start_script(boot(startup_script=script)))
    assert done.returncode == 0, done.stderr
    first, *others = machine.calls("docker")
    assert first == ["first", "it's", '"', "$HOME"]
    assert "run" in [call[0] for call in others]


@covers("scheduling-and-provisioning c.4.startup_script")
def test_a_script_of_the_admin_that_fails_stops_the_start(machine: Machine) -> None:
    done = machine.run(start_script(boot(startup_script="exit 7")))
    assert done.returncode == 1
    assert "the startup script ended with exit code 7" in done.stderr
    assert "mend provider.startup_script" in done.stderr
    assert machine.calls("docker") == []


def test_a_machine_without_docker_says_so(machine: Machine) -> None:
    machine.stub("docker", "exit 1")
    script = start_script(boot())
    assert f"-lt {DOCKER_PATIENCE_S} " in script
    done = machine.run(script.replace(f"-lt {DOCKER_PATIENCE_S} ", "-lt 6 "))
    assert done.returncode == 1
    assert "Docker does not answer on this machine" in done.stderr
    assert machine.calls("docker") == [["version"]] * 4
    assert machine.calls("sleep") == [["2"]] * 3


@pytest.mark.parametrize("command", ["false", "true"])
def test_a_machine_without_an_identity_starts_no_agent(machine: Machine, command: str) -> None:
    done = machine.run(start_script(boot(identity=Identity(command, "echo 10.1.2.3"))))
    assert done.returncode == 1
    assert "does not report this machine's id" in done.stderr
    assert machine.calls("docker") == []


def test_a_container_that_docker_refuses_is_reported(machine: Machine) -> None:
    machine.stub("docker", 'case "$1" in run) exit 125 ;; esac')
    done = machine.run(start_script(boot()))
    assert done.returncode == 1
    assert "the agent's container could not be started" in done.stderr


@covers("scheduling-and-provisioning c.4.again")
def test_a_pull_that_fails_is_repeated(machine: Machine) -> None:
    tries = machine.directory / "tries"
    machine.stub(
        "docker",
        f'case "$1" in image) exit 1 ;; pull) echo x >>{tries}; '
        f'[ "$(wc -l <{tries})" -ge 3 ] ;; esac',
    )
    done = machine.run(start_script(boot()))
    assert done.returncode == 0, done.stderr
    assert machine.calls("sleep") == [["2"], ["4"]]
    assert machine.container().image == "lab/agent:2"


def test_an_image_that_cannot_be_pulled_is_reported(machine: Machine) -> None:
    machine.stub("docker", 'case "$1" in image | pull) exit 1 ;; esac')
    done = machine.run(start_script(boot()))
    assert done.returncode == 1
    assert "the agent's image cannot be pulled: see provider.agent_docker_image" in done.stderr
    assert [call for call in machine.calls("docker") if call[0] == "run"] == []


def test_an_image_that_the_machine_has_is_not_pulled(machine: Machine) -> None:
    assert machine.run(start_script(boot())).returncode == 0
    assert [call for call in machine.calls("docker") if call[0] == "pull"] == []


def test_a_machine_that_starts_again_replaces_the_agents_container(machine: Machine) -> None:
    machine.stub("docker", 'case "$1" in rm) exit 1 ;; esac')
    for _ in range(2):
        assert machine.run(start_script(boot())).returncode == 0
    acts = [call[0] for call in machine.calls("docker") if call[0] != "wait"]
    assert acts == ["version", "rm", "image", "run"] * 2
    assert ["rm", "--force", "determined-agent"] in machine.calls("docker")


@covers("scheduling-and-provisioning c.4.power")
def test_the_agent_can_switch_the_machine_off_where_that_is_possible(
    machine: Machine, tmp_path: Path
) -> None:
    shutdown = tmp_path / "shutdown"
    shutdown.touch()
    script = start_script(boot()).replace("/sbin/shutdown", str(shutdown))
    machine.run(script.replace("/run/systemd/system", "/no/such/directory"))
    mounts = machine.container().mounts
    assert mounts[str(shutdown)] == shutdown
    assert "/no/such/directory" not in mounts


def test_the_agent_takes_every_variable_of_the_script(machine: Machine) -> None:
    machine.run(start_script(FULL))
    settings, warnings = load([], machine.container().variables_outside())
    assert warnings == ()
    assert settings.security.tls.enabled
    assert settings.security.tls.master_cert_name == "it's the master"
    assert Path(settings.security.tls.master_cert).read_text() == FULL.master_cert
    assert settings.agent_reconnect_attempts == 5
    assert settings.agent_reconnect_backoff == 5
    assert settings.http_proxy == "s3cret"
    assert settings.slot_type == "cuda"


def need_curl() -> None:
    """Skip the test where a machine would have curl and this one has not."""
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed: start scripts call the master with it")


class Reports(Quiet):
    """A master that keeps each report. It refuses the first `unknown` of them with 404."""

    told: ClassVar[list[dict[str, Any]]]
    tokens: ClassVar[list[str]]
    unknown: ClassVar[int]

    def do_POST(self) -> None:
        """Take one report."""
        type(self).tokens.append(self.headers["Authorization"])
        body = self.rfile.read(int(self.headers["Content-Length"]))
        type(self).told.append({"path": self.path, **json.loads(body)})
        type(self).unknown -= 1
        self.reply(404 if self.unknown >= 0 else 200, b"{}")


@pytest.fixture
def reports() -> Iterator[tuple[type[Reports], int]]:
    """Of one master, which knows every machine; and its port."""
    made = type("OfOne", (Reports,), {"told": [], "tokens": [], "unknown": 0})
    with serving(made) as url:
        yield made, int(url.rsplit(":", 1)[1])


def reporting(machine: Machine, port: int, **changes: Any) -> subprocess.CompletedProcess[str]:
    """Run the script of a machine with the real curl."""
    need_curl()
    (machine.stubs / "curl").unlink()
    return machine.run(start_script(boot(master_host="127.0.0.1", master_port=port, **changes)))


def test_every_step_is_reported_with_the_join_token(
    machine: Machine, reports: tuple[type[Reports], int]
) -> None:
    master, port = reports
    assert reporting(machine, port, startup_script="true").returncode == 0
    steps = ["startup_script", "identity", "docker", "image", "agent"]
    assert [report["step"] for report in master.told] == steps
    assert master.told[0] == {
        "path": "/agents/starts",
        "pool": "gpu pool",
        "agent_id": "i-123",
        "step": "startup_script",
        "failed": False,
        "detail": "",
    }
    assert set(master.tokens) == {f"Bearer {TOKEN}"}


def test_a_failure_is_reported_in_the_words_of_what_failed(
    machine: Machine, reports: tuple[type[Reports], int]
) -> None:
    master, port = reports
    machine.stub(
        "docker",
        """case "$1" in image) exit 1 ;;
        pull) printf 'no "such" image\\\n\t' >&2; exit 1 ;; esac""",
    )
    assert reporting(machine, port).returncode == 1
    last = master.told[-1]
    assert (last["step"], last["failed"]) == ("image", True)
    assert last["detail"].strip() == "no 'such' image/"


def test_a_script_that_ends_where_nobody_expected_it_is_reported(
    machine: Machine, reports: tuple[type[Reports], int]
) -> None:
    master, port = reports
    done = reporting(machine, port, identity=Identity("echo i-123", "echo 1; exit 3"))
    assert done.returncode != 0
    assert (master.told[-1]["step"], master.told[-1]["failed"]) == ("identity", True)


def test_a_failure_is_reported_again_until_the_master_knows_the_machine(
    machine: Machine, reports: tuple[type[Reports], int]
) -> None:
    master, port = reports
    machine.stub("docker", 'case "$1" in run) exit 125 ;; esac')
    master.unknown = 6
    assert reporting(machine, port).returncode == 1
    assert [report["failed"] for report in master.told] == [False] * 4 + [True] * 3
    assert machine.calls("sleep") == [["5"]] * 2


def test_a_master_that_does_not_answer_holds_up_no_start(machine: Machine) -> None:
    assert reporting(machine, free_port()).returncode == 0
    assert machine.container().image == "lab/agent:2"


@pytest.fixture
def started() -> Iterator[list[subprocess.Popen[bytes]]]:
    processes: list[subprocess.Popen[bytes]] = []
    yield processes
    for process in processes:
        process.terminate()
        process.wait(15)


@covers("agent-config 6.dynamic")
async def test_an_agent_started_with_the_variables_of_the_script_joins_its_pool(
    machine: Machine, tmp_path: Path, started: list[subprocess.Popen[bytes]]
) -> None:
    async with listening() as listener:
        told = boot(
            master_host="127.0.0.1",
            master_port=listener.port,
            slot_type="cpu",
            agent_config='{"container_runtime": "process"}',
        )
        assert machine.run(start_script(told)).returncode == 0
        door = Remembering()
        backend = opened(listener, door)
        log = tmp_path / "agent.log"
        variables = machine.container().variables_outside()
        started.append(agent_of({**variables, "DET_WORK_DIR": str(tmp_path / "work")}, log))
        await until(lambda: any(a.is_connected for a in backend.agents()), what=log.read_text())
    [hello] = door.hellos
    assert (hello.agent_id, hello.resource_pool) == ("i-123", "gpu pool")
    assert hello.join_token == TOKEN
    assert hello.address == "10.1.2.3"
    assert [device.type for device in hello.devices] == ["cpu"]
    assert TOKEN not in log.read_text()


def agent_of(variables: dict[str, str], log: Path) -> subprocess.Popen[bytes]:
    """An agent that is told nothing but by variables."""
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "src"), **variables}
    command = [sys.executable, "-c", "from determined_agent.main import main; main()"]
    with log.open("wb") as output:
        return subprocess.Popen(command, env=environment, stdout=output, stderr=output)


class Remembering(OpenDoor):
    """Lets everyone in, and keeps what each said."""

    def __init__(self) -> None:
        super().__init__()
        self.hellos: list[Any] = []

    async def check(self, hello: Any, remote_address: str, **rest: Any) -> None:
        self.hellos.append(hello)


def opened(listener: Listener, door: OpenDoor) -> AgentBackend:
    backend = AgentBackend(identity(), Recorder(), door)
    backend.open({}, 1)
    listener.backend = backend
    return backend
