"""The master's certificate: what is read, what is refused, and what its admin is told."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import ssl
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cryptography import x509
from tests.agent_link import until
from tests.certificates import Authority, Pair, encrypted_key

from determined_master.server.tls import follow_renewals, lifetime_warning, server_context
from determined_master.settings.master import SettingsError, load
from determined_master.settings.security import Tls


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def pair(authority: Authority) -> Pair:
    return authority.sign("master.example")


def problems(tmp_path: Path, *argv: str) -> list[str]:
    file = tmp_path / "master.yaml"
    file.touch()
    with pytest.raises(SettingsError) as caught:
        load(["--config-file", str(file), *argv], {"HOME": "/home/ada"})
    return [line.strip() for line in str(caught.value).split("\n")[1:]]


def flags(cert: Path, key: Path) -> tuple[str, ...]:
    return "--security-tls-cert", str(cert), "--security-tls-key", str(key)


def test_nothing_older_than_tls_1_2_is_spoken_and_no_certificate_is_asked_for(pair: Pair) -> None:
    context = server_context(Tls(cert=str(pair.cert), key=str(pair.key)))
    assert context.minimum_version == ssl.TLSVersion.TLSv1_2
    assert context.verify_mode == ssl.CERT_NONE


def test_agents_certificates_are_asked_for_and_not_demanded_of_browsers(
    authority: Authority, pair: Pair
) -> None:
    context = server_context(Tls(cert=str(pair.cert), key=str(pair.key)), str(authority.cert))
    assert context.verify_mode == ssl.CERT_OPTIONAL


async def test_a_certificate_that_is_renewed_is_served_without_a_restart(
    authority: Authority, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    old, new = authority.sign("renewed.example", ends=3), Authority(tmp_path, "new")
    tls = Tls(cert=str(tmp_path / "cert"), key=str(tmp_path / "key"))
    shutil.copy(old.cert, tls.cert)
    shutil.copy(old.key, tls.key)
    context = server_context(tls)
    before = shown(context)
    following = asyncio.create_task(follow_renewals(context, tls, every_s=0.005))
    try:
        await until(lambda: "expires on" in caplog.text)
        renewed = new.sign("renewed.example", has_chain=False)
        shutil.copy(renewed.cert, tls.cert)  # and not yet its key
        await until(lambda: "a renewed certificate cannot be used" in caplog.text)
        assert shown(context) == before
        shutil.copy(renewed.key, tls.key)
        await until(lambda: "a renewed certificate is served" in caplog.text)
        assert shown(context) == ssl.PEM_cert_to_DER_cert(renewed.cert.read_text())
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)


def shown(server: ssl.SSLContext) -> bytes | None:
    """The certificate that a client is shown."""
    trusting = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    up, down = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = trusting.wrap_bio(down, up)
    other = server.wrap_bio(up, down, server_side=True)
    for step in (client.do_handshake, other.do_handshake, client.do_handshake):
        with contextlib.suppress(ssl.SSLWantReadError):
            step()
    return client.getpeercert(binary_form=True)


def test_files_that_cannot_be_used_are_named_with_the_remedy(
    authority: Authority, pair: Pair, tmp_path: Path
) -> None:
    text = tmp_path / "text"
    text.write_text("nothing")
    other, encrypted = authority.sign("other").key, encrypted_key(tmp_path / "encrypted")
    none = tmp_path / "none"
    said = {
        (none, pair.key): f"cert: {none} cannot be read: No such file or directory; name a file",
        (text, pair.key): f"cert: {text} holds no certificate in PEM form: put the chain there",
        (pair.cert, none): f"key: {none} cannot be read: No such file or directory; name a file",
        (pair.cert, text): f"key: {text} holds no private key in PEM form",
        (pair.cert, other): f"key: {other} is not the key of {pair.cert}: name the two",
        (pair.cert, encrypted): f"key: {encrypted} is encrypted: decrypt it",
    }
    for (cert, key), wanted in said.items():
        [found] = problems(tmp_path, *flags(cert, key))
        assert found.startswith(f"root.security.tls.{wanted}")


def test_certificates_of_agents_need_https_and_an_authority(pair: Pair, tmp_path: Path) -> None:
    wanted = ("--resource-manager-require-authentication", "true")
    assert [p.split(": ")[0] for p in problems(tmp_path, *wanted)] == [
        "root.resource_manager.client_ca",
        "root.resource_manager.require_authentication",
    ]
    [found] = problems(tmp_path, "--resource-manager-verify-agent-ids", "true")
    assert found.startswith("root.resource_manager.verify_agent_ids: has no effect")
    key = ("--resource-manager-client-ca", str(pair.key))
    [found] = problems(tmp_path, *flags(pair.cert, pair.key), *wanted, *key)
    assert found.startswith(
        f"root.resource_manager.client_ca: {pair.key} holds no certificate in PEM form"
    )


@pytest.mark.parametrize(
    ("begins", "ends", "said"),
    [
        (-10, 90, None),
        (-10, 13, "expires on {}: renew it"),
        (-10, -1, "has expired on {}; agents, tasks and users refuse it: renew it"),
        (5, 20, "is valid only from"),
    ],
)
def test_a_warning_is_logged_before_the_certificate_expires(
    authority: Authority, begins: int, ends: int, said: str | None
) -> None:
    cert = authority.sign("aging.example", begins=begins, ends=ends).cert
    now = datetime.now(UTC)
    warning = lifetime_warning(str(cert), now)
    if said is None:
        assert warning is None
    else:
        assert warning is not None
        leaf = x509.load_pem_x509_certificates(cert.read_bytes())[0]
        day = f"{leaf.not_valid_after_utc:%Y-%m-%d}"
        assert warning.startswith(f"the certificate {cert} {said.format(day)}")
