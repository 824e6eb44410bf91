"""`eunoe compare`: what would it cost, would it fit, would it be accepted?"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from eunoe_cli.arguments import add_model_arguments, share, tokens
from eunoe_cli.embedding import add_embed_argument, find_embedder
from eunoe_cli.entities import add_entities_argument, find_extractor

if TYPE_CHECKING:
    from eunoe.domain.ports import Embedder, EntityExtractor
    from eunoe_cli.chat_file import Chat
    from eunoe_cli.contenders import Contender
    from eunoe_cli.replay import Tally

LARGEST_DEFAULT = 8000
POLICIES = ("untouched", "window", "langchain", "relevance", "stable")
HEADINGS = (
    "",
    "\nrequests",
    "tokens\nsent",
    "\nrepeated",
    "over\nbudget",
    "\nrefused",
    "question\nlost",
    "\ncost",
    "CPU\nms",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("chats", nargs="+", metavar="CHAT", help="JSON, JSONL, or `-`")
    parser.add_argument(
        "--budget",
        type=tokens,
        metavar="N",
        help=f"tokens a request may take; default: {LARGEST_DEFAULT:,} or half of the chat, "
        "whichever is smaller",
    )
    add_model_arguments(parser)
    add_embed_argument(parser)
    add_entities_argument(parser)
    parser.add_argument(
        "--price-cached",
        type=share,
        default=0.1,
        metavar="SHARE",
        help="price of a repeated token as a share of a new one (default %(default)s)",
    )
    parser.add_argument(
        "--policies",
        type=_policy_names,
        default=POLICIES,
        metavar="A,B",
        help=f"which to compare, of {', '.join(POLICIES)}",
    )
    parser.add_argument("--json", action="store_true", help="print the numbers as JSON")
    parser.add_argument(
        "--progress", action="store_true", help="say how far it is, even if stderr is no terminal"
    )


def _policy_names(text: str) -> tuple[str, ...]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    unknown = [name for name in names if name not in POLICIES]
    if unknown or not names:
        raise argparse.ArgumentTypeError(
            f"{', '.join(unknown) or 'nothing'} is no policy; allowed: {', '.join(POLICIES)}"
        )
    return tuple(name for name in POLICIES if name in names)


def run(options: argparse.Namespace) -> int:
    """Replay every chat and print the tables."""
    from eunoe_cli.chat_file import read_chats
    from eunoe_cli.progress import Progress

    chats = [chat for path in options.chats for chat in read_chats(path)]
    progress = Progress(asked=options.progress)
    embedder, extractor = find_embedder(options.embed), find_extractor(options.entities)
    contenders = _contenders(options.policies)
    overall: dict[str, Tally] = {}
    plain: list[dict[str, Any]] = []
    for number, chat in enumerate(chats, 1):
        place = f"chat {number}/{len(chats)}"
        about, tallies = _replay(chat, options, contenders, progress, place, embedder, extractor)
        _add_up(overall, tallies)
        progress.clear()
        plain.append({**about, "policies": _to_plain(tallies, options.price_cached)})
        if not options.json:
            print(f"{_headline(about)}\n\n{_table(tallies, options.price_cached)}\n", flush=True)
            if about["head"] > about["budget"]:
                print(f"System messages and tools alone take {about['head']:,} tokens.\n")
    summary = {
        "counted_by": plain[0]["counted_by"],
        "estimated": plain[0]["estimated"],
        "rules": plain[0]["rules"],
        "price_cached": options.price_cached,
        "chats": plain,
        "all": _to_plain(overall, options.price_cached),
    }
    if options.json:
        print(json.dumps(summary, indent=1, ensure_ascii=False))
        return 0
    if len(chats) > 1:
        print(f"all {len(chats)} chats\n\n{_table(overall, options.price_cached)}\n")
    print(_legend(summary, overall, options.policies))
    return 0


def _contenders(names: Sequence[str]) -> list[Contender]:
    """The policies asked for; the untouched chat always, as the others are measured against it."""
    from eunoe_cli.contenders import CONTENDERS, has_langchain

    wanted = {*names, "untouched"} - (set() if has_langchain() else {"langchain"})
    return [contender for contender in CONTENDERS if contender.name in wanted]


def _replay(
    chat: Chat,
    options: argparse.Namespace,
    contenders: Sequence[Contender],
    progress: Any,
    place: str,
    embedder: Embedder | None,
    extractor: EntityExtractor | None,
) -> tuple[dict[str, Any], dict[str, Tally]]:
    from eunoe_cli.contenders import Contest
    from eunoe_cli.replay import replay_chat, request_points
    from eunoe_cli.ruler import Ruler

    ruler = Ruler(chat.messages, model_id=options.model, profile=options.provider, tools=chat.tools)
    total = ruler.total(chat.messages)
    budget, why = options.budget, "as asked"
    if budget is None:
        budget, why = default_budget(total)
    contest = Contest(
        messages=chat.messages,
        budget=budget,
        ruler=ruler,
        model_id=options.model,
        tools=chat.tools,
        embedder=embedder,
        extractor=extractor,
    )
    points = request_points(chat.messages)
    tallies = {}
    for contender in contenders:

        def tell(done: int, label: str = contender.label) -> None:
            progress.show(f"{place}, {label}: request {done} of {len(points)}")

        tallies[contender.label] = replay_chat(contender, contest, points, tell)
    about = {
        "name": chat.name,
        "messages": len(chat.messages),
        "requests": len(points),
        "tokens": total,
        "budget": budget,
        "budget_is": why,
        "head": ruler.total([m for m in chat.messages if m["role"] in ("system", "developer")]),
        "counted_by": ruler.tokenizer,
        "estimated": ruler.estimated,
        "rules": ruler.profile,
    }
    return about, tallies


def default_budget(total: int) -> tuple[int, str]:
    """Half of the chat's tokens, rounded, or 8,000: the smaller one, and which it is."""
    unit = 100 if total >= 2000 else 10
    half = max(unit, round(total / 2 / unit) * unit)
    if half < LARGEST_DEFAULT:
        return half, "half of the chat"
    return LARGEST_DEFAULT, "the default"


