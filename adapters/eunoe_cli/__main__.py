"""The command `eunoe`: picks the subcommand and turns errors into exit codes.

Exit codes: 0 fine, 1 something was found (lint), 2 wrong use or unreadable file, 130 stopped.
"""

from __future__ import annotations

import argparse
import importlib
import io
import os
import sys
from collections.abc import Sequence

from eunoe_cli.registry import SUBCOMMANDS

EXIT_WRONG_USE = 2
EXIT_STOPPED = 130


def make_parser(chosen: str | None) -> argparse.ArgumentParser:
    """The parser; only the chosen subcommand is loaded, so that `--help` is instant."""
    parser = argparse.ArgumentParser(
        prog="eunoe", description="Decides what a language model sees of a long chat."
    )
    parser.add_argument("--version", action="store_true", help="print the version and stop")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    for entry in SUBCOMMANDS:
        one = commands.add_parser(entry.name, help=entry.summary, description=entry.summary + ".")
        if entry.name == chosen:
            module = importlib.import_module(entry.module)
            module.add_arguments(one)
            one.set_defaults(run=module.run)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    names = {entry.name for entry in SUBCOMMANDS}
    parser = make_parser(next((word for word in given if word in names), None))
    options = parser.parse_args(given)
    if options.version:
        return _print_version()
    if options.command is None:
        parser.print_help()
        return EXIT_WRONG_USE
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        return _run_command(options)
    except KeyboardInterrupt:
        print("\nstopped", file=sys.stderr)
        return EXIT_STOPPED
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _run_command(options: argparse.Namespace) -> int:
    from eunoe import EunoeError

    try:
        code = int(options.run(options))
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except (EunoeError, OSError) as error:
        print(f"eunoe {options.command}: {error}", file=sys.stderr)
        return EXIT_WRONG_USE
    return code


def _print_version() -> int:
    from eunoe import __version__

    print(f"eunoe {__version__}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
