"""`eunoe lint`: would this provider accept the message list, and if not, why?"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eunoe_cli.arguments import PROVIDERS, tokens

if TYPE_CHECKING:
    from eunoe import Violation
    from eunoe_cli.chat_file import Chat


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.description = (
        "Says which rules of a provider the messages break, a sentence each. Exit code 1 if any "
        "is broken (with --fix: if any is left), else 0."
    )
    parser.add_argument("chat", metavar="CHAT", help="JSON, JSONL, or `-`")
    parser.add_argument(
        "--provider",
        choices=PROVIDERS,
        metavar="NAME",
        help=f"whose rules: {', '.join(PROVIDERS)}; default: by --model, else openai",
    )
    parser.add_argument("--model", metavar="ID", help="chooses rules and tokenizer")
    parser.add_argument("--budget", type=tokens, metavar="N", help="also check the size")
    parser.add_argument("--fix", action="store_true", help="write the mended list")
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="where --fix writes; default: standard output"
    )


def run(options: argparse.Namespace) -> int:
    """Print what is wrong; mend it if asked to."""
    from eunoe_cli.chat_file import read_chats

    chats = read_chats(options.chat)
    provider = _provider(options)
    out = sys.stderr if options.fix else sys.stdout
    found = {chat.name: _violations(chat, provider, options) for chat in chats}
    for name, violations in found.items():
        for violation in violations:
            print(f"{name}: {describe(violation)}", file=out)
    broken = sum(map(len, found.values()))
    if options.fix:
        return _mend(chats, provider, options)
    many = f" in {len(chats)} chats" if len(chats) > 1 else ""
    if not broken:
        print(f"{options.chat}: {provider} takes it{many}")
        return 0
    print(f"{broken} {'rule' if broken == 1 else 'rules'} of {provider} broken{many}")
    return 1


def _provider(options: argparse.Namespace) -> str:
    from eunoe.domain.profile import profile_of

    return profile_of(options.model, options.provider).name


def _violations(chat: Chat, provider: str, options: argparse.Namespace) -> tuple[Violation, ...]:
    from eunoe import lint

    return lint(
        chat.messages, provider, budget=options.budget, tools=chat.tools, model_id=options.model
    )


def describe(violation: Violation) -> str:
    """One sentence: where, what, and the rule's name."""
    whole = violation.code in ("over-budget", "too-many-tools", "tool-schema")
    place = "" if whole else f"messages[{violation.index}]: "
    return f"{place}{violation.message} ({violation.code})"


def _mend(chats: list[Chat], provider: str, options: argparse.Namespace) -> int:
    """Write the chats with every rule kept that can be; the size is left as it is."""
    from dataclasses import replace

    from eunoe import ContextOrchestrator, Conversation, Settings

    orchestrator = ContextOrchestrator(settings=Settings(rewrite_call_ids=True, read_flags=False))
    mended, left = [], 0
    for chat in chats:
        result = orchestrator.process_sync(
            Conversation.from_openai_messages(chat.messages),
            model_id=options.model,
            profile=provider,
            tools=chat.tools,
            policy="off",
        )
        for sentence in result.report.mended:
            print(f"{chat.name}: mended: {sentence}", file=sys.stderr)
        done = replace(chat, messages=result.conversation.to_openai_messages())
        for violation in _violations(done, provider, options):
            left += 1
            print(f"{chat.name}: still broken: {describe(violation)}", file=sys.stderr)
        mended.append(done)
    _write(mended, options.output)
    return 1 if left else 0


def _write(chats: list[Chat], path: str | None) -> None:
    """One chat in the form it came in; several as one object a line."""
    values = [_as_it_came(chat) for chat in chats]
    if len(values) == 1:
        text = _dump(values[0], 1) + "\n"
    else:
        text = "".join(
            _dump(v if isinstance(v, dict) else {"messages": v}, None) + "\n" for v in values
        )
    if path is None:
        sys.stdout.write(text)
        return
    Path(path).write_text(text, encoding="utf-8", newline="\n")
    print(f"wrote {path}", file=sys.stderr)


def _as_it_came(chat: Chat) -> Any:
    if isinstance(chat.whole, Mapping):
        return {**chat.whole, "messages": chat.messages}
    return chat.messages


def _dump(value: Any, indent: int | None) -> str:
    from eunoe.domain.nesting import json_text

    text = json_text(value, indent=indent, ensure_ascii=False)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:  # half a character
        return json_text(value, indent=indent)
    return text
