"""Failures of commands: the error text, the exit status, no partial work."""

from __future__ import annotations

import os
import pty
import re
import shlex
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli import canned
from tests.cli.conftest import Det
from tests.cli.deploy.conftest import until
from tests.cli.fake_master import Answer, Call, FakeMaster, error

from determined.common.api import _retry


def test_the_error_names_the_failed_command_and_the_masters_reason(
    det: Det, master: FakeMaster
) -> None:
    refusal = error(404, 5, "NotFound", "experiment '99' not found")
    master.routes[("GET", "/api/v1/experiments/99")] = refusal
    outcome = det("e", "describe", "99")
    assert outcome.status == 1
    assert outcome.err == "Failed to describe experiment: experiment '99' not found\n"


@pytest.mark.parametrize(
    ("flags", "who"),
    [((), "see 'det user whoami'"), (("-u", "determined"), "'determined' lacks it")],
)
def test_access_denied_names_the_user_and_a_remedy(
    det: Det, master: FakeMaster, flags: tuple[str, ...], who: str
) -> None:
    refusal = error(403, 7, "PermissionDenied", "user does not have permission")
    master.routes[("GET", "/api/v1/experiments/99")] = refusal
    assert det(*flags, "e", "describe", "99").err == (
        f"Failed to describe experiment: user does not have permission: {who}; run it as another "
        "user with det -u USER, or ask an admin\n"
    )


def test_a_wrong_password_in_the_environment_names_its_variable(
    det: Det, master: FakeMaster
) -> None:
    refusal = error(401, 16, "Unauthenticated", "invalid credentials")
    master.routes[("POST", "/api/v1/auth/login")] = refusal
    assert det("e", "list").err == (
        "Failed to list experiments: Invalid username/password combination. Please try again. "
        "They are those of DET_USER ('determined') and DET_PASS.\n"
    )


def test_the_error_names_an_unreachable_master_and_a_remedy(
    det: Det, home: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))  # bound but not listening: connections are refused
        address = f"http://127.0.0.1:{held.getsockname()[1]}"
        monkeypatch.setenv("DET_USER", "determined")
        monkeypatch.setenv("DET_PASS", "Secret123")
        outcome = det("-m", address, "e", "list")
    assert outcome.status == 1
    assert address in outcome.err
    assert "-m or DET_MASTER" in outcome.err
    assert "det deploy local cluster-up" in outcome.err


def test_the_error_names_an_invalid_address(det: Det, home: object) -> None:
    outcome = det("-m", "ftp://x", "version")
    assert outcome.status == 1
    assert "the scheme must be http or https" in outcome.err


@pytest.mark.parametrize("address", ["localhost:abc", "http://localhost:99999"])
def test_the_error_names_the_address_of_an_invalid_port(
    det: Det, home: object, address: str
) -> None:
    outcome = det("-m", address, "e", "list")
    assert outcome.status == 1
    assert f"address '{address}': the port must be a number" in outcome.err
    assert "-m or DET_MASTER" in outcome.err


PAGE = b"<!DOCTYPE html>\n<html><head><title>\n Some &  other\n</title></head></html>"


@pytest.mark.parametrize("status", [200, 401, 404, 502])
def test_the_error_explains_a_web_page_and_does_not_print_it(
    det: Det, master: FakeMaster, status: int
) -> None:
    for route in list(master.routes):
        master.routes[route] = (status, PAGE)
    for words in (("e", "list"), ("user", "login", "determined"), ("version",)):
        outcome = det(*words, stdin="Secret123\n")
        assert outcome.status == (0 if words == ("version",) else 1)
        page = f"a web page (status {status}, 'Some & other')"
        assert f"no master answered at {master.url} but {page}" in outcome.err
        assert "html" not in outcome.err


