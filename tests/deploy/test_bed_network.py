"""What a bed's Docker daemon changes of the machine's network is put back."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.docker_daemon import missing
from tests.watchdog import Watchdog, unmount

NETWORK = Path(__file__).parent / "bed/network.sh"
# As `up` and `down` of a bed start and end it, in namespaces of its own.
DAEMON = """
cd "$1"
cp /etc/hosts hosts
mount --bind hosts /etc/hosts
ip link set lo up
[ "$2" = none ] || { ip link add docker0 type bridge; ip address add 172.30.9.1/24 dev docker0; }
[ "$2" != rules ] || {
  iptables -t nat -N DOCKER
  iptables -t nat -A DOCKER -p tcp --dport 80 -j DNAT --to-destination 172.30.9.2:80
  iptables -P FORWARD DROP
}
state() {
  ip -br link | cut -c 1-16
  for table in filter nat; do iptables -t "$table" -S; done # makes the tables that are not there
  cat /proc/sys/net/ipv4/ip_forward /etc/hosts
}
state >before
mkdir saved
"$3" save saved
dockerd -H "unix://$1/socket" --data-root "$1/data" --exec-root "$1/exec" --pidfile "$1/pid" \
  >log 2>&1 </dev/null &
daemon=$!
until [ -S socket ] && docker -H "unix://$1/socket" version >/dev/null 2>&1; do
  kill -0 "$daemon" || { cat log; exit 1; }
  sleep 0.1
done
echo '127.0.0.1 testbed-node' >>/etc/hosts
state >during
kill "$daemon"
wait "$daemon" || :
"$3" restore saved
state >after
"""

pytestmark = [pytest.mark.slow, pytest.mark.docker, pytest.mark.xdist_group("docker")]


@pytest.fixture
def directory() -> Iterator[Path]:
    if (reason := missing()) is not None:
        pytest.skip(f"no Docker here: {reason}")
    with tempfile.TemporaryDirectory(prefix="det-bed-", dir="/tmp") as made, Watchdog(Path(made)):
        yield Path(made)
        unmount(made)


@pytest.mark.parametrize("kind", ["none", "bridge", "rules"])
def test_a_machines_docker_is_as_it_was_before_the_bed(directory: Path, kind: str) -> None:
    """Without a Docker, with its bridge alone, and with rules of its containers."""
    command = [
        *("unshare", "--net", "--mount"),
        "sh",
        "-euc",
        DAEMON,
        "sh",
        str(directory),
        kind,
        str(NETWORK),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    before, during, after = (
        (directory / name).read_text().splitlines() for name in ("before", "during", "after")
    )
    assert "docker0" in " ".join(during)
    assert "-N DOCKER" in " ".join(during)
    assert after == before
