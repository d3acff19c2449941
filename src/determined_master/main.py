"""`determined-master`: runs the master, or saves and restores its database."""

from __future__ import annotations

import logging
import os
import sys

import uvloop

from determined_master import __version__
from determined_master.domain.errors import DetError
from determined_master.server.garbage import tune_garbage_collector
from determined_master.server.logs import configure_logging
from determined_master.settings import master as settings
from determined_master.settings.tenants import open_settings, tenants_report
from determined_master.store.errors import DatabaseError

log = logging.getLogger(__name__)

EXIT_INTERRUPTED = 130


def main() -> None:
    """Execute the command; exits with 1 and its text after an error that a user can mend."""
    try:
        chosen = settings.load(sys.argv[1:], os.environ)
        if chosen.command == "version":
            sys.stdout.write(f"determined-master {__version__}\n")
            return
        configure_logging(chosen.log.level)
        for warning in chosen.warnings:
            log.warning(warning)
        if chosen.command == "check":
            sys.exit(_check(chosen))
        tune_garbage_collector()
        simulated = chosen.run.simulate
        if simulated is not None and simulated.generate:
            from determined_master.composition import simulation

            sys.stdout.write(simulation.run_generated(simulated))
            return
        # More than a thousand modules, which no command above needs.
        from determined_master.run import run

        uvloop.run(run(chosen))
    except KeyboardInterrupt:
        # A serving master ends by itself; this was a start, or an incomplete backup.
        sys.exit(EXIT_INTERRUPTED)
    except (settings.SettingsError, DatabaseError, DetError, OSError) as error:
        sys.stderr.write(f"determined-master: {_error_text(error)}\n")
        sys.exit(1)


def _check(chosen: settings.Settings) -> int:
    """Print what is wrong with settings that can be read; the exit status."""
    if not chosen.run.tenants:
        sys.stdout.write("the settings have no errors\n")
        return 0
    sys.stdout.write(tenants_report(chosen))
    return 1 if open_settings(chosen) else 0


def _error_text(error: Exception) -> str:
    """An error's text; for a failed system call `thing: reason`."""
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror}"
    return str(error)


if __name__ == "__main__":
    main()
