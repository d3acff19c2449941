"""Keys between containers: OpenSSH takes them, and they are the same for the same seed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from determined_master.domain.task.ssh_files import ssh_files
from determined_master.services.access.task_tokens import TaskTokens
from determined_master.services.containers.ssh_keys import derive_key_pair

SEED = bytes(range(32))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("key_type", "bits", "shown"),
    [
        ("ED25519", 0, "256 SHA256:* (ED25519)"),
        ("ECDSA", 0, "256 SHA256:* (ECDSA)"),
        ("RSA", 1536, "1536 SHA256:* (RSA)"),
        ("RSA", 1, "1024 SHA256:* (RSA)"),
    ],
)
def test_openssh_takes_the_keys_of_each_type(
    tmp_path: Path, key_type: str, bits: int, shown: str
) -> None:
    if shutil.which("ssh-keygen") is None:
        pytest.skip("ssh-keygen is not installed (Debian's package openssh-client)")
    pair = derive_key_pair(SEED, key_type, bits)
    path = tmp_path / "key"
    path.write_bytes(pair.private)
    path.chmod(0o600)
    public = subprocess.run(["ssh-keygen", "-y", "-f", path], capture_output=True, check=True)
    assert public.stdout.split()[:2] == pair.public.split()[:2]
    told = subprocess.run(["ssh-keygen", "-l", "-f", path], capture_output=True, text=True)
    words = told.stdout.split()
    assert (words[0], words[-1]) == (shown.split()[0], shown.split()[-1])


@pytest.mark.parametrize("key_type", ["ED25519", "ECDSA"])
def test_the_same_seed_gives_the_same_keys_and_another_one_others(key_type: str) -> None:
    first = derive_key_pair(SEED, key_type, 0)
    derive_key_pair.cache_clear()
    assert derive_key_pair(SEED, key_type, 0).public == first.public
    assert derive_key_pair(bytes(32), key_type, 0).public != first.public


def test_experiments_and_clusters_have_keys_of_their_own() -> None:
    seeds = {TaskTokens(secret).ssh_seed(n) for secret in (b"a", b"b") for n in (1, 2)}
    assert len(seeds) == 4
    assert {len(seed) for seed in seeds} == {32}


def test_the_private_key_is_its_owners_alone() -> None:
    files = {f.path: f for f in ssh_files(derive_key_pair(SEED, "ED25519", 0))}
    assert files["/run/determined/ssh/id_rsa"].mode == 0o600
    assert files["/run/determined/ssh/authorized_keys"].content.startswith(b"ssh-ed25519 ")
    assert files["/etc/ssh/ssh_config"].is_root_owned
