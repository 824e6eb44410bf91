"""Are the constants of scoring fitted to a set? They are tuned on the others, and asked here.

    python tests/bench/held_out.py FOLDER [--start flat shipped] [--passes 3] [--every 3]
        [--sets locomo realtalk beam100k] [--policy relevance] [--budgets 2000 4000]

FOLDER is that of ``ablation.py``. For each set the constants are tuned on the other sets, and for
comparison on itself: one after another is multiplied by 0.7 and 1.4 (in the first pass from a flat
start by 0.5 and 2), and a step is kept if mean evidence recall over sets and budgets rises. From
``shipped`` the search starts at the setting that is shipped, which knows all sets; from ``flat`` at
one that knows none, all weights 1. The search asks each ``--every``-th question; the table is made
with all of them. One row for each set and start: evidence recall of the shipped setting at each
budget, then the difference in points of what was tuned elsewhere, and of what was tuned on the set
itself. A setting fitted to a set would lose much there when tuned elsewhere, and little when tuned
on itself.

Three passes over all sets take about half an hour of CPU with ``--every 3``, for each start.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from statistics import fmean
from typing import Any

from ablation import OTHERS, add_arguments, read_sets, recalled, scoring_with

from eunoe import Settings
from eunoe.stages.scoring.settings import ScoringSettings, SignalWeights

STEPS = (0.7, 1.4)
WIDE_STEPS = (0.5, 2.0)
WEIGHTS = [f.name for f in fields(SignalWeights) if f.name not in OTHERS]
SHARES = ("near", "feedback_near")
PRICE = "cost_exponent"
"""These stay at most 1."""

Constants = Mapping[str, float]


def shipped() -> dict[str, float]:
    """The constants that are tuned, as they are shipped."""
    scoring, weights = ScoringSettings(), SignalWeights()
    found = {name: getattr(weights, name) for name in WEIGHTS}
    return found | {n: getattr(scoring, n) for n in SHARES} | {PRICE: Settings().cost_exponent}


def flat() -> dict[str, float]:
    """A setting that no chat was asked for: weights of 1, shares and exponent of one half."""
    halves = dict.fromkeys((*SHARES, PRICE), 0.5)
    return {n: halves.get(n, 1.0 if value > 0.0 else -1.0) for n, value in shipped().items()}


@dataclass(frozen=True)
class Bench:
    """The labelled chats, and what was measured so far.

    Attributes:
        whole: chats of each set.
        part: the same with some of the questions, for the search.
    """

    whole: Mapping[str, list[Any]]
    part: Mapping[str, list[Any]]
    options: argparse.Namespace
    count: Any
    known: dict[tuple[Any, ...], float]

    def recall(self, values: Constants, name: str, budget: int, *, every: bool = False) -> float:
        """Evidence recall in percent of a set, the mean of its even and its odd chats."""
        key = (tuple(values.items()), name, budget, every)
        if key not in self.known:
            scoring = ScoringSettings(
                weights=replace(SignalWeights(), **{n: values[n] for n in WEIGHTS}),
                near=values["near"],
                feedback_near=values["feedback_near"],
            )
            knobs = replace(Settings(), cost_exponent=values[PRICE])
            chats = self.whole if every else self.part
            with scoring_with(scoring):
                halves = recalled(chats[name], knobs, self.options.policy, budget, self.count)
            self.known[key] = fmean(halves)
        return self.known[key]

    def mean(self, values: Constants, names: Iterable[str]) -> float:
        """Mean over sets and budgets, on the questions of the search."""
        return fmean(self.recall(values, n, b) for n in names for b in self.options.budgets)

    def tuned(self, start: Constants, names: list[str], *, wide: bool) -> Constants:
        """The constants after coordinate steps on some sets."""
        best, reached = dict(start), self.mean(start, names)
        for turn in range(self.options.passes):
            before = reached
            for name in best:
                for factor in WIDE_STEPS if wide and turn == 0 else STEPS:
                    tried = best | {name: best[name] * factor}
                    if name in (*SHARES, PRICE) and tried[name] > 1.0:
                        continue
                    if (found := self.mean(tried, names)) > reached:
                        best, reached = tried, found
                        break
            if reached == before:
                break
        return best


def fewer(chats: list[Any], step: int) -> list[Any]:
    """The chats with each so-many-th question."""
    return [replace(chat, questions=chat.questions[::step]) for chat in chats]


def main() -> None:
    """Print the table, then the constants."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    add_arguments(parser)
    parser.add_argument("--start", nargs="+", choices=("flat", "shipped"), default=["flat"])
    parser.add_argument("--passes", type=int, default=3)
    parser.add_argument("--every", type=int, default=3, help="share of questions that tune: 1/N")
    args = parser.parse_args()
    chats, count = read_sets(args)
    bench = Bench(chats, {n: fewer(c, args.every) for n, c in chats.items()}, args, count, {})
    now = shipped()
    budgets = " / ".join(map(str, args.budgets))
    print(f"| asked | start | shipped {budgets} | tuned elsewhere | tuned on itself |")
    print("|---|---|---|---|---|", flush=True)
    ends = []
    for begin in args.start:
        start = flat() if begin == "flat" else now
        for name in args.sets:
            plain = [bench.recall(now, name, b, every=True) for b in args.budgets]
            cells = [" / ".join(f"{value:.1f}" for value in plain)]
            for names in ([n for n in args.sets if n != name], [name]):
                found = bench.tuned(start, names, wide=begin == "flat")
                ends.append((begin, names, found))
                there = [bench.recall(found, name, b, every=True) for b in args.budgets]
                cells.append(" / ".join(f"{a - b:+.1f}" for a, b in zip(there, plain, strict=True)))
            print(f"| {name} | {begin} | " + " | ".join(cells) + " |", flush=True)
    print("\n| tuned on | start | " + " | ".join(now) + " |")
    print("|---|---|" + "---|" * len(now))
    for begin, names, values in [("shipped", ["-"], now), *ends]:
        row = " | ".join(f"{value:.2g}" for value in values.values())
        print(f"| {' '.join(names)} | {begin} | {row} |")


if __name__ == "__main__":
    main()
