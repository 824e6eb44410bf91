"""Options and value types that several subcommands share."""

from __future__ import annotations

import argparse

PROVIDERS = (
    "openai",
    "responses",
    "anthropic",
    "gemini",
    "mistral",
    "deepseek",
    "template",
    "permissive",
)

LOOPBACK = ("127.0.0.1", "::1", "localhost")
"""Addresses that only this machine reaches."""


def tokens(text: str) -> int:
    """A number of tokens above 0; ``8k`` is 8,000.

    Raises:
        ArgumentTypeError: it is something else.
    """
    bare = text.strip().lower().replace(",", "").replace("_", "")
    factor = 1000 if bare.endswith("k") else 1
    try:
        count = int(float(bare.removesuffix("k")) * factor) if factor > 1 else int(bare)
    except (ValueError, OverflowError):
        count = 0
    if count < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of tokens; write 8000 or 8k")
    return count


def port(text: str) -> int:
    """A port to listen at, 0 to 65535.

    Raises:
        ArgumentTypeError: it is something else.
    """
    from eunoe_web.serving import LAST_PORT

    if not (text.isascii() and text.isdigit() and int(text[:9]) <= LAST_PORT):
        raise argparse.ArgumentTypeError(f"{text!r} is no port; write a number from 0 to 65535")
    return int(text)


def share(text: str) -> float:
    """A number in [0, 1].

    Raises:
        ArgumentTypeError: it is something else.
    """
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no share; write a number from 0 to 1")
    return value


def read_endpoint(option: str, text: str, allowed: str) -> tuple[str, str]:
    """URL and model of ``http://host:port/v1#model``.

    Raises:
        SettingsError: it is something else; an address that may hold a password is not repeated.
    """
    url, _, model = text.partition("#")
    if "://" not in url or not model:
        from eunoe import SettingsError

        raise SettingsError(option, "..." if "@" in text else text, allowed)
    return url, model


def add_model_arguments(parser: argparse.ArgumentParser) -> None:
    """``--model`` and ``--provider``."""
    parser.add_argument(
        "--model", metavar="ID", help="chooses the tokenizer and the provider's rules: gpt-4o, ..."
    )
    parser.add_argument(
        "--provider",
        choices=PROVIDERS,
        metavar="NAME",
        help=f"whose rules, over what the model says: {', '.join(PROVIDERS)}",
    )
