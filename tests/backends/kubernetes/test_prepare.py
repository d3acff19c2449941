"""The program that prepares a container, against a server that stands for a master."""

from __future__ import annotations

import io
import json
import os
import signal
import socket
import stat
import subprocess
import sys
import tarfile
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from tests.harness.master_double import MasterDouble

from determined_master.backends.kubernetes.manifest import prepare

HARNESS = "/task/harness.tar.gz$"
PROBE = """
import json, os, sys
print(json.dumps([__name__, sys.argv[1:], os.getcwd(), sys.path[0], os.getpid()]))
sys.exit(7)
"""


@pytest.fixture
def master(monkeypatch: pytest.MonkeyPatch) -> Iterator[MasterDouble]:
    with MasterDouble() as double:
        monkeypatch.setenv("DET_MASTER", double.url)
        yield double


def packed(files: Mapping[str, str], directories: Mapping[str, int] = {}) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, mode in directories.items():
            made = tarfile.TarInfo(name)
            made.type, made.mode = tarfile.DIRTYPE, mode
            archive.addfile(made)
        for name, text in files.items():
            made = tarfile.TarInfo(name)
            made.size, made.mode = len(text), 0o644
            archive.addfile(made, io.BytesIO(text.encode()))
    return buffer.getvalue()


class Container:
    """The directories of a container, and the program in it."""

    def __init__(self, root: Path, url: str, archive: bytes) -> None:
        self.root, self.url = root, url
        self.variables: dict[str, str] = {}
        self.order, self.run_dir = root / "order", root / "run"
        self.note, self.harness = root / "note", root / "harness"
        self.order.mkdir()
        self.note.touch()
        (self.order / "files.tar.gz").write_bytes(archive)

    def start(self, *program: str) -> subprocess.Popen[str]:
        where = (self.order, self.run_dir, self.harness, self.note, self.run_dir / "workdir")
        return subprocess.Popen(
            [sys.executable, prepare.__file__, *map(str, where), *program],
            env={
                "DET_MASTER": self.url,
                "PYTHONPATH": str(self.harness),
                "PATH": os.defpath,
                **self.variables,
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *program: str) -> tuple[int, str, str]:
        with self.start(*program) as process:
            try:
                out, error = process.communicate(timeout=60)
            finally:
                process.kill()
        return process.returncode, out, error


@pytest.fixture
def container(master: MasterDouble, tmp_path: Path) -> Container:
    master.on("GET", HARNESS, (200, packed({"probe.py": PROBE})))
    files = packed({"./info/a.txt": "text"}, {".": 0o700, "./info": 0o755, "./workdir": 0o700})
    return Container(tmp_path, master.url, files)


def test_a_pod_waits_for_a_master_whose_gateway_has_no_route_to_it(
    master: MasterDouble, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = iter([(404, b"404 page not found"), (503, b""), (200, b"the harness")])
    master.on("GET", HARNESS, lambda _: next(answers))
    assert prepare.fetch(str(tmp_path)) == b"the harness"
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1
    assert "does not give the task's files yet (HTTP 404): asking again for 600 s" in said[0]


def test_a_master_without_the_harness_ends_the_pod_with_the_reason(
    container: Container, master: MasterDouble
) -> None:
    master.on("GET", HARNESS, (404, {"error": {"error": "not found"}}))
    code, _, said = container.run("-m", "probe")
    reason = f"the master at {master.url}/task/harness.tar.gz does not give the task's files"
    assert code == 1
    assert said.count("ERROR: ") == 1
    assert f"the task's files are not prepared: {reason}: HTTP 404" in said
    assert container.note.read_text() == f"{prepare.MARK}{reason}: HTTP 404"
    assert len(master.calls) == 1


def test_a_module_of_the_harness_runs_in_the_process_that_prepared_it(
    container: Container,
) -> None:
    process = container.start("-m", "probe", "a", "b c")
    with process:
        out, error = process.communicate(timeout=60)
    assert process.returncode == 7, error
    work_dir = str(container.run_dir / "workdir")
    assert json.loads(out) == ["__main__", ["a", "b c"], work_dir, work_dir, process.pid]
    assert stat.S_IMODE(container.run_dir.stat().st_mode) == 0o700
    assert stat.S_IMODE((container.run_dir / "info").stat().st_mode) == 0o755
    assert (container.run_dir / "info" / "a.txt").read_text() == "text"
    assert container.note.read_text() == ""


@pytest.mark.parametrize("locale", ["C", "POSIX", "en_US.ISO-8859-1"])
def test_variables_of_the_file_are_set_as_utf_8_before_the_program_starts(
    container: Container, locale: str
) -> None:
    given = {"DET_TRIAL_ID": "8", "DET_HPARAMS": '{"a": "$(X) ü\U0001f600"}', "PATH": os.defpath}
    (container.order / "variables.json").write_text(json.dumps(given))
    container.variables["LC_ALL"] = locale
    code, out, _ = container.run("sh", "-c", "echo $DET_TRIAL_ID; printenv DET_HPARAMS")
    assert (code, out.splitlines()) == (0, ["8", given["DET_HPARAMS"]])


def test_the_master_may_stand_in_the_file_of_variables(container: Container) -> None:
    url, container.url = container.url, "http://127.0.0.1:1"
    (container.order / "variables.json").write_text(json.dumps({"DET_MASTER": url}))
    assert container.run("true")[0] == 0


def test_another_program_replaces_the_one_that_prepared_it(container: Container) -> None:
    code, out, _ = container.run("sh", "-c", "pwd; exit 5")
    assert (code, out.strip()) == (5, str(container.run_dir / "workdir"))


@pytest.mark.parametrize(("program", "code"), [("none-of-that-name", 127), ("/etc/passwd", 126)])
def test_a_program_that_cannot_be_started_is_named(
    container: Container, program: str, code: int
) -> None:
    found, _, said = container.run(program)
    assert found == code
    assert f"the program {program!r} cannot be started: " in said
    assert program in container.note.read_text()


def test_a_broken_archive_ends_the_container_with_the_reason(container: Container) -> None:
    (container.order / "files.tar.gz").write_bytes(b"no archive")
    code, _, said = container.run("-m", "probe")
    assert code == 1
    assert "Traceback" not in said
    assert container.note.read_text().startswith(f"{prepare.MARK}not a gzip file")


def test_a_signal_ends_a_container_that_waits_for_the_master(container: Container) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        container.url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with container.start("-m", "probe") as process:
            connection, _ = silent.accept()
            with connection:
                process.send_signal(signal.SIGTERM)
                try:
                    assert process.wait(60) == 143
                finally:
                    process.kill()


def test_a_signal_inside_of_a_finalizer_ends_the_container(tmp_path: Path) -> None:
    """Exceptions that a finalizer raises are ignored: the program would start all the same."""
    script = f"""
import os, signal, sys
sys.path.insert(0, {str(Path(prepare.__file__).parent)!r})
import prepare
class Closed:
    def __del__(self): signal.raise_signal(signal.SIGTERM)
prepare.set_variables = lambda order: Closed()
prepare.main([{str(tmp_path)!r}, "run", "harness", "note", "/", "true"])
"""
    done = subprocess.run([sys.executable, "-c", script], timeout=60, check=False)
    assert done.returncode == prepare.SIGNALLED


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", (200, "", b"abc")),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\nab", (200, "", b"ab")),
        (
            b"HTTP/1.1 404 Not Found\r\ncontent-TYPE: application/json\r\n\r\n{}",
            (404, "application/json", b"{}"),
        ),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
            b"2;x=y\r\nab\r\n1\r\nc\r\n0\r\n\r\n",
            (200, "", b"abc"),
        ),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabc", "cut off"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nab", "cut off"),
        (b"", "closed connection"),
        (b"SSH-2.0-OpenSSH\r\n", "not HTTP"),
    ],
)
def test_answers_are_read_completely(
    answer: bytes, found: tuple[int, str, bytes] | str, tmp_path: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}/x"
        try:
            if isinstance(found, str):
                with pytest.raises(ConnectionError, match=found):
                    prepare.get(url, str(tmp_path))
            else:
                assert prepare.get(url, str(tmp_path)) == found
        finally:
            thread.join(60)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can make a directory of another account")
def test_files_in_a_directory_of_root_are_closed_to_other_accounts(tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    run.chmod(0o777)
    archive = packed({"./info/a.txt": "text"}, {".": 0o700, "./info": 0o755})
    child = os.fork()
    if child == 0:
        try:
            os.chdir(run)  # the directories above it are closed
            os.setgid(1234)
            os.setuid(1234)
            prepare.unpack(archive, ".")
            os._exit(0)
        except BaseException:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    assert stat.S_IMODE((run / "info").stat().st_mode) == 0o700
    assert (run / "info").stat().st_uid == 1234
