"""`--summarize`: what sums up, for the subcommands that send messages on."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from eunoe_cli.arguments import read_endpoint

if TYPE_CHECKING:
    from eunoe.domain.ports import Summarizer

SUMMARY_KEY_VARIABLE = "EUNOE_SUMMARY_KEY"


def add_summarize_argument(parser: argparse.ArgumentParser) -> None:
    """``--summarize``."""
    parser.add_argument(
        "--summarize",
        metavar="URL#MODEL",
        help="have what a cut leaves out summed up behind the answers, by this model of an "
        f"OpenAI-compatible endpoint, whose key is read from {SUMMARY_KEY_VARIABLE}",
    )


def find_summarizer(text: str | None) -> Summarizer | None:
    """The summarizer that the option names; None without it.

    Raises:
        BackendError: a package is missing.
        SettingsError: it names none.
    """
    if not text:
        return None
    from eunoe_backends import LLMSummarizer

    url, model = read_endpoint("--summarize", text, "http://host:port/v1#model")
    return LLMSummarizer(url, os.environ.get(SUMMARY_KEY_VARIABLE), model)
