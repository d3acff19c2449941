"""The HTTP/1.1 client with valid and invalid responses."""

from __future__ import annotations

import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Callable

import pytest

from determined.common.api import RetryPolicy, UnauthSession, errors
from determined.common.api.certs import Cert

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


class Server:
    """Answers each request on a connection with the next of the given bytes."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.answers: list[bytes] = []
        self.requests: list[bytes] = []
        self.connections = 0
        self._tls = tls
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._serve)
        self._open: list[socket.socket] = []

    @property
    def port(self) -> int:
        return int(self._listener.getsockname()[1])

    def __enter__(self) -> Server:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for sock in self._open:
            sock.close()
        self._thread.join()

    def _serve(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            try:
                if self._tls is not None:
                    sock = self._tls.wrap_socket(sock, server_side=True)
                self._converse(sock)
            except OSError:
                pass  # the client went away, or would not trust us
            finally:
                sock.close()

    def _converse(self, sock: socket.socket) -> None:
        with sock.makefile("rb") as reader:
            while True:
                head = b""
                while not head.endswith(b"\r\n\r\n"):
                    line = reader.readline()
                    if not line:
                        return
                    head += line
                size = [h for h in head.split(b"\r\n") if h.lower().startswith(b"content-length")]
                body = reader.read(int(size[0].split(b":")[1])) if size else b""
                self.requests.append(head + body)
                answer = self.answers.pop(0) if self.answers else OK
                sock.sendall(answer)
                if b"close" in answer.lower() or not answer:
                    return


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as running:
        yield running


@pytest.fixture
def session(server: Server) -> Iterator[UnauthSession]:
    policy = RetryPolicy(total=3, backoff_s=0.01)
    with UnauthSession(f"http://127.0.0.1:{server.port}/base", max_retries=policy) as made:
        yield made


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\ncontent-length:7\r\n\r\n[1,2,3]",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"2;x=y\r\n[1\r\n5\r\n,2,3]\r\n0\r\nTrailer: x\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200\r\nContent-Length: 7\r\n\r\n[1,2,3]",
        b"HTTP/1.0 200 OK\r\nConnection: close\r\n\r\n[1,2,3]",
        b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n[1,2,3]",
    ],
    ids=["length", "chunked", "continue", "http-1.0", "until-close"],
)
def test_every_form_of_body_is_read(server: Server, session: UnauthSession, answer: bytes) -> None:
    server.answers = [answer]
    assert session.get("/x").json() == [1, 2, 3]
    assert session.get("/x").json() == {}
    assert server.connections == (2 if b"close" in answer else 1)


def test_the_request_is_whole(server: Server, session: UnauthSession) -> None:
    session.post("/x", json={"a": 1})
    session.post("/y")
    first, second = server.requests
    assert first.startswith(b"POST /base/x HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n" % server.port)
    assert b"Content-Length: 7\r\n" in first
    assert first.endswith(b'\r\n\r\n{"a":1}')
    assert b"Content-Length: 0\r\n" in second


def test_an_answer_without_a_body_leaves_the_connection_usable(
    server: Server, session: UnauthSession
) -> None:
    server.answers = [b"HTTP/1.1 204 No Content\r\n\r\n"]
    assert session.delete("/x").json() is None
    assert session.get("/x").ok
    assert server.connections == 1


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"HTTP/1.1 200 OK\r\nContent-Length: 70\r\nConnection: close\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"SSH-2.0-close\r\n",
        b"HTTP/1.1 200 OK\r\nclose without a colon\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: -1\r\n\r\n",
    ],
    ids=["nothing", "short", "chunk", "ssh", "header", "length"],
)
def test_a_broken_answer_is_asked_for_again(
    server: Server, session: UnauthSession, answer: bytes
) -> None:
    server.answers = [answer]
    assert session.get("/x").json() == {}
    assert len(server.requests) == 2


def test_a_broken_answer_to_a_post_is_an_error_that_says_so(
    server: Server, session: UnauthSession
) -> None:
    server.answers = [b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\nConnection: close\r\n\r\n{}"]
    with pytest.raises(errors.MasterNotFoundException, match="truncated: 7 bytes are missing"):
        session.post("/x", json={})
    assert len(server.requests) == 1


def test_lines_of_a_stream_come_as_they_arrive(server: Server, session: UnauthSession) -> None:
    server.answers = [
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"3\r\none\r\n6\r\n\ntwo\nt\r\n4\r\nhree\r\n0\r\n\r\n"
    ]
    answer = session.get("/x", stream=True)
    assert list(answer.iter_lines()) == [b"one", b"two", b"three"]
    assert session.get("/x").ok
    assert server.connections == 1


def test_a_stream_left_early_gives_its_connection_up(
    server: Server, session: UnauthSession
) -> None:
    server.answers = [b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nline\nline\n"]
    answer = session.get("/x", stream=True)
    assert next(iter(answer.iter_lines())) == b"line"
    answer.close()


@pytest.mark.parametrize("header", ["a\r\nX: y", "a\nb", "\0"])
def test_a_header_cannot_bring_another(
    server: Server, session: UnauthSession, header: str
) -> None:
    with pytest.raises(ValueError, match="control character"):
        session.get("/x", headers={"A": header})
    with pytest.raises(ValueError, match="blank in the path"):
        session.get("/x HTTP/1.1")
    assert server.requests == []


def test_a_plain_proxy_gets_the_whole_address(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", f"http://me:pw@127.0.0.1:{server.port}")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    with UnauthSession("http://master.example:81/base") as session:
        session.get("/x")
    assert server.requests[0].startswith(b"GET http://master.example:81/base/x HTTP/1.1\r\n")
    assert b"Host: master.example:81\r\n" in server.requests[0]
    assert b"Proxy-Authorization: Basic bWU6cHc=\r\n" in server.requests[0]


@pytest.fixture
def make_cert(tmp_path: Path) -> Callable[[str], Path]:
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("no openssl to make a certificate with")

    def make(name: str) -> Path:
        both = tmp_path / "both.pem"
        subprocess.run(
            [
                openssl,
                "req",
                "-x509",
                "-newkey",
                "ec",
                "-pkeyopt",
                "ec_paramgen_curve:P-256",
                "-nodes",
                "-days",
                "2",
                "-subj",
                f"/CN={name}",
                "-addext",
                f"subjectAltName=DNS:{name}",
                "-keyout",
                "key.pem",
                "-out",
                "cert.pem",
            ],
            cwd=tmp_path,
            check=True,
            capture_output=True,
        )
        both.write_text((tmp_path / "cert.pem").read_text() + (tmp_path / "key.pem").read_text())
        return both

    return make


def test_tls_trusts_the_configured_certificate(make_cert: Callable[[str], Path]) -> None:
    both = make_cert("master.inside")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(both)
    pem = both.with_name("cert.pem").read_text()
    with Server(context) as server:
        url = f"https://127.0.0.1:{server.port}"

        def answers(cert: Cert) -> bool:
            with UnauthSession(url, cert, max_retries=0) as session:
                try:
                    return session.get("/x").ok
                except errors.MasterNotFoundException:
                    return False

        assert answers(Cert(pem, name="master.inside"))
        assert answers(Cert(noverify=True))
        assert not answers(Cert(pem))  # the certificate names another host
        assert not answers(Cert(name="master.inside"))  # and is signed by nobody known
