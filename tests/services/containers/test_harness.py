"""The archives that tasks fetch from the master."""

from __future__ import annotations

import io
import platform
import tarfile

import pytest

from determined_master.domain.errors import NotFound
from determined_master.services.containers import harness
from determined_master.services.containers.harness import Harness


def names(content: bytes) -> list[str]:
    with tarfile.open(fileobj=io.BytesIO(content), mode="r:gz") as archive:
        return archive.getnames()


@pytest.mark.slow
async def test_the_harness_has_no_client_of_buckets_which_has_its_own_archive() -> None:
    made = Harness()
    assert not any(name.startswith("obstore/") for name in names(await made.archive()))
    client = await made.storage_client(platform.machine())
    assert {"obstore/__init__.py", "certifi/cacert.pem"} <= set(names(client))
    assert any(name.endswith(".so") for name in names(client))
    assert await made.storage_client(platform.machine()) is client


async def test_a_client_for_another_architecture_is_refused_with_the_remedy() -> None:
    with pytest.raises(NotFound, match=r"'riscv64': install obstore in the task's image"):
        await Harness().storage_client("riscv64")


async def test_a_master_without_the_client_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(harness, "STORAGE_CLIENT", ("not_installed_anywhere",))
    with pytest.raises(NotFound, match="not_installed_anywhere is not installed beside the mas"):
        await Harness().storage_client(platform.machine())
