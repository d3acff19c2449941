"""`det deploy aws up` waits for the master, and prints what its machine does."""

from __future__ import annotations

import argparse
import http.server
from collections.abc import Callable
from typing import Any

import pytest
from moto.ec2.responses import general
from tests.backends.cloud.ec2_server import IMAGE
from tests.backends.cloud.http_servers import Quiet, serving
from tests.cli.deploy.aws.conftest import REGION, Aws
from tests.free_ports import free_port

from determined.cli import errors
from determined_deploy.aws import up
from determined_deploy.aws.account import Account
from determined_deploy.cloud import waiting

pytestmark = pytest.mark.slow

BOOT = "Linux version 6.8\n[ 12.3] cloud-init[713]: determined: installing the master\n"


@pytest.fixture(autouse=True)
def _brief(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "PAUSE_S", 0.01)


@pytest.fixture
def access(aws: Aws) -> Account:
    return Account(argparse.Namespace(profile=None, region=REGION))


@pytest.fixture
def machine(aws: Aws) -> str:
    launched = aws.client("ec2").run_instances(ImageId=IMAGE, MinCount=1, MaxCount=1)
    return str(launched["Instances"][0]["InstanceId"])


def write_console(patch: pytest.MonkeyPatch, text: str) -> None:
    """What the consoles of all machines show."""
    patch.setattr(general, "SAMPLE_CONSOLE_OUTPUT", text)


def master(answer: Callable[[int], int]) -> type[http.server.BaseHTTPRequestHandler]:
    """A master that answers its nth request with a status."""
    asked: list[str] = []

    class Handler(Quiet):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.reply(answer(len(asked)), b"{}")

    return Handler


def test_the_last_line_of_the_start_script_is_in_the_error(
    access: Account, machine: str, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    write_console(monkeypatch, BOOT + "[ 60.1] cloud-init[713]: determined: line 31 failed\nEND\n")
    monkeypatch.setattr(waiting, "LIMIT_S", 0.0)
    address = f"http://127.0.0.1:{free_port()}"
    with pytest.raises(errors.CliError) as caught:
        up.wait_for_machine(access, address, machine)
    assert str(caught.value) == (
        f"the master does not answer at {address} after 0 minutes. Its machine {machine} last "
        "said: line 31 failed. See its system log: aws ec2 get-console-output --latest "
        f"--instance-id {machine}"
    )
    assert "\n  line 31 failed\n" in capsys.readouterr().out


def test_a_machine_that_says_nothing_is_named(
    access: Account, machine: str, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    write_console(monkeypatch, "Linux version 6.8\n")
    monkeypatch.setattr(waiting, "LIMIT_S", 0.0)
    with pytest.raises(errors.CliError, match=r"last said: nothing\. See its system log"):
        up.wait_for_machine(access, f"http://127.0.0.1:{free_port()}", machine)
    assert len(capsys.readouterr().out.splitlines()) == 1


def test_each_new_line_is_printed_once_until_the_master_answers(
    access: Account, machine: str, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    write_console(monkeypatch, BOOT)

    def answer(count: int) -> int:
        if count == 3:
            write_console(monkeypatch, BOOT + "determined: the master is started\n")
        return 200 if count == 5 else 503

    with serving(master(answer)) as address:
        up.wait_for_machine(access, address, machine)
    _, *lines = capsys.readouterr().out.splitlines()
    assert lines == ["  installing the master", "  the master is started"]


def test_a_console_that_cannot_be_read_ends_no_wait(
    access: Account, aws: Aws, machine: str, capsys: Any
) -> None:
    aws.refusals = {"GetConsoleOutput": ("UnauthorizedOperation", "You are not authorized.")}
    with serving(master(lambda count: 200 if count == 2 else 503)) as address:
        up.wait_for_machine(access, address, machine)
    assert len(capsys.readouterr().out.splitlines()) == 1


def test_the_console_is_read_as_it_is_now_where_the_type_can_show_it(
    access: Account, aws: Aws, machine: str
) -> None:
    with serving(master(lambda count: 200 if count == 2 else 503)) as address:
        up.wait_for_machine(access, address, machine)
    [call] = [call for call in aws.calls if call["Action"] == "GetConsoleOutput"]
    assert call["Latest"] == "true"


def test_a_master_that_answers_is_not_waited_for(access: Account, aws: Aws, machine: str) -> None:
    with serving(master(lambda _: 200)) as address:
        up.wait_for_machine(access, address, machine)
    assert all(call["Action"] != "GetConsoleOutput" for call in aws.calls)
