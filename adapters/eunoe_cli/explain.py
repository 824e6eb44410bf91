"""`eunoe explain`: what the model would see of a chat now, and why."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from eunoe_cli.arguments import add_model_arguments, tokens
from eunoe_cli.embedding import add_embed_argument, find_embedder
from eunoe_cli.entities import ENTITY_SECONDS, add_entities_argument, find_extractor
from eunoe_cli.pricing import add_price_arguments, find_option_prices

if TYPE_CHECKING:
    from eunoe import OrchestratorResult

POLICIES = (
    "stable",
    "relevance",
    "window",
    "lethe",
    "lethes",
    "dycp",
    "lethus",
    "unified",
    "off",
)
_LONGEST_RUN = 6
_FATE_MARKS = {
    "kept": "#",
    "recalled": "r",
    "gist": "g",
    "summarised": "s",
    "stub": "t",
    "dropped": "-",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("chat", metavar="CHAT", help="JSON, JSONL, or `-`")
    parser.add_argument(
        "--budget",
        type=tokens,
        metavar="N",
        help="tokens a request may take, as in compare",
    )
    add_model_arguments(parser)
    add_embed_argument(parser)
    add_entities_argument(parser)
    add_price_arguments(parser)
    parser.add_argument("--policy", choices=POLICIES, help="default: stable")
    parser.add_argument(
        "--at",
        type=int,
        metavar="K",
        help="the request that gave message K; default: the last one. Counted from 0",
    )
    parser.add_argument(
        "--chat", dest="number", type=int, default=1, metavar="N", help="which chat of the file"
    )
    parser.add_argument("--all", action="store_true", help="a line for every message")
    parser.add_argument("--json", action="store_true", help="print what is sent, and the report")
    parser.add_argument(
        "--plot",
        metavar="FILE",
        help="draw the chat, the window, what came back and the budget: out.svg, .html or .png",
    )


def run(options: argparse.Namespace) -> int:
    """Choose once, and print the account."""
    from eunoe import (
        ChatFileError,
        CompositeBudget,
        ContextOrchestrator,
        Conversation,
        CostBudget,
        TokenBudget,
    )
    from eunoe.domain.nesting import json_text
    from eunoe_cli.chat_file import read_chats
    from eunoe_cli.compare import default_budget
    from eunoe_cli.picture import check_picture_path
    from eunoe_cli.repeating import point_before, repeats_line
    from eunoe_cli.replay import request_points
    from eunoe_cli.ruler import Ruler

    if options.plot:
        check_picture_path(options.plot)
    chats = read_chats(options.chat)
    if not 1 <= options.number <= len(chats):
        raise ChatFileError(
            options.chat, f"chat {options.number}", f"the file holds {len(chats)}; count from 1"
        )
    chat = chats[options.number - 1]
    given = chat.messages[: _moment(options.at, chat.messages, options.chat)]
    budget, why = options.budget, "as asked"
    ruler = Ruler(chat.messages, model_id=options.model, tools=chat.tools)
    if budget is None:
        budget, why = default_budget(ruler.total(chat.messages))
    prices = find_option_prices(options)
    orchestrator = ContextOrchestrator(
        CompositeBudget(TokenBudget(budget), CostBudget(options.max_cost)),
        on_overflow="truncate",
        prices=prices,
        embedder=find_embedder(options.embed),
        embed_in_request=True,
        entity_extractor=find_extractor(options.entities),
        structure_timeout=ENTITY_SECONDS,
    )
    choose = partial(
        orchestrator.process_sync,
        model_id=options.model,
        profile=options.provider,
        tools=chat.tools,
        policy=options.policy,
    )
    earlier = chat.messages[: point_before(request_points(chat.messages), len(given)) or 0]
    before = choose(Conversation.from_openai_messages(earlier)) if earlier else None
    result = choose(Conversation.from_openai_messages(given))
    if options.plot:
        _draw(options.plot, f"{chat.name}, message {len(given) - 1}", given, result)
    if options.json:
        sent = result.conversation.to_openai_messages()
        plain = {"messages": sent, "report": result.report.to_dict()}
        print(json_text(plain, indent=1, ensure_ascii=False))
        return 0
    print(f"{chat.name}: the request after message {len(given) - 1}; budget {budget:,} ({why})\n")
    added = given[len(earlier) :]
    price = prices.get(options.model)
    repeats = repeats_line(before, result, ruler, added=added, price=price)
    print(_account(given, result, repeats, every=options.all))
    return 0


def _draw(
    path: str, title: str, given: Sequence[Mapping[str, Any]], result: OrchestratorResult
) -> None:
    from eunoe_cli.picture import write_picture
    from eunoe_cli.plot import draw_scene
    from eunoe_cli.plot_scene import make_scene

    write_picture(path, draw_scene(make_scene(title, given, result)))


def _moment(at: int | None, messages: Sequence[Any], path: str) -> int:
    """How many messages are there at the request that is looked at."""
    from eunoe import ChatFileError

    if at is None:
        from eunoe_cli.replay import request_points

        return (request_points(messages) or [len(messages)])[-1]
    if not 1 <= at <= len(messages):
        raise ChatFileError(path, f"--at {at}", f"expected a number from 1 to {len(messages)}")
    return at


def _account(
    given: Sequence[Mapping[str, Any]], result: OrchestratorResult, repeats: str, *, every: bool
) -> str:
    from eunoe_cli.table import terminal_width
    from eunoe_cli.window_bar import draw_window

    report, width = result.report, terminal_width()
    head = [line for line in report.explain().split("\n") if not line.startswith("  [")]
    return "\n".join(
        [
            *head,
            *([repeats] if repeats else []),
            "",
            *draw_window(result, width),
            "",
            *_history_strip(result, width),
            "",
            *_message_lines(given, result, width, every=every),
        ]
    )


def _history_strip(result: OrchestratorResult, width: int) -> list[str]:
    """The whole chat as marks, oldest first."""
    marks = [_FATE_MARKS[d.fate.value] for d in result.report.decisions]
    room = width - 9
    lines = ["".join(marks[i : i + room]) for i in range(0, len(marks), room)]
    seen = [f"{mark} {fate}" for fate, mark in _FATE_MARKS.items() if mark in marks]
    return [
        *[f"{'chat' if not i else '':7s}{line}" for i, line in enumerate(lines)],
        f"       one mark a message, oldest first: {', '.join(seen)}",
    ]


def _message_lines(
    given: Sequence[Mapping[str, Any]], result: OrchestratorResult, width: int, *, every: bool
) -> list[str]:
    """A line for each message; the middle of a long run that met the same fate is left out."""
    from eunoe.wire.openai import read_message
    from eunoe_cli.table import clip_text

    decisions = list(result.report.decisions)
    lines = []
    start = 0
    while start < len(decisions):
        end = start
        while end < len(decisions) and decisions[end].fate == decisions[start].fate:
            end += 1
        hidden = range(start + 2, end - 2) if not every and end - start > _LONGEST_RUN else range(0)
        for i in range(start, end):
            one = decisions[i]
            if i in hidden:
                if i == hidden[0]:
                    size = sum(decisions[j].tokens for j in hidden)
                    lines.append(
                        f"   ...  {len(hidden)} more {one.fate.value}, {size:,} tokens (--all)"
                    )
                continue
            message = read_message(given[i])
            text = message.text or ", ".join(f"calls {c.name}" for c in message.calls)
            left = (
                f"{one.index:6d}  {one.fate.value:10s} {one.tokens:7,d}  {one.score:4.2f}  "
                f"{message.role:9s} "
            )
            lines.append(left + clip_text(text, max(12, width - len(left))))
            if one.fate.value not in ("kept", "dropped") or i == start:
                lines.append(f"{'':8s}{one.reason}")
        start = end
    return [f"{'':6s}  {'fate':10s} {'tokens':>7s}  fit   role      text", *lines]
