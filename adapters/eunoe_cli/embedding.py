"""`--embed`: what embeds, for the subcommands that choose messages."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from eunoe_cli.arguments import read_endpoint

if TYPE_CHECKING:
    from eunoe.domain.ports import Embedder

KEY_VARIABLE = "EUNOE_EMBED_KEY"


def add_embed_argument(parser: argparse.ArgumentParser) -> None:
    """``--embed``."""
    parser.add_argument(
        "--embed",
        metavar="WHAT",
        help="let meaning count beside words: `local` (MiniLM), `wordllama`, or URL#MODEL of an "
        f"OpenAI-compatible endpoint, whose key is read from {KEY_VARIABLE}",
    )


def find_embedder(text: str | None) -> Embedder | None:
    """The embedder that the option names; None without it.

    Raises:
        BackendError: a package is missing.
        SettingsError: it names none.
    """
    if not text:
        return None
    from eunoe_backends import HttpEmbedder, MiniLmEmbedder, WordLlamaEmbedder

    if text == "local":
        return MiniLmEmbedder()
    if text == "wordllama":
        return WordLlamaEmbedder()
    allowed = "local, wordllama, or http://host:port/v1#model"
    url, model = read_endpoint("--embed", text, allowed)
    return HttpEmbedder(url, model, api_key=os.environ.get(KEY_VARIABLE))
