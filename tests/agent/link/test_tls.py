"""How the agent trusts the master, and what it says when it does not."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

import pytest
from tests.agent_link import spec
from tests.certificates import Authority, encrypted_key
from tests.covers import covers

from determined_agent.link.tls import (
    MASTER_CERT_FILE,
    BadTlsFile,
    link_context,
    problem_in_words,
    task_variables,
    with_trust,
)
from determined_agent.settings.options import SecuritySettings, Settings, TlsSettings
from determined_master.server.tls import server_context
from determined_master.settings.security import Tls
from determined_wire.agent_link import File


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
    """Why a connection of the agent to such a server fails; None when both sides take it."""
    tls = ours.security.tls
    context = link_context(tls)
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
            if step != server.do_handshake:  # what the server refuses reaches us as an alert
                failure = failure or error
    return failure


def told(ours: Settings, theirs: ssl.SSLContext) -> str | None:
    failure = handshake(ours, theirs)
    return None if failure is None else problem_in_words(failure, ours)


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
        text = told(ours, theirs)
        assert text is not None
        assert text.startswith("the certificate of master.example is signed by nobody whom")
        assert "set security.tls.master_cert to a file with it" in text


@covers("agent-config 2.tls.skip_verify")
def test_any_certificate_is_taken_when_none_is_verified(authority: Authority) -> None:
    theirs = server(authority.sign("somebody.example", ends=-1))
    assert handshake(settings(skip_verify=True), theirs) is None


@covers("agent-config 2.tls.master_cert_name")
def test_the_name_to_expect_can_be_set_and_a_wrong_one_is_named(authority: Authority) -> None:
    theirs = server(authority.sign("inner.example"))
    trusting: dict[str, Any] = {"master_cert": authority.cert}
    assert handshake(settings(**trusting, master_cert_name="inner.example"), theirs) is None
    assert told(settings(**trusting), theirs) == (
        "the certificate of master.example does not carry the name 'master.example': set "
        "security.tls.master_cert_name to a name that it carries"
    )


@pytest.mark.parametrize(
    ("begins", "ends", "said"),
    [
        (-10, -1, "has expired: renew the master's security.tls.cert"),
        (5, 20, "is not valid yet: check both machines' clocks"),
    ],
)
def test_a_certificate_outside_its_time_is_named(
    authority: Authority, begins: int, ends: int, said: str
) -> None:
    theirs = server(authority.sign("master.example", begins=begins, ends=ends))
    text = told(settings(master_cert=authority.cert), theirs)
    assert text == f"the certificate of master.example {said}"


@covers("agent-config 2.tls.client")
def test_the_agents_own_certificate_is_shown_and_a_strange_one_is_named(
    authority: Authority, tmp_path: Path
) -> None:
    theirs = server(authority.sign("master.example"), client_ca=authority.cert)
    good = authority.sign("agent-1")
    strange = Authority(tmp_path, "other").sign("agent-1")
    trusting: dict[str, Any] = {"master_cert": authority.cert}
    ours = settings(**trusting, client_cert=good.cert, client_key=good.key)
    assert handshake(ours, theirs) is None
    ours = settings(**trusting, client_cert=strange.cert, client_key=strange.key)
    text = told(ours, theirs)
    assert text is not None
    assert text.startswith(f"the master does not take the certificate {strange.cert}")
    assert "signed by an authority of the master's resource_manager.client_ca" in text


def test_a_port_without_tls_is_named(authority: Authority) -> None:
    context = link_context(settings(master_cert=authority.cert).security.tls)
    assert context is not None
    answer = ssl.MemoryBIO()
    answer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    client = context.wrap_bio(answer, ssl.MemoryBIO(), server_hostname="master.example")
    with pytest.raises(ssl.SSLError) as caught:
        client.do_handshake()
    assert problem_in_words(caught.value, settings()) == (
        "master.example:8443 speaks no TLS: unset security.tls.enabled, or correct master_port"
    )
    assert problem_in_words(OSError("refused"), settings()) is None


@pytest.mark.parametrize("name", ["master_cert", "client_cert", "client_key"])
def test_a_file_that_is_not_there_is_named(
    authority: Authority, tmp_path: Path, name: str
) -> None:
    pair = authority.sign("agent-1")
    files = {"client_cert": pair.cert, "client_key": pair.key, name: tmp_path / "none"}
    with pytest.raises(BadTlsFile, match=rf"security\.tls\.{name} .*none cannot be read: No such"):
        link_context(settings(**files).security.tls)


def test_a_file_that_holds_something_else_is_named(authority: Authority, tmp_path: Path) -> None:
    pair = authority.sign("agent-1")
    text = tmp_path / "text"
    text.write_text("no certificate")
    with pytest.raises(BadTlsFile, match="holds no certificate in PEM form"):
        link_context(settings(master_cert=text).security.tls)
    for key in (text, encrypted_key(tmp_path / "encrypted"), authority.sign("other").key):
        with pytest.raises(BadTlsFile, match="name a certificate and its key, not encrypted"):
            link_context(settings(client_cert=pair.cert, client_key=key).security.tls)


@covers("agent-config 2.tls.enabled")
def test_without_tls_there_is_nothing_to_trust() -> None:
    assert link_context(TlsSettings()) is None
    assert task_variables(TlsSettings(skip_verify=True)) == {}


def test_tasks_trust_the_master_as_their_agent_does(authority: Authority) -> None:
    ours = settings(master_cert=authority.cert, master_cert_name="n").security.tls
    assert task_variables(ours) == {
        "DET_MASTER_CERT_FILE": MASTER_CERT_FILE,
        "DET_MASTER_CERT_NAME": "n",
    }
    assert task_variables(settings(skip_verify=True).security.tls) == {
        "DET_MASTER_CERT_FILE": "noverify"
    }
    sent = File(MASTER_CERT_FILE, b"of the master", 0o644, is_root_owned=True)
    other = File("/run/determined/other", b"")
    [kept, trusted] = with_trust(spec("pass", files=(sent, other)), ours).files
    assert kept == other
    assert trusted.content == b"of the master\n" + authority.pem
    assert (trusted.path, trusted.mode) == (MASTER_CERT_FILE, 0o644)
    unchanged = spec("pass", files=(sent,))
    assert with_trust(unchanged, settings().security.tls) == unchanged
