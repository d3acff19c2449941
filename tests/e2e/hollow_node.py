"""A hollow node of a real cluster: it accepts pods and runs nothing."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tests.free_ports import free_port

ALONE = """
exec 3<"$1"
mount -t tmpfs hollow /tmp
cat <&3 >/tmp/kubeconfig
shift
exec "$@" --kubeconfig=/tmp/kubeconfig 3<&-
"""
"""Every hollow kubelet serves its runtime at /tmp/kubelet_remote.sock.

Kubelets with a common /tmp meet in one runtime: each ends the pods of the others, which it does
not know, and one that starts beside another may find no socket and end.
"""


@contextlib.contextmanager
def hollow_node(program: str, name: str, kubeconfig: str, directory: Path) -> Iterator[None]:
    """A node that joins the cluster, with a /tmp of its own; needs root.

    Args:
        program: kubemark.
        name: of the node, which stays listed when the program has ended.
        kubeconfig: of the cluster.
        directory: has the output of the program as NAME.log.
    """
    ports = [f"--kubelet-port={free_port()}", "--kubelet-read-only-port=0"]
    command = [program, "--morph=kubelet", f"--name={name}", *ports]
    inside = ["sh", "-ec", ALONE, "hollow", os.path.abspath(kubeconfig), *command]
    alone = ["unshare", "--mount", *inside]
    output = (directory / f"{name}.log").open("wb")
    with output, subprocess.Popen(alone, stdout=output, stderr=output) as process:
        try:
            yield
        finally:
            process.terminate()