def _add_up(overall: dict[str, Tally], tallies: Mapping[str, Tally]) -> None:
    from eunoe_cli.replay import Tally

    for label, tally in tallies.items():
        overall.setdefault(label, Tally()).add(tally)


def _untouched_cost(tallies: Mapping[str, Tally], cached_price: float) -> float:
    return tallies["untouched"].cost(cached_price)


def _to_plain(tallies: Mapping[str, Tally], cached_price: float) -> dict[str, Any]:
    whole = _untouched_cost(tallies, cached_price)
    return {label: tally.to_dict(whole, cached_price) for label, tally in tallies.items()}


def _headline(about: Mapping[str, Any]) -> str:
    return (
        f"{about['name']}: {about['messages']:,} messages, {about['requests']:,} requests, "
        f"{about['tokens']:,} tokens; budget {about['budget']:,} ({about['budget_is']})"
    )


def _table(tallies: Mapping[str, Tally], cached_price: float) -> str:
    from eunoe_cli.table import format_table, terminal_width

    whole = _untouched_cost(tallies, cached_price)
    rows = []
    for label, tally in tallies.items():
        if not tally.requests:
            rows.append([label, "0", *["-"] * (len(HEADINGS) - 2)])
            continue
        numbers = tally.to_dict(whole, cached_price)
        rows.append(
            [
                label,
                f"{tally.requests:,}",
                f"{tally.sent:,}",
                f"{100 * numbers['repeated_share']:.0f} %",
                f"{tally.over:,}",
                f"{tally.refused:,}",
                f"{tally.incomplete:,}",
                f"{numbers['cost']:.2f}",
                f"{numbers['cpu_ms']:.1f}",
            ]
        )
    return format_table(HEADINGS, rows, terminal_width())


def _legend(summary: Mapping[str, Any], overall: Mapping[str, Tally], asked: Sequence[str]) -> str:
    from eunoe_cli.contenders import has_langchain
    from eunoe_cli.table import terminal_width, wrap_text

    price, counter = summary["price_cached"], summary["counted_by"]
    lines = [
        "repeated: tokens that repeat the request before from its start, as a prompt cache needs "
        f"it; refused: the rules of {summary['rules']} forbid it; question lost: no user message "
        "left, or a system message gone; cost: input price against the untouched chat, a repeated "
        f"token at {price:g} of a new one; CPU ms: of one request. Counted by {counter}"
        + (" (an estimate)." if summary["estimated"] else ".")
    ]
    if overall["untouched"].over:
        lines.append(
            f"The untouched chat is over the budget in {overall['untouched'].over:,} of "
            f"{overall['untouched'].requests:,} requests: it shows the price of doing nothing, "
            "not a choice, where the budget is the model's limit."
        )
    lines += [
        f"{label}: no list for {tally.failed:,} requests; {tally.fault}"
        for label, tally in overall.items()
        if tally.failed
    ]
    if "langchain trim" in overall:
        lines.append(
            "langchain trim: trim_messages with the options and the approximate counter of its "
            "documentation; what it sends is counted as everything else here."
        )
    if "langchain" in asked and not has_langchain():
        lines.append("langchain trim is left out: langchain-core is not installed.")
    return "\n".join(wrap_text(line, terminal_width()) for line in lines)
