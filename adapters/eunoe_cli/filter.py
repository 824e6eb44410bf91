"""`eunoe filter`: the filter for Open WebUI, to paste or to import."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

SINGLE_FILE = Path("standalone", "eunoe_filter.py")
THREE_LINES = '''"""
title: eunoe
"""

from eunoe_openwebui import Filter

# As a switch that users turn on in each chat, add this line. Programs then skip it unless they
# name it in `filter_ids`:
#
#     class Filter(Filter): toggle = True
'''
_NOT_HERE = """\
eunoe filter: the single file is not part of an installed package: a copy here could be older than
the code beside it. It is standalone/eunoe_filter.py in the repository and in the source
distribution (.tar.gz); run this command there. Where Open WebUI runs in a Python that has eunoe
installed, the short function does the same; `eunoe filter --short` prints it."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("-o", "--output", metavar="FILE", help="write it there")
    parser.add_argument(
        "--short",
        action="store_true",
        help="the short function instead, for a host where the package eunoe is installed",
    )


def run(options: argparse.Namespace) -> int:
    """Print or write the function; say where to get it if it is not here."""
    if options.short:
        text = THREE_LINES
    else:
        source = find_single_file()
        if source is None:
            print(_NOT_HERE, file=sys.stderr)
            return 2
        text = source.read_text(encoding="utf-8")
    if options.output is None:
        sys.stdout.write(text)
        return 0
    Path(options.output).write_text(text, encoding="utf-8", newline="\n")
    print(f"wrote {options.output}: paste it at Admin Panel > Functions > New Function")
    return 0


def find_single_file() -> Path | None:
    """The file in the clone or source distribution that runs, or that one stands in."""
    beside = Path(__file__).resolve().parents[2] / SINGLE_FILE
    return next((path for path in (beside, Path.cwd() / SINGLE_FILE) if path.is_file()), None)
