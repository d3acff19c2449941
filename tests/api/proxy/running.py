"""A master over a socket, with a database of its own."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Sequence

from tests.api.master import PASSWORD, running_services
from tests.api.proxy.proxied import Master, serving
from tests.ready_database import ready_database

from determined_master.api.app import Api
from determined_master.api.table import all_routes
from determined_master.services.access.auth import Auth
from determined_master.services.access.identities import Identities
from determined_master.services.access.passwords import Passwords
from determined_master.store.db import Address, open_database


@contextlib.asynccontextmanager
async def running_master(
    postgres: Address, passwords: Passwords, trusted: Sequence[str] = ()
) -> AsyncIterator[Master]:
    """A master, and a token of the user `determined`."""
    async with (
        ready_database(postgres) as address,
        await open_database(address, min_size=1) as pool,
        running_services(address, pool, passwords) as (services, _),
    ):
        api = Api(all_routes(), services, services[Identities])
        async with serving(api, trusted=trusted) as port:
            opened = await services[Auth].login("determined", PASSWORD, is_hashed=False)
            yield Master(services, port, opened.token)
        api.close()
