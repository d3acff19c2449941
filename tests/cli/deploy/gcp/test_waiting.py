"""`det deploy gcp up` waits for the new master, and shows the console of its machine meanwhile."""

from __future__ import annotations

import pytest
from tests.backends.cloud.gcp_server import Fault
from tests.backends.cloud.google_project import GoogleProject
from tests.backends.cloud.http_servers import Quiet, serving
from tests.cli.conftest import Det
from tests.cli.deploy.gcp.conftest import PROJECT
from tests.free_ports import free_port

from determined_deploy.cloud import waiting

pytestmark = pytest.mark.slow

UP = ("deploy", "gcp", "up", "--cluster-id", "lab", "--project-id", PROJECT, "--yes")
CONSOLE = "kernel: hello\nstartup-script: determined: installing the master\nkernel: bye\n"


@pytest.fixture
def briefly(gcp: GoogleProject, monkeypatch: pytest.MonkeyPatch) -> GoogleProject:
    """A project whose addresses are this machine, and a wait that ends soon."""
    monkeypatch.setattr(waiting, "PAUSE_S", 0.01)
    gcp.address = "127.0.0.1"
    gcp.console = CONSOLE
    return gcp


def test_up_returns_when_the_master_answers(det: Det, briefly: GoogleProject) -> None:
    asked = []

    class Master(Quiet):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.reply(503 if len(asked) < 3 else 200, b"{}")

    with serving(Master) as url:
        done = det(*UP, "--port", url.rpartition(":")[2])
    assert done.status == 0, done.err
    assert asked == ["/info"] * 3
    assert done.out.count("  installing the master\n") == 1
    assert f"The master is at {url}\n" in done.out


def test_a_master_that_does_not_answer_is_reported_with_its_last_line(
    det: Det, briefly: GoogleProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "LIMIT_S", 0.0)
    done = det(*UP, "--port", str(free_port()))
    assert done.status == 1
    assert "determined-lab-master last said: installing the master." in done.err
    assert (
        "gcloud compute instances get-serial-port-output determined-lab-master --zone us-west1-b "
        f"--project {PROJECT}"
    ) in done.err


def test_a_console_that_cannot_be_read_ends_no_wait(
    det: Det, briefly: GoogleProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "LIMIT_S", 0.0)
    instance = briefly._instance

    def without_console(
        method: str, zone: str, name: str, verb: list[str], body: object
    ) -> object:
        if verb == ["serialPort"]:
            raise Fault(403, "Required permission compute.instances.getSerialPortOutput")
        return instance(method, zone, name, verb, body)

    monkeypatch.setattr(briefly, "_instance", without_console)
    assert "last said: nothing." in det(*UP, "--port", str(free_port())).err
