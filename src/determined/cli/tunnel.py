"""`python -m determined.cli.tunnel`: a tunnel to a TCP service of a task.

Without `--listener` it forwards standard input and output, as ssh's ProxyCommand requires.
"""

from __future__ import annotations

import argparse
import os
import sys
from typing import List, Optional

from determined.cli import trust
from determined.common.api import authentication, canonicalize_master_url, certs, tunnels
from determined.common.api.errors import APIException


def main(argv: Optional[List[str]] = None) -> int:
    """Run the tunnel and return its exit status."""
    args = _parser().parse_args(argv)
    try:
        way = _way(args)
        if args.listener is None:
            tunnels.carry_standard(way, args.service)
        else:
            _listen(way, args.service, args.listener)
    except KeyboardInterrupt:
        return 130
    except (OSError, ValueError, APIException) as error:
        print(f"tunnel to {args.service}: {error}", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m determined.cli.tunnel", description="tunnel to a TCP service of a task"
    )
    parser.add_argument("master", help="address of the master")
    parser.add_argument("service", help="ID of the service: TASK or TASK:PORT")
    parser.add_argument("--cert-file", help="certificates to trust, or 'noverify'")
    parser.add_argument("--cert-name", help="host name in the master's certificate")
    parser.add_argument("--listener", type=int, metavar="PORT", help="listen on a local port")
    parser.add_argument("-u", "--user", help="the user for --auth")
    parser.add_argument("--auth", action="store_true", help="send the token of the logged-in user")
    return parser


def _way(args: argparse.Namespace) -> tunnels.Way:
    master = canonicalize_master_url(args.master)
    if args.cert_file or args.cert_name:
        cert = certs.Cert.from_file(args.cert_file, args.cert_name)
    else:
        cert = trust.cert_of(master)
    if not args.auth:
        return tunnels.Way(master, cert)
    options = authentication.Options(cert=cert)
    with authentication.resolve(master, args.user, None, os.environ, options) as session:
        return tunnels.Way(master, cert, session.token)


def _listen(way: tunnels.Way, service: str, port: int) -> None:
    listener = tunnels.Listener(way, service, port, _print_error)
    _print_error(f"{service} is available at 127.0.0.1:{listener.port}")
    try:
        listener.wait()
    finally:
        listener.close()


def _print_error(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
