"""Counters for Prometheus: numbers alone, under names of which there are few.

Source: Prometheus, text-based exposition format 0.0.4.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Sequence

from eunoe.stages.accounting.ledger import Ledger
from eunoe.stages.accounting.price import PICODOLLARS

_MODELS_NAMED = 50
_LONGEST_MODEL = 100
_OTHER = "other"
BUCKETS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000)
"""Upper ends in milliseconds."""

OUTCOMES = ("answered", "refused", "failed", "left")
FAILURES = (
    "upstream_4xx",
    "upstream_5xx",
    "upstream_unreachable",
    "upstream_timeout",
    "upstream_broken",
    "client_left",
    "over_budget",
    "deadline",
    "too_large",
    "fault",
)
"""The last three send the request as it came."""

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class ProxyMetrics:
    """What the proxy counts. Safe across threads.

    Only names of models that the server answers for become labels, the first 50 of them.
    """

    def __init__(self) -> None:
        self._outcomes: Counter[str] = Counter()
        self._failures: Counter[str] = Counter()
        self._tokens: dict[str, Counter[str]] = {}
        self._saved: defaultdict[str, float] = defaultdict(float)
        self._costs: dict[str, Counter[tuple[str, str]]] = {}
        self._buckets = [0] * (len(BUCKETS) + 1)
        self._milliseconds = 0.0
        self._passed = 0
        self._lock = threading.Lock()

    def count_outcome(self, outcome: str) -> None:
        """A chat request ended: one of ``OUTCOMES``."""
        with self._lock:
            self._outcomes[outcome] += 1

    def count_failure(self, kind: str) -> None:
        """Something went wrong: one of ``FAILURES``."""
        with self._lock:
            self._failures[kind] += 1

    def count_passed(self) -> None:
        """A request that is no chat was passed on."""
        with self._lock:
            self._passed += 1

    def count_tokens(self, model: str, *, before: int, after: int, cached: int) -> None:
        """An answered request: tokens given, sent, and, as reported, read from a cache."""
        with self._lock:
            name = model[:_LONGEST_MODEL] or _OTHER
            if name not in self._tokens and len(self._tokens) >= _MODELS_NAMED:
                name = _OTHER
            tokens = self._tokens.setdefault(name, Counter())
            tokens.update(before=before, after=after, cached=cached)

    def count_saved(self, model: str, seconds: float) -> None:
        """Time that a local model did not spend on reading what it had in its cache."""
        if seconds > 0:
            with self._lock:
                name = model[:_LONGEST_MODEL] or _OTHER
                self._saved[name if name in self._tokens else _OTHER] += seconds

    def count_cost(self, model: str, entry: Ledger) -> None:
        """An answered request whose price is known, by whether its usage was reported."""
        total, kind = entry.total, "measured" if entry.is_measured else "estimated"
        if total.sent.unpriced or not total.sent.requests:
            return
        with self._lock:
            name = model[:_LONGEST_MODEL] or _OTHER
            costs = self._costs.setdefault(name if name in self._tokens else _OTHER, Counter())
            costs["sent", kind] += total.sent.cost
            costs["untouched", "estimated"] += total.untouched.cost

    def count_choosing(self, milliseconds: float) -> None:
        """How long one choice took."""
        with self._lock:
            self._buckets[bisect_left(BUCKETS, milliseconds)] += 1
            self._milliseconds += milliseconds

    def text(self) -> str:
        """All of it, as Prometheus reads it."""
        with self._lock:
            lines = _counter(
                "eunoe_requests_total",
                "Chat requests by how they ended.",
                [(f'outcome="{name}"', self._outcomes[name]) for name in OUTCOMES],
            )
            lines += _counter(
                "eunoe_failures_total",
                "What went wrong, by kind.",
                [(f'kind="{name}"', self._failures[name]) for name in FAILURES],
            )
            lines += _counter(
                "eunoe_passed_total", "Other requests, passed on.", [("", self._passed)]
            )
            for what, words in (
                ("before", "Tokens of answered chats as they were given."),
                ("after", "Tokens of answered chats as they were sent."),
                ("cached", "Tokens that providers report as read from a cache."),
            ):
                rows = [
                    (f'model="{_escaped(model)}"', tokens[what])
                    for model, tokens in sorted(self._tokens.items())
                ]
                lines += _counter(f"eunoe_tokens_{what}_total", words, rows)
            lines += _counter(
                "eunoe_seconds_saved_total",
                "Reading that local models were spared by their caches, at the speed they report.",
                [(f'model="{_escaped(m)}"', round(s, 3)) for m, s in sorted(self._saved.items())],
            )
            lines += self._money()
            return "\n".join([*lines, *self._histogram()]) + "\n"

    def _money(self) -> list[str]:
        rows = [
            (f'model="{_escaped(model)}",way="{way}",kind="{kind}"', picodollars / PICODOLLARS)
            for model, costs in sorted(self._costs.items())
            for (way, kind), picodollars in sorted(costs.items())
        ]
        words = "Dollars for answered chats whose model has a price, and for these chats untouched."
        return _counter("eunoe_cost_dollars_total", words, rows)

    def _histogram(self) -> list[str]:
        name = "eunoe_choosing_milliseconds"
        lines = [f"# HELP {name} Time of choosing.", f"# TYPE {name} histogram"]
        total = 0
        for end, number in zip((*map(str, BUCKETS), "+Inf"), self._buckets, strict=True):
            total += number
            lines.append(f'{name}_bucket{{le="{end}"}} {total}')
        return [*lines, f"{name}_sum {round(self._milliseconds, 3)}", f"{name}_count {total}"]


def _counter(name: str, words: str, rows: Sequence[tuple[str, float]]) -> list[str]:
    lines = [f"# HELP {name} {words}", f"# TYPE {name} counter"]
    return lines + [f"{name}{{{label}}} {n}" if label else f"{name} {n}" for label, n in rows]


def _escaped(text: str) -> str:
    text = text.encode("utf-8", "replace").decode("utf-8")
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
