"""What a language model answers when it is asked for labels, read in three ways."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

LABEL_WORTH = {"K": 1.0, "H": 0.75, "M": 0.5, "S": 0.25, "D": 0.05}
"""Keep, high, medium, slight, drop."""

_WORDS = {"KEEP": "K", "HIGH": "H", "MEDIUM": "M", "SLIGHT": "S", "SMALL": "S", "DROP": "D"}
_NUMBERED = re.compile(r"(?<![\w.\-])(\d{1,6})[\"'\])]?\s*[:=.)\-–>]*\s*[\"'(\[]?([KHMSDkhmsd])\b")
_LETTERS = re.compile(r"\s*[\[(]?\s*[KHMSD](?:[\s,;|\"']+[KHMSD])*\s*[\])]?\s*\.?\s*")
_MOST_CHARACTERS = 200_000


def read_labels(text: str, count: int) -> list[float | None] | None:
    """The worth of messages 1 to `count` as an answer has it: object, array or letters.

    ``{"1": "K", "2": "D"}`` (also inside ``{"labels": ...}`` or a code block), ``["K", "D"]`` or
    ``[{"id": 1, "label": "K"}, ...]``, or text such as ``1: K`` line by line or ``K D M``.

    Returns:
        One value or None for each message; None if nothing could be read.
    """
    text = text[:_MOST_CHARACTERS]
    for value in _json_values(text):
        found = _from_json(value, count)
        if any(label is not None for label in found):
            return found
    found = [None] * count
    for number, letter in _NUMBERED.findall(text):
        if 1 <= int(number) <= count:
            found[int(number) - 1] = LABEL_WORTH[letter.upper()]
    if any(label is not None for label in found):
        return found
    letters = re.findall(r"[KHMSD]", text) if _LETTERS.fullmatch(text) else []
    return [LABEL_WORTH[letter] for letter in letters] if len(letters) == count else None


def read_numbers(text: str, most: int) -> list[int]:
    """The first whole numbers of the first JSON list of an answer, else of its text, each once."""
    for value in _json_values(text[:_MOST_CHARACTERS]):
        held = next(iter(value.values()), None) if isinstance(value, Mapping) else value
        if isinstance(held, list):
            numbers = [int(str(n).lstrip("Tt")) for n in held if str(n).lstrip("Tt").isdecimal()]
            return list(dict.fromkeys(numbers))[:most]
    numbers = [int(n) for n in re.findall(r"(?<![\w.])[Tt]?(\d{1,6})\b", text[:_MOST_CHARACTERS])]
    return list(dict.fromkeys(numbers))[:most]


def _json_values(text: str) -> list[Any]:
    """The JSON object and the JSON array that a text holds, whichever begins first first."""
    found: list[tuple[int, Any]] = []
    decoder = json.JSONDecoder()
    for opening in "{[":
        place = text.find(opening)
        if place >= 0:
            try:
                found.append((place, decoder.raw_decode(text, place)[0]))
            except (ValueError, RecursionError):
                continue
    return [value for _, value in sorted(found, key=lambda pair: pair[0])]


def _from_json(value: Any, count: int) -> list[float | None]:
    if isinstance(value, Mapping):
        inner = next((v for v in value.values() if isinstance(v, Mapping | list)), None)
        if inner is not None:
            return _from_json(inner, count)
        pairs = list(value.items())
    elif isinstance(value, list) and value and all(isinstance(v, Mapping) for v in value):
        pairs = [tuple(list(v.values())[:2]) for v in value if len(v) >= 2]
    elif isinstance(value, list) and len(value) == count:
        pairs = list(enumerate(value, 1))
    else:
        pairs = []
    found: list[float | None] = [None] * count
    for number, label in pairs:
        if str(number).isdecimal() and 1 <= int(str(number)[:7]) <= count:
            found[int(number) - 1] = _worth(label)
    return found


def _worth(label: Any) -> float | None:
    word = str(label).strip().upper()
    return LABEL_WORTH.get(_WORDS.get(word, word))
