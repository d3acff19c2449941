"""The page of an experiment whose stored data cannot be read says so."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect
from tests.webui.conftest import Site
from tests.webui.scene import new_place

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.xdist_group("webui-2")]

CHANGE = """
import asyncio, pathlib
import asyncpg
from determined_master.store.embedded.answers import connection_options
from determined_master.store.embedded.files import Layout

async def main() -> None:
    conn = await asyncpg.connect(**connection_options(Layout(pathlib.Path.cwd() / "db" / "pg")))
    await conn.execute(QUERY)
    await conn.close()

asyncio.run(main())
"""
LOSE = "UPDATE experiments SET config = jsonb_build_object('lost', config) WHERE id = {}"
MEND = "UPDATE experiments SET config = config -> 'lost' WHERE id = {}"


def test_the_page_of_a_broken_experiment_says_what_is_wrong(site: Site, admin: Any) -> None:
    cluster = site.cluster
    experiment = new_place(cluster, "broken").submit("pass")
    cluster.wait(experiment)
    cluster.run_script(CHANGE.replace("QUERY", repr(LOSE.format(experiment))))
    try:
        page = admin.goto(f"/experiments/{experiment}/overview")
        expect(page.get_by_role("heading", level=1)).to_have_text(f"Experiment {experiment}")
        expect(page.get_by_text(f"experiment {experiment} cannot be shown")).to_be_visible()
        expect(page.get_by_text("its stored data cannot be read (KeyError")).to_be_visible()
    finally:
        cluster.run_script(CHANGE.replace("QUERY", repr(MEND.format(experiment))))
    admin.goto(f"/experiments/{experiment}/overview")
    expect(page.get_by_text("cannot be shown")).to_have_count(0)
