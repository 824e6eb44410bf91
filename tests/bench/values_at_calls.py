"""What a cheaper request costs a tool: are the values that each call passes still in view?

    python tests/bench/values_at_calls.py FOLDER [--data FILE] [--budgets 3000 4000]
        [--settings '{"carry_share": 0}' ...]

FOLDER holds ``prefix_cost.py``, whose window and step-cut stand beside; FILE is a file of agent
transcripts, one in a line. Each is replayed request by request. Of a call that an answer makes, the
values of its arguments of four characters or more count that occur in the chat so far, the system
prompt and the question apart; a value is there if the text that is sent holds it. Only requests
whose chat is over the budget count. Cost: of all input, a repeated token at a tenth, against the
untouched chat.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from eunoe import BudgetError, ContextOrchestrator, Conversation, Settings, TokenBudget

Messages = list[dict[str, Any]]
Policy = Callable[[Messages], Messages]
CACHED = 0.1
LEAST_CHARACTERS = 4


def text_of(message: dict[str, Any]) -> str:
    """What a message says and calls."""
    content = message.get("content")
    said = content if isinstance(content, str) else json.dumps(content) if content else ""
    calls = message.get("tool_calls") or ()
    return " ".join([said, *(call["function"]["arguments"] for call in calls)])


def leaves(value: Any) -> Iterator[str]:
    """The texts and numbers in the arguments of a call."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for inner in value:
            yield from leaves(inner)
    elif value is not None and not isinstance(value, bool):
        yield str(value)


def needed_values(chat: Messages, place: int) -> list[str]:
    """Values of the calls at a place that only the history holds."""
    asked = max(i for i in range(place) if chat[i]["role"] == "user")
    given = text_of(chat[0]) + text_of(chat[asked])
    history = [text_of(chat[i]) for i in range(1, place) if i != asked]
    passed = (json.loads(c["function"]["arguments"] or "{}") for c in chat[place]["tool_calls"])
    values = dict.fromkeys(v for call in passed for v in leaves(call))
    long = [v for v in values if len(v) >= LEAST_CHARACTERS and v not in given]
    return [v for v in long if any(v in text for text in history)]


def ours(budget: int, settings: Settings) -> Policy:
    """eunoe, one orchestrator for a chat."""
    asker = ContextOrchestrator(TokenBudget(max_tokens=budget), settings=settings)

    def send(messages: Messages) -> Messages:
        given = Conversation.from_openai_messages(messages)
        return list(asker.process_sync(given, model_id="gpt-4o").conversation.to_openai_messages())

    return send


def replay(chats: list[Messages], policy: Callable[[], Policy], budget: int, judge: Any) -> Any:
    """-> the cost of all requests, and for each call in need the share of its values in view."""
    cost, shares = 0.0, []
    for chat in chats:
        send, before = policy(), []
        for place, message in enumerate(chat):
            if message["role"] != "assistant" or all(m["role"] != "user" for m in chat[:place]):
                continue
            try:
                view = send(chat[:place])
            except BudgetError:
                continue
            same = 0
            while same < min(len(before), len(view)) and before[same] == view[same]:
                same += 1
            repeated = sum(map(judge.count_message, view[:same]))
            cost += judge.total(view) - (1.0 - CACHED) * repeated
            before = view
            if not message.get("tool_calls") or judge.total(chat[:place]) <= budget:
                continue
            if values := needed_values(chat, place):
                shown = "\n".join(map(text_of, view))
                held = [v in shown or json.dumps(v)[1:-1] in shown for v in values]
                shares.append(sum(held) / len(held))
    return cost, shares


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--origin", default="tau-bench")
    parser.add_argument("--budgets", nargs="+", type=int, default=[3000, 4000])
    parser.add_argument("--settings", nargs="*", type=json.loads, default=[])
    args = parser.parse_args()
    sys.path.insert(0, str(args.folder))
    judge = importlib.import_module("prefix_cost")
    data = args.data or args.folder.parent / "data" / "agent_trajectories_openai.jsonl"
    chats = judge.agents(str(data))[args.origin]
    print("| budget | policy | cost | values there | calls with all of theirs | calls |")
    print("|---|---|---|---|---|---|", flush=True)
    for budget in args.budgets:
        rows: dict[str, Callable[[], Policy]] = {
            "untouched": lambda: lambda messages: messages,
            "plain window": lambda b=budget: lambda m: judge.window(m, b),
            "cut to half": lambda b=budget: lambda m: judge.step(m, b),
        }
        for given in ({}, *args.settings):
            name = f"eunoe {json.dumps(given) if given else ''}".strip()
            rows[name] = lambda b=budget, g=given: ours(b, Settings(**g))
        whole = 0.0
        for name, policy in rows.items():
            cost, shares = replay(chats, policy, budget, judge)
            whole = whole or cost
            there, full = sum(shares), sum(share == 1.0 for share in shares)
            count = max(1, len(shares))
            figures = f"{cost / whole:.2f} | {100 * there / count:.1f} | {100 * full / count:.1f}"
            print(f"| {budget} | {name} | {figures} | {len(shares)} |", flush=True)


if __name__ == "__main__":
    main()
