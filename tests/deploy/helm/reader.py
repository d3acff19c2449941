"""Somebody who follows the page on installing, with the bed's file of values beside the page's."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import yaml
from tests import pages
from tests.deploy.bed.release import Place
from tests.deploy.bed.services import Json
from tests.deploy.helm.conftest import Bed

from determined_deploy.kubernetes.helm import find_helm

ROOT = Path(__file__).parents[3]
PAGE = "deploy-kubernetes.md"


class Reader:
    """Somebody in a directory with `deploy` and `examples` of the checkout."""

    def __init__(self, bed: Bed, place: Place) -> None:
        self.kubectl = bed.kubectl
        self.home = place.root
        self.password = ""
        self.cluster = ""
        """The cluster's id, once it is read."""
        self.pod = ""
        """The uid of the pod of a command that does not end."""
        self._programs()
        [values] = pages.examples(PAGE)
        (self.home / "values.yaml").write_text(values)
        (self.home / "bed.yaml").write_text(yaml.safe_dump(place.values()))
        for name in ("deploy", "examples"):
            (self.home / name).symlink_to(ROOT / name)
        self._env = {
            **{k: v for k, v in os.environ.items() if not k.startswith("DET_")},
            **bed.build,
            "PATH": f"{self.home / 'bin'}:{os.environ['PATH']}",
            "HOME": str(self.home),
            "KUBECONFIG": bed.kubectl.kubeconfig,
        }
        (self.home / "exported").touch()

    def _programs(self) -> None:
        programs = self.home / "bin"
        programs.mkdir()
        det = programs / "det"
        det.write_text(f'#!/bin/sh\nexec {sys.executable} -m determined.cli "$@"\n')
        det.chmod(0o755)
        (programs / "helm").symlink_to(str(find_helm()))

    def do(self, command: str) -> str:
        """Run a command in the shell; what it prints. It must succeed."""
        done = self.tried(command)
        assert done.returncode == 0, (command, done.stdout[-3000:], done.stderr[-3000:])
        return done.stdout

    def tried(self, command: str) -> subprocess.CompletedProcess[str]:
        """Run a command, after what others before it have exported.

        Questions are answered with yes, and that for a password with the password.
        """
        command = command.replace("--values values.yaml", "--values values.yaml --values bed.yaml")
        command = re.sub(r"=ID$", f"={self.cluster}", command)
        script = f". ./exported\n{command}\nexport -p >exported"
        typed = self.password if " login " in command else "y"
        return subprocess.run(
            ["/bin/sh", "-ec", script],
            cwd=self.home,
            env=self._env,
            input=f"{typed}\n",
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
        )

    def runs_on(self) -> bool:
        """Whether the pod of the command is the one that it was at first."""
        pods = self.of_tasks("pods")
        uids = [p["metadata"]["uid"] for p in pods if p["status"]["phase"] == "Running"]
        return self.pod in uids

    def of_tasks(self, kind: str) -> list[Json]:
        """The objects of tasks; other masters may share the cluster."""
        return self.kubectl.get(kind, "-l", f"determined.ai/cluster_id={self.cluster}")

    def of_release(self, kinds: str) -> list[str]:
        """The release's objects of these kinds."""
        names = self.kubectl("get", kinds, "-o", "name").split()
        helm = "secret/sh.helm.release.v1.determined."
        return sorted(n for n in names if n.endswith("-determined") or n.startswith(helm))

    def clear(self) -> None:
        """Remove what is left of a page that was not followed to its end, and the images."""
        self.tried("helm uninstall determined --wait --cascade foreground")
        for left in ("pvc/determined-db-pvc-determined", "secret/determined-passwords-determined"):
            self.kubectl("delete", left, "--ignore-not-found")
        if self.cluster:
            for kinds in ("pods", "priorityclasses"):
                label = f"determined.ai/cluster_id={self.cluster}"
                self.kubectl("delete", kinds, "-l", label)
        form = "{{.Repository}}:{{.Tag}}"
        listed = self.do(f"docker image ls --format '{form}' 'registry.example/*/*'")
        self.do(f"docker rmi --force {' '.join(listed.split())}")