def test_a_wrong_path_in_the_address_fails_before_a_login_prompt(
    det: Det, master: FakeMaster, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusal = error(401, 16, "Unauthenticated", "token missing")
    for route in (("GET", "/foo/info"), ("POST", "/foo/api/v1/auth/login")):
        master.routes[route] = refusal
    outcome = det("-m", f"{master.url}/foo/", "user", "login", "determined", stdin="Secret123\n")
    assert outcome.status == 1
    assert f"{master.url}/foo/info asks for a login" in outcome.err
    monkeypatch.delenv("DET_PASS")
    outcome = det("-m", f"{master.url}/foo/", "e", "list")
    assert f"{master.url}/foo/info asks for a login" in outcome.err


@pytest.mark.parametrize(("noun", "verb"), [("trial", "ls"), ("t", "list"), ("c", "list")])
def test_a_wrong_list_command_suggests_the_right_one(
    det: Det, home: object, noun: str, verb: str
) -> None:
    outcome = det(noun, verb)
    what = "checkpoints" if noun == "c" else "trials"
    assert outcome.status == 2
    assert f"did you mean det experiment list-{what} <experiment_id>?" in outcome.err


def test_a_login_without_a_username_prints_the_usage(det: Det, master: FakeMaster) -> None:
    outcome = det("user", "login", stdin="")
    assert outcome.status == 1
    assert outcome.err == (
        "Failed to log in user: no username given; run: det user login <username>\n"
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("user", "login", "determined"), "no password given"),
        (("-u", "other", "e", "list"), "'other' is not logged in"),
    ],
)
def test_end_of_input_at_a_password_prompt_fails_cleanly(
    master: FakeMaster, words: tuple[str, ...], said: str
) -> None:
    terminal, ours = pty.openpty()
    try:
        asking = subprocess.Popen(
            [sys.executable, "-m", "determined.cli", *words],
            stdin=ours,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # without its own terminal, so that it uses ours
        )
        os.close(ours)
        assert asking.stdout is not None
        asked = b""
        while b"': " not in asked and (more := os.read(asking.stdout.fileno(), 100)):
            asked += more
        os.write(terminal, b"\x04")  # input typed before the prompt is discarded
        output, _ = asking.communicate(timeout=60)
    finally:
        os.close(terminal)
    assert asked.startswith(b"Password for user ")
    assert asking.returncode == 1
    assert said in output.decode()
    assert "Traceback" not in output.decode()


def test_the_error_for_an_unstorable_login_names_a_remedy(
    det: Det, master: FakeMaster, home: Path
) -> None:
    (home / "config").write_text("a file where a directory should be")
    outcome = det("user", "login", "determined", stdin="Secret123\n")
    assert outcome.status == 1
    assert f"the login cannot be stored: '{home / 'config'}" in outcome.err
    assert "XDG_CONFIG_HOME" in outcome.err
    assert "Errno" not in outcome.err


@pytest.mark.parametrize(
    "words",
    [
        ("e", "logs", "1", "--head=-1"),
        ("t", "logs", "1", "--tail=-1"),
        ("master", "logs", "--tail=-1"),
        ("e", "lc", "1", "--best=-1"),
        ("e", "list", "--offset=-1"),
        ("e", "list", "--offset=x"),
    ],
)
def test_a_negative_count_is_wrong_usage(
    det: Det, master: FakeMaster, words: tuple[str, ...]
) -> None:
    outcome = det(*words)
    assert outcome.status == 2
    assert f"'{words[-1].split('=')[1]}' is not a whole number of at least 0" in outcome.err
    assert master.calls == []


@pytest.mark.parametrize("interval", ["0", "-1", "x", "nan", "inf"])
def test_an_invalid_polling_interval_is_wrong_usage(
    det: Det, master: FakeMaster, interval: str
) -> None:
    outcome = det("e", "wait", "7", f"--polling-interval={interval}")
    assert outcome.status == 2
    assert f"'{interval}' is not a positive number of seconds" in outcome.err
    assert master.calls == []


