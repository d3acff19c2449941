"""`det`: parses the command line, runs the command, and prints its failure.

Exit status: 0 success, 1 failure, 2 wrong usage, 130 interrupt. A command that runs a program
returns the exit status of that program. Only the module of the given noun is imported, which
keeps `det` fast.
"""

# PYTHON_ARGCOMPLETE_OK

from __future__ import annotations

import argparse
import contextlib
import io
import os
import sys
from typing import List, Optional, Sequence

from determined.__version__ import __version__
from determined.cli import declare, errors, nouns

_GLOBAL_WITH_VALUE = ("-u", "--user", "-m", "--master")


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """Run one command line (by default that of this process) and return the exit status.

    Raises:
        SystemExit: the command line asks for help, or its usage is wrong (status 2).
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    if "_ARGCOMPLETE" in os.environ:
        _complete()
    _open_streams()
    _allow_any_text()
    try:
        return _run(_parse(words))
    except nouns.NotInstalledError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader closed the pipe: write nothing more, not even at exit.
        _drop_output()
        return 1


def build_parser(noun: Optional[declare.Command]) -> argparse.ArgumentParser:
    """The parser of `det`, with the arguments of one noun and the names of all nouns."""
    return _parser([noun] if noun is not None else [])


def _open_streams() -> None:
    """Open /dev/null in place of a closed stream (`det … >&-`), for which Python sets None."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            nothing = os.open(os.devnull, os.O_RDONLY if mode == "r" else os.O_WRONLY)
            setattr(sys, name, os.fdopen(nothing, mode, encoding="utf-8"))


def _allow_any_text() -> None:
    """Escape characters that the output's encoding lacks as `\\u…`: names may use any script."""
    for stream in (sys.stdout, sys.stderr):
        if not isinstance(stream, io.TextIOWrapper):
            continue
        # The C locale sets "surrogateescape", which fails on missing characters too.
        if stream.errors == "strict" or stream.encoding.lower() != "utf-8":
            stream.reconfigure(errors="backslashreplace")


def _run(args: argparse.Namespace, may_ask: bool = True) -> int:
    if args.run in ("", "help"):
        args.parser.print_help()
        return 0
    try:
        with contextlib.ExitStack() as args.closing:
            status = declare.load(args.run)(args)
        sys.stdout.flush()  # report a write error like any other failure
    except errors.CliError as error:
        return _failed(args, error)
    except BrokenPipeError:
        raise
    except OSError as error:
        return _failed(args, error)
    except Exception as error:
        if not errors.is_api_error(error):
            raise
        if may_ask and _is_trusted_now(args, error):
            return _run(args, may_ask=False)
        return _failed(args, error)
    return status or 0


def _is_trusted_now(args: argparse.Namespace, error: Exception) -> bool:
    """Whether only an untrusted certificate caused the failure, and the user now accepts it."""
    if error.__cause__ is None or not hasattr(error.__cause__, "verify_code"):
        return False
    from determined.cli import connect, trust

    return trust.is_accepted(connect.address_of(args), error)


def _drop_output() -> None:
    """Discard buffered output, also at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _failed(args: argparse.Namespace, error: Exception) -> int:
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError:
        _drop_output()
    print(f"Failed to {args.doing}: {errors.explain(args, error)}", file=sys.stderr)
    return 1


def _parse(words: List[str]) -> argparse.Namespace:
    parser = build_parser(_command_of(words))
    args, unknown = parser.parse_known_args(words)
    if not args.run and args.default_command:
        args, unknown = parser.parse_known_args([*words, args.default_command])
    if unknown:
        args.parser.refuse(unknown)
    return args


def _parser(loaded: Sequence[declare.Command]) -> argparse.ArgumentParser:
    parser = declare.Parser(
        prog="det",
        description="Determined command-line client",
        formatter_class=declare.HelpFormatter,
    )
    parser.add_argument("-u", "--user", metavar="username", help="run as the given user")
    parser.add_argument(
        "-m",
        "--master",
        metavar="address",
        help="master address (default: DET_MASTER, the current context, or localhost:8080)",
    )
    parser.add_argument(
        "-v",
        "--version",
        action="version",
        version=f"det {__version__}",
        help="print CLI version and exit",
    )
    parser.set_defaults(run="", parser=parser, default_command="")
    children = declare.add_children(parser, 0)
    declare.add_help(children)
    by_name = {noun.name: noun for noun in loaded}
    for head in nouns.HEADS:
        child = declare.add_child(children, head)
        if head.name in by_name:
            declare.add(child, by_name[head.name], 1)
    return parser


def _command_of(words: Sequence[str]) -> Optional[declare.Command]:
    skip = False
    for word in words:
        if skip or word.startswith("-"):
            skip = not skip and word in _GLOBAL_WITH_VALUE
            continue
        return nouns.load(word)
    return None


def _complete() -> None:
    import argcomplete  # imported only for shell completion

    argcomplete.autocomplete(_parser(nouns.load_all()))


if __name__ == "__main__":
    sys.exit(main())
