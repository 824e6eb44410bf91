"""`eunoe observe`: a page that shows each request live."""

from __future__ import annotations

import argparse
import logging
import sys

from eunoe_cli.arguments import LOOPBACK, port

OBSERVER_PORT = 8788


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.description = (
        "Serves a page that shows each request as it is made: what filled the window, what became "
        "of each message and why, money and time. Filters, chains and agents of other processes "
        "send their figures there; no text of any message. Kept in memory, newest first."
    )
    parser.add_argument("--host", default="127.0.0.1", help="address to listen at (127.0.0.1)")
    parser.add_argument(
        "--port", type=port, default=OBSERVER_PORT, help=f"0 takes a free one ({OBSERVER_PORT})"
    )
    add_host_argument(parser)
    parser.add_argument(
        "--keep", type=int, default=1000, metavar="N", help="requests to keep (1000)"
    )


def add_host_argument(parser: argparse.ArgumentParser) -> None:
    """By which other names of this machine it may be called."""
    parser.add_argument(
        "--allow-host",
        action="append",
        default=[],
        metavar="NAME",
        help="a name of this machine by which it may be called, beside its addresses",
    )


def run(options: argparse.Namespace) -> int:
    """Serve until stopped."""
    from eunoe_observer import EventLog, ObserverApp
    from eunoe_web.serving import serve

    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=logging.WARNING)
    app = ObserverApp(EventLog(options.keep), names=options.allow_host)
    if options.host not in LOOPBACK:
        print("everyone who reaches this address sees the figures", file=sys.stderr)

    def ready(address: str) -> None:
        print(f"eunoe observe: {address}", flush=True)

    serve(
        app,
        host=options.host,
        port=options.port,
        grace=1.0,
        extra="observer",
        ready=ready,
        ending=app.end,
    )
    return 0