def test_det_reports_a_slow_master_while_it_waits(
    det: Det, master: FakeMaster, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = f"the master at {master.url} has not answered for 0.01 s; still waiting\n"
    monkeypatch.setattr(_retry, "LATE_S", 0.01)

    def answer(call: Call) -> Answer:
        until(lambda: said in getattr(sys.stderr, "getvalue", str)())
        return 200, canned.page("experiments")

    master.routes[("GET", "/api/v1/experiments")] = answer
    outcome = det("e", "list")
    assert outcome.status == 0
    assert said in outcome.err


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "No such file or directory"),
        (b"\x30\x82\xff", "the file has no PEM certificate"),
        (b"", "the file has no PEM certificate"),
        (b"-----BEGIN PRIVATE KEY-----\n", "the file has no PEM certificate"),
        (
            b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
            "the file has no valid PEM certificate",
        ),
        (b"-----BEGIN CERTIFICATE-----\ncut", "the file has no valid PEM certificate"),
    ],
)
def test_the_error_for_an_unreadable_certificate_names_its_variable(
    det: Det,
    master: FakeMaster,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    content: bytes | None,
    said: str,
) -> None:
    file = tmp_path / "master.crt"
    if content is not None:
        file.write_bytes(content)
    monkeypatch.setenv("DET_MASTER_CERT_FILE", str(file))
    outcome = det("e", "list")
    assert outcome.status == 1
    assert outcome.err == (
        f"Failed to list experiments: DET_MASTER_CERT_FILE is '{file}': {said}\n"
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "redirection", "status"),
    [
        (("version",), ">&-", 0),
        (("version",), "2>&-", 0),
        (("-m", "http://127.0.0.1:1", "e", "list"), ">&-", 1),
        (("user", "login", "determined"), "<&-", 1),
    ],
)
def test_a_closed_stream_does_not_crash_det(
    master: FakeMaster, words: tuple[str, ...], redirection: str, status: int
) -> None:
    command = shlex.join([sys.executable, "-m", "determined.cli", *words])
    done = subprocess.run(
        ["sh", "-c", f"{command} {redirection}"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == status, done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("unbuffered", ["1", ""], ids=["at once", "at the end"])
def test_a_write_error_prints_no_errno(master: FakeMaster, unbuffered: str) -> None:
    """Python writes immediately, or by default at the end of the command."""
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "determined.cli", "e", "list"],
            stdout=full,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
            text=True,
            check=False,
            timeout=60,
        )
    assert (done.returncode, done.stderr) == (
        1,
        "Failed to list experiments: No space left on device\n",
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings",
    [
        {"PYTHONIOENCODING": "ascii"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    ],
)
def test_output_escapes_characters_that_the_encoding_lacks(
    master: FakeMaster, settings: dict[str, str]
) -> None:
    named = {**canned.EXPERIMENT, "name": "größe 日本"}
    master.routes[("GET", "/api/v1/experiments")] = (200, canned.page("experiments", named))
    done = subprocess.run(
        [sys.executable, "-m", "determined.cli", "e", "list", "--csv"],
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert r"gr\xf6\xdfe \u65e5\u672c" in done.stdout


def test_version_prints_the_client_version_without_a_master(det: Det, home: object) -> None:
    outcome = det("-m", "http://127.0.0.1:1", "version")
    assert outcome.status == 0
    assert re.search(r"client:\n  version: ", outcome.out)
    assert "http://127.0.0.1:1" in outcome.err


def test_det_reports_a_missing_master_before_a_missing_login(det: Det, home: object) -> None:
    outcome = det("-m", "http://127.0.0.1:1", "e", "list")
    assert outcome.status == 1
    assert "no answer from the master at http://127.0.0.1:1" in outcome.err
    assert "det user login" not in outcome.err


def test_the_error_without_a_login_says_how_to_log_in(
    det: Det, master: FakeMaster, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("DET_USER", "DET_PASS", "DET_USER_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    master.routes[("GET", "/info")] = (200, {})
    outcome = det("e", "list")
    assert outcome.status == 1
    assert "det user login" in outcome.err
    assert "DET_USER and DET_PASS" in outcome.err


def test_a_stream_that_ends_with_an_error_fails_the_command(det: Det, master: FakeMaster) -> None:
    refusal = {"error": {"grpcCode": 5, "httpCode": 404, "message": "trial '99' not found"}}
    master.routes[("GET", "/api/v1/trials/99/logs")] = (404, refusal)
    outcome = det("trial", "logs", "99")
    assert outcome.status == 1
    assert "Failed to fetch trial logs: trial '99' not found" in outcome.err
    assert outcome.out == ""  # no hint to reopen a missing log


@pytest.mark.parametrize(
    ("state", "status"), [("COMPLETED", 0), ("ERROR", 1), ("CANCELED", 1), ("PAUSED", 1)]
)
def test_wait_fails_unless_the_experiment_completes(
    det: Det, master: FakeMaster, state: str, status: int
) -> None:
    body = {"experiment": {"state": f"STATE_{state}"}}
    master.routes[("GET", "/api/v1/experiments/7")] = (200, body)
    outcome = det("e", "wait", "7")
    assert outcome.status == status
    assert (state in outcome.err) == bool(status)


def test_wait_polls_until_the_end(det: Det, master: FakeMaster) -> None:
    states = ["RUNNING", "QUEUED", "COMPLETED"]
    route = ("GET", "/api/v1/experiments/7")
    master.routes[route] = lambda call: (200, {"experiment": {"state": f"STATE_{states.pop(0)}"}})
    assert det("e", "wait", "7", "--polling-interval", "0.001").status == 0
    assert states == []


def test_a_wrong_port_is_refused_before_any_request(
    det: Det, master: FakeMaster, tmp_path: object
) -> None:
    outcome = det("e", "create", "config.yaml", "--publish", "http")
    assert outcome.status == 1
    assert "--publish http: give PORT or LOCAL:PORT" in outcome.err
    assert master.calls == []


def test_a_join_token_of_an_older_master_is_explained(det: Det, master: FakeMaster) -> None:
    route = ("POST", "/api/v1/agents/join-tokens")
    for status in (404, 405):
        master.routes[route] = error(status, 5, "NotFound", "not found")
        assert "this master is of an earlier release" in det("agent", "token").err
    master.routes[route] = (200, {"token": "abc"})
    assert det("agent", "token").out == "abc\n"
    assert det("agent", "token", "gpu-7").out == "abc\n"
    assert master.calls[-1].json == {"agentId": "gpu-7"}
