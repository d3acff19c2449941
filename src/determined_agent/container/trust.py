"""The certificates and variables by which tasks trust the master as their agent does."""

from __future__ import annotations

from pathlib import Path

import msgspec

from determined_agent.settings.options import TlsSettings
from determined_wire.agent_link import ContainerSpec, File

MASTER_CERT_FILE = "/run/determined/etc/ssl/master.crt"
"""Path in the container of the certificates to trust."""


def with_master_certificate(spec: ContainerSpec, tls: TlsSettings) -> ContainerSpec:
    """Add the authorities that this agent trusts to a task's specification.

    They are added to those that the master has sent, since a proxy in front of the master may
    have a certificate of its own. Raises OSError.
    """
    if not tls.enabled or not tls.master_cert:
        return spec
    certificates = [f.content for f in spec.files if f.path == MASTER_CERT_FILE]
    others = tuple(f for f in spec.files if f.path != MASTER_CERT_FILE)
    content = b"\n".join([*certificates, Path(tls.master_cert).read_bytes()])
    trusted = File(MASTER_CERT_FILE, content, 0o644, is_root_owned=True)
    return msgspec.structs.replace(spec, files=(*others, trusted))


def tls_variables(tls: TlsSettings) -> dict[str, str]:
    """Return the variables by which tasks verify the master as this agent does."""
    variables = {}
    if tls.enabled and tls.skip_verify:
        variables["DET_MASTER_CERT_FILE"] = "noverify"
    elif tls.enabled and tls.master_cert:
        variables["DET_MASTER_CERT_FILE"] = MASTER_CERT_FILE
    if tls.master_cert_name:
        variables["DET_MASTER_CERT_NAME"] = tls.master_cert_name
    return variables
