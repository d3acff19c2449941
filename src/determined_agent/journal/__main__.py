"""The service: `determined-journal TARGET`, such as `google`.

It follows the journal from where the last run ended. A restart sends at most the last batch twice.
While the cloud does not answer, nothing more is read: journald keeps it, within its own limits.
"""

from __future__ import annotations

import argparse
import logging
import os
import shlex
import signal
import sys
from pathlib import Path

from determined_agent import clock
from determined_agent.journal import aws_machine
from determined_agent.journal.batches import batches
from determined_agent.journal.cloudwatch import CloudWatch
from determined_agent.journal.ending import Ending
from determined_agent.journal.google import CloudLogging
from determined_agent.journal.google_machine import Tokens, this_machine
from determined_agent.journal.load import Load, nvml_of_machine
from determined_agent.journal.reader import Journal
from determined_agent.journal.target import CannotStart, Target
from determined_agent.log_format import configure_logging

log = logging.getLogger(__name__)

GROUP = "/determined/determined/journald"
"""Of 0.38.1's cluster `determined`."""
METRICS_EVERY_S = 60.0
EXIT_CANNOT_START = 2


def main() -> int:
    """Run until SIGTERM; the exit code."""
    args = _arguments().parse_args()
    configure_logging("info")
    ending = Ending()
    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, lambda *_: ending.set())
    try:
        target = _target_of(args, ending)
    except CannotStart as error:
        log.error("%s", error)
        return EXIT_CANNOT_START
    args.state.mkdir(parents=True, exist_ok=True)
    try:
        journal = Journal(args.state / "cursor", shlex.split(args.journalctl))
    except OSError as error:
        log.error("the journal cannot be read: %s", error)
        return EXIT_CANNOT_START
    try:
        _follow(journal, target, ending, args.every)
    finally:
        journal.close()
    if ending.is_set():
        return 0
    journal.forget_bad_cursor()
    return 1  # systemd starts it again


def _target_of(args: argparse.Namespace, ending: Ending) -> Target:
    if args.target == "google":
        return CloudLogging(this_machine(), Tokens(), ending)
    stream, region = args.stream, args.region or os.environ.get("AWS_DEFAULT_REGION", "")
    if not (stream and region):
        machine = aws_machine.this_machine(os.environ)
        stream, region = stream or machine.instance_id, region or machine.region
    return CloudWatch(args.group, stream, region, ending)


def _follow(journal: Journal, target: Target, ending: Ending, every_s: float) -> None:
    load = Load(nvml=nvml_of_machine())
    measured_s = clock.monotonic_s()
    while True:
        has_ended = journal.has_ended or ending.wait(every_s)
        entries = journal.take()
        if not all(target.send(batch) for batch in batches(entries, target.limits)):
            return
        if entries:
            journal.note_sent(entries[-1])
        if has_ended:
            return
        if clock.monotonic_s() - measured_s >= METRICS_EVERY_S:
            measured_s = clock.monotonic_s()
            target.put(load.metrics())


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="determined-journal",
        description="Sends the journal and the load of this machine to its cloud.",
    )
    parser.add_argument("--every", type=float, default=5.0, help="seconds between two batches")
    parser.add_argument(
        "--state",
        type=Path,
        default=Path("/var/lib/determined-journal"),
        help="directory that keeps the place in the journal",
    )
    parser.add_argument(
        "--journalctl", default="journalctl", help="the command that reads the journal"
    )
    targets = parser.add_subparsers(dest="target", required=True)
    targets.add_parser("google", help="Cloud Logging and Cloud Monitoring, on Compute Engine")
    cloudwatch = targets.add_parser("cloudwatch", help="CloudWatch of AWS")
    cloudwatch.add_argument(
        "--group", default=GROUP, help=f"group of CloudWatch Logs (default: {GROUP})"
    )
    cloudwatch.add_argument(
        "--stream", default="", help="stream, and the machine's name (default: its id)"
    )
    cloudwatch.add_argument(
        "--region", default="", help="of AWS (default: AWS_DEFAULT_REGION, or the machine's)"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
