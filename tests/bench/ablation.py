"""What each part of scoring is worth: evidence recall with one part off at a time.

    python tests/bench/ablation.py FOLDER [--sets locomo realtalk beam100k] [--policy relevance]
        [--budgets 2000 4000] [--parts nothing feedback]

FOLDER holds ``recall.py``, which reads labelled chats, with the chats in ``../data`` beside it, or
where ``--data`` says. One row for each part: the difference in points for the even chats / the odd
ones. A part that helps nowhere does not belong on the default path.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import Any
from unittest import mock

from eunoe import ContextOrchestrator, Conversation, Settings, TokenBudget
from eunoe.pipeline.chat.transcript import PipelineMemory
from eunoe.pipeline.recalling import lifting, recall
from eunoe.stages.scoring.index import RelevanceIndex
from eunoe.stages.scoring.settings import ScoringSettings, SignalWeights

SHOWN = ("kept", "recalled")


def unchanged(place: int) -> Callable[..., Any]:
    """A lift that gives back the relevance it got, its argument at a place."""
    return lambda *given, **_: given[place]


LIFTS: dict[str, Callable[..., Any]] = {
    "_without_repeats": unchanged(2),
    "_newer_first": unchanged(3),
    "_meant_by_pronoun": unchanged(3),
    "_second_hop": unchanged(3),
}
OTHERS = ("vector", "label", "label_ahead", "tool")
"""Signals that these chats, read by words alone, do not have."""


@contextmanager
def scoring_with(settings: ScoringSettings) -> Iterator[None]:
    """All indexes that are made meanwhile have these constants."""
    known = RelevanceIndex.__init__

    def start(self: RelevanceIndex, given: ScoringSettings | None = None) -> None:
        known(self, given or settings)

    with mock.patch.object(RelevanceIndex, "__init__", start):
        yield


@contextmanager
def without(part: str) -> Iterator[Settings]:
    """The knobs with which to ask while a part is off."""
    scoring, knobs = ScoringSettings(), Settings()
    if part in LIFTS:
        with mock.patch.object(lifting, part, LIFTS[part]):
            yield knobs
    elif part == "all lifts":
        with mock.patch.object(recall, "lift_by_cues", unchanged(3)):
            yield knobs
    else:
        if part == "price of length":
            knobs = replace(knobs, cost_exponent=0.0)
        elif part == "neighbours' words":
            scoring = replace(scoring, near=0.0)
        elif part == "neighbours of feedback":
            scoring = replace(scoring, feedback_near=0.0)
        elif part != "nothing":
            scoring = replace(scoring, weights=replace(scoring.weights, **{part: 0.0}))
        with scoring_with(scoring):
            yield knobs


def parts() -> list[str]:
    """The names of all parts, ``nothing`` first."""
    signals = [f.name for f in fields(SignalWeights) if f.name not in OTHERS]
    more = ["neighbours' words", "neighbours of feedback", "price of length", "all lifts"]
    return ["nothing", *signals, *more, *LIFTS]


def recalled(
    chats: list[Any], knobs: Settings, policy: str, budget: int, count: Callable[[str], int]
) -> tuple[float, float]:
    """Evidence recall in percent, even chats and odd ones; questions without an answer left out."""
    found: tuple[list[float], list[float]] = ([], [])
    memory = PipelineMemory()  # one of its own: indexes that others made have other constants
    for place, chat in enumerate(chats):
        askers: dict[int, ContextOrchestrator] = {}
        for question in chat.questions:
            if question["category"] == "adversarial":
                continue
            allowed = budget + count(question["text"]) + 7
            if allowed not in askers:
                askers[allowed] = ContextOrchestrator(
                    TokenBudget(max_tokens=allowed), settings=knobs, memory=memory
                )
            asker = askers[allowed]
            asked = {"role": "user", "content": question["text"]}
            given = Conversation.from_openai_messages([*chat.messages, asked])
            result = asker.process_sync(given, model_id="gpt-4o", policy=policy)
            seen = {d.index for d in result.report.decisions if d.fate.value in SHOWN}
            gold = question["gold"]
            found[place % 2].append(sum(i in seen for i in gold) / len(gold))
    first, second = (100.0 * sum(half) / max(1, len(half)) for half in found)
    return first, second


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Where the labelled chats are, and how they are asked."""
    parser.add_argument("folder", type=Path)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--sets", nargs="+", default=["locomo", "realtalk", "beam100k"])
    parser.add_argument("--budgets", nargs="+", type=int, default=[2000, 4000])
    parser.add_argument("--policy", default="relevance")


def read_sets(options: argparse.Namespace) -> tuple[dict[str, list[Any]], Callable[[str], int]]:
    """The chats of each set, and what counts the tokens of a question."""
    sys.path.insert(0, str(options.folder))
    reader = importlib.import_module("recall")
    data = str(options.data or options.folder.parent / "data")
    chats = {name: reader.load_dataset(name, data) for name in options.sets}
    return chats, reader.make_counter()


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    add_arguments(parser)
    parser.add_argument("--parts", nargs="+")
    args = parser.parse_args()
    chats, count = read_sets(args)
    columns = [(name, budget) for name in args.sets for budget in args.budgets]
    print("| without | " + " | ".join(f"{n} {b}" for n, b in columns) + " |")
    print("|---|" + "---|" * len(columns), flush=True)
    whole: list[tuple[float, float]] = []
    for part in args.parts or parts():
        with without(part) as knobs:
            row = [recalled(chats[n], knobs, args.policy, b, count) for n, b in columns]
        if not whole:
            whole = row
            cells = [f"{a:.1f} / {b:.1f}" for a, b in row]
        else:
            cells = [
                f"{a - x:+.1f} / {b - y:+.1f}" for (a, b), (x, y) in zip(row, whole, strict=True)
            ]
        print(f"| {part} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
