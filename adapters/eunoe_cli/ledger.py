"""`eunoe ledger`: what chats took and cost, from a ledger file or from Redis."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eunoe.stages.accounting import Account, Ledger

_CHAT_COLUMNS = 24
_HEADINGS = (
    "chat",
    "requests",
    "tokens\nsent",
    "from\ncache",
    "cost",
    "untouched",
    "plain\nwindow",
    "saved on\nuntouched",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.description = (
        "Prints the ledger of each chat and of all together. Figures that are estimated have a ≈ "
        "before them; those that a provider reported have none. What an untouched chat and a plain "
        "window would have taken for the same requests is always an estimate."
    )
    parser.add_argument(
        "file",
        metavar="FILE",
        nargs="?",
        help="the ledger, a line of JSON for each entry; default: the file that EUNOE_LEDGER names",
    )
    parser.add_argument("--redis", metavar="URL", help="read it from a Redis-protocol server")
    parser.add_argument("--most", type=int, default=20, metavar="N", help="chats shown (20)")
    parser.add_argument("--json", action="store_true", help="print it for machines")


def run(options: argparse.Namespace) -> int:
    """Print the ledger."""
    from eunoe.stages.accounting import Ledger
    from eunoe_cli.table import format_table, terminal_width

    chats, total = _read(options)
    if options.json:
        plain = {name: ledger.to_dict() for name, ledger in chats.items()}
        print(json.dumps({"total": total.to_dict(), "chats": plain}, indent=1, ensure_ascii=False))
        return 0
    if total == Ledger():
        print("the ledger is empty")
        return 0
    dearest = sorted(chats.items(), key=lambda item: (-item[1].total.sent.prompt, item[0]))
    shown = dearest[: max(0, options.most)]
    rows = [_row(name or "(no chat)", ledger) for name, ledger in shown]
    if len(dearest) > len(shown):
        rows.append([f"{len(dearest) - len(shown)} more", *[""] * (len(_HEADINGS) - 1)])
    rows.append(_row("all", total))
    print(format_table(_HEADINGS, rows, terminal_width()))
    for line in _notes(total):
        print(line)
    return 0


def _read(options: argparse.Namespace) -> tuple[Mapping[str, Ledger], Ledger]:
    from eunoe import ChatFileError, SettingsError
    from eunoe.domain.errors import BackendError
    from eunoe_backends import JsonLinesLedgerStore, RedisLedgerStore, RedisLink

    if options.redis:
        link = RedisLink.from_url(options.redis, timeout=5.0)
        store = RedisLedgerStore(link)
        chats, total = store.chats(), store.total()
        if not link.is_open:
            raise BackendError("Redis does not answer")
        return chats, total
    path = options.file or os.environ.get("EUNOE_LEDGER")
    if not path:
        raise SettingsError("FILE", path, "a ledger file, or EUNOE_LEDGER, or --redis")
    place = Path(path).expanduser()
    if not place.is_file():
        raise ChatFileError(str(path), "", "there is no such file")
    from eunoe.stages.accounting import Ledger

    chats = JsonLinesLedgerStore(place).chats()
    if not chats and _says_something(place):
        raise ChatFileError(str(path), "", "no line of it is an entry of a ledger")
    return chats, Ledger.merge(list(chats.values()))


def _says_something(place: Path) -> bool:
    """Whether a file holds more than blank lines and what a store writes at its head."""
    from eunoe_backends.ledger_store import COMPACTED_KEY

    with place.open(encoding="utf-8", errors="replace") as file:
        lines = (line.strip() for line in file)
        return any(line and not line.startswith(f'{{"{COMPACTED_KEY}"') for line in lines)


def _row(name: str, ledger: Ledger) -> list[str]:
    from eunoe_cli.table import clip_text

    total = ledger.total
    sent = total.sent
    about = "" if ledger.is_measured else "≈"
    return [
        clip_text(name, _CHAT_COLUMNS),
        f"{sent.requests:,}",
        f"{about}{sent.prompt:,}",
        f"{about}{sent.cached:,}" if sent.cached else "0",
        _money(about, sent.cost_usd, total),
        _money("≈", total.untouched.cost_usd, total),
        _money("≈", total.window.cost_usd, total),
        _money("≈", ledger.saved_usd, total),
    ]


def _money(about: str, dollars: float, total: Account) -> str:
    from eunoe.domain.cost import money_text

    if total.sent.unpriced == total.sent.requests:
        return "-"
    return f"{about}{money_text(dollars)}"


def _notes(total: Ledger) -> list[str]:
    """What the table cannot say: the two kinds of figures apart, and what is missing."""
    from eunoe.domain.cost import money_text

    measured, estimated = total.measured.sent, total.estimated.sent
    ways = total.total
    about = "" if total.is_measured else "≈"
    three = f"sent {about}{ways.sent.prompt:,}, untouched ≈{ways.untouched.prompt:,}"
    lines = [f"the same requests in tokens: {three}, plain window ≈{ways.window.prompt:,}"]
    if measured.requests and estimated.requests:
        lines.append(
            f"measured: {_requests(measured.requests)}, {measured.prompt:,} tokens, "
            f"{money_text(measured.cost_usd)}; estimated: {_requests(estimated.requests)}, "
            f"≈{estimated.prompt:,} tokens, ≈{money_text(estimated.cost_usd)}"
        )
    if unpriced := measured.unpriced + estimated.unpriced:
        lines.append(f"{_requests(unpriced)} without a known price: tokens only")
    if over := total.total.untouched_over:
        lines.append(f"untouched, {_requests(over)} would have been over their limit")
    return lines


def _requests(number: int) -> str:
    return f"{number:,} request{'' if number == 1 else 's'}"
