"""The certificates and variables that tasks get to verify the master."""

from __future__ import annotations

from pathlib import Path

from tests.agent_link import spec

from determined_agent.container.trust import (
    MASTER_CERT_FILE,
    tls_variables,
    with_master_certificate,
)
from determined_agent.settings.options import TlsSettings
from determined_wire.agent_link import File

PEM = b"-----BEGIN CERTIFICATE-----"


def test_without_tls_tasks_get_no_variables() -> None:
    assert tls_variables(TlsSettings(skip_verify=True)) == {}


def test_tasks_trust_the_master_as_their_agent_does(tmp_path: Path) -> None:
    file = tmp_path / "master.crt"
    file.write_bytes(PEM)
    tls = TlsSettings(enabled=True, master_cert=str(file), master_cert_name="n")
    assert tls_variables(tls) == {
        "DET_MASTER_CERT_FILE": MASTER_CERT_FILE,
        "DET_MASTER_CERT_NAME": "n",
    }
    assert tls_variables(TlsSettings(enabled=True, skip_verify=True)) == {
        "DET_MASTER_CERT_FILE": "noverify"
    }
    sent = File(MASTER_CERT_FILE, b"of the master", 0o644, is_root_owned=True)
    other = File("/run/determined/other", b"")
    [kept, trusted] = with_master_certificate(spec("pass", files=(sent, other)), tls).files
    assert kept == other
    assert trusted.content == b"of the master\n" + PEM
    assert (trusted.path, trusted.mode) == (MASTER_CERT_FILE, 0o644)
