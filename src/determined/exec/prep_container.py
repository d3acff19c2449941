"""The preparation steps of a task, one by one, for scripts in images that call them."""

from __future__ import annotations

import argparse
import os
import sys
from typing import List

from determined._constants import run_dir
from determined._info import write_info
from determined.common.api._task_session import TaskSession
from determined.exec._container import (
    accelerators,
    context_directory,
    environment,
    rendezvous,
)
from determined.exec._log import EntryFailed, log


def main(argv: List[str]) -> int:
    """Run the steps that the flags name, in this order: context, resources, rendezvous."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--download_context_directory", action="store_true")
    parser.add_argument("--resources", action="store_true")
    parser.add_argument("--rendezvous", action="store_true")
    parser.add_argument("--proxy", action="store_true", help="nothing to do for containers")
    parser.add_argument("--notify_container_running", action="store_true", help="nothing to do")
    args = parser.parse_args(argv)
    env = os.environ
    environment.set_up(env)
    session = TaskSession.from_environment(env)
    if args.download_context_directory:
        context_directory.fetch(session, env, os.getcwd())
    if args.resources:
        found = accelerators.detect()
        write_info(os.path.join(run_dir(), "info"), "resources.json", {"gpu_uuids": found.uuids})
        accelerators.describe(env, found)
        accelerators.report(session, env, found)
    if args.rendezvous:
        rendezvous.wait_for_containers(session, env)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except EntryFailed as error:
        log(str(error), "ERROR")
        sys.exit(error.code)
