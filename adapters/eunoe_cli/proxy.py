"""`eunoe proxy`: an OpenAI-compatible proxy that fits every chat before it goes on."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from eunoe_cli.arguments import LOOPBACK, PROVIDERS, port, share, tokens
from eunoe_cli.embedding import add_embed_argument, find_embedder
from eunoe_cli.entities import add_entities_argument, find_extractor
from eunoe_cli.observe import add_host_argument
from eunoe_cli.pricing import add_price_arguments
from eunoe_cli.summarizing import add_summarize_argument, find_summarizer

if TYPE_CHECKING:
    from eunoe import Observer
    from eunoe_proxy import ProxyApp

OBSERVE_PATH = "/observe"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.description = (
        "Listens as an OpenAI-compatible server, fits the messages of every chat request, and "
        "passes everything else on as it is. Point base_url of any client to it. Headers "
        "X-Eunoe-* of an answer say what was done; /health and /metrics are for operators."
    )
    parser.add_argument(
        "--upstream", required=True, metavar="URL", help="the server, such as http://host/v1"
    )
    parser.add_argument("--host", default="127.0.0.1", help="address to listen at (127.0.0.1)")
    parser.add_argument("--port", type=port, default=8787, help="0 takes a free one (8787)")
    parser.add_argument(
        "--max-tokens", type=tokens, metavar="N", help="cap on a request, its answer included"
    )
    parser.add_argument(
        "--context-share",
        type=share,
        default=0.9,
        metavar="S",
        help="share of the model's window that messages and tools may take (0.9)",
    )
    parser.add_argument(
        "--context-window",
        type=tokens,
        metavar="N",
        help="tokens that the models hold, over what their names and the server's list tell",
    )
    parser.add_argument("--policy", metavar="NAME", help="of requests that name none (stable)")
    parser.add_argument(
        "--profile",
        choices=PROVIDERS,
        metavar="NAME",
        help=f"whose rules, over what the model says: {', '.join(PROVIDERS)}",
    )
    parser.add_argument(
        "--on-overflow",
        choices=("truncate", "keep", "refuse"),
        default="truncate",
        help="what happens to a question that is too large in itself (truncate)",
    )
    parser.add_argument("--flags", action="store_true", help="read !flags in user messages")
    parser.add_argument("--ledger", metavar="FILE", help="enter each answer there, without text")
    add_price_arguments(parser)
    parser.add_argument(
        "--ask-usage", action="store_true", help="ask for the usage at the end of streams"
    )
    parser.add_argument(
        "--api-key-env",
        metavar="NAME",
        help="variable whose value goes upstream in place of the caller's key",
    )
    parser.add_argument(
        "--deadline", type=float, default=5.0, metavar="S", help="seconds for choosing (5)"
    )
    parser.add_argument(
        "--timeout", type=float, default=600.0, metavar="S", help="silence of the server (600)"
    )
    parser.add_argument(
        "--grace", type=float, default=30.0, metavar="S", help="for running answers at the end (30)"
    )
    parser.add_argument(
        "--observe",
        action="store_true",
        help="show each chat request live at /observe, without text; see eunoe observe",
    )
    add_host_argument(parser)
    parser.add_argument(
        "-v", "--verbose", action="store_true", help="a line for each chat request, without text"
    )
    add_embed_argument(parser)
    add_entities_argument(parser)
    add_summarize_argument(parser)


def run(options: argparse.Namespace) -> int:
    """Serve until stopped."""
    from eunoe_observer import EventLog, ObserverApp
    from eunoe_web.asgi import Mounted
    from eunoe_web.serving import serve

    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=logging.WARNING)
    logging.getLogger("eunoe").setLevel(logging.INFO if options.verbose else logging.WARNING)
    log = EventLog() if options.observe else None
    proxy = make_app(options, log)
    if options.api_key_env and options.host not in LOOPBACK:
        print("everyone who reaches this address uses the key", file=sys.stderr)
    if log is not None and options.host not in LOOPBACK:
        print("everyone who reaches this address sees the figures", file=sys.stderr)

    if not urlsplit(options.upstream).path.strip("/"):
        print("the address ends without /v1, which most servers want", file=sys.stderr)

    def ready(address: str) -> None:
        print(f"eunoe proxy: {address}/v1 -> {options.upstream}", flush=True)
        if log is not None:
            print(f"eunoe observe: {address}{OBSERVE_PATH}/", flush=True)

    page = ObserverApp(log, names=options.allow_host) if log is not None else None
    serve(
        proxy if page is None else Mounted(proxy, OBSERVE_PATH, page),
        host=options.host,
        port=options.port,
        grace=options.grace,
        extra="proxy",
        ready=ready,
        ending=None if page is None else page.end,
    )
    return 0


def make_app(options: argparse.Namespace, observer: Observer | None = None) -> ProxyApp:
    """The application that the options ask for.

    Raises:
        BackendError: a package is missing.
        SettingsError: an option is not allowed.
    """
    from eunoe import SettingsError
    from eunoe_proxy import create_app

    key = ""
    if options.api_key_env:
        key = os.environ.get(options.api_key_env, "").strip()
        if not key:
            raise SettingsError("--api-key-env", options.api_key_env, "a variable that is set")
    return create_app(
        options.upstream,
        embedder=find_embedder(options.embed),
        summarizer=find_summarizer(options.summarize),
        entity_extractor=find_extractor(options.entities),
        observer=observer,
        api_key=key,
        max_tokens=options.max_tokens or 0,
        max_cost_usd=options.max_cost,
        context_share=options.context_share,
        context_window=options.context_window or 0,
        policy=options.policy,
        profile=options.profile,
        on_overflow=options.on_overflow,
        read_flags=options.flags,
        deadline=options.deadline,
        timeout=options.timeout,
        ask_usage=options.ask_usage,
        ledger=options.ledger or "",
        hosts=tuple(options.allow_host),
        price_file=options.prices or "",
        live_prices=options.live_prices,
    )
