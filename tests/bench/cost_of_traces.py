"""What each replayed chat costs against the cheaper of the whole chat and a step-cut.

    python tests/bench/cost_of_traces.py FOLDER [--data FOLDER] [--scale 2] [--price 0.1]
        [--settings '{"low_water": 0.5}' ...]

FOLDER holds ``prefix_cost.py``, whose suites, baselines and counting are used. A row for each
suite and each setting of ``stable``: the mean and the worst ratio over its chats, how many are more
than 3 % dearer, and what could be saved at most if recalled blocks stayed until the next cut: with
foresight of the chat, and as if the window had room for them.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import Any

from eunoe import BudgetError, ContextOrchestrator, Conversation, Settings, TokenBudget

Messages = list[dict[str, Any]]
MOST = 1.03


@dataclass(frozen=True)
class Sent:
    """One request: what it costs, and what a block that stayed behind it would.

    Attributes:
        turn: how many user messages were given.
        cost: of all input, in new tokens.
        cut: whether the prefix was broken by a cut.
        block: tokens of what was recalled before the question.
        spoken: tokens of the turn so far, read anew once the block before it is gone.
    """

    turn: int
    cost: float
    cut: bool
    block: int
    spoken: int


def requests_of(chat: Messages) -> Iterator[Messages]:
    """What is given before each answer, and at the end, as the baselines are asked."""
    for place, message in enumerate(chat):
        if message["role"] == "assistant" and any(m["role"] == "user" for m in chat[:place]):
            yield chat[:place]
    if chat[-1]["role"] != "assistant":
        yield chat


def replay(
    chat: Messages, budget: int, settings: Settings, cached: float, judge: Any
) -> list[Sent]:
    """Send a chat request by request."""
    asker = ContextOrchestrator(TokenBudget(max_tokens=budget), settings=settings)
    sent: list[Sent] = []
    before: Messages = []
    for given in requests_of(chat):
        try:
            result = asker.process_sync(Conversation.from_openai_messages(given), model_id="gpt-4o")
        except BudgetError:
            continue
        view = [dict(m) for m in result.conversation.to_openai_messages()]
        same = 0
        while same < min(len(before), len(view)) and before[same] == view[same]:
            same += 1
        repeated = sum(map(judge.count_message, view[:same]))
        before = view
        asked = max(i for i, m in enumerate(given) if m["role"] == "user")
        sent.append(
            Sent(
                turn=sum(m["role"] == "user" for m in given),
                cost=judge.total(view) - (1.0 - cached) * repeated,
                cut=result.report.cut is not None and result.report.cut.declared,
                block=block_before(view, given, judge),
                spoken=sum(map(judge.count_message, given[asked:])),
            )
        )
    return sent


def block_before(view: Messages, given: Messages, judge: Any) -> int:
    """Tokens of the quoted block that stands before the question; 0 for none."""
    asked = [k for k, m in enumerate(view) if m["role"] == "user" and m in given]
    block = view[asked[-1] - 1] if asked and asked[-1] else None
    quoted = block is not None and block["role"] == "user" and block not in given
    return int(judge.count_message(block)) if quoted else 0


def most_saved_by_staying(sent: list[Sent], cached: float) -> float:
    """Cost that could be saved at most if recalled blocks stayed until the next cut."""
    saved = 0.0
    for k, (last, following) in enumerate(pairwise(sent), start=1):
        if last.turn == following.turn or not last.block or following.cut:
            continue
        repeats = next((n for n, s in enumerate(sent[k:]) if s.cut), len(sent) - k)
        saved += max(0.0, (1.0 - cached) * last.spoken - cached * last.block * repeats)
    return saved


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--scale", type=int, default=2, help="how many chats of each file")
    parser.add_argument("--price", type=float, default=0.1, help="of a repeated token")
    parser.add_argument("--settings", nargs="*", type=json.loads, default=[])
    args = parser.parse_args()
    sys.path.insert(0, str(args.folder))
    judge = importlib.import_module("prefix_cost")
    data = str(args.data or args.folder.parent / "data")
    print("| suite | settings | mean | worst | chats over 1.03 | saved at most by staying |")
    print("|---|---|--:|--:|--:|--:|", flush=True)
    for suite, budget, chats in judge.suites(data, None, args.scale):
        whole = [judge.replay(judge.untouched, [chat], budget) for chat in chats]
        cut = [judge.replay(judge.step, [chat], budget) for chat in chats]
        cheaper = [
            min(judge.money(t, args.price, 1.0) for t in pair)
            for pair in zip(whole, cut, strict=True)
        ]
        for given in ({}, *args.settings):
            replays = [replay(c, budget, Settings(**given), args.price, judge) for c in chats]
            costs = [sum(s.cost for s in sent) for sent in replays]
            ratios = [cost / least for cost, least in zip(costs, cheaper, strict=True)]
            saved = sum(most_saved_by_staying(sent, args.price) for sent in replays) / sum(costs)
            over = f"{sum(r > MOST for r in ratios)} of {len(ratios)}"
            print(
                f"| {suite}, {budget} | {json.dumps(given)} | {fmean(ratios):.2f} "
                f"| {max(ratios):.2f} | {over} | {100 * saved:.1f} % |",
                flush=True,
            )


if __name__ == "__main__":
    main()
