"""The firewall table has the ports of the code, each of them and no others."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec import structs
from tests.certificates import Authority
from tests.master_settings import read

from determined_agent.settings.options import Settings as AgentSettings
from determined_deploy.aws.resources import network
from determined_deploy.cloud.options import services_port
from determined_master.domain.task.gang_ports import TRIAL_PORTS
from determined_master.domain.task.kinds import TASK_KINDS
from determined_master.domain.task.spec import RENDEZVOUS_PORT
from determined_master.settings.sections import Database

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "agents-and-runtimes.md"
PUBLISHED = {32768, 60999}
"""The first and last port that Linux chooses, and Docker with it."""
UNPRIVILEGED = {1024}
WEB = {80, 443}
OLDER = {1734, 1750, 12355}
"""Ports of older releases, which the documents of 0.38.1 name."""


def rows() -> Iterator[tuple[str, set[int]]]:
    """The purpose and the ports of each row."""
    text = PAGE.read_text().partition("### Firewall\n")[2].partition("\n### ")[0]
    for line in text.splitlines():
        if line.startswith("| ") and not line.startswith("| from"):
            _, _, ports, purpose = (cell.strip() for cell in line.strip("|").split(" | "))
            yield purpose, {int(number) for number in re.findall(r"\b\d{2,5}\b", ports)}


def ports_of_masters(tmp_path: Path) -> set[int]:
    plain = read(tmp_path, "")
    pair = Authority(tmp_path).sign("master.example")
    secure = read(tmp_path, f"security: {{tls: {{cert: {pair.cert}, key: {pair.key}}}}}")
    return {port for one in (plain, secure) for port in (one.port, services_port(one.port))}


def debugging_port() -> int:
    """The port of an agent's `api_enabled`."""
    defaults = {field.name: field.default for field in structs.fields(AgentSettings)}
    return int(defaults["bind_port"])


def ports_of_servers() -> set[int]:
    ranges = [kind.server_ports for kind in TASK_KINDS.values() if kind.server_ports]
    return {port for one in ranges for port in (one[0], one[-1])}


def test_the_table_has_each_port_of_the_code_and_no_other(tmp_path: Path) -> None:
    clouds = {network.DATABASE_PORT, network.NFS_PORT, network.SSH_PORT}
    used = {
        *ports_of_masters(tmp_path),
        *TRIAL_PORTS.values(),
        *ports_of_servers(),
        *clouds,
        Database().port,
        debugging_port(),
        *PUBLISHED,
        *UNPRIVILEGED,
        *WEB,
    }
    assert {port for _, ports in rows() for port in ports} == used
    assert not used & OLDER
    assert RENDEZVOUS_PORT in OLDER


def test_the_ports_of_tensorboards_stand_in_their_row() -> None:
    [ports] = [ports for purpose, ports in rows() if "TensorBoard" in purpose]
    first_to_last = TASK_KINDS["TENSORBOARD"].server_ports
    assert first_to_last is not None
    assert ports == {first_to_last[0], first_to_last[-1]}


@pytest.mark.parametrize("page", ["deploy-aws.md", "deploy-gcp.md", "provisioning.md"])
def test_pages_of_clouds_lead_to_the_table(page: str) -> None:
    assert "(agents-and-runtimes.md#firewall)" in (DOCS / page).read_text()


@pytest.mark.parametrize("port", sorted(OLDER))
def test_the_page_says_that_ports_of_older_releases_are_not_used(port: int) -> None:
    assert str(port) in PAGE.read_text().partition("### Firewall\n")[2].partition("\n### ")[0]
