"""What an orchestrator chooses by, in place of its own: a scorer, an algorithm of selection.

ContextOrchestrator(
    budget=TokenBudget(8000),
    settings=Settings(policy="relevance"),
    strategies=Strategies(scorer=SmartScorer(), algorithm=RecencyBiasedAlgorithm()),
)
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from eunoe.domain.checking import require_members, require_whole
from eunoe.stages.scoring.scorers import Scorer
from eunoe.stages.selection.prefix import PREFIX_SEQUENCES
from eunoe.stages.selection.strategies import SelectionAlgorithm

_CHATS_TRACKED = 512


class PrefixTracker:
    """What was sent in each chat, by ids of content: for ``PrefixCacheOptimizedAlgorithm``.

    Bounded, safe across threads, lost on a restart. It is the one thing here that lets a request
    depend on those before it beyond the history: a worker that did not answer them chooses freely.

    Args:
        max_sequences: lists remembered for each chat.
    """

    def __init__(self, max_sequences: int = PREFIX_SEQUENCES) -> None:
        require_whole("max_sequences", max_sequences, "a whole number, 0 or above")
        self._most = max_sequences
        self._chats: OrderedDict[str, tuple[tuple[str, ...], ...]] = OrderedDict()
        self._lock = threading.Lock()

    def record(self, chat: str, ids: Sequence[str]) -> None:
        """Remember what is sent; nothing for a chat without a name."""
        if not chat or not ids:
            return
        with self._lock:
            before = self._chats.pop(chat, ())
            self._chats[chat] = (tuple(ids), *before)[: self._most]
            if len(self._chats) > _CHATS_TRACKED:
                self._chats.popitem(last=False)

    def sent(self, chat: str) -> tuple[tuple[str, ...], ...]:
        """The lists that were sent, the newest first."""
        with self._lock:
            return self._chats.get(chat, ())


@dataclass(frozen=True, slots=True, kw_only=True)
class Strategies:
    """How ``stable`` and ``relevance`` score and select; the other policies have ways of their own.

    Attributes:
        scorer: says how much each message matters, alone or blended (``CompositeScorer``); None for
            the relevance of the house. Whether ``stable`` looks back stays with the gate.
        algorithm: chooses among the older messages; None for the knapsack of the house.
        tracker: remembers what ``relevance`` sent, message by message, in chats that have a name
            (``session_id``); what other policies send is not tracked.

    Raises:
        SettingsError: one of them is of the wrong kind.
    """

    scorer: Scorer | None = None
    algorithm: SelectionAlgorithm | None = None
    tracker: PrefixTracker | None = None

    def __post_init__(self) -> None:
        for name, members in (
            ("scorer", ("name", "score")),
            ("algorithm", ("name", "select")),
            ("tracker", ("record", "sent")),
        ):
            value = getattr(self, name)
            if value is not None:
                require_members(name, value, members, f"one with {' and '.join(members)}, or None")


OWN_STRATEGIES = Strategies()
