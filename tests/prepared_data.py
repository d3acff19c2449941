"""A data directory as a master's first start leaves it: made once a run, copied for each cluster.

Making one takes more than half of a first start. That first starts work is proven where masters
are started on nothing: `tests/test_main.py`, `tests/e2e/test_local_cluster.py`, the demo.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import subprocess
from pathlib import Path

from determined_master.store.db import connect, embedded_address
from determined_master.store.embedded.answers import connection_options
from determined_master.store.embedded.files import Layout
from determined_master.store.embedded.start import ensure_data, launch, stop
from determined_master.store.migrate import migrate

ROOT_OF_RUN = "DETERMINED_TEST_POSTGRES"
"""Variable with a directory that is gone at the end of the run."""


def copy_prepared_data(target: Path) -> None:
    """Give a master its data directory; nothing outside of a run of tests."""
    root = os.environ.get(ROOT_OF_RUN)
    if root is None:
        return
    made = Path(root) / "prepared"
    with (Path(root) / "preparing").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        if not made.exists():
            asyncio.run(_prepare(Path(root) / "being-prepared"))
            (Path(root) / "being-prepared").rename(made)
    target.parent.mkdir(parents=True, exist_ok=True)
    # Owners and modes too: the server's account is another one where root runs the tests.
    subprocess.run(["cp", "-a", str(made), str(target)], check=True)


async def _prepare(root: Path) -> None:
    layout = Layout(root)
    await ensure_data(layout, is_durable=False)
    server = await launch(layout, is_durable=False)
    try:
        conn = await connect(embedded_address(connection_options(layout)))
        try:
            await migrate(conn)
        finally:
            await conn.close()
    finally:
        await stop(layout, server)
    layout.log.unlink()
