"""Verifying the master's certificate, and the texts for failed handshakes."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

import pytest
from tests.certificates import Authority, encrypted_key
from tests.covers import covers

from determined_agent.link.tls import (
    TlsFileError,
    ssl_context,
    tls_error_text,
)
from determined_agent.settings.options import SecuritySettings, Settings, TlsSettings
from determined_master.server.tls import server_context
from determined_master.settings.security import Tls


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


def settings(**tls: Any) -> Settings:
    chosen = TlsSettings(
        enabled=True, **{k: str(v) if isinstance(v, Path) else v for k, v in tls.items()}
    )
    return Settings(
        master_host="master.example",
        master_port=8443,
        agent_id="a",
        security=SecuritySettings(tls=chosen),
    )


def handshake(ours: Settings, theirs: ssl.SSLContext) -> Exception | None:
    """Return why a connection to such a server fails; None if both sides accept it."""
    tls = ours.security.tls
    context = ssl_context(tls)
    assert context is not None
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    name = tls.master_cert_name or ours.master_host
    client = context.wrap_bio(to_client, to_server, server_hostname=name)
    server = theirs.wrap_bio(to_server, to_client, server_side=True)
    failure = None
    for step in (client.do_handshake, server.do_handshake) * 3 + (lambda: client.read(1),):
        try:
            step()
        except ssl.SSLWantReadError:
            continue
        except ssl.SSLError as error:
            if step != server.do_handshake:  # the server's refusal arrives as an alert
                failure = failure or error
    return failure


def error_of(ours: Settings, theirs: ssl.SSLContext) -> str | None:
    failure = handshake(ours, theirs)
    return None if failure is None else tls_error_text(failure, ours)


def server(pair: Any, client_ca: Path | None = None) -> ssl.SSLContext:
    tls = Tls(cert=str(pair.cert), key=str(pair.key))
    return server_context(tls, str(client_ca) if client_ca else "")


@covers("agent-config 2.tls.master_cert")
def test_a_master_is_trusted_by_its_authority_or_by_its_own_certificate(
    authority: Authority,
) -> None:
    pair = authority.sign("master.example", has_chain=False)
    for trusted in (authority.cert, pair.cert):
        assert handshake(settings(master_cert=trusted), server(pair)) is None


@covers("agent-config 2.tls.master_cert")
def test_a_master_of_another_authority_is_refused_with_the_remedy(
    authority: Authority, tmp_path: Path
) -> None:
    theirs = server(authority.sign("master.example"))
    for ours in (settings(), settings(master_cert=Authority(tmp_path, "other").cert)):
        text = error_of(ours, theirs)
        assert text is not None
        assert text.startswith("the certificate of master.example is not signed by an")
        assert "set security.tls.master_cert to a file with the certificate" in text


@covers("agent-config 2.tls.skip_verify")
def test_skip_verify_accepts_any_certificate(authority: Authority) -> None:
    theirs = server(authority.sign("somebody.example", ends=-1))
    assert handshake(settings(skip_verify=True), theirs) is None


@covers("agent-config 2.tls.master_cert_name")
def test_master_cert_name_sets_the_expected_name_and_the_error_names_a_wrong_one(
    authority: Authority,
) -> None:
    theirs = server(authority.sign("inner.example"))
    trusting: dict[str, Any] = {"master_cert": authority.cert}
    assert handshake(settings(**trusting, master_cert_name="inner.example"), theirs) is None
    assert error_of(settings(**trusting), theirs) == (
        "the certificate of master.example does not have the name 'master.example': set "
        "security.tls.master_cert_name to a name that it has"
    )


@pytest.mark.parametrize(
    ("begins", "ends", "expected"),
    [
        (-10, -1, "has expired: renew the master's security.tls.cert"),
        (5, 20, "is not valid yet: check both machines' clocks"),
    ],
)
def test_the_error_names_an_expired_or_not_yet_valid_certificate(
    authority: Authority, begins: int, ends: int, expected: str
) -> None:
    theirs = server(authority.sign("master.example", begins=begins, ends=ends))
    text = error_of(settings(master_cert=authority.cert), theirs)
    assert text == f"the certificate of master.example {expected}"


@covers("agent-config 2.tls.client")
def test_the_client_certificate_is_sent_and_the_error_names_an_untrusted_one(
    authority: Authority, tmp_path: Path
) -> None:
    theirs = server(authority.sign("master.example"), client_ca=authority.cert)
    good = authority.sign("agent-1")
    strange = Authority(tmp_path, "other").sign("agent-1")
    trusting: dict[str, Any] = {"master_cert": authority.cert}
    ours = settings(**trusting, client_cert=good.cert, client_key=good.key)
    assert handshake(ours, theirs) is None
    ours = settings(**trusting, client_cert=strange.cert, client_key=strange.key)
    text = error_of(ours, theirs)
    assert text is not None
    assert text.startswith(f"the master does not accept the certificate {strange.cert}")
    assert "signed by an authority of the master's resource_manager.client_ca" in text


def test_the_error_names_a_port_without_tls(authority: Authority) -> None:
    context = ssl_context(settings(master_cert=authority.cert).security.tls)
    assert context is not None
    answer = ssl.MemoryBIO()
    answer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    client = context.wrap_bio(answer, ssl.MemoryBIO(), server_hostname="master.example")
    with pytest.raises(ssl.SSLError) as caught:
        client.do_handshake()
    assert tls_error_text(caught.value, settings()) == (
        "master.example:8443 does not use TLS: unset security.tls.enabled, or correct master_port"
    )
    assert tls_error_text(OSError("refused"), settings()) is None


@pytest.mark.parametrize("name", ["master_cert", "client_cert", "client_key"])
def test_the_error_names_a_missing_file(authority: Authority, tmp_path: Path, name: str) -> None:
    pair = authority.sign("agent-1")
    files = {"client_cert": pair.cert, "client_key": pair.key, name: tmp_path / "none"}
    with pytest.raises(
        TlsFileError, match=rf"security\.tls\.{name} .*none cannot be read: No such"
    ):
        ssl_context(settings(**files).security.tls)


def test_the_error_names_a_file_with_wrong_content(authority: Authority, tmp_path: Path) -> None:
    pair = authority.sign("agent-1")
    text = tmp_path / "text"
    text.write_text("no certificate")
    with pytest.raises(TlsFileError, match="holds no certificate in PEM form"):
        ssl_context(settings(master_cert=text).security.tls)
    for key in (text, encrypted_key(tmp_path / "encrypted"), authority.sign("other").key):
        with pytest.raises(TlsFileError, match="name a certificate and its key, not encrypted"):
            ssl_context(settings(client_cert=pair.cert, client_key=key).security.tls)


@covers("agent-config 2.tls.enabled")
def test_without_tls_there_is_no_context() -> None:
    assert ssl_context(TlsSettings()) is None
