"""An observer's event as plain values, small enough to be sent on: numbers and reasons, no text.

What each message met is told in columns: roles and fates are strings of one letter a message,
scores are in ten-thousandths, reasons are listed once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from eunoe.domain.event import RequestEvent
from eunoe.domain.message import SYSTEM_ROLES
from eunoe.domain.report import Fate
from eunoe.pipeline.arranging.sent_parts import SENT_PARTS
from eunoe.stages.accounting.ledger import Ledger
from eunoe.stages.structure.waveform import standing_places

FATE_LETTERS = {
    Fate.KEPT: "k",
    Fate.RECALLED: "r",
    Fate.GIST: "g",
    Fate.SUMMARISED: "s",
    Fate.STUB: "t",
    Fate.DROPPED: "d",
}
ROLE_LETTERS = {"user": "u", "assistant": "a", "tool": "t", "function": "t"}
SCORE_UNITS = 10_000
MOST_RECORD_MESSAGES = 200_000
_LONGEST_RECORD_TEXT = 400
_LONGEST_RECORD_NAME = 200
_MOST_SENTENCES = 100
_LARGEST_FIGURE = 2**53
_RECORD_NAMES = ("key", "source", "session", "model")
_RECORD_TEXTS = ("policy", "profile", "tokenizer", "recall_reason", "cache_lost", "proof")
_RECORD_FIGURES = ("before", "after", "budget", "tools", "reserve", "recalled")
_RECORD_SWITCHES = ("estimated", "truncated")
_RECORD_LISTS = ("mended", "warnings", "violations")


def event_record(event: RequestEvent) -> dict[str, Any]:
    """The event as values that ``json.dumps`` takes; ``read_record`` gives them back as they are.

    Texts are cut where they are long; of a very long chat only the newest messages are told.
    """
    report = event.report
    newest = slice(-MOST_RECORD_MESSAGES, None)
    columns = report.decisions.columns()
    reasons: dict[str, int] = {}
    why = [reasons.setdefault(reason, len(reasons)) for reason in columns.reasons[newest]]
    letters = "".join(_role_letter(role) for role in event.roles[newest])
    letters = letters if len(letters) == len(why) else ""
    scores = [min(SCORE_UNITS, max(0, round(SCORE_UNITS * x))) for x in columns.scores[newest]]
    cut, over = report.cut, report.infeasible
    record = {
        "key": event.key,
        "source": event.source,
        "session": event.session_id,
        "model": event.model_id,
        "policy": report.policy,
        "profile": report.profile,
        "tokenizer": report.tokenizer,
        "recall_reason": report.recall_reason,
        "cache_lost": report.cache_lost,
        "before": report.tokens_before,
        "after": report.tokens_after,
        "budget": report.budget,
        "tools": report.tool_tokens,
        "reserve": report.reserve,
        "recalled": report.recalled,
        "estimated": report.estimated,
        "truncated": report.truncated,
        "mended": list(report.mended),
        "warnings": list(report.warnings),
        "violations": list(report.violations),
        "calibrated": report.calibrated,
        "certificate": report.certificate.ratio,
        "proof": report.certificate.sentence(),
        "cut": None if cut is None else [cut.index, cut.tokens_dropped, int(cut.declared)],
        "over": None if over is None else [over.needed, over.allowed],
        "parts": dict(event.parts),
        "forecast": dict(event.forecast),
        "ledger": dict(event.ledger),
        "milliseconds": {name: round(ms, 3) for name, ms in event.milliseconds.items()},
        "roles": letters,
        "fates": "".join([FATE_LETTERS[fate] for fate in columns.fates[newest]]),
        "scores": scores,
        "tokens": columns.tokens[newest],
        "reasons": list(reasons),
        "why": why,
        "spans": [list(span) for span in _standing_spans_of(letters, scores)],
    }
    return read_record(record) or {}


def _role_letter(role: str) -> str:
    return "s" if role in SYSTEM_ROLES else ROLE_LETTERS.get(role, "o")


def _standing_spans_of(letters: str, scores: list[int]) -> list[tuple[int, int]]:
    """Stretches of finished turns that stand out; every user message opens a turn."""
    starts = [i for i, letter in enumerate(letters) if letter == "u"]
    if len(starts) < 2:
        return []
    bounds = starts if starts[0] == 0 else [0, *starts]
    return standing_places(scores[: bounds[-1]], bounds)


def read_record(value: object) -> dict[str, Any] | None:
    """A record that somebody sent, with known fields alone, each of its type and within bounds.

    Returns:
        The record; None if it is none: not an object, or its columns are of different lengths.
    """
    if not isinstance(value, Mapping):
        return None
    columns = _read_columns(value)
    if columns is None:
        return None
    cut, over = _whole_list(value.get("cut"), 3), _whole_list(value.get("over"), 2)
    record: dict[str, Any] = {
        **{name: _text_of(value.get(name), _LONGEST_RECORD_NAME) for name in _RECORD_NAMES},
        **{name: _text_of(value.get(name), _LONGEST_RECORD_TEXT) for name in _RECORD_TEXTS},
        **{name: _figure_of(value.get(name)) for name in _RECORD_FIGURES},
        **{name: value.get(name) is True for name in _RECORD_SWITCHES},
        **{name: _sentences(value.get(name)) for name in _RECORD_LISTS},
        "calibrated": _number_of(value.get("calibrated"), 1.0),
        "certificate": _number_of(value.get("certificate"), None),
        "cut": cut,
        "over": over,
        "parts": _table(value.get("parts"), SENT_PARTS, _figure_of),
        "forecast": _table(value.get("forecast"), _FORECAST_NAMES, _figure_of),
        "ledger": _flat_ledger(value.get("ledger")),
        "milliseconds": _stage_times(value.get("milliseconds")),
        **columns,
    }
    return record


_FORECAST_NAMES = tuple(
    f"{way}{what}" for way in ("sent", "untouched", "window") for what in ("", "_repeated")
)


def _read_columns(value: Mapping[Any, Any]) -> dict[str, Any] | None:
    """The columns, all of one length; None if they do not fit together."""
    fates, roles = value.get("fates"), value.get("roles")
    if not isinstance(fates, str) or not isinstance(roles, str):
        return None
    size = len(fates)
    reasons = _sentences(value.get("reasons"), most=None)
    sound = size <= MOST_RECORD_MESSAGES and set(fates) <= set(FATE_LETTERS.values())
    sound = sound and set(roles) <= {"s", "u", "a", "t", "o"} and len(roles) in (0, size)
    columns = {name: _whole_list(value.get(name), size) for name in ("scores", "tokens", "why")}
    if not sound or any(column is None for column in columns.values()):
        return None
    if any(n >= len(reasons) for n in columns["why"] or ()):
        return None
    if any(n > SCORE_UNITS for n in columns["scores"] or ()):
        return None
    return {
        "roles": roles,
        "fates": fates,
        **columns,
        "reasons": reasons,
        "spans": _spans_within(value.get("spans"), size),
    }


def _spans_within(value: object, size: int) -> list[list[int]]:
    found = value if isinstance(value, list) else []
    spans = [_whole_list(span, 2) for span in found[:size]]
    return [span for span in spans if span is not None and span[0] <= span[1] < size]


def _text_of(value: object, most: int) -> str:
    """The text, printable; a longer one is cut with ``…``."""
    if not isinstance(value, str):
        return ""
    text = "".join(c if c.isprintable() else "\ufffd" for c in value[: most + 1])
    return text if len(text) <= most else text[: most - 1] + "…"


def _sentences(value: object, most: int | None = _MOST_SENTENCES) -> list[str]:
    found = value if isinstance(value, list) else []
    return [_text_of(text, _LONGEST_RECORD_TEXT) for text in found[:most]]


def _figure_of(value: object) -> int:
    """A whole number from 0 on; 0 for anything else."""
    sound = type(value) is int and 0 <= value <= _LARGEST_FIGURE
    return value if sound and isinstance(value, int) else 0


def _number_of(value: object, default: float | None) -> float | None:
    if type(value) not in (int, float) or not isinstance(value, int | float):
        return default
    return value if math.isfinite(value) and 0 <= value <= _LARGEST_FIGURE else default


def _whole_list(value: object, size: int) -> list[int] | None:
    """The list, if it has that many whole numbers from 0 on."""
    if not isinstance(value, list) or len(value) != size:
        return None
    if not all(type(n) is int and 0 <= n <= _LARGEST_FIGURE for n in value):
        return None
    return value


def _table(value: object, names: tuple[str, ...], read: Callable[[object], int]) -> dict[str, int]:
    found = value if isinstance(value, Mapping) else {}
    return {name: number for name in names if (number := read(found.get(name)))}


def _flat_ledger(value: object) -> dict[str, int]:
    """The figures that a ledger knows; US dollars beyond a million a request are none."""
    found = value if isinstance(value, Mapping) else {}
    figures = Ledger.from_flat({k: v for k, v in found.items() if type(v) is int}).flat()
    return {name: n for name, n in figures.items() if 0 <= n <= 10**18}


def _stage_times(value: object) -> dict[str, float]:
    found = value if isinstance(value, Mapping) else {}
    times = {}
    for name, ms in list(found.items())[:20]:
        taken = _number_of(ms, None)
        if taken is not None:
            times[_text_of(name, 40)] = taken
    return times
