"""`--entities`: what finds names, for the subcommands that choose messages."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eunoe.domain.ports import EntityExtractor

ENTITY_SECONDS = 600.0
"""How long a request of a subcommand that replays a chat waits for names: there, every request is
to have them, as it has its vectors."""


def add_entities_argument(parser: argparse.ArgumentParser) -> None:
    """``--entities``."""
    parser.add_argument(
        "--entities",
        metavar="MODEL",
        help="let this installed pipeline of spaCy, such as `en_core_web_sm`, find names beside "
        "those that eunoe finds itself, for what `it` or `the file` stands for",
    )


def find_extractor(name: str | None) -> EntityExtractor | None:
    """The pipeline that the option names; None without it.

    Raises:
        BackendError: spaCy or the pipeline is not installed.
    """
    if not name:
        return None
    from eunoe_backends import SpacyExtractor

    return SpacyExtractor(name)
